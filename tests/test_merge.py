"""Parts of a run come to what the whole run comes to, byte for byte; what is no such part is held, by its name."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_release_gate import reporters
from pytest_release_gate.cli import main
from pytest_release_gate.errors import SuiteError
from pytest_release_gate.merge import merge
from pytest_release_gate.model import EXIT_CODES, CheckResult, Status, Verdict
from pytest_release_gate.pipeline import at_least_hold, conclude, grade_all, grade_outputs, load, outputs_of

from story import ROOT, Project

SUITES = {
    "expense": ("policy/gate.toml", "outputs/*.jsonl"),
    "operations": ("policy/operations/gate.toml", "outputs/operations/*.jsonl"),
    "deductions": ("policy/deductions/gate.toml", "outputs/deductions/p*.jsonl"),
}
SAYS_PASS = re.compile(rb'": "PASS"|: PASS\n|PASS \|')


def written(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def node_ids(project: Project, *options: str) -> list[str]:
    run = project.run("--collect-only", "-q", *options)
    return [line for line in run.stdout.splitlines() if "::" in line]


def judged(project: Project, name: str, *args: str) -> str:
    """A session's results in a folder of this name, and how it ended."""
    run = project.run(*args, f"--release-gate-results={name}")
    assert run.verdict, run.out
    return name


def merged(project: Project, capsys, monkeypatch, *args: str) -> tuple[int, str]:
    """The exit code of `merge`, and the last line that it prints."""
    monkeypatch.chdir(project.at)
    code = main(["merge", *args])
    out = capsys.readouterr().out
    return code, out.splitlines()[-1] if out else ""


STORIES = {
    "expense": ["--release-gate=outputs"],
    "operations": ["--release-gate=outputs/operations"],
    "deductions": ["--release-gate=outputs/deductions"],
    "one snapshot that passes": ["--release-gate=outputs/candidate-v3.jsonl"],
    "several suites": [
        "--release-gate=outputs/operations",
        "--release-gate=outputs",
        "--release-gate=outputs/deductions",
    ],
    "another policy": ["--release-gate=outputs/candidate-v2.jsonl", "--release-gate-policy=elsewhere.toml"],
}


@pytest.mark.parametrize("options", STORIES.values(), ids=STORIES.keys())
def test_parts_come_to_what_the_whole_run_comes_to(expense, capsys, monkeypatch, options):
    text = expense.path("policy/gate.toml").read_text("utf-8")
    expense.write("elsewhere.toml", text.replace("../", "").replace('"POLICY.md"', '"policy/POLICY.md"'))
    whole = expense.run(*options, "--release-gate-results=whole")
    expected = written(expense.path("whole"))
    assert whole.code in EXIT_CODES.values()
    ids = node_ids(expense, *options)
    for count in (2, 3) if len(options) == 1 else (3,):
        parts = [judged(expense, f"p{count}-{n}", *options, *ids[n::count]) for n in range(count)]
        assert all(written(expense.path(part)) != expected for part in parts)
        for order in (parts, parts[::-1], parts[1:] + parts[:1]):
            names = [f"{part}/evidence.json" for part in order]
            found = merged(expense, capsys, monkeypatch, *names, "--results=merged")

            assert found == (whole.code, whole.last)
            assert written(expense.path("merged")) == expected
        assert merged(expense, capsys, monkeypatch, *parts, "--regrade") == (whole.code, whole.last)


def test_parts_of_parts(expense, capsys, monkeypatch):
    options = ["--release-gate=outputs/candidate-v3.jsonl"]
    parts = [judged(expense, f"p{n}", *options, "-k", words) for n, words in enumerate(("ER-001", "ER-002", "not 001"))]
    whole = expense.run(*options, "-k", "ER-001 or ER-002", "--release-gate-results=whole")

    two = merged(expense, capsys, monkeypatch, *parts[:2], "--results=merged")
    assert two == (whole.code, whole.last) == (11, whole.last)
    assert written(expense.path("merged")) == written(expense.path("whole"))
    rest = judged(expense, "rest", *options, "-k", "not ER-001 and not ER-002")
    assert merged(expense, capsys, monkeypatch, rest, "merged")[0] == 0
    assert merged(expense, capsys, monkeypatch, *parts)[0] == 11


