"""JSON Schema, asserted as a whole: which schemas are usable, and how a record that does not fit is told so."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.complaints import cut, repeated
from pytest_release_gate.errors import Problem
from pytest_release_gate.schema import DIALECT, Schema, compile_schema, referenced_files

# Enough to be a schema for records.
BASE: dict[str, Any] = {"type": "object", "required": ["id"]}


def compiled(document: Any, siblings: dict[str, Any] | None = None) -> tuple[Schema | None, list[str]]:
    problems: list[Problem] = []
    schema = compile_schema(document, "cases/s.json", problems, siblings or {})
    assert (schema is None) == bool(problems)
    return schema, [str(problem) for problem in problems]


def usable(document: Any, siblings: dict[str, Any] | None = None) -> Schema:
    schema, problems = compiled(document, siblings)
    assert problems == []
    assert schema
    return schema


def complaints(document: Any, value: Any, siblings: dict[str, Any] | None = None) -> list[str]:
    problems = usable(document, siblings).complaints(value, "out.jsonl", 7)
    assert all((problem.path, problem.line) == ("out.jsonl", 7) for problem in problems)
    return [problem.message for problem in problems]


VACUOUS = 'allows everything, so it checks nothing; name the fields with "properties" and "required"'
UNRESOLVED = "can't be resolved; refer to a place in this file or in one beside it"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
EXPONENTIAL = "can take exponential time, because it matches one text in many ways; make it unambiguous"
REFUSED = {
    "true": (True, VACUOUS),
    "no keyword": ({}, VACUOUS),
    "only words": ({"title": "a case", "description": "x"}, VACUOUS),
    "only a type": ({"type": "object"}, VACUOUS),
    "no property named": ({"type": "object", "properties": {}, "required": []}, VACUOUS),
    "more properties are welcome": ({"type": "object", "additionalProperties": True}, VACUOUS),
    "a keyword for lists only": ({"items": {"type": "string"}}, VACUOUS),
    "false": (False, 'allows nothing, so no record can fit; name the fields with "properties"'),
    "no object required": ({"required": ["id"]}, 'accepts [], but a record is an object; add "type": "object"'),
    "a type beside it": (
        {**BASE, "type": ["object", "null"]},
        'accepts null, but a record is an object; add "type": "object"',
    ),
    "an empty choice": (
        {"anyOf": [{"type": "object"}, {}]},
        'accepts [], but a record is an object; add "type": "object"',
    ),
    "a list": ([BASE], "is no valid schema: expected an object or true or false, found an array"),
    "null": (None, "is no valid schema: expected an object or true or false, found null"),
    "an unknown type": (
        {**BASE, "properties": {"title": {"type": "strnig"}}},
        'is no valid schema: properties.title.type: "strnig" is none of "array", "boolean", "integer", "null", '
        '"number", "object", "string"',
    ),
    "a keyword's own type": (
        {**BASE, "properties": 5},
        "is no valid schema: properties: expected an object, found the number 5",
    ),
    "a negative count": (
        {**BASE, "minProperties": -1},
        "is no valid schema: minProperties: -1 is less than the minimum 0",
    ),
    "items of an old draft": (
        {**BASE, "properties": {"a": {"items": [{}]}}},
        "is no valid schema: properties.a.items: expected an object or true or false, found an array",
    ),
    "an old draft": (
        {**BASE, "$schema": DRAFT7},
        f'"$schema" is "{DRAFT7}", but schemas are read as draft 2020-12; write it for {DIALECT}',
    ),
    "no text for a draft": (
        {**BASE, "$schema": 7},
        f'"$schema" is 7, but schemas are read as draft 2020-12; write it for {DIALECT}',
    ),
    "an old draft within": (
        {**BASE, "properties": {"a": {"$schema": DRAFT7}}},
        f'properties.a.$schema: "{DRAFT7}" is not draft 2020-12, as the rest is',
    ),
    "an address": (
        {**BASE, "properties": {"a": {"$ref": "http://127.0.0.1:9/input.json"}}},
        f'properties.a.$ref: "http://127.0.0.1:9/input.json" {UNRESOLVED}',
    ),
    "a file address": ({**BASE, "$ref": "file:///etc/passwd"}, f'$ref: "file:///etc/passwd" {UNRESOLVED}'),
    "a file that is not there": ({**BASE, "$ref": "other.json"}, f'$ref: "other.json" {UNRESOLVED}'),
    "a file elsewhere": ({**BASE, "$ref": "../s2.json"}, f'$ref: "../s2.json" {UNRESOLVED}'),
    "the metaschema": (
        {**BASE, "properties": {"a": {"$ref": DIALECT}}},
        f'properties.a.$ref: "{DIALECT}" {UNRESOLVED}',
    ),
    "a place that is not there": (
        {**BASE, "allOf": [{"$ref": "#/$defs/x"}]},
        f'allOf[0].$ref: "#/$defs/x" {UNRESOLVED}',
    ),
    "an anchor that is not there": ({**BASE, "$dynamicRef": "#x"}, f'$dynamicRef: "#x" {UNRESOLVED}'),
    "a place that is no schema": (
        {**BASE, "title": "x", "$ref": "#/title"},
        '$ref: "#/title" leads to something that is no schema',
    ),
    "a reference without end": ({"$ref": "#"}, "can't be used: it refers to itself without end"),
    "a format that nobody checks": (
        {**BASE, "properties": {"a": {"format": "uri"}}},
        'properties.a.format: the format "uri" can\'t be checked here; there are date, date-time, email, idn-email, '
        "ipv4, ipv6, regex, time, uuid",
    ),
    "a format in $defs": (
        {**BASE, "$defs": {"a": {"items": {"format": "colour"}}}},
        '$defs.a.items.format: the format "colour" can\'t be checked here; there are date, date-time, email, '
        "idn-email, ipv4, ipv6, regex, time, uuid",
    ),
    "a pattern that is none": (
        {**BASE, "properties": {"a": {"pattern": "(a"}}},
        r"properties.a.pattern: the pattern (a has a ( without its ); escape it as \(",
    ),
    "a pattern that takes for ever": (
        {**BASE, "properties": {"title": {"pattern": "^(a+)+$"}}},
        f"properties.title.pattern: the pattern ^(a+)+$ {EXPONENTIAL}",
    ),
    "a name pattern that takes for ever": (
        {**BASE, "patternProperties": {"^(a*)*$": {}}},
        f"patternProperties: the pattern ^(a*)*$ {EXPONENTIAL}",
    ),
    "a pattern where no keyword leads": (
        {**BASE, "$ref": "#/hidden/x", "hidden": {"x": {"pattern": "(a+)+"}}},
        f'$ref["#/hidden/x"].pattern: the pattern (a+)+ {EXPONENTIAL}',
    ),
}


@pytest.mark.parametrize(("document", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_why(document, message):
    assert compiled(document) == (None, [f"cases/s.json: {message}"])


def test_every_fault_of_a_schema_is_told():
    document = {**BASE, "properties": {"a": {"pattern": "(", "format": "x"}, "b": {"pattern": ")", "$ref": "#/no"}}}

    assert [problem.partition(": ")[2].partition(": ")[0] for problem in compiled(document)[1]] == [
        "properties.a.format",
        "properties.a.pattern",
        "properties.b.pattern",
        "properties.b.$ref",
    ]


SIBLINGS = {
    "plain": ({"$ref": "other.json"}, {"other.json": {"type": "integer"}}),
    "a place in it": ({"$ref": "other.json#/$defs/x"}, {"other.json": {"$defs": {"x": {"type": "integer"}}}}),
    "one that refers to a third": (
        {"$ref": "other.json#/$defs/x"},
        {"other.json": {"$defs": {"x": {"$ref": "third.json"}}}, "third.json": {"$schema": DIALECT, "type": "integer"}},
    ),
    "one that refers to itself": (
        {"$ref": "other.json"},
        {"other.json": {"$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}}},
    ),
    "one that refers back": ({"$ref": "other.json"}, {"other.json": {"$ref": "s.json#/$defs/whole"}}),
    "an address of its own": (
        {"$ref": "https://example.com/int"},
        {"other.json": {"$id": "https://example.com/int", "type": "integer"}},
    ),
    "itself by name": ({"$ref": "s.json#/$defs/whole"}, {}),
    "an anchor": ({"$ref": "#whole"}, {}),
    "a dynamic anchor": ({"$dynamicRef": "#dynamic"}, {}),
    "an address within": ({"$ref": "https://example.com/within"}, {}),
}


@pytest.mark.parametrize("address", [{}, {"$id": "https://example.com/schemas/s.json"}], ids=["no $id", "$id"])
@pytest.mark.parametrize(("part", "siblings"), SIBLINGS.values(), ids=SIBLINGS)
def test_references_reach_the_document_and_its_siblings(part, siblings, address):
    definitions = {
        "whole": {"type": "integer", "$anchor": "whole"},
        "dynamic": {"type": "integer", "$dynamicAnchor": "dynamic"},
        "within": {"$id": "https://example.com/within", "$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}},
    }
    document = {**BASE, **address, "properties": {"id": part}, "$defs": definitions}

    assert complaints(document, {"id": 1}, siblings) == []
    assert complaints(document, {"id": "x"}, siblings) == ['id: expected a whole number, found the string "x"']


@pytest.mark.parametrize(
    ("sibling", "message"),
    [
        (
            {"$schema": DRAFT7},
            f'"$schema" is "{DRAFT7}", but schemas are read as draft 2020-12; write it for {DIALECT}',
        ),
        (
            {"type": "x"},
            'is no valid schema: type: "x" is none of "array", "boolean", "integer", "null", "number", "object", '
            '"string"',
        ),
        ({"pattern": "("}, r"pattern: the pattern ( has a ( without its ); escape it as \("),
    ],
    ids=["draft", "type", "pattern"],
)
def test_a_sibling_is_as_strict(sibling, message):
    document = {**BASE, "properties": {"id": {"$ref": "other.json"}}}

    assert compiled(document, {"other.json": sibling}) == (None, [f"cases/other.json: {message}"])


def test_a_sibling_that_could_not_be_read_is_missing():
    schema, problems = compiled({**BASE, "$ref": "other.json"}, {"other.json": None})

    assert (schema, len(problems)) == (None, 1)


def test_only_files_beside_the_schema_are_asked_for():
    document = {
        "$ref": "a.json#/x",
        "allOf": [{"$ref": "b.json"}, {"$dynamicRef": "c d.json#y"}, {"$ref": "#/x"}, {"$ref": 7}],
        "properties": {"x": {"$ref": "../up.json"}, "y": {"$ref": "/etc/passwd"}, "z": {"$ref": "http://x/y.json"}},
        "not": {"$ref": "sub/x.json", "if": {"$ref": "..\\x.json"}, "then": {"$ref": ".."}, "else": {"$ref": "C:x"}},
    }

    assert referenced_files(document) == {"a.json", "b.json", "c d.json"}
    assert referenced_files(None) == set()


def test_nothing_is_fetched(monkeypatch):
    """An address in a place that is no schema is data; nothing opens a connection or a file for it."""
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("fetched"))
    document = {**BASE, "properties": {"id": {"enum": [{"$ref": "http://127.0.0.1:9/x"}]}}}

    assert complaints(document, {"id": {"$ref": "http://127.0.0.1:9/x"}}) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(complaints(document, {"id": 1})) == 1


WARNINGS = {
    "a slip": ({"requried": ["a"]}, "the unknown keyword 'requried' has no effect, did you mean 'required'?"),
    "an old name": (
        {"dependencies": {}},
        "the unknown keyword 'dependencies' has no effect, did you mean 'dependentRequired'?",
    ),
    "deep inside": (
        {"properties": {"a": {"items": {"maxLenght": 3}}}},
        "properties.a.items: the unknown keyword 'maxLenght' has no effect, did you mean 'maxLength'?",
    ),
    "far from all": ({"zzz": 1}, "the unknown keyword 'zzz' has no effect"),
}


@pytest.mark.parametrize(("more", "message"), WARNINGS.values(), ids=WARNINGS)
def test_an_unknown_keyword_is_a_warning(more, message):
    assert usable({**BASE, **more}).warnings == (Problem(path="cases/s.json", message=message),)


def test_known_words_and_data_are_no_warnings():
    data = {"requried": 1, "$ref": "http://x/y", "pattern": "("}
    words = {"$comment": "x", "title": "x", "x-owner": "me", "examples": [data], "default": data, "deprecated": False}

    assert usable({**BASE, **words, "properties": {"requried": {"const": data}}}).warnings == ()


TYPES = {"a": {"type": "integer"}, "deep": {"type": "object", "properties": {"list": {"items": {"type": "object"}}}}}
COMPLAINTS = {
    "missing": ({}, {}, ["'id' is missing"]),
    "several missing": ({"required": ["a", "b"]}, {"b": 1}, ["'a' is missing"]),
    "missing deep inside": ({"properties": {"id": {"required": ["x"]}}}, {"id": {}}, ["id: 'x' is missing"]),
    "a number as a string": (
        {"properties": {"latency_ms": {"type": "number"}}},
        {"id": 1, "latency_ms": "760"},
        ['latency_ms: expected a number, found the string "760"'],
    ),
    "a boolean for a number": ({"properties": TYPES}, {"id": 1, "a": True}, ["a: expected a whole number, found true"]),
    "a fraction": ({"properties": TYPES}, {"id": 1, "a": 1.5}, ["a: expected a whole number, found the number 1.5"]),
    "null": ({"properties": TYPES}, {"id": 1, "a": None}, ["a: expected a whole number, found null"]),
    "a list": ({"properties": TYPES}, {"id": 1, "a": [2]}, ["a: expected a whole number, found an array"]),
    "JSON in a string": (
        {"properties": TYPES},
        {"id": 1, "deep": {"list": [{}, "{}"]}},
        ["deep.list[1]: expected an object, found a string; if it is JSON text, decode it when recording"],
    ),
    "two types": (
        {"properties": {"a": {"type": ["number", "null"]}}},
        {"id": 1, "a": {}},
        ["a: expected a number or null, found an object"],
    ),
    "three types": (
        {"properties": {"a": {"type": ["number", "null", "boolean"]}}},
        {"id": 1, "a": {}},
        ["a: expected a number, null or true or false, found an object"],
    ),
    "none of several": (
        {"properties": {"decision": {"enum": ["approve", "no_op"]}}},
        {"id": 1, "decision": "Approve"},
        ['decision: "Approve" is none of "approve", "no_op"'],
    ),
    "none of many": (
        {"properties": {"a": {"enum": list(range(20))}}},
        {"id": 1, "a": 99},
        ["a: 99 is none of 0, 1, 2, 3, 4, 5, 6, 7, …"],
    ),
    "true is not one": ({"properties": {"a": {"const": 1}}}, {"id": 1, "a": True}, ["a: true is not 1"]),
    "a pattern": (
        {"properties": {"id": {"pattern": "^ER-[0-9]{3}$"}}},
        {"id": "ER-101\n"},
        [r'id: "ER-101\n" does not match the pattern ^ER-[0-9]{3}$'],
    ),
    "a name pattern": (
        {"propertyNames": {"pattern": r"^\w+$"}},
        {"id": 1, "é": 1},
        [r'"é" does not match the pattern ^\w+$'],
    ),
    "a field too many": (
        {"properties": {"id": {}, "latency_ms": {}}, "additionalProperties": False},
        {"id": 1, "lateny_ms": 1},
        ["unexpected field 'lateny_ms', did you mean 'latency_ms'?"],
    ),
    "a field that is there already": (
        {"properties": {"id": {}}, "additionalProperties": False},
        {"id": 1, "idd": 1},
        ["unexpected field 'idd'"],
    ),
    "a field of no pattern": (
        {"patternProperties": {"^(id|x-)": {}}, "additionalProperties": False},
        {"id": 1, "x-a": 1, "y": 1},
        ["unexpected field 'y'"],
    ),
    "a field not evaluated": (
        {"properties": {"id": {}}, "unevaluatedProperties": False},
        {"id": 1, "y": 1},
        ["unexpected field 'y'"],
    ),
    "a forbidden field": ({"properties": {"a": False}}, {"id": 1, "a": 1}, ["a: is not allowed here"]),
    "a forbidden item": (
        {"properties": {"a": {"prefixItems": [True, False]}}},
        {"id": 1, "a": [1, 2]},
        ["a[1]: is not allowed here"],
    ),
    "too small": (
        {"properties": {"cost": {"minimum": 0}}},
        {"id": 1, "cost": -0.05},
        ["cost: -0.05 is less than the minimum 0"],
    ),
    "too large": ({"properties": {"a": {"maximum": 3}}}, {"id": 1, "a": 4}, ["a: 4 is more than the maximum 3"]),
    "at an open bound": (
        {"properties": {"a": {"exclusiveMinimum": 3, "exclusiveMaximum": 3}}},
        {"id": 1, "a": 3},
        ["a: 3 is not more than 3", "a: 3 is not less than 3"],
    ),
    "not a multiple": (
        {"properties": {"a": {"multipleOf": 0.01}}},
        {"id": 1, "a": 0.295},
        ["a: 0.295 is not a multiple of 0.01"],
    ),
    "too short": (
        {"properties": {"a": {"minLength": 1}}},
        {"id": 1, "a": ""},
        ["a: expected at least 1 character, found 0"],
    ),
    "too long": (
        {"properties": {"a": {"maxLength": 2}}},
        {"id": 1, "a": "abc"},
        ["a: expected at most 2 characters, found 3"],
    ),
    "too few": ({"properties": {"a": {"minItems": 1}}}, {"id": 1, "a": []}, ["a: expected at least 1 item, found 0"]),
    "too many": (
        {"properties": {"a": {"maxItems": 1}}},
        {"id": 1, "a": [1, 2]},
        ["a: expected at most 1 item, found 2"],
    ),
    "too many fields": (
        {"properties": {"a": {"maxProperties": 0}}},
        {"id": 1, "a": {"x": 1}},
        ["a: expected at most 0 fields, found 1"],
    ),
    "twice": (
        {"properties": {"a": {"uniqueItems": True}}},
        {"id": 1, "a": [{"x": 1}, 2, {"x": 1.0}]},
        ['a: has {"x": 1.0} twice'],
    ),
    "a format": (
        {"properties": {"a": {"format": "date-time"}}},
        {"id": 1, "a": "2026-02-30T10:00:00Z"},
        ['a: "2026-02-30T10:00:00Z" is no valid date-time'],
    ),
    "excluded": (
        {"not": {"required": ["a"]}},
        {"id": 1, "a": 1},
        ['{"id": 1, "a": 1} is what the schema excludes: {"required": ["a"]}'],
    ),
    "goes with another": ({"dependentRequired": {"a": ["b"]}}, {"id": 1, "a": 1}, ["'b' is missing, which 'a' needs"]),
    "a condition": ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"id": 1, "a": 1}, ["'b' is missing"]),
    "none of two types": (
        {"properties": {"a": {"anyOf": [{"type": "null"}, {"type": "number"}]}}},
        {"id": 1, "a": "x"},
        ['a: expected null or a number, found the string "x"'],
    ),
    "two forms at once": (
        {"properties": {"a": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}},
        {"id": 1, "a": 1},
        ["a: fits more than one of the forms of which exactly one is allowed"],
    ),
    "the nearest form": (
        {
            "properties": {
                "a": {
                    "oneOf": [
                        {"properties": {"k": {"const": "x"}}, "required": ["k"]},
                        {
                            "properties": {"k": {"const": "y"}, "n": {"properties": {"z": {"type": "integer"}}}},
                            "required": ["k"],
                        },
                        {"type": "string"},
                    ]
                }
            }
        },
        {"id": 1, "a": {"k": "y", "n": {"z": "1"}}},
        ['a.n.z: expected a whole number, found the string "1"'],
    ),
    "contains": (
        {"properties": {"a": {"contains": {"const": 1}}}},
        {"id": 1, "a": [2]},
        ['a: no item fits {"const": 1}'],
    ),
    "a strange name": (
        {"properties": {"a b\n": {"type": "null"}}},
        {"id": 1, "a b\n": 1},
        [r'["a b\n"]: expected null, found the number 1'],
    ),
    "a long value": (
        {"properties": {"a": {"type": "null"}}},
        {"id": 1, "a": "x" * 10**6},
        ['a: expected null, found the string "' + "x" * 78 + "…"],
    ),
}


@pytest.mark.parametrize(("more", "value", "expected"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_complaints_read_well(more, value, expected):
    assert complaints({**BASE, **more}, value) == expected


FITS = {
    "whole as a fraction": ({"type": "integer"}, 2.0),
    "cents": ({"multipleOf": 0.01}, 0.29),
    "cents of a large amount": ({"multipleOf": 0.01}, 186.4),
    "one and true differ": ({"uniqueItems": True}, [1, True, [1], [True], "1", None, 0, False]),
    "a leap day": ({"format": "date-time"}, "2024-02-29T23:59:59.5+01:00"),
    "a time": ({"format": "time"}, "23:59:59Z"),
    "a format of a number": ({"format": "date-time"}, 5),
    "a time of a number": ({"format": "time"}, 5),
    "nothing but the end": ({"pattern": "^x$"}, "x"),
}


@pytest.mark.parametrize(("part", "value"), FITS.values(), ids=FITS)
def test_what_fits(part, value):
    assert complaints({**BASE, "properties": {"id": part}}, {"id": value}) == []


@pytest.mark.parametrize(
    ("format", "value"),
    [
        ("date-time", "2026-01-01 10:00:00Z"),
        ("date-time", "2026-01-01T10:00:00"),
        ("date-time", "2026-01-01T10:00:00Z\n"),
        ("date-time", "٢٠٢٦-01-01T10:00:00Z"),
        ("time", "24:00:00Z"),
        ("date", "2026-1-1"),
        ("email", "me"),
        ("ipv4", "1.2.3"),
        ("uuid", "x"),
        ("regex", "("),
    ],
)
def test_formats_are_asserted(format, value):
    assert complaints({**BASE, "properties": {"id": {"format": format}}}, {"id": value}) != []


def test_at_most_five_complaints_and_the_count_of_the_rest():
    wanted = {"required": [f"f{number}" for number in range(8)]}

    assert complaints({**BASE, **wanted}, {}) == [
        "'f0' is missing",
        "'f1' is missing",
        "'f2' is missing",
        "'f3' is missing",
        "'f4' is missing (and 3 more on this line)",
    ]
    assert complaints({**BASE, "required": list("abcde")}, {})[4:] == ["'e' is missing"]


def test_the_order_of_complaints_is_that_of_the_places():
    document = {**BASE, "additionalProperties": {"type": "null"}}
    value = {"id": 1, **{f"z{number}": number for number in (3, 1, 2)}}
    expected = [
        f"{key}: expected null, found the number {number}"
        for key, number in (("id", 1), ("z1", 1), ("z2", 2), ("z3", 3))
    ]

    assert complaints(document, value) == expected
    assert complaints(document, dict(reversed(value.items()))) == expected


def test_items_come_in_the_order_of_their_numbers():
    document = {**BASE, "properties": {"id": {"items": {"type": "null"}}}}
    value = {"id": [None, None, 1] + [None] * 7 + [2]}

    assert [message.partition(":")[0] for message in complaints(document, value)] == ["id[2]", "id[10]"]


def test_a_long_text_of_quotes_is_cut():
    assert cut("x" * 300) == "x" * 300
    assert cut("x" * 301) == "x" * 299 + "…"


def test_a_schema_without_end_is_a_complaint():
    """It is met with objects only, so that nothing shows before."""
    loop = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}},
    }

    assert complaints(loop, {"a": 1}) == [
        "can't be checked: the schema cases/s.json refers to itself without end, or the value is too deep"
    ]


def test_what_breaks_inside_jsonschema_is_a_complaint():
    """An integer that the interpreter is set not to print breaks jsonschema's own message."""
    before = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        [message] = complaints({**BASE, "properties": {"id": {"type": "null"}}}, {"id": 10**2000})
    finally:
        sys.set_int_max_str_digits(before)

    assert message.startswith("can't be checked by the schema cases/s.json: ")
    assert len(message) < 300


