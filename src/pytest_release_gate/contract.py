"""Raw records to nouns: what holds for every case and every output, whatever a suite's own schema allows.

Everything that is wrong is said at once; a noun is made only of a record without a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_release_gate.complaints import found, mistyped, not_among, repeated
from pytest_release_gate.errors import Problem
from pytest_release_gate.jsonl import Record, name, quote, read_records
from pytest_release_gate.matching import look_up
from pytest_release_gate.model import SEVERITIES, Case, Json, Location, Output
from pytest_release_gate.schema import Schema

# Longer than any id that a person can tell from another.
MOST_ID_CHARACTERS = 10_000


def read_case(
    record: Record, path: str, problems: list[Problem], *, version: str = "", version_at: str | None = None
) -> Case | None:
    """A case; None if, and only if, a problem was appended.

    :param path: the file that the record stands in.
    :param version: of the policy document, where cases don't name their own.
    :param version_at: the dotted path at which they do.
    """
    value = record.value
    faults = [
        *_id_faults(value),
        *_text_faults(value, "title"),
        *_text_faults(value, "bucket"),
        *_severity_faults(value),
        *_tag_faults(value),
        *_expected_faults(value),
        *_version_faults(value, version_at),
    ]
    if faults:
        problems += _problems(faults, path, record.line)
        return None
    return Case(
        id=value["case_id"],
        title=value["title"] if "title" in value else value["case_id"],
        severity=value["severity"],
        bucket=value.get("bucket", ""),
        tags=tuple(value.get("tags", ())),
        version=str(look_up(value, version_at)) if version_at else version,
        input=value.get("input", {}),
        expected=value["expected"],
        source=Location(path=path, line=record.line),
    )


def read_output(record: Record, path: str, problems: list[Problem]) -> Output | None:
    """An output; None if, and only if, a problem was appended.

    :param path: the file that the record stands in.
    """
    value = record.value
    faults = [
        *_id_faults(value),
        *_trial_faults(value),
        *_measure_faults(value, "latency_ms"),
        *_measure_faults(value, "cost_usd"),
        *_error_faults(value),
        *_attempt_faults(value),
    ]
    if faults:
        problems += _problems(faults, path, record.line)
        return None
    return Output(
        case_id=value["case_id"],
        trial=value.get("trial", 0),
        record=value,
        latency_ms=value.get("latency_ms"),
        cost_usd=value.get("cost_usd"),
        error=value.get("error"),
        source=Location(path=path, line=record.line),
    )


def read_cases(
    data: bytes,
    path: str,
    schema: Schema,
    problems: list[Problem],
    *,
    version: str = "",
    version_at: str | None = None,
) -> dict[str, Case]:
    """The cases of a file by id, sorted by it; every fault of every line is appended to `problems`.

    :param data: the whole file.
    :param path: how the file is called in problems.
    """
    cases: dict[str, Case] = {}
    first: dict[str, int] = {}
    for record in read_records(data, path, problems):
        complaints = schema.complaints(record.value, path, record.line)
        own: list[Problem] = []
        case = read_case(record, path, own, version=version, version_at=version_at)
        problems += _merged(complaints, own)
        if _id_faults(record.value):
            continue
        case_id = record.value["case_id"]
        if case_id in first:
            problems.append(_duplicate(path, record.line, name(case_id), first[case_id]))
            continue
        first[case_id] = record.line
        if case and not complaints:
            cases[case_id] = case
    return dict(sorted(cases.items()))


def read_outputs(
    data: bytes, path: str, schema: Schema, problems: list[Problem], *, malformed_fails: bool = False
) -> dict[tuple[str, int], Output]:
    """The outputs of a snapshot by case id and trial; every fault of every line is appended to `problems`.

    :param data: the whole file.
    :param path: how the file is called in problems.
    :param malformed_fails: a JSON object with faults, but with an id and a trial that can be told, is no problem but an
        output with a `defect`. What is no JSON object stays a problem, for nobody can tell whose it is.
    """
    outputs: dict[tuple[str, int], Output] = {}
    first: dict[tuple[str, int], int] = {}
    for record in read_records(data, path, problems):
        complaints = schema.complaints(record.value, path, record.line)
        own: list[Problem] = []
        output = read_output(record, path, own)
        faults = _merged(complaints, own)
        key = _key(record.value)
        if faults and malformed_fails and key:
            output = _malformed(record, path, key, faults)
        elif faults:
            problems += faults
            output = None
        if key and key in first:
            which = name(key[0]) + (f", trial {key[1]}" if "trial" in record.value else "")
            problems.append(_duplicate(path, record.line, which, first[key]))
        elif key:
            first[key] = record.line
            if output:
                outputs[key] = output
    return dict(sorted(outputs.items()))


def _key(value: Mapping[str, Json]) -> tuple[str, int] | None:
    """Whose output a record is; None if that can't be told."""
    if _id_faults(value) or _trial_faults(value):
        return None
    return value["case_id"], value.get("trial", 0)


def _malformed(record: Record, path: str, key: tuple[str, int], faults: Sequence[Problem]) -> Output:
    return Output(
        case_id=key[0],
        trial=key[1],
        record=record.value,
        defect="malformed: " + "; ".join(fault.message for fault in faults),
        source=Location(path=path, line=record.line),
    )


