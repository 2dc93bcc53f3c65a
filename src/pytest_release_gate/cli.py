"""`pytest-release-gate`: what prepares and explains; the gate itself is `pytest --release-gate`."""

from __future__ import annotations

import argparse
import difflib
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_release_gate import checks as built_in
from pytest_release_gate import escape
from pytest_release_gate.errors import PolicyError
from pytest_release_gate.gate import UNWAIVABLE
from pytest_release_gate.metrics import METRICS, find
from pytest_release_gate.model import Case, Output
from pytest_release_gate.pipeline import load_policy
from pytest_release_gate.policy_schema import policy_schema
from pytest_release_gate.reporters import explain
from pytest_release_gate.reporters.results import dumps
from pytest_release_gate.suite import Files


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; 0 if it did what it was asked, 4 if an argument or a policy can't be used."""
    parser = argparse.ArgumentParser(prog="pytest-release-gate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    explained = commands.add_parser("explain", help="print a policy in words: its checks and rules, defaults included")
    explained.add_argument("policy", nargs="?", default="policy/gate.toml", help="the policy file (policy/gate.toml)")
    commands.add_parser("schema", help="print the JSON Schema of policy files, for editors")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:
        return 4 if ended.code else 0
    if options.command == "schema":
        sys.stdout.write(dumps(policy_schema(built_in.BUILT_IN, [*METRICS])))
        return 0
    return _explain(Path(options.policy))


def _explain(path: Path) -> int:
    files = Files(Path.cwd())
    own = dict.fromkeys(_not_built_in(path), _of_the_suite)
    try:
        policy = load_policy(path, files, own)
    except PolicyError as error:
        for problem in error.problems:
            print(escape.terminal(str(problem)), file=sys.stderr)
        return 4
    measures = {name for check in policy.checks for name in check.measures}

    def unit_of(metric: str) -> str:
        definition = find(metric, measures)
        assert definition is not None, "the policy was refused otherwise"
        return definition.unit

    sys.stdout.write(explain.render(policy, files.name(path), UNWAIVABLE, unit_of, sorted(own)))
    return 0


def _of_the_suite(case: Case, output: Output, **arguments: object) -> Iterable[str]:
    """Stand in for a check that only a session of pytest knows; explaining a policy calls none."""
    return ()


def _not_built_in(path: Path) -> list[str]:
    """The checks that a policy uses and that are neither built in nor a slip of the pen for one that is."""
    try:
        entries = tomllib.loads(path.read_text("utf-8-sig"))["checks"]
        used = [str(entry.get("uses") or entry["name"]) for entry in entries]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []  # what is wrong with the file is said when it is read as a policy
    known = built_in.BUILT_IN
    return [name for name in used if name not in known and not difflib.get_close_matches(name, known, n=1)]
