"""GitHub Actions: annotations on the lines of cases and of refused files, and the summary of a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_release_gate.escape import terminal, workflow_command
from pytest_release_gate.model import SEVERITIES, Conclusion, Location, Result
from pytest_release_gate.reporters import markdown
from pytest_release_gate.reporters.remarks import Trouble, gravest, path_in, remarks

# Of each level GitHub shows so many in a step and drops the others without a word.
MOST = 10
# A summary must be smaller than this, in bytes, or GitHub shows nothing of it.
SUMMARY_LIMIT = 1024 * 1024
_LEVELS = {"critical": "error", "major": "error", "minor": "warning"}
_LONGEST_LINE = 300
_MOST_LINES = 12
_CUT = (
    "\nThis summary was cut here, since GitHub shows less than 1 MiB a step; "
    "the log and the results files have the rest.\n"
)


def commands(conclusion: Conclusion, troubles: Sequence[Trouble], prefix: str) -> list[str]:
    """Workflow commands, a line each: what is refused, then what did not pass, the worst severity first.

    :param troubles: why evidence is refused.
    :param prefix: from the root of the repository to the folder that places are relative to.
    """
    failed = [
        (gravest(said), result)
        for report in conclusion.reports
        for result in report.results
        if (said := remarks(result))
    ]
    failed.sort(key=lambda pair: SEVERITIES.index(pair[0]))
    found: dict[str, list[str]] = {"error": [], "warning": []}
    for trouble in troubles:
        found["error"].append(
            _command("error", prefix, trouble.place, "refused by the release gate", [trouble.message])
        )
    for severity, result in failed:
        level = _LEVELS[severity]
        found[level].append(_command(level, prefix, result.case_source, _title(severity, result), _message(result)))
    lines = [line for level in found.values() for line in level[:MOST]]
    more = [f"{len(level) - MOST} more {name}s" for name, level in found.items() if len(level) > MOST]
    if more:
        lines.append(_command("notice", prefix, None, "release gate", [f"{' and '.join(more)} are not shown here"]))
    return lines


def _title(severity: str, result: Result) -> str:
    trial = f", trial {result.trial}" if result.trial else ""
    return f"{result.case_id} ({severity}, {result.state.value}) in {result.snapshot}{trial}"


def _message(result: Result) -> Iterator[str]:
    yield result.title
    for remark in remarks(result):
        first, *more = remark.message.split("\n")
        yield f"{remark.check}: {first}"
        yield from (f"  {line}" for line in more)


def _command(level: str, prefix: str, place: Location | None, title: str, message: Iterable[str]) -> str:
    properties = []
    # A file outside of the repository is none that GitHub could show.
    if place is not None and not (path := path_in(prefix, place)).startswith(("..", "/")):
        properties.append(("file", path))
        properties += [("line", str(place.line))] if place.line else []
    properties.append(("title", _cut(title)))
    shown = ",".join(f"{name}={workflow_command(value, in_property=True)}" for name, value in properties)
    lines = list(message)
    more = [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    text = "\n".join([*(terminal(_cut(line)) for line in lines[:_MOST_LINES]), *more])
    return f"::{level} {shown}::{workflow_command(text)}"


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} … ({len(line)} characters)"


def summary(conclusion: Conclusion, room: int) -> bytes:
    """The summary of a step, as Markdown.

    :param room: how many bytes it may have; a longer one is cut at the end of a line, and says so.
    """
    whole = markdown.render(conclusion).encode("utf-8", "backslashreplace")
    if len(whole) <= room:
        return whole
    kept = whole[: max(0, room - len(_CUT.encode()))]
    kept = kept[: kept.rfind(b"\n") + 1]
    return kept + _CUT.encode() if kept else b""
