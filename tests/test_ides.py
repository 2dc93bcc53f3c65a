"""docs/ides.md is held true, and a node id copied from any output runs again."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from xml.etree import ElementTree

import pytest

from story import ROOT, Project, Run

TEXT = (ROOT / "docs/ides.md").read_text("utf-8")
BLOCKS = dict(re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", TEXT))
OWN = "tests/test_own.py"


@pytest.fixture
def own(expense: Project) -> Project:
    """The shipped suites beside a test of the project's own."""
    expense.write(OWN, "def test_own(): pass\n")
    return expense


# ------------------------------------------------------------------------------------------------------ the document


def test_the_setting_of_the_project_is_enough(own):
    own.write("pytest.ini", BLOCKS["ini"])

    run = own.run()
    assert (run.code, run.verdict) == (0, "PASS")
    assert "12 passed" in run.out
    run = own.run(".")
    assert "13 passed" in run.out
    alone = own.run(OWN + "::test_own")
    assert (alone.code, alone.verdict) == (11, "HOLD")
    assert "1 passed" in alone.out


def test_the_setting_for_vs_code_collects_both(own):
    args = json.loads(BLOCKS["json"])["python.testing.pytestArgs"]
    run = own.run("--collect-only", "-q", *args)

    assert run.code == 0
    assert f"{OWN}::test_own" in run.out
    assert sum("cases/cases.jsonl::ER-" in line for line in run.stdout.splitlines()) == 12
    assert f"rootdir: {own.at}\n" in own.run("--collect-only", *args).stdout


def test_the_setting_for_pycharm_runs_both(own):
    run = own.run(str(own.at), *shlex.split(BLOCKS["text"]), "--no-header", "--no-summary", "-q")

    assert (run.code, run.verdict) == (0, "PASS")
    assert "13 passed" in run.out


def test_what_a_part_says_is_what_is_shown(own):
    command, shown = BLOCKS["console"].strip().split("\n")
    run = own.run(*shlex.split(command)[2:])

    assert (run.code, run.last) == (11, shown)


@pytest.mark.parametrize("command", re.findall(r"(?m)^\| [^|]+ \| `pytest ([^`]+)` \|$", TEXT))
def test_every_example_selects_something_and_not_everything(own, command):
    args = shlex.split(command)
    if "--lf" in args:
        own.run("-p", "cacheprovider", *args[:-1])
    run = own.run("-p", "cacheprovider", *args)

    assert re.search(r"(?m)^=.* [1-9]\d* (passed|failed)", run.out)
    assert (run.code, run.verdict) == (11, "HOLD")


def test_the_readme_leads_here():
    assert "](docs/ides.md)" in (ROOT / "README.md").read_text("utf-8")


# -------------------------------------------------------------------------------------------- an id from any output

HOSTILE = {
    "ANSI": "\x1b[31mred",
    "line feed": "first\nsecond",
    "separators": "a[b]::c",
    "a command": "::error::y",
    "backslashes": "a\\x5bb\\",
    "quotes": 'it\'s "so" $HOME `id`',
    "blanks": "  two  ",
    "dashes": "a - b -- c",
    "letters": "Größe § 3.1 審査 ✓",
    "markup": "<a href='x'>&amp;]]>",
    "brackets": "{a} (b) *?",
    "lone surrogate": "half \ud83d",
    "separator": "a\u2028b\x00c",
    "path": "../../etc/passwd",
    "a dash first": "-k",
    "at first": "@file",
    "long": "M" * 5_000,
}


def hostile(project: Project) -> None:
    """Case ids that something on the way of a node id would like to break; each output is wrong."""
    for name in ("cases/case.schema.json", "cases/output.schema.json"):
        schema = json.loads(project.path(name).read_text("utf-8"))
        schema["properties"]["case_id"] = {"type": "string"}
        project.write(name, json.dumps(schema))
    case, output = project.records("cases/cases.jsonl")[0], project.records("outputs/candidate-v3.jsonl")[0]
    for name, record in (("cases/cases.jsonl", case), ("outputs/candidate-v3.jsonl", {**output, "decision": "reject"})):
        lines = [json.dumps({**record, "case_id": text}) + "\n" for text in HOSTILE.values()]
        project.write(name, "".join(lines))


