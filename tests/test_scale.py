"""Grading on other engines: what travels can be pickled and is the same on arrival, and so are the results."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_release_gate import reporters
from pytest_release_gate.binding import Bound
from pytest_release_gate.errors import Problem
from pytest_release_gate.pipeline import conclude, grade_all, grade_outputs, load, outputs_of
from pytest_release_gate.schema import compile_schema

from story import AS_ALWAYS, FOREIGN, ROOT

SUITES = {
    "expense": ("policy/gate.toml", "outputs/*.jsonl"),
    "operations": ("policy/operations/gate.toml", "outputs/operations/*.jsonl"),
    "deductions": ("policy/deductions/gate.toml", "outputs/deductions/p*.jsonl"),
}
SCALE = (ROOT / "docs/scale.md").read_text("utf-8")


def loaded(name: str):
    policy, outputs = SUITES[name]
    return load(ROOT / policy, sorted(ROOT.glob(outputs)), root=ROOT)


def written(conclusion):
    return reporters.files_of(conclusion, [""] * len(conclusion.reports))


@pytest.mark.parametrize("name", SUITES)
def test_what_travels_is_the_same_on_arrival(name):
    suite = loaded(name)
    results = grade_all(suite)
    conclusion = conclude(suite, results)

    for thing in (suite, outputs_of(suite), results, conclusion, *conclusion.reports):
        assert pickle.loads(pickle.dumps(thing)) == thing
    assert written(conclude(pickle.loads(pickle.dumps(suite)), pickle.loads(pickle.dumps(results)))) == written(
        conclusion
    )


def test_a_schema_travels_with_its_siblings():
    document = {"type": "object", "properties": {"a": {"$ref": "other.json"}, "b": {"pattern": r"^\d$"}}}
    problems: list[Problem] = []
    schema = compile_schema(document, "x/schema.json", problems, {"other.json": {"type": "integer"}})
    arrived = pickle.loads(pickle.dumps(schema))

    assert arrived == schema
    for value in ({"a": 1, "b": "2"}, {"a": "1"}, {"b": "x"}):
        assert arrived.complaints(value, "f", 1) == schema.complaints(value, "f", 1)
    assert arrived != compile_schema({"type": "object", "required": ["a"]}, "x/schema.json", problems)


def test_a_check_bound_to_other_arguments_is_another():
    assert Bound(len, {"a": 1}) == Bound(len, {"a": 1}) != Bound(len, {"a": 2})


def test_processes_that_share_nothing_come_to_the_same():
    expected, found = {}, {}
    method = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=method) as pool:
        for name in SUITES:
            suite = loaded(name)
            keys = outputs_of(suite)
            parts = pool.map(grade_outputs, [suite] * 3, [keys[start::3] for start in range(3)])
            found[name] = written(conclude(suite, [result for part in parts for result in part]))
            expected[name] = written(conclude(suite, grade_all(suite)))

    assert found == expected
    verdicts = {name: json.loads(files["evidence.json"])["decision"]["verdict"] for name, files in found.items()}
    assert verdicts == {"expense": "BLOCK", "operations": "BLOCK", "deductions": "BLOCK"}


def test_an_output_that_is_not_there_can_not_be_graded():
    with pytest.raises(KeyError):
        grade_outputs(loaded("expense"), [("candidate-v3", "ER-999", 0)])


def shown(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", SCALE)


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra 'scale' is not installed (dask)")
def test_the_code_for_dask_decides_as_pytest_does(expense):
    # A process of its own: what dask warns of, leaves open or logs is no business of this session.
    (code,) = shown("python")
    expense.write("judge.py", code)
    run = subprocess.run(
        [sys.executable, "judge.py"],
        cwd=expense.at,
        capture_output=True,
        text=True,
        timeout=120,
    )
    single = expense.run("--release-gate=outputs", "--release-gate-results=single")
    files = {path.name: path.read_bytes() for path in expense.path("single").iterdir()}

    assert (run.returncode, run.stdout.split("\n")[-2:]) == (single.code, [single.last, ""]), run.stderr
    assert {path.name: path.read_bytes() for path in expense.path("results").iterdir()} == files


@pytest.mark.skipif(importlib.util.find_spec("pytest_split") is None, reason="pytest-split is not installed")
def test_the_jobs_of_the_matrix_decide_as_one_run_does(expense):
    (workflow,) = shown("yaml")
    judge, decide = workflow.split("  decide:\n")
    (script,) = re.findall(r"(?ms)^      - run: \|\n(.*?)^      - uses", judge)
    (merge,) = re.findall(r"(?m)^      - run: (pytest-release-gate merge .*)$", decide)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**clean, "PATH": path, "PYTEST_ADDOPTS": " ".join(AS_ALWAYS)}

    def sh(command: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-ec", command], cwd=expense.at, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()[-1]

    for group in "123":
        code, last = sh(script.replace("${{ matrix.group }}", group))
        assert code == 0, last
    single = expense.run("--release-gate=outputs", "--release-gate-results=single")

    assert sh(merge) == (single.code, single.last)
    files = [{path.name: path.read_bytes() for path in expense.path(name).iterdir()} for name in ("single", "results")]
    assert files[0] == files[1]
