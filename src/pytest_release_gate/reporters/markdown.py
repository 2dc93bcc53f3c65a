"""`RELEASE_REPORT.md`: for people, and for a pull request; bounded, however large the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_release_gate import wording
from pytest_release_gate.escape import code, markdown
from pytest_release_gate.model import Conclusion, Decision, Report, Result, State

_MOST_CASES = 50
_MOST_SNAPSHOTS = 200
_LONGEST = 300
_GOOD = "every output was judged and every rule holds"
_NOTE = "`production_approved: false`: nothing here approves a release, a PASS lets a version be considered."


def render(conclusion: Conclusion) -> str:
    """The report of a concluded run."""
    shown = conclusion.reports[:_MOST_SNAPSHOTS]
    parts = [_head(conclusion.decision), *([_table(shown)] if shown else [])]
    if len(shown) < len(conclusion.reports):
        parts.append(f"{len(conclusion.reports) - len(shown)} more snapshots are in `summary.json`.\n")
    budget = _MOST_CASES
    for report in shown:
        parts.append(_section(report, budget))
        budget = max(0, budget - sum(not result.passed for result in report.results))
    return "\n".join(parts)


def render_undecided(state: str, reasons: Sequence[str]) -> str:
    """The report where nothing was concluded."""
    listed = "".join(f"- {_text(reason)}\n" for reason in reasons[:_MOST_CASES])
    more = len(reasons) - _MOST_CASES
    return f"# Release gate: HOLD\n\nNothing was decided ({state}).\n\n{listed}" + (
        f"- and {more} more\n" if more > 0 else ""
    )


def _text(value: str) -> str:
    cut = value if len(value) <= _LONGEST else f"{value[:_LONGEST]} … ({len(value)} characters)"
    return markdown(cut)


def _head(decision: Decision) -> str:
    reasons = "".join(f"- {_text(reason)}\n" for reason in decision.reasons[:_MOST_CASES])
    return f"# Release gate: {decision.verdict.name}\n\n{reasons or f'- {_GOOD}' + chr(10)}\n{_NOTE}\n"


def _rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _table(reports: Sequence[Report]) -> str:
    headings = ("snapshot", "cases passed", "pass rate", "critical failures", "p95 latency", "mean cost", "gate")
    names = ("pass_rate", "critical_failures", "p95_latency_ms", "mean_cost_usd")
    rows = []
    for report in reports:
        passed = sum(result.passed for result in report.results)
        figures = [
            f"{wording.metric(report.metrics[name], report.decision.rules)} (n={report.metrics[name].n})"
            for name in names
        ]
        rows.append([_text(report.snapshot), f"{passed}/{report.expected}", *figures, report.decision.verdict.name])
    return _rows(headings, rows)


def _section(report: Report, budget: int) -> str:
    decision = report.decision
    lines = [f"## {_text(report.snapshot)}: {decision.verdict.name}", ""]
    reasons = decision.reasons or (_GOOD,)
    lines += [f"- {_text(reason)}" for reason in reasons[:_MOST_CASES]]
    lines += ["", f"{_text(report.suite)} {_text(report.version)}, {code(report.policy)}, {code(report.source)}", ""]
    rows = [
        [
            _text(wording.subject(result)),
            wording.bound(result),
            wording.metric(result.observed, (result,)),
            str(result.observed.n),
            result.outcome.value,
            result.rule.otherwise.name,
        ]
        for result in decision.rules
    ]
    lines.append(_rows(("rule", "bound", "observed", "n", "outcome", "otherwise"), rows))
    for name, (got, of) in report.measures.items():
        lines += [f"{_text(wording.name(name))}: {wording.of(got, of)}", ""]
    lines += _groups(report)
    lines += _repeated(report)
    lines += _trust(report)
    lines += _power(report)
    lines += _missing(report)
    lines += _failed([result for result in report.results if not result.passed], budget)
    return "\n".join(lines)


def _groups(report: Report) -> list[str]:
    """Rates by group, each with its 95 % interval and n; a column for each metric."""
    # With k = 1 both are the mean pass rate, unless trials are lost.
    names = [one for one in dict.fromkeys(one.name for one in report.groups) if not one.endswith("_1")]
    rows: dict[str, list[str]] = {}
    for one in report.groups:
        if one.name not in names:
            continue
        rows.setdefault(_text(one.group), []).append(wording.share(one))
    if not rows:
        return []
    overall = ["all", *(wording.share(report.metrics[name]) for name in names)]
    shown = [overall, *([group, *cells] for group, cells in list(rows.items())[:_MOST_CASES])]
    table = _rows(["group", *(_text(wording.name(name)) for name in names)], shown)
    return [table, "Intervals: Wilson, 95 %, over cases.", ""]


def _repeated(report: Report) -> list[str]:
    """What trials show: flaky cases, how far they lie apart, what was lost."""
    if not any(name.startswith("pass_hat_") for name in report.metrics):
        return []
    lines = [wording.spread(report.metrics, report.decision.rules)]
    if report.flaky:
        flaky = [_text(case_id) for case_id in report.flaky]
        lines.append(f"Flaky, passed in some trials and not in all: {wording.few(flaky, at_most=20)}.")
    return [*(part for line in lines for part in (line, "")), *[_text(wording.lost(report.metrics, report.infra)), ""]]


def _trust(report: Report) -> list[str]:
    """How the graders did on what is known."""
    lines = []
    for one in report.graders.trust:
        first, *more = wording.trust(one)
        lines += [f"- {_text(first)}", *(f"  - {_text(line.strip())}" for line in more)]
        lines += [f"  - {_text(reason)}" for reason in one.reasons[:_MOST_CASES]]
    return [*lines, ""] if lines else []


def _power(report: Report) -> list[str]:
    """What each rule over a rate would notice, and which of them noise alone breaks."""
    if not report.power:
        return []
    lines = ["What these rules would notice:", ""]
    for power in report.power[:_MOST_CASES]:
        lines.append(f"- {_text(wording.power(power))}")
        if warning := wording.noise(power):
            lines.append(f"  - **Warning:** {_text(warning)}")
    return [*lines, "", "Method: exact binomial over cases; the trials of a case count as one outcome.", ""]


def _missing(report: Report) -> list[str]:
    if not report.missing:
        return []
    names = [_text(case_id if trial == 0 else f"{case_id} t{trial}") for case_id, trial in report.missing]
    return [f"Without a result: {wording.few(names, at_most=20)}.", ""]


def _failed(results: Sequence[Result], budget: int) -> list[str]:
    lines = []
    for result in results[:budget]:
        trial = f" t{result.trial}" if result.trial else ""
        lines.append(
            f"- {_text(result.case_id)}{trial} {_text(result.title)} ({result.severity}, {result.state.value})"
        )
        for check in result.checks:
            lines += [f"  - {_text(check.name)}: {_text(finding.summary)}" for finding in check.findings[:5]]
        if result.state is State.INFRA:
            lines.append(f"  - infrastructure: {_text(result.infra)}")
    if len(results) > budget:
        lines.append(f"- and {len(results) - budget} more that did not pass; all of them are in the results files")
    return [*lines, ""] if lines else []
