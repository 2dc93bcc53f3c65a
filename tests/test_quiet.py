"""Installed but not used: nothing imported, printed or written, and nobody else's session is changed."""

from __future__ import annotations

import pytest

from story import Project

HEAVY = ("jsonschema", "referencing", "rpds", "fractions", "pytest_release_gate.session", "pytest_release_gate.model")
PROBE = f"""\
import sys
def pytest_unconfigure(config):
    print("HEAVY", sorted(name for name in {HEAVY!r} if name in sys.modules))
"""


@pytest.fixture
def other(tmp_path) -> Project:
    """Somebody's project that has nothing to do with the gate."""
    project = Project(tmp_path)
    project.write("test_a.py", "def test_a(): pass\n")
    project.write("probe.py", PROBE)
    return project


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["-W", "error", "--strict-config", "--strict-markers"],
        ["-p", "no:terminal"],
        ["-v", "-rA"],
        ["--collect-only", "-q"],
        ["-n2"],
    ],
    ids=" ".join,
)
def test_unused_it_is_silent(other, args):
    run = other.run("-p", "probe", "-p", "no:json-report", "-p", "no:hypothesispytest", *args, env={"PYTHONPATH": "."})

    assert run.code == 0
    assert "HEAVY []" in run.out
    assert "release gate" not in run.out
    assert {path.name for path in other.at.iterdir()} == {"test_a.py", "probe.py"}


def test_switched_on_it_is_not(expense):
    expense.write("probe.py", PROBE)
    run = expense.gate("candidate-v3", "-p", "probe", env={"PYTHONPATH": "."})

    assert f"HEAVY {sorted(HEAVY)!r}" in run.out


def test_hooks_may_be_implemented_by_a_project_that_does_not_use_them(other):
    other.write("conftest.py", "def pytest_release_gate_checks(): return {}\n")

    assert other.run().code == 0


def test_no_socket_is_ever_opened(expense):
    expense.write(
        "conftest.py",
        "import socket\n"
        "class NoSocket(socket.socket):\n"
        "    def __new__(cls, *args, **more): raise AssertionError('a socket was opened')\n"
        "socket.socket = NoSocket\n",
    )

    # rerunfailures, where it is installed, opens one of its own
    assert expense.gate_results("candidate-v3", "-p", "no:rerunfailures").verdict == "PASS"


# Python 3.12 keeps some objects of its own from the start.
KEPT = "import gc\nAT_FIRST = gc.get_freeze_count()\ndef kept(): return max(0, gc.get_freeze_count() - AT_FIRST)\n"


@pytest.mark.parametrize(("at_first", "much"), [("enable", True), ("disable", False)])
def test_garbage_collection_is_left_as_it_was(expense, at_first, much):
    expense.write(
        "conftest.py",
        f"{KEPT}gc.{at_first}()\ndef pytest_sessionfinish(): print('GC', gc.isenabled(), kept() > 1000)\n",
    )

    assert f"GC {at_first == 'enable'} {much}\n" in expense.gate("candidate-v3", "-s").out


def test_garbage_collection_is_left_alone_where_the_gate_is_not_used(other):
    other.write("conftest.py", f"{KEPT}def pytest_sessionfinish(): print('KEPT', kept())\n")

    assert "KEPT 0\n" in other.run("-s").out
