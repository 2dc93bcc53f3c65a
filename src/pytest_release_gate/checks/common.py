"""What several checks need: the expectation of a case, a list of an output, and how values read in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pytest_release_gate.matching import MISSING, equal, look_up, show
from pytest_release_gate.model import Case, Json, Output


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


def listed(output: Output, path: str) -> list[Json]:
    """The list at a dotted path of the output; nothing there is an empty list.

    :raises TypeError: if there is something that is no list.
    """
    value = look_up(output.record, path)
    if value is MISSING or value is None:
        return []
    if not isinstance(value, list):
        raise TypeError(f"{path!r} of the output must be a list; let the output schema say so")
    return value


def expected_list(case: Case, path: str) -> list[Json]:
    """The list at a dotted path of the case's `expected`.

    :raises ExpectationMissingError: if there is none.
    :raises TypeError: if there is something that is no list.
    """
    value = expectation(case, path)
    if not isinstance(value, list):
        raise TypeError(f"{path!r} of the case's `expected` must be a list; let the case schema say so")
    return value


def number(value: Any, what: str) -> int | float:
    """The value, if it is a number.

    :raises TypeError: naming `what`, if it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} must be a number, found {show(value)}")
    return value


def near(got: int | float, wanted: int | float, most: int | float) -> bool:
    """Whether two numbers differ by at most `most`, as the decimals that they were written as: 0.4 is 0.1 from 0.3."""
    return abs(_exactly(got) - _exactly(wanted)) <= _exactly(most)


def _exactly(value: int | float) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def bound(case: Case, given: float | str, what: str) -> int | float:
    """A bound that the policy gives: a number, or the dotted path of one in the case's `expected`."""
    return number(expectation(case, given) if isinstance(given, str) else given, what)


def applies(output: Output, if_output: Mapping[str, Sequence[Json]] | None) -> bool:
    """Whether the output has one of the accepted values at each of these paths; always, if none are given."""
    for path, accepted in (if_output or {}).items():
        value = look_up(output.record, path)
        values = accepted if isinstance(accepted, list) else [accepted]
        if value is MISSING or not any(equal(one, value) for one in values):
            return False
    return True


def called(output: Output, path: str) -> list[str]:
    """The names of the tools that were called, in order."""
    return [call["name"] if isinstance(call, Mapping) else call for call in listed(output, path)]


def quoted(value: Json) -> str:
    """A value in a sentence: text in single quotes, everything else as JSON."""
    shown = show(value)
    return f"'{shown[1:-1]}'" if isinstance(value, str) and shown.endswith('"') else shown


def names(values: list[Any]) -> str:
    """A list of names in a sentence, as JSON."""
    return show(values, 1000)
