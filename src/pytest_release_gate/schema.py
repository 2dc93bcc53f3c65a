"""JSON Schema, draft 2020-12, asserted as a whole: what a schema says and this can't hold a record to is refused.

Nothing is fetched and no file is opened from here: references reach the document itself and its siblings, the documents
that the caller has read from the schema's own folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from pytest_release_gate.complaints import cut, place, repeated, sentences
from pytest_release_gate.errors import Problem
from pytest_release_gate.fast import first_look
from pytest_release_gate.jsonl import name, quote
from pytest_release_gate.model import Json
from pytest_release_gate.patterns import PatternError, translate

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MOST_COMPLAINTS = 5


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Keywords that hold a schema, a list of schemas, schemas by name.
_ONE = _words(
    "items contains additionalProperties propertyNames if then else not unevaluatedItems "
    "unevaluatedProperties contentSchema"
)
_LIST = _words("prefixItems allOf anyOf oneOf")
_NAMED = _words("$defs definitions properties patternProperties dependentSchemas")
_PLAIN = _words(
    "$schema $id $anchor $dynamicAnchor $ref $dynamicRef $comment $vocabulary type enum const multipleOf "
    "maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems "
    "uniqueItems maxContains minContains maxProperties minProperties required dependentRequired format title "
    "description default deprecated readOnly writeOnly examples contentEncoding contentMediaType"
)
_KNOWN = _ONE | _LIST | _NAMED | _PLAIN
# What difflib would not find.
_RENAMED = {
    "dependencies": "dependentRequired",
    "additionalItems": "items",
    "id": "$id",
    "$recursiveRef": "$dynamicRef",
    "$recursiveAnchor": "$dynamicAnchor",
}
# What says something about an object; a type alone says nothing about a record, which is an object anyway.
_CONSTRAINING = _words(
    "properties required patternProperties additionalProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas unevaluatedProperties $ref $dynamicRef allOf anyOf oneOf not if enum "
    "const"
)
# What a record can't be.
_OTHERS: tuple[Json, ...] = ([], "", 0, None)
_SIBLING = re.compile(r"[^/\\:#?%]+")


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema that was found usable. Pickled as what it was compiled from: a validator can't travel."""

    # The file, relative to the root.
    path: str
    # What is odd about it, but no reason to refuse it.
    warnings: tuple[Problem, ...]
    _validator: Any = field(repr=False, compare=False)
    # As Python writes it → as the schema does.
    _patterns: Mapping[str, str] = field(repr=False, compare=False)
    # The document, and those of its siblings.
    _source: tuple[Json, Mapping[str, Json]] = field(repr=False)
    # Whether a value fits for sure; None: only the validator can tell.
    _fits: Callable[[Json], bool] | None = field(repr=False, compare=False, default=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.path, *self._source)

    def complaints(self, value: Json, path: str, line: int | None = None) -> list[Problem]:
        """Why a value does not fit the schema, at most five sentences; none if it does.

        :param path: the file that the value stands in.
        """
        if self._fits is not None and self._fits(value):
            return []
        try:
            errors = list(self._validator.iter_errors(value))
            found = sentences(errors, self._patterns) if errors else []
        except RecursionError:
            found = [f"can't be checked: the schema {self.path} refers to itself without end, or the value is too deep"]
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            found = [f"can't be checked by the schema {self.path}: {quote(why, 200)}"]
        if len(found) > _MOST_COMPLAINTS:
            more = len(found) - _MOST_COMPLAINTS
            found[_MOST_COMPLAINTS - 1 :] = [f"{found[_MOST_COMPLAINTS - 1]} (and {more} more on this line)"]
        return [Problem(path=path, line=line, message=message) for message in found]


def referenced_files(document: Json) -> set[str]:
    """The names of the files beside a schema that it refers to."""
    found = set()
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            for keyword in ("$ref", "$dynamicRef"):
                ref = value.get(keyword)
                file = ref.partition("#")[0] if isinstance(ref, str) else ""
                if _SIBLING.fullmatch(file) and file not in (".", ".."):
                    found.add(file)
    return found


def compile_schema(
    document: Json,
    path: str,
    problems: list[Problem],
    siblings: Mapping[str, Json] = MappingProxyType({}),
) -> Schema | None:
    """A schema for records; None if, and only if, a problem was appended.

    :param document: the schema, as JSON.
    :param path: the file it stands in, relative to the root.
    :param siblings: name of a file in the same folder → its document, for `$ref`.
    """
    compiler = _Compiler(path, document, siblings)
    compiler.check()
    problems += compiler.problems
    if compiler.problems:
        return None
    validator = compiler.validator()
    source, fits = (document, dict(siblings)), None if siblings else first_look(document)
    return Schema(path, tuple(compiler.warnings), validator, compiler.patterns, source, fits)


