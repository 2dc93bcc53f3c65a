"""The whole product in one page: load a suite, grade each output, conclude a report. Usable without pytest.

suite = load("policy/gate.toml", ["outputs/candidate-v3.jsonl"])
conclusion = conclude(suite, grade_all(suite))
print(conclusion.decision.verdict.name)
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_release_gate import checks as built_in
from pytest_release_gate.agreement import agreement, distrusted, own_judge
from pytest_release_gate.errors import PolicyError, Problem
from pytest_release_gate.gate import belongs, decide, selected, worst
from pytest_release_gate.grading import grade
from pytest_release_gate.metrics import (
    METRICS,
    Sample,
    excused,
    find,
    flaky,
    measure,
    measured,
    trials_of,
    yielded,
)
from pytest_release_gate.model import (
    KILL_RATE,
    Case,
    Check,
    CheckFunction,
    Conclusion,
    Decision,
    Graders,
    Ground,
    Json,
    Location,
    Metric,
    Policy,
    Power,
    Report,
    Result,
    Snapshot,
    State,
    Status,
    Suite,
    Trust,
    TrustResult,
    Verdict,
)
from pytest_release_gate.policy import parse_policy
from pytest_release_gate.power import power
from pytest_release_gate.selftest import selftest
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
    return parse_policy(
        text, name, checks=known, measures=measures, metrics=[*METRICS], unit_of=unit_of, trials_of=trials_of
    )


Key = tuple[str, str, int]
"""Which output: the label of its snapshot, its case id, its trial."""


def outputs_of(suite: Suite) -> tuple[Key, ...]:
    """Every output of every snapshot, in order of label, case id and trial."""
    return tuple((snapshot.label, *key) for snapshot in suite.snapshots for key in sorted(snapshot.outputs))


def grade_outputs(suite: Suite, keys: Iterable[Key]) -> tuple[Result, ...]:
    """Grade these outputs, in the given order. Pure; suite, keys and results can be pickled, so any engine may
    spread the work.

    :raises KeyError: for an output that the suite doesn't have.
    """
    outputs = {snapshot.label: snapshot.outputs for snapshot in suite.snapshots}
    return tuple(
        grade(suite.cases[case_id], outputs[label][case_id, trial], suite.policy.checks, label)
        for label, case_id, trial in keys
    )


def grade_all(suite: Suite) -> tuple[Result, ...]:
    """Grade every output of every snapshot, in order of label, case id and trial."""
    return grade_outputs(suite, outputs_of(suite))


def conclude(
    suite: Suite,
    results: Iterable[Result],
    doubts: Sequence[str] = (),
    *,
    graders: Graders | None = None,
) -> Conclusion:
    """One report for each snapshot, and the worst of their verdicts.

    :param results: those that `grade` made, in any order; what is missing is missed, what is foreign raises.
    :param doubts: reasons to hold that no result shows, e.g. that the run was interrupted.
    :param graders: what is known of the suite's graders; they are judged, if it is left out.
    :raises ValueError: if there are two results for one output, or one for an output that the suite doesn't have.
    """
    by_output = _by_output(suite, results)
    found = judge_graders(suite) if graders is None else graders
    reports = tuple(_report(suite, snapshot, by_output, doubts, found) for snapshot in suite.snapshots)
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
    return Conclusion(decision=Decision(verdict=verdict, grounds=tuple(grounds)), reports=reports, doubts=tuple(doubts))


def at_least_hold(conclusion: Conclusion, reasons: Sequence[str]) -> Conclusion:
    """The same conclusion, held for these reasons if there are any that it does not know yet."""
    known = conclusion.decision.reasons
    new = [Ground(verdict=Verdict.HOLD, reason=r) for r in reasons if not any(k.endswith(r) for k in known)]
    if not new:
        return conclusion
    verdict = max(conclusion.decision.verdict, Verdict.HOLD)
    before = [ground for ground in conclusion.decision.grounds if ground.verdict is verdict]
    grounds = (*before, *new) if verdict is Verdict.BLOCK else (*new, *before)
    return replace(conclusion, decision=Decision(verdict=verdict, grounds=grounds))


def planned(suite: Suite) -> tuple[tuple[Case, int], ...]:
    """Every (case, trial) that each snapshot should have a result for, sorted."""
    return tuple((case, trial) for case in suite.cases.values() for trial in range(suite.policy.trials))


def _by_output(suite: Suite, results: Iterable[Result]) -> dict[Key, Result]:
    known = {(s.label, case.id, trial) for s in suite.snapshots for case, trial in planned(suite)}
    found: dict[Key, Result] = {}
    for result in results:
        key = (result.snapshot, result.case_id, result.trial)
        if key in found or key not in known:
            problem = "two results for" if key in found else "a result for no output of this suite:"
            raise ValueError(f"{problem} {key[1]!r}, trial {key[2]}, of {key[0]!r}")
        found[key] = result
    return found


def _report(
    suite: Suite,
    snapshot: Snapshot,
    by_output: Mapping[Key, Result],
    doubts: Sequence[str],
    graders: Graders,
) -> Report:
    plan = planned(suite)
    keys = [(snapshot.label, case.id, trial) for case, trial in plan]
    results = tuple(by_output[key] for key in keys if key in by_output)
    cases = [case for case, _ in plan]
    everything = Sample(
        results=results,
        expected=len(plan),
        excused=excused(results, suite.policy.valid_trials),
        provenance=snapshot.provenance,
        mutants=graders.mutants,
    )
    measures = sorted({name for check in suite.policy.checks for name in check.measures} | {*yielded(results)})
    repeated = _over_trials(suite.policy.trials)
    names = [*METRICS, *repeated, *measures, *(f"{name}_rate" for name in measures)]
    idle = _idle_checks(suite, results, len(plan))
    others = {s.source.path for s in suite.snapshots if s is not snapshot}
    decision = decide(
        suite.policy.rules,
        results,
        cases,
        [*doubts, *_fingerprint_doubts(snapshot), *_judge_doubts(suite, snapshot), *idle],
        provenance=snapshot.provenance,
        measures=measures,
        valid_trials=suite.policy.valid_trials,
        distrust=[reason for one in graders.trust for reason in one.reasons],
        mutants=graders.mutants,
    )
    return Report(
        suite=suite.policy.name,
        version=suite.policy.version,
        policy=str(suite.source),
        cases=str(suite.cases_source),
        snapshot=snapshot.label,
        source=str(snapshot.source),
        digests={path: digest for path, digest in suite.digests.items() if path not in others},
        own_checks={check.uses: check.measures for check in suite.policy.checks if check.uses not in built_in.BUILT_IN},
        decision=decision,
        meta=snapshot.meta,
        metrics={name: measure(name, everything, measures=measures) for name in names},
        groups=_groups(results, cases, suite.policy.trials),
        graders=graders,
        flaky=flaky(results),
        infra=dict(sorted(Counter(result.infra for result in results if result.infra).items())),
        power=_power(suite, decision),
        measures={name: found for name in measures if (found := measured(results, name))},
        results=results,
        expected=len(plan),
        missing=tuple(key[1:] for key in keys if key not in by_output),
    )


def _over_trials(trials: int) -> list[str]:
    """pass^k and pass@k for every k, where there are trials."""
    return [f"pass_{kind}_{k}" for kind in ("hat", "at") for k in range(1, trials + 1)] if trials > 1 else []


def _mutants(suite: Suite) -> tuple[int, int] | None:
    """How many mutants of right answers the checks fail, of how many; None if no rule asks for it."""
    if all(rule.metric != KILL_RATE for rule in suite.policy.rules):
        return None
    found = selftest(suite)
    return found.killed, found.made


def _power(suite: Suite, decision: Decision) -> tuple[Power, ...]:
    found = (
        power(result, sum(selected(result.rule, case) for case in suite.cases.values()), suite.policy.trials)
        for result in decision.rules
    )
    return tuple(one for one in found if one is not None)


def _groups(results: Sequence[Result], cases: Sequence[Case], trials: int) -> tuple[Metric, ...]:
    """The pass rate of each bucket, severity, tag and version, where there is more than one; with trials pass^k too."""
    names = ("mean_pass_rate", *_over_trials(trials)) if trials > 1 else ("pass_rate",)
    found = []
    for field in ("bucket", "severity", "tag", "version"):
        values = sorted({value for case in cases for value in belongs(case)[field] if value})
        for value in values if len(values) > 1 else ():
            mine = [result for result in results if value in belongs(result)[field]]
            expected = sum(value in belongs(case)[field] for case in cases)
            sample = Sample(results=mine, expected=expected)
            found += [measure(name, sample, group=f"{field}={value}") for name in names]
    return tuple(found)


def trust_gates(suite: Suite) -> tuple[Location, ...]:
    """The files of known answers that graders have to prove themselves on: the policy's `[[trust]]`, then judges."""
    calibrations = [check.arguments["calibration"].path for check in _judging(suite)]
    return (*(snapshot.source for snapshot in suite.known), *(Location(path=path) for path in calibrations))


