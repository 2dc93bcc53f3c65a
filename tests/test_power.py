"""What a rule over a rate would notice, against figures worked out another way, and how that reads."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import wording
from pytest_release_gate.gate import decide
from pytest_release_gate.power import SURE, chance, power

from build import plan, results, rule


def by_hand(cases: int, rate: Fraction, good: int) -> Fraction:
    """The chance of exactly so many good outcomes, in whole numbers."""
    return comb(cases, good) * rate**good * (1 - rate) ** (cases - good)


@pytest.mark.parametrize(
    ("bound", "cases", "rate", "broken"),
    [
        ({"at_least": "0.9"}, 12, "0.9", range(11)),
        ({"at_least": "0.7"}, 18, "0.75", range(13)),
        ({"at_most": "0.1"}, 20, "0.15", range(3, 21)),
        ({"equals": "0.5"}, 4, "0.5", (0, 1, 3, 4)),
        ({"equals": "0.3"}, 4, "0.5", range(5)),
        ({"at_least": "0.5"}, 1, "0.25", (0,)),
    ],
)
def test_the_chance_is_the_binomial_one(bound, cases, rate, broken):
    exactly = sum(by_hand(cases, Fraction(rate), good) for good in broken)

    assert chance(rule("pass_rate", **bound), cases, Fraction(rate)) == pytest.approx(float(exactly), abs=1e-12)


@pytest.mark.parametrize(("rate", "breaks"), [(0, 1.0), (1, 0.0)])
def test_at_the_ends_nothing_is_left_to_chance(rate, breaks):
    assert chance(rule("pass_rate", at_least="0.9"), 10, Fraction(rate)) == breaks


@given(st.integers(1, 300), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_worse_agent_never_has_the_smaller_chance_to_be_noticed(cases, limit, one, other):
    held = rule("pass_rate", at_least=Fraction(limit, 20))
    worse, better = sorted((Fraction(one, 20), Fraction(other, 20)))

    assert chance(held, cases, worse) >= chance(held, cases, better) - 1e-9


def test_many_cases_are_as_exact_as_few():
    """Ten thousand cases: the normal approximation, with continuity, at three digits."""
    assert chance(rule("pass_rate", at_least="0.9"), 10_000, Fraction("0.9")) == pytest.approx(0.4938, abs=0.003)
    assert chance(rule("pass_rate", at_least="0.9"), 10_000, Fraction("0.88")) == pytest.approx(1, abs=1e-6)


def judged(letters: str, metric: str = "pass_rate", **bound):
    found = results(letters)
    return decide([rule(metric, **bound)], found, plan(found)).rules[0]


def test_it_starts_from_what_was_observed():
    told = power(judged("p" * 17 + "fff", at_least="0.8"), 20, 1)

    assert told.start == Fraction(17, 20)
    assert [rate for rate, _ in told.chances[:2]] == [Fraction(17, 20), Fraction(15, 20)]
    assert told.noise == pytest.approx(0.1702, abs=1e-4)
    assert told.chances[-1][1] >= SURE
    smaller = told.chances[-1][0] + Fraction(1, 20)
    assert chance(told.rule, 20, smaller) < SURE


def test_a_broken_rule_starts_from_a_flawless_agent():
    told = power(judged("pppff", at_least="0.8"), 5, 1)

    assert (told.start, told.noise) == (1, 0.0)


def test_a_rise_is_the_change_where_the_rule_is_about_too_much():
    told = power(judged("p" * 10, "infra_rate", at_most="0.1"), 10, 1)

    assert told.chances[0] == (0, 0.0)
    assert [rate for rate, _ in told.chances[1:]] == [Fraction(1, 10), Fraction(3, 10)]


@pytest.mark.parametrize(
    ("metric", "bound"),
    [("failures", {"at_most": 0}), ("coverage", {"at_least": 1}), ("p95_latency_ms", {"at_most": 5})],
)
def test_only_rates_that_chance_moves_have_power(metric, bound):
    assert power(judged("pp", metric, **bound), 2, 1) is None


def test_no_data_and_no_case_have_none():
    assert power(judged("ss", at_least="0.5"), 2, 1) is None
    assert power(judged("pp", at_least="0.5"), 0, 1) is None


def test_how_it_reads():
    told = power(judged("p" * 17 + "fff", at_least="0.8"), 20, 3)

    assert wording.power(told) == (
        "pass rate (at least 0.8000, else BLOCK): with 20 cases × 3 trials a fall from 0.8500 to 0.7500 is noticed "
        "with probability 0.59, one to 0.6500 with 0.88"
    )
    assert wording.noise(told) == (
        "noise alone breaks it in 17 % of runs of an agent that is as good as this one; add cases, or move the bound"
    )
    assert wording.noise(power(judged("p" * 20, at_least="0.8"), 20, 1)) == ""
    flawed = power(judged("f", at_least="0"), 1, 1)
    assert wording.power(flawed) == (
        "pass rate (at least 0.0000, else BLOCK): with 1 case it starts from 0.0000 and can't get worse"
    )


def test_the_report_tells_what_each_rule_would_notice(expense):
    run = expense.gate_results("deductions/postfix")
    text = (expense.results / "RELEASE_REPORT.md").read_text("utf-8")
    first = run.evidence()["snapshots"][0]["power"][0]

    assert "with 18 cases × 3 trials a fall from 0.7778 to 0.6778 is noticed with probability 0.55" in text
    assert "**Warning:** noise alone breaks it in 19 % of runs" in text
    assert "Method: exact binomial over cases" in text
    assert (first["metric"], first["cases"], first["trials"]) == ("pass_hat_3", 18, 3)
    assert first["chances"][0] == {"rate": pytest.approx(14 / 18), "chance": 0.1931}


def test_the_terminal_is_spared(expense):
    assert "noise alone" not in expense.gate("deductions/postfix").out
