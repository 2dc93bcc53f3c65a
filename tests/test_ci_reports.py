"""What CI services read of a run: JUnit files, pytest-json-report, GitHub's log and summary, GitLab's code quality."""

from __future__ import annotations

import json
import re
import shutil
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import escape
from pytest_release_gate.model import Conclusion, Decision, Ground, Location, Verdict
from pytest_release_gate.reporters import codequality, github, markdown, remarks

import junit
from build import result
from story import ROOT, Project, Run
from test_escape import HOSTILE

GOOD, REVIEWED, BAD = "candidate-v3", "candidate-v2", "baseline-v1"
GITHUB = {"GITHUB_ACTIONS": "true"}
REPORTS = (
    "--json-report",
    "--json-report-file=report.json",
    "--junitxml=junit.xml",
    "--release-gate-code-quality=quality.json",
)
LAST_BROKEN = "def pytest_sessionfinish(session): raise ValueError\n"


def loaded(project: Project, name: str):
    return json.loads(project.path(name).read_bytes().decode("utf-8"))


def suite_of(project: Project, name: str = "junit.xml") -> ElementTree.Element:
    return ElementTree.parse(project.path(name)).getroot()[0]


def commands(run: Run) -> list[str]:
    return re.findall(r"(?m)^\s*(::.*)$", run.out)


