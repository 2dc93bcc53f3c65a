"""Raw records to nouns: what holds for every case and output, and all that is wrong with a file at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.contract import read_case, read_cases, read_output, read_outputs
from pytest_release_gate.errors import Problem
from pytest_release_gate.jsonl import Record
from pytest_release_gate.model import Case, Location, Output
from pytest_release_gate.schema import Schema, compile_schema

CASE = {"case_id": "ER-101", "severity": "major", "expected": {"decision": "approve"}}
OUTPUT = {"case_id": "ER-101", "decision": "approve", "latency_ms": 690, "cost_usd": 0.012}
WITHOUT = object()


def with_(record: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**record, **more}.items() if value is not WITHOUT}


def schema(**more: Any) -> Schema:
    problems: list[Problem] = []
    found = compile_schema({"type": "object", "minProperties": 1, **more}, "s.json", problems)
    assert found
    return found


def lines(*records: Any) -> bytes:
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records).encode()


def cases_of(*records: Any, **more: Any) -> tuple[dict[str, Case], list[str]]:
    problems: list[Problem] = []
    return read_cases(lines(*records), "c.jsonl", schema(**more), problems), [str(p) for p in problems]


def outputs_of(*records: Any, fails: bool = False, **more: Any) -> tuple[dict[tuple[str, int], Output], list[str]]:
    problems: list[Problem] = []
    found = read_outputs(lines(*records), "o.jsonl", schema(**more), problems, malformed_fails=fails)
    return found, [str(p) for p in problems]


def test_a_case_in_full():
    record = {**CASE, "title": "Meals", "bucket": "deny", "tags": ["a", "b"], "input": [1], "more": 2}
    problems: list[Problem] = []

    assert read_case(Record(3, record), "c.jsonl", problems) == Case(
        id="ER-101",
        title="Meals",
        severity="major",
        bucket="deny",
        tags=("a", "b"),
        input=[1],
        expected={"decision": "approve"},
        source=Location(path="c.jsonl", line=3),
    )
    assert problems == []


def test_what_a_case_leaves_out():
    case = read_case(Record(1, CASE), "c.jsonl", [])

    assert case
    assert (case.title, case.bucket, case.tags, case.input) == ("ER-101", "", (), {})


def test_a_very_long_id():
    assert read_case(Record(1, {**CASE, "case_id": "x" * 10_000}), "c.jsonl", [])


def test_an_input_of_null_is_kept():
    case = read_case(Record(1, {**CASE, "input": None}), "c.jsonl", [])

    assert case
    assert case.input is None


def test_an_output_in_full():
    record = {**OUTPUT, "trial": 2, "error": {"kind": "timeout", "message": "late", "after": 3}}
    problems: list[Problem] = []

    assert read_output(Record(3, record), "o.jsonl", problems) == Output(
        case_id="ER-101",
        trial=2,
        record=record,
        latency_ms=690,
        cost_usd=0.012,
        error={"kind": "timeout", "message": "late", "after": 3},
        source=Location(path="o.jsonl", line=3),
    )
    assert problems == []


@pytest.mark.parametrize("value", [None, WITHOUT], ids=["null", "absent"])
@pytest.mark.parametrize("key", ["latency_ms", "cost_usd", "error"])
def test_unknown_is_not_zero(key, value):
    output = read_output(Record(1, with_(OUTPUT, {key: value})), "o.jsonl", [])

    assert output
    assert getattr(output, key) is None
    assert output.trial == 0


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 1e308, 10**400], ids=["0", "0.0", "-0.0", "1e308", "401 digits"])
def test_measures_are_kept_as_they_are(value):
    output = read_output(Record(1, {**OUTPUT, "latency_ms": value, "cost_usd": value}), "o.jsonl", [])

    assert output
    assert (output.latency_ms, output.cost_usd) == (value, value)


SEVERITIES = '"critical", "major", "minor"'
BAD_CASES = {
    "no id": ({"case_id": WITHOUT}, "'case_id' is missing"),
    "an id of null": ({"case_id": None}, "case_id: expected a string, found null"),
    "a number as id": ({"case_id": 101}, "case_id: expected a string, found the number 101"),
    "an empty id": ({"case_id": ""}, "case_id: is empty; give each case an id of its own"),
    "an endless id": ({"case_id": "x" * 10_001}, "case_id: has 10,001 characters, at most 10,000 are allowed"),
    "no severity": ({"severity": WITHOUT}, "'severity' is missing"),
    "an unknown severity": ({"severity": "high"}, f'severity: "high" is none of {SEVERITIES}'),
    "a severity in capitals": ({"severity": "Critical"}, f'severity: "Critical" is none of {SEVERITIES}'),
    "a list of severities": ({"severity": ["minor"]}, f'severity: ["minor"] is none of {SEVERITIES}'),
    "a title of null": ({"title": None}, "title: expected a string, found null"),
    "a number as bucket": ({"bucket": 1}, "bucket: expected a string, found the number 1"),
    "tags in a string": (
        {"tags": "a,b"},
        "tags: expected an array, found a string; if it is JSON text, decode it when recording",
    ),
    "a number among tags": ({"tags": ["a", 1, 2]}, "tags[1]: expected a string, found the number 1"),
    "a tag twice": ({"tags": ["a", "b", "a"]}, 'tags: has "a" twice'),
    "no expectation": ({"expected": WITHOUT}, "'expected' is missing"),
    "an expectation of null": ({"expected": None}, "expected: expected an object, found null"),
    "a list as expectation": ({"expected": []}, "expected: expected an object, found an array"),
}


@pytest.mark.parametrize(("more", "message"), BAD_CASES.values(), ids=BAD_CASES)
def test_a_case_that_is_none(more, message):
    problems: list[Problem] = []

    assert read_case(Record(4, with_(CASE, more)), "c.jsonl", problems) is None
    assert problems == [Problem(path="c.jsonl", line=4, message=message)]


BAD_OUTPUTS = {
    "no id": ({"case_id": WITHOUT}, "'case_id' is missing"),
    "an empty id": ({"case_id": ""}, "case_id: is empty; give each case an id of its own"),
    "a trial below 0": ({"trial": -1}, "trial: expected a whole number from 0, found the number -1"),
    "a trial of true": ({"trial": True}, "trial: expected a whole number from 0, found true"),
    "a trial of null": ({"trial": None}, "trial: expected a whole number from 0, found null"),
    "a trial of 1.0": ({"trial": 1.0}, "trial: expected a whole number from 0, found the number 1.0"),
    "a trial as a string": ({"trial": "0"}, 'trial: expected a whole number from 0, found the string "0"'),
    "a latency as a string": ({"latency_ms": "650"}, 'latency_ms: expected a number, found the string "650"'),
    "a latency of true": ({"latency_ms": True}, "latency_ms: expected a number, found true"),
    "a latency below 0": ({"latency_ms": -120}, "latency_ms: -120 is less than the minimum 0"),
    "a latency without end": ({"latency_ms": float("inf")}, "latency_ms: inf is not finite"),
    "a latency that is no number": ({"latency_ms": float("nan")}, "latency_ms: nan is not finite"),
    "a cost below 0": ({"cost_usd": -0.05}, "cost_usd: -0.05 is less than the minimum 0"),
    "a list as cost": ({"cost_usd": [1]}, "cost_usd: expected a number, found an array"),
    "an error in a string": (
        {"error": "timeout"},
        "error: expected an object, found a string; if it is JSON text, decode it when recording",
    ),
    "an error of false": ({"error": False}, "error: expected an object, found false"),
    "an error without kind": ({"error": {"message": "x"}}, "error: 'kind' is missing"),
    "an error of no kind": ({"error": {"kind": ""}}, 'error.kind: is empty; say what went wrong, such as "timeout"'),
    "a number as kind": ({"error": {"kind": 504}}, "error.kind: expected a string, found the number 504"),
    "attempts in an object": ({"earlier_attempts": {}}, "earlier_attempts: expected an array, found an object"),
    "an attempt of null": ({"earlier_attempts": [None]}, "earlier_attempts[0]: expected an object, found null"),
    "an attempt that was an answer": (
        {"earlier_attempts": [{"error": {"kind": "timeout"}}, {"decision": "deny"}]},
        "earlier_attempts[1]: has no error, so it was an answer; record that one, not the one of a second try",
    ),
    "an attempt that died of nothing": (
        {"earlier_attempts": [{"error": {}}]},
        "earlier_attempts[0].error: 'kind' is missing",
    ),
    "an attempt that cost less than nothing": (
        {"earlier_attempts": [{"error": {"kind": "x"}, "cost_usd": -1}]},
        "earlier_attempts[0].cost_usd: -1 is less than the minimum 0",
    ),
    "a message of null": ({"error": {"kind": "x", "message": None}}, "error.message: expected a string, found null"),
}


@pytest.mark.parametrize(("more", "message"), BAD_OUTPUTS.values(), ids=BAD_OUTPUTS)
def test_an_output_that_is_none(more, message):
    problems: list[Problem] = []

    assert read_output(Record(4, with_(OUTPUT, more)), "o.jsonl", problems) is None
    assert problems == [Problem(path="o.jsonl", line=4, message=message)]


def test_every_fault_of_a_record_is_told():
    assert cases_of({"case_id": 1, "severity": "x", "tags": 1}) == (
        {},
        [
            "c.jsonl:1: case_id: expected a string, found the number 1",
            f'c.jsonl:1: severity: "x" is none of {SEVERITIES}',
            "c.jsonl:1: tags: expected an array, found the number 1",
            "c.jsonl:1: 'expected' is missing",
        ],
    )


def test_schema_and_contract_do_not_say_the_same_twice():
    more = {"required": ["case_id", "title"], "properties": {"severity": {"enum": ["minor"]}, "x": {"type": "null"}}}

    assert cases_of({"severity": "high", "expected": {}, "x": 1}, **more)[1] == [
        "c.jsonl:1: 'case_id' is missing",
        "c.jsonl:1: 'title' is missing",
        'c.jsonl:1: severity: "high" is none of "minor"',
        "c.jsonl:1: x: expected null, found the number 1",
    ]
    assert outputs_of({**OUTPUT, "error": "timeout"}, properties={k: {} for k in OUTPUT}, additionalProperties=False)[
        1
    ] == ["o.jsonl:1: unexpected field 'error'"]


def test_two_fields_that_are_missing_are_two_complaints():
    assert cases_of({"case_id": "a", "severity": "minor"}, required=["title"])[1] == [
        "c.jsonl:1: 'title' is missing",
        "c.jsonl:1: 'expected' is missing",
    ]


def test_the_contract_holds_whatever_the_schema_allows():
    assert cases_of({**CASE, "severity": "high"})[1] == [f'c.jsonl:1: severity: "high" is none of {SEVERITIES}']


def test_a_record_that_only_the_schema_refuses_is_no_case():
    assert cases_of(CASE, {**CASE, "case_id": "x"}, properties={"case_id": {"pattern": "^ER-"}}) == (
        {"ER-101": read_case(Record(1, CASE), "c.jsonl", [])},
        ['c.jsonl:2: case_id: "x" does not match the pattern ^ER-'],
    )


def test_cases_are_sorted_by_id():
    cases, problems = cases_of(*({**CASE, "case_id": name} for name in ("b", "ä", "a", "B")))

    assert list(cases) == ["B", "a", "b", "ä"]
    assert [case.source.line for case in cases.values()] == [4, 3, 1, 2]
    assert problems == []


def test_outputs_are_sorted_by_id_and_trial():
    outputs, problems = outputs_of(
        {**OUTPUT, "trial": 10}, {**OUTPUT, "case_id": "A"}, {**OUTPUT, "trial": 2}, {**OUTPUT}
    )

    assert list(outputs) == [("A", 0), ("ER-101", 0), ("ER-101", 2), ("ER-101", 10)]
    assert problems == []


DUPLICATE = "duplicate id 'ER-101', first on line 1; remove one of them"


def test_a_case_twice():
    cases, problems = cases_of(CASE, "", {**CASE, "severity": "minor"}, CASE)

    assert cases["ER-101"].severity == "major"
    assert problems == [f"c.jsonl:3: {DUPLICATE}", f"c.jsonl:4: {DUPLICATE}"]


def test_an_output_twice():
    outputs, problems = outputs_of(OUTPUT, {**OUTPUT, "trial": 1}, OUTPUT, {**OUTPUT, "trial": 1})

    assert {key: output.source.line for key, output in outputs.items()} == {("ER-101", 0): 1, ("ER-101", 1): 2}
    assert problems == [
        f"o.jsonl:3: {DUPLICATE}",
        "o.jsonl:4: duplicate id 'ER-101', trial 1, first on line 2; remove one of them",
    ]


@pytest.mark.parametrize("fails", [False, True], ids=["refuse", "fail"])
def test_a_bad_line_is_a_duplicate_like_others(fails):
    bad = {**OUTPUT, "latency_ms": -1}

    assert f"o.jsonl:2: {DUPLICATE}" in outputs_of(bad, OUTPUT, fails=fails)[1]
    assert f"o.jsonl:2: {DUPLICATE}" in outputs_of(OUTPUT, bad, fails=fails)[1]
    assert f"c.jsonl:2: {DUPLICATE}" in cases_of({**CASE, "severity": 1}, CASE)[1]


def test_the_first_of_two_outputs_is_not_replaced_by_a_malformed_one():
    outputs, problems = outputs_of(OUTPUT, {**OUTPUT, "latency_ms": -1}, fails=True)

    assert outputs["ER-101", 0].defect == ""
    assert problems == [f"o.jsonl:2: {DUPLICATE}"]


def test_a_malformed_output_is_a_problem():
    assert outputs_of({**OUTPUT, "latency_ms": "1"}) == (
        {},
        ['o.jsonl:1: latency_ms: expected a number, found the string "1"'],
    )


def test_a_malformed_output_can_be_a_failure():
    record = {"case_id": "ER-101", "trial": 1, "latency_ms": "1", "cost_usd": -1}

    assert outputs_of(record, fails=True, required=["decision"]) == (
        {
            ("ER-101", 1): Output(
                case_id="ER-101",
                trial=1,
                record=record,
                defect="malformed: 'decision' is missing; latency_ms: expected a number, found the string \"1\"; "
                "cost_usd: -1 is less than the minimum 0",
                source=Location(path="o.jsonl", line=1),
            )
        },
        [],
    )


UNTOLD = {
    "no id": ({"case_id": WITHOUT}, "'case_id' is missing"),
    "a number as id": ({"case_id": 5}, "case_id: expected a string, found the number 5"),
    "an empty id": ({"case_id": ""}, "case_id: is empty; give each case an id of its own"),
    "a bad trial": ({"trial": "1"}, 'trial: expected a whole number from 0, found the string "1"'),
}


@pytest.mark.parametrize(("more", "message"), UNTOLD.values(), ids=UNTOLD)
def test_whose_output_it_is_must_be_told(more, message):
    assert outputs_of(with_(OUTPUT, more), fails=True) == ({}, [f"o.jsonl:1: {message}"])


@pytest.mark.parametrize(
    "line", ['{"case_id": "ER-101", "decision": "appr', '{"case_id":"a","case_id":"b"}', "[]", "x"]
)
def test_what_is_no_object_stays_a_problem(line):
    outputs, problems = outputs_of(line, fails=True)

    assert (outputs, len(problems)) == ({}, 1)


def test_no_lines_are_no_problem_here():
    assert cases_of() == ({}, [])
    assert outputs_of() == ({}, [])


scalars = (
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.sampled_from(["", "a", "minor"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "x"]), inner, max_size=2),
    max_leaves=4,
)
keys = [
    "case_id",
    "title",
    "severity",
    "bucket",
    "tags",
    "input",
    "expected",
    "trial",
    "latency_ms",
    "cost_usd",
    "error",
]
records = st.dictionaries(st.sampled_from(keys), anything)


@given(records)
def test_a_record_is_a_noun_or_a_problem(record):
    """Never both, never neither; and a noun has what the model promises."""
    for reader in (read_case, read_output):
        problems: list[Problem] = []
        noun = reader(Record(1, record), "f", problems)
        assert (noun is None) == bool(problems)
        if isinstance(noun, Case):
            assert noun.id
            assert noun.severity == "minor"
            assert isinstance(noun.expected, dict)
        if isinstance(noun, Output):
            assert noun.case_id
            assert type(noun.trial) is int
            assert all(type(m) in (int, float) and m >= 0 for m in (noun.latency_ms, noun.cost_usd) if m is not None)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=6), st.booleans())
def test_every_line_is_an_output_or_a_problem(keys, fails):
    outputs, problems = outputs_of(*({**OUTPUT, "case_id": name, "trial": trial} for name, trial in keys), fails=fails)

    assert len(outputs) + len(problems) == len(keys)
    assert set(outputs) == set(keys)
