"""The policy file: read and refused as a whole, every problem with its line and what may have been meant."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pytest_release_gate.checks import BUILT_IN, MEASURES
from pytest_release_gate.errors import PolicyError
from pytest_release_gate.metrics import METRICS, find
from pytest_release_gate.model import Verdict
from pytest_release_gate.policy import parse_policy

from build import case, output

HEAD = """\
[suite]
name = "s"
cases = "cases.jsonl"
case_schema = "case.json"
output_schema = "output.json"
"""
CHECKS = """\
[[checks]]
name = "decision_exact"
"""
RULES = """\
[[rules]]
metric = "pass_rate"
at_least = 0.9
otherwise = "BLOCK"
"""


def custom(case, output, *, needed, limit=3):
    if limit:
        yield f"{needed}"


def parse(text: str):
    def unit_of(metric, measures):
        definition = find(metric, measures)
        return definition.unit if definition else None

    checks = {**BUILT_IN, "custom": custom}
    return parse_policy(text, "gate.toml", checks=checks, measures=MEASURES, metrics=[*METRICS], unit_of=unit_of)


def refused(text: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        parse(text)
    return [str(problem) for problem in caught.value.problems]


def test_what_is_left_out_has_a_safe_value():
    policy = parse(HEAD + CHECKS + RULES)

    assert (policy.name, policy.version, policy.document) == ("s", "", None)
    assert (policy.missing_fails, policy.malformed_fails, policy.trials) == (False, False, 1)
    (check,) = policy.checks
    assert (check.name, check.uses, check.severity, check.when) == ("decision_exact", "decision_exact", None, {})
    (rule,) = policy.rules
    assert (rule.metric, rule.bound, rule.limit) == ("pass_rate", "at_least", Fraction(9, 10))
    assert (rule.otherwise, rule.where, rule.minimum_n, rule.allow_missing) == (Verdict.BLOCK, {}, 1, 0)


def test_everything_that_can_be_said():
    policy = parse(
        HEAD
        + """
