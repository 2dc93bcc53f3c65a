"""`digest.md`: what went wrong, by check and bucket, the trials of a case side by side. It repairs nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pytest_release_gate.escape import code, markdown
from pytest_release_gate.model import Conclusion, Report, Result, Status

_MOST_CASES = 20
_LONGEST = 400


def render(conclusion: Conclusion) -> str:
    """The digest of a concluded run; bounded, however large the run."""
    parts = ["# What went wrong\n", "This page reports; it repairs nothing and decides nothing.\n"]
    for report in conclusion.reports:
        parts.append(_snapshot(report))
    return "\n".join(parts)


def _snapshot(report: Report) -> str:
    lines = [f"## {markdown(report.snapshot)}", ""]
    groups: dict[tuple[str, str], list[str]] = {}
    for result in report.results:
        for check in result.checks:
            if check.status in (Status.FAILED, Status.ERROR):
                cases = groups.setdefault((check.name, result.bucket), [])
                if result.case_id not in cases:
                    cases.append(result.case_id)
    by_case: dict[str, list[Result]] = {}
    for result in report.results:
        by_case.setdefault(result.case_id, []).append(result)
    budget = _MOST_CASES
    for (name, bucket), cases in sorted(groups.items()):
        lines += [f"### {markdown(name)}" + (f", bucket {markdown(bucket)}" if bucket else ""), ""]
        for case_id in cases[: max(0, budget)]:
            lines += _case(name, by_case[case_id])
        if len(cases) > budget:
            lines += [f"and {len(cases) - max(0, budget)} more cases, in `evidence.json`", ""]
        budget = max(0, budget - len(cases))
    return "\n".join(lines if groups else [*lines, "Nothing.", ""])


def _case(name: str, trials: Sequence[Result]) -> list[str]:
    lines = [f"{markdown(trials[0].case_id)} {markdown(trials[0].title)} ({trials[0].severity})", ""]
    lines += ["| trial | outcome | reason | output |", "| --- | --- | --- | --- |"]
    for result in trials:
        said = [f.summary for check in result.checks if check.name == name for f in check.findings]
        output = json.dumps(result.actual, ensure_ascii=False, sort_keys=True)
        reason = markdown("; ".join(said)[:_LONGEST]) or "–"
        lines.append(f"| {result.trial} | {result.state.value} | {reason} | {_shown(output)} |")
    return [*lines, ""]


def _shown(output: str) -> str:
    return code(output if len(output) <= _LONGEST else f"{output[:_LONGEST]} …")
