"""Parts of one run, each judged by a session of its own, to the conclusion that a single session would have come to.

Nothing that a part concluded is believed. Its evidence says what each check said of which output; the suite is read
afresh, and a part counts only if its evidence is, byte for byte, what these words amount to here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from pytest_release_gate import reporters, wording
from pytest_release_gate.discovery import Target, find_targets
from pytest_release_gate.errors import PolicyError, Problem, SuiteError
from pytest_release_gate.grading import RECORDED, applies, result_of
from pytest_release_gate.jsonl import quote, read_document
from pytest_release_gate.model import (
    Case,
    CheckResult,
    Conclusion,
    Finding,
    Graders,
    Json,
    Measure,
    Output,
    Result,
    Status,
    Suite,
    TrustResult,
)
from pytest_release_gate.pipeline import (
    Key,
    at_least_hold,
    conclude,
    grade_outputs,
    judge_graders,
    load_policy,
    together,
    trust_gates,
    trusted,
)
from pytest_release_gate.reporters.evidence import SCHEMA_VERSION
from pytest_release_gate.schema import Schema, compile_schema
from pytest_release_gate.standins import StandIn
from pytest_release_gate.suite import Files, read_suite
from pytest_release_gate.version import VERSION

# How many findings of which statuses there can be.
_FINDINGS = {
    Status.PASSED: lambda n: n == 0,
    Status.SKIPPED: lambda n: n == 0,
    Status.FAILED: lambda n: n > 0,
    Status.ERROR: lambda n: n == 1,
}
_CHECKOUT = "merge where the files are the ones that the parts were made of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What parts come to, and where its results go."""

    conclusion: Conclusion
    # For each report, the subfolder of its suite.
    folders: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The outputs that are in no part."""
        return [_name((0, (r.snapshot, *key))) for r in self.conclusion.reports for key in r.missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The evidence of one part, of the right shape."""

    name: str
    data: bytes
    document: Mapping[str, Json]

    @property
    def snapshots(self) -> Sequence[Mapping[str, Json]]:
        return self.document["snapshots"]  # type: ignore[no-any-return]

    @property
    def plan(self) -> list[tuple[str, str]]:
        """The policy and the file of each snapshot, in order."""
        return [(one["policy"], one["source"]) for one in self.snapshots]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """One suite, read here, with what the parts have to say for it."""

    suite: Suite
    folder: str
    graders: Graders


_Place = tuple[int, Key]
"""An output of one of several suites."""


def merge(parts: Iterable[tuple[str, bytes]], root: Path, *, regrade: bool = False) -> Merged:
    """One conclusion of the evidence of several parts; outputs that are in none of them are missing, as in any run.

    :param parts: how each `evidence.json` is called, and its bytes; in any order.
    :param root: what the paths in them are relative to; the files there must be those that the parts read.
    :param regrade: grade every output again as well, and refuse parts that say otherwise.
    :raises SuiteError: with every reason why these are not parts of one run over the files here.
    """
    problems: list[Problem] = []
    read = [_read(name, data, _schema(), problems) for name, data in sorted(parts)]
    known = [part for part in read if part is not None]
    _same_plan(known, problems)
    for name in sorted({name for part in known if regrade for one in part.snapshots for name in one["own_checks"]}):
        message = f"the check {quote(name)} is known only to a session of pytest; regrade with pytest --release-gate"
        problems.append(Problem(message=message))
    if problems or not known:
        raise SuiteError(problems or [Problem(message="there is no part to merge; name their evidence.json files")])
    suites = _suites(known[0], Path(os.path.abspath(root)))
    _same_files(known, suites, problems)
    if problems:
        raise SuiteError(problems)
    said = [_results(part, suites, problems) for part in known]
    _overlaps(known, said, problems)
    for part, results in zip(known, said, strict=True):
        if not any(problem.path == part.name for problem in problems):
            _same_bytes(part, suites, results, problems)
    if regrade and not problems:
        _regrade(known, suites, said, problems)
    if problems:
        raise SuiteError(problems)
    doubts = dict.fromkeys(f"{part.name}: {doubt}" for part in known for doubt in part.document["doubts"])
    everything = {place: result for results in said for place, result in results.items()}
    return Merged(conclusion=_conclude(suites, everything, [*doubts]), folders=_folders(suites))


