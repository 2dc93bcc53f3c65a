"""Whether a value is contained in another, and where it fails: recursive subset, with lists by bipartite matching."""

from __future__ import annotations

import enum
import json
import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from pytest_release_gate.model import Json


class Missing(enum.Enum):
    """The type of `MISSING`, so that type checkers can tell it from a JSON value."""

    MISSING = "nothing"


MISSING: Final = Missing.MISSING
"""Nothing is there, which is not null."""

# How many partners without a match are compared in order to explain a failure.
_CANDIDATES = 20
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The place where an expected value is not contained in the actual one."""

    # `$`, then `.key` or `["key"]` for objects and `[0]` for the expected lists.
    path: str
    expected: Json
    # MISSING if there is nothing at this place, or no partner left in the list.
    actual: Json | Literal[Missing.MISSING]

    def __str__(self) -> str:
        got = "nothing" if self.actual is MISSING else f"{show(self.actual)} ({kind(self.actual)})"
        return f"at {self.path}: expected {show(self.expected)} ({kind(self.expected)}), got {got}"


def contains(expected: Json, actual: Json) -> bool:
    """Whether `expected` is a recursive subset of `actual`.

    Objects key by key; each item of an expected list matches a different actual item, in any order; numbers by exact
    value, but a boolean equals only a boolean; everything else by type and value. Time is polynomial in the sizes: for
    lists of n and m items at most n·m comparisons and a maximum matching.
    """
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or not expected.keys() <= actual.keys():
            return False
        return all(contains(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(expected) > len(actual):
            return False
        wanted, given = _without_equals(expected, actual)
        return not wanted or None not in _partners(wanted, given, all_or_nothing=True)
    return _same(expected, actual)


def equal(expected: Json, actual: Json) -> bool:
    """Whether two values are the same JSON value: same keys, lists in the same order, numbers by value."""
    if isinstance(expected, dict):
        same_keys = isinstance(actual, dict) and expected.keys() == actual.keys()
        return same_keys and all(equal(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        same_length = isinstance(actual, list) and len(expected) == len(actual)
        return same_length and all(map(equal, expected, actual))
    return _same(expected, actual)


def difference(expected: Json, actual: Json) -> Difference | None:
    """Where `expected` fails to be contained in `actual`, on the best assignment of list items; None if it is."""
    return _difference(expected, actual, "$")


def assign(edges: Sequence[Sequence[int]], size: int) -> list[int | None]:
    """A maximum assignment: for each row of `edges` one of the positions it names, each position at most once.

    :param edges: for each item, the positions (0 to size - 1) that would do.
    :return: for each item its position, None for those that are left without.

    Hopcroft and Karp, "An n^5/2 algorithm for maximum matchings in bipartite graphs" (1973), doi 10.1137/0202019.
    """
    partner: list[int | None] = [None] * len(edges)
    taken: list[int | None] = [None] * size
    while True:
        layers = _layers(edges, partner, taken)
        if layers is None:
            return partner
        ways = [iter(row) for row in edges]
        for start, mate in enumerate(list(partner)):
            if mate is None:
                _augment(start, ways, layers, partner, taken)


def look_up(value: Json, path: str) -> Json | Literal[Missing.MISSING]:
    """The value at a dotted path into JSON objects, MISSING if a step is not there."""
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return value


def kind(value: Json) -> str:
    """The JSON type of a value: null, boolean, integer, number, string, array or object."""
    return _KINDS.get(type(value), "null")


def show(value: Json, limit: int = 200) -> str:
    """A value as JSON text, cut at `limit` characters; MISSING reads `nothing`.

    However large the value, the work is bounded by `limit`; control characters are escaped, other text is as it is.
    """
    if value is MISSING:
        return "nothing"
    if isinstance(value, str) and len(value) > limit:
        return f"{json.dumps(value[:limit], ensure_ascii=False)} … ({len(value)} characters)"
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            return f"{text[:limit]} …"
    return text


def _pieces(value: Json, limit: int) -> Iterator[str]:
    """JSON text bit by bit, so that a large value is never written out only to be cut."""
    if isinstance(value, dict):
        yield "{"
        for index, (key, one) in enumerate(value.items()):
            yield f"{', ' if index else ''}{json.dumps(key[: limit + 1], ensure_ascii=False)}: "
            yield from _pieces(one, limit)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for index, one in enumerate(value):
            yield ", " if index else ""
            yield from _pieces(one, limit)
        yield "]"
    elif isinstance(value, str):
        yield json.dumps(value[: limit + 1], ensure_ascii=False)
    else:
        yield json.dumps(value)


def _same(expected: Json, actual: Json) -> bool:
    """Two values that are no lists or objects; Python compares an int and a float by exact value."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float):
        return isinstance(actual, int | float) and expected == actual
    return type(expected) is type(actual) and bool(expected == actual)


