"""Checks of what a judge said; the judge has to prove itself before any of it counts (see `agreement`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_release_gate.checks.common import quoted
from pytest_release_gate.judgements import Calibration, read_judgements
from pytest_release_gate.matching import MISSING, look_up
from pytest_release_gate.model import Case, Measure, Output, Reason


def judged(
    case: Case,
    output: Output,
    *,
    dimensions: Sequence[str],
    calibration: Calibration,
    precision: float,
    recall: float,
    field: str = "judgements",
) -> Iterator[Reason | Measure]:
    """A judge found each dimension good; measures how many of them. The kind of a finding is its dimension.

    Breaks, and so holds the verdict, where a dimension was not judged or by another judge than the one that the
    calibration set is about: nobody knows what such a judgement is worth.

    :param dimensions: what is judged, each in a call of its own.
    :param calibration: a file beside the policy: justifications whose answers are known, and what the judge said.
    :param precision: of what the judge calls bad, the share that must be bad, 0 to 1; held against the calibration set.
    :param recall: of what is bad, the share that the judge must call bad, 0 to 1; held against the calibration set.
    """
    value = look_up(output.record, field)
    given = read_judgements([] if value is MISSING else value)
    good = 0
    for dimension in dimensions:
        if dimension not in given:
            raise ValueError(f"{quoted(dimension)} was not judged; have it judged and record the judgement")
        judgement = given[dimension]
        if calibration.judges.get(dimension) != judgement.judge:
            raise ValueError(
                f"{quoted(dimension)} was judged by {quoted(judgement.judge[0])} with the prompt "
                f"{quoted(judgement.judge[1])}, which {calibration.path} knows nothing of; calibrate that judge"
            )
        good += judgement.good
        if not judgement.good:
            why = f"\n{judgement.why}" if judgement.why else ""
            yield Reason(message=f"judged bad: {quoted(dimension)}{why}", kind=dimension)
    yield Measure(name="judged_good", value=good, of=len(dimensions))
