"""The decision: every rule at, below and above its bound; what is unknown holds; what is proven blocks."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.gate import decide, worst
from pytest_release_gate.model import Decision, Outcome, Verdict

from build import case, plan, result, results, rule


def verdict(rules, found, *absent, doubts=()):
    return decide(rules, found, plan(found, *absent), doubts).verdict.name


NO_CRITICAL = rule("critical_failures", at_most=0)
NINETY = rule("pass_rate", at_least="0.9")
FAST = rule("p95_latency_ms", "REVIEW", at_most=2500)
CHEAP = rule("mean_cost_usd", "REVIEW", at_most="0.025")


@pytest.mark.parametrize(
    ("over", "found", "expected"),
    [
        (NINETY, results("p" * 18 + "ff"), "PASS"),
        (NINETY, results("p" * 17 + "fff"), "BLOCK"),
        (NINETY, results("p" * 19 + "f"), "PASS"),
        (NINETY, results("p" * 188 + "f" * 21), "BLOCK"),
        (NO_CRITICAL, results("ppf", severity="major"), "PASS"),
        (NO_CRITICAL, results("ppf", severity="critical"), "BLOCK"),
        (FAST, [result("A", "p", latency_ms=2500)], "PASS"),
        (FAST, [result("A", "p", latency_ms=2500.001)], "REVIEW"),
        (FAST, [result("A", "p", latency_ms=2499.999)], "PASS"),
        (CHEAP, [result("A", "p", cost_usd=0.025)], "PASS"),
        (CHEAP, [result(f"A{i}", "p", cost_usd=0.025) for i in range(15)], "PASS"),
        (CHEAP, [result("A", "p", cost_usd=0.0250000001)], "REVIEW"),
        (rule("passed", at_least=2), results("ppp"), "PASS"),
        (rule("passed", at_least=2), results("ppf"), "PASS"),
        (rule("passed", at_least=2), results("pff"), "BLOCK"),
        (rule("total", equals=3), results("ppf"), "PASS"),
        (rule("total", equals=3), results("pp"), "BLOCK"),
        (rule("total", equals=3), results("pppp"), "BLOCK"),
    ],
)
def test_at_below_and_above_the_bound(over, found, expected):
    assert verdict([over], found) == expected


@pytest.mark.parametrize(
    ("rules", "found", "absent", "expected"),
    [
        pytest.param([NINETY], results("p"), [case("X")], "HOLD", id="a clean part is HOLD"),
        pytest.param(
            [NO_CRITICAL], results("f", severity="critical"), [case("X")], "BLOCK", id="a proven failure blocks"
        ),
        pytest.param([NINETY], results("f"), [case(f"X{i}") for i in range(9)], "HOLD", id="the rest could repair it"),
        pytest.param([NINETY], results("ff"), [case(f"X{i}") for i in range(8)], "BLOCK", id="no rest could repair it"),
        pytest.param(
            [FAST], [result(latency_ms=9000)], [case("X")], "HOLD", id="a percentile of a part decides nothing"
        ),
        pytest.param([NINETY], [], [case("X")], "HOLD", id="nothing ran"),
        pytest.param([NINETY], [], [], "HOLD", id="nothing is planned"),
        pytest.param([], results("p"), [], "PASS", id="no rule, everything there"),
        pytest.param([], results("ps"), [], "HOLD", id="all checks skipped"),
        pytest.param([], results("pe"), [], "HOLD", id="a check broke"),
        pytest.param([NINETY], results("e" + "f" * 9), [], "BLOCK", id="bad beats broken"),
        pytest.param([NINETY], results("f" + "e" * 9), [], "HOLD", id="the broken ones could have passed"),
        pytest.param([], [result("A", "fe")], [], "HOLD", id="a failure beside a broken check holds without a rule"),
        pytest.param([NO_CRITICAL], [result("A", "fe", severity="critical")], [], "BLOCK", id="and blocks with one"),
        pytest.param([], [result("A", "", infra="timeout")], [], "HOLD", id="infrastructure trouble is no pass"),
        pytest.param([], [result("A", "f", recorded=False)], [], "HOLD", id="a missing record holds at least"),
        pytest.param([CHEAP], [result("A", "p")], [], "HOLD", id="no data holds"),
        pytest.param([rule("pass_rate", at_least=0, minimum_n=2)], results("p"), [], "HOLD", id="too few are no data"),
        pytest.param([rule("pass_rate", at_least=0, minimum_n=2)], results("pp"), [], "PASS", id="enough are data"),
    ],
)
def test_unknown_holds_and_proven_blocks(rules, found, absent, expected):
    assert verdict(rules, found, *absent) == expected


def test_a_rule_about_a_bucket_that_nobody_has_is_no_data():
    over = rule("critical_failures", at_most=0, where={"bucket": ("deny",)})
    decision = decide([over], results("pp"), plan(results("pp")))

    assert decision.verdict is Verdict.HOLD
    assert decision.rules[0].outcome is Outcome.NO_DATA
    assert decision.reasons == ("critical failures (bucket=deny) is not known (n=0, 1 needed)",)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"bucket": ("deny",)}, "BLOCK"),
        ({"bucket": ("approve",)}, "PASS"),
        ({"bucket": ("approve", "deny")}, "BLOCK"),
        ({"tag": ("slow",)}, "BLOCK"),
        ({"tag": ("fast",)}, "PASS"),
        ({"severity": ("minor",)}, "BLOCK"),
        ({"severity": ("critical",), "bucket": ("approve",)}, "PASS"),
    ],
)
def test_where_selects_by_bucket_tag_and_severity(where, expected):
    found = [
        result("A", "p", severity="critical", bucket="approve", tags=("fast",)),
        result("B", "f", severity="minor", bucket="deny", tags=("slow", "odd")),
    ]

    assert verdict([rule("failures", at_most=0, where=where)], found) == expected


def test_the_worst_broken_rule_decides_and_its_reason_comes_first():
    found = [result("A", "f", latency_ms=3000, cost_usd=1)]
    decision = decide([FAST, CHEAP, NINETY], found, plan(found))

    assert decision.verdict is Verdict.BLOCK
    assert decision.reasons == (
        "pass rate 0.0000 < 0.9000 (n=1)",
        "p95 latency 3000 ms > 2500 ms (n=1)",
        "mean cost 1.0000 USD > 0.0250 USD (n=1)",
    )


def test_a_partial_run_says_how_much_and_what_to_do_and_nothing_else():
    decision = decide([NINETY, FAST, CHEAP], results("p"), plan(results("p"), *[case(f"X{i}") for i in range(11)]))

    assert decision.reasons == (
        "only 1 of 12 outputs were judged; a part of the evidence decides nothing: run them all",
    )


@pytest.mark.parametrize("clean", [True, False])
def test_a_doubt_holds_and_never_softens(clean):
    found = results("p" if clean else "f", severity="critical")

    decision = decide([NO_CRITICAL], found, plan(found), ["the run was interrupted"])

    assert decision.verdict is (Verdict.HOLD if clean else Verdict.BLOCK)
    assert "the run was interrupted" in decision.reasons


@pytest.mark.parametrize("verdicts", list(itertools.product(Verdict, repeat=2)))
def test_the_worst_of_two(verdicts):
    assert worst(Decision(verdict=one) for one in verdicts) is max(verdicts)


def test_the_worst_of_nothing_is_hold():
    assert worst([]) is Verdict.HOLD


RULES = [NO_CRITICAL, NINETY, FAST, CHEAP, rule("failures", "REVIEW", at_most=1)]


def _some(letters):
    severities = itertools.cycle(["critical", "major", "minor"])
    return [
        result(f"C{i:02}", letter, severity=severity, latency_ms=i * 400, cost_usd=i * 0.004)
        for i, (letter, severity) in enumerate(zip(letters, severities, strict=False))
    ]


@given(st.text("pfse", max_size=15), st.randoms(use_true_random=False))
def test_order_changes_nothing(letters, chance: random.Random):
    found = _some(letters)
    shuffled = list(found)
    chance.shuffle(shuffled)

    assert decide(RULES, found, plan(found)) == decide(RULES, shuffled, plan(found))


@given(st.text("pfse", min_size=1, max_size=12), st.data())
def test_losing_results_never_makes_a_pass_nor_blames_the_innocent(letters, data):
    """What a part proves, the whole proves; and a part never comes out as PASS or REVIEW."""
    found = _some(letters)
    kept = [one for one in found if data.draw(st.booleans())]
    part, whole = decide(RULES, kept, plan(found)), decide(RULES, found, plan(found))

    if len(kept) < len(found):
        assert part.verdict >= Verdict.HOLD
    if part.verdict is Verdict.BLOCK:
        assert whole.verdict is Verdict.BLOCK


@given(st.integers(1, 60), st.integers(0, 60), st.fractions(0, 1, max_denominator=100))
def test_a_rate_is_compared_unrounded(n, passed, limit):
    passed = min(passed, n)
    found = results("p" * passed + "f" * (n - passed))
    expected = "PASS" if Fraction(passed, n) >= limit else "BLOCK"

    assert verdict([rule("pass_rate", at_least=limit)], found) == expected


def test_in_a_part_only_the_rule_on_coverage_itself_can_hold():
    found = results("pp", severity="major")
    rules = [
        rule("pass_rate", at_least=0),
        rule("affected_cases", at_most=9),
        rule("check_errors", at_most=0),
        rule("coverage", at_least="0.5"),
        rule("coverage", at_least="0.9"),
    ]
    decision = decide(rules, found, plan(found, case("X")))

    assert [one.outcome.value for one in decision.rules] == ["no data", "no data", "no data", "held", "broken"]
    assert [one.outcome.value for one in decision.front] == ["broken", "no data", "no data"]
    assert len(decision.grounds) == 2


def test_what_is_missing_or_malformed_is_said_of_coverage_and_of_nothing_else():
    found = [result("A", "f", recorded=False), result("B", "e"), result("C", "s")]
    decision = decide([NINETY], found, plan(found))

    assert decision.reasons[:3] == (
        "pass rate 0.0000 < 0.9000 (n=1)",
        "1 of 3 outputs are missing or malformed; record them and run again",
        "1 of the checks broke on an output; mend the check and run again",
    )
    assert decision.reasons[3].startswith("2 of 3 outputs were not graded")
    part = decide([NINETY], found, plan(found, case("X")))
    assert "only 2 of 4 outputs were judged; a part of the evidence decides nothing: run them all" in part.reasons


def test_no_case_at_all_is_one_reason():
    assert decide([NINETY], [], []).reasons == ("there are no cases; an empty suite decides nothing: add cases",)