def test_missing_outputs_are_counted_and_named(expense, capsys, monkeypatch):
    part = judged(expense, "part", "--release-gate=outputs/candidate-v3.jsonl", "-k", "not ER-004 and not ER-011")
    monkeypatch.chdir(expense.at)

    assert main(["merge", part, "--results=merged"]) == 11
    out = capsys.readouterr().out
    assert "2 outputs are in no part: ER-004[candidate-v3], ER-011[candidate-v3]; merge the parts" in out
    assert out.splitlines()[-1].startswith("release gate: HOLD: candidate-v3: only 10 of 12 outputs were judged")


OWN = """
import pytest
def polite(case, output, *, least):
    yield Measure(name="words", value=1, of=2)
    if case.id == "ER-004" and least:
        yield "the message is rude\\nvery"
from pytest_release_gate import Measure
polite.measures = ("words",)
def pytest_release_gate_checks():
    return {"polite": polite}
"""
OWN_RULES = """[[checks]]
name = "tone"
uses = "polite"
least = LEAST

[[trust]]
snapshot = "../outputs/candidate-v3.jsonl"
must = "pass"

[[rules]]
metric = "words"
at_least = 12
otherwise = "REVIEW"

[[rules]]"""


@pytest.mark.parametrize(("least", "verdict"), [(0, "REVIEW"), (1, "HOLD")])
def test_checks_of_the_suites_own(expense, capsys, monkeypatch, least, verdict):
    expense.write("conftest.py", OWN)
    expense.replace("policy/gate.toml", "[[rules]]", OWN_RULES.replace("LEAST", str(least)), 1)
    options = ["--release-gate=outputs/candidate-v2.jsonl"]
    whole = expense.run(*options, "--release-gate-results=whole")
    parts = [judged(expense, f"p{n}", *options, "-k", word) for n, word in enumerate(("ER-004", "not ER-004"))]

    assert whole.verdict == verdict
    assert merged(expense, capsys, monkeypatch, *parts, "--results=merged") == (whole.code, whole.last)
    assert written(expense.path("merged")) == written(expense.path("whole"))
    code, last = merged(expense, capsys, monkeypatch, *parts, "--regrade")
    assert code == 11
    assert 'the check "polite" is known only to a session of pytest; regrade with pytest --release-gate' in last


# name: what a conftest does while a part is judged, arguments, words in the verdict
DOUBTS = {
    "interrupted": (
        "def pytest_runtest_logfinish(nodeid):\n    if 'ER-002' in nodeid: raise KeyboardInterrupt", [], "interrupted"
    ),
    "a worker is lost": (
        "import os, signal\ndef pytest_runtest_teardown(item):\n"
        "    'ER-002' in item.nodeid and os.kill(os.getpid(), signal.SIGKILL)",
        ["-n1"], "a worker was lost",
    ),
    "an internal error": (
        "def pytest_runtest_logfinish(nodeid):\n    if 'ER-002' in nodeid: raise ValueError", [], "internal error"
    ),
    "a teardown fails": (
        "def pytest_runtest_teardown(item):\n    if 'ER-002' in item.nodeid: raise ValueError", [], "the teardown of"
    ),
    "a hook of ours breaks": (
        "def pytest_release_gate_concluded(report):\n    raise ValueError('no')", [], "raised ValueError: no"
    ),
    "the end breaks": ("def pytest_sessionfinish(session):\n    raise ValueError", [], "broke the end of the session"),
}  # fmt: skip


@pytest.mark.parametrize(("conftest", "args", "words"), DOUBTS.values(), ids=DOUBTS.keys())
def test_doubts_of_a_part_are_doubts_of_the_whole(expense, capsys, monkeypatch, conftest, args, words):
    options = ["--release-gate=outputs/candidate-v3.jsonl"]
    expense.write("conftest.py", conftest + "\n")
    expense.run(*options, "-k", "ER-001 or ER-002", *args, "--release-gate-results=odd")
    expense.write("conftest.py", "")
    doubts = json.loads(expense.path("odd/evidence.json").read_text("utf-8"))["doubts"]
    seen = json.loads(expense.path("odd/evidence.json").read_text("utf-8"))["snapshots"][0]["results"]
    rest = " and ".join(f"not {one['case_id']}" for one in seen)
    judged(expense, "rest", *options, *(["-k", rest] if rest else []))
    code, last = merged(expense, capsys, monkeypatch, "odd", "rest", "--results=merged")

    assert any(words in doubt for doubt in doubts)
    assert code == 11
    assert last.startswith("release gate: HOLD: ")
    assert words in last
    assert "odd/evidence.json: " in last
    document = json.loads(expense.path("merged/evidence.json").read_text("utf-8"))
    assert document["decision"]["verdict"] == "HOLD"
    assert document["doubts"] == [f"odd/evidence.json: {doubt}" for doubt in doubts]
    assert document["snapshots"][0]["counts"]["missing"] == 0


