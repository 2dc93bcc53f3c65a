"""The gate on the shipped suite, as a user meets it: each row is a command, what it prints and how it ends."""

from __future__ import annotations

import re

import pytest

from story import ROOT, Project

GOOD, REVIEWED, BAD = "candidate-v3", "candidate-v2", "baseline-v1"


@pytest.mark.parametrize(
    ("label", "counts", "last", "code"),
    [
        (GOOD, "12 passed", "release gate: PASS: every output was judged and every rule holds", 0),
        (
            REVIEWED,
            "1 failed, 11 passed",
            "release gate: REVIEW: candidate-v2: p95 latency 5200 ms > 2500 ms (n=12, simulated)",
            10,
        ),
        (
            BAD,
            "4 failed, 8 passed",
            "release gate: BLOCK: baseline-v1: critical failures 2 > 0 (n=12); "
            "baseline-v1: pass rate 0.6667 < 0.9000 (n=12)",
            12,
        ),
    ],
)
def test_one_snapshot(expense: Project, label, counts, last, code):
    run = expense.gate(label)

    assert (run.code, run.last) == (code, last)
    assert counts in run.out


def test_block_names_both_reasons(expense):
    run = expense.gate(BAD)

    assert "baseline-v1: BLOCK: critical failures 2 > 0 (n=12)" in run.out
    assert "baseline-v1: BLOCK: pass rate 0.6667 < 0.9000 (n=12)" in run.out


def test_a_folder_is_all_its_snapshots_and_the_worst_decides(expense):
    run = expense.run("--release-gate=outputs")

    assert run.code == 12
    assert "5 failed, 31 passed" in run.out
    rows = re.findall(r"(?m)^(\S+) +(\d+/12) .* (PASS|REVIEW|BLOCK)$", run.out)
    assert rows == [(BAD, "8/12", "BLOCK"), (REVIEWED, "11/12", "REVIEW"), (GOOD, "12/12", "PASS")]
    assert run.verdicts == ["BLOCK"]


@pytest.mark.parametrize(
    "paths",
    [
        ["--release-gate=outputs/candidate-*.jsonl"],
        ["--release-gate=outputs/candidate-v3.jsonl", "--release-gate=outputs/candidate-v2.jsonl"],
        ["--release-gate", "outputs/candidate-v2.jsonl", "--release-gate", "outputs/candidate-v[3].jsonl"],
    ],
)
def test_options_repeat_and_globs_work(expense, paths):
    run = expense.run(*paths)

    assert run.code == 10
    assert "1 failed, 23 passed" in run.out


@pytest.mark.parametrize(
    ("args", "judged"),
    [
        (["-k", "ER-001"], 1),
        (["-m", "critical"], 5),
        (["-m", "not minor"], 10),
        (["--deselect", "cases/cases.jsonl::ER-003[candidate-v3]"], 11),
        (["cases/cases.jsonl::ER-001[candidate-v3]"], 1),
        (["-k", "nothing_has_this_name"], 0),
    ],
)
def test_a_part_of_the_evidence_is_hold(expense, args, judged):
    run = expense.gate_results(GOOD, *args)

    assert (run.code, run.verdict) == (11, "HOLD")
    assert f"only {judged} of 12 outputs were judged" in run.last
    assert "run them all" in run.last
    assert run.evidence()["decision"]["verdict"] == "HOLD"
    assert run.evidence()["snapshots"][0]["counts"] == {"expected": 12, "seen": judged, "missing": 12 - judged}


def test_a_proven_critical_failure_blocks_a_part_too(expense):
    run = expense.gate(BAD, "-k", "ER-004")

    assert (run.code, run.verdict) == (12, "BLOCK")


def test_collect_only_decides_and_writes_nothing(expense):
    run = expense.gate_results(GOOD, "--collect-only", "-q")

    assert (run.code, run.verdict) == (0, None)
    ids = [line for line in run.out.splitlines() if "::" in line]
    assert ids == [f"cases/cases.jsonl::ER-{n:03}[candidate-v3]" for n in range(1, 13)]
    assert not expense.results.exists()


@pytest.mark.parametrize("quiet", [["-q"], ["-qq"], ["--no-summary"], ["-p", "no:terminal"], ["--no-header", "-q"]])
def test_the_decision_stands_at_the_very_end_whatever_else_is_quiet(expense, quiet):
    run = expense.gate(REVIEWED, *quiet)

    assert run.code == 10
    assert run.last == "release gate: REVIEW: candidate-v2: p95 latency 5200 ms > 2500 ms (n=12, simulated)"
    assert "snapshot" in run.out
    assert run.verdicts == ["REVIEW"]


def test_the_header_names_policy_case_count_and_snapshots(expense):
    run = expense.run("--release-gate=outputs")

    assert (
        "release gate policy: policy/gate.toml (12 cases); snapshots: baseline-v1, candidate-v2, candidate-v3"
        in run.out
    )


def test_a_failure_reads_as_what_was_expected_and_where_and_no_more(expense):
    run = expense.gate(REVIEWED, "--no-header")
    block = run.out.partition("= FAILURES =")[2].partition("= short test summary")[0].splitlines()

    assert block[1].strip("_") == " ER-007[candidate-v2] "
    assert block[2:-1] == [
        "ER-007 Approval must cite the current policy (major) in candidate-v2",
        '  required_citations_present: missing required citations: ["ER-2026.09 §6.1"]',
        '      the output cites ["ER-2026.08 §6.1", "ER-2026.09 §7.1"]',
        "  cases/cases.jsonl:7",
        "  outputs/candidate-v2.jsonl:7",
    ]


