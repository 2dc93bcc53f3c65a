"""What stands around a session: an old decision goes before anything can fail, and 0 comes out only of a PASS.

`session` judges nothing of this: here is what holds if it never came to start, or did not have the last word.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_release_gate.claim import claim
from pytest_release_gate.errors import ResultsError
from pytest_release_gate.integrations import Integrations
from pytest_release_gate.model import EXIT_CODES, Decision, Ground, Verdict
from pytest_release_gate.reporters import terminal

NAME = "release-gate-session"
# Options with which pytest runs no session, or a session that judges nothing.
_NO_SESSION = ("collectonly", "help", "version", "markers", "showfixtures", "show_fixtures_per_test", "cacheshow")
# The results folder, from the moment on at which its old decision is gone.
FOLDER = pytest.StashKey[Path]()
_PROTECTED = pytest.StashKey[bool]()


def protect(config: pytest.Config, options: Any) -> None:
    """Replace an old decision by HOLD, and keep other runs out of the results folder until this one has ended.

    :param options: the parsed options; while conftest files are still to be loaded, `config` does not have them.
    :raises pytest.UsageError: if the folder can't be used.
    """
    if judges_nothing(config, options) or _PROTECTED in config.stash:
        return
    results = _results_folder(config, options)
    try:
        if results is not None:
            handle = claim(results)
            config.add_cleanup(lambda: os.close(handle))
            config.stash[FOLDER] = results
        Integrations(config, options).begin()
    except ResultsError as error:
        raise usage_error([str(error)]) from None
    config.stash[_PROTECTED] = True


def guard(config: pytest.Config) -> Generator[None, Any, Any]:
    """Around a whole session: its exit code, which is 0 only if this session's gate concluded so.

    Whatever happens outside of what `GatePlugin` sees (an exit while starting, a status that somebody sets last) ends
    here.
    """
    if judges_nothing(config, config.option):
        return (yield)
    try:
        code = yield
    except SystemExit as error:
        code = error.code
    plugin = config.pluginmanager.get_plugin(NAME)
    concluded = None if plugin is None else plugin.code
    if concluded is None:
        reason = "the session ended before anything was judged: something in it called exit; run again without that"
        decision = Decision(verdict=Verdict.HOLD, grounds=(Ground(verdict=Verdict.HOLD, reason=reason),))
        print_lines([terminal.decision_line(decision)])
        concluded = EXIT_CODES[Verdict.HOLD]
    return code or concluded


def usage_error(said: Sequence[str]) -> pytest.UsageError:
    """What pytest prints, and ends with 4 for, if the gate can't start."""
    return pytest.UsageError("release gate can't start:\n" + "\n".join(terminal.problems_block(said)))


def option(config: pytest.Config, options: Any, name: str) -> tuple[str, Path]:
    """An option or the ini value that stands in for it, and the folder that it is relative to."""
    if value := getattr(options, name):
        return str(value), config.invocation_params.dir
    ini = str(config.getini(name)).strip()
    return ini, config.inipath.parent if config.inipath else config.rootpath


def judges_nothing(config: pytest.Config, options: Any) -> bool:
    """Whether this process is a worker, or pytest was only asked for information."""
    return hasattr(config, "workerinput") or any(getattr(options, name, False) for name in _NO_SESSION)


def _results_folder(config: pytest.Config, options: Any) -> Path | None:
    """Where results go; None where none are asked for."""
    value, base = option(config, options, "release_gate_results")
    return Path(os.path.abspath(base / value)) if value else None


def print_lines(lines: Sequence[str]) -> None:
    """For sessions without a terminal reporter, on whatever encoding standard output has."""
    encoding = sys.stdout.encoding or "ascii"
    for line in lines:
        print(line.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
