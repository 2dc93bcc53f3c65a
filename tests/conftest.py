"""Fixtures: a project as a user has it, and nouns with the fields that a test doesn't care about filled in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from story import ROOT, Project


@pytest.fixture
def expense(tmp_path: Path) -> Project:
    """A copy of the shipped suite in a folder of its own."""
    at = tmp_path / "project"
    at.mkdir()
    (at / "pytest.ini").write_text("[pytest]\n", "utf-8")
    for name in ("cases", "outputs", "policy"):
        shutil.copytree(ROOT / name, at / name)
    return Project(at)
