"""The entry point: options, and nothing else unless they are used. What a session does with them is in `session`."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

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
        help="Judge by this policy, not by the one that belongs to the snapshot's place: "
        "--release-gate-policy=policy/gate.toml",
    )
    group.addoption(
        "--release-gate-results",
        metavar="DIR",
        help="Write decision, metrics and evidence into this folder: --release-gate-results=results",
    )
    group.addoption(
        "--release-gate-code-quality",
        metavar="FILE",
        help="Write what is wrong as a code quality report for GitLab: "
        "--release-gate-code-quality=gl-code-quality-report.json",
    )
    group.addoption(
        "--release-gate-selftest",
        action="store_true",
        help="Break right answers, one thing at a time, and show which of these mutants no check fails: "
        "--release-gate-selftest",
    )
    parser.addini("release_gate", type="paths", default=[], help="Snapshots to judge where --release-gate is absent.")
    parser.addini("release_gate_policy", help="The policy where --release-gate-policy is absent.", default="")
    parser.addini("release_gate_results", help="The folder where --release-gate-results is absent.", default="")


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks; they cost an import of their own small module and of the model."""
    from pytest_release_gate import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    """Replace an old decision before anybody's code can break, or leave."""
    # The options of a worker are the controller's, and so are the results.
    if "PYTEST_XDIST_WORKER" in os.environ or not _asked(early_config, early_config.known_args_namespace):
        return (yield)
    from pytest_release_gate.guard import protect

    protect(early_config, early_config.known_args_namespace)
    try:
        return (yield)
    except SystemExit as error:
        raise pytest.UsageError(
            f"a conftest.py or a plugin called sys.exit({error.code}) while it was imported"
        ) from None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, Any, Any]:
    """Around the whole session: 0 comes out of it only if the gate concluded so."""
    if not _asked(config, config.option):
        return (yield)
    from pytest_release_gate.guard import guard

    return (yield from guard(config))


def _asked(config: pytest.Config, options: Any) -> bool:
    return bool(options.release_gate or config.getini("release_gate"))


def pytest_configure(config: pytest.Config) -> None:
    """Register the session's plugin, if the gate is asked for."""
    if _asked(config, config.option):
        from pytest_release_gate.session import start

        start(config)