def _duplicate(path: str, line: int, which: str, first: int) -> Problem:
    return Problem(path=path, line=line, message=f"duplicate id {which}, first on line {first}; remove one of them")


def _merged(complaints: list[Problem], own: list[Problem]) -> list[Problem]:
    """What the schema and the contract say, but about each field only one of them."""
    said = {_subject(problem.message) for problem in complaints}
    return complaints + [problem for problem in own if _subject(problem.message) not in said]


def _subject(message: str) -> str:
    """The field that a sentence is about: `'title' is missing` and `title: expected …` are about the same."""
    word = message.removeprefix("unexpected field ").partition(":")[0].partition(" is missing")[0]
    return word.partition(",")[0].partition(".")[0].partition("[")[0].strip("'")


def _problems(faults: Sequence[str], path: str, line: int) -> list[Problem]:
    return [Problem(path=path, line=line, message=fault) for fault in faults]


def _id_faults(value: Mapping[str, Json]) -> list[str]:
    case_id = value.get("case_id")
    if isinstance(case_id, str):
        if not case_id:
            return ["case_id: is empty; give each case an id of its own"]
        if len(case_id) > MOST_ID_CHARACTERS:
            return [f"case_id: has {len(case_id):,} characters, at most {MOST_ID_CHARACTERS:,} are allowed"]
        return []
    return _absent(value, "case_id") or [f"case_id: {mistyped(case_id, ['string'])}"]


def _absent(value: Mapping[str, Json], key: str) -> list[str]:
    return [] if key in value else [f"{name(key)} is missing"]


def _text_faults(value: Mapping[str, Json], key: str) -> list[str]:
    if isinstance(value.get(key, ""), str):
        return []
    return [f"{key}: {mistyped(value[key], ['string'])}"]


def _severity_faults(value: Mapping[str, Json]) -> list[str]:
    severity = value.get("severity")
    if isinstance(severity, str) and severity in SEVERITIES:
        return []
    return _absent(value, "severity") or [f"severity: {not_among(severity, SEVERITIES)}"]


def _tag_faults(value: Mapping[str, Json]) -> list[str]:
    tags = value.get("tags", [])
    if not isinstance(tags, list):
        return [f"tags: {mistyped(tags, ['array'])}"]
    wrong = [
        f"tags[{index}]: {mistyped(tag, ['string'])}" for index, tag in enumerate(tags) if not isinstance(tag, str)
    ]
    twice = repeated(tags)
    return wrong[:1] or ([] if twice is None else [f"tags: has {quote(tags[twice])} twice"])


def _expected_faults(value: Mapping[str, Json]) -> list[str]:
    if isinstance(value.get("expected"), dict):
        return []
    return _absent(value, "expected") or [f"expected: {mistyped(value['expected'], ['object'])}"]


def _version_faults(value: Mapping[str, Json], version_at: str | None) -> list[str]:
    if version_at is None or isinstance(look_up(value, version_at), str):
        return []
    return [f"{version_at}: must be text that names the version of the policy that the case is judged by"]


def _trial_faults(value: Mapping[str, Json]) -> list[str]:
    trial = value.get("trial", 0)
    if type(trial) is int and trial >= 0:
        return []
    return [f"trial: expected a whole number from 0, found {found(trial)}"]


def _measure_faults(value: Mapping[str, Json], key: str) -> list[str]:
    number = value.get(key)
    if number is None:
        return []
    if type(number) not in (int, float):
        return [f"{key}: {mistyped(number, ['number'])}"]
    if number - number != 0:
        return [f"{key}: {number} is not finite"]
    return [f"{key}: {quote(number)} is less than the minimum 0"] if number < 0 else []


def _error_faults(value: Mapping[str, Json]) -> list[str]:
    error = value.get("error")
    if error is None:
        return []
    if not isinstance(error, dict):
        return [f"error: {mistyped(error, ['object'])}"]
    faults = [f"error: {fault}" for fault in _absent(error, "kind")]
    faults += [f"error.{fault}" for key in ("kind", "message") for fault in _text_faults(error, key)]
    return faults or ([] if error["kind"] else ['error.kind: is empty; say what went wrong, such as "timeout"'])


def _attempt_faults(value: Mapping[str, Json]) -> list[str]:
    """An attempt may be made again only if it died: a retry that replaces a wrong answer would hide it."""
    attempts = value.get("earlier_attempts", [])
    if not isinstance(attempts, list):
        return [f"earlier_attempts: {mistyped(attempts, ['array'])}"]
    for index, attempt in enumerate(attempts):
        at = f"earlier_attempts[{index}]"
        if not isinstance(attempt, dict):
            return [f"{at}: {mistyped(attempt, ['object'])}"]
        if attempt.get("error") is None:
            return [f"{at}: has no error, so it was an answer; record that one, not the one of a second try"]
        spent = [fault for key in ("latency_ms", "cost_usd") for fault in _measure_faults(attempt, key)]
        if faults := [*_error_faults(attempt), *spent]:
            return [f"{at}.{fault}" for fault in faults]
    return []
