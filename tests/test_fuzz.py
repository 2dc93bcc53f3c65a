"""Whatever happens to the bytes of a recorded run: no decision gets better unless the evidence in it did."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_release_gate import SuiteError, conclude, grade_all, load
from pytest_release_gate.jsonl import read_records
from pytest_release_gate.model import Conclusion, Verdict
from pytest_release_gate.reporters import files_of

from story import ROOT

BAD = {name: (ROOT / f"outputs/{name}.jsonl").read_bytes() for name in ("baseline-v1", "candidate-v2")}
# JSON as our files have it: no lone number that a double can't hold, any text, lone surrogates too.
TEXT = st.text(st.characters(), max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
RECORDS = st.lists(st.dictionaries(TEXT, VALUES, max_size=4), max_size=6)
SLOW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder for outputs."""
    return tmp_path_factory.mktemp("fuzz")


def judge(place, data: bytes, name: str = "baseline-v1", policy=ROOT / "policy/gate.toml") -> Conclusion | None:
    """The conclusion on these bytes; None: refused."""
    path = place / f"{name}.jsonl"
    path.write_bytes(data)
    try:
        suite = load(policy, [path], root=place)
    except SuiteError:
        return None
    return conclude(suite, grade_all(suite))


def written(conclusion: Conclusion) -> dict[str, bytes]:
    """Every results file but for the digests of what was read, and the lines at which things stood."""
    files = files_of(conclusion, ["" for _ in conclusion.reports])
    return {name: content for name, content in files.items() if name != "evidence.json"}


def records(data: bytes) -> list[dict]:
    problems: list = []
    return [record.value for record in read_records(data, "x", problems)] if not problems else []


@SLOW
@given(st.data())
@pytest.mark.parametrize("name", BAD)
def test_one_byte_never_makes_a_pass_of_the_same_evidence(place, name, data):
    original = BAD[name]
    at = data.draw(st.integers(0, len(original) - 1), label="at")
    how = data.draw(st.sampled_from(["replace", "insert", "remove"]), label="how")
    byte = data.draw(st.binary(min_size=1, max_size=1) | st.sampled_from([b"\n", b'"', b"0", b"}", b" "]), label="byte")
    changed = original[:at] + (b"" if how == "remove" else byte) + original[at + (how != "insert") :]
    conclusion = judge(place, changed, name)

    if conclusion is None:  # refused, which is no decision
        return
    assert all(len(report.results) == 12 for report in conclusion.reports)
    if records(changed) == records(original):
        assert written(conclusion) == written(judge(place, original, name))
    if conclusion.decision.verdict is Verdict.PASS:
        assert records(changed) != records(original)
        # The one thing between these files and a PASS that a single byte can mend is a recorded number.
        numbers = {"latency_ms", "cost_usd"}
        assert [
            {key for key in old if old[key] != new[key]} <= numbers
            for old, new in zip(records(original), records(changed), strict=True)
        ] == [True] * 12


def test_one_byte_in_every_place_of_one_record(place):
    """Every place of the record that makes candidate-v2 fall short, with each byte that JSON gives a meaning to."""
    lines = BAD["candidate-v2"].splitlines(keepends=True)
    line = next(i for i, text in enumerate(lines) if b"ER-011" in text)
    before = records(BAD["candidate-v2"])
    passed = []
    for at in range(0, len(lines[line]), 3):
        for byte in (b"0", b'"', b"\n"):
            changed = b"".join([*lines[:line], lines[line][:at] + byte + lines[line][at + 1 :], *lines[line + 1 :]])
            conclusion = judge(place, changed, "candidate-v2")
            if conclusion and conclusion.decision.verdict is Verdict.PASS:
                passed.append(changed)

    assert all(records(changed) != before for changed in passed)
    assert len(passed) <= 3  # the digits of its latency


