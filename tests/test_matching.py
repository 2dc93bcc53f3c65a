"""Matching: recursive subset with distinct assignment, exact values, and where it fails."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.matching import MISSING, contains, difference, equal, kind, look_up, show

BIG = 2**53


@pytest.mark.parametrize(
    ("expected", "actual", "held"),
    [
        pytest.param({}, {"a": 1}, True, id="nothing is in everything"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, True, id="more keys are fine"),
        pytest.param({"a": 1}, {"b": 1}, False, id="a key is missing"),
        pytest.param({"a": {"b": [1]}}, {"a": {"b": [2, 1], "c": 0}}, True, id="deep inside"),
        pytest.param({"a": None}, {"a": None}, True, id="null is null"),
        pytest.param({"a": None}, {}, False, id="null is not missing"),
        pytest.param(42, 42.0, True, id="42 is 42.0"),
        pytest.param(True, 1, False, id="true is not 1"),
        pytest.param(1, True, False, id="1 is not true"),
        pytest.param(0, False, False, id="0 is not false"),
        pytest.param(False, False, True, id="false is false"),
        pytest.param(1, "1", False, id="1 is not text"),
        pytest.param(None, 0, False, id="null is not 0"),
        pytest.param(0, -0.0, True, id="zero has no sign"),
        pytest.param(BIG + 1, BIG, False, id="integers are exact"),
        pytest.param(BIG + 1, float(BIG), False, id="an integer and a double are compared exactly"),
        pytest.param(BIG, float(BIG), True, id="and are equal if they are"),
        pytest.param(0.1 + 0.2, 0.3, False, id="doubles are exact"),
        pytest.param("a", "a ", False, id="text is exact"),
        pytest.param("é", "e\u0301", False, id="code point by code point"),
        pytest.param("\ud800", "\ud800", True, id="a lone surrogate is a value"),
        pytest.param([], [], True, id="no items"),
        pytest.param([1], [2, 1], True, id="any order"),
        pytest.param([1, 1], [1], False, id="distinct items"),
        pytest.param([1, 1], [1, 1.0], True, id="two equal items"),
        pytest.param([1, True], [True, 1], True, id="1 and true each find their own"),
        pytest.param([1, True], [1, 1], False, id="1 is no partner for true"),
        pytest.param([{}, {"a": 1}], [{"a": 1}, {"b": 1}], True, id="greedy would take the wrong one"),
        pytest.param([{"a": 1}, {"b": 1}], [{"a": 1, "b": 1}, {"a": 1}], True, id="the last must give way"),
        pytest.param([{"a": 1}, {"b": 1}], [{"a": 1, "b": 1}, {"c": 1}], False, id="no assignment"),
        pytest.param([[1], [1, 2]], [[2, 1], [1]], True, id="lists of lists"),
        pytest.param([[1], [1]], [[1, 2]], False, id="distinct lists"),
        pytest.param([{"x": [{"y": 1}, {"y": 2}]}], [{"x": [{"y": 2}, {"y": 1}], "z": 0}], True, id="nested"),
        pytest.param([], {}, False, id="a list is no object"),
        pytest.param({}, [], False, id="an object is no list"),
        pytest.param([], "", False, id="a list is no text"),
    ],
)
def test_contains(expected, actual, held):
    assert contains(expected, actual) is held
    assert (difference(expected, actual) is None) is held


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1, 2]}, {"a": [1.0, 2]}, True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        (True, 1, False),
        (None, None, True),
        ([], {}, False),
        ({}, [], False),
    ],
)
def test_equal(one, other, same):
    assert equal(one, other) is same
    assert equal(other, one) is same


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        ({"a": 64}, {"a": "64"}, 'at $.a: expected 64 (integer), got "64" (string)'),
        ({"a": 1}, {}, "at $.a: expected 1 (integer), got nothing"),
        ({"a": None}, {}, "at $.a: expected null (null), got nothing"),
        ({"a": {"b c": 1}}, {"a": {"b c": 2}}, 'at $.a["b c"]: expected 1 (integer), got 2 (integer)'),
        (
            {"items": [{"n": 1, "ok": True}]},
            {"items": [{"n": 2, "ok": False}, {"n": 1, "ok": 1}]},
            "at $.items[0].ok: expected true (boolean), got 1 (integer)",
        ),
        ([1, 2, 3], [3, 1], "at $[1]: expected 2 (integer), got nothing"),
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}], "at $[1].a: expected 2 (integer), got 3 (integer)"),
        ([], 3, "at $: expected [] (array), got 3 (integer)"),
        (0.5, 0.25, "at $: expected 0.5 (number), got 0.25 (number)"),
        (BIG + 1, BIG, f"at $: expected {BIG + 1} (integer), got {BIG} (integer)"),
        ({"a\n": 1}, {}, 'at $["a\\n"]: expected 1 (integer), got nothing'),
    ],
)
def test_a_difference_says_where_and_what(expected, actual, text):
    assert str(difference(expected, actual)) == text


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (MISSING, 9, "nothing"),
        ({"b": 1, "a": [True, None, 0.5]}, 99, '{"b": 1, "a": [true, null, 0.5]}'),
        ("§ é 👍", 99, '"§ é 👍"'),
        ("a\n\x1b", 99, '"a\\n\\u001b"'),
        ("x" * 300, 3, '"xxx" … (300 characters)'),
        ([1] * 10**6, 9, "[1, 1, 1, …"[:9] + " …"),
        ("\ud800", 99, '"\ud800"'),
        ({}, 9, "{}"),
        ([], 9, "[]"),
    ],
)
def test_show(value, limit, text):
    assert show(value, limit) == text


def test_show_can_write_long_integers():
    assert len(show(10**4000, 5000)) == 4001


@pytest.mark.parametrize(
    ("value", "name"),
    [(None, "null"), (True, "boolean"), (1, "integer"), (1.0, "number"), ("", "string"), ([], "array"), ({}, "object")],
)
def test_kind(value, name):
    assert kind(value) == name


@pytest.mark.parametrize(
    ("path", "found"), [("a", {"b": 1}), ("a.b", 1), ("a.c", MISSING), ("b", MISSING), ("a.b.c", MISSING)]
)
def test_look_up(path, found):
    assert look_up({"a": {"b": 1}}, path) == found


def hostile(size: int, last: Any) -> tuple[list[Any], list[Any]]:
    """All alike but one, with nested lists, so that a careless matcher tries every order."""
    call = {"name": "pay", "arguments": {"lines": [{"n": [1, 2, 3]}] * 5}}
    return [call] * size, [call] * (size - 1) + [last]


@pytest.mark.parametrize("last", [{"name": "pay", "arguments": {"lines": []}}, {"name": "ask"}, []])
def test_many_alike_but_one(last):
    expected, actual = hostile(400, last)

    assert not contains(expected, actual)
    assert difference(expected, actual) is not None


def test_many_partial_ones_that_only_one_assignment_serves():
    """Item i fits only actual items from i on: every greedy order but one runs into a wall."""
    size = 400
    actual = [{f"k{j}": 1 for j in range(i + 1)} for i in range(size)]
    expected = [{f"k{i}": 1} for i in range(size)]

    assert contains(expected, list(reversed(actual)))
    assert not contains([*expected, {}], actual)


SMALL = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, "", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


def by_trying(expected: Any, actual: Any) -> bool:
    """The same question, answered by trying every assignment."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(k in actual and by_trying(v, actual[k]) for k, v in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return False
        ways = itertools.permutations(actual, len(expected))
        return any(all(map(by_trying, expected, way)) for way in ways)
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    return (
        isinstance(actual, type(expected) if not isinstance(expected, float) else int | float) and (expected == actual)
    ) or (isinstance(expected, int) and isinstance(actual, float) and expected == actual)


