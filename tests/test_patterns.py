"""Patterns of ECMA-262 in Python's engine: the same meaning, or refused; never exponential time."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate.patterns import PatternError, translate


def matches(pattern: str, text: str) -> bool:
    return re.search(translate(pattern), text) is not None


MEANING = {
    "the end is the end of the text": (r"^ER-[0-9]{3}$", ["ER-101"], ["ER-101\n", "ER-1011", "xER-101"]),
    "it is looked for anywhere": (r"b", ["abc"], ["ac"]),
    "an end within": (r"a$|b", ["ca", "bx"], ["ac", "a\n"]),
    "digits are ASCII": (r"^\d+$", ["0123456789"], ["١٢", "x", ""]),
    "no digits": (r"^\D$", ["x", "١"], ["7"]),
    "word characters are ASCII": (r"^\w+$", ["aZ_9"], ["é", "-"]),
    "no word characters": (r"^\W$", ["é", " "], ["_", "a"]),
    "white space is Unicode's": (r"^\s$", [" ", "\t", "\u00a0", "\u2028", "\ufeff"], ["x", "\x1c", "\x85"]),
    "no white space": (r"^\S$", ["x", "\x85"], [" ", "\u00a0"]),
    "word boundaries are ASCII": (r"é\bx", ["éx"], ["é x"]),
    "no word boundary": (r"a\Bb", ["ab"], ["a b"]),
    "a dot stops at every line end": (r"^.$", ["x", "😀", "\x85"], ["\n", "\r", "\u2028", "\u2029"]),
    "a class": (r"^[a-c.§-]+$", ["abc.§-"], ["d", ","]),
    "a negated class": (r"^[^a\n]$", ["b"], ["a", "\n"]),
    "neighbours in a class": (r"^[ac]$", ["a", "c"], ["b"]),
    "a negated class from the first character on": (r"^[^\0-a]$", ["b"], ["a", "\0"]),
    "nothing, repeated": (r"^[]*[]?$", [""], ["x"]),
    "escaped signs, repeated": (r"^\-*\.{2}\n?$", ["--..\n", ".."], ["."]),
    "classes in a class": (r"^[\d\s_]$", ["1", " ", "_"], ["a"]),
    "what is no digit, in a class": (r"^[\Da]$", ["a", "b"], ["1"]),
    "a hyphen beside a class": (r"^[\w-.]+$", ["a-.9"], [","]),
    "everything": (r"^[\s\S]$", ["\n", "x"], ["", "xx"]),
    "anything": (r"^[^]$", ["\n", "x"], [""]),
    "nothing": (r"[]", [], ["", "x"]),
    "brackets in a class": (r"^[[\]]+$", ["[]"], ["x"]),
    "a backspace": (r"^[\b]$", ["\b"], ["b"]),
    "escaped signs": (r"^\$\^\.\*\+\?\(\)\[\]\{\}\|\/\\$", ["$^.*+?()[]{}|/\\"], ["x"]),
    "escaped controls": (r"^\t\n\v\f\r\0\cJ$", ["\t\n\v\f\r\0\n"], ["x"]),
    "code points": (r"^\x41\u00a7\u{1F600}\ud83d\ude00$", ["A§😀😀"], ["A§😀"]),
    "the first and the last pair": (r"^\ud800\udc00[\udbff\udfff]$", ["\U00010000\U0010ffff"], ["\U00010000"]),
    "half a pair": (r"^\ud83dx$", ["\ud83dx"], ["x"]),
    "counts": (r"^a{2}b{1,}c{0,2}$", ["aab", "aabbcc"], ["ab", "aaab", "aabccc"]),
    "lazy": (r"^a+?b*?c??$", ["a", "aabbc"], ["b"]),
    "a brace that counts nothing": (r"^{a}{,2}$", ["{a}{,2}"], ["a"]),
    "groups": (r"^(ab|c)(?:d)(?<year>\d)$", ["abd1", "cd2"], ["abcd1"]),
    "looks ahead": (r"^(?=.*\d)(?!x).{2,}$", ["a1"], ["ab", "x1"]),
    "looks behind": (r"(?<=a)b(?<!cb)$", ["ab"], ["b", "cb"]),
    "not at all": (r"^a{0}b$", ["b"], ["ab"]),
    "no alternative": (r"^(a|)$", ["a", ""], ["b"]),
    "Python's comment is none": (r"^(?:#)$", ["#"], [""]),
}


@pytest.mark.parametrize(("pattern", "fit", "unfit"), MEANING.values(), ids=MEANING)
def test_meaning(pattern, fit, unfit):
    assert [text for text in fit if not matches(pattern, text)] == []
    assert [text for text in unfit if matches(pattern, text)] == []


def test_white_space_is_that_of_ecma_262():
    space = re.compile(translate(r"\s"))
    found = {code for code in range(0x110000) if space.search(chr(code))}

    assert found == {
        *(9, 10, 11, 12, 13, 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
    }


NOT_FOR_BOTH = {
    "a group without end": ("(a", r"has a ( without its ); escape it as \("),
    "an end without group": ("a)", r"has a ) without its (; escape it as \)"),
    "a class without end": ("[a", r"has a [ without its ]; escape it as \["),
    "nothing repeated": ("*a", r"has * with nothing to repeat; escape it as \*"),
    "a repeat repeated": ("a**", r"has * with nothing to repeat; escape it as \*"),
    "Python's possessive": ("a*+", r"has + with nothing to repeat; escape it as \+"),
    "an anchor repeated": ("^*", "repeats ^, which takes no text; leave the repeat out"),
    "a look repeated": ("(?=a)+", "repeats (?=a), which takes no text; leave the repeat out"),
    "a count upside down": ("a{2,1}", "repeats {2,1}, which is upside down"),
    "a range upside down": ("[z-a]", r"has a range out of order in a character class; escape the - as \-"),
    "Python's end": (r"a\Z", r"has \Z, which is not supported here; spell it out"),
    "Python's start": (r"\Aa", r"has \A, which is not supported here; spell it out"),
    "a reference back": (r"(a)\1", r"has \1, which is not supported here; spell it out"),
    "a property": (r"\p{L}", r"has \p, which is not supported here; spell it out"),
    "a backslash at the end": ("a\\", "has \\, which is not supported here; spell it out"),
    "flags": ("(?i)a", "has (?i, which ECMA-262 does not have"),
    "Python's group name": ("(?P<x>a)", "has (?P, which ECMA-262 does not have"),
    "a look behind that varies": ("(?<=a+)b", "can't be used: look-behind requires fixed-width pattern"),
    "too deep": ("(" * 5000 + ")" * 5000, "is nested too deeply; make it simpler"),
}


@pytest.mark.parametrize(("pattern", "message"), NOT_FOR_BOTH.values(), ids=NOT_FOR_BOTH)
def test_what_is_not_for_both_dialects_is_refused(pattern, message):
    with pytest.raises(PatternError) as caught:
        translate(pattern)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(a+)+$",
        r"(a*)*",
        r"(a|a)*b",
        r"(a|aa)+$",
        r"([a-c]|[b-d])*x",
        r"(a?b?)*c",
        r"(a(b?|c?))*d",
        r"(.*)*x",
        r"(x+x+)+y",
        r"^(\w+\s?)*$",
        r"(a{1,50}){1,50}",
        r"(a+){4}b",
        r"(a?){30}a{30}",
        r"(?=(a+)+b)c",
        r"((ab)*c?(ab)*)*d",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"(a{2}|a{3})*b",
        r"(a|aa){8}b",
    ],
)
def test_exponential_time_is_refused(pattern):
    with pytest.raises(PatternError, match="can take exponential time, because it matches one text in many ways"):
        translate(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^[a-z]+(-[a-z]+)*$", "a-" * 5000 + "!"),
        (r"^(a|b)*$", "ab" * 5000 + "c"),
        (r"^(a|ba)*$", "aba" * 3000 + "c"),
        (r"^(\d{1,3}\.){3}\d{1,3}$", "1.22.333." * 1000),
        (r"^([0-9a-f]{8})+$", "0123abcd" * 2000 + "x"),
        (r"^([0-9a-f]{2}){32}$", "0a" * 31 + "x"),
        (r"^(ab{0,3}){1,100}$", "abbb" * 101),
        (r"^(ER-[0-9]{3}|DED-[0-9]{4})(, (ER-[0-9]{3}|DED-[0-9]{4}))*$", "ER-101, " * 1000),
        (r"^\S+@\S+\.\S+$", "a@b." * 50 + " "),
        (r"^(?:[^\"\\]|\\.)*$", "\\x" * 5000 + '"'),
        (r"^.{1,4000}$", "x" * 4001),
        (r"^(a{1,2}){3}$", "a" * 7),
        (r"^(([0-9]|[a-f]){8})+$", "0123abcd" * 2000 + "x"),
        (r"^(.|\n)*$", "x\n" * 5000 + "\r"),
    ],
)
def test_what_is_safe_is_left_alone(pattern, text):
    """Each text nearly fits, so that an engine that backtracks a lot would not return."""
    assert not matches(pattern, text)


def test_too_large_to_be_checked_is_refused():
    with pytest.raises(PatternError, match="is too large to be checked"):
        translate("(" + "|".join(f"w{number}" for number in range(400)) + ")*")


atoms = st.sampled_from(["a", "b", "[ab]", "[^a]", "(?:ab)", "(?:a|b)", r"\d", "^", "$"])
pieces = st.tuples(atoms, st.sampled_from(["", "?", "{2}", "{0,2}", "+"])).map(
    lambda pair: pair[0] if pair[0] in "^$" else "".join(pair)
)
patterns = st.lists(st.lists(pieces, max_size=4).map("".join), min_size=1, max_size=3).map("|".join)


@given(patterns, st.text("ab1\n", max_size=8))
def test_it_says_what_python_says_where_both_agree(pattern, text):
    same = pattern.replace("$", r"\Z").replace(r"\d", "[0-9]")

    assert matches(pattern, text) == (re.search(same, text) is not None)


@given(st.text("ab(|)*+?{}[]^$\\-,.:=!<123d", max_size=14))
def test_any_text_is_translated_or_refused(pattern):
    with contextlib.suppress(PatternError):
        re.compile(translate(pattern))