def evidence(suite, keys, doubts=()) -> bytes:
    """The evidence of a session that judged these outputs."""
    conclusion = at_least_hold(conclude(suite, grade_outputs(suite, keys), doubts), doubts)
    return reporters.files_of(conclusion, [folder_of(suite)] * len(suite.snapshots))[reporters.EVIDENCE]


def folder_of(suite) -> str:
    folder = Path(suite.snapshots[0].source.path).parent.as_posix()
    return folder.removeprefix("outputs").removeprefix("/")


@cache
def shipped(name: str):
    policy, outputs = SUITES[name]
    suite = load(ROOT / policy, sorted(ROOT.glob(outputs)), root=ROOT)
    conclusion = conclude(suite, grade_all(suite))
    return suite, reporters.files_of(conclusion, [folder_of(suite)] * len(suite.snapshots))


@pytest.mark.parametrize("name", SUITES)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_any_partition_comes_to_the_same(name, data):
    suite, expected = shipped(name)
    keys = outputs_of(suite)
    count = data.draw(st.integers(1, 4))
    of = data.draw(st.lists(st.integers(0, count - 1), min_size=len(keys), max_size=len(keys)))
    parts = [(f"{n}.json", evidence(suite, [k for k, p in zip(keys, of, strict=True) if p == n])) for n in range(count)]
    found = merge(data.draw(st.permutations(parts)), ROOT)

    assert reporters.files_of(found.conclusion, found.folders) == expected
    assert found.missing == []


@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_parts_that_are_no_partition_are_never_a_pass(data):
    suite = load(ROOT / "policy/gate.toml", [ROOT / "outputs/candidate-v3.jsonl"], root=ROOT)
    keys = outputs_of(suite)
    chosen = data.draw(st.lists(st.sets(st.sampled_from(keys)), min_size=1, max_size=3))
    once = sum(map(len, chosen)) == len(set().union(*chosen))
    parts = [(f"{n}.json", evidence(suite, sorted(one))) for n, one in enumerate(chosen)]
    if not once:
        with pytest.raises(SuiteError, match="overlaps"):
            merge(parts, ROOT)
        return
    verdict = merge(parts, ROOT).conclusion.decision.verdict
    assert (verdict is Verdict.PASS) == (set().union(*chosen) == set(keys))


@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_one_changed_byte_is_never_a_pass(at, byte):
    suite = load(ROOT / "policy/gate.toml", [ROOT / "outputs/candidate-v3.jsonl"], root=ROOT)
    keys = outputs_of(suite)
    data = bytearray(evidence(suite, keys[:6]))
    if data[at % len(data)] == byte:
        return
    data[at % len(data)] = byte
    with pytest.raises(SuiteError):
        merge([("a", bytes(data)), ("b", evidence(suite, keys[6:]))], ROOT)


def changed(**keys):
    return lambda document: {**document, **keys}


def snapshot(**keys):
    def change(document):
        document["snapshots"][0].update(keys)
        return document

    return change


def result(change):
    """A change of the first result of the part."""

    def whole(document):
        change(document["snapshots"][0]["results"][0])
        return document

    return whole


def first_check(**keys):
    return result(lambda entry: entry["checks"][0].update(keys))


