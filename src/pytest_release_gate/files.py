"""Writing results so that no reader ever sees a half file or yesterday's decision. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_release_gate.errors import ResultsError

_EVIDENCE = "evidence.json"
_ALWAYS = ("summary.json", "RELEASE_REPORT.md", "digest.md", _EVIDENCE)
_TEMPORARY = ".release-gate-{}.partial"


def lock(folder: Path) -> int:
    """Claim a results folder for as long as the returned file descriptor is open; a process that dies lets go of it.

    :raises ResultsError: if another run has claimed it, or the folder can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ResultsError(f"the results folder {folder} can't be written: {error.strerror or error}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ResultsError(f"another run is writing into {folder}; wait for its end, or name another folder") from None
    except OSError:  # a file system without locks
        pass
    return handle


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either the old one or the new one, whole, whatever happens in between.

    :raises ResultsError: naming the file, if it can't be written; no temporary file stays behind.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix, suffix = _TEMPORARY.split("{}")
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=suffix)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner reads; results are for everybody who may read the folder.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise ResultsError(f"the results file {path} can't be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write results files in the given order; if one can't be written, those before it are taken back.

    :param files: path relative to the folder → content.
    :raises ResultsError: naming the first file that could not be written.
    """
    written: list[str] = []
    try:
        for path, content in files.items():
            write_atomically(folder / path, content)
            written.append(path)
    except ResultsError:
        remove(folder, written)
        raise


def remove(folder: Path, paths: Iterable[str]) -> None:
    """Remove files that may be there; what can't be removed is emptied, so that it says nothing any more.

    :raises ResultsError: naming the first that is there and can't be removed.
    """
    stuck: tuple[Path, OSError] | None = None
    for path in paths:
        try:
            (folder / path).unlink(missing_ok=True)
        except NotADirectoryError:
            continue
        except OSError as error:
            stuck = stuck or (folder / path, error)
            with contextlib.suppress(OSError):
                os.truncate(folder / path, 0)
    if stuck:
        raise ResultsError(f"the old results file {stuck[0]} can't be removed: {stuck[1].strerror}") from stuck[1]


def earlier(folder: Path) -> list[str]:
    """The results files that an earlier run left in the folder, by its own evidence, relative to the folder."""
    try:
        files = json.loads((folder / _EVIDENCE).read_bytes())["files"]
        named = [path for path in files if isinstance(path, str) and not os.path.isabs(path) and ".." not in path]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        named = []
    # What a run was writing when it was killed lies beside its results.
    torn = [
        (inside / path.name).as_posix()
        for inside in {Path(name).parent for name in [*named, _EVIDENCE]}
        for path in (folder / inside).glob(_TEMPORARY.format("*"))
    ]
    return sorted({*named, *torn, *_ALWAYS})


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
