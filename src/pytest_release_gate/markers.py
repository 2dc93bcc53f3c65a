"""The markers of gate items: what `-m` selects by, and what `--strict-markers` has to know of.

The name of a bucket or a tag comes from a file and may be anything. The rule that makes a marker of it: letters, digits
and `_` stay, every other character becomes `_`, and after 100 characters it ends. Two names may fall on one marker,
which then selects the cases of both; the keywords of `-k` stay what the file says.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_release_gate.model import SEVERITIES, Case

ALL = "release_gate"
"""The marker of every item of ours."""

_LONGEST_NAME = 100


def name_of(kind: str, text: str) -> str:
    """The marker for a bucket or a tag: `bucket_deny` for `("bucket", "deny")`.

    :param kind: "bucket" or "tag".
    """
    return f"{kind}_" + "".join(one if _stays(one) else "_" for one in text[:_LONGEST_NAME])


def _stays(character: str) -> bool:
    # `-m` reads what `re` calls a word, Python what it calls an identifier: ² is only one, a combining mark the other.
    return character == "_" or (character.isalnum() and f"_{character}".isidentifier())


def of_case(case: Case) -> tuple[str, ...]:
    """The markers of a case's items, each once."""
    bucket = [name_of("bucket", case.bucket)] if case.bucket else []
    tags = [name_of("tag", tag) for tag in case.tags if tag]
    return tuple(dict.fromkeys([ALL, case.severity, *bucket, *tags]))


def lines(cases: Iterable[Case]) -> list[str]:
    """What is registered: a line for each marker that these cases, and the items as such, carry."""
    said = {ALL: "set on every release gate item"}
    said |= dict.fromkeys(SEVERITIES, "set on release gate items of cases of this severity")
    found = sorted({name for case in cases for name in of_case(case)} - said.keys())
    said |= {name: f"set on release gate items of cases with this {name.partition('_')[0]}" for name in found}
    return [f"{name}: {text}" for name, text in said.items()]
