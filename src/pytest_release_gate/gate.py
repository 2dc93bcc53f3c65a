"""Metrics and rules to one decision. Nothing here is clever: the worst broken rule decides, and unknown holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, le

from pytest_release_gate import wording
from pytest_release_gate.metrics import Sample, at_best, excused, measure
from pytest_release_gate.model import Case, Decision, Ground, Outcome, Result, Rule, RuleResult, Trust, Verdict

UNWAIVABLE = (
    Rule(metric="coverage", bound="at_least", limit=Fraction(1), otherwise=Verdict.HOLD),
    Rule(metric="check_errors", bound="at_most", limit=Fraction(0), otherwise=Verdict.HOLD),
    Rule(metric="ungraded", bound="at_most", limit=Fraction(0), otherwise=Verdict.HOLD),
)
"""They stand in front of every policy: everything was judged, and no check broke or had nothing to say."""

_HOLDS: dict[str, Callable[[Fraction, Fraction], bool]] = {"at_least": ge, "at_most": le, "equals": eq}


def decide(
    rules: Sequence[Rule],
    results: Sequence[Result],
    planned: Sequence[Case],
    doubts: Iterable[str] = (),
    *,
    provenance: Mapping[str, str] | None = None,
    measures: Collection[str] = (),
    valid_trials: int = 1,
    distrust: Sequence[str] = (),
    mutants: tuple[int, int] | None = None,
) -> Decision:
    """The decision on one snapshot.

    :param rules: the policy's rules, in its order.
    :param results: one result for each output that was judged.
    :param planned: the case of every result that there should be, once per trial.
    :param doubts: sentences, each a reason to hold that the results themselves don't show.
    :param provenance: unit → whether such numbers were measured or simulated.
    :param measures: the names of the measures that the suite's checks yield.
    :param valid_trials: how many trials of a case must not be lost to infrastructure trouble.
    :param distrust: why the graders can't be trusted; then nothing that they say counts, and the verdict is HOLD.
    :param mutants: how many mutants of right answers the checks fail, of how many, where a rule asks for it.
    """
    asked = _Asked(results, planned, provenance or {}, measures, valid_trials, mutants)
    ended = tuple(_judge(rule, asked) for rule in (*UNWAIVABLE, *rules))
    front, own = ended[: len(UNWAIVABLE)], ended[len(UNWAIVABLE) :]
    grounds = [Ground(verdict=Verdict.HOLD, reason=doubt) for doubt in doubts]
    defects = sum(not result.recorded for result in results)
    for result in front:
        if result.outcome is Outcome.BROKEN or (result.rule.metric == "coverage" and result.outcome is Outcome.NO_DATA):
            reason = _FRONT[result.rule.metric](result)
            if defects and result.rule.metric == "coverage" and len(results) == len(planned):
                reason = f"{defects} of {len(planned)} outputs are missing or malformed; record them and run again"
            grounds.append(Ground(verdict=Verdict.HOLD, reason=reason))
    if distrust:
        why = tuple(Ground(verdict=Verdict.HOLD, reason=f"the graders can't be trusted: {one}") for one in distrust)
        return Decision(verdict=Verdict.HOLD, rules=own, front=front, grounds=(*why, *grounds))
    incomplete = bool(grounds)
    for result in own:
        # Where evidence is missing, that is the reason, not each rule that it leaves open.
        if result.outcome is Outcome.BROKEN or (result.outcome is Outcome.NO_DATA and not incomplete):
            grounds.append(Ground(verdict=_verdict(result), reason=wording.comparison(result)))
    # The gravest first; sorting is stable, so equals stay in the order of the policy.
    grounds.sort(key=lambda ground: -ground.verdict)
    return Decision(
        verdict=max([*map(_verdict, ended), *(ground.verdict for ground in grounds)]),
        rules=own,
        front=front,
        grounds=tuple(grounds),
    )


def belongs(result: Result | Case) -> dict[str, tuple[str, ...]]:
    """What a rule's `where` may ask for: the bucket, severity, tags and version of a result or of a case."""
    return {
        "bucket": (result.bucket,),
        "severity": (result.severity,),
        "tag": result.tags,
        "version": (result.version,),
    }


def selected(rule: Rule | Trust, result: Result | Case) -> bool:
    """Whether a rule is about a result, or would be about that of a case."""
    held = belongs(result)
    return all(set(held[key]) & set(accepted) for key, accepted in rule.where.items())


def holds(rule: Rule, value: Fraction) -> bool:
    """Whether a value keeps a rule's bound."""
    return _HOLDS[rule.bound](value, rule.limit)


def worst(decisions: Iterable[Decision]) -> Verdict:
    """The worst verdict of several; HOLD if there is none, since nothing was decided."""
    return max((decision.verdict for decision in decisions), default=Verdict.HOLD)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What every rule is judged on."""

    results: Sequence[Result]
    planned: Sequence[Case]
    provenance: Mapping[str, str]
    measures: Collection[str]
    valid_trials: int
    mutants: tuple[int, int] | None


def _judge(rule: Rule, asked: _Asked) -> RuleResult:
    results = [result for result in asked.results if selected(rule, result)] if rule.where else asked.results
    sample = Sample(
        results=results,
        expected=sum(selected(rule, case) for case in asked.planned) if rule.where else len(asked.planned),
        allow_missing=rule.allow_missing,
        excused=excused(results, asked.valid_trials),
        provenance=asked.provenance,
        mutants=asked.mutants,
    )
    observed = measure(rule.metric, sample, group=rule.group, measures=asked.measures)
    best = at_best(observed, sample, rule.bound, asked.measures)
    if observed.value is None or observed.n < rule.minimum_n:
        outcome = Outcome.NO_DATA
    elif best is not None and not holds(rule, best):
        outcome = Outcome.BROKEN
    elif sample.open and rule.metric != "coverage":
        # What is there would hold, but what is not there could still break it: already held by the rules in front.
        outcome = Outcome.NO_DATA
    else:
        outcome = Outcome.HELD
    return RuleResult(rule=rule, outcome=outcome, observed=observed)


def _verdict(result: RuleResult) -> Verdict:
    if result.outcome is Outcome.HELD:
        return Verdict.PASS
    return result.rule.otherwise if result.outcome is Outcome.BROKEN else Verdict.HOLD


def _coverage_reason(result: RuleResult) -> str:
    if result.observed.value is None:
        return "there are no cases; an empty suite decides nothing: add cases"
    expected = result.observed.n
    judged = int(result.observed.value * expected)
    return f"only {judged} of {expected} outputs were judged; a part of the evidence decides nothing: run them all"


def _errors_reason(result: RuleResult) -> str:
    return f"{_number(result)} of the checks broke on an output; mend the check and run again"


def _ungraded_reason(result: RuleResult) -> str:
    return (
        f"{_number(result)} of {result.observed.n} outputs were not graded: no check had anything to say, or one broke"
    )


def _number(result: RuleResult) -> str:
    return wording.figure(result.observed.value, result.observed.unit)


# Why each of UNWAIVABLE is broken, in words that say what to do.
_FRONT = {"coverage": _coverage_reason, "check_errors": _errors_reason, "ungraded": _ungraded_reason}
