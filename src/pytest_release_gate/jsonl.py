"""Bytes to strict JSON records, each with its line; what is not exactly JSON in UTF-8 is a problem, never a guess."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from pytest_release_gate.errors import Problem
from pytest_release_gate.model import Json

# Python readers fail at this number of digits by default; ours does, whatever the interpreter is set to.
MOST_DIGITS = 4300
# Every reader of JSON gives up somewhere, some of them by crashing; no honest record comes near.
MOST_LEVELS = 100
# How much of a file a message may quote.
_QUOTED = 80

_SPACE = " \t\r\n"
_BLANK = _SPACE.encode()
_COMMA = "," + _SPACE
_BOM = b"\xef\xbb\xbf"
# Longer ones first: the UTF-32 mark begins with that of UTF-16.
_SIGNATURES = (
    (b"\xff\xfe\x00\x00", "is UTF-32; save it as UTF-8"),
    (b"\x00\x00\xfe\xff", "is UTF-32; save it as UTF-8"),
    (b"\xff\xfe", "is UTF-16 (Windows PowerShell writes that); save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save it as UTF-8"),
    (b"\x1f\x8b", "is compressed with gzip; unpack it first"),
    (b"PK\x03\x04", "is a zip archive; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd; unpack it first"),
    (b"BZh", "is compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ\x00", "is compressed with xz; unpack it first"),
)
# A string is skipped as a whole, possessively: memory stays flat on a string of any length.
_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_CONFLICT = re.compile(r"(<{7}|={7}|>{7}|\|{7})(\s|$)")
_TRAILING = re.compile(r",[ \t\r\n]*[}\]]")
_PYTHON = re.compile(r"'|True\b|False\b|None\b")
# What a hook of the decoder refuses; small chunks are exact under every setting of the interpreter.
_CHUNK = 600


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object that stood on a line of its own."""

    # Physical, from 1.
    line: int
    value: dict[str, Json]


class _RefusedError(ValueError):
    """Well-formed to the decoder, but not to us."""


def quote(value: Json, most: int = _QUOTED) -> str:
    """A value as JSON on one line, cut to about `most` characters."""
    # A long value is not written out only to be cut.
    pieces, length = [], 0
    try:
        for piece in _ENCODER.iterencode(value[: most + 1] if isinstance(value, str) else value):
            pieces.append(piece)
            length += len(piece)
            if length > most:
                break
    except ValueError:  # an integer that this interpreter is set not to write
        pieces.append("…")
    text = "".join(pieces)
    return text if len(text) <= most + 2 else text[: most - 1] + "…"


def name(key: str) -> str:
    """The name of a field as it stands in a message: in single quotes, escaped and cut."""
    return "'" + quote(key)[1:].removesuffix('"') + "'"


def read_records(data: bytes, path: str, problems: list[Problem]) -> list[Record]:
    """The JSON objects of a JSON Lines file, one for each line that is not blank.

    Every line that is no strict JSON object appends one problem, and reading goes on with the next line.

    :param data: the whole file.
    :param path: how the file is called in problems.
    """
    unreadable = _not_text(data)
    if unreadable:
        problems.append(Problem(path=path, message=unreadable))
        return []
    records: list[Record] = []
    decoder = _decoder()
    first = True
    # BytesIO cuts at LF and nowhere else, and holds one line at a time.
    for number, line in enumerate(io.BytesIO(data), 1):
        content = line.removeprefix(_BOM) if number == 1 else line
        if not content.strip(_BLANK):
            continue
        try:
            value = _decode(content, decoder)
            if type(value) is not dict:
                raise _RefusedError(f"is {_kind(value)}, expected an object: JSON Lines has one object on each line")
            records.append(Record(number, value))
        except ValueError as error:
            if first and (whole := _one_document(data)):
                problems.append(Problem(path=path, line=number, message=whole))
                return []
            end = _ENDS[line.endswith(b"\n")]
            problems.append(Problem(path=path, line=number, message=_explain(error, content, end)))
        first = False
    return records


