r"""Regular expressions of JSON Schema (ECMA-262) for Python's engine, and none that can run for ever.

A pattern is parsed, because the two dialects differ where it hurts: Python's `$` also matches before a final line feed,
its `\d` takes digits of every script, its `\Z` and `(?i)` mean something else or nothing in ECMA-262. What has no equal
in both is refused by name.

While parsing, the pattern's automaton (Glushkov's: one state for each character class) is built with the number of ways
that lead from each state to each other one. If two different ways lead from a state back to itself over the same text,
a backtracking engine tries exponentially many of them, and the pattern is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeVar

T = TypeVar("T")

# Character classes are sorted, disjoint ranges of code points.
Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_LINE_END: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
_COUNT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_NAME = re.compile(r"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>")
# More states than this are not told apart one by one: long repeats then count as endless ones.
_MOST_STATES = 300
# A repeat of something that itself varies in length counts as endless from here on: (a{1,50}){1,50} is as bad as (a+)+.
_MOST_VARYING = 3
# Pairs of ways that are looked at before a pattern counts as too large.
_MOST_STEPS = 1_000_000
_EXPONENTIAL = "can take exponential time, because it matches one text in many ways; make it unambiguous"


class PatternError(ValueError):
    """Why a pattern can't be used, in words that follow its place."""


def translate(pattern: str) -> str:
    """An ECMA-262 pattern as one for `re.search`.

    :raises PatternError: if it is no pattern, not one for both dialects, or can backtrack exponentially.
    """
    try:
        parser = _Parser(pattern)
        result = parser.whole()
        if _exponential(parser.automaton):
            raise PatternError(_EXPONENTIAL)
        re.compile(result.text)
    except (re.error, OverflowError) as error:
        raise PatternError(f"can't be used: {error}") from None
    except RecursionError:
        raise PatternError("is nested too deeply; make it simpler") from None
    return result.text