def _again(path: str, document: Json, siblings: Mapping[str, Json]) -> Schema:
    problems: list[Problem] = []
    schema = compile_schema(document, path, problems, siblings)
    assert schema is not None, f"was found usable before it travelled: {problems}"
    return schema


class _Compiler:
    """Checks a schema and its siblings, and rewrites copies of them for the engine."""

    def __init__(self, path: str, document: Json, siblings: Mapping[str, Json]) -> None:
        self.folder, self.own = PurePosixPath(path).parent, PurePosixPath(path).name
        self.documents = {self.own: _copy(document)}
        self.documents |= {n: _copy(d) for n, d in siblings.items() if n != self.own and isinstance(d, dict | bool)}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.patterns: dict[str, str] = {}
        self.seen: set[int] = set()
        # Where a reference stands, itself, and what resolves it.
        self.references: list[tuple[str, tuple[str | int, ...], str, Any]] = []
        self.registry: Registry[Any] = Registry()

    @property
    def root(self) -> Json:
        return self.documents[self.own]

    def check(self) -> None:
        for file, document in self.documents.items():
            if not self.is_schema(file, document):
                return
        self.register()
        for file, document in self.documents.items():
            resource = DRAFT202012.create_resource(document)
            resolver = self.registry.resolver_with_root(resource)
            self.walk(document, file, (), resolver if resource.id() else self.registry.resolver(base_uri=file))
        # A reference can lead to a place that no keyword leads to, with references of its own.
        while self.references:
            self.follow(*self.references.pop(0))
        if not self.problems:
            self.constrains()

    def complain(self, file: str, message: str) -> None:
        self.problems.append(Problem(path=str(self.folder / file), message=message))

    def is_schema(self, file: str, document: Json) -> bool:
        """Whether the dialect is ours and the metaschema is content; nothing else can be asked otherwise."""
        before = len(self.problems)
        found = document.get("$schema") if isinstance(document, dict) else None
        if found is not None and not _is_dialect(found):
            message = f'"$schema" is {quote(found)}, but schemas are read as draft 2020-12; write it for {DIALECT}'
            self.complain(file, message)
            return False
        try:
            for message in sentences(list(_METASCHEMA.iter_errors(document)), {}):
                self.complain(file, f"is no valid schema: {message}")
        except RecursionError:
            self.complain(file, "is nested too deeply for a schema; split it with $defs")
        return len(self.problems) == before

    def register(self) -> None:
        base = self.root.get("$id", "") if isinstance(self.root, dict) else ""
        for file, document in self.documents.items():
            resource = DRAFT202012.create_resource(document)
            names = {file, urljoin(base, file), resource.id() or file}
            self.registry = self.registry.with_resources((uri, resource) for uri in sorted(names))
        self.registry = self.registry.crawl()

    def walk(self, schema: Json, file: str, at: tuple[str | int, ...], resolver: Any) -> None:
        """Look at a schema and all within it; the order is the document's."""
        if not isinstance(schema, dict) or id(schema) in self.seen:
            return
        self.seen.add(id(schema))
        if at and "$id" in schema:
            resolver = resolver.in_subresource(DRAFT202012.create_resource(schema))
        self.look_at(schema, file, at)
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in schema:
                self.references.append((file, (*at, keyword), schema[keyword], resolver))
        for where, part in _parts(schema):
            self.walk(part, file, (*at, *where), resolver)
        _place_refusals(schema)
        if "pattern" in schema:
            schema["pattern"] = self.pattern(schema["pattern"], file, (*at, "pattern"))
        if "patternProperties" in schema:
            where = (*at, "patternProperties")
            named = schema["patternProperties"].items()
            schema["patternProperties"] = {self.pattern(key, file, where): part for key, part in named}

    def look_at(self, schema: dict[str, Json], file: str, at: tuple[str | int, ...]) -> None:
        """The keywords of one schema, not those within it."""
        # With it, jsonschema would take its own validator in place of ours.
        dialect = schema.pop("$schema", DIALECT)
        if not _is_dialect(dialect):
            self.complain(file, f"{place((*at, '$schema'))}{quote(dialect)} is not draft 2020-12, as the rest is")
        if "format" in schema and schema["format"] not in _FORMATS.checkers:
            known = ", ".join(sorted(_FORMATS.checkers))
            where = place((*at, "format"))
            self.complain(file, f"{where}the format {quote(schema['format'])} can't be checked here; there are {known}")
        for keyword in schema:
            if keyword not in _KNOWN and not keyword.startswith("x-"):
                near = _RENAMED.get(keyword) or next(iter(get_close_matches(keyword, _KNOWN, 1)), "")
                hint = f", did you mean {name(near)}?" if near else ""
                message = f"{place(at)}the unknown keyword {name(keyword)} has no effect{hint}"
                self.warnings.append(Problem(path=str(self.folder / file), message=message))

    def follow(self, file: str, at: tuple[str | int, ...], ref: str, resolver: Any) -> None:
        try:
            found = resolver.lookup(ref)
        except (Unresolvable, LookupError, ValueError, TypeError):
            message = f"{quote(ref)} can't be resolved; refer to a place in this file or in one beside it"
            self.complain(file, place(at) + message)
            return
        if not isinstance(found.contents, dict | bool):
            self.complain(file, f"{place(at)}{quote(ref)} leads to something that is no schema")
            return
        self.walk(found.contents, file, (*at, ref), found.resolver)

    def pattern(self, pattern: str, file: str, at: tuple[str | int, ...]) -> str:
        try:
            translated = translate(pattern)
        except PatternError as error:
            self.complain(file, f"{place(at)}the pattern {cut(pattern)} {error}")
            return pattern
        self.patterns[translated] = pattern
        return translated

    def constrains(self) -> None:
        """Whether the schema can refuse a record at all."""
        root = self.root
        said = [root[word] for word in _CONSTRAINING if word in root] if isinstance(root, dict) else []
        if root is False:
            self.complain(self.own, 'allows nothing, so no record can fit; name the fields with "properties"')
        elif all(value is True or value in ({}, []) for value in said):
            message = 'allows everything, so it checks nothing; name the fields with "properties" and "required"'
            self.complain(self.own, message)
        else:
            self.refuses()

    def refuses(self) -> None:
        """Whether the schema refuses what is no object; one that never ends shows here at the latest."""
        validator = self.validator()
        try:
            for other in _OTHERS:
                if validator.is_valid(other):
                    self.complain(self.own, f'accepts {quote(other)}, but a record is an object; add "type": "object"')
                    return
        except Exception as error:
            endless = isinstance(error, RecursionError)
            why = "it refers to itself without end" if endless else quote(f"{type(error).__name__}: {error}", 200)
            self.complain(self.own, f"can't be used: {why}")

    def validator(self) -> Any:
        return _Validator(self.root, registry=self.registry, format_checker=_FORMATS)


