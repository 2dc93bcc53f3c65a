"""The rules and records that an answer may cite, read from a policy document or from JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*")
_REPLACES = re.compile(r"\(replaces\s+(.+?)\)")
# An id ends where a title begins.
_TITLE = re.compile(r"\s+[–—:-]\s+|:\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What can be cited."""

    # Ids of rules, or of records.
    rules: frozenset[str]
    # Id of an earlier version's rule → the rule that replaced it.
    replaced: Mapping[str, str] = field(default_factory=dict)


def read_markdown(text: str) -> Document:
    """The rules of a policy document: each heading is an id, what follows ` – ` or `: ` is its title.

    `### ER-2 §6.1 (replaces ER-1 §6.1, ER-1 §6.3)` says what the rule replaces.
    """
    rules, replaced = set(), {}
    for line in text.split("\n"):
        heading = _HEADING.fullmatch(line.strip())
        if not heading:
            continue
        words = heading[1]
        old = [one.strip() for found in _REPLACES.findall(words) for one in found.split(",")]
        rule = _TITLE.split(_REPLACES.sub("", words), maxsplit=1)[0].strip()
        rules.add(rule)
        replaced.update(dict.fromkeys(old, rule))
    return Document(rules=frozenset(rules), replaced=replaced)


def of_records(ids: Iterable[str]) -> Document:
    """The records with these ids."""
    return Document(rules=frozenset(ids))
