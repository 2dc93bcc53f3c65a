"""What CI services and other plugins' reports get to know of a decision. Nothing here can change it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from pytest_release_gate import escape, files
from pytest_release_gate.errors import Problem, ResultsError
from pytest_release_gate.model import Conclusion, Decision, Ground, Location, Report, Result, Verdict
from pytest_release_gate.reporters import codequality, github, jsonreport
from pytest_release_gate.reporters.remarks import Trouble
from pytest_release_gate.reporters.results import encode

NAME = "release-gate-integrations"
_MOST_REASONS = 20
_LONGEST_REASON = 300


class Integrations:
    """The reports of one session; a process that judges nothing has none."""

    def __init__(self, config: pytest.Config, options: Any = None) -> None:
        self.config = config
        options = options or config.option
        name = options.release_gate_code_quality
        self._code_quality = Path(os.path.abspath(config.invocation_params.dir / name)) if name else None
        self._wants_json = bool(getattr(options, "json_report", False))
        # (suite key, snapshot, case id, trial) → node id.
        self._node_ids: dict[tuple[str, str, str, int], str] = {}
        self._concluded: tuple[Conclusion, int] | None = None

    # ----------------------------------------------------------------------------------------- code quality, for GitLab

    def begin(self) -> None:
        """Replace an old code quality report, so that none of yesterday claims a clean run.

        :raises ResultsError: if the option names a file that is something else.
        """
        path = self._code_quality
        if path is None:
            return
        if _is_something_else(path):
            raise ResultsError(
                f"--release-gate-code-quality would overwrite {path}, which is no such report; name a file of its own"
            )
        try:
            files.write_atomically(path, encode(codequality.render_running(self._own())))
        except ResultsError:  # it is tried again at the end, which decides; until then the old one goes if it can
            with contextlib.suppress(ResultsError):
                files.remove(path.parent, [path.name])

    def write(self, conclusion: Conclusion, problems: Sequence[Problem]) -> None:
        """Write the code quality report, if it was asked for.

        :raises ResultsError: if it can't be written.
        """
        if self._code_quality is not None:
            text = codequality.render(conclusion, self._troubles(problems), self._prefix(), self._own())
            files.write_atomically(self._code_quality, encode(text))

    def _own(self) -> str:
        """The path of the code quality report from the root of the repository."""
        assert self._code_quality is not None
        return _relative(self._code_quality, _repository(self.config.rootpath))

    def _prefix(self) -> str:
        """From the root of the repository to pytest's, which all places are relative to."""
        prefix = _relative(self.config.rootpath, _repository(self.config.rootpath))
        return "" if prefix == "." else prefix

    def _troubles(self, problems: Sequence[Problem]) -> list[Trouble]:
        found = []
        for problem in problems:
            path = problem.path
            if path is not None and os.path.isabs(path):  # an option's; what a report says belongs to no one machine
                path = _relative(Path(path), self.config.rootpath)
            place = None if path is None else Location(path=path, line=problem.line or 0)
            found.append(Trouble(message=problem.message, place=place))
        return found

    # ------------------------------------------------------------------------------- JUnit XML and pytest-json-report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which item judged what."""
        text = getattr(report, "release_gate", None)
        if text is not None and self._wants_json:
            suite, _, snapshot, case_id, trial, _ = json.loads(text)
            self._node_ids[suite, snapshot, case_id, trial] = report.nodeid

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Put the decision into the report of pytest-json-report, and what was found on an output beside its item."""
        if self._concluded is None:
            return
        conclusion, code = self._concluded
        content = jsonreport.content(conclusion, code, self._node_id)
        json_report[jsonreport.KEY] = content
        by_id = {item["nodeid"]: item for item in content["items"]}
        for test in json_report.get("tests", ()):
            if test["nodeid"] in by_id:
                test.setdefault("metadata", {})[jsonreport.KEY] = by_id[test["nodeid"]]

    def _node_id(self, report: Report, result: Result) -> str:
        return self._node_ids.get((report.policy, result.snapshot, result.case_id, result.trial), "")

    def concluded(self, conclusion: Conclusion, code: int, *, again: bool = False) -> None:
        """Let the reports of others tell the decision.

        :param again: whether they may have been written already, with another decision; then they are corrected.
        """
        self._concluded = (conclusion, code)
        junit = self.config.stash.get(xml_key, None)
        if junit is not None:
            others = [pair for pair in junit.global_properties if not pair[0].startswith("release_gate_")]
            junit.global_properties[:] = others
            reasons = [escape.terminal(r)[:_LONGEST_REASON] for r in conclusion.decision.reasons[:_MOST_REASONS]]
            more = len(conclusion.decision.reasons) - len(reasons)
            reasons += [f"and {more} more"] if more > 0 else []
            junit.add_global_property("release_gate_verdict", conclusion.decision.verdict.name)
            junit.add_global_property("release_gate_reasons", "; ".join(reasons))
        if again:
            # Whoever broke the end of the session may have broken these as well.
            with contextlib.suppress(Exception):
                if junit is not None:
                    junit.pytest_sessionfinish()
            with contextlib.suppress(Exception):
                self._correct_json(code)

    def _correct_json(self, code: int) -> None:
        written = getattr(self.config, "_json_report", None)
        if written is not None and written.report is not None:
            written.report["exitcode"] = code
            self.pytest_json_modifyreport(written.report)
            written.save_report(self.config.option.json_report_file)

    # ------------------------------------------------------------------------------------------------- GitHub Actions

    def last_lines(self, conclusion: Conclusion, problems: Sequence[Problem]) -> list[str]:
        """On GitHub Actions: write the summary of the step, and give the annotations to be printed; else nothing."""
        if not on_github():
            return []
        return [*_summarise(conclusion), *github.commands(conclusion, self._troubles(problems), self._prefix())]

    def could_not_start(self, problems: Sequence[Problem]) -> list[str]:
        """The same where an option or a policy can't be used, and nothing was judged."""
        reasons = [Ground(verdict=Verdict.HOLD, reason=str(problem)) for problem in problems]
        nothing = Conclusion(decision=Decision(verdict=Verdict.HOLD, grounds=tuple(reasons)), reports=())
        with contextlib.suppress(ResultsError):  # it ends in an error anyway
            self.write(nothing, problems)
        return self.last_lines(nothing, problems)


