"""A policy's checks, bound once to their arguments; an argument that names a file is bound to what the file holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from pytest_release_gate.documents import Document, of_records, read_markdown
from pytest_release_gate.errors import Problem
from pytest_release_gate.jsonl import read_document, read_records
from pytest_release_gate.judgements import Calibration, read_calibration
from pytest_release_gate.model import Case, Check, CheckFunction, Measure, Output, Reason
from pytest_release_gate.schema import Schema, compile_schema

ReadFile = Callable[[str], tuple[bytes, str] | None]
"""Reads a file that is named relative to the policy: its bytes and how it is called; None if it appended a problem."""

FILE_ARGUMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "field_schema": {"schema": "schema"},
        "tool_arguments_valid": {"tools": "tools"},
        "ids_known": {"known": "records"},
        "judged": {"calibration": "calibration"},
    }
)
"""Check → argument → what the file that it names holds."""

DOCUMENT_CHECKS = frozenset({"citations_exist"})
"""Checks that are given the suite's policy documents, by version."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A check with its arguments. Unlike `functools.partial` it equals its copy in another process."""

    function: CheckFunction
    arguments: Mapping[str, Any]

    def __call__(self, case: Case, output: Output) -> Iterable[str | Reason | Measure]:
        """What the check says of this output."""
        return self.function(case, output, **self.arguments)


def bind(check: Check, read: ReadFile, documents: Mapping[str, Document], problems: list[Problem]) -> Check:
    """The same check, whose function takes a case and an output and nothing else; its arguments hold what it reads."""
    arguments = dict(check.arguments)
    for argument, holds in FILE_ARGUMENTS.get(check.uses, {}).items():
        if argument in arguments:
            arguments[argument] = _READERS[holds](arguments[argument], read, problems)
    if check.uses in DOCUMENT_CHECKS:
        arguments["documents"] = documents
    return replace(check, arguments=arguments, function=Bound(check.function, arguments))


def _schema(name: str, read: ReadFile, problems: list[Problem]) -> Schema | None:
    found = read(name)
    if found is None:
        return None
    document = read_document(*found, problems)
    return None if document is None else compile_schema(document, found[1], problems)


def _tools(name: str, read: ReadFile, problems: list[Problem]) -> dict[str, Schema | None]:
    """One JSON object: tool → schema of its arguments."""
    found = read(name)
    document = read_document(*found, problems) if found else None
    return {
        tool: compile_schema(schema, f"{found[1] if found else name}#{tool}", problems)
        for tool, schema in (document or {}).items()
    }


def _records(given: Mapping[str, str], read: ReadFile, problems: list[Problem]) -> dict[str, Document]:
    """Name → `file.md`, whose headings are ids, or `file.jsonl#key`, whose records have an id at that key."""
    return {name: _ids(value, read, problems) for name, value in given.items()}


def _ids(value: Any, read: ReadFile, problems: list[Problem]) -> Document:
    file, _, key = str(value).partition("#")
    found = read(file)
    if found is None:
        return of_records([])
    data, path = found
    if PurePosixPath(file).suffix == ".md":
        return document(data, path, problems)
    records = read_records(data, path, problems)
    lacking = [record.line for record in records if not isinstance(record.value.get(key), str)]
    if lacking or not key:
        message = f"holds no text at {key!r}; name the key of the ids after a #, as in file.jsonl#id"
        problems.append(Problem(path=path, line=lacking[0] if lacking else None, message=message))
    return of_records(record.value[key] for record in records if isinstance(record.value.get(key), str))


def _calibration(name: str, read: ReadFile, problems: list[Problem]) -> Calibration | None:
    found = read(name)
    return read_calibration(read_records(*found, problems), found[1], problems) if found else None


def document(data: bytes, path: str, problems: list[Problem]) -> Document:
    """A policy document in Markdown; one that is no UTF-8 is a problem and holds nothing."""
    try:
        return read_markdown(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(Problem(path=path, line=line, message="is not UTF-8; save it as UTF-8"))
        return of_records([])


_READERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"schema": _schema, "tools": _tools, "records": _records, "calibration": _calibration}
)