@dataclass(slots=True)
class _Automaton:
    # What each state takes.
    takes: list[Ranges] = field(default_factory=list)
    # From state to state: in how many ways, 2 for many.
    ways: dict[int, Counter[int]] = field(default_factory=dict)

    def connect(self, last: Counter[int], first: Counter[int]) -> None:
        for source, many in last.items():
            targets = self.ways.setdefault(source, Counter())
            for target, more in first.items():
                targets[target] = min(2, targets[target] + many * more)


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a pattern: how Python writes it, and how the automaton runs through it."""

    text: str = ""
    # States it can begin and end with, each with its number of ways.
    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    # In how many ways it takes nothing.
    empty: int = 1
    # In characters; None if it varies.
    length: int | None = 0


def _scaled(counter: Counter[int], factor: int) -> Counter[int]:
    return Counter({key: min(2, many * factor) for key, many in counter.items() if factor})


def _sum(one: Counter[int], two: Counter[int]) -> Counter[int]:
    return Counter({key: min(2, one[key] + two[key]) for key in {**one, **two}})


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.automaton = _Automaton()

    def whole(self) -> _Part:
        part = self.choice()
        if self.at < len(self.pattern):
            raise PatternError("has a ) without its (; escape it as \\)")
        return part

    def choice(self) -> _Part:
        branches = [self.sequence()]
        while self.taken("|"):
            branches.append(self.sequence())
        if len(branches) == 1:
            return branches[0]
        lengths = {branch.length for branch in branches}
        return _Part(
            text="|".join(branch.text for branch in branches),
            first=reduce(_sum, (branch.first for branch in branches)),
            last=reduce(_sum, (branch.last for branch in branches)),
            empty=min(2, sum(branch.empty for branch in branches)),
            length=lengths.pop() if len(lengths) == 1 else None,
        )

    def sequence(self) -> _Part:
        part = _Part()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            part = self.joined(part, self.repeated())
        return part

    def joined(self, one: _Part, two: _Part) -> _Part:
        self.automaton.connect(one.last, two.first)
        return _Part(
            text=one.text + two.text,
            first=_sum(one.first, _scaled(two.first, one.empty)),
            last=_sum(two.last, _scaled(one.last, two.empty)),
            empty=min(2, one.empty * two.empty),
            length=None if one.length is None or two.length is None else one.length + two.length,
        )

    def repeated(self) -> _Part:
        start, states = self.at, len(self.automaton.takes)
        atom = self.atom()
        body = self.pattern[start : self.at]
        count = self.count()
        if count is None:
            return atom
        if body in ("^", "$", "\\b", "\\B") or body.startswith(_LOOKS):
            raise PatternError(f"repeats {body}, which takes no text; leave the repeat out")
        least, most, written = count
        lazy = "?" if self.taken("?") else ""
        after = self.at
        part = self.unrolled(atom, least, most, start, states)
        self.at = after
        return _Part(f"{atom.text}{written}{lazy}", part.first, part.last, part.empty, part.length)

    def count(self) -> tuple[int, int | None, str] | None:
        """Least, most (None: no end) and how it is written; None if nothing is repeated here."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.taken(sign):
                return least, most, sign
        match = _COUNT.match(self.pattern, self.at)
        if not match:
            return None
        self.at = match.end()
        fewest = int(match[1])
        highest = fewest if match[2] is None else int(match[3]) if match[3] else None
        if highest is not None and highest < fewest:
            raise PatternError(f"repeats {match[0]}, which is upside down")
        return fewest, highest, match[0]

    def unrolled(self, atom: _Part, least: int, most: int | None, start: int, states: int) -> _Part:
        """A repeat as copies of its body; the last one loops if there is no end, or if the copies would be too many."""
        size = len(self.automaton.takes) - states
        if not size:  # it takes nothing, however often
            return atom
        many = max(least, most or 0)
        varying = atom.length is None and many > _MOST_VARYING
        if varying and atom.empty:  # (a?){30}: which of the thirty are empty?
            raise PatternError(_EXPONENTIAL)
        if varying or (many > 1 and len(self.automaton.takes) + size * (many - 1) > _MOST_STATES):
            least, most = min(least, 1), None
        if most == 0:
            return _Part()
        copies = [atom]
        while len(copies) < max(least, most or 1):
            self.at = start
            copies.append(self.atom())
        if most is None:
            copies[-1] = self.looped(copies[-1])
            tail = copies.pop() if least else self.optional(copies.pop())
        else:
            tail = copies.pop() if len(copies) == least else self.optional(copies.pop())
        # x{1,3} is x(x(x)?)?: each text is matched in one way.
        while copies:
            tail = self.joined(copies.pop(), tail)
            if len(copies) >= least:
                tail = self.optional(tail)
        fixed = atom.length is not None and most == least
        return _Part(tail.text, tail.first, tail.last, tail.empty, (atom.length or 0) * least if fixed else None)

    def looped(self, part: _Part) -> _Part:
        self.automaton.connect(part.last, part.first)
        return part

    def optional(self, part: _Part) -> _Part:
        return _Part(part.text, part.first, part.last, min(2, part.empty + 1), None)

    def atom(self) -> _Part:
        character = self.pattern[self.at]
        if character == "(":
            return self.group()
        if character == "[":
            return self.state(self.character_class())
        self.at += 1
        if character == "^":
            return _Part("^")
        if character == "$":
            return _Part("\\Z")
        if character == ".":
            return self.state(_complement(_LINE_END))
        if character == "\\":
            return self.escaped()
        if character in "*+?" or (character == "{" and _COUNT.match(self.pattern, self.at - 1)):
            raise PatternError(f"has {character} with nothing to repeat; escape it as \\{character}")
        return self.state(((ord(character), ord(character)),))

    def group(self) -> _Part:
        look = next((look for look in reversed(_LOOKS) if self.taken(look)), "")
        name = _NAME.match(self.pattern, self.at)
        if name and not look:
            self.at = name.end()
        elif not look and not self.taken("(?:"):
            self.at += 1
            if self.pattern[self.at : self.at + 1] == "?":
                raise PatternError(f"has {self.pattern[self.at - 1 : self.at + 2]}, which ECMA-262 does not have")
        inside = self.choice()
        if not self.taken(")"):
            raise PatternError("has a ( without its ); escape it as \\(")
        if look:
            # It takes nothing itself; ambiguity inside it is found in the automaton all the same.
            return _Part(f"{look}{inside.text})")
        return _Part(f"(?:{inside.text})", inside.first, inside.last, inside.empty, inside.length)

    def state(self, ranges: Ranges) -> _Part:
        number = len(self.automaton.takes)
        self.automaton.takes.append(ranges)
        return _Part(_written(ranges), Counter({number: 1}), Counter({number: 1}), 0, 1)

    def escaped(self) -> _Part:
        following = self.pattern[self.at : self.at + 1]
        if following and following in "bB":
            self.at += 1
            return _Part(f"(?a:\\{following})")
        return self.state(self.escape())

    def escape(self) -> Ranges:
        """What follows a backslash, as a class."""
        letter = self.pattern[self.at : self.at + 1]
        self.at += 1
        if letter.lower() in _CLASSES and letter:
            ranges = _CLASSES[letter.lower()]
            return ranges if letter.islower() else _complement(ranges)
        code = self.code(letter)
        return ((code, code),)

    def code(self, letter: str) -> int:
        if letter in _CONTROLS and letter and not (letter == "0" and self.pattern[self.at : self.at + 1].isdigit()):
            return _CONTROLS[letter]
        if letter == "c" and re.match("[A-Za-z]", self.pattern[self.at : self.at + 1]):
            self.at += 1
            return ord(self.pattern[self.at - 1]) % 32
        if letter in ("x", "u"):
            match = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}").match(
                self.pattern, self.at - 1
            )
            if match and (code := int(match[1] or match[2] or match[3], 16)) <= _LAST:
                self.at = match.end()
                return self.paired(code)
        if not letter or letter.isalnum():
            raise PatternError(f"has \\{letter}, which is not supported here; spell it out")
        return ord(letter)

    def paired(self, high: int) -> int:
        """A surrogate pair written as two escapes is one character."""
        low = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})").match(self.pattern, self.at)
        if not (0xD800 <= high <= 0xDBFF and low):
            return high
        self.at = low.end()
        return 0x10000 + ((high - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)

    def character_class(self) -> Ranges:
        self.at += 1
        negated = self.taken("^")
        ranges: list[tuple[int, int]] = []
        while not self.taken("]"):
            start = self.member()
            if self.pattern.startswith("-", self.at) and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                start = _range(start, self.member())
            ranges += start
        found = _normal(ranges)
        return _complement(found) if negated else found

    def member(self) -> Ranges:
        character = self.pattern[self.at : self.at + 1]
        if not character:
            raise PatternError("has a [ without its ]; escape it as \\[")
        self.at += 1
        if character != "\\":
            return ((ord(character), ord(character)),)
        if self.taken("b"):
            return ((8, 8),)
        return self.escape()

    def taken(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) * found
        return found


def _range(start: Ranges, end: Ranges) -> Ranges:
    r"""From one member of a class to another; beside a class such as `\w` the `-` is itself."""
    low, high = start[0][0], end[0][0]
    if start != ((low, low),) or end != ((high, high),):
        return (*start, (0x2D, 0x2D), *end)
    if low > high:
        raise PatternError("has a range out of order in a character class; escape the - as \\-")
    return ((low, high),)


def _normal(ranges: list[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for low, high in ranges for edge in (low, high)), _LAST + 1]
    return tuple((low + 1, high - 1) for low, high in zip(edges[::2], edges[1::2], strict=True) if low + 1 <= high - 1)


def _written(ranges: Ranges) -> str:
    """A class as Python writes it."""
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return re.escape(chr(ranges[0][0]))
    return "[" + "".join(_member(low) + (f"-{_member(high)}" if high > low else "") for low, high in ranges) + "]"


def _member(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\U{code:08x}"


def _overlap(one: Ranges, two: Ranges) -> bool:
    return any(low <= other_high and other_low <= high for low, high in one for other_low, other_high in two)


def _exponential(automaton: _Automaton) -> bool:
    """Whether two different ways lead from a state back to itself over the same text."""
    for component in _components({state: list(targets) for state, targets in automaton.ways.items()}):
        inside = set(component)
        ways = {p: {q: n for q, n in automaton.ways.get(p, Counter()).items() if q in inside} for p in component}
        if any(many > 1 for targets in ways.values() for many in targets.values()):
            return True
        if _splits_and_meets(ways, automaton.takes):
            return True
    return False


def _splits_and_meets(ways: dict[int, dict[int, int]], takes: list[Ranges]) -> bool:
    """Whether two runs over one text can be in one state, then in two, then in one again.

    In the square of the automaton that is a cycle through a pair of equal states and a pair of unequal ones.
    """
    alike = {(p, q) for p in ways for q in ways if _overlap(takes[p], takes[q])}
    waiting = [(p, p) for p in ways]
    square: dict[tuple[int, int], list[tuple[int, int]]] = {}
    steps = 0
    while waiting:
        pair = waiting.pop()
        if pair in square:
            continue
        square[pair] = [(p, q) for p in ways[pair[0]] for q in ways[pair[1]] if (p, q) in alike]
        steps += len(ways[pair[0]]) * len(ways[pair[1]])
        if steps > _MOST_STEPS:
            raise PatternError("is too large to be checked for exponential time; make it simpler")
        waiting += square[pair]
    return any(
        any(p == q for p, q in component) and any(p != q for p, q in component) for component in _components(square)
    )


def _components(graph: Mapping[T, Sequence[T]]) -> list[list[T]]:
    """The strongly connected components of a graph (Kosaraju's algorithm, without recursion)."""
    order: list[T] = []
    seen: set[T] = set()
    for root in graph:
        stack: list[tuple[T, Iterator[T]]] = []
        if root not in seen:
            seen.add(root)
            stack.append((root, iter(graph[root])))
        while stack:
            node, targets = stack[-1]
            target = next((t for t in targets if t not in seen), None)
            if target is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(target)
                stack.append((target, iter(graph.get(target, ()))))
    backward: dict[T, list[T]] = {}
    for node, nodes in graph.items():
        for target in nodes:
            backward.setdefault(target, []).append(node)
    components = []
    for root in reversed(order):
        component: list[T] = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node in seen:
                seen.discard(node)
                component.append(node)
                waiting += backward.get(node, ())
        components.append(component)
    return [component for component in components if component]