TRUST = {"snapshot": "x", "passed": 1, "n": 1, "reasons": [], "metrics": []}
FINDING = {"message": "no", "severity": "major"}
# name: what becomes of the second of two parts, its document in and a document or bytes out; words of the sentence
FAULTS = {
    "no JSON": (lambda d: b"{", "ends in the middle of a value"),
    "empty": (lambda d: b"", "is empty"),
    "not UTF-8": (lambda d: b"\xff", "is not UTF-8"),
    "a list": (lambda d: b"[]", "expected a JSON object"),
    "deep": (lambda d: b'{"a":' * 5000 + b"1" + b"}" * 5000, "nested deeper"),
    "a duplicate key": (lambda d: b'{"state":"x",' + json.dumps(d).encode()[1:], "duplicate key 'state'"),
    "NaN": (lambda d: b'{"a": NaN}', "which is not JSON"),
    "somebody else's": (lambda d: {"version": "2.1.0", "runs": []}, "is no evidence of pytest-release-gate"),
    "another tool's": (changed(tool={"name": "other", "version": "1"}), "is no evidence of pytest-release-gate"),
    "another schema_version": (changed(schema_version=2), "(schema_version 2)"),
    "another version": (
        changed(tool={"name": "pytest-release-gate", "version": "9"}), 'is evidence of version "9"'
    ),
    "running": (changed(state="running"), 'is of a run that is "running", not concluded'),
    "refused": (changed(state="refused"), 'is of a run that is "refused", not concluded'),
    "no snapshots": (changed(snapshots=[]), "is about no snapshot at all"),
    "a key that is ours not": (changed(more=1), "'more'"),
    "a key that is missing": (lambda d: {k: v for k, v in d.items() if k != "doubts"}, "'doubts'"),
    "a status that is not known": (first_check(status="fine"), '"fine"'),
    "a text for a number": (result(lambda e: e.update(trial="0")), '"0"'),
    "another snapshot": (
        snapshot(source="outputs/candidate-v2.jsonl", label="candidate-v2"), "is a part of another run than a/evidence"
    ),
    "another policy": (snapshot(policy="policy/operations/gate.toml"), "is a part of another run than a/evidence.json"),
    "other checks of its own": (snapshot(own_checks={"polite": []}), "has other checks of its own"),
    "other trust": (
        snapshot(trust=[TRUST]), "or other trust in them"
    ),
    "other bytes": (
        lambda d: {**d, "digests": {**d["digests"], "policy/gate.toml": "sha256:" + "0" * 64}},
        'was made of other bytes of "policy/gate.toml" than there are here',
    ),
    "a file more": (
        lambda d: {**d, "digests": {**d["digests"], "x\x1b[31m": "sha256:" + "0" * 64}}, "was made of other bytes of"
    ),
    "an output that there is not": (
        result(lambda e: e.update(case_id="ER-999")), "ER-999[candidate-v3], but outputs/candidate-v3.jsonl has no such"
    ),
    "a trial that there is not": (result(lambda e: e.update(trial=7)), "has no such output"),
    "an output twice": (
        lambda d: (d["snapshots"][0]["results"].append(d["snapshots"][0]["results"][0]), d)[1], "twice"
    ),
    "a check that the policy does not know": (
        first_check(name="kindness"), 'names the check "kindness", which policy/gate.toml does not know'
    ),
    "a check less": (result(lambda e: e["checks"].pop()), "lacks the check"),
    "no check": (result(lambda e: e["checks"].clear()), "lacks the check"),
    "checks in another order": (result(lambda e: e["checks"].reverse()), "in another order, or twice"),
    "passed, with a finding": (first_check(findings=[FINDING]), "is passed, with 1 findings"),
    "failed, without one": (first_check(status="failed"), "is failed, with 0 findings"),
    "broken, with two": (first_check(status="error", findings=[FINDING] * 2), "is error, with 2 findings"),
    "another status": (first_check(status="skipped"), "is skipped, whatever its `when` says of this case"),
    "a number that is too large": (
        first_check(measures=[{"name": "m", "value": 10**400, "of": None}]), "holds what can't be concluded from"
    ),
    "another state": (result(lambda e: e.update(state="failed")), "is not what its results come to here"),
    "another title": (result(lambda e: e.update(title="x")), "is not what its results come to here"),
    "another latency": (result(lambda e: e.update(latency_ms=1)), "is not what its results come to here"),
    "an invented verdict": (
        changed(decision={"verdict": "PASS", "reasons": []}), "is not what its results come to here"
    ),
    "a doubt taken away, or put in": (changed(doubts=["x"]), "is not what its results come to here"),
    "a file that is not ours": (changed(files=["../../etc/passwd"]), "is not what its results come to here"),
    "the same, written otherwise": (lambda d: json.dumps(d).encode(), "is not what its results come to here"),
}  # fmt: skip


