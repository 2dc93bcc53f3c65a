"""Checks of what an answer claims and rests on: facts, assertions, citations; and of what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_release_gate.checks.common import bound, expectation, expected_list, listed, names, quoted
from pytest_release_gate.documents import Document
from pytest_release_gate.matching import MISSING, equal, look_up, show
from pytest_release_gate.model import Case, Json, Measure, Output, Reason


def facts_match(
    case: Case, output: Output, *, field: str = "facts", expected: str = "facts"
) -> Iterator[Reason | Measure]:
    """Each golden fact is there with its exact type and value, and there is no other; measures how many match.

    Kinds of findings: `missing`, `wrong`, `extra`. An extra fact never enlarges the number of facts to match.
    """
    golden, given = _object(expectation(case, expected), "expected"), look_up(output.record, field)
    given = _object({} if given is MISSING else given, field)
    matched = 0
    for key, value in golden.items():
        if key not in given:
            yield Reason(message=f"the fact {quoted(key)} is missing, expected {show(value)}", kind="missing")
        elif not equal(value, given[key]):
            message = f"the fact {quoted(key)}: expected {show(value)}, got {show(given[key])}"
            yield Reason(message=message, kind="wrong", expected=value, actual=given[key])
        else:
            matched += 1
    for key in given:
        if key not in golden:
            yield Reason(message=f"the fact {quoted(key)} is not in the golden record", kind="extra")
    yield Measure(name="facts_matched", value=matched, of=len(golden))


def _object(value: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"{what!r} must be an object of facts; let the schema say so")
    return value


def assertions_supported(
    case: Case, output: Output, *, field: str = "assertions", facts: str = "facts", records: str = "records"
) -> Iterator[Reason]:
    """Each assertion rests on a golden fact (`fact`) or on a record that the case may use (`record`)."""
    golden, known = expectation(case, facts), expected_list(case, records)
    for index, assertion in enumerate(listed(output, field)):
        fact, record = assertion.get("fact"), assertion.get("record")
        if fact is None and record is None:
            ground = "rests on nothing"
        elif fact is not None and fact not in golden:
            ground = f"rests on {quoted(fact)}, which is no golden fact"
        elif record is not None and record not in known:
            ground = f"rests on {quoted(record)}, which is no record of this case"
        else:
            continue
        message = f"assertion {index} {ground}\n{show(assertion)}"
        yield Reason(message=message, kind="unsupported")


def required_citations_present(
    case: Case, output: Output, *, citations: str = "citations", required: str = "required_citations"
) -> Iterator[Reason]:
    """Each required citation is among the output's, character for character."""
    wanted, given = expectation(case, required), listed(output, citations)
    missing = [citation for citation in wanted if citation not in given]
    if missing:
        message = f"missing required citations: {names(missing)}\nthe output cites {names(given)}"
        yield Reason(message=message, kind="missing", expected=wanted, actual=given)


def citations_supported(
    case: Case,
    output: Output,
    *,
    field: str = "citations",
    required: str = "required_citations",
    allowed: str = "allowed_citations",
) -> Iterator[Reason]:
    """Each required citation is there (`missing`), and none that is neither required nor allowed (`unsupported`)."""
    wanted, more = expected_list(case, required), expected_list(case, allowed)
    given = listed(output, field)
    for citation in wanted:
        if citation not in given:
            yield Reason(message=f"the required citation {quoted(citation)} is missing", kind="missing")
    for citation in given:
        if citation not in wanted and citation not in more:
            yield Reason(message=f"the citation {quoted(citation)} is not supported by this case", kind="unsupported")


def citations_exist(
    case: Case, output: Output, *, documents: Mapping[str, Document], field: str = "citations"
) -> Iterator[Reason]:
    """Each citation is a rule of the policy document in the version that the case names.

    Kinds of findings: `replaced`, which says by which rule; `unknown`.
    """
    document = documents[case.version]
    for citation in listed(output, field):
        if citation in document.replaced:
            new = document.replaced[citation]
            yield Reason(message=f"{quoted(citation)} was replaced by {quoted(new)}", kind="replaced")
        elif citation not in document.rules:
            yield Reason(message=f"{quoted(citation)} is no rule of version {quoted(case.version)}", kind="unknown")


def ids_known(case: Case, output: Output, *, field: str, known: Mapping[str, Document]) -> Iterator[Reason]:
    """Each id in the field's list is a rule or a record of one of these files."""
    for one in listed(output, field):
        if not any(one in document.rules for document in known.values()):
            yield Reason(message=f"{quoted(one)} exists nowhere in {', '.join(known)}", kind="unknown")


def latency_within(
    case: Case, output: Output, *, budget: float | str = "latency_budget_ms", field: str = "latency_ms"
) -> Iterator[Reason]:
    """What was recorded, in milliseconds, is within the budget (the boundary is); `field` may name a phase."""
    return _within(case, output, budget, field, "ms")


def cost_within(
    case: Case, output: Output, *, budget: float | str = "cost_budget_usd", field: str = "cost_usd"
) -> Iterator[Reason]:
    """What was recorded, in US dollars, is within the budget (the boundary is); `field` may name a phase."""
    return _within(case, output, budget, field, "USD")


def _within(case: Case, output: Output, budget: float | str, field: str, unit: str) -> Iterator[Reason]:
    most, got = bound(case, budget, "the budget"), look_up(output.record, field)
    if isinstance(got, bool) or not isinstance(got, int | float):
        yield Reason(message=f"{field} was not recorded, so it is not within {show(most)} {unit}", kind="missing")
    elif got > most:
        yield Reason(message=f"{field} {show(got)} {unit} is above the budget of {show(most)} {unit}", kind="late")
