"""One pytest session with the gate: suites in, items out, one decision, one exit code. It never judges."""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_release_gate import escape, files, markers, reporters, wording
from pytest_release_gate.custom import registered_checks
from pytest_release_gate.discovery import Target, find_targets
from pytest_release_gate.errors import GateError, PolicyError, Problem, ResultsError, SuiteError
from pytest_release_gate.grading import result_of
from pytest_release_gate.guard import FOLDER, NAME, judges_nothing, option, print_lines, protect, usage_error
from pytest_release_gate.integrations import NAME as INTEGRATIONS
from pytest_release_gate.integrations import Integrations
from pytest_release_gate.items import RANKS, CaseFile, Collected, GateItem, Payload, TrustItem
from pytest_release_gate.model import (
    EXIT_CODES,
    Conclusion,
    Graders,
    Result,
    Suite,
    Verdict,
)
from pytest_release_gate.pipeline import at_least_hold, conclude, judge_graders, load_policy, together
from pytest_release_gate.reporters import terminal
from pytest_release_gate.selftest import SelfTest, selftest
from pytest_release_gate.suite import Files, read_suite


def start(config: pytest.Config) -> None:
    """Read what the options name and register the session's plugin.

    :raises pytest.UsageError: if an option or a policy can't be used; an old decision is replaced before that.
    """
    protect(config, config.option)
    results = config.stash.get(FOLDER, None)
    try:
        with _to_stay():
            plugin = GatePlugin(config, results)
    except GateError as error:
        problems = error.problems if isinstance(error, PolicyError) else (Problem(message=str(error)),)
        said = [str(problem) for problem in problems]
        if results is not None and not isinstance(error, ResultsError):
            files.write_all(results, reporters.files_undecided("refused", said, {}))
        if not judges_nothing(config, config.option):
            print_lines(Integrations(config).could_not_start(problems))
        raise usage_error(said) from None
    for line in markers.lines(case for one in plugin.collected if one.suite for case in one.suite.cases.values()):
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(plugin, NAME)
    config.pluginmanager.register(plugin.integrations, INTEGRATIONS)


@contextmanager
def _to_stay() -> Iterator[None]:
    """For reading what stays until the end: garbage collections need not go through it again and again.

    They took a third of the time of 10,000 items. Whoever switched them off has done without them anyway.
    """
    if not gc.isenabled():
        yield
        return
    gc.unfreeze()  # what an earlier session of this process kept
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def _targets(config: pytest.Config) -> tuple[list[Target], list[str]]:
    given = [str(one) for one in config.option.release_gate or config.getini("release_gate")]
    base = config.invocation_params.dir
    policy, policy_base = option(config, config.option, "release_gate_policy")
    chosen = Path(os.path.abspath(policy_base / policy)) if policy else None
    if chosen is not None and not chosen.is_file():
        raise PolicyError(
            [Problem(path=policy, message="there is no such policy file; --release-gate-policy takes one")]
        )
    return find_targets(given, base, chosen)


def _collect(target: Target, config: pytest.Config) -> Collected:
    """A target's suite, read or refused.

    :raises PolicyError: if its policy can't be used.
    """
    reader = Files(config.rootpath)
    policy = load_policy(target.policy, reader, registered_checks(config, target.policy))
    cases = Path(os.path.normpath(target.policy.parent / policy.cases))
    # A folder or a glob means candidates; what the graders are tried on is judged anyway.
    known = {os.path.realpath(target.policy.parent / trust.snapshot) for trust in policy.trust}
    candidates = [path for path in target.outputs if os.path.realpath(path) not in known] or target.outputs
    suite: Suite | None = None
    problems: tuple[Problem, ...] = ()
    try:
        suite = read_suite(target.policy, policy, candidates, reader)
    except SuiteError as error:
        problems = error.problems
    digest = hashlib.sha256(json.dumps(sorted(reader.digests.items())).encode()).hexdigest()
    return Collected(key=reader.name(target.policy), digest=digest, cases=cases, suite=suite, problems=problems)


