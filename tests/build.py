"""Nouns with the fields that a test does not care about filled in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pytest_release_gate.model import (
    Case,
    CheckResult,
    Finding,
    Location,
    Output,
    Result,
    Rule,
    Status,
    Verdict,
)

HERE = Location(path="cases.jsonl", line=1)


def case(id: str = "A", *, severity: str = "major", expected: dict[str, Any] | None = None, **more: Any) -> Case:
    return Case(
        id=id, title=f"title of {id}", severity=severity, input={}, expected=expected or {}, source=HERE, **more
    )


def output(id: str = "A", record: dict[str, Any] | None = None, **more: Any) -> Output:
    return Output(case_id=id, record=record or {}, source=HERE, **more)


def checked(how: str, name: str = "check", severity: str = "major") -> CheckResult:
    """`p`assed, `f`ailed, `s`kipped or `e`rror."""
    status = {"p": Status.PASSED, "f": Status.FAILED, "s": Status.SKIPPED, "e": Status.ERROR}[how]
    said = (Finding(check=name, message="wrong", severity=severity),) if how in "fe" else ()
    return CheckResult(name=name, status=status, findings=said)


def result(id: str = "A", checks: str = "p", *, severity: str = "major", **more: Any) -> Result:
    """A result whose checks ended as the letters say: `result("A", "pf")`."""
    done = tuple(checked(how, f"check{index}", severity) for index, how in enumerate(checks))
    return Result(
        case_id=id,
        title=f"title of {id}",
        severity=severity,
        snapshot="snap",
        checks=done,
        case_source=HERE,
        output_source=HERE,
        **more,
    )


def results(letters: str, *, severity: str = "major", **more: Any) -> list[Result]:
    """A result a letter: `results("ppf")`."""
    return [result(f"C{index:03}", letter, severity=severity, **more) for index, letter in enumerate(letters)]


def plan(found: Sequence[Result], *more: Case) -> list[Case]:
    """The cases of these results, and some that have none."""
    return [
        *(case(one.case_id, severity=one.severity, bucket=one.bucket, tags=one.tags) for one in found),
        *more,
    ]


def rule(metric: str, otherwise: str = "BLOCK", **bound: Any) -> Rule:
    """`rule("pass_rate", at_least="0.9")`."""
    bounds = {key: bound.pop(key) for key in ("at_least", "at_most", "equals") if key in bound}
    ((key, limit),) = bounds.items()
    return Rule(metric=metric, bound=key, limit=Fraction(str(limit)), otherwise=Verdict[otherwise], **bound)
