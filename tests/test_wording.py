"""How numbers read: with a unit, with their n, and never against their verdict."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import wording
from pytest_release_gate.gate import decide
from pytest_release_gate.model import Metric, Outcome, RuleResult

from build import plan, results, rule


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "rate", "no data"),
        (Fraction(0), "rate", "0.0000"),
        (Fraction(2, 3), "rate", "0.6667"),
        (Fraction(1), "rate", "1.0000"),
        (Fraction(12), "count", "12"),
        (Fraction(0), "count", "0"),
        (Fraction(5200), "ms", "5200 ms"),
        (Fraction(100), "ms", "100 ms"),
        (Fraction(12345, 10), "ms", "1234.5 ms"),
        (Fraction(1, 3), "ms", "0.33 ms"),
        (Fraction(1, 80), "USD", "0.0125 USD"),
        (Fraction(-1, 100000), "ms", "0 ms"),
    ],
)
def test_figure(value, unit, text):
    assert wording.figure(value, unit) == text


@pytest.mark.parametrize(
    ("value", "limit", "unit", "shown"),
    [
        (Fraction(188, 209), Fraction(9, 10), "rate", ("0.8995", "0.9000")),
        (Fraction(899999, 1000000), Fraction(9, 10), "rate", ("0.899999", "0.9000")),
        (Fraction(2500001, 1000), Fraction(2500), "ms", ("2500.001 ms", "2500 ms")),
        (Fraction(9, 10), Fraction(9, 10), "rate", ("0.9000", "0.9000")),
    ],
)
def test_told_apart(value, limit, unit, shown):
    assert wording.told_apart(value, limit, unit) == shown


@given(st.fractions(0, 1, max_denominator=10**9), st.fractions(0, 1, max_denominator=10**9))
def test_different_values_never_look_alike(value, limit):
    shown = wording.told_apart(value, limit, "rate")

    assert (shown[0] == shown[1]) == (value == limit)
    if value != limit:
        assert (Fraction(shown[0]) < Fraction(shown[1])) == (value < limit)


@pytest.mark.parametrize(
    ("over", "letters", "comparison", "sentence"),
    [
        (
            rule("critical_failures", at_most=0),
            "ppff",
            "critical failures 2 > 0 (n=4)",
            "critical failures 2 exceed maximum 0",
        ),
        (
            rule("pass_rate", at_least="0.9"),
            "ppf",
            "pass rate 0.6667 < 0.9000 (n=3)",
            "pass rate 0.6667 is below 0.9000",
        ),
        (rule("passed", at_least=3), "ppf", "passed 2 < 3 (n=3)", "passed 2 are below minimum 3"),
        (rule("total", equals=2), "ppf", "total 3 != 2 (n=3)", "total 3 is not 2"),
        (
            rule("pass_rate", at_least="0.5"),
            "p",
            "pass rate 1.0000 >= 0.5000 (n=1)",
            "pass rate 1.0000 is within 0.5000",
        ),
        (
            rule("mean_cost_usd", at_most=1),
            "p",
            "mean cost is not known (n=0, 1 needed)",
            "mean cost is not known (n=0, 1 needed)",
        ),
        (
            rule("failures", at_most=0, where={"severity": ("critical", "major"), "bucket": ("",)}),
            "f",
            "failures (bucket=, severity=critical|major) 1 > 0 (n=1)",
            "failures (bucket=, severity=critical|major) 1 exceed maximum 0",
        ),
    ],
)
def test_rules_in_words(over, letters, comparison, sentence):
    found = results(letters, severity="critical")
    (ended,) = decide([over], found, plan(found)).rules

    assert wording.comparison(ended) == comparison
    assert wording.sentence(ended) == sentence


def test_a_metric_is_told_apart_from_the_bound_of_its_rule():
    observed = Metric(name="pass_rate", value=Fraction(899999, 1000000), n=10**6, unit="rate")
    over = rule("pass_rate", at_least="0.9")
    ended = RuleResult(rule=over, outcome=Outcome.BROKEN, observed=observed)

    assert wording.metric(observed) == "0.9000"
    assert wording.metric(observed, (ended,)) == "0.899999"


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (list("abcde"), "a, b and 3 more")]
)
def test_few(names, text):
    assert wording.few(names, at_most=2) == text