@pytest.fixture
def halves(expense):
    """Two parts of the good snapshot in folders a and b, and a results folder that says PASS, as of yesterday."""
    suite = load(expense.path("policy/gate.toml"), [expense.path("outputs/candidate-v3.jsonl")], root=expense.at)
    keys = outputs_of(suite)
    for name, mine in (("a", keys[:5]), ("b", keys[5:])):
        expense.path(name).mkdir()
        expense.path(f"{name}/evidence.json").write_bytes(evidence(suite, mine))
    yesterday = reporters.files_of(conclude(suite, grade_all(suite)), [""])
    expense.results.mkdir()
    for name, data in yesterday.items():
        expense.path(f"results/{name}").write_bytes(data)
    return expense


def assert_held(project, capsys, monkeypatch, words, *args):
    monkeypatch.chdir(project.at)
    code = main(["merge", *(args or ("a", "b")), "--results=results"])
    out = capsys.readouterr().out

    assert code == 11
    assert out.splitlines()[-1].startswith("release gate: HOLD: ")
    assert words in out.splitlines()[-1]
    assert "\x1b" not in out
    assert json.loads(project.path("results/evidence.json").read_text("utf-8"))["decision"]["verdict"] == "HOLD"
    assert [name for name, data in written(project.results).items() if SAYS_PASS.search(data)] == []


def test_the_halves_pass(halves, capsys, monkeypatch):
    code, last = merged(halves, capsys, monkeypatch, "a/evidence.json", "b", "--results=results")

    assert (code, last) == (0, "release gate: PASS: every output was judged and every rule holds")


@pytest.mark.parametrize(("change", "words"), FAULTS.values(), ids=FAULTS.keys())
def test_what_is_no_part_is_held(halves, capsys, monkeypatch, change, words):
    path = halves.path("b/evidence.json")
    new = change(json.loads(path.read_bytes()))
    path.write_bytes(new if isinstance(new, bytes) else reporters.results.encode(reporters.results.dumps(new)))

    assert_held(halves, capsys, monkeypatch, words)
    assert_held(halves, capsys, monkeypatch, "release gate: HOLD: b/evidence.json:")


def both(change):
    """The same change in both parts, so that they agree."""

    def do(project):
        for name in "ab":
            path = project.path(f"{name}/evidence.json")
            new = change(json.loads(path.read_bytes()))
            path.write_bytes(reporters.results.encode(reporters.results.dumps(new)))

    return do


# name: what becomes of the checkout and of both parts; words
ELSEWHERE = {
    "an output changed": (
        lambda p: p.replace("outputs/candidate-v3.jsonl", '"cost_usd":0.0', '"cost_usd":0.00'), "made of other bytes"
    ),
    "the policy changed": (
        lambda p: p.replace("policy/gate.toml", "at_least = ", "at_least =  "), 'other bytes of "policy/gate.toml"'
    ),
    "the document changed": (lambda p: p.write("policy/POLICY.md", "x\n"), 'other bytes of "policy/POLICY.md"'),
    "a sidecar gone": (lambda p: p.path("outputs/candidate-v3.meta.json").unlink(), 'bytes of "outputs/candidate-v3'),
    "an output gone": (lambda p: p.path("outputs/candidate-v3.jsonl").unlink(), "can't be merged here"),
    "the policy gone": (lambda p: p.path("policy/gate.toml").unlink(), "can't be merged here"),
    "cases that can't be read": (lambda p: p.write("cases/cases.jsonl", "{\n"), "can't be merged here"),
    "an absolute path": (both(snapshot(policy="/etc/passwd")), "which is no path of a run's"),
    "a path with NUL": (both(snapshot(source="outputs/\0")), "which is no path of a run's"),
    "a pattern": (both(snapshot(source="outputs/*.jsonl")), "other bytes"),
    "a folder": (both(snapshot(source="outputs")), "other bytes"),
    "a device": (both(snapshot(policy="../../../../../../../../dev/zero")), "can't be merged here"),
    "its own check, but built in": (both(snapshot(own_checks={"equals": []})), "two checks are called 'equals'"),
    "its own check, but unused": (both(snapshot(own_checks={"polite": []})), "is not what its results come to"),
    "trust that nobody asked for": (
        both(snapshot(trust=[TRUST])), "is not what its results come to"
    ),
    "another label": (both(snapshot(label="../x")), "is not what its results come to"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_parts_of_what_is_not_here_are_held(halves, capsys, monkeypatch, change, words):
    change(halves)

    assert_held(halves, capsys, monkeypatch, words)
    assert sorted(path.name for path in halves.at.parent.iterdir()) == ["project"]


@pytest.mark.parametrize("parts", [("a", "b", "a"), ("a", "b", "c")])
def test_an_output_in_two_parts_is_held(halves, capsys, monkeypatch, parts):
    halves.path("c").mkdir()
    halves.path("c/evidence.json").write_bytes(halves.path("a/evidence.json").read_bytes())

    assert_held(halves, capsys, monkeypatch, "overlaps a/evidence.json: 5 outputs are in both, ER-001[", *parts)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], ""),
        (["a", "gone.json"], "gone.json: can't be read"),
        (["a", "policy"], "policy/evidence.json: can't be read"),
        (["results"], "results holds a part"),
        (["a", "b", "--root=gone"], "gone is no folder"),
        (["a", "b", "--nothing"], ""),
    ],
    ids=str,
)
def test_what_can_not_be_used_is_a_usage_error(halves, capsys, monkeypatch, args, words):
    monkeypatch.chdir(halves.at)
    before = written(halves.results)

    assert main(["merge", *args, "--results=results"]) == 4
    assert words in capsys.readouterr().err
    if "gone.json" in args:
        assert json.loads(halves.path("results/evidence.json").read_text("utf-8"))["state"] == "refused"
        assert not halves.path("results/candidate-v3.json").exists()
    elif "results" in args:
        assert written(halves.results) == before