class GatePlugin:
    """The state of one session: what was read, what reports brought, what was concluded."""

    def __init__(self, config: pytest.Config, results: Path | None) -> None:
        self.config = config
        self.results = results
        self.integrations = Integrations(config)
        self.targets, self.ignored = _targets(config)
        if results is not None:
            named = [reporters.snapshot_file(t.folder, path.stem) for t in self.targets for path in t.outputs]
            files.remove(results, named)
        self.collected = [_collect(target, config) for target in self.targets]
        self._refuse_shared_labels()
        self._by_key = {one.key: one for one in self.collected}
        # Suite key → label → (case id, trial) → output.
        self._outputs = {
            one.key: {snapshot.label: snapshot.outputs for snapshot in one.suite.snapshots}
            for one in self.collected
            if one.suite
        }
        # Suite key → (snapshot, case id, trial) → the worst that was reported: its rank, its text, the result.
        self._worst: dict[str, dict[tuple[str, str, int], tuple[int, str, Result]]] = {
            one.key: {} for one in self.collected
        }
        # What is known of the graders, by suite key; found out once, however often it is concluded.
        self._graders: dict[str, Graders] = {}
        # What this process graded last: the text on its report, the suite's key, the result.
        self._graded: tuple[str, str, Result | None] = ("", "", None)
        # Reasons to hold that no result shows.
        self._doubts: list[str] = []
        # How many failures are items of ours and nothing else's.
        self._own_failures = 0
        self._deselected = self._skipped = 0
        self._interrupted = False
        # What is still to be shown, where pytest itself says something after the end of the session.
        self._last_words: Conclusion | None = None
        # The exit code, once it was concluded.
        self.code: int | None = None
        # Why results could not be written; "" if they could, or were not asked for.
        self._unwritten = ""
        self._add_cases_files()

    # ---------------------------------------------------------------------------------------------------- collecting

    def _refuse_shared_labels(self) -> None:
        """Items of two suites over one cases file would have the same ids."""
        seen: set[tuple[Path, str]] = set()
        for one in self.collected:
            for snapshot in one.suite.snapshots if one.suite else ():
                key = (one.cases, snapshot.label)
                if key in seen:
                    message = f"two suites judge a snapshot {snapshot.label!r} by the same cases: rename one of them"
                    raise PolicyError([Problem(message=message)])
                seen.add(key)

    def _add_cases_files(self) -> None:
        """Collect our cases files: instead of everything if no path was given, else beside what was given."""
        config = self.config
        wanted = list(dict.fromkeys(str(one.cases) for one in self.collected))
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args[:] = wanted
            return
        given = [Path(os.path.abspath(config.invocation_params.dir / arg.partition("::")[0])) for arg in config.args]
        stray = [path for path in given if path.suffix == ".jsonl" and str(path) not in wanted]
        if stray:
            message = "is a path for pytest, not a snapshot to judge; repeat --release-gate for each, or quote the glob"
            raise PolicyError([Problem(path=str(path), message=message) for path in stray])
        if any("::" in arg for arg in config.args):
            return  # chosen items: whoever chose them wants those and no others
        config.args += [path for path in wanted if not any(one in (Path(path), *Path(path).parents) for one in given)]

    def pytest_report_header(self) -> list[str]:
        """Which policy judges which snapshots, by how many cases."""
        lines = []
        for target, one in zip(self.targets, self.collected, strict=True):
            labels = ", ".join(one.labels or [path.stem for path in target.outputs])
            count = "refused" if one.suite is None else f"{len(one.suite.cases)} cases"
            lines.append(f"release gate policy: {one.key} ({count}); snapshots: {labels}")
            lines += [f"release gate note: {note}" for note in (one.suite.notes if one.suite else ())]
        lines += [f"release gate note: {name} begins with a dot and is passed over" for name in self.ignored]
        return [escape.terminal(line) for line in lines]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Our cases files, and nothing else."""
        mine = [one for one in self.collected if one.cases == file_path]
        return CaseFile.of(parent, file_path, mine) if mine else None

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Explains a partial run; never decides anything, since it is not called under xdist."""
        self._deselected += sum(isinstance(item, GateItem) for item in items)

    # ------------------------------------------------------------------------------------------------------- running

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Let the report carry what the item found, or that something around it went wrong."""
        report = yield
        if isinstance(item, TrustItem) and report.when == "call":
            # The verdict does not depend on it: it is judged again, from the files, when all is concluded.
            report.release_gate_trust = True
        if isinstance(item, GateItem):
            report.release_gate_item = True
            if report.when == "call" and item.payload is not None:
                report.release_gate = item.payload
                self._graded = (item.payload, item.suite_key, item.result)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the worst that was found on each output; on the controller, reports of workers arrive here too."""
        text = getattr(report, "release_gate", None)
        if text is not None:
            result = self._remember(text)
            # An item that fails although its output passed was made to fail by somebody else (a strict xfail, a timer).
            self._own_failures += report.failed and result is not None and not result.passed
        elif getattr(report, "release_gate_trust", False):
            self._own_failures += report.failed and not hasattr(report, "wasxfail")
        elif getattr(report, "release_gate_item", False):
            self._skipped += report.skipped
            if report.failed and report.when != "call":
                self._doubt(f"the {report.when} of {escape.terminal(report.nodeid)} failed; see its error")

    def _remember(self, text: str) -> Result | None:
        """The result that a report brought; None, and a doubt, if it is about other files than ours."""
        suite, result = self._read(text)
        if result is None:
            self._doubt(f"a worker read other files for {suite} than this process; run again on files at rest")
            return None
        worst = self._worst[suite]
        key = (result.snapshot, result.case_id, result.trial)
        if key not in worst or (RANKS[result.state], text) > worst[key][:2]:
            worst[key] = (RANKS[result.state], text, result)
        return result

    def _read(self, text: str) -> tuple[str, Result | None]:
        """The key of a suite, and the result that a report brought; None if it is about other files than ours."""
        if text is self._graded[0]:  # graded in this process, a moment ago
            return self._graded[1:]
        payload = Payload.read(text)
        one = self._by_key.get(payload.suite)
        if one is None or one.suite is None or payload.digest != one.digest:
            return payload.suite, None
        output = self._outputs[payload.suite][payload.snapshot][payload.case_id, payload.trial]
        return payload.suite, result_of(one.suite.cases[payload.case_id], output, payload.checks, payload.snapshot)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object | None) -> None:
        """A worker of xdist ended; with an error, if it was lost and not sent home."""
        if error:
            self._doubt(f"a worker was lost ({escape.terminal(str(error))[:200]}); run again")

    def _doubt(self, reason: str) -> None:
        if reason not in self._doubts:
            self._doubts.append(reason)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ctrl-C, or somebody called `pytest.exit`."""
        if isinstance(excinfo.value, pytest.Session.Interrupted):
            return  # pytest's own calm stop (--sw, refused evidence): what it left out is missing, or refused
        self._interrupted = True
        self._doubt("the run was interrupted; run it again to its end")

    def pytest_internalerror(self) -> None:
        """Something broke that is neither a check nor a test."""
        self._doubt("pytest broke with an internal error, shown above; run again without what caused it")

    # -------------------------------------------------------------------------------------------------------- ending

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Conclude before others look at the exit status, assign it once more after them, and have the last word."""
        if judges_nothing(session.config, session.config.option):
            return (yield)
        status = int(exitstatus)
        self._call_concluded()
        conclusion = self._end(session, status)
        try:
            return (yield)
        except BaseException as error:
            self._doubt(f"another plugin broke the end of the session ({type(error).__name__}); run again without it")
            conclusion = self._end(session, status, again=True)
            if isinstance(error, pytest.exit.Exception | SystemExit):
                return None  # it was meant to set the exit code, and that is set
            raise
        finally:
            session.exitstatus = self._exit_code(session, status, conclusion.decision.verdict)
            if not self._interrupted:
                self._show(conclusion)
            else:
                self._last_words = conclusion

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Have the last word after pytest's own about an interruption."""
        if self._last_words is not None:
            self._show(self._last_words)

    def _end(self, session: pytest.Session, status: int, *, again: bool = False) -> Conclusion:
        """Conclude from all that is known now, write it, and assign the exit code."""
        conclusion = self._write(self._write_code_quality(self._conclude()))
        session.exitstatus = self.code = self._exit_code(session, status, conclusion.decision.verdict)
        self.integrations.concluded(conclusion, self.code, again=again)
        return conclusion

    def _call_concluded(self) -> None:
        """Show each report to the hooks; one that raises, whatever it raises, is a doubt.

        They are shown a conclusion of their own, so that nothing that they do to it is ever written.
        """
        hook = self.config.hook.pytest_release_gate_concluded
        for report in self._conclude().reports if hook.get_hookimpls() else ():
            try:
                hook(config=self.config, report=report)
            except BaseException as error:
                said = escape.terminal(f"{type(error).__name__}: {error}")[:300]
                self._doubt(f"a pytest_release_gate_concluded hook raised {said}; mend it and run again")

    def _conclude(self) -> Conclusion:
        conclusions = []
        for one in self.collected:
            if one.suite is None:
                continue
            if one.key not in self._graders:
                self._graders[one.key] = judge_graders(one.suite)
            results = [result for _, _, result in self._worst[one.key].values()]
            conclusions.append(conclude(one.suite, results, self._doubts, graders=self._graders[one.key]))
        # Refused evidence has no report to show its reasons.
        return at_least_hold(together(conclusions, self._doubts), [*self._refused(), *self._doubts])

    def _problems(self) -> list[Problem]:
        return [problem for one in self.collected for problem in one.problems]

    def _refused(self) -> list[str]:
        return [str(problem) for problem in self._problems()]

    def _write_code_quality(self, conclusion: Conclusion) -> Conclusion:
        """Before the results, since they have to tell of it if that fails."""
        try:
            self.integrations.write(conclusion, self._problems())
        except ResultsError as error:
            self._doubt(str(error))
            return self._conclude()
        return conclusion

    def _write(self, conclusion: Conclusion) -> Conclusion:
        """Write what was asked for; where that fails, the verdict is HOLD at least."""
        if self.results is None:
            return conclusion
        refused = self._refused()
        if refused:
            content = reporters.files_undecided("refused", refused, {})
        else:
            content = reporters.files_of(conclusion, self._folders())
        try:
            files.write_all(self.results, content)
        except ResultsError as error:
            self._unwritten = str(error)
            return self._write_code_quality(at_least_hold(conclusion, [str(error)]))
        return conclusion

    def _folders(self) -> list[str]:
        """For each report, the subfolder of its suite."""
        return [
            target.folder
            for target, one in zip(self.targets, self.collected, strict=True)
            if one.suite is not None
            for _ in one.suite.snapshots
        ]

    def _exit_code(self, session: pytest.Session, status: int, verdict: Verdict) -> int:
        """Pytest's own code where anything but our items failed, or pytest was interrupted, misused or broken."""
        if session.testsfailed > self._own_failures:
            return status or int(pytest.ExitCode.TESTS_FAILED)
        ours = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        return EXIT_CODES[verdict] if status in ours else status

    def _show(self, conclusion: Conclusion) -> None:
        lines = terminal.decision_block(conclusion) if conclusion.reports else []
        if self.config.option.release_gate_selftest:
            for one in self.collected:
                lines += selftest_block(selftest(one.suite)) if one.suite else []
        lines += [f"  {problem}" for problem in terminal.problems_block(self._refused())]
        if conclusion.decision.verdict is Verdict.HOLD and self._deselected + self._skipped:
            lines.append(
                f"  {self._deselected} items were deselected and {self._skipped} skipped: "
                "run without -k, -m, --deselect, node ids or skip marks to decide"
            )
        if self.results is not None and not self._unwritten:
            shown = os.path.relpath(self.results, self.config.invocation_params.dir)
            lines.append(f"  results in {escape.terminal(shown)}")
        lines += self.integrations.last_lines(conclusion, self._problems())
        lines.append(terminal.decision_line(conclusion.decision))
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            print_lines(lines)
            return
        reporter.ensure_newline()
        reporter.section("release gate", sep="=")
        for line in lines:
            reporter.write_line(line)


def selftest_block(found: SelfTest) -> list[str]:
    """The kill rate of a suite's checks, per check and case, and the mutants that survived."""
    rate = f"{found.killed / found.made:.4f}" if found.made else "no data"
    name = escape.terminal(found.suite)
    lines = [
        f"selftest of {name}: kill rate {rate} ({found.killed} of {found.made} mutants, "
        f"{found.equivalent} more are declared equivalent)"
    ]
    lines += [
        f"  {escape.terminal(check)}: fails {killed} of {made}" for check, (killed, made) in found.by_check.items()
    ]
    weak = [f"{escape.terminal(case)} {k} of {m}" for case, (k, m) in found.by_case.items() if k < m]
    lines += [f"  cases with survivors: {wording.few(weak, at_most=10)}"] if weak else []
    for mutant in found.survivors[:20]:
        lines.append(escape.terminal(f"  survivor: {mutant.names[1]}"))
    more = len(found.survivors) - 20
    return [*lines, f"  and {more} more survivors"] if more > 0 else lines