document = "POLICY.md"
version = "V1"
[evidence]
missing_output = "fail"
malformed_output = "fail"
trials = 3
[[checks]]
name = "amount_right"
uses = "decision_exact"
field = "amount"
expected = "amount"
when = { action = ["approve", "partial"], "deep.er" = 1.5 }
severity = "critical"
[[checks]]
name = "custom"
needed = ["a"]
severity = { extra = "critical", late = "minor" }
[[rules]]
metric = "p97_latency_ms"
where = { bucket = "deny", tag = ["a", "b"], severity = "minor" }
at_most = 2_500
otherwise = "REVIEW"
minimum_n = 5
allow_missing = 2
[[rules]]
metric = "failures"
equals = 0
otherwise = "HOLD"
"""
    )

    assert (policy.document, policy.version, policy.trials) == ("POLICY.md", "V1", 3)
    assert (policy.missing_fails, policy.malformed_fails) == (True, True)
    amount, own = policy.checks
    assert amount.when == {"action": ("approve", "partial"), "deep.er": (1.5,)}
    assert amount.severity == "critical"
    assert amount.arguments == {"field": "amount", "expected": "amount"}
    found = list(amount.function(case(expected={"amount": 2}), output(record={"amount": 3}), **amount.arguments))
    assert found[0].message == "expected amount 2, got 3"
    assert own.severity == {"extra": "critical", "late": "minor"}
    slow, none = policy.rules
    assert slow.where == {"bucket": ("deny",), "tag": ("a", "b"), "severity": ("minor",)}
    assert (slow.limit, slow.minimum_n, slow.allow_missing) == (2500, 5, 2)
    assert (none.bound, none.otherwise) == ("equals", Verdict.HOLD)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[suite", "gate.toml: is not TOML: "),
        (HEAD + "name = 'twice'\n", "gate.toml:6: is not TOML: "),
        (HEAD + CHECKS, "gate.toml: there is no [[rules]] entry: without a rule nothing is decided, so add one"),
        (HEAD + RULES, "gate.toml: there is no [[checks]] entry: without a check nothing is judged, so add one"),
        ("suite = 3", "gate.toml: 'suite' must be written as [suite] tables"),
        (HEAD + "[checks]\nname = 'x'\n" + RULES, "gate.toml: 'checks' must be written as [[checks]] tables"),
        (
            HEAD + "[extra]\n" + CHECKS + RULES,
            "the policy has no key 'extra'; there are checks, evidence, rules, selftest, suite, trust",
        ),
        (HEAD + "case = 1\n" + CHECKS + RULES, "gate.toml:6: [suite] has no key 'case', did you mean 'cases'?"),
        (HEAD.replace('name = "s"\n', "") + CHECKS + RULES, "gate.toml:1: [suite] needs the key 'name'"),
        (
            HEAD.replace('"s"', "3") + CHECKS + RULES,
            "gate.toml:2: 'name' of [suite] must be a non-empty string, found 3",
        ),
        (HEAD.replace('"s"', '""') + CHECKS + RULES, "gate.toml:2: 'name' of [suite] must be a non-empty string"),
        (
            HEAD + "[evidence]\nmissing_output = 'pass'\n" + CHECKS + RULES,
            "gate.toml:7: 'missing_output' of [evidence] must be 'refuse' or 'fail', found \"pass\"",
        ),
        (
            HEAD + "[evidence]\ntrials = 0\n" + CHECKS + RULES,
            "gate.toml:7: 'trials' of [evidence] must be a whole number of at least 1, found 0",
        ),
        (HEAD + "[evidence]\ntrials = true\n" + CHECKS + RULES, "found true"),
        (HEAD + "[evidence]\ntrials = 1.0\n" + CHECKS + RULES, "found 1.0"),
        (
            HEAD + CHECKS.replace("exact", "exac") + RULES,
            "gate.toml:6: no check is called 'decision_exac', did you mean 'decision_exact'?",
        ),
        (
            HEAD + CHECKS + "feild = 'x'\n" + RULES,
            "gate.toml:8: the check 'decision_exact' takes no argument 'feild', did you mean 'field'?",
        ),
        (HEAD + CHECKS + "field = 3\n" + RULES, "gate.toml:8: 'field' of the check 'decision_exact' must be a string"),
        (HEAD + "[[checks]]\nname = 'custom'\n" + RULES, "gate.toml:6: the check 'custom' needs the argument 'needed'"),
        (HEAD + "[[checks]]\nuses = 'custom'\n" + RULES, "gate.toml:6: [[checks]] needs the key 'name'"),
        (HEAD + CHECKS + CHECKS + RULES, "two checks are named 'decision_exact'"),
        (
            HEAD + CHECKS + "severity = 'high'\n" + RULES,
            "gate.toml:8: 'severity' is critical, major, minor; found \"high\"",
        ),
        (HEAD + CHECKS + "severity = { extra = 'blocker' }\n" + RULES, 'found "blocker"'),
        (HEAD + CHECKS + "severity = 3\n" + RULES, "found 3"),
        (HEAD + CHECKS + "when = 3\n" + RULES, "gate.toml:8: 'when' must be a table of accepted values, found 3"),
        (
            HEAD + CHECKS + RULES.replace("pass_rate", "pas_rate"),
            "gate.toml:9: no metric is called 'pas_rate', did you mean 'pass_rate'?",
        ),
        (
            HEAD + CHECKS + RULES.replace("BLOCK", "block"),
            "gate.toml:11: 'otherwise' of [[rules]] must be REVIEW, HOLD",
        ),
        (HEAD + CHECKS + RULES.replace("BLOCK", "PASS"), "'otherwise' of [[rules]] must be REVIEW, HOLD, BLOCK; found"),
        (HEAD + CHECKS + RULES.replace('otherwise = "BLOCK"', ""), "found nothing"),
        (
            HEAD + CHECKS + RULES.replace("at_least = 0.9", ""),
            "gate.toml:8: the rule over 'pass_rate' needs exactly one of at_least, at_most, equals; found none",
        ),
        (HEAD + CHECKS + RULES + "at_most = 1\n", "found at_least and at_most"),
        (
            HEAD + CHECKS + RULES.replace("0.9", "90"),
            "'at_least' of the rule over 'pass_rate' must lie between 0 and 1",
        ),
        (HEAD + CHECKS + RULES.replace("0.9", '"90%"'), 'must be a finite number, found "90%"'),
        (HEAD + CHECKS + RULES.replace("0.9", "nan"), "must be a finite number, found nan"),
        (HEAD + CHECKS + RULES.replace("0.9", "inf"), "must be a finite number, found inf"),
        (HEAD + CHECKS + RULES.replace("0.9", "true"), "must be a finite number, found true"),
        (HEAD + CHECKS + RULES.replace("0.9", "-0.1"), "must not be negative, found -0.1"),
        (HEAD + CHECKS + RULES + "minimum_n = 0\n", "'minimum_n' of [[rules]] must be a whole number of at least 1"),
        (HEAD + CHECKS + RULES + "allow_missing = -1\n", "'allow_missing' of [[rules]] must be a whole number"),
        (HEAD + CHECKS + RULES + "where = 'deny'\n", "gate.toml:12: 'where' must be a table"),
        (HEAD + CHECKS + RULES + "where = { buckets = 'x' }\n", "'where' has no key 'buckets', did you mean 'bucket'?"),
        (HEAD + CHECKS + RULES + "where = { bucket = [] }\n", "'bucket' in 'where' must be a string or a list of"),
        (HEAD + CHECKS + RULES + "where = { severity = 'high' }\n", "'severity' in 'where' is critical, major, minor"),
        (HEAD + CHECKS + RULES + "limit = 3\n", "gate.toml:12: [[rules]] has no key 'limit'"),
    ],
)
def test_refused(text, problem):
    problems = refused(text)

    assert any(problem in one for one in problems), problems


def test_the_second_of_two_tables_is_named_by_its_own_line():
    problems = refused(HEAD + CHECKS + RULES + RULES.replace("0.9", "2"))

    assert problems == ["gate.toml:14: 'at_least' of the rule over 'pass_rate' must lie between 0 and 1, found 2"]


def test_all_problems_are_listed_at_once():
    text = HEAD.replace("output_schema", "outputschema") + CHECKS.replace("exact", "x") + RULES.replace("BLOCK", "no")

    assert len(refused(text)) == 4


def test_bounds_are_read_as_they_are_written():
    policy = parse(HEAD + CHECKS + RULES.replace("0.9", "0.1000000000000000055511151231257827"))

    assert policy.rules[0].limit != Fraction(1, 10)
    assert policy.rules[0].limit == Fraction("0.1000000000000000055511151231257827")
