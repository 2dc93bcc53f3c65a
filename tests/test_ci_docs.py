"""docs/ci.md and the workflow are held true: the shell in them is run, the YAML is read as a CI service reads it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from story import FOREIGN, ROOT, Project

DOCS = (ROOT / "docs/ci.md").read_text("utf-8")
WORKFLOW = (ROOT / ".github/workflows/release-gate.yml").read_text("utf-8")
OWN_ACTIONS = {"actions/checkout", "actions/setup-python", "actions/upload-artifact"}
ENDINGS = [
    ("candidate-v3", {}, 0, "PASS"),
    ("candidate-v2", {}, 10, "REVIEW"),
    ("candidate-v3", {"PYTEST_ADDOPTS": "-k ER-001"}, 11, "HOLD"),
    ("baseline-v1", {}, 12, "BLOCK"),
    ("nothing", {}, 4, None),
]


def snippet(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)^```$", DOCS, re.DOTALL | re.MULTILINE)
    assert found, name
    return found[1]


def bash(project: Project, script: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script where `pytest` is the one that runs this test."""
    project.write("bin/pytest", f'#!/bin/sh\nexec "{sys.executable}" -m pytest -p no:cacheprovider "$@"\n').chmod(0o755)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    path = f"{project.path('bin')}{os.pathsep}{clean['PATH']}"
    return subprocess.run(
        ["bash", "-c", script, "bash", *args],
        cwd=project.at,
        env={**clean, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1", **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


def read(text: str):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(text)


@pytest.mark.parametrize(("label", "env", "code", "verdict"), ENDINGS)
def test_the_shell_snippet_ends_as_the_gate_does(expense, label, env, code, verdict):
    done = bash(expense, snippet("shell"), f"outputs/{label}.jsonl", **env)

    assert done.returncode == code
    last = done.stdout.strip().split("\n")[-1]
    assert last.startswith(f"{verdict}: " if verdict else f"pytest ended with {code}")
    if verdict:
        assert f"release gate: {verdict}: " in expense.path("gate.log").read_text("utf-8")


def test_without_pipefail_it_would_not(expense):
    script = snippet("shell").replace("pipefail", "posix")

    assert bash(expense, script, "outputs/baseline-v1.jsonl").returncode == 0


@pytest.mark.parametrize(("label", "env", "code", "verdict"), ENDINGS)
def test_the_workflow_step_tells_the_verdict_or_fails(expense, label, env, code, verdict):
    (step,) = (step for step in read(WORKFLOW)["jobs"]["judge"]["steps"] if step.get("id") == "gate")
    done = bash(expense, step["run"], SNAPSHOT=f"outputs/{label}.jsonl", GITHUB_OUTPUT="output", **env)
    said = expense.path("output").read_text("utf-8") if expense.path("output").exists() else ""

    goes_on = verdict in ("PASS", "REVIEW")
    assert done.returncode == (0 if goes_on else code)
    assert said == (f"verdict={verdict}\n" if goes_on else "")


@pytest.mark.parametrize(("label", "env", "code", "verdict"), ENDINGS)
def test_the_gitlab_job_ends_as_the_gate_does(expense, label, env, code, verdict):
    script = read(snippet("gitlab"))["judge"]["script"][-1].replace("outputs/candidate-v3", f"outputs/{label}")
    done = bash(expense, script, **env)

    assert done.returncode == code
    assert expense.path("gate.env").read_text("utf-8") == f"RELEASE_GATE_CODE={code}\n"


def test_the_workflow_in_the_documentation_is_the_one_that_runs():
    assert snippet("github") == WORKFLOW


def test_the_workflow_uses_githubs_own_actions_only_and_no_secrets():
    workflow = read(WORKFLOW)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]

    assert {step["uses"].partition("@")[0] for step in steps if "uses" in step} == OWN_ACTIONS
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in WORKFLOW
    # What a pull request can name must not become shell.
    assert not any("${{" in step.get("run", "") for step in steps)


def test_a_review_waits_for_the_environment_and_a_block_goes_nowhere():
    jobs = read(WORKFLOW)["jobs"]

    assert jobs["ask"]["environment"] == "release-review"
    assert jobs["ask"]["if"] == "needs.judge.outputs.verdict == 'REVIEW'"
    assert set(jobs["ship"]["needs"]) == {"judge", "ask"}
    # The condition as Python reads it, over everything that can come before.
    condition = jobs["ship"]["if"].replace("!cancelled()", "True").replace("&&", "and").replace("||", "or")
    names = {
        "needs.judge.result": "judged",
        "needs.judge.outputs.verdict": "verdict",
        "needs.ask.result": "asked",
    }
    for old, new in names.items():
        condition = condition.replace(old, new)
    ends = ("success", "failure", "cancelled", "skipped")
    shipped = {
        (judged, verdict, asked)
        for judged in ends
        for verdict in ("PASS", "REVIEW", "HOLD", "BLOCK", "")
        for asked in ends
        if eval(condition, {}, {"judged": judged, "verdict": verdict, "asked": asked})
    }
    assert shipped == {("success", "PASS", "skipped"), ("success", "REVIEW", "success")}


def test_gitlab_ships_by_itself_only_after_a_pass(expense):
    jobs = read(snippet("gitlab"))
    reports = jobs["judge"]["artifacts"]["reports"]

    assert jobs["judge"]["allow_failure"] == jobs["ship"]["allow_failure"] == {"exit_codes": [10]}
    assert set(reports) == {"junit", "codequality", "dotenv"}
    asked = jobs["ship after review"]
    assert (asked["when"], asked["environment"]) == ("manual", "release-review")
    for job, wanted in (("ship", {"0": 0, "10": 10, "": 10}), ("ship after review", {"0": 1, "10": 0, "": 1})):
        script = "set -e\n" + "\n".join(jobs[job]["script"])
        ended = {code: bash(expense, script, RELEASE_GATE_CODE=code).returncode for code in wanted}
        assert ended == wanted


def test_every_command_has_the_option_in_its_safe_form():
    for text in (DOCS, WORKFLOW):
        commands = [line for line in text.split("\n") if re.search(r"\bpytest .*--release-gate", line)]
        assert commands
        assert not [line for line in commands if re.search(r"--release-gate(-\w+)*\s+[^|]", line)]


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", DOCS))
def test_links_lead_somewhere(link):
    assert (ROOT / "docs" / link).exists()
