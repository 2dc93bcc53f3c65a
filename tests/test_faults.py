"""Faults, each in a real process: never PASS as the last word, never exit 0, no old PASS on disk, one sentence why."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from story import FOREIGN, Project, Run

GOOD, BAD = "candidate-v3", "baseline-v1"
# What a `results` folder holds after a good run; planted before each fault.
OLD = ("candidate-v3.json", "summary.json", "RELEASE_REPORT.md", "digest.md", "evidence.json")
# As JSON and as Markdown decide; a report's closing sentence names the word as well.
SAYS_PASS = re.compile(rb'": "PASS"|: PASS\n|PASS \|')
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
# A shell starts what runs in the background with SIGINT ignored, and children inherit that.
CTRL_C = "signal.signal(signal.SIGINT, signal.default_int_handler); os.kill(os.getpid(), signal.SIGINT)"


@pytest.fixture
def old(expense: Project) -> Project:
    """A project whose results folder says PASS, as yesterday's run left it."""
    expense.write(
        "results/evidence.json",
        '{"decision": {"verdict": "PASS"}, "files": ["candidate-v1.json", "candidate-v3.json"]}',
    )
    for name in ("candidate-v1.json", "candidate-v3.json", "summary.json"):
        expense.write(f"results/{name}", '{"decision": "PASS"}')
    expense.write("results/RELEASE_REPORT.md", "# Release gate: PASS\n")
    return expense


def decided_pass(run: Run) -> list[str]:
    """The results files that say PASS of anything."""
    return [name for name, content in run.files().items() if SAYS_PASS.search(content)]


def assert_no_pass(run: Run) -> None:
    """What holds after every fault."""
    assert run.code != 0
    assert run.verdict != "PASS"
    assert decided_pass(run) == []


def own_check(project: Project, body: str, *, only: str = "ER-004") -> None:
    """A check of the project's own that does something else than to check."""
    project.write(
        "conftest.py",
        f"import os, signal, sys, time, pytest\ndef own(case, output):\n    if case.id == {only!r}:\n        {body}\n"
        "    return ()\ndef pytest_release_gate_checks(): return {'own': own}\n",
    )
    project.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "own"\n\n[[rules]]', 1)


def at(hook: str, do: str, *, marks: str = "") -> str:
    """A conftest that does something in a hook."""
    return f"import os, signal, sys, pytest\n{marks}\ndef {hook}:\n    {do}\n"


