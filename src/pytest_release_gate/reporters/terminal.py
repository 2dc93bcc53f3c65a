"""The decision block that stands at the very end of a session, and how one failure reads."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_release_gate import escape, wording
from pytest_release_gate.model import SEVERITIES, Conclusion, Decision, Report, Result, State, Status, Verdict

_MOST_REASONS = 20
_MOST_ON_A_LINE = 3
_FAILED = (f"failed: {SEVERITIES[0]}", *SEVERITIES[1:])
_HEADINGS = ("snapshot", "passed", "pass rate", *_FAILED, "p95 latency", "mean cost", "verdict")


def decision_line(decision: Decision) -> str:
    """`release gate: VERDICT` and the gravest reasons, on one line."""
    gravest = [ground.reason for ground in decision.grounds if ground.verdict is decision.verdict]
    more = f"; and {len(gravest) - _MOST_ON_A_LINE} more" if len(gravest) > _MOST_ON_A_LINE else ""
    why = "; ".join(gravest[:_MOST_ON_A_LINE]) + more or "every output was judged and every rule holds"
    return escape.terminal(f"release gate: {decision.verdict.name}: {why}")


def decision_block(conclusion: Conclusion) -> list[str]:
    """The table of snapshots, then why each of them is not a PASS; without the decision line."""
    rows = [_HEADINGS, *map(_row, conclusion.reports)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for report in conclusion.reports:
        label = escape.terminal(report.snapshot)
        for name, (got, of) in report.measures.items():
            lines.append(f"  {label}: {escape.terminal(wording.name(name))} {wording.of(got, of)}")
        lines += _repeated(report)
        lines += [f"  {label}: {escape.terminal(line)}" for one in report.graders.trust for line in wording.trust(one)]
        if report.decision.verdict is not Verdict.PASS:
            lines += _why(report)
    return lines


def _repeated(report: Report) -> list[str]:
    """Of a suite with trials: rates by bucket, flaky cases, what the run cost; nothing for others."""
    k = max((int(name.removeprefix("pass_hat_")) for name in report.metrics if name.startswith("pass_hat_")), default=0)
    if not k:
        return []
    label, metrics = escape.terminal(report.snapshot), report.metrics
    names = ("mean_pass_rate", f"pass_hat_{k}")
    lines = [f"  {label}: rates over cases with their 95 % interval (Wilson over cases) and n"]
    rows = {"overall": [metrics[name] for name in names]}
    for metric in report.groups:
        field, _, value = metric.group.partition("=")
        if field == "bucket" and metric.name in names:
            rows.setdefault(escape.terminal(value), []).append(metric)
    width = max(map(len, rows))
    for name, found in rows.items():
        shown = "  ".join(f"{wording.name(one.name)} {wording.share(one)}" for one in found)
        lines.append(f"    {name.ljust(width)}  {shown}")
    if report.flaky:
        names_of = [escape.terminal(case_id) for case_id in report.flaky]
        lines.append(f"  {label}: flaky (passed in some trials, not in all): {wording.few(names_of, at_most=10)}")
    spent = ", ".join(
        f"{wording.name(name)} {wording.metric(metrics[name])}"
        for name in ("total_cost_usd", "total_tokens_in", "total_tokens_out")
    )
    lost = escape.terminal(wording.lost(metrics, report.infra))
    return [
        *lines,
        f"  {label}: {spent}, {lost}",
        f"  {label}: {wording.spread(metrics, report.decision.rules)}",
    ]


def _row(report: Report) -> tuple[str, ...]:
    metrics, rules = report.metrics, report.decision.rules
    passed, total = metrics["passed"], len(report.results)

    def shown(name: str) -> str:
        return wording.metric(metrics[name], rules)

    return (
        escape.terminal(report.snapshot),
        f"{0 if passed.value is None else int(passed.value)}/{report.expected}"
        + ("" if total == report.expected else f" ({total} judged)"),
        shown("pass_rate"),
        *(shown(f"{severity}_failures") for severity in SEVERITIES),
        shown("p95_latency_ms"),
        shown("mean_cost_usd"),
        report.decision.verdict.name,
    )


def _why(report: Report) -> list[str]:
    label = escape.terminal(report.snapshot)
    lines = [
        f"  {label}: {ground.verdict.name}: {escape.terminal(ground.reason)}" for ground in report.decision.grounds
    ]
    if any(result.findings for result in report.results):
        lines.append(f"  {label}: {_events(report)}")
    if report.missing:
        names = [escape.terminal(case_id if trial == 0 else f"{case_id} t{trial}") for case_id, trial in report.missing]
        lines.append(f"  {label}: without a result: {wording.few(names, at_most=10)}")
    failed = [result for result in report.results if result.state is not State.PASSED]
    if failed:
        several = report.expected > len({result.case_id for result in report.results})
        names = [
            f"{escape.terminal(r.case_id)}{f' t{r.trial}' if several else ''} ({r.severity}, {r.state.value})"
            for r in failed
        ]
        lines.append(f"  {label}: not passed: {wording.few(names, at_most=10)}")
    return lines


def _events(report: Report) -> str:
    """Findings are events and several may be about one case, so both are counted, each under its own name."""
    counts = {name: wording.metric(report.metrics[name]) for name in ("findings", "affected_cases")}
    by_severity = ", ".join(f"{wording.metric(report.metrics[f'{one}_findings'])} {one}" for one in SEVERITIES)
    return f"findings {counts['findings']} ({by_severity}) in {counts['affected_cases']} affected cases"


def problems_block(problems: Sequence[str]) -> list[str]:
    """Why the evidence is refused: at most 20 problems, then how many more."""
    shown = [escape.terminal(problem) for problem in problems[:_MOST_REASONS]]
    more = len(problems) - len(shown)
    return [*shown, f"and {more} more problems"] if more > 0 else shown


def failure(result: Result, places: Sequence[str]) -> str:
    """How an item that did not pass reads: what it is, each reason, and where to look.

    :param places: `path:line` of the case and of the output, as the terminal makes them clickable.
    """
    head = f"{_cut(result.case_id, 200)} {_cut(result.title, 200)} ({result.severity}) in {result.snapshot}"
    lines = [escape.terminal(head + (f", trial {result.trial}" if result.trial else ""))]
    for check in result.checks:
        for finding in check.findings:
            first, *more = finding.message.split("\n")
            marked = (
                "" if check.status is Status.ERROR or finding.severity == result.severity else f" ({finding.severity})"
            )
            lines.append(escape.terminal(f"  {check.name}{marked}: {_cut(first)}"))
            lines += [escape.terminal(f"      {_cut(line)}") for line in more[:20]]
    if result.state is State.UNGRADED and not any(check.findings for check in result.checks):
        lines.append("  no check applied to this output, so nobody knows whether it is right; add one that does")
    return "\n".join([*lines, *(f"  {escape.terminal(place)}" for place in places)])


def _cut(text: str, limit: int = 2000) -> str:
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"
