"""Checks of one field of the output: equal, within, a set, a text, a document."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_release_gate.checks.common import (
    applies,
    bound,
    expectation,
    expected_list,
    listed,
    names,
    near,
    number,
    quoted,
)
from pytest_release_gate.matching import MISSING, contains, difference, equal, look_up, show
from pytest_release_gate.model import Case, Json, Output, Reason
from pytest_release_gate.patterns import translate

_MOST_DIFF_LINES = 20


def equals(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """The field has exactly the expected value (numbers by value, a boolean never equals a number)."""
    wanted, got = expectation(case, expected), look_up(output.record, field)
    if got is MISSING or not equal(wanted, got):
        shown = None if got is MISSING else got
        yield Reason(message=f"expected {field} {quoted(wanted)}, got {quoted(got)}", expected=wanted, actual=shown)


def decision_exact(
    case: Case, output: Output, *, field: str = "decision", expected: str = "decision"
) -> Iterator[Reason]:
    """`equals` for the field `decision`."""
    return equals(case, output, field=field, expected=expected)


def contains_subset(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """The expected value is a recursive subset of the field: objects key by key, list items in any order."""
    wanted, got = expectation(case, expected), look_up(output.record, field)
    if got is MISSING or not contains(wanted, got):
        where = f"{field} is not there" if got is MISSING else str(difference(wanted, got))
        shown = None if got is MISSING else got
        yield Reason(message=f"{field} does not contain what is expected\n{where}", expected=wanted, actual=shown)


def number_within(
    case: Case, output: Output, *, field: str, expected: str, tolerance: float | str = 0
) -> Iterator[Reason]:
    """The field is a number that differs from the expected one by at most the tolerance (the boundary is within).

    `tolerance` is a number, or the dotted path of one in the case's `expected`.
    """
    wanted = number(expectation(case, expected), f"{expected!r} of the case's `expected`")
    most = bound(case, tolerance, "the tolerance")
    got = look_up(output.record, field)
    if isinstance(got, bool) or not isinstance(got, int | float):
        yield Reason(message=f"expected {field} to be a number near {show(wanted)}, got {quoted(got)}", kind="missing")
    elif not near(got, wanted, most):
        message = f"expected {field} {show(wanted)} ± {show(most)}, got {show(got)}"
        yield Reason(message=message, kind="wrong", expected=wanted, actual=got)


def number_at_most(
    case: Case,
    output: Output,
    *,
    field: str,
    limit: float | str,
    if_output: Mapping[str, Sequence[Json]] | None = None,
) -> Iterator[Reason]:
    """The field is a number of at most the limit; with `if_output` only where the output has these values."""
    if applies(output, if_output):
        yield from _compared(case, output, field, limit, upper=True)


def number_at_least(
    case: Case,
    output: Output,
    *,
    field: str,
    limit: float | str,
    if_output: Mapping[str, Sequence[Json]] | None = None,
) -> Iterator[Reason]:
    """The field is a number of at least the limit; with `if_output` only where the output has these values."""
    if applies(output, if_output):
        yield from _compared(case, output, field, limit, upper=False)


def _compared(case: Case, output: Output, field: str, limit: float | str, *, upper: bool) -> Iterator[Reason]:
    end, got = bound(case, limit, "the limit"), look_up(output.record, field)
    words = "at most" if upper else "at least"
    if isinstance(got, bool) or not isinstance(got, int | float):
        yield Reason(
            message=f"expected {field} to be a number of {words} {show(end)}, got {quoted(got)}", kind="missing"
        )
    elif (got > end) if upper else (got < end):
        yield Reason(message=f"expected {field} of {words} {show(end)}, got {show(got)}", kind="wrong")


def set_contains(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """Every expected item is in the field's list."""
    given = listed(output, field)
    missing = [item for item in expected_list(case, expected) if not any(equal(item, one) for one in given)]
    if missing:
        yield Reason(message=f"{field} lacks {names(missing)}\nit has {names(given)}", kind="missing")


def set_within(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """Every item of the field's list is among those expected."""
    allowed = expected_list(case, expected)
    extra = [item for item in listed(output, field) if not any(equal(item, one) for one in allowed)]
    if extra:
        yield Reason(message=f"{field} has {names(extra)}\nallowed are {names(allowed)}", kind="extra")


def set_equals(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """The field's list has the expected items and no others, in any order."""
    yield from set_contains(case, output, field=field, expected=expected)
    yield from set_within(case, output, field=field, expected=expected)


def set_disjoint(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """No item of the field's list is among those named in the case."""
    barred = expected_list(case, expected)
    found = [item for item in listed(output, field) if any(equal(item, one) for one in barred)]
    if found:
        yield Reason(message=f"{field} has {names(found)}, which it must not", kind="extra")


def text_contains(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """The field's text contains the expected text, or each of a list of texts, character for character."""
    wanted, got = expectation(case, expected), look_up(output.record, field)
    for part in wanted if isinstance(wanted, list) else [wanted]:
        if not isinstance(part, str):
            raise TypeError(f"{expected!r} of the case's `expected` must be text or a list of texts")
        if not isinstance(got, str) or part not in got:
            yield Reason(message=f"expected {field} to contain {quoted(part)}, got {quoted(got)}")


def text_matches(case: Case, output: Output, *, field: str, pattern: str) -> Iterator[Reason]:
    """The pattern, a regular expression as in JSON Schema, is found in the field's text."""
    got = look_up(output.record, field)
    if not isinstance(got, str) or not re.search(translate(pattern), got):
        yield Reason(message=f"expected {field} to match {quoted(pattern)}, got {quoted(got)}")


def document_exact(case: Case, output: Output, *, field: str, expected: str) -> Iterator[Reason]:
    """A message, receipt or document is exactly the expected one; shown as a diff.

    Text is compared character for character, or by the digest of its UTF-8 if `sha256:…` is expected; a structured
    document (an object or a list) as JSON, with the place of the first difference.
    """
    wanted, got = expectation(case, expected), look_up(output.record, field)
    if isinstance(wanted, str) and wanted.startswith("sha256:") and isinstance(got, str):
        if not got.startswith("sha256:"):
            got = "sha256:" + hashlib.sha256(got.encode("utf-8", "surrogatepass")).hexdigest()
        if got != wanted:
            yield Reason(message=f"expected {field} with the digest {wanted}, got {got}", expected=wanted, actual=got)
    elif got is MISSING or not equal(wanted, got):
        shown = None if got is MISSING else got
        yield Reason(message=f"{field} differs\n{_differing(wanted, got)}", expected=wanted, actual=shown)


def _differing(wanted: Json, got: Json) -> str:
    if isinstance(wanted, str) and isinstance(got, str):
        rows = list(difflib.unified_diff(wanted.split("\n"), got.split("\n"), "expected", "actual", lineterm="", n=1))
        more = len(rows) - _MOST_DIFF_LINES
        return "\n".join(rows[:_MOST_DIFF_LINES]) + (f"\n… and {more} more lines" if more > 0 else "")
    if got is MISSING:
        return "it is not there"
    lacking, surplus = difference(wanted, got), difference(got, wanted)
    if lacking:
        return str(lacking)
    return f"more than expected: {surplus.path}" if surplus else "the same items, in another order"