FIRST = "@pytest.hookimpl(tryfirst=True)"
OUTERMOST = "@pytest.hookimpl(wrapper=True, tryfirst=True)"
FINISH = "pytest_sessionfinish(session)"
# name: conftest, arguments, exit code (None: any but 0), verdict in the last decision line (None: there is none), words
CONFTESTS = {
    # Somebody leaves, or breaks, before the session has begun.
    "sys.exit in a conftest": ("import sys\nsys.exit(0)\n", [], 4, None, "called sys.exit(0)"),
    "an import error in a conftest": ("import nothing_of_that_name\n", [], 4, None, "nothing_of_that_name"),
    "pytest.exit in a conftest": ("import pytest\npytest.exit('x', returncode=0)\n", [], None, None, "x"),
    "exit while configuring": (
        at("pytest_configure(config)", "pytest.exit('x', returncode=0)"), [], 11, "HOLD", "before anything was judged"
    ),
    "sys.exit while configuring": (at("pytest_configure(config)", "sys.exit(0)"), [], 3, "HOLD", "before anything"),
    "exit while starting": (
        at("pytest_sessionstart(session)", "pytest.exit('x', returncode=0)"), [], 11, "HOLD", "before anything was"
    ),
    "sys.exit while starting": (at("pytest_sessionstart(session)", "sys.exit(0)"), [], 3, "HOLD", "before anything"),
    "another main": (at("pytest_cmdline_main(config)", "return 0"), [], 11, "HOLD", "before anything was judged"),
    "exit while collecting": (
        at("pytest_collection(session)", "pytest.exit('x', returncode=0)", marks=FIRST), [], 11, "HOLD", "only 0 of 12"
    ),
    # Items are lost, replaced or not run.
    "all items deleted": (at("pytest_collection_modifyitems(items)", "items.clear()"), [], 11, "HOLD", "only 0 of 12"),
    "runtest replaced": (
        at("pytest_collection_modifyitems(items)", "for item in items: item.runtest = lambda: None"),
        [], 11, "HOLD", "only 0 of 12",
    ),
    "protocol taken over": (
        at("pytest_runtest_protocol(item)", "return True", marks=FIRST), [], 11, "HOLD", "only 0 of 12"
    ),
    "the loop taken over": (
        at("pytest_runtestloop(session)", "return True", marks=FIRST), [], 11, "HOLD", "only 0 of 12"
    ),
    "reports that lose what they carry": (
        at(
            "pytest_runtest_logreport(report)",
            "report.__dict__.pop('release_gate', None)",
            marks=FIRST,
        ),
        [], 11, "HOLD", "only 0 of 12",
    ),
    "should stop": (
        at("pytest_runtest_logfinish(nodeid)", "raise pytest.exit.Exception('x', 0)"), [], 11, "HOLD", "interrupted"
    ),
    # Somebody breaks, leaves or sets the status after the last item.
    "status set last": (
        at(FINISH, "yield\n    session.exitstatus = 0", marks=OUTERMOST), ["-k", "ER-001"], 11, "HOLD", "only 1 of 12"
    ),
    "status set while unconfiguring": (
        at("pytest_cmdline_main(config)", "yield\n    return 0", marks="@pytest.hookimpl(wrapper=True)"),
        ["-k", "ER-001"], 11, "HOLD", "only 1 of 12",
    ),
    "exit while finishing": (
        at(FINISH, "pytest.exit('x', returncode=0)"), [], 11, "HOLD", "broke the end of the session (Exit)"
    ),
    "sys.exit while finishing": (at(FINISH, "sys.exit(0)"), [], 11, "HOLD", "the end of the session (SystemExit)"),
    "error while finishing": (at(FINISH, "raise ValueError"), [], 1, "HOLD", "the end of the session (ValueError)"),
    "Ctrl-C while finishing": (at(FINISH, "raise KeyboardInterrupt"), [], None, "HOLD", "(KeyboardInterrupt)"),
    "sys.exit in our hook": (
        at("pytest_release_gate_concluded(config, report)", "sys.exit(0)"), [], 11, "HOLD", "raised SystemExit"
    ),
    "exit in our hook": (
        at("pytest_release_gate_concluded(config, report)", "pytest.exit('x', 0)"), [], 11, "HOLD", "raised Exit"
    ),
    "error in our hook": (
        at("pytest_release_gate_concluded(config, report)", "raise ValueError('no')"), [], 11, "HOLD", "ValueError: no"
    ),
    "sys.exit while unconfiguring": (
        at("pytest_unconfigure(config)", "sys.exit(0)"), ["-k", "ER-001"], 11, "HOLD", "only 1 of 12"
    ),
    # Workers.
    "a worker leaves in a call": (
        at("pytest_runtest_call(item)", "'ER-004' in item.nodeid and os._exit(0)"),
        ["-n2"], 1, "HOLD", "only 11 of 12",
    ),
    "all workers leave": (
        at("pytest_runtest_setup(item)", "'PYTEST_XDIST_WORKER' in os.environ and os._exit(0)"),
        ["-n2", "--max-worker-restart=0"], None, "HOLD", "only 0 of 12",
    ),
    "a worker is killed": (
        at("pytest_runtest_teardown(item)", f"'ER-004' in item.nodeid and {KILL}"),
        ["-n2"], 1, "HOLD", "a worker was lost",
    ),
    "a worker never starts": (
        at("pytest_sessionstart(session)", "'PYTEST_XDIST_WORKER' in os.environ and os._exit(0)"),
        ["-n2"], None, "HOLD", "only 0 of 12",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("conftest", "args", "code", "verdict", "words"), CONFTESTS.values(), ids=CONFTESTS.keys())
def test_what_a_conftest_does(old, conftest, args, code, verdict, words):
    old.write("conftest.py", conftest)
    run = old.gate_results(GOOD, *args)

    assert_no_pass(run)
    assert run.verdict == verdict
    assert words in (run.out if verdict is None else run.last)
    assert code in (None, run.code)
    assert run.evidence()["decision"]["verdict"] == "HOLD"


# name: what the check of one output does, arguments, exit code, words
CHECKS = {
    "sys.exit": ("sys.exit(0)", [], 1, "only 11 of 12"),
    "pytest.skip": ("pytest.skip('not today')", [], 11, "only 11 of 12"),
    "pytest.fail": ("pytest.fail('no')", [], 1, "only 11 of 12"),
    "pytest.xfail": ("pytest.xfail('known')", [], 11, "only 11 of 12"),
    "pytest.exit": ("pytest.exit('x', returncode=0)", [], 11, "1 of the checks broke"),
    "Ctrl-C": (f"{CTRL_C}; time.sleep(5)", [], 2, "interrupted"),
    "hangs": ("time.sleep(60)", ["--timeout=0.5"], 1, "only 11 of 12"),
    "hangs, by thread": ("time.sleep(60)", ["--timeout=0.5", "--timeout-method=thread"], 1, "Timeout"),
    "recursion": ("own(case, output)", [], 11, "1 of the checks broke"),
    "memory": ("raise MemoryError", [], 11, "1 of the checks broke"),
    "generator exit": ("raise GeneratorExit", [], 1, "only 11 of 12"),
    "group": ("raise BaseExceptionGroup('x', [SystemExit(0)])", [], 1, "only 11 of 12"),
    "a generator that is async": ("return (x async for x in ())", [], 11, "1 of the checks broke"),
    "sys.exit, with workers": ("sys.exit(0)", ["-n2"], 1, "only 11 of 12"),
    "pytest.exit, with workers": ("pytest.exit('x', returncode=0)", ["-n2"], 11, "1 of the checks broke"),
}


@pytest.mark.parametrize(("body", "args", "code", "words"), CHECKS.values(), ids=CHECKS.keys())
def test_what_a_check_does(old, body, args, code, words):
    own_check(old, body)
    run = old.gate_results(GOOD, *args)

    assert_no_pass(run)
    assert words in run.out
    assert code in (None, run.code)
    assert run.evidence()["decision"]["verdict"] == "HOLD"


@pytest.mark.parametrize("args", [[], ["-s"], ["-rA"], ["-n2"]], ids=" ".join)
def test_a_check_that_prints_a_decision_does_not_have_the_last_word(old, args):
    own_check(old, "print('\\nrelease gate: PASS: says who', flush=True); yield 'wrong'\n    return")
    old.replace("policy/gate.toml", "at_least = 0.90", "at_least = 1.0")
    run = old.gate_results(GOOD, *args)

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert run.last.startswith("release gate: BLOCK")


def test_a_check_that_prints_changes_no_file(expense):
    first = expense.gate_results(GOOD).files()
    own_check(expense, "print('hello')")
    second = expense.gate_results(GOOD)

    assert second.verdict == "PASS"
    assert second.files().keys() == first.keys()


# Where a run is killed.
KILLED = {
    "in a setup": at("pytest_runtest_setup(item)", f"'ER-004' in item.nodeid and {KILL}"),
    "in a call": at("pytest_runtest_call(item)", f"'ER-004' in item.nodeid and {KILL}"),
    "in a teardown": at("pytest_runtest_teardown(item)", f"'ER-012' in item.nodeid and {KILL}"),
    "while a conftest is loaded": f"import os, signal\n{KILL}\n",
    "while collecting": at("pytest_collection_finish(session)", KILL),
    "before the end": at(FINISH, KILL, marks=OUTERMOST),
    "left for good": at("pytest_runtest_call(item)", "os._exit(1)"),
}


@pytest.mark.parametrize("conftest", KILLED.values(), ids=KILLED.keys())
def test_killed(old, conftest):
    old.write("conftest.py", conftest)
    run = old.gate_results(GOOD)

    assert_no_pass(run)
    assert (run.evidence()["state"], run.evidence()["decision"]["verdict"]) == ("running", "HOLD")
    assert "died" in run.evidence()["decision"]["reasons"][0]


@pytest.mark.parametrize(
    ("function", "times", "untouched"),
    [
        # Before the first new file is in its place nothing has happened yet.
        ("fsync", 1, True),
        ("replace", 1, True),
        ("replace", 2, False),
        ("unlink", 2, False),
        ("unlink", 4, False),
        ("replace", 3, False),
        ("fsync", 5, False),
        ("replace", 6, False),
    ],
)
def test_killed_while_files_are_written(old, function, times, untouched):
    """At the system calls that write results: the evidence decides nothing, and the next run leaves nothing behind."""
    before = (old.results / "evidence.json").read_bytes()
    old.write(
        "killer.py",
        f"import os, signal\nreal, n = os.{function}, 0\ndef kill(*args, **more):\n    global n\n    n += 1\n"
        f"    if n == {times}: {KILL}\n    return real(*args, **more)\nos.{function} = kill\n",
    )
    run = old.gate_results(GOOD, "-p", "killer", env={"PYTHONPATH": "."})

    assert run.code == -9
    assert (run.files()["evidence.json"] == before) is untouched
    assert untouched or run.evidence()["state"] == "running"
    after = old.gate_results(BAD)
    assert after.code == 12
    assert decided_pass(after) == []


# name: arguments, snapshot, exit code, verdict
PARTS = {
    "-m": (["-m", "critical"], GOOD, 11, "HOLD"),
    "-m nothing": (["-m", "not release_gate"], GOOD, 11, "HOLD"),
    "--maxfail": (["--maxfail=1"], BAD, 12, "BLOCK"),
    "--sw": (["-p", "cacheprovider", "-p", "stepwise", "--sw"], "candidate-v2", None, "HOLD"),
    "--setup-only": (["--setup-only"], GOOD, 11, "HOLD"),
    "--setup-plan": (["--setup-plan"], GOOD, 11, "HOLD"),
    "--deselect": (["--deselect", "cases/cases.jsonl::ER-001[candidate-v3]"], GOOD, 11, "HOLD"),
    "a node id": (["cases/cases.jsonl::ER-001[candidate-v3]"], GOOD, 11, "HOLD"),
    "a node id that is not there": (["cases/cases.jsonl::ER-999[candidate-v3]"], GOOD, 4, "HOLD"),
    "a node id twice": (["cases/cases.jsonl::ER-001[candidate-v3]"] * 2, GOOD, 11, "HOLD"),
    "-p no:terminal": (["-p", "no:terminal", "-k", "ER-001"], GOOD, 11, "HOLD"),
    "-q -q": (["-qq", "--no-summary", "--no-header", "-k", "ER-001"], GOOD, 11, "HOLD"),
    "-x with workers": (["-x", "-n2"], "candidate-v2", None, "HOLD"),
}


@pytest.mark.parametrize(("args", "label", "code", "verdict"), PARTS.values(), ids=PARTS.keys())
def test_a_part_of_the_run(old, args, label, code, verdict):
    run = old.gate_results(label, *args)

    assert_no_pass(run)
    assert run.verdict == verdict
    assert code in (None, run.code)
    assert run.last.startswith(f"release gate: {verdict}: ")


@pytest.mark.parametrize(
    ("args", "code", "verdict"),
    [
        (["--lf"], 12, "BLOCK"),  # the failures that it runs again prove it
        (["--ff"], 12, "BLOCK"),
        (["--nf"], 12, "BLOCK"),
        (["--sw"], None, "BLOCK"),
    ],
)
def test_after_a_run_that_failed(old, args, code, verdict):
    """What pytest's cache selects or sorts: the second run is a part of the first, or the same in another order."""
    cache = ("-p", "cacheprovider", "-p", "stepwise")
    old.gate_results(BAD, *cache)
    run = old.gate_results(BAD, *cache, *args)

    assert_no_pass(run)
    assert run.verdict == verdict
    assert code in (None, run.code)


def test_last_failed_after_a_fix_is_a_part(old):
    cache = ("-p", "cacheprovider")
    old.gate_results("candidate-v2", *cache)
    text = old.path("outputs/candidate-v3.jsonl").read_text("utf-8")
    old.write("outputs/candidate-v2.jsonl", text)
    run = old.gate_results("candidate-v2", *cache, "--lf")

    assert_no_pass(run)
    assert (run.code, run.verdict) == (11, "HOLD")
    assert "only 1 of 12" in run.last


def run_limited(project: Project, most: int | None = None, **more) -> Run:
    """The gate with a limit on the size of files, which is what a full disk looks like to a writer."""

    def limit():
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--release-gate=outputs/{GOOD}.jsonl",
         "--release-gate-results=results"],
        cwd=project.at, capture_output=True, text=True, encoding="utf-8", timeout=120, preexec_fn=limit,
        env={key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}, **more,
    )  # fmt: skip
    return Run(code=done.returncode, out=done.stdout + done.stderr, stdout=done.stdout, results=project.results)