def read_document(data: bytes, path: str, problems: list[Problem]) -> dict[str, Json] | None:
    """The JSON object that is the whole of a file; None if, and only if, a problem was appended.

    :param data: the whole file.
    :param path: how the file is called in problems.
    """
    message = _not_text(data)
    line = None
    if not message:
        content = data.removeprefix(_BOM)
        try:
            value = _decode(content, _decoder())
            if type(value) is dict:
                return value
            message = f"is {_kind(value)}, expected a JSON object"
        except ValueError as error:
            message = _explain(error, content, _END_OF_DOCUMENT) if content.strip(_BLANK) else "is empty, expected JSON"
            line = _line_of(error, content)
    problems.append(Problem(path=path, line=line, message=message))
    return None


def _decode(content: bytes, decoder: json.JSONDecoder) -> Json:
    """A JSON text, decoded strictly.

    :raises ValueError: JSONDecodeError, UnicodeDecodeError or _RefusedError.
    """
    if content.count(b"{") + content.count(b"[") > MOST_LEVELS and _levels(content) > MOST_LEVELS:
        raise _RefusedError(f"is nested deeper than {MOST_LEVELS} levels; record a flatter value")
    return decoder.decode(content.decode("utf-8"))


def _levels(content: bytes) -> int:
    """How deep brackets are nested outside of strings."""
    level = deepest = 0
    for match in _BRACKETS.finditer(content):
        token = content[match.start()]
        if token in b"[{":
            level += 1
            deepest = max(deepest, level)
        elif token in b"]}":
            level -= 1
    return deepest