def _key(value: Json) -> Hashable:
    """Equal for values that contain each other: lists as multisets, booleans apart from numbers."""
    if isinstance(value, dict):
        return "object", frozenset((key, _key(one)) for key, one in value.items())
    if isinstance(value, list):
        return "array", frozenset(Counter(map(_key, value)).items())
    return ("boolean", value) if isinstance(value, bool) else value


_Keyed = tuple[Hashable, Json, int]


def _without_equals(expected: Sequence[Json], actual: Sequence[Json]) -> tuple[list[_Keyed], list[_Keyed]]:
    """The items that have no equal partner on the other side, each with its key and its index.

    Pairing equals first loses nothing: being contained is transitive, so if the best matching gives the equal partner
    of `e` to another item, that item is contained in `e`, hence in the partner of `e`, and the two can swap.
    """
    there: dict[Hashable, list[int]] = {}
    for index in range(len(actual) - 1, -1, -1):
        there.setdefault(_key(actual[index]), []).append(index)
    wanted = []
    for index, item in enumerate(expected):
        key = _key(item)
        if there.get(key):
            there[key].pop()
        else:
            wanted.append((key, item, index))
    given = [(key, actual[index], index) for key, indices in there.items() for index in indices]
    given.sort(key=lambda one: one[2])
    return wanted, given


def _partners(wanted: Sequence[_Keyed], given: Sequence[_Keyed], *, all_or_nothing: bool = False) -> list[int | None]:
    """For each wanted item the position of its partner among the given ones, in a maximum matching.

    :param all_or_nothing: stop as soon as an item has no possible partner at all.
    """
    known: dict[tuple[Hashable, Hashable], bool] = {}
    edges: list[list[int]] = []
    for key, item, _ in wanted:
        row = []
        for position, (other, candidate, _) in enumerate(given):
            pair = key, other
            if pair not in known:
                known[pair] = contains(item, candidate)
            if known[pair]:
                row.append(position)
        edges.append(row)
        if all_or_nothing and not row:
            return [None]
    return assign(edges, len(given))


def _layers(
    edges: Sequence[Sequence[int]], partner: Sequence[int | None], taken: Sequence[int | None]
) -> list[int | None] | None:
    """The distance of each wanted item from a free one along alternating paths; None if no such path ends free."""
    layers: list[int | None] = [0 if mate is None else None for mate in partner]
    queue = deque(index for index, mate in enumerate(partner) if mate is None)
    found = False
    while queue:
        index = queue.popleft()
        for position in edges[index]:
            owner = taken[position]
            if owner is None:
                found = True
            elif layers[owner] is None:
                layers[owner] = (layers[index] or 0) + 1
                queue.append(owner)
    return layers if found else None


def _augment(
    start: int,
    ways: Sequence[Iterator[int]],
    layers: list[int | None],
    partner: list[int | None],
    taken: list[int | None],
) -> None:
    """Follow one shortest alternating path from a free item, without recursion, and turn it over if it ends free."""
    path: list[tuple[int, int]] = []
    index = start
    while True:
        for position in ways[index]:
            owner = taken[position]
            if owner is None:
                for one, place in [*path, (index, position)]:
                    partner[one], taken[place] = place, one
                return
            if layers[owner] == (layers[index] or 0) + 1:
                path.append((index, position))
                index = owner
                break
        else:
            layers[index] = None
            if not path:
                return
            index, _ = path.pop()


def _difference(expected: Json, actual: Json, path: str) -> Difference | None:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            place = f"{path}.{key}" if _SIMPLE_KEY.fullmatch(key) else f"{path}[{show(key)}]"
            if key not in actual:
                return Difference(path=place, expected=value, actual=MISSING)
            if found := _difference(value, actual[key], place):
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        return _list_difference(expected, actual, path)
    return None if contains(expected, actual) else Difference(path=path, expected=expected, actual=actual)


def _list_difference(expected: list[Json], actual: list[Json], path: str) -> Difference | None:
    wanted, given = _without_equals(expected, actual)
    partners = _partners(wanted, given)
    alone = next((one for one, partner in zip(wanted, partners, strict=True) if partner is None), None)
    if alone is None:
        return None
    _, item, index = alone
    used = set(partners)
    free = (candidate for position, (_, candidate, _) in enumerate(given) if position not in used)
    place = f"{path}[{index}]"
    nearest = max(islice(free, _CANDIDATES), key=lambda candidate: _likeness(item, candidate), default=MISSING)
    if nearest is MISSING:
        return Difference(path=place, expected=item, actual=MISSING)
    return _difference(item, nearest, place)


def _likeness(expected: Json, actual: Json) -> int:
    """How much of an expected item a candidate has: the number of its parts that are contained, and its type."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return 1 + sum(key in actual and contains(value, actual[key]) for key, value in expected.items())
    return int(kind(expected) == kind(actual))
