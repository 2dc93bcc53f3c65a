"""A policy in words, and the schema by which editors complete one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import jsonschema
import pytest

from pytest_release_gate.checks import BUILT_IN
from pytest_release_gate.cli import main
from pytest_release_gate.metrics import METRICS
from pytest_release_gate.policy_schema import policy_schema

from story import ROOT

POLICIES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "policy").rglob("*.toml"))
SHIPPED = json.loads((ROOT / "src/pytest_release_gate/policy.schema.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def here(expense, monkeypatch):
    monkeypatch.chdir(expense.at)


def test_the_default_policy_in_words(capsys):
    assert main(["explain"]) == 0

    said = capsys.readouterr().out
    assert said.startswith("policy/gate.toml: the suite 'expense', version ER-2026.09\n")
    assert "A missing output is refused, a malformed one is refused." in said
    assert "  HOLD unless coverage is at least 1.0000\n" in said
    assert "  BLOCK unless pass rate is at least 0.9000\n" in said
    assert "  REVIEW unless p95 latency is at most 2500 ms\n" in said


def test_what_can_be_said_is_explained(expense, capsys):
    text = expense.path("policy/gate.toml").read_text("utf-8")
    text = text.replace(
        "[[rules]]",
        '[[checks]]\nname = "amount"\nuses = "number_within"\nfield = "a"\nexpected = "a"\n'
        'when = { decision = ["approve"] }\nseverity = "minor"\n\n[[checks]]\nname = "tone"\n\n[[rules]]',
        1,
    )
    text += (
        '\n[[rules]]\nmetric = "findings"\nwhere = { severity = "minor" }\nequals = 0\notherwise = "HOLD"\n'
        "minimum_n = 5\nallow_missing = 2\n"
    )
    expense.write("policy/gate.toml", text.replace('missing_output = "refuse"', 'missing_output = "fail"'))
    assert main(["explain", "policy/gate.toml"]) == 0

    said = capsys.readouterr().out
    assert "  amount (number_within): The field is a number that differs" in said
    assert "With field = 'a', expected = 'a'. Only where the case expects decision = ['approve']." in said
    assert "Its findings are minor." in said
    assert "  tone: a check of the suite's own" in said
    assert "HOLD unless findings where severity=minor is exactly 0 (at least 5 of them, 2 may be missing)" in said
    assert "A missing output counts as a failure (and never a PASS)" in said


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("decision_exact", "decision_exakt", "no check is called 'decision_exakt', did you mean 'decision_exact'?"),
        ("[suite]", "[suite", "policy/gate.toml"),
        ("pass_rate", "pass_rat", "no metric is called 'pass_rat'"),
    ],
)
def test_a_policy_that_can_not_be_used(expense, capsys, old, new, problem):
    expense.replace("policy/gate.toml", old, new)

    assert main(["explain"]) == 4
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["explain", "a", "b"], ["explain", "gone.toml"]])
def test_bad_arguments(arguments, capsys):
    assert main(arguments) == 4
    assert capsys.readouterr().err


def test_help_is_no_error(capsys):
    assert main(["--help"]) == 0
    assert "explain" in capsys.readouterr().out


def test_it_is_a_command(expense):
    command = os.path.join(os.path.dirname(sys.executable), "pytest-release-gate")
    run = subprocess.run([command, "explain"], capture_output=True, text=True, cwd=expense.at, check=True)

    assert "expense" in run.stdout


def test_the_shipped_schema_is_the_one_that_is_made(capsys):
    """After a change: `pytest-release-gate schema > src/pytest_release_gate/policy.schema.json`."""
    assert main(["schema"]) == 0

    made = capsys.readouterr().out
    assert json.loads(made) == policy_schema(BUILT_IN, [*METRICS])
    assert made == (ROOT / "src/pytest_release_gate/policy.schema.json").read_text("utf-8")


@pytest.mark.parametrize("path", POLICIES)
def test_shipped_policies_keep_to_the_schema(path):
    jsonschema.Draft202012Validator.check_schema(SHIPPED)
    jsonschema.Draft202012Validator(SHIPPED).validate(tomllib.loads((ROOT / path).read_text("utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {"suite": {}},
        {"rules": []},
        {"checks": []},
        {"extra": 1},
        {"rules": [{"metric": "pass_rate", "otherwise": "PASS", "at_least": 1}]},
        {"rules": [{"metric": "pass_rate", "otherwise": "BLOCK"}]},
        {"rules": [{"metric": "pass_rate", "otherwise": "BLOCK", "at_least": 1, "at_most": 1}]},
        {"checks": [{"name": "x", "severity": "high"}]},
    ],
    ids=str,
)
def test_the_schema_refuses_what_the_gate_refuses(change):
    document = {**tomllib.loads((ROOT / "policy/gate.toml").read_text("utf-8")), **change}

    assert not jsonschema.Draft202012Validator(SHIPPED).is_valid(document)
