"""Checks of a suite's own: what the hook gives, from installed plugins and from the conftest.py files of the suite."""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_release_gate.errors import PolicyError, Problem
from pytest_release_gate.model import CheckFunction


def registered_checks(config: pytest.Config, policy: Path) -> dict[str, CheckFunction]:
    """The checks that a suite has besides those built in, by name.

    They come from plugins, and from the conftest.py files beside its cases and above; other suites' are not asked.

    :raises PolicyError: if a hook gives no mapping of names to functions, or two give one name.
    """
    folder = _cases_folder(policy)
    if folder is not None:
        _load_conftests(config, folder)
    found: dict[str, CheckFunction] = {}
    for more in _hook(config, folder)():
        if not isinstance(more, Mapping):
            message = f"pytest_release_gate_checks must return a mapping of name to check, found {type(more).__name__}"
            raise PolicyError([Problem(message=message)])
        for name, function in more.items():
            if name in found:
                raise PolicyError([Problem(message=f"two checks are called {name!r}; give yours another name")])
            if not callable(function):
                raise PolicyError([Problem(message=f"the check {name!r} can't be called; a check is a function")])
            found[name] = function
    return found


def _cases_folder(policy: Path) -> Path | None:
    """Where the cases are, if the policy can be read so far; what is wrong with it is said when it is read whole."""
    try:
        cases = tomllib.loads(policy.read_text("utf-8-sig"))["suite"]["cases"]
        return Path(os.path.normpath(policy.parent / cases)).parent
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _load_conftests(config: pytest.Config, folder: Path) -> None:
    """Load the conftest.py files of a folder now; pytest does so only when it collects there, which is too late."""
    load: Any = config.pluginmanager._loadconftestmodules
    more: dict[str, Any] = {}
    if "consider_namespace_packages" in inspect.signature(load).parameters:  # from pytest 8.1
        more["consider_namespace_packages"] = config.getini("consider_namespace_packages")
    load(folder, config.getoption("importmode"), rootpath=config.rootpath, **more)


def _hook(config: pytest.Config, folder: Path | None) -> Any:
    """The hook without the conftest.py files of folders that the cases are not in."""
    mine = {str(folder), *map(str, folder.parents)} if folder else set()
    manager = config.pluginmanager
    others = [
        plugin
        for plugin in manager.get_plugins()
        if os.path.basename(getattr(plugin, "__file__", None) or "") == "conftest.py"
        and os.path.dirname(plugin.__file__) not in mine
    ]
    return manager.subset_hook_caller("pytest_release_gate_checks", remove_plugins=others)
