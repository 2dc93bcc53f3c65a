"""Whether the checks would notice: mutants of right answers, and which of them survive."""

from __future__ import annotations

import re
import tomllib

import pytest

from pytest_release_gate import PolicyError, load
from pytest_release_gate.selftest import mutants, selftest

from build import case
from story import ROOT, Project

CALL = {"name": "pay", "arguments": {"amount": 5, "to": "A"}}
OTHER = {"name": "note", "arguments": {}}


def made(record: dict, expected: dict | None = None, others=()) -> dict[str, list]:
    found: dict[str, list] = {}
    for mutant in mutants(case(expected=expected or {}), record, list(others)):
        found.setdefault(mutant.what, []).append(mutant.record[mutant.what.partition(":")[0]])
    return found


@pytest.mark.parametrize(
    ("record", "expected", "kinds"),
    [
        ({"decision": "yes"}, {}, {"decision: change": ["yes?"], "decision: change the type": [1]}),
        ({"ok": True}, {}, {"ok: change": [False], "ok: change the type": [1]}),
        ({"n": 2}, {}, {"n: cross the threshold": [3000], "n: change the type": ["2"]}),
        ({"n": None}, {}, {"n: change": [1]}),
        (
            {"citations": ["A-2", "B"]},
            {},
            {
                "citations: drop": [["B"], ["A-2"]],
                "citations: age": [["A-1", "B"]],
                "citations: invent": [["A-2", "B", "INVENTED-1"]],
            },
        ),
        (
            {"facts": {"a": 1}},
            {},
            {
                "facts: drop": [{}],
                "facts: cross the threshold": [{"a": 2000}],
                "facts: change the type": [{"a": "1"}],
                "facts: add": [{"a": 1, "INVENTED-1": 1}],
            },
        ),
        ({"case_id": "A", "trial": 0, "error": None}, {}, {}),
        ({"latency_ms": 5}, {}, {"latency_ms: cross the threshold": [6000]}),
    ],
)
def test_what_is_made_of_a_field(record, expected, kinds):
    assert made(record, expected) == kinds


def test_what_is_made_of_tool_calls():
    found = made({"tool_calls": [CALL, OTHER]}, {"forbidden_tools": ["steal"]})

    assert found["tool_calls: drop"] == [[OTHER], [CALL]]
    assert found["tool_calls: twice"] == [[CALL, CALL, OTHER], [CALL, OTHER, OTHER]]
    assert found["tool_calls: swap"] == [[OTHER, CALL]]
    assert found["tool_calls: add a forbidden call"] == [[CALL, OTHER, {"name": "steal", "arguments": {}}]]
    assert found["tool_calls: add an unknown call"] == [[CALL, OTHER, {"name": "unknown_tool", "arguments": {}}]]
    assert {len(found[kind]) for kind in found if "argument" in kind} == {1, 2}
    assert made({"tool_calls": []})["tool_calls: add an unknown call"] == [[{"name": "unknown_tool", "arguments": {}}]]


def test_a_value_of_another_answer_is_the_likeliest_wrong_one():
    assert made({"decision": "yes"}, others=[{"decision": "no"}])["decision: change"] == ["no"]


@pytest.mark.parametrize("label", ["candidate-v3", "operations/clean", "deductions/postfix"])
def test_the_shipped_suites_notice_everything_that_is_not_declared(expense: Project, label):
    run = expense.gate(label, "--release-gate-selftest")
    rate, killed, count = re.search(r"kill rate (\S+) \((\d+) of (\d+) mutants", run.out).groups()

    assert (rate, killed) == ("1.0000", count)
    assert int(count) > 90
    assert run.verdict == expense.gate(label).verdict


def test_survivors_are_named_by_check_and_case(expense):
    text = expense.path("policy/gate.toml").read_text("utf-8")
    expense.write("policy/gate.toml", text.replace('[[checks]]\nname = "tool_behavior"\n', ""))
    run = expense.gate("candidate-v3", "--release-gate-selftest")

    assert "survivor: ER-005 tool_calls: add an unknown call at tool_calls+unknown_tool" in run.out
    assert re.search(r"cases with survivors: ER-005 \d+ of \d+", run.out)
    assert run.verdict == "PASS"


def test_without_a_reference_the_right_answers_of_the_candidates_are_broken(expense):
    bad = load(expense.path("policy/gate.toml"), [expense.path("outputs/baseline-v1.jsonl")], root=expense.at)

    assert sorted(selftest(bad).by_case) == [f"ER-{n:03}" for n in (1, 2, 3, 6, 8, 9, 10, 12)]


@pytest.mark.parametrize("value", ["3", '"x"', "[1]", '[""]'])
def test_equivalents_are_a_list_of_patterns(expense, value):
    text = expense.path("policy/gate.toml").read_text("utf-8")
    expense.write("policy/gate.toml", re.sub(r"equivalent = .*", f"equivalent = {value}", text))
    with pytest.raises(PolicyError, match="'equivalent' of \\[selftest\\] must be a list of strings"):
        load(expense.path("policy/gate.toml"), [expense.path("outputs/candidate-v3.jsonl")], root=expense.at)


def test_every_shipped_policy_says_why_mutants_are_equivalent():
    for path in (ROOT / "policy").rglob("gate.toml"):
        text = path.read_text("utf-8")
        if tomllib.loads(text).get("selftest"):
            assert re.search(r"(?m)^# .*\n\[selftest\]", text), path
