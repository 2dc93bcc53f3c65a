"""Whether a value is contained in another, and where it fails: recursive subset, with lists by bipartite matching."""

from __future__ import annotations

import enum
import json
import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Final, Literal

from pytest_release_gate.model import Json


class Missing(enum.Enum):
    """The type of `MISSING`, so that type checkers can tell it from a JSON value."""

    MISSING = "nothing"


MISSING: Final = Missing.MISSING
"""Nothing is there, which is not null."""

# How many partners without a match are compared in order to explain a failure.
_CANDIDATES = 20
# How deep a quick comparison looks: deeper than the arguments of calls usually go; each level costs a little.
_GLANCE = 8
# Digits written at a time: no interpreter can be set to refuse so few.
_CHUNK = 500
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
    value, but a boolean equals only a boolean; everything else by type and value. Time is polynomial in the sizes: of
    the values in lists each two different ones are compared once, and each two lists cost a maximum matching.
    """
    return _Matcher().contains(expected, actual)


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
    return _Matcher().difference(expected, actual, "$")


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
    elif isinstance(value, int) and not isinstance(value, bool):
        yield _digits(value)
    else:
        yield json.dumps(value)


def _digits(value: int) -> str:
    """An integer in full, which `str` refuses beyond a length that users can lower."""
    rest, chunks = abs(value), []
    while rest >= 10**_CHUNK:
        rest, chunk = divmod(rest, 10**_CHUNK)
        chunks.append(f"{chunk:0{_CHUNK}}")
    return f"{'-' if value < 0 else ''}{rest}{''.join(reversed(chunks))}"


def _same(expected: Json, actual: Json) -> bool:
    """Two values that are no lists or objects; Python compares an int and a float by exact value."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float):
        return isinstance(actual, int | float) and expected == actual
    return type(expected) is type(actual) and bool(expected == actual)


# A value in a list, the number that it shares with its equals, and its index.
_Numbered = tuple[int, Json, int]