def test_wrong_arguments_name_the_path_where_the_best_match_fails(expense):
    expense.replace("outputs/candidate-v3.jsonl", '"amount_usd":640', '"amount_usd":64')
    run = expense.gate(GOOD)

    assert "required_args_subset: required tool arguments were not a recursive subset" in run.out
    assert "at $.amount_usd: expected 640 (integer), got 64 (integer)" in run.out
    assert "cases/cases.jsonl:11" in run.out
    assert "outputs/candidate-v3.jsonl:11" in run.out


def test_places_are_clickable_from_the_folder_in_which_pytest_runs(expense):
    run = expense.run("--release-gate=../outputs/candidate-v2.jsonl", cwd="policy")

    assert run.code == 10
    assert "  ../cases/cases.jsonl:7" in run.out
    assert "  ../outputs/candidate-v2.jsonl:7" in run.out


@pytest.mark.parametrize("label", [GOOD, REVIEWED, BAD])
def test_no_traceback_of_ours_is_ever_shown(expense, label):
    run = expense.gate(label, "-rA", "--tb=long", "--showlocals")

    assert "Traceback" not in run.out
    assert "pytest_release_gate/" not in run.out


@pytest.mark.parametrize("color", ["yes", "no"])
def test_the_decision_line_is_never_coloured(expense, color):
    run = expense.gate(BAD, f"--color={color}")

    assert run.last.startswith("release gate: BLOCK")
    assert ("\x1b[" in run.out) == (color == "yes")


def test_ini_values_stand_in_for_options(expense):
    expense.write(
        "pytest.ini",
        "[pytest]\nrelease_gate = outputs/candidate-v2.jsonl\nrelease_gate_policy = policy/gate.toml\n"
        "release_gate_results = results\n",
    )
    run = expense.run()

    assert (run.code, run.verdict) == (10, "REVIEW")
    assert run.evidence()["decision"]["verdict"] == "REVIEW"
    # and an option goes before
    assert expense.gate(GOOD).verdict == "PASS"


def test_without_a_path_only_gate_items_run_with_one_both_do(expense):
    expense.write("tests/test_own.py", "def test_own(): pass\n")

    assert "12 passed" in expense.gate(GOOD).out
    assert "13 passed" in expense.gate(GOOD, "tests").out
    assert "13 passed" in expense.gate(GOOD, ".").out
    chosen = expense.gate(GOOD, "tests/test_own.py::test_own")
    assert "1 passed" in chosen.out
    assert (chosen.code, chosen.verdict) == (11, "HOLD")


def test_an_ordinary_failure_beside_a_pass_is_pytests_own_code(expense):
    expense.write("test_own.py", "def test_own(): assert False\n")
    run = expense.gate(GOOD, "test_own.py")

    assert (run.code, run.verdict) == (1, "PASS")


def test_a_pass_with_a_failed_minor_case_exits_zero_and_the_item_reads_failed(expense):
    expense.replace("outputs/candidate-v3.jsonl", '"approve"', '"reject"', 1)
    run = expense.gate(GOOD)

    assert "1 failed, 11 passed" in run.out
    assert (run.code, run.verdict) == (0, "PASS")


def test_unquoted_globs_are_no_trap(expense):
    run = expense.run("--release-gate", "outputs/baseline-v1.jsonl", "outputs/candidate-v3.jsonl")

    assert run.code == 4
    assert "quote the glob" in run.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--release-gate=outputs/nothing.jsonl"], "outputs/nothing.jsonl: there is no such file or folder"),
        (["--release-gate=outputs/x*.jsonl"], "no snapshot matches this pattern"),
        (["--release-gate=policy"], "policy: there is no *.jsonl snapshot in this folder"),
        (["--release-gate=cases/cases.jsonl"], "lies in no folder called 'outputs'"),
        (["--release-gate=outputs", "--release-gate-policy=policy/nothing.toml"], "there is no such policy file"),
        (["--release-gate=outputs", "--release-gate-policy=cases/case.schema.json"], "is not TOML"),
    ],
)
def test_bad_options_are_a_usage_error_before_anything_is_collected(expense, args, words):
    run = expense.run(*args, "--release-gate-results=results")

    assert run.code == 4
    assert words in run.out
    assert run.verdict is None
    assert "Traceback" not in run.out
    assert run.evidence()["decision"]["verdict"] == "HOLD"
    assert run.evidence()["state"] == "refused"


def test_a_policy_by_option_judges_outputs_of_any_place(expense):
    expense.path("outputs").rename(expense.path("elsewhere"))
    run = expense.run("--release-gate=elsewhere/candidate-v3.jsonl", "--release-gate-policy=policy/gate.toml")

    assert (run.code, run.verdict) == (0, "PASS")


def test_one_file_named_twice_is_one_snapshot(expense):
    expense.path("outputs/link.jsonl").symlink_to("candidate-v3.jsonl")
    run = expense.run(
        "--release-gate=outputs/candidate-v3.jsonl", "--release-gate=./outputs/../outputs/candidate-v3.jsonl"
    )

    assert "12 passed" in run.out


def test_one_label_twice_is_a_usage_error(expense):
    expense.write("outputs/Candidate-V3.jsonl", "{}\n")

    run = expense.run("--release-gate=outputs")

    assert run.code == 4
    assert "has the same label as" in run.out


def test_a_project_of_its_own_runs_its_tests_and_knows_nothing_of_the_gate(expense):
    expense.write("pytest.ini", "[pytest]\nrelease_gate_results = results\n")
    expense.write("test_own.py", "def test_own(): pass\n")
    run = expense.run()

    assert run.code == 0
    assert "release gate" not in run.out
    assert not expense.results.exists()


def test_the_shipped_suite_says_that_it_is_synthetic():
    assert "synthetic" in (ROOT / "policy/POLICY.md").read_text("utf-8")
