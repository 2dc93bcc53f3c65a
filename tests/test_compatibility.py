"""What pytest's own options and other plugins do to a decision; docs/compatibility.md is written from what is seen.

python tests/test_compatibility.py          # runs every row and writes the page anew
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from story import ROOT, Project, Run

PAGE = ROOT / "docs/compatibility.md"
GOOD, BAD = "candidate-v3", "baseline-v1"
# Nothing but us, and what a row names: what is installed elsewhere must not change what is seen here.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
CASES = "cases/cases.jsonl"


@dataclass(frozen=True)
class Row:
    """Options, the plugin that they need (its package and module), and whether a run goes before it."""

    args: tuple[str, ...]
    package: str = "pytest"
    module: str = ""
    again: bool = False

    @property
    def shown(self) -> str:
        return " ".join(self.args) or "(installed)"


def with_xdist(*args: str) -> Row:
    return Row(args, "pytest-xdist", "xdist.plugin")


ROWS = [
    Row(("-k", "ER-001")),
    Row(("-m", "critical")),
    Row(("-m", "release_gate")),
    Row((f"{CASES}::ER-004[{BAD}]", f"{CASES}::ER-001[{GOOD}]")),
    Row((f"--deselect={CASES}::ER-001[{GOOD}]",)),
    Row(("--lf",), again=True),
    Row(("--ff",), again=True),
    Row(("--nf",), again=True),
    Row(("--sw",), again=True),
    Row(("-x",)),
    Row(("--maxfail=1",)),
    Row(("--maxfail=9",)),
    Row(("-p", "no:terminal")),
    Row(("-q", "--no-header", "--no-summary", "--tb=no")),
    with_xdist("-n2"),
    with_xdist("-nauto"),
    *(
        with_xdist("-n2", f"--dist={how}")
        for how in ("load", "loadscope", "loadfile", "loadgroup", "worksteal", "each")
    ),
    Row((), "pytest-randomly", "pytest_randomly"),
    Row(("--reruns=1",), "pytest-rerunfailures", "pytest_rerunfailures"),
    Row(("--retries=1",), "pytest-retry", "pytest_retry.retry_plugin"),
    Row(("--timeout=60",), "pytest-timeout", "pytest_timeout"),
    Row(("--cov=cases",), "pytest-cov", "pytest_cov.plugin"),
    Row(("--html=report.html",), "pytest-html", "pytest_html.plugin"),
    Row((), "pytest-sugar", "pytest_sugar"),
    Row(("--splits=2", "--group=1"), "pytest-split", "pytest_split.plugin"),
    Row(("--splits=1", "--group=1"), "pytest-split", "pytest_split.plugin"),
]
# What other modules a plugin's own registration would have brought.
MORE = {"pytest_html.plugin": ["-p", "pytest_metadata.plugin", "-p", "pytest_html.fixtures"]}


def run(row: Row, project: Project, label: str) -> Run:
    """The gate on one snapshot with the row's options."""
    # Of node ids only those of this snapshot: the other's items are not there, and pytest would complain.
    args = [one for one in row.args if not (one.startswith(CASES) and not one.endswith(f"[{label}]"))]
    plugins = ["-p", "pytest_release_gate.plugin"]
    plugins += ["-p", row.module, *MORE.get(row.module, [])] if row.module else []
    cache = ["-p", "cacheprovider"] if row.again else []
    if row.again:
        project.gate_results(label, *plugins, *cache, env=ALONE)
    return project.gate_results(label, *plugins, *cache, *args, env=ALONE)


def plain(project: Project, label: str) -> Run:
    return project.gate_results(label, "-p", "pytest_release_gate.plugin", env=ALONE)


def seen(row: Row, fresh) -> tuple[str, list[tuple[Run, bool]]]:
    """The row's line, and both runs, each with whether its results are those of a plain run."""
    runs = []
    for label in (GOOD, BAD):
        project = fresh()
        wanted = plain(project, label)
        shutil.rmtree(project.results)
        found = run(row, project, label)
        runs.append((found, found.files() == wanted.files() and (found.code, found.last) == (wanted.code, wanted.last)))
    cells = [f"{one.verdict}, {one.code}" + ("" if whole else "; a part") for one, whole in runs]
    package = f" ({row.package})" if row.package != "pytest" else ""
    return f"| `{row.shown}`{package} | {' | '.join(cells)} |", runs


def installed(row: Row) -> bool:
    return not row.module or importlib.util.find_spec(row.module.partition(".")[0]) is not None


@pytest.fixture
def fresh(tmp_path_factory, expense):
    def make() -> Project:
        at = tmp_path_factory.mktemp("project") / "p"
        shutil.copytree(expense.at, at)
        return Project(at)

    return make


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.package} {row.shown}")
def test_the_page_says_what_is_seen(row, fresh):
    if not installed(row):
        pytest.skip(f"{row.package} is not installed; it is part of the extra compat")
    line, runs = seen(row, fresh)

    assert line in PAGE.read_text("utf-8").splitlines()
    for found, whole in runs:
        assert len(found.verdicts) == 1
        if not whole:
            assert found.verdict in ("HOLD", "BLOCK")
            assert found.code in (11, 12, 2)  # 2: pytest itself was interrupted, by --sw
        if found.verdict == "HOLD":
            assert "a part of the evidence decides nothing: run them all" in found.last


def test_the_page_has_every_row_and_no_other():
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]

    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert line.startswith(f"| `{row.shown}`")


HEAD = f"""\
# With pytest's options and other plugins

Each row was run on two shipped snapshots: `{GOOD}`, which passes, and `{BAD}`, which has failures, two of
them critical. A cell has the decision and the exit code. Where nothing else stands in it, the run was complete: the
same decision, the same last line and the same results files, byte for byte, as of a plain run. *A part* is HOLD with a
sentence that says so, whatever passed, and how to run the rest; or BLOCK, if what was run proves as much. (With `--sw`
pytest interrupts itself, and its own exit code stands.)

This page is written by the test that runs these rows, `python tests/test_compatibility.py`, with the plugins of the
extra `compat`.

| with | {GOOD} | {BAD} |
| --- | --- | --- |
"""


def main() -> None:
    """Run every row and write the page."""
    with tempfile.TemporaryDirectory() as place:
        count = 0

        def make() -> Project:
            nonlocal count
            count += 1
            at = Path(place) / str(count)
            for name in ("cases", "outputs", "policy"):
                shutil.copytree(ROOT / name, at / name)
            project = Project(at)
            project.write("pytest.ini", "[pytest]\naddopts = --strict-markers --strict-config\n")
            return project

        lacking = sorted({row.package for row in ROWS if not installed(row)})
        if lacking:
            sys.exit(f"install {', '.join(lacking)} first: pip install -e '.[dev,compat]'")
        PAGE.write_text(HEAD + "".join(seen(row, make)[0] + "\n" for row in ROWS), "utf-8")


if __name__ == "__main__":
    main()
