"""How numbers and rules read, decided once: every figure has its unit, and no shown figure contradicts its verdict."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

from pytest_release_gate.model import Metric, Outcome, RuleResult

NO_DATA = "no data"

# Unit → fewest and most digits after the point, what follows the number.
_STYLES = {"count": (0, 0, ""), "rate": (4, 4, ""), "ms": (0, 2, " ms"), "USD": (4, 6, " USD")}
_MOST_DIGITS = 40


def figure(value: Fraction | None, unit: str, *, extra: int = 0) -> str:
    """A value with its unit, `extra` digits longer than usual; "no data" for None.

    After the point rates have four digits, milliseconds up to two, US dollars four to six: `0.9167`, `5200 ms`,
    `0.0125 USD`.
    """
    if value is None:
        return NO_DATA
    fewest, most, suffix = _STYLES[unit]
    with localcontext() as context:
        context.prec = 400
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        text = f"{exact.quantize(Decimal(1).scaleb(-(most + extra)), rounding=ROUND_HALF_EVEN):f}"
    whole, _, fraction = text.partition(".")
    fraction = fraction[:fewest] + fraction[fewest:].rstrip("0")
    text = f"{whole}.{fraction}" if fraction else whole
    return ("0" if text == "-0" else text) + suffix


def told_apart(value: Fraction, limit: Fraction, unit: str) -> tuple[str, str]:
    """Both figures, with as many digits as it takes for different values to look different."""
    for extra in range(_MOST_DIGITS):
        shown = figure(value, unit, extra=extra), figure(limit, unit, extra=extra)
        if shown[0] != shown[1] or value == limit:
            break
    return shown


def name(metric: str) -> str:
    """A metric's name in words: `p95_latency_ms` → `p95 latency`, `critical_failures` → `critical failures`."""
    words = metric.removesuffix("_ms").removesuffix("_usd")
    words = re.sub(r"^pass_hat_(\d+)$", r"pass^\1", re.sub(r"^pass_at_(\d+)$", r"pass@\1", words))
    return words.replace("_", " ")


def metric(observed: Metric, rules: tuple[RuleResult, ...] = ()) -> str:
    """A metric's value, told apart from the bound of every rule over it."""
    shown = figure(observed.value, observed.unit)
    for result in rules:
        same = result.observed.name == observed.name and result.observed.group == observed.group
        if same and observed.value is not None:
            longer = told_apart(observed.value, result.rule.limit, observed.unit)[0]
            shown = max(shown, longer, key=len)
    return f"{shown} {observed.provenance}" if observed.provenance and observed.value is not None else shown


def share(observed: Metric) -> str:
    """A rate in two digits with its interval and n: `0.92 [0.62, 0.99] (n=4)`."""
    if observed.value is None:
        return f"{NO_DATA} (n={observed.n})"
    low, high = observed.interval or (0.0, 1.0)
    return f"{float(observed.value):.2f} [{low:.2f}, {high:.2f}] (n={observed.n})"


def subject(result: RuleResult) -> str:
    """What the rule is about: the metric in words and, if it is not about all results, about which."""
    group = result.rule.group
    return name(result.rule.metric) + ("" if group == "all" else f" ({group})")


def _without_data(result: RuleResult) -> str:
    observed = result.observed
    need = f", {result.rule.minimum_n} needed" if observed.n < result.rule.minimum_n else ""
    return f"{subject(result)} is not known (n={observed.n}{need})"


def sentence(result: RuleResult) -> str:
    """How a rule ended, for a results file: `p95 latency 5200 ms exceeds 2500 ms`."""
    if result.outcome is Outcome.NO_DATA or result.observed.value is None:
        return _without_data(result)
    value, limit = told_apart(result.observed.value, result.rule.limit, result.observed.unit)
    counted = result.observed.unit == "count"
    if result.outcome is Outcome.HELD:
        words = "is within"
    elif result.rule.bound == "at_most":
        words = "exceed maximum" if counted else "exceeds"
    elif result.rule.bound == "at_least":
        words = "are below minimum" if counted else "is below"
    else:
        words = "is not"
    return f"{subject(result)} {value} {words} {limit}"


def comparison(result: RuleResult) -> str:
    """How a rule ended, for people in a hurry: `p95 latency 5200 ms > 2500 ms (n=12)`."""
    if result.outcome is Outcome.NO_DATA or result.observed.value is None:
        return _without_data(result)
    value, limit = told_apart(result.observed.value, result.rule.limit, result.observed.unit)
    signs = {"at_most": (">", "<="), "at_least": ("<", ">="), "equals": ("!=", "=")}[result.rule.bound]
    sign = signs[result.outcome is Outcome.HELD]
    observed = result.observed
    marked = f", {observed.provenance}" if observed.provenance else ""
    return f"{subject(result)} {value} {sign} {limit} (n={observed.n}{marked})"


def bound(result: RuleResult) -> str:
    """The bound alone: `at most 2500 ms`."""
    return f"{result.rule.bound.replace('_', ' ')} {figure(result.rule.limit, result.observed.unit)}"


def of(got: Fraction, out_of: Fraction | None) -> str:
    """A measure's sum and what it is counted out of: `14 of 14`; a zero denominator is N/A."""
    if out_of is None:
        return figure(got, "count")
    return f"{figure(got, 'count')} of {figure(out_of, 'count')}" + ("" if out_of else " (N/A)")


def few(names: list[str], *, at_most: int = 5) -> str:
    """The first names of a list, and how many more there are."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")