def on_github() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _repository(root: Path) -> Path:
    """The root of the repository where a CI service names it and pytest's root lies in it; else pytest's root."""
    named = os.environ.get("GITHUB_WORKSPACE") if on_github() else None
    if os.environ.get("GITLAB_CI") == "true":
        named = os.environ.get("CI_PROJECT_DIR")
    inside = Path(os.path.realpath(root))
    if named and inside.is_relative_to(os.path.realpath(named)):
        return Path(os.path.realpath(named))
    return inside


def _summarise(conclusion: Conclusion) -> list[str]:
    """Append to the summary of the step; a sentence if it can't be written, which changes no evidence."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return []
    try:
        with open(name, "ab") as file:
            before = file.tell()
            glue = b"\n\n" if before else b""
            text = github.summary(conclusion, github.SUMMARY_LIMIT - 1 - before - len(glue))
            file.write(glue + text if text else b"")
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return [escape.terminal(f"  the step summary {name} can't be written: {why}")]
    return [] if text else ["  the step summary is full, so that the decision does not stand in it"]


def _relative(path: Path, to: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(to))).as_posix()


def _is_something_else(path: Path) -> bool:
    """Whether there is a file that is neither empty nor a JSON array: a snapshot, say, that was named by mistake."""
    try:
        data = path.read_bytes() if path.is_file() else b""
        return bool(data.strip()) and not isinstance(json.loads(data), list)
    except OSError:
        return False
    except (ValueError, RecursionError):
        return True
