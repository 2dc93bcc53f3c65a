"""The built-in checks: what each holds for, what it says, and that a missing expectation is no pass."""

from __future__ import annotations

import inspect

import pytest

from pytest_release_gate import checks
from pytest_release_gate.checks import evidence, fields, tools
from pytest_release_gate.grading import grade
from pytest_release_gate.model import Case, Check, Output, Reason, State, Status

from build import case, output

ARGS = {"claim": "C", "amount": 5}


def said(check, expectations: dict, record: dict, **arguments) -> list[str]:
    return [reason.message for reason in check(case(expected=expectations), output(record=record), **arguments)]


def call(name="pay", **arguments):
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("expected", "record", "reasons"),
    [
        ({"decision": "pay"}, {"decision": "pay"}, []),
        ({"decision": "pay"}, {"decision": "Pay"}, ["expected decision 'pay', got 'Pay'"]),
        ({"decision": "pay"}, {}, ["expected decision 'pay', got nothing"]),
        ({"decision": None}, {}, ["expected decision null, got nothing"]),
        ({"decision": 1}, {"decision": True}, ["expected decision 1, got true"]),
        ({"decision": 42}, {"decision": 42.0}, []),
        ({"decision": "a\nb"}, {"decision": "'"}, ["expected decision 'a\\nb', got '''"]),
        ({"decision": "pay"}, {"decision": "p\u0430y"}, ["expected decision 'pay', got 'p\u0430y'"]),
    ],
)
def test_decision_exact(expected, record, reasons):
    assert said(fields.decision_exact, expected, record) == reasons


@pytest.mark.parametrize(
    ("tool", "calls", "reasons"),
    [
        ("pay", [call("pay")], []),
        ("pay", [], ["expected exactly one 'pay' tool call, got []"]),
        ("pay", [call("pay"), call("pay")], ['expected exactly one \'pay\' tool call, got ["pay", "pay"]']),
        ("pay", [call("ask"), call("pay")], ['expected exactly one \'pay\' tool call, got ["ask", "pay"]']),
        ("none", [], []),
        ("none", [call("ask")], ['expected no tool calls, got ["ask"]']),
    ],
)
def test_tool_behavior(tool, calls, reasons):
    assert said(tools.tool_behavior, {"tool_name": tool}, {"tool_calls": calls}) == reasons


NOT_A_SUBSET = "required tool arguments were not a recursive subset"


@pytest.mark.parametrize(
    ("tool", "required", "calls", "reasons"),
    [
        ("pay", ARGS, [call(**ARGS, more=1)], []),
        ("pay", {}, [call()], []),
        ("none", {}, [call("ask")], []),
        (
            "pay",
            ARGS,
            [call(claim="C", amount=True)],
            [f"{NOT_A_SUBSET}\nat $.amount: expected 5 (integer), got true (boolean)"],
        ),
        ("pay", ARGS, [call(claim="C")], [f"{NOT_A_SUBSET}\nat $.amount: expected 5 (integer), got nothing"]),
        ("pay", ARGS, [], [f"{NOT_A_SUBSET}\nthere is no single 'pay' call to compare with"]),
        (
            "pay",
            ARGS,
            [call(**ARGS), call(**ARGS)],
            [f"{NOT_A_SUBSET}\nthere is no single 'pay' call to compare with"],
        ),
    ],
)
def test_required_args_subset(tool, required, calls, reasons):
    expected = {"tool_name": tool, "required_args": required}

    assert said(tools.required_args_subset, expected, {"tool_calls": calls}) == reasons


@pytest.mark.parametrize(
    ("required", "given", "reasons"),
    [
        (["§1"], ["§2", "§1"], []),
        (["§1", "§3"], ["§2"], ['missing required citations: ["§1", "§3"]\nthe output cites ["§2"]']),
        (["§1"], ["§1 "], ['missing required citations: ["§1"]\nthe output cites ["§1 "]']),
        ([], [], []),
    ],
)
def test_required_citations_present(required, given, reasons):
    found = said(evidence.required_citations_present, {"required_citations": required}, {"citations": given})

    assert found == reasons


@pytest.mark.parametrize(
    ("forbidden", "calls", "reasons"),
    [
        (["ask"], [call("pay")], []),
        (["ask", "pay"], [call("pay"), call("ask"), call("pay")], ['forbidden tools called: ["pay", "ask"]']),
        ([], [call("pay")], []),
        (["ask"], [], []),
        (["ask"], [{**call("ask"), "outcome": "stopped"}], ['forbidden tools called: ["ask"]\nask: stopped']),
    ],
)
def test_forbidden_tools_absent(forbidden, calls, reasons):
    assert said(tools.forbidden_tools_absent, {"forbidden_tools": forbidden}, {"tool_calls": calls}) == reasons


READY = [
    name
    for name, check in checks.BUILT_IN.items()
    if inspect.signature(check).parameters.keys() <= {"case", "output", *(check.__kwdefaults__ or ())}
]


@pytest.mark.parametrize("name", READY)
def test_what_nobody_expects_can_not_pass(name):
    check = Check(name=name, uses=name, function=checks.BUILT_IN[name])
    result = grade(case(expected={}), output(record={"tool_calls": [call()]}), [check], "snap")

    assert result.state is State.UNGRADED
    assert "the case expects nothing at" in result.checks[0].findings[0].message


@pytest.mark.parametrize("name", sorted(checks.BUILT_IN))
def test_every_check_has_a_docstring_and_takes_keyword_arguments_only(name):
    check = checks.BUILT_IN[name]
    kinds = [parameter.kind.name for parameter in inspect.signature(check).parameters.values()]

    assert check.__doc__
    assert kinds[:2] == ["POSITIONAL_OR_KEYWORD"] * 2
    assert set(kinds[2:]) <= {"KEYWORD_ONLY"}