@pytest.mark.parametrize(("most", "code"), [(0, 4), (300, 4), (2000, 11), (20_000, 11)])
def test_a_full_disk(old, most, code):
    """At the first byte, in the first file, in a later one, in the last one."""
    run = run_limited(old, most)

    assert_no_pass(run)
    assert run.code == code
    assert "can't be written: File too large" in run.out
    assert not list(old.results.glob(".release-gate-*"))


def test_a_folder_in_which_nothing_can_be_changed():
    """As another user, where this one is root, whom no mode stops."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        project = Project(Path(place))
        for name in ("cases", "outputs", "policy"):
            subprocess.run(["cp", "-r", str(Path(__file__).parents[1] / name), place], check=True)
        project.write("pytest.ini", "[pytest]\n")
        project.results.mkdir()
        for name in OLD:
            project.write(f"results/{name}", '{"decision": {"verdict": "PASS"}}').chmod(0o666)
        project.results.chmod(0o555)
        user = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            run = run_limited(project, **user)
        except PermissionError:
            pytest.skip("another user can't run this interpreter")
        finally:
            project.results.chmod(0o755)
        if "Permission denied" in run.out and "results" not in run.out:
            pytest.skip("another user can't read this installation")

    assert run.code == 4
    assert "can't be" in run.out
    assert "Permission denied" in run.out
    assert run.verdict is None


@pytest.mark.parametrize(
    ("make", "folder"),
    [
        (lambda at: (at / "results").symlink_to(at / "nowhere"), "results"),
        (lambda at: (at / "results").symlink_to("results"), "results"),
        (lambda at: (at / "file").write_text("x"), "file/below"),
        (lambda at: os.mkfifo(at / "pipe"), "pipe"),
        (lambda at: (at / "sub").symlink_to("/dev/null"), "sub"),
        (lambda at: None, "x" * 300),
        (lambda at: None, "/proc/none/results"),
        (lambda at: (at / "there/evidence.json").mkdir(parents=True), "there"),
        (lambda at: (at / "there/candidate-v3.json").mkdir(parents=True), "there"),
    ],
    ids=["dangling", "to itself", "below a file", "pipe", "device", "too long", "in /proc", "evidence", "result"],
)
def test_a_results_path_that_is_no_folder(expense, make, folder):
    make(expense.at)
    run = expense.gate(GOOD, f"--release-gate-results={folder}")

    assert run.code == 4
    assert run.verdict is None
    assert "can't be" in run.out
    assert "Traceback" not in run.out


def test_two_runs_into_one_folder(old):
    """The second is turned away while the first is running, and what the first concludes is whole."""
    old.write(
        "conftest.py",
        "import os, subprocess, sys\n"
        "def pytest_runtest_setup(item):\n"
        "    if 'ER-004' in item.nodeid and not os.environ.get('INNER'):\n"
        "        same = ['--release-gate=outputs/baseline-v1.jsonl', '--release-gate-results=results']\n"
        "        done = subprocess.run([sys.executable, '-m', 'pytest', *same],\n"
        "            env={**os.environ, 'INNER': '1'}, capture_output=True, text=True)\n"
        "        print('INNER', done.returncode, done.stderr)\n",
    )
    run = old.gate_results(GOOD, "-s")

    assert "INNER 4" in run.out
    assert "another run is writing into" in run.out
    assert (run.code, run.verdict) == (0, "PASS")
    assert sorted(run.files()) == sorted(OLD)
    assert old.gate_results(BAD, env={"INNER": "1"}).code == 12  # at its end it let go of the folder


@pytest.mark.parametrize(
    "args",
    [["--help"], ["--markers"], ["--fixtures"], ["--fixtures-per-test"], ["-VV"], ["--collect-only"]],
    ids=" ".join,
)
def test_asked_for_information_nothing_is_touched(old, args):
    before = {path: path.read_bytes() for path in old.results.iterdir()}
    run = old.gate_results(GOOD, *args)

    assert (run.code, run.verdict) == (0, None)
    assert {path: path.read_bytes() for path in old.results.iterdir()} == before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--no-such-option"], "unrecognized arguments"),
        (["-k", "ER-001 and ("], "Wrong expression"),
        (["-p", "no_such_plugin"], "no_such_plugin"),
        (["no/such/path"], "no/such/path"),
        (["--release-gate-policy=none.toml"], "there is no such policy file"),
        (["--release-gate=outputs/none.jsonl"], "there is no such file"),
    ],
)
def test_a_slip_on_the_command_line(old, args, words):
    run = old.gate_results(GOOD, *args)

    assert run.code != 0
    assert run.verdict != "PASS"
    assert words in run.out
    if args[0] != "-p":  # pytest gives up on a plugin before it asks any other
        assert_no_pass(run)


def test_switched_off_nobody_is_there_to_judge(old):
    """Nobody can remove an old decision then either: the exit code says that nothing was decided."""
    run = old.gate_results(GOOD, "-p", "no:release_gate")

    assert (run.code, run.verdict) == (4, None)
    assert "--release-gate" in run.out
