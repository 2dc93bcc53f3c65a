"""A mutation run over the judging modules, sampled: how many small faults in them do their own tests notice?

    pip install cosmic-ray
    python bench/mutate.py [--each 14] [--seed 4]

It mutates a copy in a temporary folder and prints the rate and the survivors as diffs.
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
TESTS = (*MODULES[:-1], "checks_by_data", "real_runs", "wording", "policy", "suite", "trials")
CONFIG = """\
[cosmic-ray]
module-path = [{modules}]
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
    """Keep so many mutants of each module; `|` is left out, since nearly all of them are annotations."""
    chance = random.Random(seed)
    with sqlite3.connect(session) as database:
        kept: list[str] = []
        for (module,) in database.execute("select distinct module_path from mutation_specs order by 1").fetchall():
            order = "operator_name, start_pos_row, start_pos_col, occurrence"
            query = f"select job_id, operator_name from mutation_specs where module_path = ? order by {order}"
            jobs = [job for job, operator in database.execute(query, (module,)) if "BitOr_" not in operator]
            kept += chance.sample(jobs, min(each, len(jobs)))
        for table in ("mutation_specs", "work_items"):
            database.execute(f"delete from {table} where job_id not in ({','.join('?' * len(kept))})", kept)


def report(session: Path) -> None:
    """The rate, and what survived."""
    with sqlite3.connect(session) as database:
        rows = database.execute("select test_outcome, diff from work_results").fetchall()
    survivors = [diff for outcome, diff in rows if str(outcome).upper().endswith("SURVIVED")]
    print("\n".join(survivors))
    print(f"killed {len(rows) - len(survivors)} of {len(rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=14)
    parser.add_argument("--seed", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".ci", ".*_cache", "__pycache__"))
        (copy / "session.toml").write_text(
            CONFIG.format(
                modules=", ".join(f'"src/pytest_release_gate/{name}"' for name in map(path_of, MODULES)),
                copy=copy,
                python=sys.executable,
                tests=" ".join(f"tests/test_{name}.py" for name in TESTS),
            ),
            "utf-8",
        )
        run = [str(Path(sys.executable).with_name("cosmic-ray"))]
        subprocess.run([*run, "init", "session.toml", "session.sqlite"], cwd=copy, check=True)
        sample(copy / "session.sqlite", given.each, given.seed)
        subprocess.run([*run, "exec", "session.toml", "session.sqlite"], cwd=copy, check=True)
        report(copy / "session.sqlite")


if __name__ == "__main__":
    main()
