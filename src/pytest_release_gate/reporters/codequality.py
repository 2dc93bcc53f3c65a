"""GitLab's code quality report: an array with an entry for each finding, and for each reason why nobody knows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence

from pytest_release_gate.escape import terminal
from pytest_release_gate.model import Conclusion, Ground, Json, Location, Report, Verdict
from pytest_release_gate.reporters.remarks import Trouble, path_in, remarks
from pytest_release_gate.reporters.results import dumps

# The name under which the gate itself speaks; GitLab's gravest severity is kept for what nobody knows.
_GATE, _GRAVEST = "release-gate", "blocker"
_LONGEST = 1000


def render(conclusion: Conclusion, troubles: Sequence[Trouble], prefix: str, own: str) -> str:
    """The report of a run. It is empty only if there is nothing to say against any snapshot.

    :param troubles: why evidence is refused.
    :param prefix: from the root of the repository to the folder that places are relative to.
    :param own: the report's own path, for what is about no other file.
    """
    entries = [_refused(trouble, prefix, own) for trouble in troubles]
    said = {str(trouble) for trouble in troubles}
    for report in conclusion.reports:
        found = list(_report(report, prefix))
        entries += found
        said |= {f"{report.snapshot}: {reason}" for reason in report.decision.reasons}
        entries += [
            _ground(ground, path_in(prefix, Location(path=report.source)), [report.policy, report.suite], report)
            for ground in report.decision.grounds
            if ground.verdict is Verdict.HOLD or not found
        ]
    entries += [_ground(ground, own, []) for ground in conclusion.decision.grounds if ground.reason not in said]
    return _sorted(entries)


def render_running(own: str) -> str:
    """What stands in the file while a run is going on, and after one that died."""
    reason = "the run has not finished; if it should have, it died: run it again"
    return _sorted([_ground(Ground(verdict=Verdict.HOLD, reason=reason), own, [])])


def _sorted(entries: Sequence[Json]) -> str:
    # GitLab shows one entry a fingerprint, so two that say the same of the same are one.
    unique = {entry["fingerprint"]: entry for entry in entries}

    def key(entry: Json) -> tuple[str, int, str, str]:
        location = entry["location"]
        return location["path"], location["lines"]["begin"], entry["description"], entry["fingerprint"]

    return dumps(sorted(unique.values(), key=key))


def _report(report: Report, prefix: str) -> Iterator[Json]:
    several = report.expected > len({result.case_id for result in report.results})
    for result in report.results:
        trial = f", trial {result.trial}" if several else ""
        for remark in remarks(result):
            first = remark.message.partition("\n")[0]
            yield _entry(
                f"{result.case_id} in {result.snapshot}{trial}: {first}",
                remark.check,
                _GRAVEST if remark.unknown else remark.severity,
                path_in(prefix, result.case_source),
                result.case_source.line,
                [
                    report.policy,
                    report.suite,
                    result.snapshot,
                    result.case_id,
                    result.trial,
                    remark.check,
                    remark.message,
                ],
            )


def _refused(trouble: Trouble, prefix: str, own: str) -> Json:
    place = trouble.place
    path, line = (path_in(prefix, place), place.line) if place else (own, 0)
    return _entry(f"refused: {trouble.message}", _GATE, _GRAVEST, path, line, [path, line, trouble.message])


def _ground(ground: Ground, path: str, about: Sequence[str], report: Report | None = None) -> Json:
    severity = "major" if ground.verdict is Verdict.REVIEW else _GRAVEST
    where = f" {report.snapshot}" if report else ""
    text = f"{ground.verdict.name}{where}: {ground.reason}"
    return _entry(text, _GATE, severity, path, 0, [*about, where, ground.verdict.name, ground.reason])


def _entry(description: str, check: str, severity: str, path: str, line: int, identity: Sequence[Json]) -> Json:
    cut = description if len(description) <= _LONGEST else f"{description[:_LONGEST]} … ({len(description)} characters)"
    return {
        "description": terminal(cut),
        "check_name": terminal(check),
        "fingerprint": hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
        "severity": severity,
        "location": {"path": terminal(path), "lines": {"begin": max(1, line)}},
    }
