"""One output against one case; the only broad `except` of the core stands here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_release_gate.matching import MISSING, equal, look_up
from pytest_release_gate.model import Case, Check, CheckResult, Finding, Measure, Output, Reason, Result, Status

RECORDED = "output_recorded"
"""The check that stands for "there is a valid record", where the policy turns a missing one into a failure."""

_IDENTITY = frozenset({"case_id", "trial", "latency_ms", "cost_usd", "error"})


def grade(case: Case, output: Output, checks: Sequence[Check], snapshot: str) -> Result:
    """Run every check on one output. Pure and picklable, if the checks are.

    :param snapshot: the label of the snapshot that the output belongs to.
    :return: everything that was found; a check that raises, or yields anything but reasons, is an ERROR in it.
    """
    return result_of(case, output, run_checks(case, output, checks), snapshot)


def run_checks(case: Case, output: Output, checks: Sequence[Check]) -> tuple[CheckResult, ...]:
    """What each check says, in order; for an output without a valid record the one failure that says so."""
    if output.defect:
        finding = Finding(check=RECORDED, message=output.defect, severity="critical")
        # What there was to get stays in the denominators.
        nothing = Output(case_id=output.case_id, trial=output.trial, record={})
        counted = [m for check in checks if check.measures for m in _run(case, nothing, check).measures]
        return (CheckResult(name=RECORDED, status=Status.FAILED, findings=(finding,), measures=tuple(counted)),)
    if output.error is not None:
        return ()
    return tuple([_run(case, output, check) for check in checks])


def result_of(case: Case, output: Output, checks: tuple[CheckResult, ...], snapshot: str) -> Result:
    """The result that these checks make of this output."""
    return Result(
        case_id=case.id,
        title=case.title,
        severity=case.severity,
        bucket=case.bucket,
        tags=case.tags,
        version=case.version,
        snapshot=snapshot,
        trial=output.trial,
        checks=checks,
        latency_ms=output.latency_ms,
        cost_usd=output.cost_usd,
        actual={key: value for key, value in output.record.items() if key not in _IDENTITY},
        recorded=not output.defect,
        infra="" if output.error is None else str(output.error.get("kind", "unknown")),
        case_source=case.source,
        output_source=output.source,
    )


def applies(case: Case, check: Check) -> bool:
    """Whether a check is about a case, by its `when`; it is skipped otherwise."""
    for path, accepted in check.when.items():
        value = look_up(case.expected, path)
        if value is MISSING or not any(equal(one, value) for one in accepted):
            return False
    return True


def _run(case: Case, output: Output, check: Check) -> CheckResult:
    try:
        if check.when and not applies(case, check):
            return check.skipped
        findings, measures = _said(check, check.function(case, output), case.severity)
    except Exception as error:
        return _broken(check, error)
    if not findings and not measures:
        return check.silent
    status = Status.FAILED if findings else Status.PASSED
    return CheckResult(name=check.name, status=status, findings=findings, measures=measures)


def _said(
    check: Check, reasons: Iterable[str | Reason | Measure], severity: str
) -> tuple[tuple[Finding, ...], tuple[Measure, ...]]:
    if isinstance(reasons, str | bytes) or not isinstance(reasons, Iterable):
        raise TypeError(f"a check must yield reasons as strings, this one returned {type(reasons).__name__}")
    found, measures = [], []
    for reason in reasons:
        if isinstance(reason, Measure):
            measures.append(reason)
            continue
        if not isinstance(reason, str | Reason):
            raise TypeError(f"a check must yield reasons as strings, this one yielded {type(reason).__name__}")
        said = reason if isinstance(reason, Reason) else Reason(message=reason)
        if not said.message.strip():
            raise ValueError("a check yielded an empty reason")
        how_bad = _severity(check, said, severity)
        found.append(
            Finding(
                check=check.name, message=said.message, severity=how_bad, expected=said.expected, actual=said.actual
            )
        )
    return tuple(found), tuple(measures)


def _severity(check: Check, reason: Reason, otherwise: str) -> str:
    if check.severity is None:
        return otherwise
    if isinstance(check.severity, str):
        return check.severity
    return check.severity.get(reason.kind, otherwise)


def _broken(check: Check, error: Exception) -> CheckResult:
    try:
        said = str(error)
    except Exception:  # an exception whose own text breaks must not take the session with it
        said = "(its message can't be read)"
    message = f"the check broke: {type(error).__name__}: {said}"
    return CheckResult(
        name=check.name,
        status=Status.ERROR,
        findings=(Finding(check=check.name, message=message[:2000], severity="critical"),),
    )
