"""What PyCharm is told: through the package teamcity-messages, which speaks its protocol, in a real run."""

from __future__ import annotations

import json
import re

import pytest

from pytest_release_gate import comparison
from pytest_release_gate.grading import grade
from pytest_release_gate.model import Check, Reason

from build import case, output
from story import Run

pytest.importorskip("teamcity", reason="the extra 'dev' is not installed")

# As PyCharm starts pytest.
ARGS = ("--teamcity", "--no-header", "--no-summary", "-q")
UNQUOTED = {"n": "\n", "r": "\r"}


def messages(run: Run) -> list[tuple[str, dict[str, str]]]:
    """Every service message: its kind, and its attributes as the reader of the protocol sees them."""
    found = []
    for kind, body in re.findall(r"##teamcity\[(\w+) (.*)\]$", run.stdout, re.MULTILINE):
        pairs = re.findall(r"(\w+)='((?:\|.|[^|'])*)'", body)
        found.append((kind, {key: re.sub(r"\|(.)", lambda m: UNQUOTED.get(m[1], m[1]), value) for key, value in pairs}))
    return found


def of_kind(run: Run, kind: str) -> dict[str, dict[str, str]]:
    return {said["name"]: said for one, said in messages(run) if one == kind}


def name_of(case_id: str, label: str = "baseline-v1") -> str:
    return f"cases.cases_jsonl.{case_id}({label})"


def test_every_case_is_started_finished_and_named_for_a_tree(expense):
    run = expense.gate("baseline-v1", *ARGS)
    names = {name_of(f"ER-{n:03}") for n in range(1, 13)}

    assert set(of_kind(run, "testStarted")) == set(of_kind(run, "testFinished")) == names
    assert of_kind(run, "testStarted")[name_of("ER-004")]["metainfo"] == "ER-004[baseline-v1]"
    assert set(of_kind(run, "testFailed")) == {name_of(f"ER-{n:03}") for n in (4, 5, 7, 11)}
    assert ("testCount", "12") in {(kind, said.get("count")) for kind, said in messages(run)}


def test_a_failure_says_what_it_says_elsewhere_with_a_place_and_a_diff(expense):
    run = expense.gate("baseline-v1", *ARGS)
    failed = of_kind(run, "testFailed")

    assert (failed[name_of("ER-004")]["expected"], failed[name_of("ER-004")]["actual"]) == ("reject", "approve")
    citations = failed[name_of("ER-007")]
    assert citations["expected"] == "['ER-2026.09 §6.1', 'ER-2026.09 §7.1']"
    assert citations["actual"] == "['ER-2026.08 §6.1', 'ER-2026.09 §7.1']"
    assert citations["message"].startswith("cases/cases.jsonl:6 (ER-007[baseline-v1])")
    assert citations["details"].startswith("ER-007 Approval must cite the current policy (major) in baseline-v1\n")
    assert citations["details"].endswith("\n  cases/cases.jsonl:7\n  outputs/baseline-v1.jsonl:7")


def test_the_decision_is_the_last_line_and_no_message(expense):
    run = expense.gate("baseline-v1", *ARGS)

    assert (run.code, run.verdicts) == (12, ["BLOCK"])
    assert run.last.startswith("release gate: BLOCK: baseline-v1: critical failures 2 > 0")


def test_a_failure_that_compares_nothing_has_no_diff(expense):
    for check in ("decision_exact", "tool_behavior", "required_args_subset", "required_citations_present"):
        expense.replace("policy/gate.toml", f'[[checks]]\nname = "{check}"\n', "")
    failed = of_kind(expense.gate("baseline-v1", *ARGS), "testFailed")

    assert set(failed) == {name_of("ER-004"), name_of("ER-005"), name_of("ER-011")}
    assert not any("expected" in said or "actual" in said for said in failed.values())


def test_bad_evidence_is_an_error_on_the_file_and_ordinary_tests_run(expense):
    expense.write("test_own.py", "def test_own(): pass\n")
    expense.replace("outputs/candidate-v3.jsonl", '"ER-005"', '"ER-055"', 1)
    run = expense.gate("candidate-v3", *ARGS, "--continue-on-collection-errors", ".")
    failed = of_kind(run, "testFailed")

    assert set(failed) == {"cases.cases_jsonl.top_level_collect"}
    assert "outputs/candidate-v3.jsonl:5" in failed["cases.cases_jsonl.top_level_collect"]["details"]
    assert "test_own.test_own" in of_kind(run, "testFinished")
    assert run.verdict == "HOLD"
    assert run.last.startswith("release gate: HOLD")
    assert run.code != 0


