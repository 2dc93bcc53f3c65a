"""A release gate for agents: load a suite, grade its outputs, conclude whether a version may ship.

The names below are the whole public interface for Python; with pytest it is `pytest --release-gate outputs/x.jsonl`.
They are imported when they are first used, so that the plugin, which lives in this package, costs nothing unused.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_release_gate.errors import GateError, PolicyError, Problem, ResultsError, SuiteError
    from pytest_release_gate.grading import grade
    from pytest_release_gate.model import Case, Conclusion, Measure, Output, Reason, Report, Result, Suite, Verdict
    from pytest_release_gate.pipeline import agent_view, conclude, grade_all, grade_outputs, load, outputs_of

_HOMES = {
    "errors": ("GateError", "PolicyError", "Problem", "ResultsError", "SuiteError"),
    "grading": ("grade",),
    "model": ("Case", "Conclusion", "Measure", "Output", "Reason", "Report", "Result", "Suite", "Verdict"),
    "pipeline": ("agent_view", "conclude", "grade_all", "grade_outputs", "load", "outputs_of"),
}

__all__ = [
    "Case",
    "Conclusion",
    "GateError",
    "Measure",
    "Output",
    "PolicyError",
    "Problem",
    "Reason",
    "Report",
    "Result",
    "ResultsError",
    "Suite",
    "SuiteError",
    "Verdict",
    "agent_view",
    "conclude",
    "grade",
    "grade_all",
    "grade_outputs",
    "load",
    "outputs_of",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
