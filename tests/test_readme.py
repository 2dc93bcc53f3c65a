"""The README is held true: its commands run and print what it shows, its snippets are the shipped ones or work."""

from __future__ import annotations

import json
import re
import shlex
import tomllib

import pytest

from pytest_release_gate.model import EXIT_CODES

from story import ROOT

TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", TEXT)


def blocks(language: str) -> list[str]:
    return [body for kind, body in BLOCKS if kind == language]


def timeless(text: str) -> str:
    return re.sub(r"in \d+\.\d+s", "in 0.12s", text).strip()


@pytest.mark.parametrize("body", blocks("console"), ids=lambda body: body.split("\n")[0])
def test_commands_print_what_is_shown(expense, body):
    expense.write("pytest.ini", "[pytest]\nrelease_gate_results = results\n")  # as in a clone
    first, _, shown = body.partition("\n")
    assert first.startswith("$ pytest ")
    run = expense.run(*shlex.split(first)[2:], env={"COLUMNS": "100"})

    assert timeless(run.stdout) == timeless(shown)


def test_there_is_a_pass_and_a_block():
    last = [body.strip().split("\n")[-1] for body in blocks("console")]

    assert [re.match(r"release gate: (\w+)", line)[1] for line in last] == ["PASS", "BLOCK"]


def test_the_failed_item_is_real(expense):
    (shown,) = blocks("text")
    run = expense.gate("candidate-v2", "-q", env={"COLUMNS": "100"})

    assert shown.strip() in run.stdout


def test_case_and_output_are_shipped_ones():
    case, output = map(json.loads, blocks("json"))
    lines = {
        name: [json.loads(line) for line in (ROOT / name).read_text("utf-8").split("\n") if line]
        for name in ("cases/cases.jsonl", "outputs/candidate-v3.jsonl")
    }

    assert case in lines["cases/cases.jsonl"]
    assert output in lines["outputs/candidate-v3.jsonl"]
    assert case["case_id"] == output["case_id"]


def test_the_rule_is_a_shipped_one():
    (body,) = blocks("toml")

    assert body.strip() in (ROOT / "policy/gate.toml").read_text("utf-8")
    assert tomllib.loads(body)["rules"]


def test_the_check_of_your_own_counts(expense):
    body = next(body for body in blocks("python") if "says_why" in body)
    expense.write("conftest.py", body)
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "says_why"\n\n[[rules]]', 1)
    assert expense.gate("candidate-v3").verdict == "PASS"

    expense.replace("outputs/candidate-v3.jsonl", '"citations":["ER-2026.09 §3.1"]', '"citations":[]')
    run = expense.gate("candidate-v3")

    assert "says_why: a rejection must cite a rule" in run.out
    assert run.verdict == "BLOCK"


def test_the_library_judges_in_five_lines(expense, monkeypatch, capsys):
    body = next(body for body in blocks("python") if "grade_all" in body)
    assert len([line for line in body.split("\n") if line.strip()]) <= 5
    monkeypatch.chdir(expense.at)
    exec(compile(body, "README.md", "exec"), {})

    assert capsys.readouterr().out == "REVIEW ('candidate-v2: p95 latency 5200 ms > 2500 ms (n=12, simulated)',)\n"


def test_the_exit_codes_are_all_there():
    table = dict(re.findall(r"(?m)^\| (\d+) \| (\w+)", TEXT))

    assert {int(code): word for code, word in table.items() if int(code) in EXIT_CODES.values()} == {
        code: verdict.name for verdict, code in EXIT_CODES.items()
    }
    assert set(table) == {"0", "1", "2", "3", "4", "10", "11", "12"}


def test_two_commands_do_all_the_set_up():
    commands = blocks("sh")

    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && ") and command.count("\n") == 1 for command in commands)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", TEXT))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
