"""What jsonschema found, in sentences of our own: where, what was expected, what stands there instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pytest_release_gate.jsonl import name, quote
from pytest_release_gate.model import Json

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_MOST_SHOWN = 8
_NOT_HERE = "is not allowed here"
_KINDS = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "object": "an object",
    "array": "an array",
    "boolean": "true or false",
    "null": "null",
}
_BOOLEANS = (object(), object())
_TYPES: tuple[tuple[type[Any], str], ...] = ((bool, ""), (str, "string"), (dict, "object"), (list, "array"))


def place(at: Iterable[str | int]) -> str:
    """A path into JSON, dotted, and ready for what follows it: `tool_calls[0].arguments: `; "" for the whole."""
    text = ""
    for step in at:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _WORD.fullmatch(step) and len(step) <= 80:
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return f"{text}: " if text else ""


def found(value: Json) -> str:
    """What stands there, with its type: `the string "760"`, `an object`, `null`."""
    for kind, word in _TYPES:
        if isinstance(value, kind):
            if not word:
                return quote(value)
            return f"the string {quote(value)}" if word == "string" else _KINDS[word]
    return "null" if value is None else f"the number {quote(value)}"


def mistyped(value: Json, wanted: Sequence[str]) -> str:
    """The sentence for a value of another type than one of `wanted`, which are JSON Schema's names."""
    words = list(dict.fromkeys(_KINDS.get(word, word) for word in wanted))
    expected = " or ".join(([", ".join(words[:-1])] if len(words) > 1 else []) + words[-1:])
    if isinstance(value, str) and {"object", "array"} & set(wanted) and "string" not in wanted:
        return f"expected {expected}, found a string; if it is JSON text, decode it when recording"
    return f"expected {expected}, found {found(value)}"


def not_among(value: Json, allowed: Sequence[Json]) -> str:
    """The sentence for a value that is none of those allowed."""
    shown = ", ".join(quote(each) for each in allowed[:_MOST_SHOWN])
    more = ", …" if len(allowed) > _MOST_SHOWN else ""
    return f"{quote(value)} is none of {cut(shown)}{more}"


def cut(text: str, most: int = 300) -> str:
    """A text as it is, but not all of a long one."""
    return text if len(text) <= most else text[: most - 1] + "…"


def repeated(items: Sequence[Json]) -> int | None:
    """The index of the first item that stands earlier in the list as well, by value; None if all differ."""
    seen = set()
    for index, item in enumerate(items):
        key = _key(item)
        if key in seen:
            return index
        seen.add(key)
    return None


def sentences(errors: Iterable[Any], patterns: Mapping[str, str]) -> list[str]:
    """All that jsonschema's errors say, in the order of their places; each sentence once.

    :param patterns: pattern as Python writes it → as the schema does.
    """
    said: list[tuple[list[tuple[bool, int, str]], str]] = []
    for error in errors:
        path = list(error.absolute_path)
        order = [(True, 0, step) if isinstance(step, str) else (False, step, "") for step in path]
        said += [(order, text) for text in _said(error, patterns)]
    said.sort(key=lambda pair: pair[0])
    return list(dict.fromkeys(text for _, text in said))


