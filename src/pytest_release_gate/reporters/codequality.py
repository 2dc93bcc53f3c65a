"""GitLab's code quality report: an array of issues, each at the line of a case; sorted, the same for the same run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from pytest_release_gate.escape import terminal
from pytest_release_gate.model import Conclusion, Json, Report, Result
from pytest_release_gate.reporters.results import dumps

_LONGEST = 500
UNFINISHED = "the run has not finished; if it should have, it died: run it again"


def render(conclusion: Conclusion) -> str:
    """An issue for each finding; where nothing was judged, or something holds the verdict, one for each reason."""
    issues = [issue for report in conclusion.reports for issue in _issues(report)]
    if not conclusion.reports:
        issues = [_issue("release gate", reason, "blocker", "", 1, ()) for reason in conclusion.decision.reasons]
    return dumps(sorted(issues, key=lambda issue: (issue["location"]["path"], _line(issue), issue["fingerprint"])))


def render_undecided(problems: Iterable[tuple[str | None, int | None, str]]) -> str:
    """What there is to say where nothing was concluded: a path (None: no file), a line and a message each."""
    return dumps([_issue("release gate", text, "blocker", path or "", line or 1, ()) for path, line, text in problems])


def _line(issue: Json) -> int:
    return int(issue["location"]["lines"]["begin"])


def _issues(report: Report) -> Iterator[Json]:
    for ground in report.decision.grounds:
        yield _issue("release gate", f"{ground.verdict.name}: {ground.reason}", "info", report.cases, 1, (report,))
    for result in report.results:
        yield from _of_result(report, result)


def _of_result(report: Report, result: Result) -> Iterator[Json]:
    place = result.case_source
    who = f"{result.case_id}[{result.snapshot}]" + (f" trial {result.trial}" if result.trial else "")
    if result.infra:
        said = f"{who}: infrastructure: {result.infra}"
        yield _issue("infrastructure", said, "info", place.path, place.line, (report, result))
    for check in result.checks:
        for number, finding in enumerate(check.findings):
            said, severity = f"{who}: {finding.summary}", finding.severity
            yield _issue(check.name, said, severity, place.path, place.line, (report, result, number))


def _issue(check: str, said: str, severity: str, path: str, line: int, of: tuple[Report | Result | int, ...]) -> Json:
    parts = [check, said, path, str(line)]
    for one in of:
        if isinstance(one, Report):
            parts += [one.suite, one.policy, one.snapshot]
        else:
            parts.append(f"{one.case_id} {one.trial}" if isinstance(one, Result) else str(one))
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return {
        "check_name": terminal(check),
        "description": terminal(said if len(said) <= _LONGEST else f"{said[:_LONGEST]} …"),
        "fingerprint": hashlib.sha256(text).hexdigest(),
        "location": {"path": path or ".", "lines": {"begin": max(1, line)}},
        "severity": severity,
    }
