"""Fixtures: a project as a user has it. The nouns that tests need are made in `build`."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from story import ROOT, Project

HERE = Path(__file__).parent
# Somebody who looks at the project without the extra `dev` still sees every other test; CI always installs it.
WITHOUT = importlib.util.find_spec("hypothesis") is None
collect_ignore = [
    path.name for path in sorted(HERE.glob("test_*.py")) if WITHOUT and "from hypothesis" in path.read_text("utf-8")
]


def pytest_report_header() -> list[str]:
    return [f"without hypothesis (extra 'dev') these are left out: {', '.join(collect_ignore)}"] if WITHOUT else []


@pytest.fixture
def expense(tmp_path: Path) -> Project:
    """A copy of the shipped suite in a folder of its own."""
    at = tmp_path / "project"
    at.mkdir()
    (at / "pytest.ini").write_text("[pytest]\n", "utf-8")
    for name in ("cases", "outputs", "policy"):
        shutil.copytree(ROOT / name, at / name)
    return Project(at)
