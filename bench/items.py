"""What a gate item costs against a parametrised no-op test: the same number of each, in turns, CPU time and ratios.

    python bench/items.py [--items 2000] [--rounds 3]

Prints medians and ratios; asserts nothing, since machines differ. Only ratios from one run mean anything.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def suite(at: Path, count: int, *, fail: bool) -> None:
    """The expense suite with many cases: copies of the shipped ones under new ids."""
    for name in ("cases", "outputs", "policy"):
        (at / name).mkdir(parents=True, exist_ok=True)
    for name in ("cases/case.schema.json", "cases/output.schema.json", "policy/gate.toml", "policy/POLICY.md"):
        text = (ROOT / name).read_text("utf-8")
        text = text.replace("^ER-[0-9]{3}$", "^ER-[0-9]{6}$").replace('"maxLength": 6', '"maxLength": 9')
        (at / name).write_text(text, "utf-8")
    for source, target in (
        ("cases/cases.jsonl", "cases/cases.jsonl"),
        ("outputs/candidate-v3.jsonl", "outputs/s.jsonl"),
    ):
        lines = [json.loads(line) for line in (ROOT / source).read_text("utf-8").split("\n") if line]
        with (at / target).open("w", encoding="utf-8") as file:
            for index in range(count):
                record = {**lines[index % len(lines)], "case_id": f"ER-{index:06}"}
                if fail and "decision" in record:
                    record["decision"] = "approve" if record["decision"] != "approve" else "reject"
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def functions(at: Path, count: int, *, fail: bool) -> None:
    at.mkdir(parents=True, exist_ok=True)
    body = "    assert not x >= 0" if fail else "    pass"
    text = f"import pytest\n@pytest.mark.parametrize('x', range({count}))\ndef test_it(x):\n{body}\n"
    (at / "test_it.py").write_text(text, "utf-8")


def cpu(command: list[str], cwd: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(title: str, commands: dict[str, tuple[list[str], Path]], rounds: int, count: int) -> None:
    """Run the commands in turns and print each one's median and its ratio to the first."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, cwd) in commands.items():
            times[name].append(cpu(command, cwd))
    first = statistics.median(next(iter(times.values())))
    print(title)
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"  {name:24} {middle:7.2f} s CPU  {middle / count * 1e6:8.0f} µs an item  {middle / first:5.2f} ×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="bench-"))
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    gate = [*pytest, "--release-gate=outputs/s.jsonl"]
    few = max(1, options.items // 10)
    try:
        suite(work / "gate", options.items, fail=False)
        functions(work / "plain", options.items, fail=False)
        suite(work / "gate-fail", few, fail=True)
        functions(work / "plain-fail", few, fail=True)
        passing = {"no-op functions": (pytest, work / "plain"), "gate items": (gate, work / "gate")}
        compare(f"{options.items} that pass", passing, options.rounds, options.items)
        collect = {name: ([*command, "--collect-only"], cwd) for name, (command, cwd) in passing.items()}
        compare(f"{options.items}, --collect-only", collect, options.rounds, options.items)
        failing = {"failing functions": (pytest, work / "plain-fail"), "failing gate items": (gate, work / "gate-fail")}
        compare(f"{few} that fail", failing, options.rounds, few)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
