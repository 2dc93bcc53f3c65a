"""Third-party runs with published figures: `tests/data/real-runs/README.md` says whose they are."""

from __future__ import annotations

import json
import shutil

import pytest

from pytest_release_gate import conclude, grade_all, load
from pytest_release_gate.checks.tools import tool_calls_match
from pytest_release_gate.metrics import pass_at, pass_hat

from build import case, output
from story import ROOT

DATA = ROOT / "tests/data/real-runs"
POLICY = """\
[suite]
name = "real"
cases = "cases.jsonl"
case_schema = "schema.json"
output_schema = "schema.json"
[evidence]
trials = {trials}
{checks}
[[rules]]
metric = "pass_rate"
at_least = 0
otherwise = "REVIEW"
"""
DECISION = '[[checks]]\nname = "decision_exact"\n'


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").split("\n") if line]


def report(at, cases: str, outputs: str, checks: str = DECISION, trials: int = 1):
    (at / "gate.toml").write_text(POLICY.format(checks=checks, trials=trials), "utf-8")
    (at / "schema.json").write_text('{"type": "object", "required": ["case_id"]}', "utf-8")
    shutil.copyfile(DATA / cases, at / "cases.jsonl")
    suite = load(at / "gate.toml", [DATA / outputs], root=at)
    return conclude(suite, grade_all(suite)).reports[0]


def test_tau_bench_gives_the_published_row(tmp_path):
    found = report(tmp_path, "tau-bench-cases.jsonl", "tau-bench-outputs.jsonl", trials=4).metrics

    assert [round(float(found[f"pass_hat_{k}"].value), 3) for k in (1, 2, 3, 4)] == [0.420, 0.273, 0.220, 0.200]
    assert [round(float(found[f"pass_at_{k}"].value), 4) for k in (1, 2, 3, 4)] == [0.42, 0.5667, 0.66, 0.72]
    assert (found["passed"].value, found["total"].value) == (84, 200)
    assert found["mean_pass_rate"].value == found["pass_hat_1"].value
    assert found["pass_hat_4"].n == 50


@pytest.mark.parametrize(("agent", "any_order", "in_order"), [("gpt41", 18, 10), ("ft", 30, 13)])
def test_tau2_calls_in_any_order_and_in_order(tmp_path, agent, any_order, in_order):
    files = f"tau2-{agent}-cases.jsonl", f"tau2-{agent}-outputs.jsonl"
    calls = '[[checks]]\nname = "tool_calls_match"\n'

    assert report(tmp_path, *files).metrics["passed"].value == any_order
    assert report(tmp_path, *files, calls).metrics["passed"].value == any_order
    assert report(tmp_path, *files, calls + 'order = "same"\n').metrics["passed"].value == in_order


@pytest.mark.parametrize(
    ("agent", "passed"),
    [
        ("claude-3-5-sonnet-20240620", 77),
        ("claude-3-5-sonnet-20241022", 77),
        ("gpt-4o-2024-05-13-transformers_pi_detector", 40),
    ],
)
def test_agentdojo_utility(tmp_path, agent, passed):
    found = report(tmp_path, "agentdojo-cases.jsonl", f"agentdojo-{agent}.jsonl")

    assert (found.metrics["passed"].value, found.metrics["total"].value) == (passed, 97)
    # Cost was never recorded: unknown, not zero.
    assert found.metrics["mean_cost_usd"].value is None


@pytest.mark.parametrize("row", rows("pass_k_vectors.jsonl"), ids=lambda row: f"{row['n']}-{row['c']}-{row['k']}")
def test_pass_k_row_by_row(row):
    for name, estimate in (("pass_hat_k", pass_hat), ("pass_at_k", pass_at)):
        if name not in row:  # three rows of the source's own tests give pass^k alone
            continue
        value = estimate(row["c"], row["n"], row["k"])

        assert (value is None) == (row[name] is None)
        if value is not None:
            assert float(value) == pytest.approx(row[name], abs=1e-12)


CONTRACTS = {
    "subset_any": {},
    "subset_any_noextra": {"others": "refused"},
    "subset_ordered": {"order": "same"},
    "exact_any_noextra": {"arguments": "exact", "others": "refused"},
    "exact_ordered": {"arguments": "exact", "others": "refused", "order": "same"},
}


@pytest.mark.parametrize("row", rows("tool_call_vectors.jsonl"), ids=lambda row: row["id"])
def test_tool_calls_row_by_row(row):
    one, made = case(expected={"tool_calls": row["expected"]}), output(record={"tool_calls": row["actual"]})
    found = {name: not list(tool_calls_match(one, made, **how)) for name, how in CONTRACTS.items()}

    assert found == row["contract"]
