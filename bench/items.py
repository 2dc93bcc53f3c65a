"""What a gate item costs against plain pytest: the same number of each, in turns, medians, and ratios to the first.

    python bench/items.py [--items 10000] [--rounds 3] [--only passing]

Prints CPU seconds, peak memory and ratios; asserts nothing, since machines differ. Only ratios from one run mean
anything; docs/performance.md has the targets and what was measured. The extra `fast` is hidden where a row says "core".
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
GATE = [*PYTEST, "--release-gate=outputs/s.jsonl"]
# A plain test that does as much: reads the same files, holds them against the same schemas, compares five things.
BY_HAND = """\
import json
from pathlib import Path
import jsonschema
import pytest

HERE = Path(__file__).parent
def lines(name): return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
CASES = lines("cases/cases.jsonl")
OUTPUTS = {one["case_id"]: one for one in lines("outputs/s.jsonl")}
CASE, OUTPUT = (jsonschema.Draft202012Validator(json.loads((HERE / "cases" / name).read_text("utf-8")))
                for name in ("case.schema.json", "output.schema.json"))

def included(part, whole):
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and included(value, whole[key]) for key, value in part.items())
    return part == whole

@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case_id"])
def test_case(case):
    output, expected = OUTPUTS[case["case_id"]], case["expected"]
    CASE.validate(case)
    OUTPUT.validate(output)
    made = [call["name"] for call in output["tool_calls"]]
    assert output["decision"] == expected["decision"]
    assert made == ([] if expected["tool_name"] == "none" else [expected["tool_name"]])
    assert not made or included(expected["required_args"], output["tool_calls"][0]["arguments"])
    assert set(expected["required_citations"]) <= set(output["citations"])
    assert not set(made) & set(expected["forbidden_tools"])
"""


def suite(at: Path, count: int, *, fail: bool = False) -> Path:
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
    return at


def functions(at: Path, count: int) -> Path:
    """As many no-op tests of one parametrised function."""
    at.mkdir(parents=True, exist_ok=True)
    text = f"import pytest\n@pytest.mark.parametrize('x', range({count}))\ndef test_it(x):\n    pass\n"
    (at / "test_it.py").write_text(text, "utf-8")
    return at


def measure(command: list[str], cwd: Path, env: dict[str, str], codes: tuple[int, ...]) -> tuple[float, float]:
    """CPU seconds of a command and its children, and the peak memory of the largest of them in MB."""
    process = subprocess.Popen(
        command, cwd=cwd, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise SystemExit(f"{command} in {cwd} ended with {process.returncode}: it measured something else")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Bench:
    """Projects in a temporary folder, and rows that are measured in turns."""

    def __init__(self, work: Path, rounds: int) -> None:
        self.work, self.rounds = work, rounds
        blocked = work / "blocked"
        blocked.mkdir()
        (blocked / "jsonschema_rs.py").write_text("raise ImportError('hidden')\n")
        self.core = {"PYTHONPATH": str(blocked)}

    def compare(self, title: str, rows: dict[str, tuple[list[str], Path, dict[str, str]]], count: int) -> None:
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
        for turn in range(self.rounds):
            for name in list(rows)[:: 1 if turn % 2 == 0 else -1]:
                seen[name].append(measure(*rows[name], codes=(0, 5, 12)))
        middles = {name: [statistics.median(one) for one in zip(*found, strict=True)] for name, found in seen.items()}
        first = next(iter(middles.values()))
        print(title)
        for name, (cpu, peak) in middles.items():
            print(
                f"  {name:28} {cpu:7.2f} s CPU {cpu / first[0]:5.2f} ×  {cpu / count * 1e6:6.0f} µs an item"
                f"  {peak:6.0f} MB {peak / first[1]:5.2f} ×",
                flush=True,
            )

    def passing(self, count: int) -> None:
        plain, gate = functions(self.work / "plain", count), suite(self.work / "gate", count)
        rows = {
            "no-op functions": (PYTEST, plain, {}),
            "gate, core": (GATE, gate, self.core),
            "gate, fast": (GATE, gate, {}),
        }
        self.compare(f"{count} that pass", rows, count)
        only = {name: ([*command, "--collect-only"], cwd, env) for name, (command, cwd, env) in rows.items()}
        self.compare(f"{count}, --collect-only", only, count)

    def failing(self, count: int) -> None:
        good, bad = suite(self.work / "good", count), suite(self.work / "bad", count, fail=True)
        rows = {
            "gate, passing": (GATE, good, {}),
            "gate, failing": (GATE, bad, {}),
            "gate, failing, --tb=no": ([*GATE, "--tb=no"], bad, {}),
        }
        self.compare(f"{count} that fail against as many that pass", rows, count)

    def by_hand(self, count: int) -> None:
        gate = suite(self.work / f"hand-{count}", count)
        (gate / "test_by_hand.py").write_text(BY_HAND, "utf-8")
        rows = {
            "plain pytest, as much": ([*PYTEST, "test_by_hand.py"], gate, {}),
            "gate, core": (GATE, gate, self.core),
            "gate, fast": (GATE, gate, {}),
        }
        self.compare(f"the whole command, {count} cases", rows, count)

    def unused(self) -> None:
        plain = functions(self.work / "one", 1)
        rows = {
            "without the plugin": ([*PYTEST, "-p", "no:release_gate"], plain, {}),
            "installed, not used": (PYTEST, plain, {}),
        }
        rounds, self.rounds = self.rounds, 7 * self.rounds
        self.compare("one test, start-up included", rows, 1)
        self.rounds = rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("passing", "failing", "by_hand", "unused"))
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="bench-"))
    bench = Bench(work, options.rounds)
    steps = {
        "unused": bench.unused,
        "by_hand": lambda: [bench.by_hand(count) for count in (200, 2000)],
        "failing": lambda: bench.failing(max(1, options.items // 10)),
        "passing": lambda: bench.passing(options.items),
    }
    try:
        for name, step in steps.items():
            if options.only in (None, name):
                step()
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
