"""The whole product in one page: load a suite, grade each output, conclude a report. Usable without pytest.

suite = load("policy/gate.toml", ["outputs/candidate-v3.jsonl"])
conclusion = conclude(suite, grade_all(suite))
print(conclusion.decision.verdict.name)
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from pytest_release_gate import checks as built_in
from pytest_release_gate.errors import PolicyError, Problem
from pytest_release_gate.gate import belongs, decide, worst
from pytest_release_gate.grading import grade
from pytest_release_gate.metrics import METRICS, Sample, find, measure, measured, yielded
from pytest_release_gate.model import (
    Case,
    CheckFunction,
    Conclusion,
    Decision,
    Ground,
    Metric,
    Policy,
    Report,
    Result,
    Snapshot,
    Suite,
)
from pytest_release_gate.policy import parse_policy
from pytest_release_gate.suite import Files, read_suite


def load(
    policy: str | os.PathLike[str],
    outputs: Iterable[str | os.PathLike[str]],
    *,
    checks: Mapping[str, CheckFunction] | None = None,
    root: str | os.PathLike[str] | None = None,
) -> Suite:
    """Read a policy, its cases and schemas, and the snapshots to be judged by it.

    :param policy: the policy file.
    :param outputs: one or more `*.jsonl` snapshot files.
    :param checks: more checks, by name; those built in can't be replaced.
    :param root: what paths in messages and results are relative to; the working folder if left out.
    :raises PolicyError: if the policy can't be used as written.
    :raises SuiteError: if the evidence can't be read as what it claims to be.
    """
    files = Files(Path(root) if root is not None else Path.cwd())
    source = Path(policy)
    return read_suite(source, load_policy(source, files, checks or {}), [Path(path) for path in outputs], files)


def load_policy(source: Path, files: Files, checks: Mapping[str, CheckFunction]) -> Policy:
    """Read a policy file alone.

    :raises PolicyError: if it can't be used as written.
    """

    def unit_of(metric: str, measures: Collection[str]) -> str | None:
        definition = find(metric, measures)
        return definition.unit if definition else None

    taken = sorted(checks.keys() & built_in.BUILT_IN.keys())
    if taken:
        raise PolicyError(
            [Problem(message=f"two checks are called {name!r}; give yours another name") for name in taken]
        )
    known = {**checks, **built_in.BUILT_IN}
    measures = {name: built_in.MEASURES.get(name, tuple(getattr(known[name], "measures", ()))) for name in known}
    text, name = files.policy_text(source), files.name(source)
    return parse_policy(text, name, checks=known, measures=measures, metrics=[*METRICS], unit_of=unit_of)


def grade_all(suite: Suite) -> tuple[Result, ...]:
    """Grade every output of every snapshot, in order of label, case id and trial."""
    return tuple(
        grade(suite.cases[case_id], output, suite.policy.checks, snapshot.label)
        for snapshot in suite.snapshots
        for (case_id, _), output in sorted(snapshot.outputs.items())
    )


def conclude(suite: Suite, results: Iterable[Result], doubts: Sequence[str] = ()) -> Conclusion:
    """One report for each snapshot, and the worst of their verdicts.

    :param results: those that `grade` made, in any order; what is missing is missed, what is foreign raises.
    :param doubts: reasons to hold that no result shows, e.g. that the run was interrupted.
    :raises ValueError: if there are two results for one output, or one for an output that the suite doesn't have.
    """
    by_output = _by_output(suite, results)
    reports = tuple(_report(suite, snapshot, by_output, doubts) for snapshot in suite.snapshots)
    return together([Conclusion(decision=Decision(verdict=worst([])), reports=reports)], doubts)


def together(conclusions: Sequence[Conclusion], doubts: Sequence[str] = ()) -> Conclusion:
    """Several suites' conclusions as one: all reports, the worst verdict, its reasons.

    :param doubts: the reasons to hold if there is no report at all.
    """
    reports = tuple(report for conclusion in conclusions for report in conclusion.reports)
    verdict = worst(report.decision for report in reports)
    grounds = [
        Ground(verdict=verdict, reason=f"{report.snapshot}: {ground.reason}")
        for report in reports
        for ground in report.decision.grounds
        if ground.verdict is verdict
    ]
    if not reports:
        grounds = [Ground(verdict=verdict, reason=doubt) for doubt in doubts or ["nothing was judged"]]
    return Conclusion(decision=Decision(verdict=verdict, grounds=tuple(grounds)), reports=reports)


def planned(suite: Suite) -> tuple[tuple[Case, int], ...]:
    """Every (case, trial) that each snapshot should have a result for, sorted."""
    return tuple((case, trial) for case in suite.cases.values() for trial in range(suite.policy.trials))


def _by_output(suite: Suite, results: Iterable[Result]) -> dict[tuple[str, str, int], Result]:
    known = {(s.label, case.id, trial) for s in suite.snapshots for case, trial in planned(suite)}
    found: dict[tuple[str, str, int], Result] = {}
    for result in results:
        key = (result.snapshot, result.case_id, result.trial)
        if key in found or key not in known:
            problem = "two results for" if key in found else "a result for no output of this suite:"
            raise ValueError(f"{problem} {key[1]!r}, trial {key[2]}, of {key[0]!r}")
        found[key] = result
    return found


def _report(
    suite: Suite, snapshot: Snapshot, by_output: Mapping[tuple[str, str, int], Result], doubts: Sequence[str]
) -> Report:
    plan = planned(suite)
    keys = [(snapshot.label, case.id, trial) for case, trial in plan]
    results = tuple(by_output[key] for key in keys if key in by_output)
    cases = [case for case, _ in plan]
    everything = Sample(results=results, expected=len(plan), provenance=snapshot.provenance)
    measures = sorted({name for check in suite.policy.checks for name in check.measures} | {*yielded(results)})
    names = [*METRICS, *measures, *(f"{name}_rate" for name in measures)]
    others = {s.source.path for s in suite.snapshots if s is not snapshot}
    return Report(
        suite=suite.policy.name,
        version=suite.policy.version,
        policy=str(suite.source),
        cases=str(suite.cases_source),
        snapshot=snapshot.label,
        source=str(snapshot.source),
        digests={path: digest for path, digest in suite.digests.items() if path not in others},
        decision=decide(suite.policy.rules, results, cases, doubts, provenance=snapshot.provenance, measures=measures),
        meta=snapshot.meta,
        metrics={name: measure(name, everything, measures=measures) for name in names},
        groups=_groups(results, cases),
        measures={name: found for name in measures if (found := measured(results, name))},
        results=results,
        expected=len(plan),
        missing=tuple(key[1:] for key in keys if key not in by_output),
    )


def _groups(results: Sequence[Result], cases: Sequence[Case]) -> tuple[Metric, ...]:
    """The pass rate of each bucket, severity, tag and version, where there is more than one."""
    found = []
    for field in ("bucket", "severity", "tag", "version"):
        values = sorted({value for case in cases for value in belongs(case)[field] if value})
        for value in values if len(values) > 1 else ():
            mine = [result for result in results if value in belongs(result)[field]]
            expected = sum(value in belongs(case)[field] for case in cases)
            group = f"{field}={value}"
            found.append(measure("pass_rate", Sample(results=mine, expected=expected), group=group))
    return tuple(found)
