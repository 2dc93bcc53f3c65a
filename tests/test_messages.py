"""docs/messages.md is complete and true: all messages of the source, each with a remedy, each provoked by a test."""

from __future__ import annotations

import json

import pytest

from messages import PAGE, PARTS, WHERE, Message, messages, page, provoked_by, sources
from pytest_release_gate import PolicyError, SuiteError, load
from pytest_release_gate.cli import main
from pytest_release_gate.errors import Problem
from pytest_release_gate.jsonl import read_records
from pytest_release_gate.reporters.remarks import remarks
from pytest_release_gate.schema import compile_schema
from test_policy import CHECKS, HEAD, RULES, refused

from build import result
from story import Project

FOUND = messages()


def test_the_page_is_what_the_source_says():
    assert PAGE.read_text("utf-8") == page()


def test_every_module_that_has_messages_has_a_place_on_the_page():
    known = {name for modules in WHERE.values() for name in modules.split()}

    assert {one.module for one in FOUND} - {"wording"} <= known


@pytest.mark.parametrize("one", FOUND, ids=lambda one: f"{one.module}: {one.text[:60]}")
def test_a_message_says_what_to_do(one):
    assert one.remedy or one.text.startswith(PARTS)


TEXTS = sources()


@pytest.mark.parametrize("one", FOUND, ids=lambda one: f"{one.module}: {one.text[:60]}")
def test_a_test_provokes_the_message(one):
    here = any(
        one.text.startswith(said) or said in one.text for said in (*POLICIES.values(), *SESSIONS.values(), *HERE)
    )

    assert here or provoked_by(one, TEXTS) or one.text.startswith(PARTS)


def test_a_message_that_nobody_provokes_is_noticed():
    assert provoked_by(Message(text="the moon is … today; wait", module="x"), TEXTS) == []


# What no other test has word for word, provoked here: what is added to a policy → what is said of it.
POLICIES = {
    "documents = 3": "'documents' of [suite] must map versions to files",
    'documents = { V1 = "" }': "'documents' of [suite] must map versions to files",
    "[selftest]\nequivalent = 3": "'equivalent' of [selftest] must be a list of strings",
    "[evidence]\ntrials = 2\nvalid_trials = 3": "'valid_trials' of [evidence] must be at most the",
    RULES + "where = { bucket = 3 }": "in 'where' must be a string or a list",
}


@pytest.mark.parametrize(("more", "said"), POLICIES.items(), ids=POLICIES.values())
def test_of_a_policy(more, said):
    (problem,) = refused(f"{HEAD}{more}\n{CHECKS}{RULES}")

    assert said in problem


# How a session is broken: a conftest.py, or options → what is said.
SESSIONS = {
    "def pytest_release_gate_checks(): return 3\n": "pytest_release_gate_checks must return a mapping of name to check",
    "raise SystemExit(0)\n": "a conftest.py or a plugin called sys.exit(",
    "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_cmdline_main(): raise SystemExit(0)\n": (
        "the session ended before anything was judged"
    ),
    "def pytest_runtest_teardown(): raise ValueError('x')\n": " failed; see its error",
    "def pytest_runtest_logfinish(): raise ValueError('x')\n": "pytest broke with an internal error, shown above",
    "def pytest_sessionfinish(): raise ValueError('x')\n": "another plugin broke the end of the session (",
}


@pytest.mark.parametrize(("conftest", "said"), SESSIONS.items(), ids=SESSIONS.values())
def test_of_a_session(expense: Project, conftest, said):
    expense.write("conftest.py", conftest)
    run = expense.gate("candidate-v3")

    assert said in run.out
    assert run.verdict != "PASS"
    assert run.code != 0


HERE = (
    "the run has not finished; if it should have, it died",
    "must be text that names the version of the policy",
    "no policy for …; write one there",
    "has a string without an end (it begins at column",
    ": another judge than on the lines before",
    "has a result for",
    "is nested too deeply for a schema",
    "a worker read other files for",
    "is a path for pytest, not a snapshot to judge",
    "a snapshot can't be called",
    "the run of the agent was lost to infrastructure trouble",
    "no check applied to this output",
)


def test_of_options_and_files(expense: Project):
    policy, good = expense.path("policy/gate.toml"), expense.path("outputs/candidate-v3.jsonl")
    stray = expense.run("--release-gate=outputs/candidate-v3.jsonl", "outputs/candidate-v2.jsonl")
    assert "outputs/candidate-v2.jsonl: is a path for pytest, not a snapshot to judge" in stray.out.replace(
        str(expense.at) + "/", ""
    )
    expense.write("outputs/other/x.jsonl", "{}\n")
    assert "no policy for " in expense.gate("other/x").out
    named = expense.write("outputs/summary.jsonl", good.read_text("utf-8"))
    with pytest.raises(PolicyError, match="a snapshot can't be called 'summary': rename the file"):
        load(policy, [named], root=expense.at)
    versions = policy.read_text("utf-8").replace("[suite]", '[suite]\ncase_version = "input.version"', 1)
    expense.write("policy/gate.toml", versions)
    with pytest.raises(SuiteError, match=r"input\.version: must be text that names the version of the policy"):
        load(policy, [good], root=expense.at)


def test_of_outputs_that_nobody_can_judge():
    lost, idle = result("A", "", infra="timeout"), result("B", "s")

    assert remarks(lost)[0].message == "the run of the agent was lost to infrastructure trouble: timeout"
    assert remarks(idle)[0].message.startswith("no check applied to this output, so nobody knows whether it is right")


def test_of_records_and_schemas():
    problems: list[Problem] = []
    read_records(b'{"a": "b\n', "f", problems)
    deep: dict = {"type": "object", "required": ["a"]}
    for _ in range(120):
        deep = {"type": "object", "required": ["a"], "properties": {"a": deep}}
    compile_schema(deep, "s.json", problems)

    said = " ".join(problem.message for problem in problems)
    assert "is nested too deeply for a schema; split it with $defs" in said
    torn: list[Problem] = []
    read_records(b'{"a": "b\n{"a": 1}\n', "f", torn)
    assert "ends in the middle of a value: a record stands on one line, whole" in torn[0].message


def test_of_files_that_change_while_workers_read_them(expense: Project):
    expense.write(
        "conftest.py",
        "import pathlib\n"
        "def pytest_configure_node(node):\n"
        "    path = pathlib.Path('outputs/candidate-v3.jsonl')\n"
        "    path.write_text(path.read_text('utf-8') + '\\n', 'utf-8')\n",
    )
    run = expense.gate("candidate-v3", "-n2")

    assert run.verdict == "HOLD"
    assert "a worker read other files for policy/gate.toml than this process; run again on files at rest" in run.last


def test_the_first_lines_of_a_part_that_says_too_much(expense: Project, monkeypatch, capsys):
    expense.gate_results("candidate-v3")
    evidence = expense.path("results/evidence.json")
    document = json.loads(evidence.read_text("utf-8"))
    document["snapshots"][0]["results"].append(document["snapshots"][0]["results"][0])
    expense.write("part/evidence.json", json.dumps(document))
    monkeypatch.chdir(expense.at)

    assert main(["merge", "part"]) == 11
    assert "has a result for ER-001[candidate-v3], twice; run this part again" in capsys.readouterr().out