@given(SMALL, SMALL)
def test_it_agrees_with_trying_everything(expected, actual):
    assert contains(expected, actual) == by_trying(expected, actual)
    assert (difference(expected, actual) is None) == contains(expected, actual)


@given(st.lists(SMALL, max_size=5), st.lists(SMALL, max_size=5))
def test_lists_agree_with_trying_everything(expected, actual):
    assert contains(expected, actual) == by_trying(expected, actual)


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    if isinstance(value, list):
        items = [shuffled(item, chance) for item in value]
        chance.shuffle(items)
        return items
    return value


@given(SMALL, SMALL, st.randoms(use_true_random=False))
def test_order_changes_nothing(expected, actual, chance):
    assert contains(shuffled(expected, chance), shuffled(actual, chance)) == contains(expected, actual)


@given(SMALL, SMALL)
def test_everything_contains_itself_and_more_never_breaks_a_match(value, more):
    assert contains(value, value)
    assert equal(value, value)
    assert contains([value], [more, value])
    assert contains({"a": value}, {"b": more, "a": value})


@given(SMALL, SMALL, SMALL)
def test_containment_is_transitive(small, middle, large):
    if contains(small, middle) and contains(middle, large):
        assert contains(small, large)


def test_a_value_as_long_as_the_limit_is_shown_whole():
    assert show("abc", limit=5) == '"abc"'
    assert show("abcd", limit=5) == '"abcd …'
