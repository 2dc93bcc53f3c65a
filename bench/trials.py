"""Trials in numbers: whether reading, grading and concluding cases × 3 trials stays linear.

    python bench/trials.py [--cases 10000]

It prints CPU seconds and microseconds an output for a tenth, a half and all of the cases; linear means that the last
column stays the same. Only ratios from one run mean anything.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from pathlib import Path

from pytest_release_gate import conclude, grade_all, load

TRIALS = 3
POLICY = f"""\
[suite]
name = "bench"
cases = "cases.jsonl"
case_schema = "schema.json"
output_schema = "schema.json"
[evidence]
trials = {TRIALS}
[[checks]]
name = "decision_exact"
[[checks]]
name = "tool_calls_match"
[[rules]]
metric = "pass_hat_3"
at_least = 0.9
otherwise = "BLOCK"
[[rules]]
metric = "pass_hat_2"
where = {{ bucket = "b1" }}
at_least = 0.9
otherwise = "REVIEW"
"""


def write(folder: Path, cases: int) -> None:
    call = {"name": "pay", "arguments": {"amount": 1}}
    with (folder / "cases.jsonl").open("w") as file, (folder / "s.jsonl").open("w") as outputs:
        for n in range(cases):
            case = {"case_id": f"C{n:06}", "severity": "major", "bucket": f"b{n % 7}"}
            file.write(json.dumps({**case, "expected": {"decision": "yes", "tool_calls": [call]}}) + "\n")
            for trial in range(TRIALS):
                # One case in thirty is flaky.
                said = "no" if n % 30 == 0 and trial == 1 else "yes"
                line = {"case_id": case["case_id"], "trial": trial, "decision": said, "tool_calls": [call]}
                outputs.write(json.dumps({**line, "latency_ms": n % 900, "cost_usd": 0.01}) + "\n")
    (folder / "schema.json").write_text('{"type": "object", "required": ["case_id"]}')
    (folder / "gate.toml").write_text(POLICY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    given = parser.parse_args()
    print(f"{'cases × 3':>10}  {'load s':>7}  {'grade s':>7}  {'conclude s':>10}  {'µs an output':>12}")
    for cases in (given.cases // 10, given.cases // 2, given.cases):
        with tempfile.TemporaryDirectory() as place:
            write(Path(place), cases)
            marks = [time.process_time()]
            suite = load(Path(place) / "gate.toml", [Path(place) / "s.jsonl"], root=place)
            marks.append(time.process_time())
            results = grade_all(suite)
            marks.append(time.process_time())
            conclude(suite, results)
            marks.append(time.process_time())
        steps = [after - before for before, after in itertools.pairwise(marks)]
        each = sum(steps) / (cases * TRIALS) * 1e6
        print(f"{cases:>10}  {steps[0]:>7.2f}  {steps[1]:>7.2f}  {steps[2]:>10.2f}  {each:>12.0f}")


if __name__ == "__main__":
    main()
