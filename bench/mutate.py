"""A mutation run over the judging modules, sampled: how many small faults in them do their own tests notice?

    pip install cosmic-ray
    python bench/mutate.py [--each 14] [--seed 4] [MODULE ...]

It mutates a copy in a temporary folder and prints, for each module, the survivors as diffs and the rate.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = ("jsonl", "matching", "checks", "metrics", "gate", "contract", "suite")
# The tables of these modules; those that start processes last, since most mutants are noticed before.
TESTS = (*MODULES[:-1], "real_runs", "wording", "policy", "suite", "checks_by_data", "trials", "judged", "power")
CONFIG = """\
[cosmic-ray]
module-path = ["src/pytest_release_gate/{path}"]
timeout = 150.0
excluded-modules = []
test-command = "env PYTHONPATH={copy}/src {python} -m pytest -x -q -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def path_of(module: str) -> str:
    """A module is a file, or a folder of them."""
    return module if (ROOT / "src/pytest_release_gate" / module).is_dir() else f"{module}.py"


def sample(session: Path, each: int, seed: int) -> None:
    """Keep so many mutants; `|` is left out, since nearly all of them are annotations."""
    with sqlite3.connect(session) as database:
        order = "module_path, operator_name, start_pos_row, start_pos_col, occurrence"
        query = f"select job_id, operator_name from mutation_specs order by {order}"
        jobs = [job for job, operator in database.execute(query) if "BitOr_" not in operator]
        kept = random.Random(seed).sample(jobs, min(each, len(jobs)))
        for table in ("mutation_specs", "work_items"):
            database.execute(f"delete from {table} where job_id not in ({','.join('?' * len(kept))})", kept)


def outcomes(session: Path) -> tuple[int, int, list[str]]:
    """How many were killed, of how many, and the diffs of those that survived."""
    with sqlite3.connect(session) as database:
        rows = database.execute("select test_outcome, diff from work_results").fetchall()
    survivors = [diff for outcome, diff in rows if str(outcome).upper().endswith("SURVIVED")]
    return len(rows) - len(survivors), len(rows), survivors


def run(module: str, each: int, seed: int) -> tuple[int, int]:
    """Mutate one module in a copy, its own tests first; print what survived."""
    cosmic_ray = str(Path(sys.executable).with_name("cosmic-ray"))
    tests = sorted(TESTS, key=lambda name: name != module)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".ci", ".*_cache", "__pycache__"))
        config = CONFIG.format(
            path=path_of(module),
            copy=copy,
            python=sys.executable,
            tests=" ".join(f"tests/test_{name}.py" for name in tests),
        )
        (copy / "session.toml").write_text(config, "utf-8")
        subprocess.run([cosmic_ray, "init", "session.toml", "session.sqlite"], cwd=copy, check=True)
        sample(copy / "session.sqlite", each, seed)
        subprocess.run([cosmic_ray, "exec", "session.toml", "session.sqlite"], cwd=copy, check=True)
        killed, of, survivors = outcomes(copy / "session.sqlite")
    print("\n".join(survivors))
    print(f"{module}: killed {killed} of {of}", flush=True)
    return killed, of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=14)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE", help=" ".join(MODULES))
    given = parser.parse_args()
    counts = [run(module, given.each, given.seed) for module in given.modules]
    print(f"killed {sum(killed for killed, _ in counts)} of {sum(of for _, of in counts)}")


if __name__ == "__main__":
    main()