def test_fields_have_other_names_in_other_suites():
    found = said(fields.decision_exact, {"a": {"b": 1}}, {"c": {"d": 2}}, field="c.d", expected="a.b")

    assert found == ["expected c.d 1, got 2"]


def test_something_that_is_no_list_is_a_broken_check_and_no_pass():
    check = Check(name="t", uses="t", function=tools.tool_behavior)
    result = grade(case(expected={"tool_name": "none"}), output(record={"tool_calls": "ask"}), [check], "snap")

    assert result.checks[0].status is Status.ERROR
    assert "'tool_calls' of the output must be a list" in result.checks[0].findings[0].message


def _yields(*reasons):
    def check(case: Case, output: Output):
        yield from reasons

    return check


@pytest.mark.parametrize(
    ("severity", "kind", "expected"),
    [
        (None, "", "major"),
        ("critical", "", "critical"),
        ({"extra": "critical"}, "extra", "critical"),
        ({"extra": "critical"}, "late", "major"),
    ],
)
def test_the_severity_of_a_finding(severity, kind, expected):
    check = Check(name="c", uses="c", function=_yields(Reason(message="m", kind=kind)), severity=severity)
    result = grade(case(severity="major"), output(), [check], "snap")

    assert [finding.severity for finding in result.findings] == [expected]


@pytest.mark.parametrize(
    ("when", "status"),
    [
        ({"action": ("approve", "partial")}, Status.PASSED),
        ({"action": ("deny",)}, Status.SKIPPED),
        ({"nothing": ("x",)}, Status.SKIPPED),
        ({"deep.flag": (True,)}, Status.PASSED),
        ({"deep.flag": (1,)}, Status.SKIPPED),
        ({"action": ("approve",), "deep.flag": (False,)}, Status.SKIPPED),
    ],
)
def test_when_limits_a_check_to_some_cases(when, status):
    check = Check(name="c", uses="c", function=_yields(), when=when)
    result = grade(case(expected={"action": "approve", "deep": {"flag": True}}), output(), [check], "snap")

    assert result.checks[0].status is status
    assert result.passed == (status is Status.PASSED)


def test_an_output_that_died_is_not_judged():
    check = Check(name="c", uses="c", function=_yields("never said"))
    result = grade(case(), output(error={"kind": "timeout", "message": "m"}), [check], "snap")

    assert (result.state, result.infra, result.checks) == (State.INFRA, "timeout", ())


def test_an_output_without_a_valid_record_is_a_critical_failure():
    result = grade(case(severity="minor"), output(defect="missing: x has no output for y"), [], "snap")

    assert result.state is State.FAILED
    assert not result.recorded
    assert [(f.severity, f.message) for f in result.findings] == [("critical", "missing: x has no output for y")]


def test_an_exception_whose_text_breaks_is_still_only_a_broken_check():
    class NastyError(Exception):
        def __str__(self):
            raise ValueError

    def check(case, output):
        raise NastyError

    result = grade(case(), output(), [Check(name="c", uses="c", function=check)], "snap")

    assert result.checks[0].findings[0].message == "the check broke: NastyError: (its message can't be read)"


@pytest.mark.parametrize(("lines", "left"), [(7, 0), (8, 1), (12, 9)])
def test_the_difference_of_two_documents_is_short_and_counts_what_it_leaves_out(lines, left):
    """Three rows of heading, one line of context on each side, and each changed line twice."""
    wanted = ["same", "near", *(f"was {n}" for n in range(lines)), "near", "same"]
    got = ["same", "near", *(f"is {n}" for n in range(lines)), "near", "same"]
    given = {"x": "\n".join(wanted)}, {"x": "\n".join(got)}
    (message,) = said(fields.document_exact, *given, field="x", expected="x")
    first, *rows = message.split("\n")

    assert first == "x differs"
    assert rows[:4] == ["--- expected", "+++ actual", f"@@ -2,{lines + 2} +2,{lines + 2} @@", " near"]
    assert rows[20:] == ([f"… and {left} more lines"] if left else [])
    assert len(rows[:20]) == min(20, 5 + 2 * lines)


@pytest.mark.parametrize(("record", "actual"), [({"x": 2}, 2), ({"x": None}, None), ({}, None)])
@pytest.mark.parametrize("check", [fields.equals, fields.document_exact])
def test_what_was_expected_and_what_came_can_be_compared(check, record, actual):
    (reason,) = check(case(expected={"x": 1}), output(record=record), field="x", expected="x")

    assert (reason.expected, reason.actual) == (1, actual)


@pytest.mark.parametrize(
    ("least", "most", "made", "wrong"),
    [(1, 1, 1, False), (2, 3, 2, False), (2, 3, 3, False), (2, 3, 1, True), (2, 3, 4, True), (2, None, 9, False)],
)
def test_tool_call_count_at_its_bounds(least, most, made, wrong):
    record = {"tool_calls": [call()] * made}

    assert bool(said(tools.tool_call_count, {}, record, tool="pay", at_least=least, at_most=most)) is wrong


@pytest.mark.parametrize(("count", "more"), [(4, ""), (5, ""), (6, " and 1 more"), (9, " and 4 more")])
def test_a_long_list_of_calls_is_cut_and_counted(count, more):
    (message,) = said(tools.tool_calls_match, {"tool_calls": [call("x")]}, {"tool_calls": [call("y")] * count})

    assert message.endswith(", ".join(["y({})"] * min(5, count)) + more)
