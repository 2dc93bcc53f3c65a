"""For GitHub Actions: annotations on the lines of cases, and the summary of a step, within the limits of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_release_gate.escape import github, github_property
from pytest_release_gate.model import SEVERITIES, Conclusion, Result, State
from pytest_release_gate.reporters import markdown

# A step shows ten annotations of each level; those beyond are dropped without a word.
_MOST = 10
_LONGEST = 1000
# A summary of more than 1 MiB is refused as a whole.
_MOST_BYTES = 900_000
_CUT = "\n\nThis summary was cut; everything is in the results files.\n"

Place = Callable[[str], str]
"""A path relative to the root → the same, relative to the checkout."""


def of_outputs(conclusion: Conclusion, place: Place) -> list[str]:
    """A workflow command for each output that did not pass, the gravest first, and one that counts the rest."""
    failed = [result for report in conclusion.reports for result in report.results if result.state is not State.PASSED]
    failed.sort(key=lambda result: SEVERITIES.index(result.severity))
    by_level: dict[str, list[str]] = {"error": [], "warning": []}
    for result in failed:
        level = "warning" if result.severity == SEVERITIES[-1] or result.state is State.INFRA else "error"
        title = f"{result.case_id} ({result.severity}, {result.state.value}) in {result.snapshot}"
        source = result.case_source
        by_level[level].append(_command(level, place(source.path), source.line, title, _said(result)))
    return _limited(by_level)


def of_problems(problems: Iterable[tuple[str | None, int | None, str]], place: Place) -> list[str]:
    """A workflow command for each problem of evidence that can't be read: its path, line and message."""
    title = "release gate: the evidence is refused"
    commands = [
        _command("error", place(path) if path else "", line or 0, title, message) for path, line, message in problems
    ]
    return _limited({"error": commands})


def summary(conclusion: Conclusion) -> str:
    """The release report, cut to what a step summary may hold."""
    return limited(markdown.render(conclusion))


def limited(text: str) -> str:
    """Markdown for a step summary, cut after a whole line."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= _MOST_BYTES:
        return encoded.decode()
    return encoded[:_MOST_BYTES].rpartition(b"\n")[0].decode() + _CUT


def _limited(by_level: dict[str, list[str]]) -> list[str]:
    shown = [command for commands in by_level.values() for command in commands[:_MOST]]
    more = sum(len(commands[_MOST:]) for commands in by_level.values())
    return [*shown, f"::notice title=release gate::and {more} more; see the log"] if more else shown


def _command(level: str, path: str, line: int, title: str, message: str) -> str:
    where = f"file={github_property(path)}," + (f"line={line}," if line else "") if path else ""
    return f"::{level} {where}title={github_property(title[:200])}::{github(message)}"


def _said(result: Result) -> str:
    lines: Sequence[str] = [
        f"{check.name}: {finding.message[:_LONGEST]}" for check in result.checks for finding in check.findings
    ]
    if result.infra:
        lines = [f"infrastructure: {result.infra}"]
    text = "\n".join(lines[:20]) or "no check applied, so nobody knows whether it is right"
    source = result.output_source
    return f"{text}\n{source}" if source else text
