"""Evidence that can't be read as what it claims to be is refused: every problem, with its file and line."""

from __future__ import annotations

import gzip
import json
import os

import pytest

from pytest_release_gate import PolicyError, SuiteError, conclude, grade_all, load

from story import Project

GOOD = "outputs/candidate-v3.jsonl"
CASES = "cases/cases.jsonl"


def read(project: Project, *outputs: str):
    return load(project.path("policy/gate.toml"), [project.path(one) for one in outputs or (GOOD,)], root=project.at)


def refused(project: Project, *outputs: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        read(project, *outputs)
    return [str(problem) for problem in caught.value.problems]


def test_a_suite_knows_where_everything_stands(expense):
    suite = read(expense)

    assert str(suite.cases["ER-007"].source) == "cases/cases.jsonl:7"
    (snapshot,) = suite.snapshots
    assert (snapshot.label, str(snapshot.source)) == ("candidate-v3", GOOD)
    assert str(snapshot.outputs["ER-007", 0].source) == f"{GOOD}:7"
    assert set(suite.digests) == {
        "cases/case.schema.json",
        "cases/cases.jsonl",
        "cases/output.schema.json",
        "outputs/candidate-v3.jsonl",
        "outputs/candidate-v3.meta.json",
        "policy/POLICY.md",
        "policy/gate.toml",
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        (GOOD, '"case_id":"ER-002"', '"case_id":"ER-001"', f"{GOOD}:2: duplicate id 'ER-001', first on line 1"),
        (GOOD, '"case_id":"ER-002"', '"case_id":"ER-013"', f"{GOOD}:2: there is no case 'ER-013' for this output"),
        (
            GOOD,
            '"case_id":"ER-002"',
            '"case_id":"ER-013"',
            f"{GOOD}: the output for case 'ER-002' is missing (cases/cases.jsonl:2)",
        ),
        (GOOD, '"latency_ms":540', '"latency_ms":"540"', f"{GOOD}:2: latency_ms: expected a number"),
        (GOOD, '"latency_ms":540', '"latency_ms":-1', f"{GOOD}:2: latency_ms: -1 is less than the minimum 0"),
        (GOOD, '"latency_ms":540', '"latency_ms":true', f"{GOOD}:2: latency_ms: expected a number"),
        (GOOD, '"latency_ms":540', '"latency_ms":NaN', f"{GOOD}:2: holds NaN"),
        (GOOD, '"latency_ms":540', '"latency_ms":1e400', f"{GOOD}:2: holds the number 1e400"),
        (GOOD, ',"cost_usd":0.009', "", f"{GOOD}:2: 'cost_usd' is missing"),
        (GOOD, '"latency_ms":540', '"latency_ms":540,"extra":1', f"{GOOD}:2: unexpected field 'extra'"),
        (GOOD, '"latency_ms":540', '"latency_ms":540,"trial":1', f"{GOOD}:2: unexpected field 'trial'"),
        (GOOD, '"decision":"request_receipt"', '"decision":"ask"', f'{GOOD}:2: decision: "ask" is none of'),
        (GOOD, '"decision":"request_receipt"', '"decision":"ask","decision":"x"', "duplicate key 'decision'"),
        (CASES, '"ER-002"', '"ER-001"', f"{CASES}:2: duplicate id 'ER-001', first on line 1"),
        (CASES, '"severity":"major"', '"severity":"high"', f'{CASES}:2: severity: "high" is none of'),
        (CASES, '"ER-002"', '"ER-002\\n"', f"{CASES}:2: case_id: "),
        (CASES, '"tool_name":"request_receipt"', '"tool_name":"ask"', f"{CASES}:2: expected.tool_name"),
        (CASES, '"tool_name":"request_receipt"', '"tool_name":"none"', f"{CASES}:2: expected.required_args"),
        (CASES, '"tool_name":"request_receipt"', '"tool_name":"reject_claim"', f"{CASES}:2: expected.forbidden_tools"),
        (CASES, '"required_citations":["ER-2026.09 §3.2"]', '"required_citations":[]', "expected.required_citations"),
        (
            "cases/case.schema.json",
            '"type": "object"',
            '"type": "objekt"',
            "cases/case.schema.json: is no valid schema",
        ),
        ("cases/case.schema.json", "2020-12", "2019-09", "2020-12"),
        ("cases/output.schema.json", "{", "", "cases/output.schema.json:"),
    ],
)
def test_refused_with_file_and_line(expense, name, old, new, problem):
    expense.replace(name, old, new, 1)

    assert any(one.startswith(problem) or problem in one for one in refused(expense)), refused(expense)