def _read(name: str, data: bytes, schema: Schema, problems: list[Problem]) -> _Part | None:
    """A part whose evidence has the right shape, and is that of a session that came to its end."""
    document = read_document(data, name, problems)
    if document is None:
        return None
    tool, version = document.get("tool"), document.get("schema_version")
    made_by = tool.get("version") if isinstance(tool, dict) else None
    complaints: list[Problem] = []
    if not isinstance(tool, dict) or tool.get("name") != "pytest-release-gate":
        message = "is no evidence of pytest-release-gate; name the evidence.json of each part"
    elif version != SCHEMA_VERSION or made_by != VERSION:
        message = (
            f"is evidence of version {quote(made_by)} (schema_version {quote(version)}), "
            f"this is {quote(VERSION)} ({SCHEMA_VERSION}); make and merge all parts with one version"
        )
    elif complaints := schema.complaints(document, name):
        problems += complaints
        return None
    elif document["state"] != "concluded":
        message = f"is of a run that is {quote(document['state'])}, not concluded; run this part again to its end"
    elif not document["snapshots"]:
        message = "is about no snapshot at all; run this part again"
    else:
        return _Part(name=name, data=data, document=document)
    problems.append(Problem(path=name, message=message))
    return None


def _schema() -> Schema:
    """The shipped schema of evidence."""
    text = resources.files(__package__).joinpath("evidence.schema.json").read_text("utf-8")
    problems: list[Problem] = []
    schema = compile_schema(json.loads(text), "evidence.schema.json", problems)
    assert schema is not None, f"the shipped schema is in order: {problems}"
    return schema


def _same_plan(parts: Sequence[_Part], problems: list[Problem]) -> None:
    """All parts are about the same snapshots, judged by the same policies with the same checks."""
    for part in parts[1:]:
        first = parts[0]
        if part.plan != first.plan:
            mine, others = set(part.plan), set(first.plan)
            odd = sorted(mine - others or others - mine or mine)[0]
            message = (
                f"is a part of another run than {first.name}: only one of them judges {odd[1]} by {odd[0]}; "
                "run every part with the same --release-gate options"
            )
        elif [_given(one) for one in part.snapshots] != [_given(one) for one in first.snapshots]:
            message = (
                f"has other checks of its own, or other trust in them, than {first.name}; "
                "run every part on the same installation"
            )
        else:
            continue
        problems.append(Problem(path=part.name, message=message))


def _given(snapshot: Mapping[str, Json]) -> Json:
    """What only the session knew: the checks that it was given, and what they made of known answers."""
    return snapshot["own_checks"], snapshot["trust"], snapshot["mutants"]


def _suites(part: _Part, root: Path) -> list[_Read]:
    """The suites that a part names, as they are here.

    :raises SuiteError: if they can't be read.
    """
    policies = {policy for policy, _ in part.plan}
    for path in sorted({*policies, *(source for _, source in part.plan)}):
        if PurePosixPath(path).is_absolute() or "\0" in path:
            raise SuiteError([Problem(path=part.name, message=f"names {quote(path)}, which is no path of a run's")])
    # What one policy judges may have been given to it by an option; several are found by place.
    chosen = Path(os.path.abspath(root / policies.pop())) if len(policies) == 1 else None
    recorded = {one["policy"]: one for one in part.snapshots}
    try:
        targets, _ = find_targets([source for _, source in part.plan], root, chosen)
        return [_suite(target, recorded, Files(root)) for target in targets]
    except (PolicyError, SuiteError) as error:
        hint = Problem(path=part.name, message=f"can't be merged here; {_CHECKOUT}")
        raise SuiteError([*error.problems, hint]) from None


