"""Bytes to strict JSON records: what is read, what is refused and in which words."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.errors import Problem
from pytest_release_gate.jsonl import Record, name, quote, read_document, read_records


def read(data: bytes) -> tuple[list[Record], list[str]]:
    """The records, and the problems as `line: message`, with the path checked."""
    problems: list[Problem] = []
    records = read_records(data, "out/x.jsonl", problems)
    assert {problem.path for problem in problems} <= {"out/x.jsonl"}
    return records, [f"{problem.line}: {problem.message}" for problem in problems]


def values(data: bytes) -> list[tuple[int, dict]]:
    records, problems = read(data)
    assert problems == []
    return [(record.line, record.value) for record in records]


READ = {
    "one record": (b'{"a":1}\n', [(1, {"a": 1})]),
    "no line end at the end": (b'{"a":1}\n{"a":2}', [(1, {"a": 1}), (2, {"a": 2})]),
    "CRLF": (b'{"a":1}\r\n{"a":2}\r\n', [(1, {"a": 1}), (2, {"a": 2})]),
    "blank lines count": (b'\n{"a":1}\n \t\r\n\n{"a":2}\n\n', [(2, {"a": 1}), (5, {"a": 2})]),
    "no record at all": (b"", []),
    "blank lines only": (b"\n \n\t\r\n", []),
    "a byte order mark at the start": (b'\xef\xbb\xbf{"a":1}\n', [(1, {"a": 1})]),
    "a byte order mark and nothing else": (b"\xef\xbb\xbf", []),
    "a lone CR is white space": (b'{"a":\r1}\n', [(1, {"a": 1})]),
    "line and paragraph separators do not cut": (
        '{"a":"x\u2028y\u2029z\u0085"}\n{"a":1}\n'.encode(),
        [(1, {"a": "x\u2028y\u2029z\u0085"}), (2, {"a": 1})],
    ),
    "escaped control characters": (rb'{"a":"\u0000\u0007\ufffe\n"}', [(1, {"a": "\0\a\ufffe\n"})]),
    "an escaped lone surrogate": (rb'{"a":"\ud800"}', [(1, {"a": "\ud800"})]),
    "a bracket in a string does not nest": (b'{"a":"' + b"[" * 500 + b'"}', [(1, {"a": "[" * 500})]),
    "an escaped quote does not end a string": (
        b'{"a":"\\"' + b"[" * 500 + b'\\\\"}',
        [(1, {"a": '"' + "[" * 500 + "\\"})],
    ),
    "many brackets side by side": (b'{"a":[' + b"[]," * 500 + b"1]}", [(1, {"a": [[]] * 500 + [1]})]),
    "100 levels, and more brackets": (
        b'{"a":' + b"[" * 99 + b"]" * 99 + b',"b":[[],[]]}',
        [(1, {"a": json.loads("[" * 99 + "]" * 99), "b": [[], []]})],
    ),
    "one key in two objects": (b'{"a":{"b":1},"c":{"b":1}}', [(1, {"a": {"b": 1}, "c": {"b": 1}})]),
}


@pytest.mark.parametrize(("data", "expected"), READ.values(), ids=READ)
def test_what_is_read(data, expected):
    assert values(data) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740993", 9007199254740993),
        ("-0.0", -0.0),
        ("1e2", 100.0),
        ("9" * 700, 10**700 - 1),
        ("-" + "9" * 4300, 1 - 10**4300),
        ("1" + "0" * 1199 + "7", 10**1200 + 7),
        ("1.7976931348623157e308", sys.float_info.max),
    ],
    ids=["above 2^53", "minus zero", "exponent", "700 digits", "4,300 digits", "zeros inside", "the largest double"],
)
def test_numbers_are_exact(text, value):
    [(_, record)] = values(b'{"a":' + text.encode() + b"}")

    assert record["a"] == value
    assert type(record["a"]) is type(value)
    assert str(record["a"])[0] == str(value)[0]


def test_the_interpreter_has_no_say_in_the_length_of_integers():
    before = sys.get_int_max_str_digits()
    try:
        for limit in (640, 0):
            sys.set_int_max_str_digits(limit)
            [(_, record)] = values(b'{"a":' + b"9" * 4300 + b"}")
            assert record["a"] == 10**4300 - 1
            records, problems = read(b'{"a":' + b"9" * 4301 + b"}")
            assert (records, len(problems)) == ([], 1)
    finally:
        sys.set_int_max_str_digits(before)


LINES = "JSON Lines has one object on each line"
REFUSED = {
    "a list": (b"[1]", f"is an array, expected an object: {LINES}"),
    "a string": (b'"x"', f"is a string, expected an object: {LINES}"),
    "a number": (b"1.5", f"is a number, expected an object: {LINES}"),
    "true": (b"true", f"is true, expected an object: {LINES}"),
    "null": (b"null", f"is null, expected an object: {LINES}"),
    "NaN": (b'{"a":NaN}', "holds NaN, which is not JSON; leave the value out or record null where that is allowed"),
    "Infinity": (
        b'{"a":[Infinity]}',
        "holds Infinity, which is not JSON; leave the value out or record null where that is allowed",
    ),
    "minus Infinity": (
        b'{"a":-Infinity}',
        "holds -Infinity, which is not JSON; leave the value out or record null where that is allowed",
    ),
    "1e400": (b'{"a":1e400}', "holds the number 1e400, which is too large for a double; record a smaller one"),
    "-1e400": (b'{"a":-1e400}', "holds the number -1e400, which is too large for a double; record a smaller one"),
    "5,000 digits": (
        b'{"a":' + b"7" * 5000 + b"}",
        "holds an integer of 5,000 digits, at most 4,300 are read; record it as a string",
    ),
    "a key twice": (
        b'{"decision":"reject","decision":"approve"}',
        "duplicate key 'decision': an object has each key once; remove one of them",
    ),
    "a key twice, deep inside": (
        b'{"a":[{"b":{"c":1,"d":2,"c":1}}]}',
        "duplicate key 'c': an object has each key once; remove one of them",
    ),
    "a key twice, once escaped": (
        rb'{"a":1,"\u0061":1}',
        "duplicate key 'a': an object has each key once; remove one of them",
    ),
    "a key twice, hostile": (
        rb'{"\u001b[2J\n":1,"\u001b[2J\n":2}',
        r"duplicate key '\u001b[2J\n': an object has each key once; remove one of them",
    ),
    "101 levels": (
        b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
        "is nested deeper than 100 levels; record a flatter value",
    ),
    "50,000 levels": (b'{"a":' + b"[" * 50_000, "is nested deeper than 100 levels; record a flatter value"),
    "50,000 levels of objects": (b'{"a":' * 50_000, "is nested deeper than 100 levels; record a flatter value"),
    "Latin-1": (
        '{"a":"§1"}'.encode("latin-1"),
        "is not UTF-8: byte 0xA7 at byte 7 of the line; save the file as UTF-8",
    ),
    "half a character": (b'{"a":"\xc3', "is not UTF-8: byte 0xC3 at byte 7 of the line; save the file as UTF-8"),
    "an encoded surrogate": (
        b'{"a":"\xed\xa0\x80"}',
        "is not UTF-8: byte 0xED at byte 7 of the line; save the file as UTF-8",
    ),
    "two objects": (b'{"a":1}{"a":2}', "holds more than one object; put each object on a line of its own"),
    "two objects and a comma": (
        b'{"a":1}, {"a":2}',
        "holds more than one object; put each object on a line of its own",
    ),
    "a comma at the end": (b'{"a":1},', "ends with a comma; JSON Lines has no commas between records: remove it"),
    "something behind": (
        b'{"a":1} x',
        'goes on after the end of the value, with "x"; put one object on each line and nothing else',
    ),
    "a comma before the brace": (b'{"a":1,}', "has a comma before the closing } at column 8; remove it"),
    "a comma before the bracket": (b'{"a":[1, ]}', "has a comma before the closing ] at column 10; remove it"),
    "a number sign": (
        b"# re-run of Tuesday",
        "is a comment, which JSON does not have; remove it (a record that is commented out is a record removed)",
    ),
    "slashes": (
        b'// {"a":1}',
        "is a comment, which JSON does not have; remove it (a record that is commented out is a record removed)",
    ),
    "a merge, ours": (b"<<<<<<< HEAD", "is a merge-conflict marker (<<<<<<<); resolve the conflict"),
    "a merge, between": (b"=======", "is a merge-conflict marker (=======); resolve the conflict"),
    "a merge, theirs": (b">>>>>>> branch", "is a merge-conflict marker (>>>>>>>); resolve the conflict"),
    "a printed dict": (
        b"{'a': 1}",
        "is no JSON but a printed Python value (single quotes, True, None); write it with json.dumps",
    ),
    "a printed True": (
        b'{"a": True}',
        "is no JSON but a printed Python value (single quotes, True, None); write it with json.dumps",
    ),
    "a printed None": (
        b'{"a": [None]}',
        "is no JSON but a printed Python value (single quotes, True, None); write it with json.dumps",
    ),
    "a value that goes on": (
        b'{"a":{"b":1',
        "ends in the middle of a value: a record stands on one line, whole; write it without line breaks",
    ),
    "a string that goes on": (
        b'{"a":"b',
        "ends in the middle of a value: a record stands on one line, whole; write it without line breaks",
    ),
    "a raw tab in a string": (b'{"a":"\t"}', "has a raw control character (U+0009) in a string at column 7; escape it"),
    "a backslash": (
        rb'{"a":"\d"}',
        "has a backslash at column 7 that begins no JSON escape; double it if it is meant literally",
    ),
    "no quotes": (b"{a:1}", 'is not JSON: unexpected "a:1}" at column 2; write records with a JSON library'),
    "no quotes, and a long line": (
        b"{a" + b"z" * 1000,
        'is not JSON: unexpected "azzzzzzzzzzzzzzzzzzz"… at column 2; write records with a JSON library',
    ),
    "a zero in front": (b'{"a":01}', 'is not JSON: unexpected "1}" at column 7; write records with a JSON library'),
    "a form feed": (b"\x0c", r'is not JSON: unexpected "\f" at column 1; write records with a JSON library'),
    "NUL bytes": (
        b"\0\0\0\0",
        "holds NUL bytes, the mark of a file that was not written to its end; record it again",
    ),
    "a byte order mark in the middle": (
        b'\xef\xbb\xbf{"a":1}',
        "has a byte order mark (U+FEFF) inside the file: two files were joined; remove the mark",
    ),
}


@pytest.mark.parametrize(("line", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_why(line, message):
    """A bad line among good ones is one problem with its place, and the good ones are read."""
    records, problems = read(b'{"good":1}\n\n' + line + b'\n{"good":2}\n')

    assert problems == [f"3: {message}"]
    assert [record.line for record in records] == [1, 4]


@pytest.mark.parametrize(("line", "message"), REFUSED.values(), ids=REFUSED)
def test_a_document_is_as_strict_as_a_line(line, message):
    problems: list[Problem] = []

    assert read_document(b"\n" + line, "schema.json", problems) is None
    assert len(problems) == 1


TORN = "is cut off before its end, and so is the file: the writer was interrupted; record it again"


@pytest.mark.parametrize(
    "tail",
    [b'{"a":', b'{"a":{"b":1}', b'{"a":"b', b'{"a', b"{", b'{"a":tr', b'{"a":"\xc3', b'{"a":[1,', b'{"a":"x\\'],
    ids=["a value", "a brace", "a string", "a key", "a record", "a word", "a character", "a list", "an escape"],
)
def test_a_torn_last_line(tail):
    assert read(b'{"a":1}\n' + tail) == ([Record(1, {"a": 1})], [f"2: {TORN}"])


def test_a_torn_last_line_can_have_other_faults_as_well():
    assert read(b'{}\n{"a":"\xa7"')[1] == ["2: is not UTF-8: byte 0xA7 at byte 7 of the line; save the file as UTF-8"]
    assert read(b"{}\n{a:1}")[1] == ['2: is not JSON: unexpected "a:1}" at column 2; write records with a JSON library']


def test_every_bad_line_is_told():
    records, problems = read(b"x\n{}\n\n]\n\xff\n")

    assert [problem.partition(":")[0] for problem in problems] == ["1", "4", "5"]
    assert records == [Record(2, {})]


def test_a_bad_last_line_after_many_good_ones():
    records, problems = read(b'{"a":1}\n' * 10_000 + b"{]\n")

    assert len(records) == 10_000
    assert [problem.partition(":")[0] for problem in problems] == ["10001"]


def test_a_very_long_line():
    text = "x" * 2_000_000

    assert values(b'{"a":"' + text.encode() + b'"}\n{"b":1}') == [(1, {"a": text}), (2, {"b": 1})]


ARRAY = "begins an array, expected an object: JSON Lines has one object on each line, with no array around them"
WHOLE = {
    "an array on one line": (b'[{"a":1},{"a":2}]\n', ARRAY),
    "an array over lines": (b'[\n{"a":1},\n{"a":2}\n]\n', ARRAY),
    "an object over lines": (
        b'{\n  "a": 1\n}\n',
        "begins an object that takes several lines; JSON Lines has each record on one line: write it without indent",
    ),
}


@pytest.mark.parametrize(("data", "message"), WHOLE.values(), ids=WHOLE)
def test_a_file_that_is_one_document_is_one_problem(data, message):
    assert read(data) == ([], [f"1: {message}"])


TEXT = '{"a":1}\n'
OTHER = {
    "UTF-16 from PowerShell": (TEXT.encode("utf-16"), "is UTF-16 (Windows PowerShell writes that); save it as UTF-8"),
    "UTF-16, big end first, marked": (b"\xfe\xff" + TEXT.encode("utf-16-be"), "is UTF-16; save it as UTF-8"),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), "is UTF-16; save it as UTF-8"),
    "UTF-16, big end first": (TEXT.encode("utf-16-be"), "is UTF-16; save it as UTF-8"),
    "UTF-32": (TEXT.encode("utf-32"), "is UTF-32; save it as UTF-8"),
    "UTF-32, big end first, marked": (b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"), "is UTF-32; save it as UTF-8"),
    "UTF-32 without a mark": (TEXT.encode("utf-32-le"), "is UTF-32; save it as UTF-8"),
    "UTF-32, big end first": (TEXT.encode("utf-32-be"), "is UTF-32; save it as UTF-8"),
    "gzip": (b"\x1f\x8b\x08\x00" + b"\0" * 20, "is compressed with gzip; unpack it first"),
    "zip": (b"PK\x03\x04\x14\x00", "is a zip archive; unpack it first"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04", "is compressed with zstd; unpack it first"),
    "bzip2": (b"BZh91AY", "is compressed with bzip2; unpack it first"),
    "xz": (b"\xfd7zXZ\x00\x00", "is compressed with xz; unpack it first"),
}


@pytest.mark.parametrize(("data", "message"), OTHER.values(), ids=OTHER)
def test_what_is_no_utf8_at_all_is_named(data, message):
    problems: list[Problem] = []

    assert read(data) == ([], [f"None: {message}"])
    assert read_document(data, "s.json", problems) is None
    assert problems == [Problem(path="s.json", message=message)]


DOCUMENTS = {
    "empty": (b"", None, "is empty, expected JSON"),
    "blank": (b" \n", None, "is empty, expected JSON"),
    "null": (b"null", None, "is null, expected a JSON object"),
    "a list": (b"[1]", None, "is an array, expected a JSON object"),
    "not closed": (b'{\n"a": 1,\n', 3, "ends in the middle of a value; write the file again, whole"),
    "a comma too many": (b'{\n"a": 1,\n}', 3, "has a comma before the closing } at column 1; remove it"),
    "Latin-1": (b'{\n"a": "\xa7"}', 2, "is not UTF-8: byte 0xA7 at byte 7 of the line; save the file as UTF-8"),
    "a key twice": (b'{"a":1,"a":1}', None, "duplicate key 'a': an object has each key once; remove one of them"),
}


@pytest.mark.parametrize(("data", "line", "message"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_bad_document(data, line, message):
    problems: list[Problem] = []

    assert read_document(data, "s.json", problems) is None
    assert [(p.path, p.message) for p in problems] == [("s.json", message)]
    if line is not None:
        assert problems[0].line == line


def test_a_good_document():
    problems: list[Problem] = []

    assert read_document(b'\xef\xbb\xbf{\n "a": [1]\n}\r\n', "s.json", problems) == {"a": [1]}
    assert problems == []


@pytest.mark.parametrize(("line", "message"), REFUSED.values(), ids=REFUSED)
def test_messages_are_short_whatever_the_file_holds(line, message):
    assert len(message) < 200
    for longer in (line + b" " + b"z" * 1000, b"z" * 1000 + line, line.replace(b"a", b"z" * 1000)):
        _, problems = read(b"{}\n" + longer + b"\n")
        assert all(len(problem) < 250 for problem in problems)


def test_values_are_quoted_as_json_and_cut():
    assert quote({"a": ["§", "\n", None, 1.5]}) == r'{"a": ["§", "\n", null, 1.5]}'
    assert quote("x" * 1000) == '"' + "x" * 78 + "…"
    assert len(quote(["x" * 30] * 1000)) == 80
    assert name("it's\n") == r"'it's\n'"
    assert len(name("x" * 1000)) <= 82


numbers = st.integers() | st.integers(-(10**1000), 10**1000) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=5)


def same(one: object, two: object) -> bool:
    """Equal, with the types: 1 is not true, and minus zero is not zero."""
    return json.dumps(one) == json.dumps(two)


@given(st.lists(json_objects, max_size=6), st.booleans())
def test_what_was_written_is_read(written, ascii_only):
    data = "".join(json.dumps(value, ensure_ascii=ascii_only) + "\n" for value in written)

    read_back = values(data.encode("utf-8", "surrogatepass" if ascii_only else "strict"))

    assert [line for line, _ in read_back] == list(range(1, len(written) + 1))
    assert all(same(value, was) for (_, value), was in zip(read_back, written, strict=True))


@given(
    st.lists(json_objects, min_size=1, max_size=5),
    st.lists(st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\r\n", " \n"]), min_size=5, max_size=5),
)
def test_blank_lines_and_line_ends_change_no_value(written, ends):
    data = "".join(json.dumps(value) + end for value, end in zip(written, ends, strict=False))

    read_back = values(data.encode())

    assert all(same(value, was) for (_, value), was in zip(read_back, written, strict=True))
    lines = data.encode().split(b"\n")
    assert all(same(json.loads(lines[line - 1]), value) for line, value in read_back)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data):
    """Nothing raises, and what is not blank is either a record or a problem."""
    records, problems = read(data)
    told = {record.line for record in records} | {int(p.partition(":")[0]) for p in problems if p[0] != "N"}
    filled = {n for n, line in enumerate(data.split(b"\n"), 1) if line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")}

    assert told <= filled
    assert problems or told == filled


@given(st.lists(json_objects, min_size=1, max_size=3), st.data())
def test_a_changed_byte_is_read_as_it_is_or_refused(written, draw):
    """Never as something that json itself would read otherwise."""
    data = bytearray("".join(json.dumps(value) + "\n" for value in written).encode())
    data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    records, problems = read(bytes(data))

    lines = bytes(data).split(b"\n")
    assert all(same(json.loads(lines[record.line - 1]), record.value) for record in records)
    assert problems or len(records) == sum(bool(line.strip(b" \t\r\n")) for line in lines)


def test_fractions_of_both_texts_are_told_apart():
    [(_, record)] = values(b'{"a":9007199254740993,"b":9007199254740992.0}')

    assert Fraction(record["a"]) - Fraction(record["b"]) == 1


@pytest.mark.parametrize(("length", "cut"), [(79, False), (80, False), (81, True)])
def test_a_quote_of_eighty_characters_is_whole(length, cut):
    assert quote("x" * length) == ('"' + "x" * 78 + "…" if cut else '"' + "x" * length + '"')


@pytest.mark.parametrize("digits", [16, 17, 30])
def test_a_number_that_overflows_is_shown_up_to_twenty_characters(digits):
    number = "9" * digits + "e400"
    problems: list[Problem] = []
    read_records(b'{"n": ' + number.encode() + b"}\n", "f", problems)
    shown = number if len(number) <= 20 else number[:20] + "…"

    assert [problem.message for problem in problems] == [
        f"holds the number {shown}, which is too large for a double; record a smaller one"
    ]


@pytest.mark.parametrize("length", [75, 76, 77])
def test_a_quote_of_a_list_keeps_its_bracket(length):
    """With 77 letters the list is just as long as a quote may be, but for the bracket."""
    assert quote(["x" * length]) == '["' + "x" * length + '"]'