def judge_graders(suite: Suite) -> Graders:
    """How the graders do on each of these, in this order, and on mutants, if a rule asks for that."""
    trust = tuple(trusted(suite, index) for index in range(len(trust_gates(suite))))
    return Graders(trust=trust, mutants=_mutants(suite))


def trusted(suite: Suite, index: int) -> TrustResult:
    """How the graders do on one of them."""
    of_checks = len(suite.policy.trust)
    if index < of_checks:
        return _trusted_checks(suite, index)
    return _trusted_judge(_judging(suite)[index - of_checks])


def _judging(suite: Suite) -> list[Check]:
    return [check for check in suite.policy.checks if check.uses == "judged"]


def _trusted_judge(check: Check) -> TrustResult:
    given = check.arguments
    calibration, dimensions = given["calibration"], given["dimensions"]
    verdicts = [known == said for name in dimensions for known, said in calibration.pairs.get(name, ())]
    return TrustResult(
        trust=Trust(snapshot=calibration.path),
        reasons=tuple(distrusted(calibration, dimensions, given["precision"], given["recall"])),
        passed=sum(verdicts),
        n=len(verdicts),
        metrics=tuple(metric for name in dimensions for metric in agreement(calibration, name)),
    )


def _judge_doubts(suite: Suite, snapshot: Snapshot) -> list[str]:
    """A judge of the agent's own model is none."""
    said = (own_judge(check.arguments["calibration"], snapshot.meta.get("model")) for check in _judging(suite))
    return sorted({doubt for doubt in said if doubt})