def _suite(target: Target, recorded: Mapping[str, Mapping[str, Json]], files: Files) -> _Read:
    snapshot = recorded.get(files.name(target.policy), {})
    own = {name: tuple(measures) for name, measures in snapshot.get("own_checks", {}).items()}
    policy = load_policy(target.policy, files, {name: StandIn(measures) for name, measures in own.items()})
    suite = read_suite(target.policy, policy, target.outputs, files)
    # A stand-in judges nothing: what the session's own checks made of known answers is all there is.
    graders = _graders_of(suite, snapshot) if own else judge_graders(suite)
    return _Read(suite=suite, folder=target.folder, graders=graders)


def _graders_of(suite: Suite, snapshot: Mapping[str, Json]) -> Graders:
    """How the trust gates ended in the session, and how many mutants its checks failed; judges are judged here.

    :raises PolicyError: if these are not the policy's.
    """
    recorded, of_checks = snapshot["trust"], len(suite.policy.trust)
    judges = [trusted(suite, index) for index in range(of_checks, len(trust_gates(suite)))]
    wanted = [trust.snapshot for trust in (*suite.policy.trust, *(judge.trust for judge in judges))]
    if wanted != [one["snapshot"] for one in recorded]:
        message = "has other trust gates than the parts; run them again"
        raise PolicyError([Problem(path=str(suite.source), message=message)])
    trust = [
        TrustResult(trust=trust, reasons=tuple(one["reasons"]), passed=one["passed"], n=one["n"])
        for trust, one in zip(suite.policy.trust, recorded, strict=False)
    ]
    mutants = snapshot["mutants"]
    return Graders(trust=(*trust, *judges), mutants=(mutants["killed"], mutants["made"]) if mutants else None)


def _same_files(parts: Sequence[_Part], suites: Sequence[_Read], problems: list[Problem]) -> None:
    """Every part has read what is here, and nothing else."""
    here = {path: digest for one in suites for path, digest in one.suite.digests.items()}
    for part in parts:
        there = part.document["digests"]
        others = sorted(path for path in {*here, *there} if here.get(path) != there.get(path))
        if others:
            names = wording.few([quote(path) for path in others])
            message = f"was made of other bytes of {names} than there are here; {_CHECKOUT}"
            problems.append(Problem(path=part.name, message=message))


def _results(part: _Part, suites: Sequence[_Read], problems: list[Problem]) -> dict[_Place, Result]:
    """The results that a part's words make here."""
    found: dict[_Place, Result] = {}
    snapshots = [(index, one, snapshot) for index, one in enumerate(suites) for snapshot in one.suite.snapshots]
    # That these are as many, and in this order, is seen where all bytes are compared.
    for (index, one, snapshot), recorded in zip(snapshots, part.snapshots, strict=False):
        for entry in recorded["results"]:
            case_id, trial = entry["case_id"], entry["trial"]
            place = (index, (snapshot.label, case_id, trial))
            output = snapshot.outputs.get((case_id, trial))
            if output is None or place in found:
                why = "twice" if output else f"but {snapshot.source} has no such output"
                message = f"has a result for {_name(place)}, {why}; run this part again"
                problems.append(Problem(path=part.name, message=message))
                continue
            checks = tuple(map(_check, entry["checks"]))
            case = one.suite.cases[case_id]
            if why := _unlikely(checks, case, output, one.suite):
                problems.append(Problem(path=part.name, message=f"{why} ({_name(place)}); run this part again"))
                continue
            found[place] = result_of(case, output, checks, snapshot.label)
    return found


def _check(entry: Mapping[str, Json]) -> CheckResult:
    name = entry["name"]
    return CheckResult(
        name=name,
        status=Status(entry["status"]),
        findings=tuple(Finding(check=name, message=f["message"], severity=f["severity"]) for f in entry["findings"]),
        measures=tuple(Measure(name=m["name"], value=m["value"], of=m["of"]) for m in entry["measures"]),
    )


