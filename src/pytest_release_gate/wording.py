"""How numbers and rules read, decided once: every figure has its unit, and no shown figure contradicts its verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import PurePosixPath

from pytest_release_gate.model import Metric, Outcome, Power, Rule, RuleResult, TrustResult

NO_DATA = "no data"

NOISY = 0.1
"""The chance, 0 to 1, above which a bound is said to break by noise alone."""

# Unit → fewest and most digits after the point, what follows the number.
_STYLES = {"count": (0, 0, ""), "rate": (4, 4, ""), "kappa": (4, 4, ""), "ms": (0, 2, " ms"), "USD": (4, 6, " USD")}
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
    return _about(result.rule)


def _about(rule: Rule) -> str:
    return name(rule.metric) + ("" if rule.group == "all" else f" ({rule.group})")


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


def power(found: Power) -> str:
    """What a rule over a rate would notice: `pass^3 (at least 0.7000): with 18 cases × 3 trials a fall from …`."""
    rule = found.rule
    (start, _), *changes = found.chances
    asked = f"{_about(rule)} ({rule.bound.replace('_', ' ')} {figure(rule.limit, 'rate')}, else {rule.otherwise.name})"
    size = f"with {found.cases} case{'' if found.cases == 1 else 's'}"
    size += f" × {found.trials} trials" if found.trials > 1 else ""
    if not changes:
        return f"{asked}: {size} it starts from {figure(start, 'rate')} and can't get worse"
    way = "a fall" if changes[0][0] < start else "a rise"
    (rate, chance), *more = changes
    told = f"to {figure(rate, 'rate')} is noticed with probability {chance:.2f}"
    told += "".join(f", one to {figure(rate, 'rate')} with {chance:.2f}" for rate, chance in more)
    return f"{asked}: {size} {way} from {figure(start, 'rate')} {told}"


def noise(found: Power) -> str:
    """A warning, if a run of an agent that is no worse than this one breaks the rule too often; "" if it doesn't."""
    if found.noise <= NOISY:
        return ""
    return (
        f"noise alone breaks it in {100 * found.noise:.0f} % of runs of an agent that is as good as this one; "
        "add cases, or move the bound"
    )


def trust(found: TrustResult) -> list[str]:
    """How the graders did on one set of known answers, and a judge on each dimension."""
    how = "does not hold" if found.reasons else "holds"
    known = PurePosixPath(found.trust.snapshot).stem
    if not found.metrics:
        return [f"trust in the graders {how}: of {known} {found.passed} of {found.n} pass"]
    lines = [f"trust in the judge {how}: of {known} {found.passed} of {found.n} verdicts are right"]
    by_dimension: dict[str, list[str]] = {}
    for one in found.metrics:
        by_dimension.setdefault(one.group, []).append(f"{one.name.removeprefix('judge_')} {share(one)}")
    return lines + [f"  {dimension}: {', '.join(told)}" for dimension, told in by_dimension.items()]


def spread(metrics: Mapping[str, Metric], rules: tuple[RuleResult, ...] = ()) -> str:
    """How far the trials of a case lie apart, in latency and cost."""
    parts = [
        f"{what} on average {metric(metrics[f'mean_spread_{key}'], rules)}, "
        f"at most {metric(metrics[f'max_spread_{key}'], rules)}"
        for what, key in (("latency", "latency_ms"), ("cost", "cost_usd"))
    ]
    n = metrics["mean_spread_latency_ms"].n
    return f"spread over the trials of a case (largest - smallest): {'; '.join(parts)} (n={n} cases)"


def lost(metrics: Mapping[str, Metric], kinds: Mapping[str, int]) -> str:
    """How many outputs infrastructure trouble cost, by kind, and how many took more than one attempt."""
    by_kind = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    told = metric(metrics["infra_errors"]) + (f" ({by_kind})" if by_kind else "")
    return f"infra errors {told}, retried {metric(metrics['retried'])} (n={metrics['retried'].n})"


def few(names: list[str], *, at_most: int = 5) -> str:
    """The first names of a list, and how many more there are."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")
