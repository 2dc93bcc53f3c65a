"""Which snapshots are meant, and which policy judges each of them: by place, unless an option says otherwise."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_release_gate.errors import PolicyError, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Snapshots that one policy judges."""

    policy: Path
    outputs: tuple[Path, ...]
    # Where the results of this suite go, below the results folder; "" for the folder itself.
    folder: str


def find_targets(given: Iterable[str], base: Path, policy: Path | None) -> tuple[list[Target], list[str]]:
    """The targets that options or ini values mean, sorted, and the names of files that were passed over.

    :param given: files, folders or globs, relative to `base`.
    :param policy: the policy for all of them; None: each has its own, by place.
    :raises PolicyError: with every path that is no snapshot and every snapshot that has no policy.
    """
    problems: list[Problem] = []
    ignored: list[str] = []
    found: dict[Path, None] = {}
    for text in given:
        found.update(dict.fromkeys(_expand(text, base, problems, ignored)))
    groups: dict[tuple[str, Path], list[Path]] = {}
    for path in sorted(found):
        folder, by_place = _place(path)
        chosen = policy or by_place
        if chosen is None:
            message = "lies in no folder called 'outputs', so it has no policy by place; use --release-gate-policy FILE"
            problems.append(Problem(path=str(path), message=message))
        elif not chosen.exists():
            message = f"no policy for {path}; write one there, or name one with --release-gate-policy FILE"
            problems.append(Problem(path=str(chosen), message=message))
        else:
            groups.setdefault((folder, chosen), []).append(path)
    if problems:
        raise PolicyError(problems)
    targets = [
        Target(policy=chosen, outputs=tuple(paths), folder=folder) for (folder, chosen), paths in sorted(groups.items())
    ]
    _refuse_clashes(targets)
    return targets, sorted(ignored)


def _expand(text: str, base: Path, problems: list[Problem], ignored: list[str]) -> Sequence[Path]:
    """The snapshot files that one option means."""
    path = Path(os.path.abspath(base / text))
    if path.is_dir():
        inside = sorted(path.glob("*.jsonl"))
        # Finder and editors leave such files; naming them keeps that from being silent.
        ignored += [str(one) for one in inside if one.name.startswith(".")]
        inside = [one for one in inside if not one.name.startswith(".")]
        if not inside:
            problems.append(Problem(path=text, message="there is no *.jsonl snapshot in this folder; record one first"))
        return inside
    if path.exists() or not glob.has_magic(text):
        if not path.exists():
            message = "there is no such file or folder; --release-gate takes a snapshot, a folder of them or a glob"
            problems.append(Problem(path=text, message=message))
        return [path] if path.exists() else []
    matches = sorted(Path(os.path.abspath(base / one)) for one in glob.glob(text, root_dir=base, recursive=True))
    if not matches:
        problems.append(Problem(path=text, message="no snapshot matches this pattern"))
    return matches


def _place(path: Path) -> tuple[str, Path | None]:
    """`outputs/[SUB/]NAME.jsonl` ↔ `policy/[SUB/]gate.toml`: SUB, and the policy if there is a folder `outputs`."""
    for parent in path.parents:
        if parent.name == "outputs":
            folder = path.parent.relative_to(parent)
            return "" if folder == Path() else folder.as_posix(), parent.parent / "policy" / folder / "gate.toml"
    return "", None


def _refuse_clashes(targets: Sequence[Target]) -> None:
    """Two snapshots whose results would have the same name are a usage error."""
    seen: dict[tuple[str, str], Path] = {}
    problems = []
    for target in targets:
        for path in target.outputs:
            key = (target.folder.casefold(), path.stem.casefold())
            if key in seen and os.path.realpath(seen[key]) != os.path.realpath(path):
                problems.append(
                    Problem(path=str(path), message=f"has the same label as {seen[key]}: rename one of them")
                )
            seen.setdefault(key, path)
    if problems:
        raise PolicyError(problems)