def decoded(command: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner reads it: name, properties, message."""
    info, _, message = command.removeprefix("::").partition("::")
    name, _, rest = info.partition(" ")

    def plain(text: str, tokens: str) -> str:
        for token in f"\r\n{tokens}%":
            text = text.replace(f"%{ord(token):02X}", token)
        return text

    pairs = (pair.partition("=") for pair in rest.split(",") if pair)
    return name, {key: plain(value, ":,") for key, _, value in pairs}, plain(message, "")


@pytest.fixture(scope="module", params=[(), ("-n2",)], ids=["one process", "two workers"])
def bad(request, tmp_path_factory) -> tuple[Project, Run]:
    """A run that ends in BLOCK, with every report."""
    project = Project(tmp_path_factory.mktemp("bad"))
    for name in ("cases", "outputs", "policy"):
        shutil.copytree(ROOT / name, project.at / name)
    project.write("pytest.ini", "[pytest]\n")
    project.replace("cases/cases.jsonl", '"severity":"critical"', '"bucket":"money","severity":"critical"')
    schema = loaded(project, "cases/case.schema.json")
    schema["properties"]["bucket"] = {"type": "string"}
    project.write("cases/case.schema.json", json.dumps(schema))
    return project, project.gate_results(BAD, *REPORTS, *request.param, env=GITHUB)


# --------------------------------------------------------------------------------------------------- pytest-json-report


def test_json_report_has_decision_metrics_and_checks(bad):
    project, run = bad
    document = loaded(project, "report.json")
    ours = document["release_gate"]
    (evidence,) = run.evidence()["snapshots"]

    assert run.code == document["exitcode"] == ours["decision"]["exit_code"] == 12
    assert ours["decision"]["verdict"] == "BLOCK"
    assert ours["decision"]["reasons"] == run.evidence()["decision"]["reasons"]
    (snapshot,) = ours["snapshots"]
    assert snapshot["snapshot"] == BAD
    kept = {name: {key: one[key] for key in ("value", "unit", "n")} for name, one in evidence["metrics"].items()}
    assert snapshot["metrics"] == kept
    assert len(ours["items"]) == len(document["tests"]) == 12
    for item, known in zip(ours["items"], evidence["results"], strict=True):
        assert item["nodeid"] == f"cases/cases.jsonl::{known['case_id']}[{BAD}]"
        assert (item["severity"], item["bucket"], item["state"], item["trial"]) == (
            known["severity"],
            known["bucket"],
            known["state"],
            0,
        )
        assert item["checks"] == [{k: c[k] for k in ("name", "status", "findings")} for c in known["checks"]]
    assert {test["nodeid"]: test["metadata"]["release_gate"] for test in document["tests"]} == {
        item["nodeid"]: item for item in ours["items"]
    }


def test_what_is_not_known_is_null(expense):
    expense.replace("outputs/candidate-v3.jsonl", '"cost_usd":', '"cost":', 1)
    schema = loaded(expense, "cases/output.schema.json")
    schema["required"].remove("cost_usd")
    schema["additionalProperties"] = True
    expense.write("cases/output.schema.json", json.dumps(schema))
    run = expense.gate(GOOD, *REPORTS)
    ours = loaded(expense, "report.json")["release_gate"]

    assert (run.code, ours["decision"]["verdict"]) == (11, "HOLD")
    assert ours["snapshots"][0]["metrics"]["mean_cost_usd"] == {"value": None, "unit": "USD", "n": 11}


@pytest.mark.parametrize("plugin", ["pytest_jsonreport", "junitxml"])
def test_without_the_plugin_nothing_breaks(expense, plugin):
    run = expense.gate(GOOD, "-p", f"no:{plugin}")

    assert (run.code, run.verdict) == (0, "PASS")


def test_a_refusal_is_in_every_report(expense):
    expense.write("outputs/candidate-v3.jsonl", "{\n")
    run = expense.gate(GOOD, *REPORTS, env=GITHUB)
    document = loaded(expense, "report.json")

    assert (run.code, document["exitcode"], document["release_gate"]["decision"]["exit_code"]) == (2, 2, 2)
    assert document["release_gate"]["decision"]["verdict"] == "HOLD"
    assert document["release_gate"]["snapshots"] == document["release_gate"]["items"] == []
    said = junit.properties(suite_of(expense))
    assert said["release_gate_verdict"] == "HOLD"
    assert "outputs/candidate-v3.jsonl:1: ends in the middle" in said["release_gate_reasons"]
    name, where, message = decoded(commands(run)[0])
    assert (name, where["file"], where["line"]) == ("error", "outputs/candidate-v3.jsonl", "1")
    assert message.startswith("ends in the middle of a value")
    entries = [one for one in loaded(expense, "quality.json") if "ends in the middle" in one["description"]]
    assert [(one["location"], one["severity"]) for one in entries] == [
        ({"path": "outputs/candidate-v3.jsonl", "lines": {"begin": 1}}, "blocker")
    ]


def test_reports_that_were_written_too_early_are_corrected(expense):
    expense.write("conftest.py", f"import pytest\n@pytest.hookimpl(trylast=True)\n{LAST_BROKEN}")
    run = expense.gate(GOOD, *REPORTS)
    document = loaded(expense, "report.json")

    assert run.verdict == "HOLD"
    assert document["release_gate"]["decision"]["verdict"] == "HOLD"
    assert document["exitcode"] == document["release_gate"]["decision"]["exit_code"] != 0
    assert junit.properties(suite_of(expense))["release_gate_verdict"] == "HOLD"
    assert [one["severity"] for one in loaded(expense, "quality.json")] == ["blocker"]


# -------------------------------------------------------------------------------------------------------------- JUnit


def test_junit_has_the_verdict_and_what_each_case_is(bad):
    project, _ = bad
    suite = suite_of(project)
    said = junit.properties(suite)
    cases = {case.get("name"): junit.properties(case) for case in suite.iter("testcase")}

    assert said["release_gate_verdict"] == "BLOCK"
    assert said["release_gate_reasons"].startswith("baseline-v1: critical failures 2 > 0 (n=12); baseline-v1: pass")
    assert len(cases) == 12
    assert cases["ER-004[baseline-v1]"] == {
        "severity": "critical",
        "bucket": "money",
        "snapshot": "baseline-v1",
        "state": "failed",
    }
    assert cases["ER-001[baseline-v1]"]["state"] == "passed"
    (failure,) = (c.find("failure") for c in suite.iter("testcase") if c.get("name") == "ER-007[baseline-v1]")
    assert 'missing required citations: ["ER-2026.09 §6.1"]' in failure.get("message")
    assert failure.text.split("\n")[0] == "ER-007 Approval must cite the current policy (major) in baseline-v1"


def test_junit_keeps_to_its_structure(bad):
    project, _ = bad
    text = project.path("junit.xml").read_text("utf-8")

    assert junit.faults(text) == []
    # The one thing that the xUnit plugin's schema does not have.
    assert set(junit.faults(text, properties=False)) == {"properties in testcase"}


def test_both_junit_families_have_the_properties(expense):
    for family, more in (("xunit1", junit.XUNIT1), ("xunit2", ())):
        expense.gate(REVIEWED, "--junitxml=junit.xml", "-o", f"junit_family={family}")
        suite = suite_of(expense)

        assert junit.faults(expense.path("junit.xml").read_text("utf-8"), more=more) == []
        assert {junit.properties(case)["snapshot"] for case in suite.iter("testcase")} == {REVIEWED}
        files = {case.get("file") for case in suite.iter("testcase")}
        assert files == {"cases/cases.jsonl" if family == "xunit1" else None}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("<testsuite/>", "the root is testsuite"),
        (
            "<testsuites><testsuite tests='0' failures='0' errors='0' skipped='0'/></testsuites>",
            "testsuite has no name",
        ),
        ("<testsuites><x/></testsuites>", "x in testsuites"),
        ("<testsuites>text</testsuites>", "text in testsuites"),
        ("<testsuites time='soon'/>", "the time of a testsuites is soon"),
        ("<testsuites y='z'/>", "testsuites has y"),
    ],
)
def test_the_check_of_the_structure_can_fail(text, fault):
    assert fault in junit.faults(text)


TRIALS = """\
[suite]
name = "s"
cases = "cases.jsonl"
case_schema = "schema.json"
output_schema = "schema.json"
[evidence]
trials = 2
valid_trials = 1
[[checks]]
name = "decision_exact"
[[trust]]
snapshot = "known.jsonl"
must = "pass"
[[rules]]
metric = "pass_hat_1"
at_least = 0.1
otherwise = "BLOCK"
"""


def test_trials_and_lost_runs_and_trust_are_told_apart(tmp_path):
    project = Project(tmp_path)
    project.write("pytest.ini", "[pytest]\n")
    project.write("schema.json", '{"type": "object", "required": ["case_id"]}')
    project.write("gate.toml", TRIALS)
    project.write_records("cases.jsonl", [{"case_id": "A", "severity": "minor", "expected": {"decision": "yes"}}])
    project.write_records("known.jsonl", [{"case_id": "A", "decision": "yes"}])
    lost = {"kind": "timeout", "message": "too late"}
    outputs = [{"case_id": "A", "trial": 0, "decision": "yes"}, {"case_id": "A", "trial": 1, "error": lost}]
    project.write_records("new.jsonl", outputs)
    run = project.run("--release-gate=new.jsonl", "--release-gate-policy=gate.toml", *REPORTS, env=GITHUB)
    cases = {case.get("name"): junit.properties(case) for case in suite_of(project).iter("testcase")}

    assert cases["trust-1[known]"] == {"snapshot": "known", "state": "passed"}
    common = {"severity": "minor", "bucket": "", "snapshot": "new"}
    assert cases["A[new-t0]"] == {**common, "trial": "0", "state": "passed"}
    assert cases["A[new-t1]"] == {**common, "trial": "1", "state": "infra"}
    assert [one["state"] for one in loaded(project, "report.json")["release_gate"]["items"]] == ["passed", "infra"]
    assert junit.faults(project.path("junit.xml").read_text("utf-8")) == []
    name, where, message = decoded(commands(run)[0])
    assert (name, where["title"]) == ("warning", "A (minor, infra) in new, trial 1")
    assert "infrastructure trouble: timeout" in message
    lost = [one for one in loaded(project, "quality.json") if one["check_name"] == "infrastructure"]
    assert [one["severity"] for one in lost] == ["blocker"]


def test_an_item_that_was_not_judged_says_so(expense):
    expense.write("conftest.py", "import pytest\ndef pytest_runtest_setup(item): pytest.skip('no')\n")
    expense.gate(GOOD, "--junitxml=junit.xml")

    assert {junit.properties(case)["state"] for case in suite_of(expense).iter("testcase")} == {"not judged"}


def test_a_rerun_does_not_upgrade_what_a_case_says(expense):
    expense.write(
        "conftest.py",
        "seen = set()\ndef flaky(case, output):\n    if case.id not in seen:\n        seen.add(case.id)\n"
        "        yield 'not today'\ndef pytest_release_gate_checks(): return {'flaky': flaky}\n",
    )
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "flaky"\n\n[[rules]]', 1)
    run = expense.gate(GOOD, "--reruns=1", *REPORTS)

    assert run.verdict == "BLOCK"
    assert {junit.properties(case)["state"] for case in suite_of(expense).iter("testcase")} == {"failed"}
    assert {t["metadata"]["release_gate"]["state"] for t in loaded(expense, "report.json")["tests"]} == {"failed"}


# ------------------------------------------------------------------------------------------------------ hostile texts


@pytest.mark.parametrize(
    ("text", "message", "value"),
    [
        ("plain § 👍", "plain § 👍", "plain § 👍"),
        ("100 %", "100 %25", "100 %25"),
        ("%0A::error::x", "%250A::error::x", "%250A%3A%3Aerror%3A%3Ax"),
        ("a\n::error::x", "a%0A\\x3a:error::x", "a\\x0a%3A%3Aerror%3A%3Ax"),
        ("a\r\n::set-output name=x::y", "a\\x0d%0A\\x3a:set-output name=x::y", None),
        ("::stop-commands::token", "\\x3a:stop-commands::token", None),
        ("a ##[stop-commands]token", "a \\x23#[stop-commands]token", None),
        ("a,file=/etc/passwd", "a,file=/etc/passwd", "a%2Cfile=/etc/passwd"),
        ("\u202egnp", "\\u202egnp", "\\u202egnp"),
        ("half \ud83d", "half \\ud83d", "half \\ud83d"),
    ],
)
def test_workflow_command(text, message, value):
    assert escape.workflow_command(text) == message
    if value is not None:
        assert escape.workflow_command(text, in_property=True) == value


@given(st.text(st.characters() | st.sampled_from("%:,=\r\n#["), max_size=40))
def test_a_workflow_command_is_one_line_and_reads_as_what_was_meant(text):
    line = f"::error file={escape.workflow_command(text, in_property=True)},title=x::{escape.workflow_command(text)}"
    name, properties, message = decoded(line)

    assert len(line.splitlines()) == 1
    assert (name, properties) == ("error", {"file": escape.terminal(text), "title": "x"})
    assert message == escape.lines(text)
    line.encode("utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> tuple[Project, Run]:
    """Each hostile text as an id, a title, a bucket and in a finding, in two workers on GitHub."""
    project = Project(tmp_path_factory.mktemp("hostile"))
    project.write("pytest.ini", "[pytest]\n")
    project.write("schema.json", '{"type": "object", "required": ["case_id"]}')
    project.write("gate.toml", re.sub(r"(?s)\[evidence\].*?(?=\[\[checks)|\[\[trust.*?(?=\[\[rules)", "", TRIALS))
    project.replace("gate.toml", "pass_hat_1", "pass_rate")
    cases = [
        {
            "case_id": f"{number}{text[:9000]}",
            "title": text,
            "bucket": text[:9000],
            "severity": "critical",
            "expected": {"decision": text},
        }
        for number, text in enumerate(HOSTILE.values())
    ]
    lines = [{"case_id": case["case_id"], "decision": f"not {case['title']}"} for case in cases]
    for name, records in (("cases.jsonl", cases), ("new.jsonl", lines)):
        project.write(name, "".join(json.dumps(record) + "\n" for record in records))
    project.write("summary.md", "mine")
    env = {**GITHUB, "GITHUB_STEP_SUMMARY": "summary.md"}
    args = ("--release-gate=new.jsonl", "--release-gate-policy=gate.toml", "-n2")
    return project, project.run(*args, *REPORTS, env=env)


def test_hostile_texts_reach_no_reader_as_anything_but_text(hostile):
    project, run = hostile

    assert (run.code, run.verdict, len(run.verdicts)) == (12, "BLOCK", 1)
    assert junit.faults(project.path("junit.xml").read_text("utf-8")) == []
    found = [decoded(line) for line in commands(run)]
    assert [name for name, _, _ in found] == ["error"] * 10 + ["notice"]
    assert all(set(where) == {"file", "line", "title"} for _, where, _ in found[:10])
    assert "##[" not in run.out
    assert max(map(len, commands(run))) < 4096
    assert len(loaded(project, "quality.json")) == len(loaded(project, "report.json")["tests"]) == len(HOSTILE)


def test_hostile_texts_do_no_harm_in_a_summary(hostile):
    project, _ = hostile
    text = project.path("summary.md").read_bytes().decode("utf-8")

    assert text.startswith("mine\n\n# Release gate: BLOCK\n")
    assert [line for line in text.split("\n") if line.startswith("# ")] == ["# Release gate: BLOCK"]
    assert "<script" not in text
    assert not re.search(r"^\s*```", text, re.MULTILINE)


# ----------------------------------------------------------------------------------------------------- GitHub Actions


def test_annotations_stand_before_the_decision_and_the_gravest_first(bad):
    _, run = bad
    found = [decoded(line) for line in commands(run)]

    assert [(name, where["file"], where["line"]) for name, where, _ in found] == [
        ("error", "cases/cases.jsonl", line) for line in ("4", "5", "7", "11")
    ]
    assert found[0][1]["title"] == "ER-004 (critical, failed) in baseline-v1"
    assert "decision_exact: expected decision 'reject', got 'approve'" in found[0][2]
    assert run.last.startswith("release gate: BLOCK")
    assert len(re.findall("::error", run.out)) == 4  # workers write none


@pytest.mark.parametrize("env", [{}, {"GITHUB_ACTIONS": "false"}, {"CI": "true"}])
def test_elsewhere_there_are_neither_annotations_nor_a_summary(expense, env):
    run = expense.gate(BAD, env={**env, "GITHUB_STEP_SUMMARY": "summary.md"})

    assert commands(run) == []
    assert not expense.path("summary.md").exists()


def test_files_are_named_from_the_root_of_the_repository(expense):
    inside = expense.gate(REVIEWED, env={**GITHUB, "GITHUB_WORKSPACE": str(expense.at.parent)})
    outside = expense.gate(REVIEWED, env={**GITHUB, "GITHUB_WORKSPACE": str(expense.at / "cases")})

    assert decoded(commands(inside)[0])[1]["file"] == "project/cases/cases.jsonl"
    assert decoded(commands(outside)[0])[1]["file"] == "cases/cases.jsonl"


def test_a_policy_that_can_not_be_used_is_annotated_too(expense):
    expense.replace("policy/gate.toml", "critical_failures", "critical_failure")
    run = expense.gate(GOOD, *REPORTS, env={**GITHUB, "GITHUB_STEP_SUMMARY": "summary.md"})
    name, where, message = decoded(commands(run)[0])

    assert run.code == 4
    assert (name, where["file"]) == ("error", "policy/gate.toml")
    assert int(where["line"]) > 1
    assert message.startswith("no metric is called")
    assert expense.path("summary.md").read_text("utf-8").startswith("# Release gate: HOLD\n")
    assert [one["location"]["path"] for one in loaded(expense, "quality.json")] == ["policy/gate.toml"]


def test_an_interrupted_run_ends_in_the_decision_too(expense):
    expense.write(
        "conftest.py", "def pytest_runtest_call(item):\n    if 'ER-009' in item.nodeid: raise KeyboardInterrupt\n"
    )
    run = expense.gate(BAD, env=GITHUB)

    assert len(commands(run)) == 3
    assert run.last.startswith("release gate: BLOCK")


def test_a_summary_that_can_not_be_written_changes_nothing(expense):
    run = expense.gate(GOOD, env={**GITHUB, "GITHUB_STEP_SUMMARY": "cases"})

    assert (run.code, run.verdict) == (0, "PASS")
    assert "the step summary cases can't be written: Is a directory" in run.out


@pytest.mark.parametrize(("before", "words"), [(1_048_000, "was cut here"), (1_048_570, "the step summary is full")])
def test_a_summary_is_cut_below_a_mebibyte(expense, before, words):
    expense.write("summary.md", "x" * before)
    run = expense.gate(BAD, env={**GITHUB, "GITHUB_STEP_SUMMARY": "summary.md"})
    data = expense.path("summary.md").read_bytes()

    assert run.verdict == "BLOCK"
    assert data.startswith(b"x" * before)
    assert len(data) < 1024 * 1024
    assert words in data.decode("utf-8") + run.out


def conclusion(*letters: str, verdict: Verdict = Verdict.PASS, reasons: tuple[str, ...] = ()) -> Conclusion:
    """A conclusion of results whose severities and checks are given: `conclusion("minor f")`."""
    from types import SimpleNamespace

    grounds = tuple(Ground(verdict=verdict, reason=reason) for reason in reasons)
    found = [result(f"C{n:03}", one.split()[1], severity=one.split()[0]) for n, one in enumerate(letters)]
    report = SimpleNamespace(
        results=found,
        snapshot="snap",
        policy="gate.toml",
        suite="s",
        source="snap.jsonl",
        expected=len(found),
        decision=Decision(verdict=verdict, grounds=grounds),
    )
    return Conclusion(decision=Decision(verdict=verdict), reports=(report,))


def test_of_each_level_ten_are_shown_and_the_rest_is_counted():
    found = conclusion(*["minor f"] * 13, *["major f"] * 9, "critical f", "critical e", "major p")
    lines = [decoded(line) for line in github.commands(found, [], "")]

    assert [name for name, _, _ in lines] == ["error"] * 10 + ["warning"] * 10 + ["notice"]
    assert [where["title"].split()[1] for _, where, _ in lines[:3]] == ["(critical,", "(critical,", "(major,"]
    assert lines[-1][2] == "1 more errors and 3 more warnings are not shown here"


def test_a_place_outside_of_the_repository_is_not_named():
    there = remarks.Trouble(message="is bad", place=Location(path="../x.jsonl", line=3))

    assert github.commands(conclusion(), [there], "") == ["::error title=refused by the release gate::is bad"]
    assert "file=x.jsonl,line=3" in github.commands(conclusion(), [there], "sub")[0]


def test_a_summary_is_cut_at_the_end_of_a_line(monkeypatch):
    monkeypatch.setattr(markdown, "render", lambda _: "".join(f"- line {n} §\n" for n in range(1000)))
    whole, cut = github.summary(conclusion(), 10**6), github.summary(conclusion(), 1000).decode("utf-8")

    assert b"was cut" not in whole
    assert len(cut.encode()) <= 1000
    assert re.fullmatch(r"(- line \d+ §\n)+\nThis summary was cut here, since .*\n", cut)
    assert github.summary(conclusion(), -5) == b""


# ------------------------------------------------------------------------------------------------------- code quality


def test_code_quality_has_an_entry_for_each_finding(bad):
    project, run = bad
    entries = loaded(project, "quality.json")

    assert len(entries) == 15  # as the decision block counts them
    for one in entries:
        assert sorted(one) == ["check_name", "description", "fingerprint", "location", "severity"]
        assert re.fullmatch("[0-9a-f]{64}", one["fingerprint"])
        assert one["location"]["path"] == "cases/cases.jsonl"
    assert len({one["fingerprint"] for one in entries}) == 15
    assert [one["severity"] for one in entries].count("critical") == 9
    assert entries[0]["description"] == "ER-004 in baseline-v1: expected decision 'reject', got 'approve'"
    lines = [one["location"]["lines"]["begin"] for one in entries]
    assert lines == sorted(lines)
    assert "quality.json" not in run.files()


def test_code_quality_is_the_same_each_time_and_empty_for_a_pass(expense):
    option = "--release-gate-code-quality=out/quality.json"
    expense.gate(BAD, option, env={"PYTHONHASHSEED": "1"})
    first = expense.path("out/quality.json").read_bytes()
    expense.gate(BAD, option, "-n2", env={"PYTHONHASHSEED": "2"})
    assert expense.path("out/quality.json").read_bytes() == first

    assert expense.gate(GOOD, option).verdict == "PASS"
    assert loaded(expense, "out/quality.json") == []


def test_code_quality_names_files_from_the_root_of_the_repository(expense):
    env = {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(expense.at.parent)}
    expense.gate(REVIEWED, REPORTS[-1], env=env)

    assert [one["location"]["path"] for one in loaded(expense, "quality.json")] == ["project/cases/cases.jsonl"]


@pytest.mark.parametrize(
    ("found", "severities"),
    [
        (conclusion("major p"), []),
        (conclusion("major f", verdict=Verdict.BLOCK, reasons=("bad",)), ["major"]),
        (conclusion("major e"), ["blocker"]),
        (conclusion("minor s"), ["blocker"]),
        (conclusion("minor f", verdict=Verdict.HOLD, reasons=("part",)), ["minor", "blocker"]),
        (conclusion("major p", verdict=Verdict.REVIEW, reasons=("slow",)), ["major"]),
        (conclusion("major p", verdict=Verdict.BLOCK, reasons=("slow",)), ["blocker"]),
    ],
)
def test_code_quality_is_never_empty_but_for_a_pass(found, severities):
    entries = json.loads(codequality.render(found, [], "", "quality.json"))

    assert [one["severity"] for one in entries] == severities


def test_code_quality_of_a_part_is_not_clean(expense):
    run = expense.gate(GOOD, REPORTS[-1], "-k", "ER-001")
    entries = loaded(expense, "quality.json")

    assert run.verdict == "HOLD"
    assert {one["severity"] for one in entries} == {"blocker"}
    assert any("only 1 of 12 outputs were judged" in one["description"] for one in entries)


def test_a_run_that_dies_leaves_no_old_clean_report(expense):
    expense.write("quality.json", "[]\n")
    expense.write("conftest.py", "import os\ndef pytest_runtest_call(item): os._exit(0)\n")
    expense.gate(GOOD, REPORTS[-1])
    (entry,) = loaded(expense, "quality.json")

    assert entry["description"].startswith("HOLD: the run has not finished")
    assert entry["severity"] == "blocker"


def test_code_quality_that_can_not_be_written_holds(expense):
    expense.path("quality.json").mkdir()
    run = expense.gate_results(GOOD, REPORTS[-1])

    assert (run.code, run.verdict) == (11, "HOLD")
    assert "quality.json can't be written" in run.last
    assert run.evidence()["decision"]["verdict"] == "HOLD"
    assert not any(b'": "PASS"' in content for content in run.files().values())


def test_results_that_can_not_be_written_stand_in_code_quality(expense):
    expense.write(
        "conftest.py",
        "import shutil, pathlib\ndef pytest_runtest_teardown(item, nextitem):\n    if nextitem is None:\n"
        "        shutil.rmtree('results'); pathlib.Path('results').write_text('taken')\n",
    )
    assert expense.gate_results(GOOD, REPORTS[-1]).verdict == "HOLD"
    (entry,) = loaded(expense, "quality.json")
    assert "can't be written" in entry["description"]


@pytest.mark.parametrize("name", ["outputs/candidate-v3.jsonl", "policy/gate.toml", "cases/case.schema.json"])
def test_code_quality_overwrites_nothing_else(expense, name):
    before = expense.path(name).read_bytes()
    run = expense.gate(GOOD, f"--release-gate-code-quality={name}")

    assert run.code == 4
    assert f"{name}, which is no such report; name a file of its own" in run.out
    assert expense.path(name).read_bytes() == before


def test_nothing_else_writes_code_quality(expense):
    before = sorted(expense.at.rglob("*"))
    expense.gate(BAD, env={"GITLAB_CI": "true", "CI_PROJECT_DIR": str(expense.at)})
    expense.gate(BAD, REPORTS[-1], "--collect-only")

    assert sorted(expense.at.rglob("*")) == before