def test_without_cases_there_is_nothing_to_decide(expense):
    expense.write(CASES, "")
    expense.write(GOOD, "")

    assert refused(expense) == ["cases/cases.jsonl: there are no cases; an empty suite decides nothing: add cases"]


def test_an_empty_snapshot_lacks_every_case(expense):
    expense.write(GOOD, "\n \n")

    assert len(refused(expense)) == 12


def test_problems_of_several_files_are_listed_together(expense):
    expense.replace(GOOD, '"latency_ms":540', '"latency_ms":"540"')
    expense.replace("outputs/baseline-v1.jsonl", '"latency_ms":610', '"latency_ms":"610"')

    problems = refused(expense, GOOD, "outputs/baseline-v1.jsonl")

    assert [one.partition(": ")[0] for one in problems if "latency_ms" in one] == [
        "outputs/baseline-v1.jsonl:2",
        f"{GOOD}:2",
    ]


def test_at_most_twenty_problems_are_shown_then_a_count(expense):
    for name in ("candidate-v3", "candidate-v2"):
        expense.write(f"outputs/{name}.jsonl", "")
    run = expense.run("--release-gate=outputs/candidate-*.jsonl")

    assert (run.code, run.verdict) == (2, "HOLD")
    assert "the evidence can't be judged as it is (24 problems):" in run.out
    assert "and 4 more problems" in run.out
    assert "interrupted" not in run.last
    assert run.out.partition("short test summary")[0].count("is missing") == 20


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "is a folder, not a file"),
        (os.mkfifo, "is a device, pipe or socket, not a file"),
        (lambda path: path.write_bytes(gzip.compress(b"{}")), "is compressed with gzip; unpack it first"),
        (lambda path: path.write_bytes("{}".encode("utf-16")), "is UTF-16"),
    ],
)
def test_what_is_no_text_file_is_named_as_what_it_is(expense, make, words):
    expense.path(GOOD).unlink()
    make(expense.path(GOOD))

    assert any(one.startswith(f"{GOOD}: {words}") for one in refused(expense))


@pytest.mark.parametrize("name", [CASES, "cases/case.schema.json", "cases/output.schema.json"])
def test_a_folder_in_the_place_of_a_file_is_one_problem(expense, name):
    expense.path(name).unlink()
    expense.path(name).mkdir()

    assert refused(expense) == [f"{name}: is a folder, not a file; name the file itself"]


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"a": 1, "a": 1}'])
def test_a_sidecar_that_is_no_object_is_one_problem(expense, text):
    expense.write("outputs/candidate-v3.meta.json", text)
    (problem,) = refused(expense)

    assert problem.startswith("outputs/candidate-v3.meta.json")


