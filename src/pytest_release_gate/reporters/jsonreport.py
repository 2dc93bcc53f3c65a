"""What a pytest-json-report file carries under the key `release_gate`: plain values, nothing for people to read."""

from __future__ import annotations

from collections.abc import Callable

from pytest_release_gate.model import Conclusion, Json, Report, Result
from pytest_release_gate.reporters.results import number

KEY = "release_gate"


def content(conclusion: Conclusion, code: int, node_id: Callable[[Report, Result], str]) -> Json:
    """The decision, each snapshot's metrics, each output's checks.

    :param code: the exit code of the session.
    :param node_id: the node id of the item that judged an output; "" if it is not known.
    """
    return {
        "decision": {
            "verdict": conclusion.decision.verdict.name,
            "reasons": list(conclusion.decision.reasons),
            "exit_code": code,
        },
        "snapshots": [_snapshot(report) for report in conclusion.reports],
        "items": [
            {"nodeid": node_id(report, result), "suite": report.suite, **_item(result)}
            for report in conclusion.reports
            for result in report.results
        ],
    }


def _snapshot(report: Report) -> Json:
    return {
        "suite": report.suite,
        "snapshot": report.snapshot,
        "verdict": report.decision.verdict.name,
        "reasons": list(report.decision.reasons),
        "expected": report.expected,
        "missing": [{"case_id": case_id, "trial": trial} for case_id, trial in report.missing],
        "metrics": {
            name: {"value": number(metric.value, metric.unit), "unit": metric.unit, "n": metric.n}
            for name, metric in report.metrics.items()
        },
    }


def _item(result: Result) -> Json:
    return {
        "snapshot": result.snapshot,
        "case_id": result.case_id,
        "trial": result.trial,
        "severity": result.severity,
        "bucket": result.bucket,
        "state": result.state.value,
        "checks": [
            {
                "name": check.name,
                "status": check.status.value,
                "findings": [{"message": f.message, "severity": f.severity} for f in check.findings],
            }
            for check in result.checks
        ],
    }
