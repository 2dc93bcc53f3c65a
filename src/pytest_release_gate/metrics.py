"""Results to numbers, each with the count that it stands on. Exact: sums are rational, nothing is rounded here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, partial
from math import comb, sqrt
from types import MappingProxyType

from pytest_release_gate.model import KILL_RATE, SEVERITIES, Metric, Result, State, Status

# More digits than the sum of any doubles has, so that a sum is exact.
_EXACT = 2000


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The results that a metric is taken over."""

    results: Sequence[Result]
    # How many results there should be.
    expected: int
    # How many numbers may be missing.
    allow_missing: int = 0
    # How many results may be lost to infrastructure trouble, since their cases have enough valid ones.
    excused: int = 0
    # Unit → whether such numbers were measured or simulated.
    provenance: Mapping[str, str] = field(default_factory=dict)
    # How many mutants of right answers the suite's checks fail, of how many; None: nobody tried.
    mutants: tuple[int, int] | None = None

    @cached_property
    def trials(self) -> Mapping[str, list[bool]]:
        """Case id → whether each of its judged trials passed."""
        return by_case(self.results)

    @cached_property
    def tally(self) -> Mapping[tuple[int, int], int]:
        """(Passed, judged) trials → how many cases have so many: all that pass^k and pass@k need to know."""
        return Counter((sum(trials), len(trials)) for trials in self.trials.values())

    @cached_property
    def open(self) -> int:
        """How many results are not known: not there, not graded, or lost to infrastructure trouble."""
        judged = sum(result.state in (State.PASSED, State.FAILED) for result in self.results)
        return max(0, self.expected - self.excused - judged)


Measured = tuple[Fraction | None, int]
"""A value (None: not known) and the count it stands on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A metric that a policy may name."""

    unit: str
    measure: Callable[[Sample], Measured]
    # What more results could do to it: "sum": only add; "share": passed ÷ judged; "whole": nothing; "open": anything.
    growth: str = "open"


def exact(number: int | float) -> Fraction:
    """A recorded number as the decimal that it was written as: 0.025 is one fortieth."""
    return Fraction(Decimal(repr(number))) if isinstance(number, float) else Fraction(number)


def total(numbers: Iterable[int | float]) -> Fraction:
    """The exact sum of recorded numbers."""
    with localcontext() as context:
        context.prec = _EXACT
        return Fraction(sum((Decimal(repr(n)) if isinstance(n, float) else Decimal(n) for n in numbers), Decimal(0)))


