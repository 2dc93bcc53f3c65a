"""What reading costs: time and peak memory against the size of the file. It measures and prints, it asserts nothing.

python bench/resources.py [--lines 100000] [--megabytes 20]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

LINE = b'{"case_id": "C-%06d", "decision": "approve", "latency_ms": 700, "cost_usd": 0.01, "text": "%s"}\n'


def lines(count: int, *, torn: bool) -> bytes:
    """So many records, the last one cut off in the middle if it is torn."""
    whole = b"".join(LINE % (number, b"x" * 50) for number in range(count))
    return whole[:-40] if torn else whole


def one_line(megabytes: int) -> bytes:
    """One record with one long string."""
    return LINE % (0, b"x" * (megabytes * 1_000_000))


def peak() -> int:
    """The most memory that this process has used so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def measure(name: str, data: bytes) -> None:
    """Read, in a process of its own, and print what it took."""
    from pytest_release_gate.jsonl import read_records

    before = peak()
    problems: list = []
    start = time.perf_counter()
    records = read_records(data, "x.jsonl", problems)
    seconds = time.perf_counter() - start
    more = peak() - before
    megabytes = len(data) / 1e6
    print(
        f"{name}: {megabytes:.1f} MB, {len(records):,} records in {seconds:.2f} s ({megabytes / seconds:.0f} MB/s); "
        f"memory {more / 1e6:.0f} MB above the file itself, {more / len(data):.1f} times its size; "
        f"{'; '.join(str(problem)[:90] for problem in problems) or 'no problem'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    made = {
        "a tenth of the lines": lambda: lines(given.lines // 10, torn=False),
        "all lines": lambda: lines(given.lines, torn=False),
        "all lines, the last one torn": lambda: lines(given.lines, torn=True),
        "one long line": lambda: one_line(given.megabytes),
    }
    if given.only:
        measure(given.only, sys.stdin.buffer.read())
        return
    for name, make in made.items():  # peak memory never falls within a process, so that each has its own
        subprocess.run([sys.executable, *sys.argv, "--only", name], input=make(), check=True)


if __name__ == "__main__":
    main()