def from_short_summary(run: Run, project: Project) -> set[str]:
    return {
        re.sub(r" - (expected|missing) .*", "", line)
        for line in re.findall(r"(?m)^(?:PASSED|FAILED) (.*)$", run.stdout)
    }


def from_headings(run: Run, project: Project) -> set[str]:
    return {f"cases/cases.jsonl::{name}" for name in re.findall(r"(?m)^_+ (.*\[candidate-v\d\]) _+$", run.stdout)}


def from_junit(run: Run, project: Project) -> set[str]:
    cases = ElementTree.parse(project.path("junit.xml")).getroot().iter("testcase")
    return {f"cases/cases.jsonl::{case.get('name')}" for case in cases}


def from_json_report(run: Run, project: Project) -> set[str]:
    return {test["nodeid"] for test in json.loads(project.path("report.json").read_text("utf-8"))["tests"]}


def from_collect_only(run: Run, project: Project) -> set[str]:
    listed = project.run(f"--release-gate={next(project.path('outputs').glob('*.jsonl'))}", "--collect-only", "-q")
    return {line for line in listed.stdout.split("\n") if "::" in line}


SOURCES = [from_short_summary, from_headings, from_junit, from_json_report, from_collect_only]


@pytest.fixture(scope="module", params=["shipped", "hostile"])
def ran(request, tmp_path_factory) -> tuple[Project, Run, int]:
    """A project with one snapshot, a run in which everything that can carry an id was written, and the count."""
    project = Project(tmp_path_factory.mktemp("ids"))
    for name in ("cases", "policy"):
        shutil.copytree(ROOT / name, project.at / name)
    label, count = ("candidate-v2", 12) if request.param == "shipped" else ("candidate-v3", len(HOSTILE))
    project.path("outputs").mkdir()
    shutil.copy(ROOT / f"outputs/{label}.jsonl", project.path("outputs"))
    project.write("pytest.ini", "[pytest]\n")
    if request.param == "hostile":
        hostile(project)
    else:
        project.replace("outputs/candidate-v2.jsonl", '"approve"', '"reject"')
    written = ("--junitxml=junit.xml", "--json-report", "--json-report-file=report.json")
    return project, project.gate(label, "-rA", *written), count


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_an_id_copied_from_any_output_runs_again(ran, source):
    project, run, count = ran
    ids = sorted(source(run, project))
    gate = f"--release-gate=outputs/{next(project.path('outputs').glob('*.jsonl')).name}"

    if source is not from_headings:  # only what failed has one
        assert len(ids) == count
    assert ids
    again = project.run(gate, "--json-report", "--json-report-file=again.json", *ids)
    ran_again = {test["nodeid"] for test in json.loads(project.path("again.json").read_text("utf-8"))["tests"]}
    assert ran_again == set(ids)
    assert again.verdict in ("HOLD", "BLOCK")
    one = project.run(gate, ids[len(ids) // 2])
    assert re.search(r"1 (passed|failed) in", one.out)


# -------------------------------------------------------------------------------------------------------- the options


def test_help_is_one_group_with_a_sentence_and_an_example_for_each_option(own):
    shown = own.run("--help", env={"COLUMNS": "200"}).stdout
    group = re.findall(r"(?ms)^release gate: .*?(?=^\S|\Z)", shown)
    assert len(group) == 1
    options = re.split(r"(?m)^  (?=--)", group[0])[1:]
    names = [option.split("=")[0].split(" ")[0].strip() for option in options]

    assert "--release-gate" in names
    assert names == sorted(set(names), key=names.index)
    assert set(re.findall(r"--release-gate[\w-]*", shown)) == set(names)
    for name, option in zip(names, options, strict=True):
        words = " ".join(option.split())
        sentence, colon, example = words.rpartition(": ")
        assert colon, words
        assert re.search(r"^\S+ [A-Z]", sentence), words
        assert ". " not in sentence, words
        assert example == name or example.startswith(f"{name}="), words