def _trusted_checks(suite: Suite, index: int) -> TrustResult:
    trust, snapshot = suite.policy.trust[index], suite.known[index]
    chosen = [case for case in suite.cases.values() if selected(trust, case)]
    results = [grade(case, snapshot.outputs[case.id, 0], suite.policy.checks, snapshot.label) for case in chosen]
    passed = sum(result.passed for result in results)
    label = snapshot.label
    reasons = []
    if not chosen:
        reasons.append(f"no case is selected for {label}; name a bucket, severity, tag or version that there is")
    if trust.must == "pass":
        reasons += [f"{label} must pass {r.case_id}, but it is {r.state.value}" for r in results if not r.passed]
    if trust.must == "fail":
        failed = [result for result in results if result.state is not State.FAILED]
        reasons += [f"{label} must fail {result.case_id}, but it is {result.state.value}" for result in failed]
    if trust.passed is not None and passed != trust.passed:
        reasons.append(f"{label} must pass {trust.passed} of {len(chosen)} cases, but it passes {passed}")
    return TrustResult(trust=trust, reasons=tuple(reasons), passed=passed, n=len(chosen))


def _fingerprint_doubts(snapshot: Snapshot) -> list[str]:
    """Outputs that name another configuration of the agent than the sidecar does belong to another run."""
    stated = snapshot.meta.get("fingerprint")
    others = sorted(
        case_id
        for (case_id, _), output in snapshot.outputs.items()
        if stated is not None and output.record.get("fingerprint", stated) != stated
    )
    if not others:
        return []
    return [
        f"{len(others)} outputs name another fingerprint than the sidecar (first {others[0]}); they are of another run"
    ]


def _idle_checks(suite: Suite, results: Sequence[Result], expected: int) -> list[str]:
    """A check that applies to no case at all holds nothing up, so nobody may believe that it does."""
    if len(results) < expected:
        return []  # the rest may be what it is about, and a part is held anyway
    busy = {check.name for result in results for check in result.checks if check.status is not Status.SKIPPED}
    words = "applies to no case, so nothing was checked by it; mend its `when`, or remove it"
    idle = [check.name for check in suite.policy.checks if check.when and check.name not in busy]
    return [f"the check {name!r} {words}" for name in idle]


def agent_view(case: Case) -> Json:
    """What an agent may be given of a case: its id and its input, as a copy; nothing of what is expected of it."""
    return copy.deepcopy({"case_id": case.id, "input": case.input})
