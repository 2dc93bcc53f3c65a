"""What other reporters and CI services get to know: pytest-json-report, JUnit, GitHub Actions, GitLab."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_release_gate import escape
from pytest_release_gate.errors import Problem
from pytest_release_gate.model import EXIT_CODES, Conclusion, Result
from pytest_release_gate.reporters import github
from pytest_release_gate.reporters.markdown import render_undecided
from pytest_release_gate.reporters.results import number

KEY = "release_gate"


class Integrations:
    """Answers what other plugins ask at the end of a session.

    :param told: gives the conclusion as it is known by then, and node id → the worst that was found on the output that
        the item judges.
    """

    def __init__(self, told: Callable[[], tuple[Conclusion, Mapping[str, Result]]]) -> None:
        self._told = told

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Of pytest-json-report: the decision and the metrics, and what the checks said beside each of our tests."""
        conclusion, results = self._told()
        json_report[KEY] = {
            "verdict": conclusion.decision.verdict.name,
            "reasons": list(conclusion.decision.reasons),
            "exit_code": EXIT_CODES[conclusion.decision.verdict],
            "snapshots": [
                {
                    "suite": report.suite,
                    "label": report.snapshot,
                    "verdict": report.decision.verdict.name,
                    "reasons": list(report.decision.reasons),
                    "metrics": {
                        name: {"value": number(metric.value, metric.unit), "unit": metric.unit, "n": metric.n}
                        for name, metric in report.metrics.items()
                    },
                }
                for report in conclusion.reports
            ],
        }
        for test in json_report.get("tests", ()):
            if test["nodeid"] in results:
                test[KEY] = _told(results[test["nodeid"]])


def _told(result: Result) -> dict[str, Any]:
    return {
        "case_id": result.case_id,
        "snapshot": result.snapshot,
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


def tell_junit(config: pytest.Config, conclusion: Conclusion) -> None:
    """Give the suite of a JUnit file the verdict and its reasons as properties, if such a file is written."""
    from _pytest.junitxml import xml_key  # the fixture that adds such properties is no use without a test

    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    # It may have been concluded before, and not hold any more.
    xml.global_properties[:] = [one for one in xml.global_properties if not one[0].startswith("release_gate_")]
    told = [("release_gate_verdict", conclusion.decision.verdict.name)]
    told += [("release_gate_reason", reason) for reason in conclusion.decision.reasons[:20]]
    for name, value in told:
        xml.add_global_property(name, escape.terminal(value)[:1000])


def github_lines(conclusion: Conclusion, problems: Iterable[Problem], root: Path) -> list[str]:
    """Annotations, where GitHub Actions runs us; the summary of the step is written on the way.

    :param problems: those of refused evidence.
    :param root: what the paths of cases and problems are relative to.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return []
    workspace = os.environ.get("GITHUB_WORKSPACE", "")

    def place(path: str) -> str:
        inside = os.path.relpath(root / path, workspace) if workspace else path
        return path if inside.startswith("..") else Path(inside).as_posix()

    refused = [(problem.path, problem.line, problem.message) for problem in problems]
    lines = github.of_problems(refused, place) if refused else github.of_outputs(conclusion, place)
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        said = [str(problem) for problem in problems]
        text = github.limited(render_undecided("refused", said)) if refused else github.summary(conclusion)
        try:
            with open(file, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as summary:
                summary.write(f"{text}\n")
        except OSError as error:
            lines.append(f"  the step summary {escape.terminal(file)} can't be written: {error.strerror or error}")
    return lines