@SLOW
@given(st.permutations(range(12)))
@pytest.mark.parametrize("name", BAD)
def test_any_order_of_lines_gives_the_same_bytes(place, name, order):
    lines = BAD[name].splitlines(keepends=True)

    assert written(judge(place, b"".join(lines[i] for i in order), name)) == written(judge(place, BAD[name], name))


@SLOW
@given(st.permutations(range(12)))
def test_any_order_of_results_gives_the_same_bytes(place, order):
    """As many workers as there are may report in any order."""
    path = place / "baseline-v1.jsonl"
    path.write_bytes(BAD["baseline-v1"])
    suite = load(ROOT / "policy/gate.toml", [path], root=place)
    results = list(grade_all(suite))
    shuffled = [results[i] for i in order]

    assert files_of(conclude(suite, shuffled), [""]) == files_of(conclude(suite, results), [""])


@pytest.fixture(scope="module")
def two_trials(tmp_path_factory):
    """The shipped policy with two trials, in a place of its own."""
    at = tmp_path_factory.mktemp("trials")
    text = (ROOT / "policy/gate.toml").read_text("utf-8").replace("trials = 1", "trials = 2")
    (at / "gate.toml").write_text(
        text.replace('"../cases/', f'"{ROOT}/cases/').replace('"POLICY.md"', f'"{ROOT}/policy/POLICY.md"')
    )
    schema = json.loads((ROOT / "cases/output.schema.json").read_text("utf-8"))
    schema["properties"]["trial"] = {"type": "integer", "minimum": 0}
    (at / "output.schema.json").write_text(json.dumps(schema))
    (at / "gate.toml").write_text(
        (at / "gate.toml").read_text("utf-8").replace(f'"{ROOT}/cases/output.schema.json"', '"output.schema.json"')
    )
    return at


@SLOW
@given(st.permutations(range(24)))
def test_trials_in_any_order_of_lines_give_the_same_bytes(two_trials, order):
    """The same evidence split over two trials of each case, in whatever order it was recorded."""
    lines = [{**record, "trial": trial} for record in records(BAD["baseline-v1"]) for trial in (0, 1)]
    whole = [json.dumps(line).encode() + b"\n" for line in lines]
    policy = two_trials / "gate.toml"
    first = judge(two_trials, b"".join(whole), policy=policy)
    other = judge(two_trials, b"".join(whole[i] for i in order), policy=policy)

    assert first is not None
    assert first.reports[0].expected == 24
    assert written(first) == written(other)
    assert first.decision.verdict is Verdict.BLOCK


def test_one_trial_too_few_or_twice_is_refused(two_trials):
    lines = [{**record, "trial": trial} for record in records(BAD["baseline-v1"]) for trial in (0, 1)]
    whole = [json.dumps(line).encode() + b"\n" for line in lines]
    policy = two_trials / "gate.toml"

    assert judge(two_trials, b"".join(whole[1:]), policy=policy) is None
    assert judge(two_trials, b"".join([*whole[1:], whole[1]]), policy=policy) is None


@given(RECORDS)
def test_what_is_written_is_read(found):
    """Read ∘ write is the identity, types included, whatever the writer escapes."""
    for ascii_only in (True, False):
        text = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in found)
        data = text.encode("utf-8", "surrogatepass" if ascii_only else "backslashreplace")
        problems: list = []
        read = [record.value for record in read_records(data, "x", problems)]

        assert problems == []
        assert repr(read) == repr(json.loads(json.dumps(found)))


@given(RECORDS, st.lists(st.sampled_from(["", " ", "\t", "\r"]), min_size=1, max_size=4))
def test_white_space_between_records_changes_nothing(found, blanks):
    lines = [json.dumps(record) for record in found]
    spaced = "\n".join(
        blank + line + blank for blank, line in zip((blanks * len(lines))[: len(lines)], lines, strict=True)
    )

    assert records(spaced.encode()) == records("\n".join(lines).encode()) == found


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    problems: list = []
    found = read_records(data, "x", problems)

    assert all(isinstance(record.value, dict) for record in found)
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip(b" \t\r\n")]
    assert problems or len(found) == len(lines)
