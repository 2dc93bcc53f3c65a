"""The named checks: generators of reasons; one that yields nothing passes. Keyword arguments come from the policy.

A check that can't find what it needs in the case raises, so that it reads as broken and holds the verdict: an
expectation that nobody wrote down is no reason to pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pytest_release_gate.matching import MISSING, contains, difference, equal, look_up, show
from pytest_release_gate.model import Case, CheckFunction, Json, Output, Reason


class ExpectationMissingError(LookupError):
    """The case does not say what the check would compare with."""


def expectation(case: Case, path: str) -> Json:
    """The value at a dotted path of the case's `expected`.

    :raises ExpectationMissingError: if there is none.
    """
    value = look_up(case.expected, path)
    if value is MISSING:
        raise ExpectationMissingError(f"the case expects nothing at {path!r}; add it, or limit the check with `when`")
    return value


def _listed(output: Output, path: str) -> list[Json]:
    """The list at a dotted path of the output; nothing there is an empty list, anything else is no list to check."""
    value = look_up(output.record, path)
    if value is MISSING or value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{path!r} of the output must be a list; let the output schema say so")
    return value


def _called(output: Output, path: str) -> list[str]:
    """The names of the tools that were called, in order."""
    return [call["name"] if isinstance(call, Mapping) else call for call in _listed(output, path)]


def quoted(value: Json) -> str:
    """A value in a sentence: text in single quotes, everything else as JSON."""
    shown = show(value)
    return f"'{shown[1:-1]}'" if isinstance(value, str) and shown.endswith('"') else shown


def _names(values: list[Any]) -> str:
    return show(values, 1000)


def decision_exact(
    case: Case, output: Output, *, field: str = "decision", expected: str = "decision"
) -> Iterator[Reason]:
    """The field has exactly the expected value (numbers by value, a boolean never equals a number)."""
    wanted, got = expectation(case, expected), look_up(output.record, field)
    if got is MISSING or not equal(wanted, got):
        yield Reason(message=f"expected {field} {quoted(wanted)}, got {quoted(got)}", expected=wanted, actual=got)


def tool_behavior(
    case: Case, output: Output, *, calls: str = "tool_calls", tool: str = "tool_name", none: str = "none"
) -> Iterator[Reason]:
    """Exactly one tool call, and it is the expected one; where `none` is expected, no call at all."""
    wanted, called = expectation(case, tool), _called(output, calls)
    if wanted == none:
        if called:
            yield Reason(message=f"expected no tool calls, got {_names(called)}", expected=[], actual=called)
    elif called != [wanted]:
        yield Reason(
            message=f"expected exactly one {quoted(wanted)} tool call, got {_names(called)}",
            expected=[wanted],
            actual=called,
        )


def required_args_subset(
    case: Case,
    output: Output,
    *,
    calls: str = "tool_calls",
    tool: str = "tool_name",
    none: str = "none",
    arguments: str = "required_args",
) -> Iterator[Reason]:
    """The one expected call carries the required arguments, as a recursive subset; holds if no call is expected."""
    wanted = expectation(case, tool)
    if wanted == none:
        return
    required = expectation(case, arguments)
    made = _listed(output, calls)
    reason = "required tool arguments were not a recursive subset"
    if [call["name"] for call in made] != [wanted]:
        yield Reason(message=f"{reason}\nthere is no single {quoted(wanted)} call to compare with")
    elif not contains(required, made[0]["arguments"]):
        where = difference(required, made[0]["arguments"])
        yield Reason(message=f"{reason}\n{where}", expected=required, actual=made[0]["arguments"])


def required_citations_present(
    case: Case, output: Output, *, citations: str = "citations", required: str = "required_citations"
) -> Iterator[Reason]:
    """Each required citation is among the output's, character for character."""
    wanted, given = expectation(case, required), _listed(output, citations)
    missing = [citation for citation in wanted if citation not in given]
    if missing:
        yield Reason(
            message=f"missing required citations: {_names(missing)}\nthe output cites {_names(given)}",
            expected=wanted,
            actual=given,
        )


def forbidden_tools_absent(
    case: Case, output: Output, *, calls: str = "tool_calls", forbidden: str = "forbidden_tools"
) -> Iterator[Reason]:
    """No forbidden tool was called, whatever else is right."""
    banned = expectation(case, forbidden)
    called = [name for name in dict.fromkeys(_called(output, calls)) if name in banned]
    if called:
        yield Reason(message=f"forbidden tools called: {_names(called)}")


BUILT_IN: Mapping[str, CheckFunction] = MappingProxyType(
    {
        check.__name__: check
        for check in (
            decision_exact,
            tool_behavior,
            required_args_subset,
            required_citations_present,
            forbidden_tools_absent,
        )
    }
)
"""Name → check; read-only, a policy's `uses` is looked up here and in what the hook adds."""