def _unlikely(checks: Sequence[CheckResult], case: Case, output: Output, suite: Suite) -> str:
    """Why no run over this output ends with these check results; "" if one may."""
    names = [check.name for check in checks]
    policy = [check.name for check in suite.policy.checks]
    wanted = [RECORDED] if output.defect else [] if output.error is not None else policy
    foreign = sorted({*names} - {*wanted})
    if foreign:
        return f"names the check {quote(foreign[0])}, which {suite.source} does not know, or not for this output"
    if names != wanted:
        lacking = [name for name in wanted if name not in names]
        return f"lacks the check {quote(lacking[0])}" if lacking else "has its checks in another order, or twice"
    odd = [check for check in checks if not _FINDINGS[check.status](len(check.findings))]
    if odd:
        return f"the check {quote(odd[0].name)} is {odd[0].status.value}, with {len(odd[0].findings)} findings"
    for check, said in zip(suite.policy.checks, checks, strict=False) if names == policy else ():
        if said.status is not Status.ERROR and (said.status is Status.SKIPPED) == applies(case, check):
            return f"the check {quote(check.name)} is {said.status.value}, whatever its `when` says of this case"
    return ""


def _overlaps(parts: Sequence[_Part], said: Sequence[Mapping[_Place, Result]], problems: list[Problem]) -> None:
    """An output that two parts judged: nobody can say which of them was meant, even if they agree."""
    first_in: dict[_Place, int] = {}
    for index, results in enumerate(said):
        twice: dict[int, list[_Place]] = {}
        for place in results:
            if first_in.setdefault(place, index) != index:
                twice.setdefault(first_in[place], []).append(place)
        for other, places in twice.items():
            message = (
                f"overlaps {parts[other].name}: {len(places)} outputs are in both, "
                f"{wording.few([_name(place) for place in places])}; give each output to one part"
            )
            problems.append(Problem(path=parts[index].name, message=message))


def _same_bytes(
    part: _Part, suites: Sequence[_Read], results: Mapping[_Place, Result], problems: list[Problem]
) -> None:
    """The part's evidence is what its results come to here, to the last byte."""
    try:
        conclusion = _conclude(suites, results, part.document["doubts"])
        expected = reporters.files_of(conclusion, _folders(suites))[reporters.EVIDENCE]
    except (ArithmeticError, ValueError, LookupError) as error:
        message = f"holds what can't be concluded from ({type(error).__name__}); run this part again"
        problems.append(Problem(path=part.name, message=message))
        return
    if part.data != expected:
        lines = zip(part.data.split(b"\n"), expected.split(b"\n"), strict=False)
        line = next((number for number, (one, other) in enumerate(lines, 1) if one != other), None)
        message = "is not what its results come to here: it was changed, or made otherwise; run this part again"
        problems.append(Problem(path=part.name, line=line, message=message))


def _regrade(
    parts: Sequence[_Part], suites: Sequence[_Read], said: Sequence[Mapping[_Place, Result]], problems: list[Problem]
) -> None:
    """Every result is what the checks say here."""
    for part, results in zip(parts, said, strict=True):
        again = {place: grade_outputs(suites[place[0]].suite, [place[1]])[0] for place in results}
        others = [place for place, result in results.items() if _words(again[place]) != _words(result)]
        if others:
            names = wording.few([_name(place) for place in others])
            message = f"says otherwise of {len(others)} outputs than the checks do here, {names}; run this part again"
            problems.append(Problem(path=part.name, message=message))


def _words(result: Result) -> Json:
    """What the checks said, as evidence has it."""
    said = [
        [c.name, c.status, [[f.message, f.severity] for f in c.findings], [[m.name, m.value, m.of] for m in c.measures]]
        for c in result.checks
    ]
    return json.loads(json.dumps(said))


def _conclude(suites: Sequence[_Read], results: Mapping[_Place, Result], doubts: Sequence[str]) -> Conclusion:
    """As a session concludes."""
    conclusions = [
        conclude(one.suite, [r for (of, _), r in results.items() if of == index], doubts, graders=one.graders)
        for index, one in enumerate(suites)
    ]
    return at_least_hold(together(conclusions, doubts), doubts)


def _folders(suites: Sequence[_Read]) -> tuple[str, ...]:
    return tuple(one.folder for one in suites for _ in one.suite.snapshots)


def _name(place: _Place) -> str:
    label, case_id, trial = place[1]
    return f"{case_id}[{label}]" + (f" t{trial}" if trial else "")
