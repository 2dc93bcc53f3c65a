"""What formats that point at lines of files say: a remark for each thing that is wrong, with its place."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_release_gate.model import SEVERITIES, Location, Result, State, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that is to be said about an output that did not pass."""

    # The check that says it; "infrastructure" or "release-gate" where none does.
    check: str
    # First line: what is wrong. More lines: where and by how much.
    message: str
    # One of SEVERITIES.
    severity: str
    # Whether it only says that nobody knows if the output is right.
    unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why evidence or a policy is refused."""

    message: str
    # None: no one file is to blame.
    place: Location | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def remarks(result: Result) -> tuple[Remark, ...]:
    """Everything that is to be said about an output; nothing if it passed, at least one thing if it did not."""
    if result.state is State.PASSED:
        return ()
    if result.state is State.INFRA:
        message = f"the run of the agent was lost to infrastructure trouble: {result.infra}"
        return (Remark(check="infrastructure", message=message, severity=result.severity, unknown=True),)
    found = tuple(
        Remark(
            check=check.name,
            message=finding.message,
            severity=finding.severity,
            unknown=check.status is Status.ERROR,
        )
        for check in result.checks
        for finding in check.findings
    )
    message = "no check applied to this output, so nobody knows whether it is right; add one that does"
    return found or (Remark(check="release-gate", message=message, severity=result.severity, unknown=True),)


def gravest(said: Sequence[Remark]) -> str:
    """The worst of their severities."""
    return min((one.severity for one in said), key=SEVERITIES.index)


def path_in(prefix: str, place: Location) -> str:
    """The path of a place as it reads from the root of the repository.

    :param prefix: from there to the folder that places are relative to; "" if it is the same.
    """
    return posixpath.normpath(posixpath.join(prefix, place.path))
