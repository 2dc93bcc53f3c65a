"""What is written: the known bytes, strict JSON, all or nothing, and never yesterday's PASS."""

from __future__ import annotations

import json
import os
import stat
from importlib import resources

import jsonschema
import pytest

from pytest_release_gate import files
from pytest_release_gate.errors import ResultsError

from story import ROOT, Project

KNOWN = ROOT / "tests/data/expense-results"


def strict(text: str):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_results_have_the_known_bytes(expense):
    run = expense.run("--release-gate=outputs", "--release-gate-results=results")
    written = run.files()

    for path in KNOWN.iterdir():
        assert written[path.name] == path.read_bytes(), path.name
    extra = ["RELEASE_REPORT.md", "digest.md", "evidence.json"]
    assert sorted(written) == sorted([*(path.name for path in KNOWN.iterdir()), *extra])
    assert json.loads(written["evidence.json"])["files"] == sorted(written)


def test_evidence_keeps_to_its_schema(expense):
    schema = json.loads(resources.files("pytest_release_gate").joinpath("evidence.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)

    whole = expense.run("--release-gate=outputs", "--release-gate-results=results").evidence()
    part = expense.gate_results("candidate-v3", "-k", "ER-001").evidence()
    expense.write("outputs/candidate-v3.jsonl", "{\n")
    refused = expense.gate_results("candidate-v3").evidence()

    for document in (whole, part, refused):
        validator.validate(document)
        assert document["production_approved"] is False
    assert [one["state"] for one in (whole, part, refused)] == ["concluded", "concluded", "refused"]
    assert [one["decision"]["verdict"] for one in (whole, part, refused)] == ["BLOCK", "HOLD", "HOLD"]


def test_evidence_has_digests_of_all_that_was_read(expense):
    document = expense.gate_results("candidate-v3").evidence()

    assert sorted(document["digests"]) == [
        "cases/case.schema.json",
        "cases/cases.jsonl",
        "cases/output.schema.json",
        "outputs/candidate-v3.jsonl",
        "outputs/candidate-v3.meta.json",
        "policy/POLICY.md",
        "policy/gate.toml",
    ]
    before = document["digests"]["policy/POLICY.md"]
    expense.write("policy/POLICY.md", "changed\n")
    assert expense.gate_results("candidate-v3").evidence()["digests"]["policy/POLICY.md"] != before


def test_metrics_in_the_evidence_have_value_n_and_unit(expense):
    metrics = expense.gate_results("candidate-v2").evidence()["snapshots"][0]["metrics"]

    assert metrics["p95_latency_ms"] == {"value": 5200, "n": 12, "unit": "ms", "provenance": "simulated"}
    assert metrics["mean_cost_usd"] == {"value": 0.0125, "n": 12, "unit": "USD", "provenance": "simulated"}
    assert metrics["pass_rate"]["value"] == pytest.approx(11 / 12)


def test_the_report_compares_snapshots_and_lists_reasons(expense):
    expense.run("--release-gate=outputs", "--release-gate-results=results")
    text = (expense.results / "RELEASE_REPORT.md").read_text("utf-8")

    assert text.startswith("# Release gate: BLOCK\n")
    assert "| snapshot | cases passed | pass rate | critical failures | p95 latency | mean cost | gate |" in text
    row = "| candidate-v2 | 11/12 | 0.9167 (n=12) | 0 (n=12) | 5200 ms simulated (n=12) | 0.0125 USD simulated (n=12) |"
    assert f"{row} REVIEW |" in text
    assert "- critical failures 2 &gt; 0 \\(n\\=12\\)" in text
    assert "ER-011 Manager approval missing above threshold (major, failed)" in text


def test_same_input_same_bytes(expense):
    def written(*args, **more):
        return expense.run("--release-gate=outputs", "--release-gate-results=results", *args, **more).files()

    first = written(env={"PYTHONHASHSEED": "1"})
    assert first == written(env={"PYTHONHASHSEED": "2", "LC_ALL": "C"})
    assert first == written("-n2")
    assert first == written("--reruns=1")


def test_the_order_of_lines_changes_nothing_but_the_digest(expense):
    first = expense.gate_results("candidate-v2").files()
    records = expense.records("outputs/candidate-v2.jsonl")
    lines = expense.path("outputs/candidate-v2.jsonl").read_text("utf-8").splitlines()
    expense.write("outputs/candidate-v2.jsonl", "".join(line + "\n" for line in reversed(lines)))
    second = expense.gate_results("candidate-v2").files()

    assert len(records) == 12
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} == {"evidence.json"}


def test_without_a_folder_nothing_is_written(expense):
    before = sorted(expense.at.rglob("*"))
    expense.gate("candidate-v3")

    assert sorted(expense.at.rglob("*")) == before


def test_the_evidence_says_hold_from_the_start_on(expense):
    expense.gate_results("candidate-v3")
    expense.write("conftest.py", "import os\ndef pytest_runtest_call(item): os._exit(0)\n")
    run = expense.gate_results("candidate-v3")

    assert run.code == 0  # nobody can prevent that: the process is gone
    assert (run.evidence()["state"], run.evidence()["decision"]["verdict"]) == ("running", "HOLD")
    assert not any(b"PASS" in content for content in run.files().values())
    assert sorted(run.files()) == ["RELEASE_REPORT.md", "evidence.json"]


@pytest.mark.parametrize("spoil", ["{\n", ""], ids=["torn", "empty"])
def test_a_refusal_leaves_no_old_pass(expense, spoil):
    assert expense.gate_results("candidate-v3").verdict == "PASS"
    expense.write("outputs/candidate-v3.jsonl", spoil)
    run = expense.gate_results("candidate-v3")

    assert (run.code, run.verdict) == (2, "HOLD")
    assert not any(b"PASS" in content for content in run.files().values())


def test_a_usage_error_leaves_no_old_pass(expense):
    assert expense.gate_results("candidate-v3").verdict == "PASS"
    expense.replace("policy/gate.toml", "critical_failures", "critical_failure")
    run = expense.gate_results("candidate-v3")

    assert run.code == 4
    assert "no metric is called 'critical_failure', did you mean 'critical_failures'?" in run.out
    assert not any(b"PASS" in content for content in run.files().values())


def test_an_old_pass_that_no_evidence_tells_of_goes_too(expense):
    for name in ("candidate-v3.json", "summary.json"):
        expense.write(f"results/{name}", '{"decision": "PASS"}')
    expense.write("results/RELEASE_REPORT.md", "# PASS")
    expense.write("outputs/candidate-v3.jsonl", "{\n")
    run = expense.gate_results("candidate-v3")

    assert not any(b"PASS" in content for content in run.files().values())


def test_files_of_others_in_the_folder_stay(expense):
    expense.write("results/mine.json", '{"decision": "PASS"}')
    expense.gate_results("candidate-v3")

    assert expense.path("results/mine.json").read_text("utf-8") == '{"decision": "PASS"}'


def test_a_blocked_folder_is_an_error_that_names_it(expense):
    expense.write("results", "a file")
    run = expense.gate_results("candidate-v3")

    assert run.code == 4
    assert "results" in run.out
    assert "can't be written" in run.out
    assert run.verdict is None


def test_a_folder_that_goes_away_while_running_holds(expense):
    expense.write(
        "conftest.py",
        "import shutil, pathlib\n"
        "def pytest_runtest_teardown(item, nextitem):\n"
        "    if nextitem is None:\n"
        "        shutil.rmtree('results'); pathlib.Path('results').write_text('taken')\n",
    )
    run = expense.gate_results("candidate-v3")

    assert (run.code, run.verdict) == (11, "HOLD")
    assert "can't be written" in run.last


@pytest.fixture
def place(tmp_path):
    return tmp_path / "results"


def test_all_or_nothing(place, monkeypatch):
    real = os.replace

    def fail_on_last(source, target):
        if str(target).endswith("last"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", fail_on_last)
    with pytest.raises(ResultsError, match="last can't be written: No space left on device"):
        files.write_all(place, {"first": b"1", "sub/second": b"2", "last": b"3"})

    assert [path for path in place.rglob("*") if path.is_file()] == []


def test_written_files_are_readable_by_others(place):
    files.write_atomically(place / "x", b"1")
    mask = os.umask(0)
    os.umask(mask)

    assert stat.S_IMODE((place / "x").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize(
    "evidence", ["", "[]", "{}", '{"files": 3}', '{"files": ["/etc/passwd", "../x", 3]}', "[" * 9999]
)
def test_strange_evidence_names_no_files(place, evidence):
    place.mkdir()
    (place / "evidence.json").write_text(evidence, "utf-8")

    assert files.earlier(place) == ["RELEASE_REPORT.md", "digest.md", "evidence.json", "summary.json"]


def test_what_can_not_be_removed_is_named(place):
    (place / "summary.json").mkdir(parents=True)
    with pytest.raises(ResultsError, match=r"summary\.json can't be removed"):
        files.remove(place, ["summary.json"])


def test_labels_are_escaped_in_file_names(expense: Project):
    expense.path("outputs/candidate-v3.jsonl").rename(expense.path("outputs/candidate v3.jsonl"))
    run = expense.run("--release-gate=outputs/candidate v3.jsonl", "--release-gate-results=results")

    assert run.verdict == "PASS"
    assert "candidate%20v3.json" in run.files()


@pytest.mark.parametrize("name", ["evidence", "summary", "Evidence"])
def test_labels_that_are_names_of_our_files_are_a_usage_error(expense, name):
    expense.path("outputs/candidate-v3.jsonl").rename(expense.path(f"outputs/{name}.jsonl"))

    assert expense.run(f"--release-gate=outputs/{name}.jsonl").code == 4
