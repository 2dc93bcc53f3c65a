"""A cases file as a collector, an output as an item, and how a failure reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_release_gate import comparison, escape, markers
from pytest_release_gate.errors import Problem
from pytest_release_gate.grading import grade
from pytest_release_gate.model import (
    Case,
    CheckResult,
    Finding,
    Location,
    Measure,
    Output,
    Result,
    State,
    Status,
    Suite,
)
from pytest_release_gate.pipeline import trust_gates, trusted
from pytest_release_gate.reporters.terminal import failure, problems_block

# A rerun never upgrades: of several results for one output the worst counts.
RANKS = {State.PASSED: 0, State.INFRA: 1, State.UNGRADED: 2, State.FAILED: 3}


@dataclass(frozen=True, kw_only=True)
class Collected:
    """A suite as the session holds it: read, or refused."""

    # Identifies the suite on reports, and what exactly was read of it.
    key: str
    digest: str
    # The file on which its items, or its problems, are shown.
    cases: Path
    # None: refused.
    suite: Suite | None
    problems: tuple[Problem, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The labels of its snapshots; none if it is refused."""
        return [snapshot.label for snapshot in self.suite.snapshots] if self.suite else []


class NotPassedError(AssertionError):
    """An output that did not pass; carries what there is to say about it."""

    def __init__(self, text: str, summary: str, place: tuple[str, int]) -> None:
        super().__init__(text)
        self.text, self.summary, self.place = text, summary, place


class NotPassedRepr(TerminalRepr):
    """Our text and nothing else; `reprcrash` points explorers, JUnit and the short summary at the JSONL line."""

    def __init__(self, error: NotPassedError) -> None:
        self._text = error.text
        path, line = error.place
        self.reprcrash = ReprFileLocation(path, line, error.summary)

    def __str__(self) -> str:
        return self._text

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the text line by line."""
        for line in self._text.split("\n"):
            tw.line(line)


class CaseFile(pytest.File):
    """A `cases.jsonl`: one item for each output of each snapshot that is judged by it."""

    collected: Sequence[Collected] = ()

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, collected: Sequence[Collected]) -> CaseFile:
        """The collector of these suites, which share a cases file."""
        # Relative even outside of the rootdir, so that what pytest prints of it can be given back to pytest.
        relative = Path(os.path.relpath(path, parent.config.rootpath)).as_posix()
        node: CaseFile = cls.from_parent(parent, path=path, nodeid=escape.terminal(relative).replace("::", ":\\x3a"))
        node.collected = collected
        return node

    def collect(self) -> Iterable[pytest.Item]:
        """All items: what the graders must prove first, then the outputs by snapshot, case id and trial.

        :raises CollectError: listing every problem, if the evidence of a suite could not be read.
        """
        problems = [str(problem) for one in self.collected for problem in one.problems]
        if problems:
            head = f"the evidence can't be judged as it is ({len(problems)} problems):"
            raise self.CollectError("\n".join([head, *problems_block(problems)]))
        return [*self._trust_items(), *self._items()]

    def _trust_items(self) -> Iterator[TrustItem]:
        for one in self.collected:
            for index, source in enumerate(trust_gates(one.suite) if one.suite else ()):
                name = f"trust-{index + 1}[{escape.node_id(PurePosixPath(source.path).stem)}]"
                item: TrustItem = TrustItem.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}")
                item.set_up(one, index)
                yield item

    def _items(self) -> Iterator[GateItem]:
        for one in self.collected:
            if one.suite is None:
                continue
            by_kind: dict[tuple[object, ...], Kind] = {}
            several = one.suite.policy.trials > 1
            for snapshot in one.suite.snapshots:
                for (case_id, trial), output in snapshot.outputs.items():
                    case = one.suite.cases[case_id]
                    label = f"{snapshot.label}-t{trial}" if several else snapshot.label
                    key = (label, case.severity, case.bucket, case.tags)
                    if key not in by_kind:
                        by_kind[key] = Kind.of(case, snapshot.label, label, trial if several else None)
                    kind = by_kind[key]
                    name = f"{escape.node_id(case_id)}[{kind.label}]"
                    item: GateItem = GateItem.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}")
                    item.set_up(one, snapshot.label, output, kind)
                    yield item


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What items have in common: one object for all of them."""

    # The part of the name in brackets.
    label: str
    marks: tuple[pytest.Mark, ...]
    # What `-k` finds them by, beside their names.
    keywords: tuple[str, ...]
    # Properties for JUnit files; through xdist only what is valid Unicode arrives.
    properties: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, case: Case, snapshot: str, label: str, trial: int | None) -> Kind:
        """The kind of item that a case has.

        :param label: of its snapshot, with the trial where there are several.
        """
        said = {"severity": case.severity, "bucket": case.bucket, "snapshot": snapshot}
        said |= {} if trial is None else {"trial": str(trial)}
        return cls(
            label=escape.node_id(label),
            marks=tuple(getattr(pytest.mark, name).mark for name in markers.of_case(case)),
            keywords=tuple(filter(None, (case.bucket, *case.tags))),
            properties=tuple((name, escape.terminal(value)) for name, value in said.items()),
        )


