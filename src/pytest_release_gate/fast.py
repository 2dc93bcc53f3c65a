"""A first look at a record by jsonschema-rs, where the extra `fast` is installed: what it accepts needs no second one.

It is asked only about schemas of which both engines understand every word alike. Whatever it refuses, doubts or breaks
on is looked at by jsonschema, which has the only say in what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pytest_release_gate.model import Json

_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_LIMITS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_SCHEMAS = frozenset({"additionalProperties", "items", "contains", "propertyNames", "if", "then", "else", "not"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_WORDS = frozenset({"$schema", "title", "description", "$comment", "examples", "default", "type", "required"})
# Up to here every whole number is a double, so that it does not matter which of them is compared.
_EXACT = 2**53
# Of regular expressions what reads alike everywhere: letters, digits, plain classes, counts, anchors at the ends.
_PATTERN = re.compile(
    r"\^?(?:(?:[A-Za-z0-9_§ :,/=#-]|\\\.|\[(?:[A-Za-z0-9_]|a-z|A-Z|0-9|a-f|A-F)+\]"
    r"|\([A-Za-z0-9_]+(?:\|[A-Za-z0-9_]+)*\))(?:[+*?]|\{\d{1,3}(?:,\d{0,3})?\})?)*\$?"
)


def first_look(document: Json) -> Callable[[Json], bool] | None:
    """Whether a value fits a schema for sure; None if jsonschema-rs isn't installed, or the schema isn't plain enough.

    :param document: the schema as it stands in its file, found usable.
    :return: a function; its False means "look again", not "does not fit".
    """
    try:
        import jsonschema_rs
    except ImportError:
        return None
    definitions = document.get("$defs", {}) if isinstance(document, dict) else {}
    # A definition may not refer to others: what nests no deeper than the schema itself ends in both engines alike.
    if not all(_plain(one, {}) for one in definitions.values()) or not _plain(document, definitions):
        return None
    try:
        validator = jsonschema_rs.Draft202012Validator(document)
    except Exception:  # it reads schemas more strictly, or less, than jsonschema: then it has no say
        return None

    def fits(value: Json) -> bool:
        try:
            return bool(validator.is_valid(value))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # its panics are no Exception; a number or a text that it can't hold is a doubt
            return False

    return fits


def _plain(schema: Json, definitions: Mapping[str, Json]) -> bool:
    """Whether every word of a schema, and of those within it, means the same to both engines."""
    if isinstance(schema, bool):
        return True
    return all(_word(keyword, value, schema, definitions) for keyword, value in schema.items())


def _word(keyword: str, value: Json, schema: dict[str, Json], definitions: Mapping[str, Json]) -> bool:
    if keyword in _WORDS:
        return True
    if keyword in _COUNTS:
        return type(value) is int
    if keyword in _LIMITS:
        return type(value) is int and abs(value) <= _EXACT
    if keyword in ("enum", "const"):
        # Numbers are left out: whether 1, 1.0 and true are the same is answered differently.
        return all(one is None or isinstance(one, str | bool) for one in (value if keyword == "enum" else [value]))
    if keyword == "pattern":
        return bool(_PATTERN.fullmatch(value))
    if keyword == "uniqueItems":
        return value is False or _texts(schema.get("items"), definitions)
    if keyword == "$ref":
        return value.removeprefix("#/$defs/") in definitions and value.startswith("#/$defs/")
    if keyword in _SCHEMAS:
        return _plain(value, definitions)
    if keyword in _LISTS:
        return all(_plain(one, definitions) for one in value)
    if keyword in ("properties", "$defs"):
        return all(_plain(one, definitions) for one in value.values())
    return False


def _texts(items: Json, definitions: Mapping[str, Json]) -> bool:
    """Whether all items are strings, so that nobody has to know whether 1, 1.0 and true are the same one."""
    if not isinstance(items, dict):
        return False
    if "$ref" in items:
        return _texts(definitions.get(items["$ref"].removeprefix("#/$defs/")), {})
    return items.get("type") == "string" or ("enum" in items and all(isinstance(one, str) for one in items["enum"]))
