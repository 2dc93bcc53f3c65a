"""A results folder from the moment at which a run claims it: its old decision is gone, it says HOLD, others wait."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_release_gate import files, reporters
from pytest_release_gate.errors import ResultsError

_RUNNING = "the run has not finished; if it should have, it died: run it again"


def claim(results: Path) -> int:
    """Lock a results folder and replace its old decision by HOLD "running".

    :return: the lock, held for as long as this file descriptor is open.
    :raises ResultsError: if another run has claimed it, or it can't be written.
    """
    handle = files.lock(results)
    try:
        _replace_old(results)
    except ResultsError:
        os.close(handle)
        raise
    return handle


def _replace_old(results: Path) -> None:
    """From here on until the end the evidence says HOLD, so that a crash leaves no old PASS behind.

    The evidence first, naming the old files: if this process is killed here, the next one knows what to remove.
    """
    old = files.earlier(results)
    content = reporters.files_undecided("running", [_RUNNING], {}, old)
    written: list[str] = []
    try:
        files.write_all(results, dict(reversed(content.items())))
        written += content
    finally:  # where there is no place for a new decision, the old one goes all the same
        files.remove(results, [path for path in old if path not in written])
