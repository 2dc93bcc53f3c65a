"""Checks of tool calls: which tools, how often, in what order, with what arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pytest_release_gate.checks.common import called, expectation, expected_list, listed, names, near, number, quoted
from pytest_release_gate.matching import assign, contains, difference, equal, look_up, show
from pytest_release_gate.model import Case, Json, Output, Reason
from pytest_release_gate.schema import Schema

ANY_OF = "$any_of"
"""In an expected argument, `{"$any_of": [1, 2]}` accepts each of these values."""


def tool_behavior(
    case: Case, output: Output, *, calls: str = "tool_calls", tool: str = "tool_name", none: str = "none"
) -> Iterator[Reason]:
    """Exactly one tool call, and it is the expected one; where `none` is expected, no call at all."""
    wanted, made = expectation(case, tool), called(output, calls)
    if wanted == none:
        if made:
            yield Reason(message=f"expected no tool calls, got {names(made)}", expected=[], actual=made)
    elif made != [wanted]:
        message = f"expected exactly one {quoted(wanted)} tool call, got {names(made)}"
        yield Reason(message=message, expected=[wanted], actual=made)


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
    made = listed(output, calls)
    reason = "required tool arguments were not a recursive subset"
    if [call["name"] for call in made] != [wanted]:
        yield Reason(message=f"{reason}\nthere is no single {quoted(wanted)} call to compare with")
    elif not contains(required, made[0]["arguments"]):
        where = difference(required, made[0]["arguments"])
        yield Reason(message=f"{reason}\n{where}", expected=required, actual=made[0]["arguments"])


def forbidden_tools_absent(
    case: Case, output: Output, *, calls: str = "tool_calls", forbidden: str = "forbidden_tools"
) -> Iterator[Reason]:
    """No forbidden tool was called, whatever else is right."""
    banned = expectation(case, forbidden)
    made = [name for name in dict.fromkeys(called(output, calls)) if name in banned]
    if made:
        # Where a boundary says what became of an attempt, so does the finding.
        told = [
            f"{call['name']}: {call['outcome']}"
            for call in listed(output, calls)
            if isinstance(call, Mapping) and call["name"] in banned and isinstance(call.get("outcome"), str)
        ]
        yield Reason(message="\n".join([f"forbidden tools called: {names(made)}", *dict.fromkeys(told)]))


def calls_not_executed(
    case: Case,
    output: Output,
    *,
    calls: str = "tool_calls",
    forbidden: str = "forbidden_tools",
    outcome: str = "outcome",
    executed: str = "executed",
) -> Iterator[Reason]:
    """No forbidden tool was executed; an attempt that was stopped, as the call's `outcome` says, is none.

    A call that does not say what became of it counts as executed.
    """
    banned = expected_list(case, forbidden)
    for call in listed(output, calls):
        if call["name"] in banned and call.get(outcome, executed) == executed:
            yield Reason(message=f"the forbidden tool {quoted(call['name'])} was executed", kind="executed")


def tool_call_count(
    case: Case, output: Output, *, tool: str, at_least: int = 0, at_most: int | None = None, calls: str = "tool_calls"
) -> Iterator[Reason]:
    """One tool is called at least and at most so many times."""
    count = called(output, calls).count(tool)
    if count < at_least or (at_most is not None and count > at_most):
        most = "any number of" if at_most is None else f"at most {at_most}"
        yield Reason(message=f"expected at least {at_least} and {most} {quoted(tool)} calls, got {count}")


def tool_calls_match(
    case: Case,
    output: Output,
    *,
    calls: str = "tool_calls",
    expected: str = "tool_calls",
    arguments: Literal["subset", "exact"] = "subset",
    order: Literal["any", "same"] = "any",
    others: Literal["allowed", "refused"] = "allowed",
    ignored: Sequence[str] = (),
    optional: Sequence[str] = (),
    defaults: Mapping[str, Json] | None = None,
    tolerances: Mapping[str, float] | None = None,
) -> Iterator[Reason]:
    """Every expected call was made; each is matched to a different call that was made.

    :param arguments: "subset" of those of the call, or "exact": these and no others.
    :param order: "any", or "same": as in the list of expected calls, others in between.
    :param others: "allowed", or "refused": exactly these calls.
    :param ignored: arguments that are never compared.
    :param optional: expected arguments that a call may leave out.
    :param defaults: argument → the value that a call has that leaves it out.
    :param tolerances: argument → by how much a number may differ.
    """
    wanted, made = expected_list(case, expected), listed(output, calls)
    rules = _Arguments(ignored, optional, defaults or {}, tolerances or {}, exact=arguments == "exact")
    edges = [[index for index, call in enumerate(made) if rules.fits(one, call)] for one in wanted]
    partners = _in_order(edges) if order == "same" else assign(edges, len(made))
    alone = [index for index, partner in enumerate(partners) if partner is None]
    for index in alone:
        place = "in this place " if order == "same" and edges[index] else ""
        message = f"no call {place}for the expected {_shown(wanted[index])}\nthe calls made are {_listing(made)}"
        yield Reason(message=message, kind="missing", expected=wanted, actual=made)
    extra = [call for index, call in enumerate(made) if index not in set(partners)]
    if others == "refused" and extra and not alone:
        yield Reason(message=f"calls beyond those expected: {_listing(extra)}", kind="extra")


class _Arguments:
    """How the arguments of a call are compared with those expected."""

    def __init__(
        self,
        ignored: Sequence[str],
        optional: Sequence[str],
        defaults: Mapping[str, Json],
        tolerances: Mapping[str, float],
        *,
        exact: bool,
    ) -> None:
        self.exact = exact
        self.ignored, self.optional = frozenset(ignored), frozenset(optional)
        self.defaults, self.tolerances = defaults, tolerances

    def fits(self, expected: Mapping[str, Json], call: Mapping[str, Json]) -> bool:
        if expected["name"] != call["name"]:
            return False
        given = {**self.defaults, **call.get("arguments", {})}
        if self.exact and not given.keys() <= {*expected.get("arguments", {}), *self.ignored, *self.defaults}:
            return False
        return all(
            self._argument(key, value, given)
            for key, value in expected.get("arguments", {}).items()
            if key not in self.ignored
        )

    def _argument(self, key: str, wanted: Json, given: Mapping[str, Json]) -> bool:
        if key not in given:
            return key in self.optional
        values = wanted[ANY_OF] if isinstance(wanted, dict) and wanted.keys() == {ANY_OF} else [wanted]
        return any(self._value(key, value, given[key]) for value in values)

    def _value(self, key: str, wanted: Json, got: Json) -> bool:
        if key in self.tolerances and not isinstance(got, bool) and isinstance(got, int | float):
            return near(got, number(wanted, f"the expected {key!r}"), self.tolerances[key])
        return equal(wanted, got) if self.exact else contains(wanted, got)


def _in_order(edges: Sequence[Sequence[int]]) -> list[int | None]:
    """The earliest possible partner after the last one taken: no other choice leaves more room for the rest."""
    partners: list[int | None] = []
    last = -1
    for row in edges:
        partner = next((index for index in row if index > last), None)
        partners.append(partner)
        last = last if partner is None else partner
    return partners


def _shown(call: Mapping[str, Json]) -> str:
    return f"{call['name']}({show(call.get('arguments', {}))})"


def _listing(calls: Sequence[Any]) -> str:
    shown = ", ".join(_shown(call) for call in calls[:5])
    return (shown or "none") + (f" and {len(calls) - 5} more" if len(calls) > 5 else "")


def tool_arguments_valid(
    case: Case,
    output: Output,
    *,
    tools: Mapping[str, Schema],
    calls: str = "tool_calls",
    sensitive: Sequence[str] = (),
) -> Iterator[Reason]:
    """The arguments of every call fit the tool's own JSON Schema, and none of them is named as sensitive.

    :param tools: a JSON file beside the policy: tool name → schema of its arguments.
    :param sensitive: names of arguments that no call may carry, at any depth.
    """
    for index, call in enumerate(listed(output, calls)):
        name, arguments = call["name"], call.get("arguments", {})
        if name not in tools:
            yield Reason(message=f"call {index}: there is no schema for the tool {quoted(name)}", kind="unknown")
            continue
        for problem in tools[name].complaints(arguments, f"call {index} ({name})"):
            yield Reason(message=str(problem), kind="invalid")
        for key in sorted(_keys(arguments) & frozenset(sensitive)):
            yield Reason(message=f"call {index} ({name}): carries the sensitive field {quoted(key)}", kind="sensitive")


def _keys(value: Json) -> frozenset[str]:
    if isinstance(value, dict):
        return frozenset(value).union(*map(_keys, value.values()))
    return frozenset().union(*map(_keys, value)) if isinstance(value, list) else frozenset()


def field_schema(case: Case, output: Output, *, field: str, schema: Schema) -> Iterator[Reason]:
    """The field fits a JSON Schema, which is a file beside the policy."""
    value = look_up(output.record, field)
    for problem in schema.complaints(value, field):
        yield Reason(message=str(problem), kind="invalid")
