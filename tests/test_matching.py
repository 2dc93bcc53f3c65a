"""Matching: recursive subset with distinct assignment, exact values, and where it fails."""

from __future__ import annotations

import itertools
import random
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import matching
from pytest_release_gate.matching import MISSING, assign, contains, difference, equal, kind, look_up, show

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
        pytest.param([[1, 1]], [[1]], False, id="distinct items of a list in a list"),
        pytest.param([{"x": [{"y": 1}, {"y": 2}]}], [{"x": [{"y": 2}, {"y": 1}], "z": 0}], True, id="nested"),
        pytest.param([], {}, False, id="a list is no object"),
        pytest.param({}, [], False, id="an object is no list"),
        pytest.param([], "", False, id="a list is no text"),
        pytest.param([[]], [{}], False, id="a list in a list is no object"),
        pytest.param([{}], [[]], False, id="an object in a list is no list"),
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
        ([{"a": 1}], [{"a": 2}, {"a": 3}], "at $[0].a: expected 1 (integer), got 2 (integer)"),
        ([{"a": 1}], ["x", {"b": 2}], "at $[0].a: expected 1 (integer), got nothing"),
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
        ("é" * 300, 3, '"ééé" … (300 characters)'),
        ([-1, 0, 1], 99, "[-1, 0, 1]"),
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
    "value",
    [
        pytest.param(0, id="zero"),
        pytest.param(-7, id="negative"),
        pytest.param(10**500 - 1, id="the last of one chunk"),
        pytest.param(10**500, id="the first of two"),
        pytest.param(-(10**600), id="negative and more than one"),
        pytest.param(10**1000 + 3, id="zeros in the middle"),
    ],
)
def test_show_does_not_depend_on_how_long_the_interpreter_lets_integers_be(value):
    written = str(value)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        shown = show({"n": value}, 5000)
    finally:
        sys.set_int_max_str_digits(limit)

    assert shown == f'{{"n": {written}}}'


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


def calls(function, *values) -> int:
    """How many Python functions are entered in the module: work, measured without a clock."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename == matching.__file__

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        function(*values)
    finally:
        sys.setprofile(before)
    return count


def lines(start: int, more: dict[str, int]) -> list[dict[str, int]]:
    return [{"line": start + i, **more} for i in range(10)]


def test_lists_in_lists_are_not_taken_apart_for_every_pair():
    """Each list of the one fits one list of the other: 3,600 pairs, of 10 and 11 items each."""
    expected = [lines(7 * i, {}) for i in range(60)]
    actual = [[*lines(7 * i, {}), {"extra": i}] for i in reversed(range(60))]

    assert contains(expected, actual)
    assert calls(contains, expected, actual) < 20_000


def deep(levels: int, bottom: Any, more: dict[str, int]) -> Any:
    """Lists in lists, each with 20 objects beside the next; what differs is at the bottom."""
    for _ in range(levels):
        bottom = [bottom] + [{"n": i, **more} for i in range(20)]
    return bottom


def test_an_explanation_takes_about_as_long_as_an_answer():
    """A level costs the same wherever it is, so twice as many cost about twice as much, not four times or more."""

    def work(levels: int) -> int:
        return calls(difference, deep(levels, 1, {}), deep(levels, 2, {"more": 0}))

    assert work(40) < 3 * work(20)


def test_an_explanation_looks_at_likely_partners_only():
    """Of 40,000 pairs of objects none is compared: they differ in what can be seen at a glance."""
    expected = [{"id": i} for i in range(200)]
    actual = [{"id": i + 1, "more": i} for i in range(200)]

    assert str(difference(expected, actual)) == "at $[0].id: expected 0 (integer), got 200 (integer)"
    assert calls(difference, expected, actual) < 20_000


def test_a_glance_sees_under_which_key_a_value_stands():
    expected = [{f"k{i}": 1} for i in range(100)]
    actual = [{f"k{i}": 1, "more": 1} for i in range(100)]

    assert calls(contains, expected, actual) < 8_000


def test_what_was_compared_once_is_remembered():
    """A hundred twins and as many of another kind are one pair."""
    expected = [[{"x": 1}, {"x": 1}]] * 100
    actual = [[{"x": 1, "y": 1}, {"x": 1, "y": 2}]] * 100

    assert contains(expected, actual)
    assert calls(contains, expected, actual) < 2_000


def test_a_glance_is_taken_once():
    """Every list holds the same two objects, more often from list to list, so a glance tells none of them apart."""
    expected = [[{"x": 1}] * (i + 1) for i in range(20)]
    actual = [[{"x": 1, "y": 1}] * (i + 1) for i in range(20)]

    assert contains(expected, actual)
    assert calls(contains, expected, actual) < 40_000


@pytest.mark.parametrize("levels", [6, 7, 8, 9])
def test_what_is_too_deep_for_a_glance_is_compared_all_the_same(levels):
    """The first looks like both, so only a closer look finds who fits whom."""

    def wrapped(value: Any) -> Any:
        for _ in range(levels):
            value = {"in": value}
        return value

    expected = [wrapped({"a": 1}), wrapped({"a": 2})]

    assert contains(expected, [wrapped({"a": 2, "b": 1}), wrapped({"a": 1, "b": 1})])
    assert not contains(expected, [wrapped({"a": 2, "b": 1}), wrapped({"a": 3, "b": 1})])


def below(frames: int, function, *values) -> Any:
    return below(frames - 1, function, *values) if frames else function(*values)


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(lambda v: [v, "beside"], id="lists"),
        pytest.param(lambda v: {"in": v}, id="objects"),
        pytest.param(lambda v: [{"in": v}], id="both in turn"),
    ],
)
@pytest.mark.parametrize("more", [pytest.param([], id="one short"), pytest.param(["more"], id="one too many")])
def test_a_hundred_levels_need_no_more_than_the_default_stack(level, more):
    """The reader accepts 100 levels, and pytest itself has up to 200 frames on the stack."""
    expected, actual = 1, [2, *more]
    while str(expected).count("[") + str(expected).count("{") < 99:
        expected, actual = level(expected), level(actual)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        assert below(200, contains, expected, actual) is False
        assert below(200, difference, expected, actual) is not None
        assert below(200, contains, [expected, expected], [expected, [expected], expected])
    finally:
        sys.setrecursionlimit(limit)


def most(edges: list[list[int]], taken: frozenset[int] = frozenset()) -> int:
    """The size of a maximum assignment, by trying everything."""
    if not edges:
        return 0
    return max([most(edges[1:], taken), *(1 + most(edges[1:], taken | {at}) for at in edges[0] if at not in taken)])


@given(st.lists(st.lists(st.integers(0, 4), unique=True), max_size=5))
def test_an_assignment_is_the_largest(edges):
    partners = assign(edges, 5)
    used = [at for at in partners if at is not None]

    assert len(used) == len(set(used)) == most(edges)
    assert all(at is None or at in row for at, row in zip(partners, edges, strict=True))


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
