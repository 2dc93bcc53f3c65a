"""What the test explorer of VS Code shows: where cases stand, what a part of them says, what bad evidence spares."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from story import Project, Run

HERE = str(Path(__file__).parent)
SUITES = {
    "cases/cases.jsonl": "outputs/candidate-v3.jsonl",
    "cases/operations/cases.jsonl": "outputs/operations/clean.jsonl",
    "cases/deductions/cases.jsonl": "outputs/deductions/postfix.jsonl",
}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What an explorer has after a process of pytest."""

    run: Run
    # Ids with where they stand, by file, in the order of the tree.
    tree: dict[str, list[dict[str, Any]]]
    errors: dict[str, str]
    results: dict[str, list[str]]
    status: str

    @property
    def ids(self) -> list[str]:
        return [one["id"] for found in self.tree.values() for one in found]


def explore(project: Project, *args: str) -> Seen:
    log = project.path("explorer.json")
    log.unlink(missing_ok=True)
    run = project.run("-p", "explorer", *args, env={"PYTHONPATH": HERE, "EXPLORER_LOG": str(log)})
    said = json.loads(log.read_text("utf-8"))

    def shown(path: str) -> str:
        return Path(path).relative_to(project.at).as_posix()

    tree: dict[str, list[dict[str, Any]]] = {}
    for one in said["tree"]:
        tree.setdefault(shown(one["under"]), []).append(one)
    return Seen(
        run=run,
        tree=tree,
        errors={shown(path): text for path, text in said["errors"].items()},
        results=said["results"],
        status=said["status"],
    )


def discover(project: Project, *gate: str) -> Seen:
    return explore(project, "--collect-only", ".", *gate)


@pytest.fixture
def own(expense: Project) -> Project:
    """The shipped suites beside a test of the project's own."""
    expense.write("tests/test_own.py", "def test_own():\n    pass\n")
    return expense


def test_every_case_of_the_shipped_suites_stands_under_its_file_at_its_line(own):
    seen = discover(own, *(f"--release-gate={path}" for path in SUITES.values()))

    assert set(seen.tree) == {*SUITES, "tests/test_own.py"}
    assert (seen.errors, seen.run.code, seen.run.verdict) == ({}, 0, None)
    for cases in SUITES:
        lines = own.path(cases).read_text("utf-8").split("\n")
        places = {json.loads(line)["case_id"]: number for number, line in enumerate(lines, 1) if line.strip()}
        shown = {
            (one["name"].partition("[")[0], one["line"])
            for one in seen.tree[cases]
            if not one["name"].startswith("trust-")
        }
        assert shown == set(places.items())
        assert all(one["line"] == 1 for one in seen.tree[cases] if one["name"].startswith("trust-"))


def test_trials_and_snapshots_are_items_of_their_own(own):
    seen = discover(own, "--release-gate=outputs/deductions/postfix.jsonl", "--release-gate=outputs")

    names = [one["name"] for one in seen.tree["cases/deductions/cases.jsonl"]]
    for trial in range(3):
        assert sum(name.endswith(f"[postfix-t{trial}]") for name in names) == 18
    assert len(seen.tree["cases/cases.jsonl"]) == 36
    assert len(set(seen.ids)) == len(seen.ids)


def test_what_is_shown_is_what_is_run(own):
    gate = "--release-gate=outputs/candidate-v3.jsonl"
    seen = discover(own, gate)
    ids = [one["id"] for one in seen.tree["cases/cases.jsonl"]]

    for chosen in (ids[:1], ids[3:6], ids):
        after = explore(own, gate, *chosen)
        assert sorted(after.results) == sorted(one.partition("::")[2] for one in chosen)
        assert {outcome for outcome, _ in after.results.values()} == {"passed"}
        assert after.status == "success"
        if chosen == ids:
            assert (after.run.code, after.run.verdict) == (0, "PASS")
            continue
        assert (after.run.code, after.run.verdict) == (11, "HOLD")
        assert after.run.last == (
            f"release gate: HOLD: candidate-v3: only {len(chosen)} of 12 outputs were judged; "
            "a part of the evidence decides nothing: run them all"
        )


def test_items_and_tests_chosen_together_run_together(own):
    gate = "--release-gate=outputs/candidate-v3.jsonl"
    after = explore(own, gate, *discover(own, gate).ids)

    assert len(after.results) == 13
    assert (after.run.code, after.run.verdict) == (0, "PASS")


def test_trust_items_are_chosen_like_others(own):
    gate = "--release-gate=outputs/deductions/postfix.jsonl"
    chosen = [one["id"] for one in discover(own, gate).tree["cases/deductions/cases.jsonl"] if "::trust-" in one["id"]]
    after = explore(own, gate, *chosen)

    assert chosen
    assert {outcome for outcome, _ in after.results.values()} == {"passed"}
    assert (after.status, after.run.code, after.run.verdict) == ("success", 11, "HOLD")


def test_a_failure_has_its_reasons_and_a_place_to_jump_to(own):
    gate = "--release-gate=outputs/candidate-v2.jsonl"
    after = explore(own, gate, str(own.path("cases/cases.jsonl")) + "::ER-007[candidate-v2]")
    ((outcome, text),) = after.results.values()

    assert (outcome, after.status, after.run.code) == ("failed", "success", 11)
    assert text.split("\n") == [
        "ER-007 Approval must cite the current policy (major) in candidate-v2",
        '  required_citations_present: missing required citations: ["ER-2026.09 §6.1"]',
        '      the output cites ["ER-2026.08 §6.1", "ER-2026.09 §7.1"]',
        "  cases/cases.jsonl:7",
        "  outputs/candidate-v2.jsonl:7",
    ]


@pytest.mark.parametrize("args", [("-x",), ("-n2",), ("--maxfail=1",)], ids=" ".join)
def test_the_status_that_it_is_given_is_one_that_it_knows(own, args):
    """The gate's own codes, 10 to 12, come out of the process and nowhere before."""
    after = explore(own, "--release-gate=outputs/baseline-v1.jsonl", *args)

    assert after.run.code in (11, 12)
    assert after.status in ("success", "error")


def test_bad_evidence_is_an_error_on_its_file_and_leaves_the_tree_alone(own):
    own.replace("outputs/candidate-v3.jsonl", '"ER-005"', '"ER-055"', 1)
    gate = ("--release-gate=outputs/candidate-v3.jsonl", "--release-gate=outputs/operations/clean.jsonl")
    seen = discover(own, *gate)

    assert set(seen.tree) == {"cases/operations/cases.jsonl", "tests/test_own.py"}
    assert set(seen.errors) == {"cases/cases.jsonl"}
    assert "outputs/candidate-v3.jsonl:5" in seen.errors["cases/cases.jsonl"]
    ordinary = seen.tree["tests/test_own.py"][0]["id"]
    after = explore(own, *gate, ordinary)
    assert after.results == {"test_own": ["passed", ""]}
    assert after.run.verdict == "HOLD"
