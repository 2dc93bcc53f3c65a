"""What CI services and other reporters get to know, and that docs/ci.md and the workflow do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from pytest_release_gate import conclude, grade_all, load
from pytest_release_gate.escape import github, github_property
from pytest_release_gate.model import Conclusion, Decision
from pytest_release_gate.reporters import codequality
from pytest_release_gate.reporters import github as annotated

from build import result
from story import ROOT, Project

DOCS = (ROOT / "docs/ci.md").read_text("utf-8")
WORKFLOW = (ROOT / ".github/workflows/release-gate.yml").read_text("utf-8")
HOSTILE = "A\n::error::x ]]> </script> \x1b[31m \u202e % , : \ud800 | `é😀`"


def told(project: Project, label: str, *args: str):
    run = project.gate(label, "--json-report", "--json-report-file=report.json", "--junitxml=junit.xml", *args)
    document = json.loads(project.path("report.json").read_text("utf-8"))
    return run, document, ET.parse(project.path("junit.xml")).getroot()


# ------------------------------------------------------------------------------------------------- pytest-json-report


def test_a_json_report_has_the_decision_the_metrics_and_every_check(expense):
    run, document, _ = told(expense, "baseline-v1")
    mine = document["release_gate"]

    assert run.code == document["exitcode"] == mine["exit_code"] == 12
    assert (mine["verdict"], mine["reasons"][0]) == ("BLOCK", "baseline-v1: critical failures 2 > 0 (n=12)")
    (snapshot,) = mine["snapshots"]
    assert (snapshot["suite"], snapshot["label"], snapshot["verdict"]) == ("expense", "baseline-v1", "BLOCK")
    assert snapshot["metrics"]["pass_rate"] == {"value": pytest.approx(8 / 12), "unit": "rate", "n": 12}
    assert snapshot["metrics"]["mutation_kill_rate"]["value"] is None
    tests = {test["nodeid"].partition("::")[2]: test["release_gate"] for test in document["tests"]}
    assert len(tests) == 12
    failed = tests["ER-004[baseline-v1]"]
    assert (failed["severity"], failed["state"], failed["trial"]) == ("critical", "failed", 0)
    assert failed["checks"][0] == {
        "name": "decision_exact",
        "status": "failed",
        "findings": [{"message": "expected decision 'reject', got 'approve'", "severity": "critical"}],
    }


def test_a_json_report_is_the_same_with_workers(expense):
    def mine(*args: str):
        document = told(expense, "candidate-v2", *args)[1]
        return document["release_gate"], sorted((t["nodeid"], json.dumps(t["release_gate"])) for t in document["tests"])

    assert mine("-n2") == mine()


def test_refused_evidence_is_told_too(expense):
    expense.write("outputs/candidate-v2.jsonl", "{")
    run, document, root = told(expense, "candidate-v2")

    assert (run.code, document["exitcode"], document["release_gate"]["verdict"]) == (2, 2, "HOLD")
    assert "outputs/candidate-v2.jsonl:1: " in document["release_gate"]["reasons"][0]
    assert properties(root.find("testsuite"))["release_gate_verdict"] == "HOLD"


@pytest.mark.parametrize("off", ["no:pytest_jsonreport", "no:junitxml"])
def test_nobody_has_to_have_these_reporters(expense, off):
    assert expense.gate("candidate-v3", "-p", off).code == 0


# --------------------------------------------------------------------------------------------------------------- JUnit


def properties(element: ET.Element) -> dict[str, str]:
    return {one.attrib["name"]: one.attrib["value"] for one in element.findall("properties/property")}


# What Jenkins' and GitLab's readers take: element → attributes that must be there, elements that may be inside.
SHAPE = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"properties", "testcase"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"classname", "name", "time"}, {"properties", "failure", "error", "skipped"}),
    "failure": ({"message"}, set()),
    "error": ({"message"}, set()),
    "skipped": ({"message"}, set()),
}  # fmt: skip


def assert_junit(element: ET.Element) -> None:
    needed, inside = SHAPE[element.tag]
    assert needed <= element.attrib.keys(), element.tag
    for child in element:
        assert child.tag in inside, f"{child.tag} in {element.tag}"
        assert_junit(child)


@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=str)
def test_junit_has_the_verdict_and_the_properties_of_each_case(expense, family, workers):
    _, _, root = told(expense, "deductions/postfix", "-o", f"junit_family={family}", *workers)
    assert_junit(root)
    suite = root.find("testsuite")
    assert suite is not None
    assert properties(suite)["release_gate_verdict"] == "REVIEW"
    assert properties(suite)["release_gate_reason"] == "postfix: pass^3 0.7778 < 0.8000 (n=18)"
    cases = {case.attrib["name"]: case for case in suite.findall("testcase")}
    failed = cases["D-0006[postfix-t1]"]
    wanted = {"severity": "major", "bucket": "deny", "snapshot": "postfix", "trial": "1", "state": "failed"}
    assert properties(failed) == wanted
    failure = failed.find("failure")
    assert failure is not None
    # A worker sends the text home and not what made it, so there the whole of it is the message.
    assert "expected action 'deny', got 'approve'" in failure.attrib["message"]
    assert workers or failure.attrib["message"] == "expected action 'deny', got 'approve'"
    assert "cases/deductions/cases.jsonl:6" in (failure.text or "")
    assert properties(cases["trust-1[reference]"]) == {}


def test_a_suite_of_one_trial_and_no_bucket_says_nothing_of_either(expense):
    _, _, root = told(expense, "candidate-v3")
    (case, *_) = root.iter("testcase")

    assert properties(case) == {"severity": "minor", "snapshot": "candidate-v3", "state": "passed"}


def hostile(project: Project) -> None:
    """A suite whose ids, titles and outputs are out to break whoever shows them."""
    case = {
        "case_id": HOSTILE,
        "title": HOSTILE,
        "severity": "critical",
        "bucket": HOSTILE,
        "expected": {"decision": "x"},
    }
    project.write("schema.json", '{"type": "object", "required": ["case_id"]}')
    project.write("cases.jsonl", json.dumps(case) + "\n")
    project.write("outputs/s.jsonl", json.dumps({"case_id": HOSTILE, "decision": HOSTILE}) + "\n")
    project.write(
        "gate.toml",
        '[suite]\nname = "s"\ncases = "cases.jsonl"\ncase_schema = "schema.json"\noutput_schema = "schema.json"\n'
        '[[checks]]\nname = "decision_exact"\n[[rules]]\nmetric = "pass_rate"\nat_least = 1\notherwise = "BLOCK"\n',
    )  # fmt: skip


def test_hostile_text_breaks_no_report(tmp_path):
    project = Project(tmp_path)
    hostile(project)
    run = project.run(
        "--release-gate=outputs/s.jsonl",
        "--release-gate-policy=gate.toml",
        "--json-report",
        "--json-report-file=report.json",
        "--junitxml=junit.xml",
        "--release-gate-code-quality=quality.json",
        env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(project.path("summary.md"))},
    )
    assert run.verdict == "BLOCK"
    assert_junit(ET.parse(project.path("junit.xml")).getroot())
    assert json.loads(project.path("report.json").read_text("utf-8"))["release_gate"]["exit_code"] == 12
    assert json.loads(project.path("quality.json").read_text("utf-8"))[-1]["severity"] in ("critical", "info")
    commands = [line for line in run.stdout.splitlines() if line.startswith("::")]
    assert len(commands) == 1
    assert re.fullmatch(r"::error file=cases\.jsonl,line=1,title=[^:,\x00-\x1f]+::[^\x00-\x1f]+", commands[0])
    assert "<" not in project.path("summary.md").read_text("utf-8")


# ------------------------------------------------------------------------------------------------------ GitHub Actions


@pytest.mark.parametrize(
    ("text", "data", "as_property"),
    [
        ("plain", "plain", "plain"),
        ("100 %", "100 %25", "100 %25"),
        ("a\nb", "a%0Ab", "a\\x0ab"),
        ("a\r\nb", "a\\x0d%0Ab", "a\\x0d\\x0ab"),
        ("a:b,c", "a:b,c", "a%3Ab%2Cc"),
        ("::error::x", "\\x3a:error::x", "\\x3a%3Aerror%3A%3Ax"),
        ("a\n::stop-commands::t", "a%0A\\x3a:stop-commands::t", "a\\x0a%3A%3Astop-commands%3A%3At"),
        ("%0A::x", "%250A::x", "%250A%3A%3Ax"),
        ("\x1b[0m\u202e\ud800", "\\x1b[0m\\u202e\\ud800", "\\x1b[0m\\u202e\\ud800"),
        ("§ é 😀", "§ é 😀", "§ é 😀"),
    ],
)
def test_text_for_a_workflow_command(text, data, as_property):
    assert github(text) == data
    assert github_property(text) == as_property


def on_github(project: Project, label: str, *args: str, **more: str):
    return project.gate(label, *args, env={"GITHUB_ACTIONS": "true", **more})


def commands(run) -> list[str]:
    return [line for line in run.stdout.splitlines() if line.startswith("::")]


def test_annotations_stand_on_the_lines_of_the_cases(expense):
    run = on_github(expense, "baseline-v1")
    starts = [command.split(",title")[0] for command in commands(run)]

    assert starts == [f"::error file=cases/cases.jsonl,line={line}" for line in (4, 5, 7, 11)]
    assert "title=ER-004 (critical%2C failed) in baseline-v1::decision_exact: expected" in commands(run)[0]
    assert run.stdout.splitlines()[-1].startswith("release gate: BLOCK")


def test_elsewhere_nothing_is_annotated_nor_summed_up(expense):
    for value in ("", "false", "1"):
        summary = expense.path("summary.md")
        run = expense.gate("baseline-v1", env={"GITHUB_ACTIONS": value, "GITHUB_STEP_SUMMARY": str(summary)})
        assert not commands(run)
        assert not summary.exists()


def test_paths_are_those_of_the_checkout(expense):
    inside = on_github(expense, "baseline-v1", GITHUB_WORKSPACE=str(expense.at.parent))
    outside = on_github(expense, "baseline-v1", GITHUB_WORKSPACE=str(expense.path("docs")))

    assert commands(inside)[0].startswith(f"::error file={expense.at.name}/cases/cases.jsonl,line=4,")
    assert commands(outside)[0].startswith("::error file=cases/cases.jsonl,line=4,")


def test_refused_evidence_is_annotated_where_it_is(expense):
    expense.write("outputs/candidate-v2.jsonl", "{}\n")
    run = on_github(expense, "candidate-v2", GITHUB_STEP_SUMMARY=str(expense.path("summary.md")))

    assert commands(run)[0].startswith(
        "::error file=outputs/candidate-v2.jsonl,line=1,title=release gate%3A the evidence"
    )
    assert "Nothing was decided" in expense.path("summary.md").read_text("utf-8")


def test_the_summary_is_added_to_what_is_there(expense):
    summary = expense.write("summary.md", "before\n")
    on_github(expense, "candidate-v2", "-n2", GITHUB_STEP_SUMMARY=str(summary))
    text = summary.read_text("utf-8")

    assert text.startswith("before\n# Release gate: ")
    assert text.count("# Release gate: ") == 1


def test_a_summary_that_can_not_be_written_is_one_sentence_and_changes_nothing(expense):
    run = on_github(expense, "candidate-v3", GITHUB_STEP_SUMMARY=str(expense.path("no/such/folder/summary.md")))

    assert (run.code, run.verdict) == (0, "PASS")
    assert "summary.md can't be written: No such file or directory" in run.out


def test_ten_annotations_of_a_level_and_a_count():
    severities = ["minor"] * 15 + ["major"] * 8 + ["critical"] * 8
    found = tuple(result(f"C{n:02}", "f", severity=severity) for n, severity in enumerate(severities))
    report = expense_report(found)
    lines = annotated.of_outputs(Conclusion(decision=Decision(verdict=report.decision.verdict), reports=(report,)), str)

    assert [line.split(" ")[0] for line in lines] == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"]
    assert [re.findall(r"title=(C\d+)", line)[0] for line in lines[:10]] == [
        *(f"C{n}" for n in range(23, 31)),
        "C15",
        "C16",
    ]
    assert lines[-1] == "::notice title=release gate::and 11 more; see the log"


def expense_report(found):
    suite = load(ROOT / "policy/gate.toml", [ROOT / "outputs/candidate-v3.jsonl"], root=ROOT)
    return replace(conclude(suite, grade_all(suite)).reports[0], results=found)


def test_a_summary_is_cut_after_a_whole_line():
    text = annotated.limited("é" * 99 + "\n" + ("x" * 99 + "\n") * 20_000)

    assert len(text.encode()) < 1024 * 1024
    assert text.endswith("x" * 99 + "\n\nThis summary was cut; everything is in the results files.\n")
    assert annotated.limited("short \ud800") == "short \\ud800"


# -------------------------------------------------------------------------------------------------------------- GitLab


def quality(project: Project, label: str, *args: str):
    run = project.gate(label, "--release-gate-code-quality=sub/quality.json", *args)
    return run, json.loads(project.path("sub/quality.json").read_text("utf-8"))


def test_code_quality_has_an_issue_for_each_finding_at_its_line(expense):
    _, issues = quality(expense, "baseline-v1")
    findings = [issue for issue in issues if issue["check_name"] != "release gate"]

    assert len(findings) == 15
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert {issue["location"]["lines"]["begin"] for issue in findings} == {4, 5, 7, 11}
    assert {issue["location"]["path"] for issue in issues} == {"cases/cases.jsonl"}
    assert {issue["severity"] for issue in findings} == {"critical", "major"}
    assert [i["description"] for i in issues if i["check_name"] == "release gate"] == [
        "BLOCK: pass rate 0.6667 < 0.9000 (n=12)",
        "BLOCK: critical failures 2 > 0 (n=12)",
    ]
    assert quality(expense, "baseline-v1", "-n2")[1] == issues
    assert quality(expense, "candidate-v3")[1] == []


def test_code_quality_of_refused_evidence_is_its_problems(expense):
    expense.write("outputs/candidate-v2.jsonl", "{")
    _, issues = quality(expense, "candidate-v2")

    assert issues[0]["severity"] == "blocker"
    assert issues[0]["location"] == {"path": "outputs/candidate-v2.jsonl", "lines": {"begin": 1}}


@pytest.mark.parametrize("break_it", ["policy", "conftest", "killed"])
def test_an_old_code_quality_report_never_looks_clean(expense, break_it):
    expense.write("sub/quality.json", "[]\n")
    if break_it == "policy":
        expense.write("policy/gate.toml", "x")
    elif break_it == "conftest":
        expense.write("conftest.py", "raise SystemExit(0)")
    else:
        expense.write("conftest.py", "import os\ndef pytest_runtest_setup(): os._exit(0)\n")
    _, issues = quality(expense, "candidate-v3")

    assert [issue["description"] for issue in issues] == [codequality.UNFINISHED]


def test_collecting_alone_touches_no_report(expense):
    expense.write("sub/quality.json", "[]\n")

    assert quality(expense, "candidate-v3", "--collect-only")[1] == []


def test_a_report_that_can_not_be_written_holds(expense):
    expense.write("sub", "a file, not a folder")
    run = expense.gate("candidate-v3", "--release-gate-code-quality=sub/quality.json")
    assert (run.code, run.verdict) == (4, None)
    assert "quality.json can't be written" in run.out


def test_a_report_that_can_not_be_written_at_the_end_holds_in_the_results_too(expense):
    expense.write(
        "conftest.py",
        "import os, shutil\n"
        "def pytest_runtest_teardown():\n"
        "    shutil.rmtree('sub', ignore_errors=True)\n"
        "    open('sub', 'w').close()\n",
    )
    run = expense.gate_results("candidate-v3", "--release-gate-code-quality=sub/quality.json")

    assert (run.code, run.verdict) == (11, "HOLD")
    assert run.evidence()["decision"]["verdict"] == "HOLD"


# ------------------------------------------------------------------------------------------------- the page is true


@pytest.mark.parametrize(
    ("label", "code", "said"),
    [("candidate-v3", 0, "PASS: ship it"), ("deductions/postfix", 10, "REVIEW:"), ("baseline-v1", 12, "BLOCK:")],
)
def test_the_shell_snippet_does_what_it_says(expense, label, code, said):
    (snippet,) = re.findall(r"(?ms)^```sh\n(.*?)^```$", DOCS)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV", "GITHUB"))}
    folder = os.path.dirname(sys.executable)
    env |= {"SNAPSHOT": f"outputs/{label}.jsonl", "PATH": f"{folder}:{env['PATH']}"}
    done = subprocess.run(["bash", "-c", snippet], cwd=expense.at, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(said)


@pytest.mark.parametrize("text", [DOCS, WORKFLOW], ids=["docs", "workflow"])
def test_options_are_given_with_an_equals_sign(text):
    assert "--release-gate=" in text
    assert not re.search(r"--release-gate(-results|-policy|-code-quality)? [^P]", text)
    assert "pytest " in text


def test_the_workflow_uses_only_the_actions_that_everybody_knows():
    assert set(re.findall(r"uses: (\S+?)@", WORKFLOW)) == {
        "actions/checkout",
        "actions/setup-python",
        "actions/upload-artifact",
    }
    assert "environment: release-review" in WORKFLOW


def test_the_workflow_lets_pass_through_asks_about_review_and_fails_on_the_rest(expense):
    """Its script, as a runner would run it: bash, stopping at the first error."""
    (script,) = re.findall(r"(?m)^        run: \|\n((?:          .*\n)+)", WORKFLOW)
    script = re.sub(r"(?m)^          ", "", script).replace("python -m pytest", f"{sys.executable} -m pytest -q")
    for label, code, said in [
        ("candidate-v3", 0, "verdict=PASS\n"),
        ("deductions/postfix", 0, "verdict=REVIEW\n"),
        ("baseline-v1", 12, ""),
        ("deductions/gone", 4, ""),
    ]:
        output = expense.write("output.txt", "")
        env = {**os.environ, "SNAPSHOT": f"outputs/{label}.jsonl", "GITHUB_OUTPUT": str(output)}
        env = {key: value for key, value in env.items() if not key.startswith(("PYTEST", "COV"))}
        done = subprocess.run(["bash", "-e", "-c", script], cwd=expense.at, env=env, capture_output=True, check=False)

        assert (done.returncode, output.read_text()) == (code, said)
