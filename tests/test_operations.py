"""The second suite is graded by data alone: partial credit for facts, events against cases, severity by finding."""

from __future__ import annotations

import shutil
import tomllib

import pytest

from story import ROOT, Project


@pytest.mark.parametrize(
    ("label", "verdict", "code", "counts"),
    [("clean", "PASS", 0, "10 passed"), ("regression", "BLOCK", 12, "1 failed"), ("broken", "BLOCK", 12, "2 failed")],
)
def test_the_shipped_snapshots(expense: Project, label, verdict, code, counts):
    run = expense.gate_results(f"operations/{label}")

    assert (run.code, run.verdict) == (code, verdict)
    assert counts in run.out
    evidence = run.evidence()
    assert evidence["production_approved"] is False
    assert evidence["snapshots"][0]["meta"]["latency"] == "simulated"
    assert f"operations/{label}.json" in evidence["files"]
    assert (expense.results / f"operations/{label}.json").exists()


def test_all_golden_facts_match_and_one_claim_too_many_blocks(expense):
    run = expense.gate_results("operations/regression")

    assert "regression: facts matched 14 of 14" in run.out
    assert "assertions_supported (critical): assertion 2 rests on 'REC-174', which is no record of this case" in run.out
    assert "regression: findings 1 (1 critical, 0 major, 0 minor) in 1 affected cases" in run.out
    metrics = run.evidence()["snapshots"][0]["metrics"]
    assert (metrics["findings"]["value"], metrics["affected_cases"]["value"]) == (1, 1)
    assert metrics["facts_matched_rate"] == {"value": 1, "n": 14, "unit": "rate"}


def test_a_missing_and_a_malformed_response_stay_in_the_denominators(expense):
    run = expense.gate_results("operations/broken")

    assert "output_recorded (critical): missing: outputs/operations/broken.jsonl has no output for" in run.out
    assert "malformed: facts: expected an object" in run.out
    assert "broken: HOLD: 2 of 10 outputs are missing or malformed; record them and run again" in run.out
    snapshot = run.evidence()["snapshots"][0]
    assert snapshot["metrics"]["critical_findings"]["value"] == 2
    rate = snapshot["metrics"]["pass_rate"]
    assert (rate["value"], rate["n"]) == (0.8, 10)
    assert rate["interval"] == [pytest.approx(0.490, abs=0.001), pytest.approx(0.943, abs=0.001)]
    assert snapshot["measures"]["facts_matched"]["of"] == 14


def test_an_empty_suite_holds(expense):
    run = expense.run("--release-gate=outputs/operations-empty", "--release-gate-results=results")

    assert (run.code, run.verdict) == (2, "HOLD")
    assert "there are no cases" in run.last
    assert run.evidence()["decision"]["verdict"] == "HOLD"


def test_two_suites_each_by_its_own_policy_and_the_worst_decides(expense):
    run = expense.run(
        "--release-gate=outputs/operations/clean.jsonl",
        "--release-gate=outputs/candidate-v2.jsonl",
        "--release-gate-results=results",
    )

    assert (run.code, run.verdict) == (10, "REVIEW")
    assert "1 failed, 21 passed" in run.out
    assert sorted(run.files()) == [
        "RELEASE_REPORT.md",
        "candidate-v2.json",
        "digest.md",
        "evidence.json",
        "operations/clean.json",
        "summary.json",
    ]


def test_findings_and_affected_cases_are_two_numbers(expense):
    expense.replace("outputs/operations/clean.jsonl", '"citations":[', '"citations":["NO-1","NO-2",', 1)
    run = expense.gate_results("operations/clean")

    metrics = run.evidence()["snapshots"][0]["metrics"]
    assert run.verdict == "BLOCK"
    assert (metrics["critical_findings"]["value"], metrics["critical_affected_cases"]["value"]) == (2, 1)


def test_the_empty_suite_is_judged_by_the_same_checks_and_rules():
    names = ("operations", "operations-empty")
    full, empty = (tomllib.loads((ROOT / f"policy/{name}/gate.toml").read_text("utf-8")) for name in names)

    assert (full["checks"], full["rules"]) == (empty["checks"], empty["rules"])


def test_it_needs_no_python_of_its_own():
    sources = [path.read_text("utf-8").lower() for path in (ROOT / "src").rglob("*.py")]

    assert not any("operations" in text for text in sources)
    assert not list((ROOT / "cases/operations").glob("*.py"))


def test_checks_of_one_suite_are_not_asked_for_another(expense):
    """A conftest.py beside the cases of one suite breaks nothing in the other."""
    expense.write("cases/operations/conftest.py", "def pytest_release_gate_checks(): return ['no mapping']\n")

    assert expense.gate("candidate-v3").verdict == "PASS"
    assert expense.gate("operations/clean").code == 4


def test_two_suites_may_use_one_name_for_checks_of_their_own(expense):
    for top in ("cases", "outputs", "policy"):
        shutil.copytree(expense.path(f"{top}/operations"), expense.path(f"{top}/other"))
    expense.replace("policy/other/gate.toml", "cases/operations", "cases/other")
    hook = "def own(case, output): return []\ndef pytest_release_gate_checks(): return {'own': own}\n"
    for folder in ("operations", "other"):
        expense.write(f"cases/{folder}/conftest.py", hook)
        expense.replace(f"policy/{folder}/gate.toml", "[[rules]]", '[[checks]]\nname = "own"\n\n[[rules]]', 1)

    run = expense.run(
        "--release-gate=outputs/operations/clean.jsonl",
        "--release-gate=outputs/other/clean.jsonl",
        "--import-mode=importlib",
    )

    assert (run.code, run.verdict) == (0, "PASS")
