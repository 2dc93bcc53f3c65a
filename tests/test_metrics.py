"""Numbers over results: each with its n, exact, and unknown where nobody could measure."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.metrics import METRICS, Sample, exact, find, measure, percentile, total

from build import result, results


def value(name: str, found, *, expected: int | None = None, allow_missing: int = 0):
    sample = Sample(results=found, expected=len(found) if expected is None else expected, allow_missing=allow_missing)
    metric = measure(name, sample)
    return metric.value, metric.n


def with_numbers(field: str, *numbers):
    return [result(f"C{i:03}", "p", **{field: n}) for i, n in enumerate(numbers)]


MIXED = [
    result("A", "p", severity="critical"),
    result("B", "f", severity="critical"),
    result("C", "ff", severity="major"),
    result("D", "pf", severity="minor"),
    result("E", "pe", severity="minor"),
    result("F", "s", severity="minor"),
    result("G", "", severity="minor", infra="timeout"),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("total", (7, 7)),
        ("passed", (1, 7)),
        ("failures", (3, 7)),
        ("critical_failures", (1, 7)),
        ("major_failures", (1, 7)),
        ("minor_failures", (1, 7)),
        ("findings", (4, 7)),
        ("critical_findings", (1, 7)),
        ("major_findings", (2, 7)),
        ("minor_findings", (1, 7)),
        ("ungraded", (2, 7)),
        ("infra_errors", (1, 7)),
        ("check_errors", (1, 7)),
        # Ungraded results and infrastructure trouble leave the rate.
        ("pass_rate", (Fraction(1, 4), 4)),
        # What died on the way was not covered.
        ("coverage", (Fraction(6, 7), 7)),
    ],
)
def test_counts_and_rates(name, expected):
    assert value(name, MIXED) == expected


@pytest.mark.parametrize("name", sorted(set(METRICS) - {"coverage"}))
def test_over_nothing_every_metric_is_unknown(name):
    assert value(name, []) == (None, 0)


def test_coverage_of_an_empty_plan_is_unknown():
    assert value("coverage", [], expected=0) == (None, 0)


def test_coverage_of_a_part():
    assert value("coverage", results("p"), expected=12) == (Fraction(1, 12), 12)


def test_a_record_that_is_missing_is_judged_but_not_covered():
    found = [*results("pp"), result("X", "f", recorded=False)]

    assert value("coverage", found) == (Fraction(2, 3), 3)
    assert value("pass_rate", found) == (Fraction(2, 3), 3)


def test_fifteen_costs_of_a_fortieth_dollar_have_exactly_that_mean():
    found = with_numbers("cost_usd", *[0.025] * 15)

    assert value("mean_cost_usd", found) == (Fraction(1, 40), 15)
    assert value("total_cost_usd", found) == (Fraction(3, 8), 15)


def test_sums_of_very_different_numbers_are_exact():
    assert total([1e308, 5e-324, -1e308]) == exact(5e-324)
    assert total([2**53, 1, 0.5]) == Fraction(2**54 + 3, 2)


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("p95_latency_ms", [600] * 11 + [2600], 2600),
        ("p95_latency_ms", [600] * 19 + [2600], 600),
        ("p95_latency_ms", [600] * 9 + [2600], 2600),
        ("p50_latency_ms", [4, 1, 3, 2], 2),
        ("p90_latency_ms", list(range(1, 11)), 9),
        ("p99_latency_ms", list(range(1, 101)), 99),
        ("p100_latency_ms", [3, 9, 1], 9),
        ("p1_latency_ms", [3, 9, 1], 1),
        ("max_latency_ms", [3, 9.5, 1], Fraction(19, 2)),
        ("mean_latency_ms", [1, 2], Fraction(3, 2)),
        ("max_cost_usd", [0.1, 0.3], Fraction(3, 10)),
        ("p95_cost_usd", [0.1, 0.3], Fraction(3, 10)),
    ],
)
def test_numbers_are_reduced_by_nearest_rank_and_exactly(name, numbers, expected):
    field = "latency_ms" if name.endswith("_ms") else "cost_usd"

    assert value(name, with_numbers(field, *numbers)) == (expected, len(numbers))


def test_failed_results_count_for_latency_too():
    found = [result("A", "p", latency_ms=1), result("B", "f", latency_ms=9)]

    assert value("max_latency_ms", found) == (9, 2)


@pytest.mark.parametrize(("missing", "allowed", "expected"), [(1, 0, None), (1, 1, 0), (2, 1, None), (0, 0, 0)])
def test_a_missing_number_is_not_zero(missing, allowed, expected):
    found = with_numbers("cost_usd", *[0] * 3, *[None] * missing)

    assert value("mean_cost_usd", found, allow_missing=allowed) == (expected, 3)


def test_the_number_of_a_run_that_died_is_not_missed():
    found = [result("A", "p", cost_usd=1), result("B", "", infra="timeout")]

    assert value("mean_cost_usd", found) == (1, 1)


@pytest.mark.parametrize("name", ["p0_latency_ms", "p101_latency_ms", "p095_latency_ms", "p95_latency", "pass_hat", ""])
def test_there_is_no_such_metric(name):
    assert find(name) is None
    with pytest.raises(KeyError):
        measure(name, Sample(results=[], expected=0))


@given(st.lists(st.integers(0, 1000) | st.floats(0, 1000), min_size=1), st.integers(1, 100))
def test_a_percentile_is_the_smallest_number_with_enough_below(numbers, percent):
    found = percentile(numbers, percent)
    exactly = sorted(map(exact, numbers))
    enough = [n for n in exactly if 100 * sum(other <= n for other in exactly) >= percent * len(exactly)]

    assert found == min(enough)
    assert found == exactly[math.ceil(Fraction(percent, 100) * len(exactly)) - 1]


@given(st.lists(st.sampled_from("pfse"), max_size=12), st.randoms(use_true_random=False))
def test_order_changes_no_metric(letters, chance: random.Random):
    found = [
        result(f"C{i}", letter, latency_ms=i * 3 % 7, cost_usd=i * 0.1, severity=["critical", "major", "minor"][i % 3])
        for i, letter in enumerate(letters)
    ]
    shuffled = list(found)
    chance.shuffle(shuffled)

    for name in METRICS:
        assert value(name, found) == value(name, shuffled)


def test_the_percentiles_that_every_report_has():
    """Any other can be named in a policy; these stand in each results file."""
    named = {name for name in METRICS if name.endswith("_latency_ms") and "spread" not in name}

    assert named == {f"{which}_latency_ms" for which in ("mean", "max", "total", "p50", "p90", "p95", "p99")}


@pytest.mark.parametrize(
    ("numbers", "allowed", "known"),
    [
        ([5, 7, None, None], 0, False),
        ([5, 7, None, None], 1, False),
        ([5, 7, None, None], 2, True),
        ([5, None, None, None], 2, False),
        ([5, None, None, None], 3, True),
        ([None, None], 2, False),
    ],
)
def test_how_many_numbers_may_be_missing(numbers, allowed, known):
    found = [result(f"C{n}", "p", latency_ms=ms) for n, ms in enumerate(numbers)]
    sample = Sample(results=found, expected=len(found), allow_missing=allowed)

    assert (measure("max_latency_ms", sample).value is not None) is known
    tokens = [result(f"C{n}", "p", actual={"tokens_in": ms} if ms else {}) for n, ms in enumerate(numbers)]
    sample = Sample(results=tokens, expected=len(tokens), allow_missing=allowed)
    assert (measure("total_tokens_in", sample).value is not None) is known
