"""Repeated trials, infrastructure trouble, and graders that must prove themselves before any result counts."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import PolicyError, SuiteError, agent_view, conclude, grade_all, load
from pytest_release_gate.metrics import Sample, excused, flaky, measure, pass_at, pass_hat, wilson

from build import plan, result, rule
from story import ROOT, Project

HEAD = """\
[suite]
name = "s"
cases = "cases.jsonl"
case_schema = "schema.json"
output_schema = "schema.json"
[evidence]
trials = {trials}
{evidence}
[[checks]]
name = "decision_exact"
[[rules]]
metric = "{metric}"
at_least = {least}
otherwise = "BLOCK"
{more}
"""
CASES = [
    {"case_id": "A", "severity": "critical", "bucket": "easy", "expected": {"decision": "yes"}},
    {"case_id": "B", "severity": "minor", "bucket": "hard", "expected": {"decision": "no"}},
]
KNOWN = {"A": "yes", "B": "no"}


@pytest.fixture
def project(tmp_path) -> Project:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    made.write("schema.json", '{"type": "object", "required": ["case_id"]}')
    made.write_records("cases.jsonl", CASES)
    return made


def policy(project: Project, *, trials=3, metric="pass_hat_3", least=0.5, evidence="", more="") -> None:
    text = HEAD.format(trials=trials, metric=metric, least=least, evidence=evidence, more=more)
    project.write("gate.toml", text)


def record(project: Project, name: str, **letters: str) -> None:
    """`record(project, "s", A="ppf")`: passed, failed, or lost to a time-out, a letter a trial."""
    lines = []
    for case_id, outcomes in letters.items():
        for trial, letter in enumerate(outcomes):
            line = {"case_id": case_id, "trial": trial, "decision": KNOWN[case_id] if letter == "p" else "wrong"}
            if letter == "t":
                line["error"] = {"kind": "timeout", "message": "after 30 s"}
            lines.append(line)
    project.write_records(f"outputs/{name}.jsonl", lines)


def judged(project: Project, name: str = "s"):
    suite = load(project.path("gate.toml"), [project.path(f"outputs/{name}.jsonl")], root=project.at)
    return conclude(suite, grade_all(suite)).reports[0]


@pytest.mark.parametrize(
    ("letters", "hat", "at", "unsteady", "verdict"),
    [
        ({"A": "ppp", "B": "ppp"}, 1, 1, (), "PASS"),
        ({"A": "ppp", "B": "ppf"}, Fraction(1, 2), 1, ("B",), "PASS"),
        ({"A": "ppf", "B": "pff"}, 0, 1, ("A", "B"), "BLOCK"),
        ({"A": "fff", "B": "ppp"}, Fraction(1, 2), Fraction(1, 2), (), "PASS"),
    ],
)
def test_pass_hat_and_pass_at(project, letters, hat, at, unsteady, verdict):
    policy(project)
    record(project, "s", **letters)
    report = judged(project)

    assert report.metrics["pass_hat_3"].value == hat
    assert report.metrics["pass_at_3"].value == at
    assert report.flaky == unsteady
    assert report.metrics["flaky_cases"].value == len(unsteady)
    assert report.decision.verdict.name == verdict
    assert [name for name in report.metrics if name.startswith("pass_")] == [
        "pass_rate",
        *(f"pass_{kind}_{k}" for kind in ("hat", "at") for k in (1, 2, 3)),
    ]


def test_a_missing_trial_is_refused_never_a_lower_k(project):
    policy(project)
    record(project, "s", A="ppp", B="pp")
    with pytest.raises(SuiteError, match="the output for case 'B', trial 2 is missing"):
        judged(project)


@pytest.mark.parametrize("metric", ["pass_hat_4", "pass_at_4"])
def test_more_than_the_planned_trials_is_a_bad_policy(project, metric):
    policy(project, metric=metric)
    record(project, "s", A="ppp", B="ppp")
    with pytest.raises(PolicyError, match=f"gate.toml:12: '{metric}' needs more than the 3 trials of"):
        judged(project)


@pytest.mark.parametrize(
    ("evidence", "letters", "verdict", "reason"),
    [
        ("", {"A": "ppt", "B": "ppp"}, "HOLD", "only 5 of 6 outputs were judged"),
        ("valid_trials = 2", {"A": "ppt", "B": "ppp"}, "PASS", None),
        ("valid_trials = 2", {"A": "ptt", "B": "ppp"}, "HOLD", "only 4 of 6 outputs were judged"),
        ("valid_trials = 2", {"A": "fft", "B": "fff"}, "BLOCK", "mean pass rate 0.0000 < 0.5000"),
    ],
)
def test_infrastructure_trouble_is_neither_pass_nor_failure(project, evidence, letters, verdict, reason):
    policy(project, metric="mean_pass_rate", evidence=evidence)
    record(project, "s", **letters)
    report = judged(project)

    assert report.decision.verdict.name == verdict
    assert reason is None or report.decision.reasons[0].startswith(reason)
    assert report.metrics["infra_errors"].value == sum(word.count("t") for word in letters.values())


def test_pass_hat_is_unknown_where_a_case_has_too_few_valid_trials(project):
    policy(project, evidence="valid_trials = 2")
    record(project, "s", A="ppt", B="ppp")
    report = judged(project)

    assert report.metrics["pass_hat_3"].value is None
    assert report.metrics["pass_hat_2"].value == 1
    assert report.decision.verdict.name == "HOLD"


def test_a_share_of_infrastructure_trouble_can_hold(project):
    more = '[[rules]]\nmetric = "infra_rate"\nat_most = 0.1\notherwise = "HOLD"\n'
    policy(project, metric="mean_pass_rate", evidence="valid_trials = 2", more=more)
    record(project, "s", A="ppt", B="ppp")

    assert judged(project).decision.reasons == ("infra rate 0.1667 > 0.1000 (n=6)",)


@pytest.mark.parametrize("value", ["valid_trials = 4", "valid_trials = 0"])
def test_valid_trials_are_among_those_planned(project, value):
    policy(project, evidence=value)
    record(project, "s", A="ppp", B="ppp")
    with pytest.raises(PolicyError, match="'valid_trials'"):
        judged(project)


TRUST = """
[[trust]]
snapshot = "outputs/reference.jsonl"
must = "pass"
[[trust]]
snapshot = "outputs/null.jsonl"
must = "fail"
where = {{ bucket = "hard" }}
[[trust]]
snapshot = "outputs/null.jsonl"
passed = {passed}
where = {{ bucket = "easy" }}
"""


@pytest.fixture
def trusted(project) -> Project:
    policy(project, trials=1, metric="pass_rate", least=0.9, more=TRUST.format(passed=1))
    record(project, "reference", A="p", B="p")
    record(project, "null", A="p", B="f")
    record(project, "good", A="p", B="p")
    record(project, "bad", A="f", B="f")
    return project


def run(project: Project, label: str, *args: str):
    return project.run(
        f"--release-gate=outputs/{label}.jsonl",
        "--release-gate-policy=gate.toml",
        "--release-gate-results=results",
        *args,
    )


def test_graders_that_prove_themselves_count(trusted):
    good = run(trusted, "good", "-rA")

    assert (good.code, good.verdict) == (0, "PASS")
    ids = [line.split("::")[1] for line in good.out.splitlines() if line.startswith("PASSED ")]
    assert ids == ["trust-1[reference]", "trust-2[null]", "trust-3[null]", "A[good]", "B[good]"]
    assert run(trusted, "bad").verdict == "BLOCK"
    assert [one["passed"] for one in good.evidence()["snapshots"][0]["trust"]] == [2, 0, 1]


@pytest.mark.parametrize(
    ("bend", "reason"),
    [
        (lambda p: record(p, "reference", A="p", B="f"), "reference must pass B, but it is failed"),
        (lambda p: record(p, "null", A="p", B="p"), "null must fail B, but it is passed"),
        (lambda p: record(p, "null", A="f", B="f"), "null must pass 1 of 1 cases, but it passes 0"),
        (lambda p: p.replace("gate.toml", '"hard"', '"nowhere"'), "no case is selected for null"),
    ],
)
@pytest.mark.parametrize("label", ["good", "bad"])
def test_bent_rulers_hold_whatever_the_candidate_does(trusted, bend, reason, label):
    bend(trusted)
    held = run(trusted, label)

    assert (held.code, held.verdict) == (11, "HOLD")
    assert f"{label}: the graders can't be trusted: {reason}" in held.last
    assert held.evidence()["decision"]["verdict"] == "HOLD"


@pytest.mark.parametrize(
    "args", [["-n2"], ["-k", "not trust"], ["--deselect=cases.jsonl::trust-1[reference]"]], ids=str
)
def test_the_verdict_does_not_depend_on_which_trust_items_run(trusted, args):
    record(trusted, "reference", A="p", B="f")

    assert run(trusted, "good", *args).verdict == "HOLD"
    record(trusted, "reference", A="p", B="p")
    assert run(trusted, "good", *args).verdict == "PASS"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('snapshot = "outputs/good.jsonl"', "[[trust]] needs either 'must' or 'passed'"),
        ('snapshot = "outputs/good.jsonl"\nmust = "pass"\npassed = 1', "[[trust]] needs either 'must' or 'passed'"),
        ('snapshot = "outputs/good.jsonl"\nmust = "win"', "'must' of [[trust]] must be 'pass' or 'fail'"),
        ('snapshot = "outputs/good.jsonl"\npassed = -1', "'passed' of [[trust]] must be a whole number"),
        ('snapshot = "outputs/gone.jsonl"\nmust = "pass"', "names 'outputs/gone.jsonl', but there is no such file"),
        ('must = "pass"', "[[trust]] needs the key 'snapshot'"),
    ],
)
def test_a_trust_gate_that_can_not_be_used(trusted, entry, problem):
    policy(trusted, trials=1, metric="pass_rate", more=f"[[trust]]\n{entry}\n")
    with pytest.raises(PolicyError) as caught:
        judged(trusted, "good")

    assert problem in str(caught.value)


def test_outputs_of_another_configuration_hold(project):
    policy(project, trials=1, metric="pass_rate")
    lines = [{"case_id": name, "decision": KNOWN[name], "fingerprint": "one"} for name in "AB"]
    project.write_records("outputs/s.jsonl", lines)
    project.write("outputs/s.meta.json", '{"fingerprint": "one"}')
    assert judged(project).decision.verdict.name == "PASS"

    project.write("outputs/s.meta.json", '{"fingerprint": "two"}')
    decision = judged(project).decision

    assert decision.verdict.name == "HOLD"
    assert decision.reasons[0].startswith("2 outputs name another fingerprint than the sidecar")


def spent(project: Project, **numbers: list[tuple[int | None, float | None]]) -> None:
    """Latency and cost of each trial."""
    lines = [
        {"case_id": name, "trial": trial, "decision": KNOWN[name], "latency_ms": ms, "cost_usd": usd}
        for name, trials in numbers.items()
        for trial, (ms, usd) in enumerate(trials)
    ]
    project.write_records("outputs/s.jsonl", lines)


def test_the_spread_over_trials_is_exact_and_has_its_n(project):
    policy(project)
    spent(project, A=[(100, 0.1), (250, 0.3), (200, 0.2)], B=[(50, 0.1), (50, 0.1), (50, 0.1)])
    report = judged(project)
    spread = {name: report.metrics[name] for name in report.metrics if "spread" in name}

    assert {name: (metric.value, metric.n) for name, metric in spread.items()} == {
        "mean_spread_latency_ms": (75, 2),
        "max_spread_latency_ms": (150, 2),
        "mean_spread_cost_usd": (Fraction(1, 10), 2),
        "max_spread_cost_usd": (Fraction(1, 5), 2),
    }
    words = "spread over the trials of a case (largest - smallest): latency on average 75 ms unstated, at most 150 ms"
    assert words in run(project, "s").out


def test_a_number_that_is_missing_makes_the_spread_unknown_but_not_a_trial_that_was_lost(project):
    policy(project, evidence="valid_trials = 2", metric="pass_hat_2")
    spent(project, A=[(100, None), (250, 0.3), (200, 0.2)], B=[(50, 0.1), (50, 0.1), (50, 0.1)])
    report = judged(project)
    assert report.metrics["max_spread_cost_usd"].value is None
    assert report.metrics["max_spread_latency_ms"].value == 150

    lines = project.records("outputs/s.jsonl")
    lines[1]["error"] = {"kind": "timeout"}
    project.write_records("outputs/s.jsonl", lines)
    assert judged(project).metrics["max_spread_latency_ms"].value == 100


def test_one_trial_has_no_spread(project):
    policy(project, trials=1, metric="pass_rate")
    spent(project, A=[(100, 0.1)], B=[(50, 0.1)])

    assert judged(project).metrics["mean_spread_latency_ms"].value is None


def test_every_k_is_told_of_every_group(project):
    policy(project)
    record(project, "s", A="ppf", B="ppp")
    report = judged(project)
    of = {(one.name, one.group): one.value for one in report.groups}

    assert of["pass_hat_2", "bucket=easy"] == of["pass_hat_2", "severity=critical"] == Fraction(1, 3)
    assert of["pass_at_2", "bucket=easy"] == of["pass_hat_3", "bucket=hard"] == 1
    assert len(of) == 4 * (1 + 6)
    run(project, "s")
    text = (project.results / "RELEASE_REPORT.md").read_text("utf-8")
    assert "| group | mean pass rate | pass\\^2 | pass\\^3 | pass\\@2 | pass\\@3 |" in text


def test_what_was_lost_is_told_by_kind(project):
    policy(project, metric="mean_pass_rate", evidence="valid_trials = 1")
    record(project, "s", A="ptt", B="ppp")
    lines = project.records("outputs/s.jsonl")
    lines[2]["error"]["kind"] = "rate_limit"
    lines[3]["earlier_attempts"] = [{"error": {"kind": "timeout"}}]
    project.write_records("outputs/s.jsonl", lines)
    report = judged(project)

    assert report.infra == {"rate_limit": 1, "timeout": 1}
    assert report.metrics["retried"].value == 1
    shown = run(project, "s")
    assert "infra errors 2 (rate_limit 1, timeout 1), retried 1 (n=6)" in shown.out
    kept = [one["actual"].get("earlier_attempts") for one in shown.evidence()["snapshots"][0]["results"]]
    assert kept == [None, None, None, [{"error": {"kind": "timeout"}}], None, None]


KILLS = '[[rules]]\nmetric = "mutation_kill_rate"\nat_least = {least}\notherwise = "HOLD"\n{more}'


def test_a_rule_on_the_kill_rate_holds_graders_that_would_not_notice(project):
    policy(project, trials=1, metric="pass_rate", more=KILLS.format(least=1, more=""))
    project.write_records("outputs/s.jsonl", [{"case_id": name, "decision": KNOWN[name], "paid": 5} for name in KNOWN])
    held = run(project, "s")
    assert (held.code, held.verdict) == (11, "HOLD")
    assert "mutation kill rate 0.5000 < 1.0000 (n=8)" in held.last
    assert held.evidence()["snapshots"][0]["power"][0]["metric"] == "pass_rate"

    unnoticed = '[selftest]\nequivalent = ["paid: *"]\n'
    policy(project, trials=1, metric="pass_rate", more=KILLS.format(least=1, more=unnoticed))
    assert run(project, "s").code == 0


def test_the_kill_rate_is_not_known_where_nothing_right_is_there_or_nobody_asks(project):
    policy(project, trials=1, metric="mean_pass_rate", least=0, more=KILLS.format(least=0, more=""))
    record(project, "s", A="f", B="f")
    report = judged(project)
    assert report.decision.verdict.name == "HOLD"
    assert report.decision.reasons[0].startswith("mutation kill rate is not known (n=0, 1 needed)")

    policy(project, trials=1, metric="pass_rate")
    record(project, "s", A="p", B="p")
    assert judged(project).metrics["mutation_kill_rate"].value is None


def test_the_kill_rate_is_about_the_whole_suite(project):
    where = 'where = { bucket = "easy" }\n'
    policy(project, trials=1, metric="pass_rate", more=KILLS.format(least=1, more=where))
    record(project, "s", A="p", B="p")
    with pytest.raises(PolicyError, match="'mutation_kill_rate' is about the whole suite"):
        judged(project)


def test_the_digest_shows_the_trials_of_a_case_side_by_side(project):
    policy(project)
    record(project, "s", A="ppf", B="ppp")
    run(project, "s")
    text = (project.results / "digest.md").read_text("utf-8")

    assert "### decision\\_exact, bucket easy" in text
    assert "| 2 | failed | expected decision 'yes', got 'wrong' |" in text
    assert text.count("| passed | – |") == 2


def paths(value, at=()):
    yield at
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(part, (*at, key))


def test_what_an_agent_is_given_holds_nothing_of_what_is_expected(expense):
    suite = load(expense.path("policy/gate.toml"), [expense.path("outputs/candidate-v3.jsonl")], root=expense.at)
    for case in suite.cases.values():
        view = agent_view(case)

        assert set(view) == {"case_id", "input"}
        assert json.loads(json.dumps(view)) == view
        keys = {step for path in paths(view) for step in path}
        assert not keys & set(case.expected)
        view["input"]["claim_id"] = "changed"
        assert agent_view(case)["input"]["claim_id"] != "changed"


@given(st.integers(1, 12), st.data())
def test_pass_hat_falls_and_pass_at_rises_with_k(n, data):
    passed = data.draw(st.integers(0, n))
    hats = [pass_hat(passed, n, k) for k in range(1, n + 1)]
    ats = [pass_at(passed, n, k) for k in range(1, n + 1)]

    assert hats == sorted(hats, reverse=True)
    assert ats == sorted(ats)
    assert hats[0] == ats[0] == Fraction(passed, n)
    assert pass_hat(passed, n, n + 1) is pass_at(passed, n, n + 1) is None


@pytest.mark.parametrize(
    ("share", "n", "low", "high"),
    [(Fraction(1), 4, 0.5101, 1.0), (Fraction(0), 4, 0.0, 0.4899), (Fraction(1, 2), 10, 0.2366, 0.7634)],
)
def test_wilson(share, n, low, high):
    assert wilson(share, n) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


@given(st.integers(1, 500), st.data())
def test_an_interval_holds_its_rate_and_stays_in_bounds(n, data):
    share = Fraction(data.draw(st.integers(0, n)), n)
    low, high = wilson(share, n)

    assert 0 <= low <= float(share) + 1e-12
    assert float(share) - 1e-12 <= high <= 1


def test_the_interval_of_a_rate_over_trials_stands_on_cases():
    trials = [result("A", "p", trial=t) for t in range(3)] + [result("B", "f", trial=t) for t in range(3)]
    metric = measure("pass_rate", Sample(results=trials, expected=6))

    assert metric.n == 6
    assert metric.interval == wilson(Fraction(1, 2), 2)


def test_excused_and_flaky():
    trials = [result("A", letter, trial=t) for t, letter in enumerate("pf")]
    lost = result("A", "", trial=2, infra="timeout")

    assert flaky([*trials, lost]) == ("A",)
    assert excused([*trials, lost], 2) == 1
    assert excused([*trials, lost], 3) == 0
    assert excused([*trials, lost], 1) == 1
    assert rule("pass_hat_2", at_least=0).metric == "pass_hat_2"
    assert len(plan(trials)) == 2


PAGE = (ROOT / "docs/trials.md").read_text("utf-8")


def test_what_the_page_shows_is_a_policy(project):
    blocks = re.findall(r"(?ms)^```toml\n(.*?)^```$", PAGE)
    text = HEAD.format(trials=3, metric="pass_hat_3", least=0.5, evidence="", more="")
    text = text.replace("[evidence]\ntrials = 3\n", "")
    assert len(blocks) == 4
    for name in ("reference", "null-agent"):
        record(project, name, A="p", B="p")
    record(project, "s", A="ppp", B="ppp")
    for name in ("reference", "null-agent"):
        project.path(f"outputs/{name}.jsonl").rename(project.path(f"{name}.jsonl"))
    project.write("gate.toml", text + "\n".join(blocks))
    report = judged(project)

    assert report.decision.verdict.name == "HOLD"  # nothing here is a null agent
    assert {trust.trust.snapshot for trust in report.graders.trust} == {"reference.jsonl", "null-agent.jsonl"}
    rows = re.findall(r"(?m)^\| (`.+?`) \|", PAGE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"pass_hat_k", "pass_at_k"}
    assert len(named) == 9
    assert named <= report.metrics.keys()


def test_nothing_in_the_source_knows_the_suites():
    text = "".join(path.read_text("utf-8").lower() for path in (ROOT / "src").rglob("*.py"))

    assert not any(word in text for word in ("deduction", "reimburse", "retailer"))
