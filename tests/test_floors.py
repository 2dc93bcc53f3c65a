"""The architecture as a list: imports point down, the core never imports pytest, unused means unimported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_release_gate

from story import ROOT

SRC = ROOT / "src/pytest_release_gate"
FLOORS = [
    {"errors", "version"},
    {"model"},
    {"jsonl", "matching", "patterns", "documents", "escape", "wording"},
    {"complaints", "fast"},
    {"schema", "judgements"},
    {"checks", "contract", "policy"},
    {"binding"},
    {"suite", "grading", "standins"},
    {"metrics", "selftest"},
    {"gate", "agreement"},
    {"power"},
    {"pipeline", "policy_schema"},
    {"reporters"},
    {"files", "discovery"},
    {"claim", "merge"},
    {"cli"},
    {"hookspecs", "custom", "markers", "comparison"},
    {"integrations"},
    {"items", "guard"},
    {"session"},
    {"plugin"},
]
# From which floor on a module may import pytest, or see the clock, the environment or chance.
SHELL = next(index for index, floor in enumerate(FLOORS) if "custom" in floor)
OUTSIDE = {"time", "datetime", "random", "secrets", "uuid", "socket", "platform", "locale", "getpass"}


def name_of(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return parts[0]


def imported_by(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it, typing excepted: names of ours shortened to the module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module == "pytest_release_gate":
                found |= {f"pytest_release_gate.{alias.name}" for alias in node.names}
            else:
                found.add(module)
    return found


MODULES = sorted(path for path in SRC.rglob("*.py") if path != SRC / "__init__.py")


def test_every_module_has_a_floor():
    named = [name for floor in FLOORS for name in floor]

    assert sorted(named) == sorted(set(named))
    assert set(named) == {name_of(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_imports_point_down(path):
    name = name_of(path)
    floor = next(index for index, names in enumerate(FLOORS) if name in names)
    below = set().union(*FLOORS[:floor])
    # A hook is specified in terms of pytest and the model; the other way is only for typing.
    ours = {full.split(".")[1] for full in imported_by(path) if full.startswith("pytest_release_gate.")} - {name}

    assert ours <= below


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_the_core_knows_neither_pytest_nor_clock_nor_chance(path):
    name = name_of(path)
    floor = next(index for index, names in enumerate(FLOORS) if name in names)
    if floor >= SHELL:
        return
    roots = {full.split(".")[0] for full in imported_by(path)}

    assert not roots & ({"pytest", "_pytest", "pluggy"} | OUTSIDE)
    assert "environ" not in path.read_text("utf-8")


def test_reporters_reach_the_model_and_the_words_only():
    for path in (SRC / "reporters").glob("*.py"):
        ours = {full.split(".")[1] for full in imported_by(path) if full.startswith("pytest_release_gate.")}

        assert ours <= {"model", "wording", "escape", "version", "reporters"}, path


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_no_module_is_too_long(path):
    # The glossary may be longer: it is looked things up in, not read through.
    assert len(path.read_text("utf-8").splitlines()) <= (520 if path.name == "model.py" else 460)


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(run.stdout))


def test_importing_the_package_imports_nothing_heavy():
    assert not loaded_after("import pytest_release_gate") & {"pytest", "jsonschema", "referencing", "fractions"}


def test_using_the_library_does_not_import_pytest():
    assert "pytest" not in loaded_after("from pytest_release_gate import load, grade_all, conclude")


def test_importing_the_plugin_imports_nothing_heavy():
    before = loaded_after("import pytest")
    extra = loaded_after("import pytest, pytest_release_gate.plugin, pytest_release_gate.hookspecs") - before

    assert {name for name in extra if not name.startswith("pytest_release_gate")} == set()
    assert extra == {"pytest_release_gate", "pytest_release_gate.plugin", "pytest_release_gate.hookspecs"}


def test_public_names_are_sorted_and_there():
    names = pytest_release_gate.__all__

    assert names == sorted(names)
    assert all(getattr(pytest_release_gate, name).__doc__ for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        pytest_release_gate.nothing  # noqa: B018


def test_public_things_have_docstrings():
    missing = []
    for path in MODULES:
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            public = isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
            if public and not ast.get_docstring(node):
                missing.append(f"{path.name}: {node.name}")

    assert missing == []
