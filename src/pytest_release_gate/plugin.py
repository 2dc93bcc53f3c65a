"""The entry point: options, and nothing else unless they are used. What a session does with them is in `session`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The group of options, and the ini values that stand in for them."""
    group = parser.getgroup("release gate", "release gate: decide whether a recorded run of an agent may ship")
    group.addoption(
        "--release-gate",
        action="append",
        metavar="PATH",
        help="Judge a snapshot, a folder's *.jsonl or a quoted glob (repeatable): "
        "--release-gate=outputs/candidate-v3.jsonl",
    )
    group.addoption(
        "--release-gate-policy",
        metavar="FILE",
        help="Judge by this policy, not by the one that belongs to the snapshot's place: policy/gate.toml",
    )
    group.addoption(
        "--release-gate-results",
        metavar="DIR",
        help="Write decision, metrics and evidence into this folder: --release-gate-results=results",
    )
    parser.addini("release_gate", type="paths", default=[], help="Snapshots to judge where --release-gate is absent.")
    parser.addini("release_gate_policy", help="The policy where --release-gate-policy is absent.", default="")
    parser.addini("release_gate_results", help="The folder where --release-gate-results is absent.", default="")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks; they cost an import of their own small module and of the model."""
    from pytest_release_gate import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the session's plugin, if the gate is asked for."""
    if config.option.release_gate or config.getini("release_gate"):
        from pytest_release_gate.session import start

        start(config)