def _key(value: Json) -> Any:
    """Hashable, and equal exactly for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return frozenset((key, _key(part)) for key, part in value.items())
    if isinstance(value, list):
        return tuple(map(_key, value))
    return _BOOLEANS[value] if isinstance(value, bool) else value


def _said(error: Any, patterns: Mapping[str, str]) -> list[str]:
    """The sentences for an error; of several forms, those that keep the value from the nearest one."""
    if error.validator in ("anyOf", "oneOf") and (nearest := _nearest(error)):
        return [text for each in nearest for text in _said(each, patterns)]
    return [place(error.absolute_path) + text for text in _texts(error, patterns)]


def _texts(error: Any, patterns: Mapping[str, str]) -> list[str]:
    value, bound = error.instance, error.validator_value
    if error.validator is None:
        return [_NOT_HERE]
    if error.validator in _SEVERAL:
        return _SEVERAL[error.validator](error, patterns)
    if error.validator == "pattern":
        return [f"{quote(value)} does not match the pattern {cut(patterns.get(bound, bound))}"]
    if error.validator in _SIMPLE:
        return [_SIMPLE[error.validator](value, bound)]
    return [cut(f"does not fit {name(error.validator)}: {quote(bound)}")]


def _missing(error: Any, patterns: Mapping[str, str]) -> list[str]:
    return [f"{name(key)} is missing" for key in error.validator_value if key not in error.instance]


def _depending(error: Any, patterns: Mapping[str, str]) -> list[str]:
    return [
        f"{name(key)} is missing, which {name(given)} needs"
        for given, keys in error.validator_value.items()
        if given in error.instance
        for key in keys
        if key not in error.instance
    ]


def _unexpected(error: Any, patterns: Mapping[str, str]) -> list[str]:
    known = error.schema.get("properties", {})
    allowed = [re.compile(pattern) for pattern in error.schema.get("patternProperties", {})]
    extra = [key for key in error.instance if key not in known and not any(p.search(key) for p in allowed)]
    absent = [key for key in known if key not in error.instance]
    return [f"unexpected field {name(key)}{_meant(key, absent)}" for key in sorted(extra)]


def _unnamed(error: Any, patterns: Mapping[str, str]) -> list[str]:
    # Which fields were evaluated is known to jsonschema alone; its message names those that were not.
    extra = [key for key in error.instance if repr(key) in error.message]
    return [f"unexpected field {name(key)}" for key in sorted(extra)]


def _meant(key: str, known: Sequence[str]) -> str:
    near = get_close_matches(key[:100], known, 1)
    return f", did you mean {name(near[0])}?" if near else ""


def _nearest(error: Any) -> list[Any]:
    """The errors of the form that a value nearly has; none if a sentence about all forms says more."""
    return [] if _types(error) else min(_branches(error).values(), key=_distance, default=[])


def _branches(error: Any) -> dict[int, list[Any]]:
    branches: dict[int, list[Any]] = {}
    for each in error.context:
        branches.setdefault(each.relative_schema_path[0], []).append(each)
    return branches


def _types(error: Any) -> list[str]:
    """The types of all forms, if a value has none of them."""
    top = [each for each in error.context if each.validator == "type" and not each.relative_path]
    if len(top) < len(error.context):
        return []
    wanted = [each.validator_value for each in top]
    return [word for words in wanted for word in ([words] if isinstance(words, str) else words)]


def _no_form(error: Any, patterns: Mapping[str, str]) -> list[str]:
    if error.context:
        return [mistyped(error.instance, _types(error))]
    return ["fits more than one of the forms of which exactly one is allowed"]


def _distance(branch: list[Any]) -> tuple[bool, bool, int, int]:
    """How far a value is from a form: another type is farthest, then another kind; errors deep inside are near."""
    wrong_type = any(each.validator == "type" and not each.relative_path for each in branch)
    wrong_kind = any(each.validator == "const" for each in branch)
    return wrong_type, wrong_kind, -max(len(each.relative_path) for each in branch), len(branch)


def _is(words: str) -> Callable[[Json, Json], str]:
    return lambda value, bound: f"{quote(value)} {words} {quote(bound)}"


def _count(words: str, unit: str) -> Callable[[Json, Json], str]:
    def sentence(value: Any, bound: int) -> str:
        return f"expected {words} {bound} {unit}{'' if bound == 1 else 's'}, found {len(value)}"

    return sentence


def _twice(value: Json, bound: Json) -> str:
    index = repeated(value)
    return "has an item twice" if index is None else f"has {quote(value[index])} twice"


_SEVERAL: Mapping[str, Callable[[Any, Mapping[str, str]], list[str]]] = {
    "required": _missing,
    "dependentRequired": _depending,
    "additionalProperties": _unexpected,
    "unevaluatedProperties": _unnamed,
    "anyOf": _no_form,
    "oneOf": _no_form,
}
_SIMPLE: Mapping[str, Callable[[Json, Json], str]] = {
    "type": lambda value, bound: mistyped(value, [bound] if isinstance(bound, str) else bound),
    "enum": not_among,
    "const": _is("is not"),
    "minimum": _is("is less than the minimum"),
    "maximum": _is("is more than the maximum"),
    "exclusiveMinimum": _is("is not more than"),
    "exclusiveMaximum": _is("is not less than"),
    "multipleOf": _is("is not a multiple of"),
    "format": lambda value, bound: f"{quote(value)} is no valid {bound}",
    "not": lambda value, bound: f"{quote(value)} is what the schema excludes: {quote(bound)}" if bound else _NOT_HERE,
    "minLength": _count("at least", "character"),
    "maxLength": _count("at most", "character"),
    "minItems": _count("at least", "item"),
    "maxItems": _count("at most", "item"),
    "minProperties": _count("at least", "field"),
    "maxProperties": _count("at most", "field"),
    "uniqueItems": _twice,
    "contains": lambda value, bound: f"no item fits {quote(bound)}",
    "minContains": lambda value, bound: f"too few items fit what it must contain, at least {bound} must",
    "maxContains": lambda value, bound: f"too many items fit what it must contain, at most {bound} may",
    "unevaluatedItems": lambda value, bound: "has items that the schema does not name",
    "items": lambda value, bound: "has more items than the schema allows",
}