def _is_dialect(uri: Json) -> bool:
    return isinstance(uri, str) and uri.removesuffix("#") == DIALECT


def _copy(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value


def _parts(schema: dict[str, Json]) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    for keyword, value in list(schema.items()):
        if keyword in _ONE:
            yield (keyword,), value
        elif keyword in _LIST:
            yield from (((keyword, index), part) for index, part in enumerate(value))
        elif keyword in _NAMED and isinstance(value, dict):
            yield from (((keyword, key), part) for key, part in value.items())


def _place_refusals(schema: dict[str, Json]) -> None:
    """Write `false` as `{"not": {}}`, which says the same: of `false`, jsonschema doesn't tell the place."""
    for keyword in _NAMED & schema.keys():
        if isinstance(schema[keyword], dict):
            schema[keyword] = {key: {"not": {}} if part is False else part for key, part in schema[keyword].items()}
    if "prefixItems" in schema:
        schema["prefixItems"] = [{"not": {}} if part is False else part for part in schema["prefixItems"]]


def _unique_items(validator: Any, wanted: bool, instance: Json, schema: Json) -> Iterator[ValidationError]:
    """Like jsonschema's, but in one pass: that takes the square of the length for objects, and misses some repeats."""
    if wanted and isinstance(instance, list) and repeated(instance) is not None:
        yield ValidationError("has an item twice")


def _multiple_of(validator: Any, unit: float, instance: Json, schema: Json) -> Iterator[ValidationError]:
    """Like jsonschema's, but as decimals: 0.29 is a multiple of 0.01."""
    if validator.is_type(instance, "number") and (_exact(instance) / _exact(unit)).denominator != 1:
        yield ValidationError("is not a multiple")


def _exact(number: float) -> Fraction:
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


_Validator = extend(Draft202012Validator, {"uniqueItems": _unique_items, "multipleOf": _multiple_of})
_METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])")


def _is_time(value: Json) -> bool:
    return not isinstance(value, str) or bool(_TIME.fullmatch(value))


def _is_date_time(value: Json) -> bool:
    """RFC 3339."""
    if not isinstance(value, str):
        return True
    day, _, time = value.replace("t", "T", 1).partition("T")
    return bool(_TIME.fullmatch(time)) and _FORMATS.conforms(day, "date")


# The same on every machine: those that jsonschema checks without optional packages, and two of our own.
_FORMATS = FormatChecker(["date", "email", "idn-email", "ipv4", "ipv6", "regex", "uuid"])
_FORMATS.checks("time")(_is_time)
_FORMATS.checks("date-time")(_is_date_time)
