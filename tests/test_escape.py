"""One escape function per sink, each against what is hostile there; what people read stays readable."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import escape

# Any text that JSON can hold, lone surrogates too.
ANY = st.text(st.characters(), max_size=40)
READABLE = "§ é ß 日本語 عربي ✅ 👍🏽 👩‍👩‍👧 naïve – “quoted” € ×"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (READABLE, READABLE),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\rc\td", "a\\x0ab\\x0dc\\x09d"),
        ("\u202eevil", "\\u202eevil"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("no\u00a0break", "no\\xa0break"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("a\u200db", "a\\u200db"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("\ufeffBOM", "\\ufeffBOM"),
        ("::error::x", "\\x3a:error::x"),
        ("  ::error::x", "  \\x3a:error::x"),
        ("##[error]x", "\\x23#[error]x"),
        ("a::b ##[c]", "a::b ##[c]"),
        ("# heading", "# heading"),
    ],
)
def test_terminal(text, shown):
    assert escape.terminal(text) == shown


@given(ANY)
def test_a_terminal_line_is_one_printable_line(text):
    shown = escape.terminal(text)

    assert "\n" not in shown
    assert "\r" not in shown
    assert "\x1b" not in shown
    assert not re.match(r"\s*(::|##\[)", shown)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode("utf-8")


def test_lines_keeps_line_feeds_only():
    assert escape.lines("a\nb\r\x1b") == "a\nb\\x0d\\x1b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ER-001", "ER-001"),
        ("a::b", "a:\\x3ab"),
        ("a:b", "a:b"),
        ("a[b]", "a\\x5bb]"),
        ("back\\slash", "back\\\\slash"),
        (" padded ", "\\x20padded\\x20"),
        ("§ é 👍", "§ é 👍"),
    ],
)
def test_node_id(text, shown):
    assert escape.node_id(text) == shown


@given(st.lists(ANY | st.text(st.sampled_from("a:\\[ \nx3"), max_size=8), unique=True, max_size=20))
def test_node_ids_stay_different_and_selectable(texts):
    shown = [escape.node_id(text) for text in texts]

    assert len(set(shown)) == len(shown)
    for one in shown:
        assert "::" not in one
        assert "[" not in one
        assert one == one.strip(" ") or one == ""


def test_long_node_ids_are_short_and_different():
    one, other = escape.node_id("x" * 10_000), escape.node_id("x" * 10_001)

    assert one != other
    assert len(one) <= 100


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("candidate-v3", "candidate-v3"),
        ("candidate v3", "candidate%20v3"),
        ("../../etc", "..%2F..%2Fetc"),
        ("100%", "100%25"),
        ("§", "%C2%A7"),
    ],
)
def test_file_name(text, shown):
    assert escape.file_name(text) == shown


@given(st.lists(ANY, unique=True, max_size=20))
def test_file_names_stay_different_and_in_their_folder(texts):
    names = [escape.file_name(text) for text in texts]

    assert len(set(names)) == len(names)
    assert not any("/" in name or "\\" in name or "\x00" in name for name in names)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, § é 👍", "plain text, § é 👍"),
        ("# Decision: PASS", "\\# Decision: PASS"),
        ("a | b", "a \\| b"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert\\(1\\)&lt;/script&gt;"),
        ("![x](http://y)", "\\!\\[x\\]\\(http://y\\)"),
        ("`code` *b* _i_ ~s~", "\\`code\\` \\*b\\* \\_i\\_ \\~s\\~"),
        ("line\nbreak", "line\\\\x0abreak"),
        ("&amp;", "&amp;amp;"),
        ("@someone", "\\@someone"),
    ],
)
def test_markdown(text, shown):
    assert escape.markdown(text) == shown


@given(ANY)
def test_markdown_is_one_line_without_markup(text):
    shown = escape.markdown(text)

    assert "\n" not in shown
    assert "<" not in shown
    assert not re.search(r"(?<!\\)(\\\\)*[|`*\[\]#!]", re.sub(r"\\.", "", shown))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a|b", "`a\\|b`"), ("", ""), ("a\nb", "`a\\x0ab`")],
)
def test_code(text, shown):
    assert escape.code(text) == shown
