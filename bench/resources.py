"""How long and how much memory reading takes: many lines with a bad last one, one long line, memory against file size.

    python bench/resources.py

Prints figures and ratios; asserts nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

READ = """\
import resource, sys
from pytest_release_gate.jsonl import read_records
data = open(sys.argv[1], "rb").read()
problems = []
records = read_records(data, "x.jsonl", problems)
print(len(records), len(problems), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def line(index: int) -> str:
    call = {"name": "create_reimbursement", "arguments": {"claim_id": f"CLM-{index}", "amount_usd": index / 7}}
    return (
        json.dumps({"case_id": f"C-{index}", "decision": "approve", "tool_calls": [call], "latency_ms": index}) + "\n"
    )


def measure(path: str) -> tuple[int, int, int, float]:
    started = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    records, problems, peak = map(int, run.stdout.split())
    return records, problems, peak, time.perf_counter() - started


def main() -> None:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_text("")
        _, _, empty, _ = measure(str(path))
        rows = []
        for count in (25_000, 50_000, 100_000):
            path.write_text("".join(map(line, range(count))) + '{"torn": ')
            records, problems, peak, seconds = measure(str(path))
            size = path.stat().st_size
            rows.append((count, size, (peak - empty) * 1024))
            print(f"{count:7} lines and a torn one: {records} records, {problems} problem, {seconds:.1f} s")
            print(
                f"        {size / 1e6:.1f} MB on disk, {rows[-1][2] / 1e6:.0f} MB in memory: {rows[-1][2] / size:.1f} ×"
            )
        path.write_text(json.dumps({"case_id": "x", "text": "y" * 20_000_000}) + "\n")
        _, problems, _, seconds = measure(str(path))
        print(f"one line of 20 MB: {problems} problems, {seconds:.1f} s")


if __name__ == "__main__":
    main()
