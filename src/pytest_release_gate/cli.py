"""`pytest-release-gate`: what prepares and explains; the gate itself is `pytest --release-gate`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_release_gate import checks as built_in
from pytest_release_gate import escape, files, reporters, wording
from pytest_release_gate.claim import claim
from pytest_release_gate.errors import PolicyError, Problem, ResultsError, SuiteError
from pytest_release_gate.gate import UNWAIVABLE
from pytest_release_gate.merge import merge
from pytest_release_gate.metrics import METRICS, find
from pytest_release_gate.model import EXIT_CODES, Decision, Ground, Verdict
from pytest_release_gate.pipeline import at_least_hold, load_policy
from pytest_release_gate.policy_schema import policy_schema
from pytest_release_gate.reporters import explain, terminal
from pytest_release_gate.reporters.results import dumps
from pytest_release_gate.standins import StandIn, not_built_in
from pytest_release_gate.suite import Files


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; 0 if it did what it was asked, 4 if an argument, a file or a policy can't be used.

    Of `merge` the exit code is that of the verdict.
    """
    parser = argparse.ArgumentParser(prog="pytest-release-gate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    explained = commands.add_parser("explain", help="print a policy in words: its checks and rules, defaults included")
    explained.add_argument("policy", nargs="?", default="policy/gate.toml", help="the policy file (policy/gate.toml)")
    merged = commands.add_parser("merge", help="conclude from parts of one run, each judged by a session of its own")
    merged.add_argument("parts", nargs="+", metavar="PART", help="the evidence.json of a part, or the folder it is in")
    merged.add_argument("--results", metavar="DIR", help="write decision, metrics and evidence into this folder")
    merged.add_argument("--root", default=".", metavar="DIR", help="pytest's rootdir, if that is not this folder")
    merged.add_argument("--regrade", action="store_true", help="believe no part: run every check again, and compare")
    commands.add_parser("schema", help="print the JSON Schema of policy files, for editors")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:
        return 4 if ended.code else 0
    if options.command == "schema":
        sys.stdout.write(dumps(policy_schema(built_in.BUILT_IN, [*METRICS])))
        return 0
    return _merge(options) if options.command == "merge" else _explain(Path(options.policy))


def _explain(path: Path) -> int:
    reader = Files(Path.cwd())
    own = dict.fromkeys(not_built_in(path), StandIn())
    try:
        policy = load_policy(path, reader, own)
    except PolicyError as error:
        return _unusable(map(str, error.problems))
    measures = {name for check in policy.checks for name in check.measures}

    def unit_of(metric: str) -> str:
        definition = find(metric, measures)
        assert definition is not None, "the policy was refused otherwise"
        return definition.unit

    sys.stdout.write(explain.render(policy, reader.name(path), UNWAIVABLE, unit_of, sorted(own)))
    return 0


def _merge(options: argparse.Namespace) -> int:
    """Merge parts; 4 if one can't be read or the results folder can't be used, else the exit code of the verdict."""
    root = Path(options.root)
    if not root.is_dir():
        return _unusable([f"{root} is no folder; --root takes the rootdir of the parts' sessions"])
    results = Path(os.path.abspath(options.results)) if options.results else None
    paths = [Path(path) / reporters.EVIDENCE if Path(path).is_dir() else Path(path) for path in options.parts]
    within = {
        os.path.realpath(folder) for path in paths for folder in (path.parent, Path(os.path.realpath(path)).parent)
    }
    if results is not None and os.path.realpath(results) in within:
        return _unusable([f"{results} holds a part that is to be merged; name another folder with --results"])
    lock = None
    try:
        if results is not None:
            lock = claim(results)
        return _merge_into(results, paths, root, regrade=options.regrade)
    except ResultsError as error:
        return _unusable([str(error)])
    finally:
        if lock is not None:
            os.close(lock)


def _merge_into(results: Path | None, paths: Sequence[Path], root: Path, *, regrade: bool) -> int:
    """Merge, write and show.

    :raises ResultsError: if not even that nothing was decided can be written.
    """
    reader, problems = Files(Path.cwd()), list[Problem]()
    data = [(reader.name(path), reader.read(path, problems)) for path in paths]
    if problems:
        _write_undecided(results, problems)
        return _unusable(map(str, problems))
    try:
        merged = merge([(name, found) for name, found in data if found is not None], root, regrade=regrade)
    except SuiteError as error:
        _write_undecided(results, error.problems)
        said = [str(problem) for problem in error.problems]
        grounds = tuple(Ground(verdict=Verdict.HOLD, reason=one) for one in said)
        return _show(terminal.problems_block(said), Decision(verdict=Verdict.HOLD, grounds=grounds))
    conclusion, missing = merged.conclusion, [escape.terminal(one) for one in merged.missing]
    lines = [f"merged {len(paths)} parts", *terminal.decision_block(conclusion)]
    if missing:
        lines.append(
            f"  {len(missing)} outputs are in no part: {wording.few(missing)}; merge the parts that judged them too"
        )
    if results is not None:
        try:
            files.write_all(results, reporters.files_of(conclusion, merged.folders))
            lines.append(f"  results in {escape.terminal(os.path.relpath(results))}")
        except ResultsError as error:
            conclusion = at_least_hold(conclusion, [str(error)])
    return _show(lines, conclusion.decision)


def _write_undecided(results: Path | None, problems: Sequence[Problem]) -> None:
    if results is not None:
        files.write_all(results, reporters.files_undecided("refused", [str(one) for one in problems], {}))


def _show(lines: Sequence[str], decision: Decision) -> int:
    """Print lines, the decision last, on whatever encoding standard output has.

    :return: the exit code of the verdict.
    """
    encoding = sys.stdout.encoding or "ascii"
    for line in (*lines, terminal.decision_line(decision)):
        print(line.encode(encoding, "backslashreplace").decode(encoding))
    return EXIT_CODES[decision.verdict]


def _unusable(said: Iterable[str]) -> int:
    for one in said:
        print(escape.terminal(one), file=sys.stderr)
    return 4