class _Matcher:
    """One comparison of two values: what equals what, and which pairs have been looked at, is found out once.

    Without it nested lists would be numbered and compared again for every pair of the lists around them.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        # By id(): the caller holds both values, so none of their parts can go and leave its id to another.
        self._numbered: dict[int, int] = {}
        self._marks: dict[int, frozenset[Hashable]] = {}
        self._known: dict[tuple[int, int], bool] = {}

    def contains(self, expected: Json, actual: Json) -> bool:
        if isinstance(expected, dict):
            if not isinstance(actual, dict) or not expected.keys() <= actual.keys():
                return False
            return all(self.contains(value, actual[key]) for key, value in expected.items())
        if isinstance(expected, list):
            return isinstance(actual, list) and len(expected) <= len(actual) and self._fits(expected, actual)
        return _same(expected, actual)

    def difference(self, expected: Json, actual: Json, path: str) -> Difference | None:
        if isinstance(expected, dict) and isinstance(actual, dict):
            for key, value in expected.items():
                place = f"{path}.{key}" if _SIMPLE_KEY.fullmatch(key) else f"{path}[{show(key)}]"
                if key not in actual:
                    return Difference(path=place, expected=value, actual=MISSING)
                if found := self.difference(value, actual[key], place):
                    return found
            return None
        if isinstance(expected, list) and isinstance(actual, list):
            return self._list_difference(expected, actual, path)
        if self.contains(expected, actual):
            return None
        return Difference(path=path, expected=expected, actual=actual)

    def _list_difference(self, expected: list[Json], actual: list[Json], path: str) -> Difference | None:
        wanted, given = self._without_equals(expected, actual)
        partners = self._partners(wanted, given)
        alone = next((one for one, partner in zip(wanted, partners, strict=True) if partner is None), None)
        if alone is None:
            return None
        _, item, index = alone
        used = set(partners)
        free = (candidate for position, (_, candidate, _) in enumerate(given) if position not in used)
        place = f"{path}[{index}]"
        nearest = max(islice(free, _CANDIDATES), key=lambda candidate: self._likeness(item, candidate), default=MISSING)
        if nearest is MISSING:
            return Difference(path=place, expected=item, actual=MISSING)
        return self.difference(item, nearest, place)

    def _likeness(self, expected: Json, actual: Json) -> int:
        """How much of an expected item a candidate has: the number of its parts that are contained, and its type."""
        if isinstance(expected, dict) and isinstance(actual, dict):
            return 1 + sum(key in actual and self.contains(value, actual[key]) for key, value in expected.items())
        return int(kind(expected) == kind(actual))

    def _fits(self, expected: Json, actual: Json) -> bool:
        """The same as `contains`, with a memory."""
        pair = self._number(expected), self._number(actual)
        if pair[0] == pair[1]:
            return True
        if pair not in self._known:
            fits = self._list_fits if isinstance(expected, list) else self.contains
            self._known[pair] = fits(expected, actual)
        return self._known[pair]

    def _list_fits(self, expected: list[Json], actual: list[Json]) -> bool:
        """Two lists, since whoever asks about a list has made sure that the other is one too."""
        if len(expected) > len(actual):
            return False
        wanted, given = self._without_equals(expected, actual)
        return not wanted or None not in self._partners(wanted, given, all_or_nothing=True)

    def _number(self, value: Json) -> int:
        """The same for values that contain each other: lists as multisets, booleans apart from numbers."""
        if not isinstance(value, dict | list):
            key: Hashable = ("boolean", value) if isinstance(value, bool) else value
            return self._numbers.setdefault(key, len(self._numbers))
        number = self._numbered.get(id(value))
        if number is None:
            if isinstance(value, dict):
                key = "object", frozenset([(name, self._number(one)) for name, one in value.items()])
            else:
                key = "array", frozenset(Counter([self._number(one) for one in value]).items())
            number = self._numbered[id(value)] = self._numbers.setdefault(key, len(self._numbers))
        return number

    def _glance(self, number: int, value: Json) -> frozenset[Hashable]:
        """Marks of a value, all of which everything that contains it has too: most pairs need no closer look."""
        if number not in self._marks:
            self._marks[number] = frozenset(self._each_mark(value, _GLANCE))
        return self._marks[number]

    def _each_mark(self, value: Json, depth: int) -> Iterator[Hashable]:
        """The types of objects and lists, and the numbers of all else, each with the keys that lead to it."""
        if not isinstance(value, dict | list):
            yield self._number(value)
            return
        yield kind(value)
        if depth:
            # None is no key, so an item can't be taken for a field.
            for key, one in value.items() if isinstance(value, dict) else zip(repeat(None), value, strict=False):
                for mark in self._each_mark(one, depth - 1):
                    yield key, mark

    def _without_equals(self, expected: list[Json], actual: list[Json]) -> tuple[list[_Numbered], list[_Numbered]]:
        """The items that have no equal partner on the other side.

        Pairing equals first loses nothing: being contained is transitive, so if the best matching gives the equal
        partner of `e` to another item, that item is contained in `e`, hence in the partner of `e`: the two can swap.
        """
        there: dict[int, list[int]] = {}
        for index in range(len(actual) - 1, -1, -1):
            there.setdefault(self._number(actual[index]), []).append(index)
        wanted = []
        for index, item in enumerate(expected):
            number = self._number(item)
            if there.get(number):
                there[number].pop()
            else:
                wanted.append((number, item, index))
        given = [(number, actual[index], index) for number, indices in there.items() for index in indices]
        given.sort(key=lambda one: one[2])
        return wanted, given

    def _partners(
        self, wanted: Sequence[_Numbered], given: Sequence[_Numbered], *, all_or_nothing: bool = False
    ) -> list[int | None]:
        """For each wanted item the position of its partner among the given ones, in a maximum matching.

        :param all_or_nothing: stop as soon as an item has no possible partner at all.
        """
        glances = [(at, self._glance(number, item), item) for at, (number, item, _) in enumerate(given)]
        rows: dict[int, list[int]] = {}
        for number, item, _ in wanted:
            if number not in rows:
                marks = self._glance(number, item)
                rows[number] = [at for at, more, other in glances if marks <= more and self._fits(item, other)]
            if all_or_nothing and not rows[number]:
                return [None]
        return assign([rows[number] for number, _, _ in wanted], len(given))


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