def percentile(numbers: Sequence[int | float], percent: int) -> Fraction | None:
    """The nearest-rank percentile: the value at one-based rank ceil(percent / 100 × n) of the sorted numbers.

    :param percent: 1 to 100.
    :return: one of the numbers, never a value between two; None if there are none.

    Source: Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996), definition 1.
    """
    if not numbers:
        return None
    rank = -(-percent * len(numbers) // 100)
    return exact(sorted(numbers)[rank - 1])


def _count(select: Callable[[Result], int]) -> Callable[[Sample], Measured]:
    """Adds up a whole number over all results; without any result it is not known."""

    def measure(sample: Sample) -> Measured:
        n = len(sample.results)
        return (Fraction(sum(map(select, sample.results))) if n else None), n

    return measure


def _affected(select: Callable[[Result], bool]) -> Callable[[Sample], Measured]:
    """Counts cases, not events: those with at least one result that is selected."""

    def measure(sample: Sample) -> Measured:
        n = len(sample.results)
        return (Fraction(len({r.case_id for r in sample.results if select(r)})) if n else None), n

    return measure


def measured(results: Iterable[Result], name: str) -> tuple[Fraction, Fraction | None] | None:
    """The sum of a measure over results and what it is counted out of; None if no check yielded it."""
    found = [m for result in results for check in result.checks for m in check.measures if m.name == name]
    if not found:
        return None
    parts = [measure.of for measure in found if measure.of is not None]
    return total(measure.value for measure in found), total(parts) if parts else None


def _sum_of(name: str) -> Callable[[Sample], Measured]:
    def measure(sample: Sample) -> Measured:
        found = measured(sample.results, name)
        return (found[0] if found else None), len(sample.results)

    return measure


def _share_of(name: str) -> Callable[[Sample], Measured]:
    """A measure's sum ÷ what it is counted out of; a zero denominator is not known, neither 0 nor 1."""

    def measure(sample: Sample) -> Measured:
        found = measured(sample.results, name)
        of = (found[1] if found else None) or Fraction(0)
        return (found[0] / of if found and of else None), int(of)

    return measure


def _pass_rate(sample: Sample) -> Measured:
    judged = [r.passed for r in sample.results if r.state in (State.PASSED, State.FAILED)]
    return (Fraction(sum(judged), len(judged)) if judged else None), len(judged)


def by_case(results: Iterable[Result]) -> dict[str, list[bool]]:
    """Case id → whether each of its judged trials passed; a case without a judged trial has an empty list."""
    found: dict[str, list[bool]] = {}
    for result in results:
        trials = found.setdefault(result.case_id, [])
        if result.state in (State.PASSED, State.FAILED):
            trials.append(result.passed)
    return found


def excused(results: Sequence[Result], valid_trials: int) -> int:
    """How many results are lost to infrastructure trouble, of cases that have enough valid ones all the same."""
    valid = {case_id for case_id, trials in by_case(results).items() if len(trials) >= valid_trials}
    return sum(result.state is State.INFRA and result.case_id in valid for result in results)


def flaky(results: Iterable[Result]) -> tuple[str, ...]:
    """The cases that passed in some of their trials and not in all, sorted."""
    return tuple(sorted(case_id for case_id, trials in by_case(results).items() if any(trials) and not all(trials)))


def _flaky(sample: Sample) -> Measured:
    n = len(sample.trials)
    unsteady = sum(cases for (passed, judged), cases in sample.tally.items() if 0 < passed < judged)
    return (Fraction(unsteady) if n else None), n


def pass_hat(passed: int, trials: int, k: int) -> Fraction | None:
    """pass^k of one case: the chance that k of its trials, drawn without putting back, all pass; None if trials < k.

    Source: Yao et al., "τ-bench" (2024), arXiv 2406.12045, equation 1: C(c, k) / C(n, k).
    """
    return None if trials < k else Fraction(comb(passed, k), comb(trials, k))


def pass_at(passed: int, trials: int, k: int) -> Fraction | None:
    """pass@k of one case: the chance that at least one of k trials passes; None if trials < k.

    Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), arXiv 2107.03374:
    1 - C(n-c, k) / C(n, k).
    """
    return None if trials < k else 1 - Fraction(comb(trials - passed, k), comb(trials, k))


def _over_cases(estimate: Callable[[int, int, int], Fraction | None], k: int) -> Callable[[Sample], Measured]:
    """The mean over cases; with one case of too few valid trials it is not known: a lower k is another question."""

    def measure(sample: Sample) -> Measured:
        n = len(sample.trials)
        if not n or any(judged < k for _, judged in sample.tally):
            return None, n
        values = ((estimate(*trials, k) or Fraction(0)) * cases for trials, cases in sample.tally.items())
        return sum(values, Fraction(0)) / n, n

    return measure


def wilson(share: Fraction, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of n independent outcomes: two numbers from 0 to 1.

    Over cases with several trials each case's own share is taken as one outcome: trials of a case are not independent,
    and a share varies no more than a single outcome does, so the interval is not too narrow for that.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927), with z = 1.96.
    """
    z, p = 1.959963984540054, float(share)
    middle = p + z * z / (2 * n)
    spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    whole = 1 + z * z / n
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def _infra_rate(sample: Sample) -> Measured:
    n = len(sample.results)
    return (Fraction(sum(r.state is State.INFRA for r in sample.results), n) if n else None), n


def _kill_rate(sample: Sample) -> Measured:
    """About the suite, whatever the results; without a mutant it is not known."""
    killed, made = sample.mutants or (0, 0)
    return (Fraction(killed, made) if made else None), made


def _tokens(key: str) -> Callable[[Sample], Measured]:
    """The sum of a whole number that outputs may record; one that lacks it and the sum is not known."""

    def measure(sample: Sample) -> Measured:
        found = [result.actual.get(key) for result in sample.results if not result.infra]
        numbers = [n for n in found if isinstance(n, int) and not isinstance(n, bool)]
        enough = numbers and len(found) - len(numbers) <= sample.allow_missing
        return (Fraction(sum(numbers)) if enough else None), len(numbers)

    return measure


def _coverage(sample: Sample) -> Measured:
    there = sum(result.recorded and not result.infra for result in sample.results) + sample.excused
    return (Fraction(there, sample.expected) if sample.expected else None), sample.expected


def _numbers(field: str, reduce: Callable[[Sequence[int | float]], Fraction | None]) -> Callable[[Sample], Measured]:
    """Reduces a recorded number of all results, failed ones too; one missing too many and the metric is not known."""

    def measure(sample: Sample) -> Measured:
        valid = [result for result in sample.results if not result.infra]
        numbers = [n for n in (getattr(result, field) for result in valid) if n is not None]
        enough = numbers and len(valid) - len(numbers) <= sample.allow_missing
        return (reduce(numbers) if enough else None), len(numbers)

    return measure


def _mean(numbers: Sequence[int | float]) -> Fraction:
    return total(numbers) / len(numbers)


def _spread(field: str, reduce: Callable[[Sequence[Fraction]], Fraction]) -> Callable[[Sample], Measured]:
    """Reduces, over cases, the difference between the largest and the smallest number of a case's valid trials.

    Not known if a case has fewer than two numbers, or more are missing than may be. n counts cases.
    """

    def measure(sample: Sample) -> Measured:
        found: dict[str, list[int | float]] = {}
        missing = 0
        for result in sample.results:
            numbers = found.setdefault(result.case_id, [])
            number = getattr(result, field)
            if number is not None and not result.infra:
                numbers.append(number)
            missing += number is None and not result.infra
        known = found and missing <= sample.allow_missing and all(len(numbers) > 1 for numbers in found.values())
        spreads = [exact(max(numbers)) - exact(min(numbers)) for numbers in found.values()] if known else []
        return (reduce(spreads) if spreads else None), len(found)

    return measure


def _maximum(numbers: Sequence[int | float]) -> Fraction:
    return exact(max(numbers))


def _average(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


def _percentile_of(field: str, percent: int) -> Callable[[Sample], Measured]:
    return _numbers(field, lambda numbers: percentile(numbers, percent))


def _counts() -> dict[str, Callable[[Result], int]]:
    counts: dict[str, Callable[[Result], int]] = {
        "total": lambda result: 1,
        "passed": lambda result: result.passed,
        "failures": lambda result: result.state is State.FAILED,
        "findings": lambda result: len(result.findings),
        "ungraded": lambda result: result.state is State.UNGRADED,
        "infra_errors": lambda result: result.state is State.INFRA,
        "retried": lambda result: bool(result.actual.get("earlier_attempts")),
        "check_errors": lambda result: sum(check.status is Status.ERROR for check in result.checks),
    }
    for severity in SEVERITIES:
        counts[f"{severity}_failures"] = lambda r, s=severity: r.state is State.FAILED and r.severity == s  # type: ignore[misc]
        counts[f"{severity}_findings"] = lambda r, s=severity: sum(f.severity == s for f in r.findings)  # type: ignore[misc]
    return counts


def _has_finding(severity: str, result: Result) -> bool:
    return any(finding.severity == severity for finding in result.findings)


def _built_in() -> dict[str, Definition]:
    found = {name: Definition(unit="count", measure=_count(c), growth="sum") for name, c in _counts().items()}
    found["pass_rate"] = Definition(unit="rate", measure=_pass_rate, growth="share")
    found["infra_rate"] = Definition(unit="rate", measure=_infra_rate)
    found["flaky_cases"] = Definition(unit="count", measure=_flaky)
    found["mean_pass_rate"] = Definition(unit="rate", measure=_over_cases(pass_hat, 1))
    for key in ("tokens_in", "tokens_out"):
        found[f"total_{key}"] = Definition(unit="count", measure=_tokens(key), growth="sum")
    found["affected_cases"] = Definition(unit="count", measure=_affected(lambda r: bool(r.findings)), growth="sum")
    for severity in SEVERITIES:
        select = partial(_has_finding, severity)
        found[f"{severity}_affected_cases"] = Definition(unit="count", measure=_affected(select), growth="sum")
    found[KILL_RATE] = Definition(unit="rate", measure=_kill_rate, growth="whole")
    found["coverage"] = Definition(unit="rate", measure=_coverage, growth="whole")
    for key, unit in (("latency_ms", "ms"), ("cost_usd", "USD")):
        found[f"mean_{key}"] = Definition(unit=unit, measure=_numbers(key, _mean))
        found[f"max_{key}"] = Definition(unit=unit, measure=_numbers(key, _maximum))
        found[f"total_{key}"] = Definition(unit=unit, measure=_numbers(key, total))
        found[f"mean_spread_{key}"] = Definition(unit=unit, measure=_spread(key, _average))
        found[f"max_spread_{key}"] = Definition(unit=unit, measure=_spread(key, max))
        for percent in (50, 90, 95, 99):
            found[f"p{percent}_{key}"] = Definition(unit=unit, measure=_percentile_of(key, percent))
    return found


METRICS: Mapping[str, Definition] = MappingProxyType(_built_in())
"""Name → definition of every metric that has a fixed name."""

_PERCENTILE = re.compile(r"p([1-9]\d?|100)_(latency_ms|cost_usd)", re.ASCII)


_PASS_K = re.compile(r"pass_(hat|at)_([1-9]\d{0,3})", re.ASCII)


def trials_of(name: str) -> int:
    """How many trials of a case a metric needs: k for pass^k (`pass_hat_k`) and pass@k (`pass_at_k`), 1 for others."""
    match = _PASS_K.fullmatch(name)
    return int(match[2]) if match else 1


def find(name: str, measures: Collection[str] = ()) -> Definition | None:
    """The definition of a metric, None if there is none of that name.

    Besides `METRICS` there are `p1_…` to `p100_…`, `pass_hat_k` and `pass_at_k` for every k, and for each measure its
    sum (`facts_matched`) and its share of what it is counted out of (`facts_matched_rate`).

    :param measures: the names of the measures that the suite's checks yield.
    """
    if name in METRICS:
        return METRICS[name]
    if match := _PERCENTILE.fullmatch(name):
        unit = "ms" if match[2] == "latency_ms" else "USD"
        return Definition(unit=unit, measure=_percentile_of(match[2], int(match[1])))
    if match := _PASS_K.fullmatch(name):
        estimate = pass_hat if match[1] == "hat" else pass_at
        return Definition(unit="rate", measure=_over_cases(estimate, int(match[2])))
    if name in measures:
        return Definition(unit="count", measure=_sum_of(name), growth="sum")
    if name.removesuffix("_rate") in measures:
        return Definition(unit="rate", measure=_share_of(name.removesuffix("_rate")))
    return None


def yielded(results: Iterable[Result]) -> list[str]:
    """The names of all measures that checks yielded, sorted."""
    return sorted({m.name for result in results for check in result.checks for m in check.measures})


def measure(name: str, sample: Sample, *, group: str = "all", measures: Collection[str] = ()) -> Metric:
    """One metric over a sample.

    :raises KeyError: if no metric has that name; a policy is refused before it comes to that.
    """
    definition = find(name, measures)
    if definition is None:
        raise KeyError(name)
    value, n = definition.measure(sample)
    provenance = sample.provenance.get(definition.unit, "")
    cases = len([trials for trials in sample.trials.values() if trials]) if "pass_" in name else 0
    interval = wilson(value, cases) if cases and value is not None and definition.unit == "rate" else None
    return Metric(
        name=name, group=group, value=value, n=n, unit=definition.unit, interval=interval, provenance=provenance
    )


def at_best(metric: Metric, sample: Sample, bound: str, measures: Collection[str] = ()) -> Fraction | None:
    """The value most favourable to a bound that the metric could have, had everything in the sample been judged.

    None where that can't be told. It lets a partial run prove what no further result can repair, and nothing more.
    """
    definition = find(metric.name, measures)
    if metric.value is None or definition is None:
        return None
    if not sample.open or definition.growth == "whole":
        return metric.value
    complete = sample.expected == len(sample.results)
    if definition.growth == "open":
        # Latency and cost are recorded, graded or not.
        return metric.value if complete and metric.unit in ("ms", "USD") else None
    if bound == "equals":
        return None
    lucky = sample.open if bound == "at_least" else 0
    if definition.growth == "sum":
        return metric.value + lucky
    return (metric.value * metric.n + lucky) / (metric.n + sample.open)
