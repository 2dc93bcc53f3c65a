"""A pytest plugin that asks for what the test explorer of VS Code asks for, and writes down what it would show.

Load it with `-p explorer`; it writes to the file that EXPLORER_LOG names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

# What a status of a run means; it is looked up, so that any other would end in an error.
STATUS = {0: "success", 1: "success", 2: "error", 3: "error", 4: "error", 5: "error"}


class Explorer:
    def __init__(self) -> None:
        # Id as it is run again: absolute path::name → where and what.
        self.tree: list[dict[str, Any]] = []
        # Path of the node → what is shown there.
        self.errors: dict[str, str] = {}
        self.results: dict[str, tuple[str, str]] = {}

    def pytest_exception_interact(self, node: pytest.Collector | pytest.Item, report: Any) -> None:
        if isinstance(node, pytest.Collector):
            self.errors[str(node.path)] = report.longreprtext

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            name = "::".join(report.nodeid.split("::")[1:])
            self.results[name] = (report.outcome, report.longreprtext)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        for item in session.items:
            assert not hasattr(item, "callspec"), "is taken for a parametrised function"
            names = item.nodeid.split("::")[1:]
            self.tree.append(
                {
                    "id": "::".join([str(item.path), *names]),
                    "under": str(item.parent.path),
                    "name": item.name,
                    "line": item.location[1] + 1,
                }
            )
        log = {
            "tree": self.tree,
            "errors": self.errors,
            "results": self.results,
            "status": STATUS[int(exitstatus)],
        }
        Path(os.environ["EXPLORER_LOG"]).write_text(json.dumps(log), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Explorer(), "explorer-of-the-tests")
