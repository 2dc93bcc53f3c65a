"""Checks that only a session of pytest knows, since they come from conftest.py files and plugins: their place, kept."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_release_gate.checks import BUILT_IN
from pytest_release_gate.model import Case, Measure, Output, Reason


@dataclass(frozen=True)
class StandIn:
    """Takes the place of a check, so that the policy that uses it can be read; it judges nothing."""

    # The names of the measures that the check yields.
    measures: tuple[str, ...] = ()

    def __call__(self, case: Case, output: Output, **arguments: object) -> Iterable[str | Reason | Measure]:
        """Break, so that whatever is judged by it is held.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError("a check of the suite's own is known only to a session of pytest")


def not_built_in(path: Path) -> list[str]:
    """The checks that a policy uses and that are neither built in nor a slip of the pen for one that is."""
    try:
        entries = tomllib.loads(path.read_text("utf-8-sig"))["checks"]
        used = [str(entry.get("uses") or entry["name"]) for entry in entries]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []  # what is wrong with the file is said when it is read as a policy
    return [name for name in used if name not in BUILT_IN and not difflib.get_close_matches(name, BUILT_IN, n=1)]
