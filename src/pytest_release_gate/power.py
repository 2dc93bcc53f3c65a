"""What a rule over a rate would notice: how likely a run breaks it, given how good the agent truly is.

Exact binomial over cases: each case is one independent outcome. Trials of one case are not independent, so they
count as one outcome together; a suite whose cases are steady scatters less than that from run to run, never more.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, exp, floor, fsum, lgamma, log, sqrt

from pytest_release_gate.gate import holds
from pytest_release_gate.model import KILL_RATE, Outcome, Power, Rule, RuleResult

STEP = Fraction(1, 10)
"""The change that every report tells the chance of."""

SURE = 0.8
"""The chance from which on a change counts as one that the suite would see."""


def power(result: RuleResult, cases: int, trials: int) -> Power | None:
    """What a rule would notice; None if it is about no rate, about no case, or its metric is not known.

    :param cases: how many cases the rule is about.
    :param trials: how many trials each of them has.
    """
    rule, observed = result.rule, result.observed
    # Coverage and the kill rate are no matter of chance: the same files give the same figure.
    fixed = rule.metric in ("coverage", KILL_RATE)
    if observed.unit != "rate" or fixed or observed.value is None or not cases:
        return None
    worse = 1 if rule.bound == "at_most" else -1
    start = observed.value if result.outcome is Outcome.HELD else Fraction(worse < 0)
    rates = [start, *_changes(rule, cases, start, worse)]
    return Power(
        rule=rule,
        cases=cases,
        trials=trials,
        start=start,
        chances=tuple((rate, round(chance(rule, cases, rate), 4)) for rate in rates),
    )


def _changes(rule: Rule, cases: int, start: Fraction, worse: int) -> Iterable[Fraction]:
    """The usual step, and the smallest change, in whole cases, that is noticed with a chance of `SURE`."""
    step = start + worse * STEP
    found = {min(Fraction(1), max(Fraction(0), step))} - {start}
    # The chance grows with the change, so the smallest one can be looked for by halves.
    most = floor(start * cases) if worse < 0 else floor((1 - start) * cases)
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if chance(rule, cases, start + worse * Fraction(middle, cases)) >= SURE:
            high = middle
        else:
            low = middle + 1
    if most:
        found.add(start + worse * Fraction(low, cases))
    return sorted(found, key=lambda rate: abs(rate - start))


def chance(rule: Rule, cases: int, rate: Fraction) -> float:
    """The chance, 0 to 1, that the share of `cases` independent outcomes, each good at `rate`, breaks the rule."""
    p = float(rate)
    if rate in (0, 1):
        return float(not holds(rule, rate))
    # Beyond twelve standard deviations lies less than a double can tell from nothing.
    reach = 12 * sqrt(cases * p * (1 - p)) + 1
    first, last = max(0, floor(cases * p - reach)), min(cases, ceil(cases * p + reach))
    whole = lgamma(cases + 1)
    terms = (
        exp(whole - lgamma(good + 1) - lgamma(cases - good + 1) + good * log(p) + (cases - good) * log(1 - p))
        for good in range(first, last + 1)
        if not holds(rule, Fraction(good, cases))
    )
    return min(1.0, fsum(terms))
