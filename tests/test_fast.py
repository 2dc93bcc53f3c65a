"""The extra `fast`: a first look by another engine, which may never accept what jsonschema refuses."""

from __future__ import annotations

import copy
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_release_gate import fast
from pytest_release_gate.fast import first_look
from pytest_release_gate.jsonl import read_records
from pytest_release_gate.schema import compile_schema
from pytest_release_gate.selftest import mutants

from build import case
from story import ROOT

pytest.importorskip("jsonschema_rs", reason="the extra `fast` is not installed")

SCHEMAS = sorted(path for path in (ROOT / "cases").rglob("*.schema.json"))


def engines(document):
    """What both engines say of a value: the first look, and whether jsonschema has a complaint."""
    problems: list = []
    schema = compile_schema(document, "s.json", problems)
    assert schema is not None, problems
    look = first_look(document)

    def slow(value) -> bool:
        return not [*schema._validator.iter_errors(value)]

    return look, slow


def records(path: Path):
    problems: list = []
    return [record.value for record in read_records(path.read_bytes(), path.name, problems)]


def corpus(schema: Path) -> list:
    """All shipped records that the schema is about, and each of them with one thing wrong."""
    folder = schema.parent.relative_to(ROOT / "cases")
    if schema.name.startswith("case"):
        files = [schema.parent / "cases.jsonl"]
    else:
        files = sorted((ROOT / "outputs" / folder).glob("*.jsonl"))
    found = [value for path in files if path.exists() for value in records(path)]
    return found + [mutant.record for value in found for mutant in mutants(case(), value, found[:3])]


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_both_engines_agree_on_every_shipped_record_and_on_every_mutant_of_one(path):
    look, slow = engines(json.loads(path.read_text("utf-8")))
    assert look is not None, "every shipped schema is plain enough for the first look"
    values = corpus(path)
    said = [(look(value), slow(value)) for value in values]

    assert [pair for pair in said if pair[0] != pair[1]] == []
    assert (True, True) in said or not values
    assert path.parent.name == "operations-empty" or (False, False) in said


PLAIN = [
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 0}}},
    {"type": "object", "properties": {"a": {"type": ["number", "null"], "exclusiveMaximum": 9}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"enum": ["x", None, True]}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]{2,3}$", "maxLength": 3}}},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}},
    {"type": "object", "properties": {"a": {"type": "array", "minItems": 1, "contains": {"const": "x"}}}},
    {"type": "object", "propertyNames": {"pattern": "^[ab]+$"}, "minProperties": 1, "maxProperties": 2},
    {
        "type": "object",
        "if": {"properties": {"a": {"const": "x"}}, "required": ["a"]},
        "then": {"required": ["b"]},
        "else": {"not": {"required": ["b"]}},
    },
    {
        "type": "object",
        "$defs": {"t": {"type": "string", "minLength": 2}},
        "properties": {"a": {"oneOf": [{"$ref": "#/$defs/t"}, {"type": "boolean"}, {"type": "integer"}]}},
    },
    {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "allOf": [{"minProperties": 1}]},
]  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["x", "xx", "ab", "abc", "ab\n", "AB", "é", "😀", "\x00", "\ud800", "１"]),
    st.sampled_from([0, -0.0, 1, 1.0, 8, 9, 9.0, 2**53, 2**53 + 1, -(2**63), 2**64, 10**30, 1e300, 5e-324, 0.1]),
    st.text(max_size=3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
VALUES = st.dictionaries(
    st.sampled_from(["a", "b", "ab", "c", ""]),
    st.one_of(
        SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.sampled_from(["a", "b"]), SCALARS, max_size=2)
    ),
    max_size=3,
)


@pytest.mark.parametrize("document", PLAIN, ids=range(len(PLAIN)))
def test_the_first_look_never_accepts_what_jsonschema_refuses(document):
    look, slow = engines(document)
    assert look is not None

    @settings(max_examples=150, deadline=None)
    @given(VALUES)
    def compare(value):
        assert not look(value) or slow(value)

    compare()


NOT_PLAIN = {
    "a number as constant": {"const": 1},
    "a list as constant": {"enum": [["x"]]},
    "a limit that is no whole number": {"minimum": 0.1},
    "a limit beyond the doubles": {"maximum": 2**53 + 1},
    "a count that is no integer": {"minLength": 2.0},
    "items that are no texts": {"uniqueItems": True},
    "items that may be no texts": {"items": {"type": ["string", "number"]}, "uniqueItems": True},
    "a format": {"format": "date"},
    "a multiple": {"multipleOf": 0.01},
    "a pattern with a look ahead": {"pattern": "^(?!a)"},
    "a pattern with a class of its own": {"pattern": "^\\d+$"},
    "a pattern with a dot": {"pattern": "^.$"},
    "a pattern with a dollar inside": {"pattern": "a$b"},
    "names by pattern": {"patternProperties": {"a": {}}},
    "a reference to elsewhere": {"$ref": "#/properties/a"},
    "a reference to a file": {"$ref": "other.json"},
    "tuples": {"prefixItems": [{}]},
    "what is left over": {"unevaluatedProperties": False},
    "an unknown word": {"x-ours": 1},
}


@pytest.mark.parametrize("part", NOT_PLAIN.values(), ids=NOT_PLAIN)
@pytest.mark.parametrize("where", ["properties", "not", "allOf", "items"])
def test_what_the_engines_may_read_otherwise_is_left_to_jsonschema(part, where):
    inside = {"properties": {"a": part}, "not": part, "allOf": [part], "items": part}[where]

    assert first_look({"type": "object", where: inside}) is None


def test_a_definition_that_refers_to_another_is_left_to_jsonschema():
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}

    assert first_look({"$ref": "#/$defs/tree", "$defs": {"tree": tree}}) is None


def test_what_breaks_is_a_doubt(monkeypatch):
    class Broken:
        def is_valid(self, value):
            raise value

    monkeypatch.setattr("jsonschema_rs.Draft202012Validator", lambda document: Broken())
    look = first_look({"type": "object"})

    assert look(BaseException("a panic")) is False
    with pytest.raises(KeyboardInterrupt):
        look(KeyboardInterrupt())


def test_a_schema_that_it_does_not_take_is_left_to_jsonschema(monkeypatch):
    def refuse(document):
        raise ValueError("no")

    monkeypatch.setattr("jsonschema_rs.Draft202012Validator", refuse)
    assert first_look({"type": "object"}) is None


def test_without_it_everything_is_the_same_but_slower(monkeypatch, expense):
    fine, text = expense.gate_results("baseline-v1"), expense.path("outputs/candidate-v2.jsonl").read_text("utf-8")
    expense.write("outputs/candidate-v2.jsonl", text.replace('"decision"', '"desicion"', 2))
    refused = expense.gate("candidate-v2")
    blocker = expense.write("blocked/jsonschema_rs.py", "raise ImportError('not here')\n").parent
    without = {"PYTHONPATH": str(blocker)}

    assert expense.gate_results("baseline-v1", env=without).files() == fine.files()
    assert timeless(expense.gate("candidate-v2", env=without)) == timeless(refused)


def timeless(run):
    return re.sub(r" in [0-9.]+s =+", "", run.out)


def test_what_is_asked_is_left_as_it_was():
    document = json.loads((ROOT / "cases/case.schema.json").read_text("utf-8"))
    before = copy.deepcopy(document)
    first_look(document)

    assert document == before
    assert "jsonschema_rs" in sys.modules
    assert fast.first_look(True) is None or fast.first_look(True)({}) is True
