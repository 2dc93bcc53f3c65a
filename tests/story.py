"""A user's project, and what a user sees of a run: exit code, verdict, output, files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DECISION = re.compile(r"^release gate: (PASS|REVIEW|HOLD|BLOCK)\b.*$", re.MULTILINE)
# What would make a run here differ from one at a user's: our own coverage and the variables of CI services.
FOREIGN = ("PYTEST_", "GITHUB_", "GITLAB_", "CI", "PY_COLORS", "FORCE_COLOR", "NO_COLOR")
# Plugins that, where they happen to be installed, change the order or the look of every run.
AS_ALWAYS = ("-p", "no:randomly", "-p", "no:sugar")
# This one breaks a pytest without a terminal, gate or not.
NEEDS_TERMINAL = ("-p", "no:pytest-retry")


@dataclass(frozen=True, kw_only=True)
class Run:
    """One pytest process that ended."""

    code: int
    # Standard output and error, and standard output alone.
    out: str
    stdout: str
    results: Path

    @property
    def verdicts(self) -> list[str]:
        return DECISION.findall(self.out)

    @property
    def verdict(self) -> str | None:
        return self.verdicts[-1] if self.verdicts else None

    @property
    def last(self) -> str:
        return [line for line in self.stdout.splitlines() if line.strip()][-1]

    def evidence(self) -> Any:
        return json.loads((self.results / "evidence.json").read_text("utf-8"))

    def files(self) -> dict[str, bytes]:
        found = sorted(path for path in self.results.rglob("*") if path.is_file())
        return {path.relative_to(self.results).as_posix(): path.read_bytes() for path in found}


class Project:
    """A folder with cases, outputs and a policy, in which pytest is run as a user runs it."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self.results = at / "results"

    def path(self, name: str) -> Path:
        return self.at / name

    def write(self, name: str, text: str) -> Path:
        path = self.at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        return path

    def records(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.at / name).read_text("utf-8").split("\n") if line.strip()]

    def write_records(self, name: str, records: list[dict[str, Any]]) -> Path:
        return self.write(name, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))

    def replace(self, name: str, old: str, new: str, count: int = -1) -> None:
        path = self.at / name
        text = path.read_text("utf-8")
        assert old in text, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new, count), "utf-8", newline="\n")

    def run(
        self,
        *args: str,
        env: dict[str, str] | None = None,
        cwd: str = ".",
        stdin: str | None = None,
        timeout: float = 120,
    ) -> Run:
        """`python -m pytest` with these arguments."""
        cache = [] if "cacheprovider" in args else ["-p", "no:cacheprovider"]
        others = [*AS_ALWAYS, *(NEEDS_TERMINAL if "no:terminal" in args else ())]
        clean = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *others, *cache, *args],
            cwd=self.at / cwd,
            env={**clean, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120", **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
        return Run(code=done.returncode, out=done.stdout + done.stderr, stdout=done.stdout, results=self.results)

    def gate(self, name: str, *args: str, **more: Any) -> Run:
        """The gate on one of the shipped snapshots, by the label."""
        return self.run(f"--release-gate=outputs/{name}.jsonl", *args, **more)

    def gate_results(self, name: str, *args: str, **more: Any) -> Run:
        """The same with results written."""
        return self.gate(name, "--release-gate-results=results", *args, **more)
