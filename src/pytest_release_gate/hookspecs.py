"""The hooks we offer. None of them can change a result, a metric or a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_release_gate.model import CheckFunction, Report


@pytest.hookspec
def pytest_release_gate_checks() -> Mapping[str, CheckFunction]:  # type: ignore[empty-body]
    """Give more checks: name → `check(case, output, **arguments)`, which yields the reasons why an output is wrong.

    A name that is taken is a usage error. For example, in a conftest.py:

        def polite(case, output):
            if "please" not in output.record["message"]:
                yield "the message does not say please"

        def pytest_release_gate_checks():
            return {"polite": polite}
    """


@pytest.hookspec
def pytest_release_gate_concluded(config: pytest.Config, report: Report) -> None:
    """Called once for each snapshot when its decision stands, before it is shown and written.

    What it returns is ignored; if it raises, the error is shown and the verdict is HOLD at least.
    """
