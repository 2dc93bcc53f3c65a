"""The third suite: trials by bucket, trusted graders, figures as they are known, and no Python of its own."""

from __future__ import annotations

import re

import pytest

from story import ROOT, Project

FIGURES = {
    "approve": (4, "1.00", "1.00"),
    "deny": (4, "0.92", "0.75"),
    "partial": (3, "0.78", "0.67"),
    "escalate": (3, "0.67", "0.67"),
    "ambiguous": (2, "0.50", "0.50"),
    "memory": (2, "1.00", "1.00"),
    "overall": (18, "0.83", "0.78"),
}


def test_postfix_is_review_with_the_known_figures(expense: Project):
    run = expense.gate_results("deductions/postfix")

    assert (run.code, run.verdict) == (10, "REVIEW")
    assert "9 failed, 49 passed" in run.out
    rows = re.findall(r"(?m)^    (\w+) +mean pass rate (\S+) \[.*?\] \(n=(\d+)\)  pass\^3 (\S+) \[", run.out)
    assert {name: (int(n), mean, hat) for name, mean, n, hat in rows} == FIGURES
    assert "flaky (passed in some trials, not in all): D-0006, D-0011" in run.out
    assert (
        "total cost 6.9600 USD simulated, total tokens in 1493000, total tokens out 165400, "
        "infra errors 0, retried 1 (n=54)"
    ) in run.out
    assert "trust in the judge holds: of calibration 74 of 78 verdicts are right" in run.out
    metrics = run.evidence()["snapshots"][0]["metrics"]
    assert metrics["critical_findings"]["value"] == 0
    assert metrics["pass_hat_3"]["value"] == pytest.approx(14 / 18)


def test_prefix_blocks_where_the_precedent_was_not_recalled(expense):
    run = expense.gate("deductions/prefix")

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert "pass^3 0.6667 < 0.7000 (n=18)" in run.last
    assert "pass^3 (bucket=memory) 0.0000 < 0.5000 (n=2)" in run.last


def test_a_bent_reference_holds(expense):
    expense.replace("outputs/deductions/reference.jsonl", '"approve"', '"deny"', 1)
    run = expense.gate("deductions/prefix")

    assert (run.code, run.verdict) == (11, "HOLD")
    assert "the graders can't be trusted: reference must pass D-0001, but it is failed" in run.last


def test_the_folder_means_the_candidates(expense):
    run = expense.run("--release-gate=outputs/deductions")

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert "snapshots: postfix, prefix\n" in run.out
    assert "112" in run.out  # 2 × 54 outputs, 3 trust gates and the judge


def test_with_workers_too(expense):
    assert expense.gate("deductions/postfix", "-n2").last == expense.gate("deductions/postfix").last


def test_it_needs_no_python_of_its_own():
    for top in ("cases", "outputs", "policy"):
        assert not list((ROOT / top / "deductions").rglob("*.py"))