def test_a_recursive_schema_follows_a_value_to_its_end():
    value: dict[str, Any] = {"id": "not a number"}
    for _ in range(30):
        value = {"id": 1, "next": value}
    document = {**BASE, "properties": {"id": {"type": "number"}, "next": {"$ref": "#"}}}

    [message] = complaints(document, value)

    assert message == ".".join(["next"] * 30) + '.id: expected a number, found the string "not a number"'


def test_the_document_is_left_as_it_was():
    document = {**BASE, "$schema": DIALECT, "properties": {"id": {"pattern": r"^\d$"}, "a": False}}
    before = str(document)
    usable(document)

    assert str(document) == before


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 1.5]) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


def same(one: Any, two: Any) -> bool:
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return one == two


@given(st.lists(values, max_size=5))
def test_repeats_are_found_by_value(items):
    twice = [j for j, item in enumerate(items) if any(same(earlier, item) for earlier in items[:j])]

    assert repeated(items) == (twice[0] if twice else None)


KEYWORDS = (
    "type properties required $ref $id $schema $defs pattern patternProperties items anyOf not enum format $anchor "
    "additionalProperties dependencies prefixItems uniqueItems $dynamicRef if then minimum"
)
keywords = st.sampled_from(KEYWORDS.split())
texts = st.sampled_from(
    ["object", "string", "#", "#/$defs/a", "a", "x.json", "http://x/", "(a+)+", "^a$", "date", DIALECT]
)
documents = st.recursive(
    texts | st.booleans() | st.integers(-1, 2) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | texts, inner, max_size=4),
    max_leaves=12,
)


@given(
    st.fixed_dictionaries({}, optional={"properties": documents, "$defs": documents, "allOf": documents, "$id": texts}),
    documents,
    values,
)
def test_any_document_is_compiled_or_refused(document, sibling, value):
    schema, problems = compiled({**BASE, **document}, {"x.json": sibling})

    assert all(problems)
    if schema:
        assert all(problem.message for problem in schema.complaints({"id": value}, "f"))
