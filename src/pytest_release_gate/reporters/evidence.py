"""`evidence.json`: everything, for machines; `evidence.schema.json` in this package says what it looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_release_gate.model import (
    Conclusion,
    Decision,
    Graders,
    Ground,
    Json,
    Location,
    Metric,
    Power,
    Report,
    Result,
    RuleResult,
    Verdict,
)
from pytest_release_gate.reporters.results import dumps, number
from pytest_release_gate.version import VERSION

SCHEMA_VERSION = 1


def render_undecided(state: str, reasons: Sequence[str], digests: Mapping[str, str], files: Sequence[str]) -> str:
    """The evidence where nothing was concluded: always HOLD.

    :param state: "running" from the start of a session on, "refused" if its evidence could not be read.
    :param files: the results files of the run, so that the next run knows what to replace.
    """
    return _document(state, _undecided(reasons), [], digests, [], files)


def _undecided(reasons: Sequence[str]) -> Decision:
    grounds = tuple(Ground(verdict=Verdict.HOLD, reason=reason) for reason in reasons)
    return Decision(verdict=Verdict.HOLD, grounds=grounds)


def render(conclusion: Conclusion, files: Sequence[str]) -> str:
    """The evidence of a concluded run."""
    digests = {path: digest for report in conclusion.reports for path, digest in report.digests.items()}
    snapshots = [_snapshot(report) for report in conclusion.reports]
    return _document("concluded", conclusion.decision, conclusion.doubts, digests, snapshots, files)


def _document(
    state: str,
    decision: Decision,
    doubts: Sequence[str],
    digests: Mapping[str, str],
    snapshots: Sequence[Json],
    files: Sequence[str],
) -> str:
    return dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "pytest-release-gate", "version": VERSION},
            "state": state,
            # Nothing in this product can approve anything; a PASS lets a version be considered.
            "production_approved": False,
            "decision": _decision(decision),
            "doubts": list(doubts),
            "digests": dict(digests),
            "snapshots": list(snapshots),
            "files": sorted(files),
        }
    )


def _decision(decision: Decision) -> Json:
    return {"verdict": decision.verdict.name, "reasons": list(decision.reasons)}


def _snapshot(report: Report) -> Json:
    return {
        "suite": report.suite,
        "policy_version": report.version,
        "policy": report.policy,
        "cases": report.cases,
        "label": report.snapshot,
        "source": report.source,
        "digests": dict(report.digests),
        "own_checks": {name: list(measures) for name, measures in report.own_checks.items()},
        "counts": {
            "expected": report.expected,
            "seen": len(report.results),
            "missing": len(report.missing),
        },
        "missing": [{"case_id": case_id, "trial": trial} for case_id, trial in report.missing],
        "decision": _decision(report.decision),
        "thresholds": [_rule(result) for result in (*report.decision.front, *report.decision.rules)],
        "metrics": {name: _metric(metric) for name, metric in report.metrics.items()},
        "groups": [{"group": metric.group, "metric": metric.name, **_metric(metric)} for metric in report.groups],
        "measures": {
            name: {"sum": float(got), "of": None if of is None else float(of)}
            for name, (got, of) in report.measures.items()
        },
        "meta": dict(report.meta),
        "flaky": list(report.flaky),
        "infra": dict(report.infra),
        "power": [_power(one) for one in report.power],
        "trust": [
            {
                "snapshot": one.trust.snapshot,
                "passed": one.passed,
                "n": one.n,
                "reasons": list(one.reasons),
                "metrics": [{"metric": m.name, "dimension": m.group, **_metric(m)} for m in one.metrics],
            }
            for one in report.graders.trust
        ],
        "mutants": _mutants(report.graders),
        "results": [_result(result) for result in report.results],
    }


def _metric(metric: Metric) -> Json:
    shown: dict[str, Json] = {"value": number(metric.value, metric.unit), "n": metric.n, "unit": metric.unit}
    if metric.interval is not None:
        shown["interval"] = list(metric.interval)
    return {**shown, "provenance": metric.provenance} if metric.provenance else shown


def _rule(result: RuleResult) -> Json:
    rule = result.rule
    return {
        "metric": rule.metric,
        "where": {key: list(values) for key, values in rule.where.items()},
        "bound": rule.bound,
        "limit": number(rule.limit, result.observed.unit),
        "otherwise": rule.otherwise.name,
        "minimum_n": rule.minimum_n,
        "allow_missing": rule.allow_missing,
        "outcome": result.outcome.value,
        "observed": _metric(result.observed),
    }


def _mutants(graders: Graders) -> Json:
    if graders.mutants is None:
        return None
    killed, made = graders.mutants
    return {"killed": killed, "made": made}


def _power(power: Power) -> Json:
    """In the order of the rules over rates; every chance is that of a run breaking the rule."""
    return {
        "metric": power.rule.metric,
        "where": {key: list(values) for key, values in power.rule.where.items()},
        "bound": power.rule.bound,
        "limit": number(power.rule.limit, "rate"),
        "cases": power.cases,
        "trials": power.trials,
        "start": number(power.start, "rate"),
        "chances": [{"rate": number(rate, "rate"), "chance": chance} for rate, chance in power.chances],
        "method": "exact binomial over cases",
    }


def _place(location: Location | None) -> Json:
    return None if location is None else {"path": location.path, "line": location.line}


def _result(result: Result) -> Json:
    return {
        "case_id": result.case_id,
        "trial": result.trial,
        "title": result.title,
        "severity": result.severity,
        "bucket": result.bucket,
        "tags": list(result.tags),
        "version": result.version,
        "state": result.state.value,
        "infra": result.infra,
        "latency_ms": result.latency_ms,
        "cost_usd": result.cost_usd,
        "actual": result.actual,
        "case_source": _place(result.case_source),
        "output_source": _place(result.output_source),
        "checks": [
            {
                "name": check.name,
                "status": check.status.value,
                "findings": [{"message": f.message, "severity": f.severity} for f in check.findings],
                "measures": [{"name": m.name, "value": m.value, "of": m.of} for m in check.measures],
            }
            for check in result.checks
        ],
    }
