"""`<label>.json` and `summary.json`: keys sorted, two spaces, text as itself, a final line feed."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from pytest_release_gate import wording
from pytest_release_gate.model import SEVERITIES, Conclusion, Json, Report, Result, Rule, Status, Verdict

SCHEMA_VERSION = 1
_ALL_PASSED = "all quality and performance thresholds passed"
_BOUNDS = {"at_most": "maximum", "at_least": "minimum", "equals": "exact"}
# A check that was skipped or broke neither passed nor failed.
_SAID = {Status.PASSED: True, Status.FAILED: False, Status.SKIPPED: None, Status.ERROR: "error"}


def dumps(document: Json) -> str:
    """JSON as all of our files have it. Lone surrogates stay in the text, `encode` writes them as escapes."""
    return json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def encode(text: str) -> bytes:
    r"""UTF-8; a lone surrogate becomes the JSON escape `\udXXX` that it was read from."""
    return text.encode("utf-8", "backslashreplace")


def number(value: Fraction | None, unit: str) -> int | float | None:
    """A metric or a bound for JSON: a count as an integer, everything else as a double, None if it is not known."""
    if value is None:
        return None
    return int(value) if unit == "count" and value.denominator == 1 else float(value)


def render_snapshot(report: Report) -> str:
    """`<label>.json`: the decision on one snapshot, its metrics, and every case with its checks and reasons."""
    document = {
        "cases": [_case(result, several=report.expected > len(_ids(report))) for result in report.results],
        "decision": report.decision.verdict.name,
        "decision_reasons": _reasons(report),
        "label": report.snapshot,
        "metrics": _metrics(report),
        "schema_version": SCHEMA_VERSION,
        "thresholds": _thresholds(report),
    }
    if report.missing:
        document["missing"] = [{"case_id": case_id, "trial": trial} for case_id, trial in report.missing]
    return dumps(document)


def render_summary(conclusion: Conclusion) -> str:
    """`summary.json`: every snapshot's metrics and decision."""
    evaluations = []
    for report in conclusion.reports:
        metrics = _metrics(report)
        evaluations.append(
            {
                **metrics,
                "decision": report.decision.verdict.name,
                "decision_reasons": _reasons(report),
                "label": report.snapshot,
            }
        )
    thresholds = [_thresholds(report) for report in conclusion.reports]
    same = all(one == thresholds[0] for one in thresholds)
    if not same:
        for evaluation, one in zip(evaluations, thresholds, strict=True):
            evaluation["thresholds"] = one
    document: dict[str, Any] = {"evaluations": evaluations, "schema_version": SCHEMA_VERSION}
    if thresholds and same:
        document["thresholds"] = thresholds[0]
    return dumps(document)


def _ids(report: Report) -> set[str]:
    return {result.case_id for result in report.results} | {case_id for case_id, _ in report.missing}


def _case(result: Result, *, several: bool) -> dict[str, Json]:
    case = {
        "actual": result.actual,
        "case_id": result.case_id,
        "checks": {check.name: _SAID[check.status] for check in result.checks},
        "cost_usd": result.cost_usd,
        "latency_ms": result.latency_ms,
        "passed": result.passed,
        "reasons": [f.summary for check in result.checks for f in check.findings],
        "severity": result.severity,
        "title": result.title,
    }
    if several:
        case["trial"] = result.trial
    if result.infra:
        case["infra"] = result.infra
    return case


def _reasons(report: Report) -> list[str]:
    if report.decision.verdict is Verdict.PASS:
        return [_ALL_PASSED]
    longer = {wording.comparison(result): wording.sentence(result) for result in report.decision.rules}
    return [longer.get(reason, reason) for reason in report.decision.reasons]


def _metrics(report: Report) -> dict[str, Json]:
    def value(name: str) -> int | float | None:
        metric = report.metrics[name]
        return number(metric.value, metric.unit)

    rate = value("pass_rate")
    return {
        "critical_failure_count": value("critical_failures"),
        "failures_by_severity": {severity: value(f"{severity}_failures") for severity in SEVERITIES},
        "mean_cost_usd": value("mean_cost_usd"),
        "p95_latency_ms": value("p95_latency_ms"),
        "pass_rate": None if rate is None else round(rate, 6),
        "passed": value("passed"),
        "total": value("total"),
    }


def _threshold_name(rule: Rule) -> str:
    where = "" if rule.group == "all" else f"[{rule.group}]"
    return f"{_BOUNDS[rule.bound]}_{rule.metric}{where}"


def _thresholds(report: Report) -> dict[str, Json]:
    rules = report.decision.rules
    return {_threshold_name(result.rule): number(result.rule.limit, result.observed.unit) for result in rules}