def test_nothing_of_it_changes_what_is_written(expense):
    before = expense.gate_results("baseline-v1").files()
    for args in (ARGS, ("-n2",), (*ARGS, "-n2")):
        assert expense.gate_results("baseline-v1", *args).files() == before


def test_a_report_carries_reasons_and_no_comparison(expense):
    expense.write(
        "conftest.py",
        "def pytest_runtest_logreport(report):\n"
        "    if hasattr(report, 'release_gate'): print('CARRIES', report.release_gate)\n",
    )
    run = expense.gate("baseline-v1", "-s", "-k", "ER-007")
    (carried,) = re.findall(r"(?m)CARRIES (.*)$", run.stdout)
    checks = json.loads(carried)[-1]
    reason = 'missing required citations: ["ER-2026.09 §6.1"]\nthe output cites ["ER-2026.08 §6.1", "ER-2026.09 §7.1"]'

    assert [check[2] for check in checks if check[2]] == [[[reason, "major"]]]


@pytest.mark.parametrize(
    ("expected", "actual", "shown"),
    [
        ("reject", "approve", ("reject", "approve")),
        ("a\nb", "a\n\x1b[2Jb", ("a\nb", "a\n\\x1b[2Jb")),
        ({"a": 1}, {"a": 2}, ({"a": 1}, {"a": 2})),
        # what would read alike
        ("1", 1, ('"1"', "1")),
        ("\x1b", "\\x1b", ('"\\u001b"', '"\\\\x1b"')),
        (None, "None", ("null", '"None"')),
        (True, "True", ("true", '"True"')),
    ],
)
def test_both_sides_are_readable_safe_and_never_alike(expected, actual, shown):
    assert comparison.readable(expected, actual) == shown


@pytest.mark.parametrize(
    ("reasons", "found"),
    [
        (["no comparison"], None),
        (["first", Reason(message="x", expected=1, actual=2), Reason(message="y", expected=3, actual=4)], (1, 2)),
        ([Reason(message="x", expected="x", actual=None)], ("x", None)),
        ([Reason(message="x", expected=None, actual=False)], (None, False)),
    ],
)
def test_the_first_equality_that_failed_is_compared(reasons, found):
    check = Check(name="own", uses="own", function=lambda case, output: reasons)

    assert comparison.first_failed(grade(case(), output(), [check], "snap")) == found


def test_what_was_compared_is_no_part_of_what_a_finding_says():
    def graded(reason):
        return grade(case(), output(), [Check(name="own", uses="own", function=lambda case, output: [reason])], "snap")

    results = [graded("wrong"), graded(Reason(message="wrong", expected={"a": 1}, actual=[]))]

    assert results[0] == results[1]
    assert repr(results[0]) == repr(results[1])
    assert len({finding for result in results for finding in result.findings}) == 1


@pytest.mark.parametrize("hook", ["raise ValueError('no')", "import pytest; pytest.skip('no')", "return [None]"])
def test_whoever_breaks_on_a_comparison_changes_no_verdict(expense, hook):
    expense.write("conftest.py", f"def pytest_assertrepr_compare(left): {hook}\n")
    run = expense.gate("baseline-v1")

    assert (run.code, run.verdict) == (12, "BLOCK")


def test_others_are_told_what_is_compared(expense):
    expense.write("conftest.py", "def pytest_assertrepr_compare(op, left, right): print('TOLD', op, left, right)\n")
    run = expense.gate("baseline-v1", "-s", "-k", "ER-004")

    assert "TOLD == approve reject" in run.stdout


def test_a_comparison_that_is_no_json_breaks_nothing(expense):
    expense.write(
        "conftest.py",
        "from pytest_release_gate.model import Reason\n"
        "class Odd:\n"
        "    def __str__(self): raise RuntimeError('never shown')\n"
        "    __repr__ = __str__\n"
        "def own(case, output): yield Reason(message='odd', expected=Odd(), actual=3)\n"
        "def pytest_release_gate_checks(): return {'own': own}\n",
    )
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "own"\n\n[[rules]]', 1)
    run = expense.gate("candidate-v3", *ARGS)

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert "own: odd" in run.out