class GateItem(pytest.Item):
    """One output of one snapshot, judged by its suite's checks."""

    _of: Collected
    _suite: Suite
    _snapshot: str
    _output: Output
    # What `runtest` found, as JSON text; it rides on the report, through xdist as well.
    payload: str | None = None
    # The same as a noun, for the process that graded it.
    result: Result | None = None
    # The worst so far.
    _worst: State | None = None

    @property
    def suite_key(self) -> str:
        """Which suite judges it."""
        return self._of.key

    def set_up(self, of: Collected, snapshot: str, output: Output, kind: Kind) -> None:
        """Tell the item what it judges."""
        assert of.suite is not None
        self._of, self._suite, self._snapshot, self._output = of, of.suite, snapshot, output
        self._case = of.suite.cases[output.case_id]
        self.own_markers.extend(kind.marks)
        self.keywords.update({mark.name: mark for mark in kind.marks})
        self.extra_keyword_matches.update(kind.keywords)
        self.user_properties[:] = [*kind.properties, ("state", "not judged")]

    def _initrequest(self) -> None:
        """Nothing to do: rerun plugins call it on whatever they run again."""

    def runtest(self) -> None:
        """Grade the output.

        :raises NotPassedError: if it did not pass.
        """
        self.payload = None
        self.result = result = grade(self._case, self._output, self._suite.policy.checks, self._snapshot)
        self.payload = self._dump(result)
        self._worst = max(self._worst or result.state, result.state, key=lambda state: RANKS[state])
        self._tell(self._worst.value)
        if result.state is State.INFRA:
            message = str((self._output.error or {}).get("message", ""))
            pytest.skip(escape.terminal(f"infrastructure: {result.infra}: {message[:500]}"))
        if not result.passed:
            comparison.tell(self.config, result)
            raise self._failure(result)

    def _tell(self, state: str) -> None:
        """Put on the report what JUnit files show as the state of the case."""
        self.user_properties[:] = [pair for pair in self.user_properties if pair[0] != "state"]
        self.user_properties.append(("state", state))

    def _dump(self, result: Result) -> str:
        checks = [
            [
                check.name,
                check.status.value,
                [[finding.message, finding.severity] for finding in check.findings],
                [[measure.name, measure.value, measure.of] for measure in check.measures],
            ]
            for check in result.checks
        ]
        return json.dumps([self._of.key, self._of.digest, result.snapshot, result.case_id, result.trial, checks])

    def _failure(self, result: Result) -> NotPassedError:
        places = [self._clickable(place) for place in (result.case_source, result.output_source) if place]
        text = failure(result, [f"{path}:{line}" for path, line in places])
        said = next((f.summary for check in result.checks for f in check.findings), "no check applied")
        return NotPassedError(text, escape.terminal(said)[:300], places[0])

    def _clickable(self, place: Location) -> tuple[str, int]:
        """A place as it reads from the folder that pytest was started in."""
        path = os.path.normpath(self.config.rootpath / place.path)
        try:
            return os.path.relpath(path, self.config.invocation_params.dir), place.line
        except ValueError:
            return path, place.line

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """Our own text for a failed case; pytest's for everything else."""
        if isinstance(excinfo.value, NotPassedError):
            return NotPassedRepr(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The cases file, the case's line (from 0) and the item's name."""
        return self.path, max(0, self._case.source.line - 1), self.name


class TrustItem(pytest.Item):
    """What the checks must make of a snapshot whose answers are known, before they are trusted with any other."""

    _suite: Suite
    _index: int

    def set_up(self, of: Collected, index: int) -> None:
        """Tell the item which of the suite's trust gates it is."""
        assert of.suite is not None
        self._suite, self._index = of.suite, index
        self._snapshot = escape.terminal(PurePosixPath(trust_gates(of.suite)[index].path).stem)
        self._tell("not judged")
        mark: pytest.Mark = getattr(pytest.mark, markers.ALL).mark
        self.own_markers.append(mark)
        self.keywords[mark.name] = mark

    def _initrequest(self) -> None:
        """Nothing to do: rerun plugins call it on whatever they run again."""

    def _tell(self, state: str) -> None:
        self.user_properties[:] = [("snapshot", self._snapshot), ("state", state)]

    def runtest(self) -> None:
        """Judge what is known.

        :raises NotPassedError: if the checks can't be trusted.
        """
        result = trusted(self._suite, self._index)
        self._tell("failed" if result.reasons else "passed")
        if result.reasons:
            place = (trust_gates(self._suite)[self._index].path, 1)
            lines = ["the graders can't be trusted, whatever they say of others:", *result.reasons, place[0]]
            text = "\n".join(escape.terminal(line) for line in problems_block(lines))
            raise NotPassedError(text, escape.terminal(result.reasons[0])[:300], place)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        """Our own text for a bent ruler; pytest's for everything else."""
        if isinstance(excinfo.value, NotPassedError):
            return NotPassedRepr(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The cases file, as a whole, and the item's name."""
        return self.path, 0, self.name


@dataclass(frozen=True, kw_only=True)
class Payload:
    """What a report carries about one output."""

    suite: str
    digest: str
    snapshot: str
    case_id: str
    trial: int
    checks: tuple[CheckResult, ...]

    @classmethod
    def read(cls, text: str) -> Payload:
        """The payload that an item dumped."""
        suite, digest, snapshot, case_id, trial, checks = json.loads(text)
        return cls(
            suite=suite,
            digest=digest,
            snapshot=snapshot,
            case_id=case_id,
            trial=trial,
            checks=tuple(
                CheckResult(
                    name=name,
                    status=Status(status),
                    findings=tuple(Finding(check=name, message=m, severity=s) for m, s in findings),
                    measures=tuple(Measure(name=n, value=v, of=of) for n, v, of in measures),
                )
                for name, status, findings, measures in checks
            ),
        )