def test_an_unreadable_file_says_why(expense, monkeypatch):
    def denied(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", denied)
    with pytest.raises(PolicyError, match=r"policy/gate.toml: can't be read: Permission denied"):
        read(expense)


def test_a_link_is_what_it_leads_to(expense):
    expense.path(GOOD).rename(expense.path("outputs/real.jsonl"))
    expense.path(GOOD).symlink_to("real.jsonl")
    assert read(expense).snapshots[0].label == "candidate-v3"

    expense.path("outputs/real.jsonl").unlink()
    with pytest.raises(PolicyError, match="there is no such snapshot"):
        read(expense)


@pytest.mark.parametrize("key", ["cases", "case_schema", "output_schema", "document"])
def test_a_file_that_the_policy_names_and_that_is_not_there_is_a_bad_policy(expense, key):
    text = expense.path("policy/gate.toml").read_text("utf-8")
    lines = [f'{key} = "gone"' if line.startswith(f"{key} =") else line for line in text.split("\n")]
    expense.write("policy/gate.toml", "\n".join(lines))
    with pytest.raises(PolicyError, match=f"'{key}' names 'gone', but there is no such file"):
        read(expense)


def test_a_policy_in_another_encoding_is_refused_with_its_line(expense):
    expense.path("policy/gate.toml").write_bytes(b'[suite]\nname = "\xa7"\n')
    with pytest.raises(PolicyError, match=r"policy/gate.toml:2: is not UTF-8"):
        read(expense)


def test_windows_line_ends_and_a_mark_in_the_policy_are_fine(expense):
    data = expense.path("policy/gate.toml").read_bytes().replace(b"\n", b"\r\n")
    expense.path("policy/gate.toml").write_bytes(b"\xef\xbb\xbf" + data)

    assert read(expense).policy.name == "expense"


def _policy(project: Project, **evidence) -> None:
    text = project.path("policy/gate.toml").read_text("utf-8")
    for key, value in evidence.items():
        old = next(line for line in text.split("\n") if line.startswith(f"{key} ="))
        text = text.replace(old, f"{key} = {json.dumps(value)}")
    project.write("policy/gate.toml", text)


def _allow_trials(project: Project) -> None:
    project.replace("cases/output.schema.json", '"decision": {', '"trial": {"type": "integer"}, "decision": {', 1)


def test_every_planned_trial_must_be_there(expense):
    _policy(expense, trials=2)
    _allow_trials(expense)
    records = expense.records(GOOD)
    expense.write_records(GOOD, [*records, *[{**record, "trial": 1} for record in records[1:]]])

    assert refused(expense) == [
        f"{GOOD}: the output for case 'ER-001', trial 1 is missing (cases/cases.jsonl:1); record it and run again"
    ]


@pytest.mark.parametrize("trial", [1, 2, 10**30])
def test_a_trial_beyond_the_plan_is_refused(expense, trial):
    _allow_trials(expense)
    records = expense.records(GOOD)
    expense.write_records(GOOD, [*records, {**records[0], "trial": trial}])

    assert refused(expense) == [f"{GOOD}:13: trial {trial} of case 'ER-001' is beyond the 1 planned (0 is the first)"]


def test_trials_are_items_of_their_own(expense):
    _policy(expense, trials=2)
    _allow_trials(expense)
    records = expense.records(GOOD)
    expense.write_records(GOOD, [*records, *[{**record, "trial": 1} for record in records]])
    run = expense.gate_results("candidate-v3", "-rA")

    assert run.verdict == "PASS"
    assert "24 passed" in run.out
    assert "PASSED cases/cases.jsonl::ER-001[candidate-v3-t1]" in run.out
    known = json.loads((expense.results / "candidate-v3.json").read_text("utf-8"))
    assert [case["trial"] for case in known["cases"][:3]] == [0, 1, 0]


def test_missing_and_malformed_outputs_may_be_failures_but_never_a_pass(expense):
    _policy(expense, missing_output="fail", malformed_output="fail")
    records = expense.records(GOOD)
    records[1]["latency_ms"] = "fast"
    expense.write_records(GOOD, records[:-1])
    run = expense.gate_results("candidate-v3")

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert "output_recorded (critical): malformed: latency_ms: expected a number" in run.out
    assert "output_recorded (critical): missing: outputs/candidate-v3.jsonl has no output for case 'ER-012'" in run.out
    metrics = run.evidence()["snapshots"][0]["metrics"]
    assert (metrics["pass_rate"]["value"], metrics["pass_rate"]["n"]) == (pytest.approx(10 / 12), 12)
    assert metrics["critical_findings"]["value"] == 2

    expense.replace("policy/gate.toml", "at_least = 0.90", "at_least = 0.50")
    assert expense.gate("candidate-v3").verdict == "HOLD"


def test_an_output_that_died_is_skipped_counted_apart_and_held(expense):
    expense.replace("cases/output.schema.json", '"decision": {', '"error": {"type": "object"}, "decision": {', 1)
    records = expense.records(GOOD)
    records[0]["error"] = {"kind": "timeout", "message": "after 30 s"}
    expense.write_records(GOOD, records)
    run = expense.gate("candidate-v3", "-rs")

    assert (run.code, run.verdict) == (11, "HOLD")
    assert "infrastructure: timeout: after 30 s" in run.out
    assert "11 passed, 1 skipped" in run.out


def test_a_check_that_applies_to_no_case_holds(expense):
    idle = '[[checks]]\nname = "idle"\nuses = "decision_exact"\nwhen = { decision = ["aprove"] }\n\n[[rules]]'
    expense.replace("policy/gate.toml", "[[rules]]", idle, 1)
    run = expense.gate("candidate-v3")

    assert (run.code, run.verdict) == (11, "HOLD")
    assert "the check 'idle' applies to no case, so nothing was checked by it" in run.last
    expense.replace("policy/gate.toml", "aprove", "approve")
    assert expense.gate("candidate-v3").verdict == "PASS"


def test_the_library_concludes_the_same_in_any_order(expense):
    suite = read(expense, GOOD, "outputs/baseline-v1.jsonl")
    results = grade_all(suite)

    assert conclude(suite, results) == conclude(suite, tuple(reversed(results)))
    assert conclude(suite, results).decision.verdict.name == "BLOCK"


@pytest.mark.parametrize("change", ["twice", "foreign"])
def test_results_that_do_not_belong_are_an_error(expense, change):
    suite = read(expense)
    results = list(grade_all(suite))
    more = results[0] if change == "twice" else grade_all(read(expense, "outputs/baseline-v1.jsonl"))[0]
    with pytest.raises(ValueError, match="two results for" if change == "twice" else "no output of this suite"):
        conclude(suite, [*results, more])


def test_a_check_of_the_callers_own_by_name(expense):
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "own"\n\n[[rules]]', 1)

    def own(case, output):
        yield "never right"

    suite = load(expense.path("policy/gate.toml"), [expense.path(GOOD)], checks={"own": own}, root=expense.at)

    assert conclude(suite, grade_all(suite)).decision.verdict.name == "BLOCK"


@pytest.mark.parametrize("name", ["a.json", "z.json"])
def test_a_schema_may_refer_to_others_in_its_folder(expense, name):
    """They are read, digested and asserted, those that they refer to in turn as well."""
    expense.write(f"cases/{name}", '{"$ref": "more-of-it.json"}')
    expense.write("cases/more-of-it.json", '{"type": "integer", "minimum": 600}')
    schema = json.loads(expense.path("cases/output.schema.json").read_text("utf-8"))
    schema["properties"]["latency_ms"] = {"$ref": name}
    expense.write("cases/output.schema.json", json.dumps(schema))
    problems = refused(expense)

    assert any(problem.startswith(f"{GOOD}:2: latency_ms:") for problem in problems)
    expense.replace("cases/more-of-it.json", "600", "1")
    assert {f"cases/{name}", "cases/more-of-it.json"} <= set(read(expense).digests)


def test_one_label_is_one_snapshot(expense):
    """The library is asked directly; a session looks at labels before it gets here."""
    other = expense.write("elsewhere/candidate-v3.jsonl", expense.path("outputs/candidate-v3.jsonl").read_text("utf-8"))
    path, policy = expense.path("outputs/candidate-v3.jsonl"), expense.path("policy/gate.toml")

    assert len(load(policy, [path, path], root=expense.at).snapshots) == 1
    with pytest.raises(PolicyError, match=r"has the same label as outputs/candidate-v3\.jsonl: rename one of them"):
        load(policy, [path, other], root=expense.at)


@pytest.mark.parametrize(("text", "line"), [(b"\xff", 1), (b"\n\xff", 2), (b"\n\n[suite]\xff", 3)])
def test_the_line_of_a_byte_that_is_no_utf_8(expense, text, line):
    expense.path("policy/gate.toml").write_bytes(text)
    with pytest.raises(PolicyError, match=f"policy/gate.toml:{line}: is not UTF-8"):
        load(expense.path("policy/gate.toml"), [expense.path("outputs/candidate-v3.jsonl")], root=expense.at)