def _decoder() -> json.JSONDecoder:
    """A strict decoder that holds each key, and each string that a key has, once, however often a file repeats it."""
    once = dict[str, str]().setdefault

    def strict(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        value = {once(key, key): once(one, one) if type(one) is str else one for key, one in pairs}
        if len(value) != len(pairs):
            raise _duplicate_key(pairs)
        return value

    return json.JSONDecoder(object_pairs_hook=strict, parse_int=_integer, parse_float=_float, parse_constant=_constant)


def _duplicate_key(pairs: list[tuple[str, Json]]) -> _RefusedError:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return _RefusedError(f"duplicate key {name(key)}: an object has each key once; remove one of them")


def _integer(text: str) -> int:
    if len(text) <= _CHUNK:
        return int(text)
    digits = text.removeprefix("-")
    if len(digits) > MOST_DIGITS:
        raise _RefusedError(
            f"holds an integer of {len(digits):,} digits, at most {MOST_DIGITS:,} are read; record it as a string"
        )
    value = 0
    for start in range(0, len(digits), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        value = value * 10 ** len(chunk) + int(chunk)
    return -value if text.startswith("-") else value


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise _RefusedError(f"holds the number {_cut(text)}, which is too large for a double; record a smaller one")
    return value


def _constant(text: str) -> NoReturn:
    raise _RefusedError(f"holds {text}, which is not JSON; leave the value out or record null where that is allowed")


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _not_text(data: bytes) -> str:
    """Why a file as a whole can't be JSON in UTF-8; "" if it may be."""
    for signature, message in _SIGNATURES:
        if data.startswith(signature):
            return message
    # JSON begins with ASCII, so NUL bytes among the first four tell the encoding (RFC 4627, section 3).
    nuls = [byte == 0 for byte in data[:4]]
    if nuls in ([True, True, True, False], [False, True, True, True]):
        return "is UTF-32; save it as UTF-8"
    if nuls[:2] in ([True, False], [False, True]):
        return "is UTF-16; save it as UTF-8"
    return ""


def _one_document(data: bytes) -> str:
    """Whether the file is one JSON text over several lines, or an array: then one sentence says it all; else ""."""
    content = data.removeprefix(_BOM).strip(_BLANK)
    if content.startswith(b"[") and content.endswith(b"]"):
        return "begins an array, expected an object: JSON Lines has one object on each line, with no array around them"
    if not (content.startswith(b"{") and content.endswith(b"}") and b"\n" in content):
        return ""
    try:
        _decode(content, _decoder())
    except ValueError:
        return ""
    return "begins an object that takes several lines; JSON Lines has each record on one line: write it without indent"


def _kind(value: Json) -> str:
    kinds: dict[type[Any], str] = {dict: "an object", list: "an array", str: "a string", bool: str(value).lower()}
    return "null" if value is None else kinds.get(type(value), "a number")


def _line_of(error: ValueError, content: bytes) -> int | None:
    if isinstance(error, json.JSONDecodeError):
        return _closing(error).lineno
    if isinstance(error, UnicodeDecodeError):
        return content.count(b"\n", 0, error.start) + 1
    return None


# What it means that a text is over too early: before the end of a file, before a line end, as a whole file.
_ENDS = (
    "is cut off before its end, and so is the file: the writer was interrupted; record it again",
    "ends in the middle of a value: a record stands on one line, whole; write it without line breaks",
)
_END_OF_DOCUMENT = "ends in the middle of a value; write the file again, whole"


def _explain(error: ValueError, content: bytes, end: str) -> str:
    """What is wrong with a text, in one sentence, with the next step.

    :param end: what to say if it is over too early.
    """
    if isinstance(error, UnicodeDecodeError):
        if error.reason == "unexpected end of data" and end == _ENDS[False]:
            return end
        column = error.start - content.rfind(b"\n", 0, error.start)
        return f"is not UTF-8: byte 0x{content[error.start]:02X} at byte {column} of the line; save the file as UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return _hint(error, end) or _unexpected(error)
    return str(error)


def _hint(error: json.JSONDecodeError, end: str) -> str:
    """The sentence for one of the well-known accidents; "" for others."""
    text, rest = error.doc.strip(_SPACE), error.doc[error.pos :].strip(_SPACE)
    if rest.startswith("\0"):
        return "holds NUL bytes, the mark of a file that was not written to its end; record it again"
    if text.startswith("\ufeff"):
        return "has a byte order mark (U+FEFF) inside the file: two files were joined; remove the mark"
    if _CONFLICT.match(text):
        return f"is a merge-conflict marker ({text[:7]}); resolve the conflict"
    if text.startswith(("#", "//", "/*")):
        return "is a comment, which JSON does not have; remove it (a record that is commented out is a record removed)"
    # json's own messages and places differ between versions of Python, so that most is read from the text itself.
    if error.msg == "Extra data":
        return _extra(text, rest)
    if _PYTHON.match(rest) or text.startswith("{'"):
        return "is no JSON but a printed Python value (single quotes, True, None); write it with json.dumps"
    if text.startswith(("{", "[")) and (not rest or (end == _ENDS[False] and not text.endswith("}"))):
        return end
    before = error.doc[: error.pos].rstrip(_SPACE)
    if (rest.startswith(("}", "]")) and before.endswith(",")) or _TRAILING.match(rest):
        return f"has a comma before the closing {rest.lstrip(_COMMA)[0]} at column {_closing(error).colno}; remove it"
    return ""


def _closing(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """The error, at the bracket behind a comma too many: Python 3.13 points at the comma."""
    rest = error.doc[error.pos :]
    if not _TRAILING.match(rest):
        return error
    return json.JSONDecodeError(error.msg, error.doc, len(error.doc) - len(rest.lstrip(_COMMA)))


def _extra(text: str, rest: str) -> str:
    if rest == ",":
        return "ends with a comma; JSON Lines has no commas between records: remove it"
    if rest.lstrip(_COMMA).startswith("{") and text.startswith("{"):
        return "holds more than one object; put each object on a line of its own"
    return f"goes on after the end of the value, with {_near(rest)}; put one object on each line and nothing else"


def _unexpected(error: json.JSONDecodeError) -> str:
    column, rest = error.colno, error.doc[error.pos : error.pos + 1]
    if error.msg.startswith("Unterminated string"):
        return f"has a string without an end (it begins at column {column}); close it, or escape the line break as \\n"
    if rest and rest < " " and error.msg.startswith("Invalid control"):
        return f"has a raw control character (U+{ord(rest):04X}) in a string at column {column}; escape it"
    if error.msg.startswith("Invalid \\"):
        return f"has a backslash at column {column} that begins no JSON escape; double it if it is meant literally"
    return (
        f"is not JSON: unexpected {_near(error.doc[error.pos :])} at column {column}; write records with a JSON library"
    )


def _near(text: str) -> str:
    text = text.rstrip(_SPACE)
    return quote(text[:20]) + ("…" if len(text) > 20 else "") if text else "end"


def _cut(text: str) -> str:
    return text if len(text) <= 20 else text[:20] + "…"