def test_a_results_folder_that_can_not_be_used(halves, capsys, monkeypatch):
    monkeypatch.chdir(halves.at)
    halves.write("blocked", "")

    assert main(["merge", "a", "b", "--results=blocked"]) == 4
    assert "the results folder" in capsys.readouterr().err
    halves.path("new/summary.json").mkdir(parents=True)
    assert main(["merge", "a", "b", "--results=new"]) in (4, 11)
    assert not halves.path("new/candidate-v3.json").exists()


def test_from_another_folder(halves, capsys, monkeypatch):
    monkeypatch.chdir(halves.at.parent)

    assert main(["merge", "project/a", "project/b", "--root=project"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("release gate: PASS")


def test_a_part_that_was_forged_with_care_is_found_by_regrading(expense, capsys, monkeypatch):
    """Evidence is not signed: who makes a failure a pass everywhere in it can be told from the files alone."""
    suite = load(expense.path("policy/gate.toml"), [expense.path("outputs/baseline-v1.jsonl")], root=expense.at)
    forged = [
        replace(r, checks=tuple(CheckResult(name=c.name, status=Status.PASSED, measures=c.measures) for c in r.checks))
        for r in grade_all(suite)
    ]
    data = reporters.files_of(conclude(suite, forged), [""])[reporters.EVIDENCE]
    expense.path("forged.json").write_bytes(data)

    assert merged(expense, capsys, monkeypatch, "forged.json")[0] == 0
    code, last = merged(expense, capsys, monkeypatch, "forged.json", "--regrade")
    assert code == 11
    assert "forged.json: says otherwise of 4 outputs than the checks do here, ER-004[baseline-v1], ER-005" in last


def test_nothing_to_merge(expense):
    with pytest.raises(SuiteError, match="there is no part to merge"):
        merge([], expense.at)


def polite(case, output, *, least):
    return ()


def test_own_checks_are_never_judged_by_what_keeps_their_place(expense):
    expense.replace("policy/gate.toml", "[[rules]]", OWN_RULES.replace("LEAST", "0").replace("words", "passed"), 1)
    policy, outputs = expense.path("policy/gate.toml"), [expense.path("outputs/candidate-v2.jsonl")]
    suite = load(policy, outputs, checks={"polite": polite}, root=expense.at)
    document = json.loads(evidence(suite, outputs_of(suite)))
    assert merge([("a", evidence(suite, outputs_of(suite)))], expense.at).conclusion == conclude(
        suite, grade_all(suite)
    )

    def said(**keys):
        document["snapshots"][0].update(keys)
        data = reporters.results.encode(reporters.results.dumps(document))
        with pytest.raises(SuiteError) as caught:
            merge([("a", data)], expense.at)
        return str(caught.value)

    assert "is not what its results come to here" in said(
        trust=[{**document["snapshots"][0]["trust"][0], "reasons": ["no"]}]
    )
    assert "has other trust gates than the parts" in said(trust=[])
    assert "no check is called 'polite'" in said(own_checks={})
