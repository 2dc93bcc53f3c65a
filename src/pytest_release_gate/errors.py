"""What can go wrong with the gate itself; an agent that fails a check is not an exception but a `Finding`.

* GateError
  * PolicyError   the policy or an option can't be used as written: a usage error, nothing is collected
  * SuiteError    the evidence can't be read as what it claims to be: refused, nothing is decided
  * ResultsError  what was asked for could not be written

The first two carry every problem at once, each with its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One sentence about what is wrong and, where it is known, in which file and line."""

    # What is wrong and what to do; may quote the file, so it is escaped by whoever shows it.
    message: str
    # The file, relative to the root, with forward slashes; None if no one file is to blame.
    path: str | None = None
    # The physical line, from 1; None if it is about the file as a whole.
    line: int | None = None

    def __str__(self) -> str:
        place = self.path or ""
        if self.path is not None and self.line is not None:
            place = f"{self.path}:{self.line}"
        return f"{place}: {self.message}" if place else self.message


# More are counted, in what an exception says; `problems` holds them all.
_MOST = 20


class GateError(Exception):
    """The base of all exceptions that this package raises on purpose."""


class _ProblemsError(GateError):
    """An exception that carries one or more problems.

    :param problems: at least one `Problem`, in the order in which they are to be read.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:_MOST]]
        more = len(self.problems) - _MOST
        super().__init__("\n".join([*shown, f"and {more} more problems"] if more > 0 else shown))


class PolicyError(_ProblemsError):
    """The policy or an option can't be used as written."""


class SuiteError(_ProblemsError):
    """The evidence (cases, schemas, outputs) can't be read as what it claims to be."""


class ResultsError(GateError):
    """A results file could not be written."""
