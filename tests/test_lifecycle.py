"""What else happens in a session: lost, skipped, repeated, interrupted, broken. Never PASS, and one sentence why."""

from __future__ import annotations

import pytest

GOOD, BAD = "candidate-v3", "baseline-v1"
FIFTH = "import pytest\nn = 0\ndef pytest_runtest_call(item):\n    global n\n    n += 1\n    if n == 5:\n        {}\n"
LAST = "import pytest\ndef pytest_runtest_teardown(item, nextitem):\n    if nextitem is None:\n        {}\n"
WORKER = (
    "import os\ndef pytest_runtest_{}(item):\n"
    "    if 'ER-004' in item.nodeid and 'PYTEST_XDIST_WORKER' in os.environ:\n        os._exit({})\n"
)


@pytest.mark.parametrize(
    ("conftest", "args", "code", "words"),
    [
        pytest.param(FIFTH.format("raise KeyboardInterrupt"), [], 2, "the run was interrupted", id="Ctrl-C in between"),
        pytest.param(LAST.format("raise KeyboardInterrupt"), [], 2, "the run was interrupted", id="Ctrl-C at the end"),
        pytest.param(FIFTH.format("pytest.exit('x', returncode=0)"), [], 11, "interrupted", id="pytest.exit(0)"),
        pytest.param(LAST.format("pytest.exit('x', returncode=0)"), [], 11, "interrupted", id="exit(0) at the end"),
        pytest.param(FIFTH.format("pytest.exit('x', returncode=7)"), [], 7, "interrupted", id="pytest.exit(7)"),
        pytest.param(LAST.format("raise ValueError"), [], 1, "the teardown of", id="a teardown fails"),
        pytest.param(
            "def pytest_runtest_logreport(report):\n    if report.when == 'call': raise ValueError\n",
            [],
            3,
            "internal error",
            id="a hook breaks pytest",
        ),
        pytest.param(
            "import pytest\ndef pytest_collection_modifyitems(items):\n"
            "    for i in items: i.add_marker(pytest.mark.skip(reason='no'))\n",
            [],
            11,
            "only 0 of 12 outputs were judged",
            id="all skipped",
        ),
        pytest.param(
            "def pytest_collection_modifyitems(items): del items[3:]\n", [], 11, "only 3 of 12", id="items deleted"
        ),
        pytest.param("def pytest_runtest_call(item): raise ValueError\n", [], 1, "only 0 of 12", id="no call"),
        pytest.param("def pytest_runtest_setup(item): raise ValueError\n", [], 1, "the setup of", id="setups fail"),
        pytest.param(
            "import pytest\n@pytest.hookimpl(trylast=True)\n"
            "def pytest_sessionfinish(session): session.exitstatus = 0\n",
            ["-k", "ER-001"],
            11,
            "only 1 of 12",
            id="another plugin resets the exit status",
        ),
        pytest.param(
            "import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtestloop(session):\n"
            "    yield\n    session.testsfailed += 1\n    return True\n",
            [],
            1,
            None,
            id="another plugin counts a failure",
        ),
        pytest.param(WORKER.format("call", 1), ["-n2"], 1, "only 11 of 12", id="a worker dies"),
        pytest.param(WORKER.format("setup", 0), ["-n2"], 1, "only 11 of 12", id="a worker leaves calmly"),
        pytest.param(
            WORKER.format("call", 1),
            ["-n2", "--max-worker-restart=0"],
            None,
            "outputs were judged",
            id="not replaced",
        ),
        pytest.param(
            "import time\ndef pytest_runtest_call(item):\n    if 'ER-004' in item.nodeid: time.sleep(60)\n",
            ["--timeout=5"],
            1,
            "only 11 of 12",
            id="an item hangs",
        ),
    ],
)
def test_trouble_never_passes_and_says_why(expense, conftest, args, code, words):
    expense.write("conftest.py", conftest)
    run = expense.gate_results(GOOD, *args)

    if code is None:
        assert run.code != 0
    else:
        assert run.code == code
    if words is None:  # the gate itself has nothing to complain about
        assert run.verdict == "PASS"
        return
    assert run.verdict == "HOLD"
    assert words in run.last
    assert run.evidence()["decision"]["verdict"] == "HOLD"
    assert "pytest_release_gate/" not in run.out


def test_a_calm_stop_after_the_last_item_leaves_nothing_out(expense):
    """As --sw does where the last one fails: pytest's own code stands, and so does the verdict."""
    expense.write("conftest.py", LAST.format("item.session.shouldstop = 'enough'"))
    plain = expense.gate_results("candidate-v2", "--noconftest").files()
    run = expense.gate_results("candidate-v2")

    assert (run.code, run.verdict) == (2, "REVIEW")
    assert "Interrupted: enough" in run.out
    assert run.files() == plain


def test_a_calm_stop_before_the_end_says_one_thing(expense):
    expense.write("conftest.py", FIFTH.format("item.session.shouldstop = 'enough'"))
    run = expense.gate(GOOD)

    assert (run.code, run.verdict) == (2, "HOLD")
    assert run.last.endswith("only 5 of 12 outputs were judged; a part of the evidence decides nothing: run them all")
    assert "the run was interrupted" not in run.out


def test_a_skip_is_counted_in_words(expense):
    expense.write(
        "conftest.py",
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for i in items[:2]: i.add_marker(pytest.mark.skip(reason='no'))\n",
    )
    run = expense.gate(GOOD)

    assert "0 items were deselected and 2 skipped" in run.out


def test_deselected_items_are_counted_in_words(expense):
    assert "11 items were deselected and 0 skipped" in expense.gate(GOOD, "-k", "ER-001").out


@pytest.mark.parametrize(
    ("args", "label", "verdict", "code"),
    [
        (["-x"], BAD, "BLOCK", 12),
        (["--maxfail=1"], "candidate-v2", "HOLD", 11),
        (["-n2"], GOOD, "PASS", 0),
        (["-n2", "--dist=loadfile"], BAD, "BLOCK", 12),
        (["--reruns=2"], BAD, "BLOCK", 12),
        (["-p", "no:randomly", "-v"], GOOD, "PASS", 0),
        (["-n2", "-k", "ER-001"], GOOD, "HOLD", 11),
    ],
)
def test_other_ways_to_run(expense, args, label, verdict, code):
    run = expense.gate(label, *args)

    assert (run.code, run.verdict) == (code, verdict)
    assert len(run.verdicts) == 1


def test_a_rerun_never_upgrades(expense):
    """A check that fails the first time only: the worst report counts."""
    expense.write(
        "conftest.py",
        "seen = set()\n"
        "def flaky(case, output):\n"
        "    if case.id == 'ER-004' and not seen:\n"
        "        seen.add(case.id)\n"
        "        yield 'not today'\n"
        "def pytest_release_gate_checks(): return {'flaky': flaky}\n",
    )
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "flaky"\n\n[[rules]]', 1)
    run = expense.gate_results(GOOD, "--reruns=2")

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert "12 passed, 1 rerun" in run.out


@pytest.mark.parametrize(
    "conftest",
    [
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for i in items: i.add_marker(pytest.mark.xfail(reason='known', strict=True))\n",
        "import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item):\n"
        "    report = yield\n    report.outcome, report.longrepr = 'failed', 'too slow'\n    return report\n",
    ],
    ids=["a strict xfail", "another plugin's verdict"],
)
def test_items_that_others_make_fail_are_failures_of_the_session(expense, conftest):
    """The outputs passed; pytest says that something failed, and its exit code stands."""
    expense.write("conftest.py", conftest)

    assert expense.gate(GOOD).code == 1


def test_xfail_changes_no_verdict(expense):
    expense.write(
        "conftest.py",
        "import pytest\ndef pytest_collection_modifyitems(items):\n"
        "    for i in items: i.add_marker(pytest.mark.xfail(reason='known'))\n",
    )
    run = expense.gate(BAD)

    assert (run.code, run.verdict) == (12, "BLOCK")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no \\x1b[31m luck')", "the check broke: RuntimeError: no \\x1b[31m luck"),
        ("return None", "must yield reasons as strings, this one returned NoneType"),
        ("return True", "must yield reasons as strings, this one returned bool"),
        ("return 'wrong'", "must yield reasons as strings, this one returned str"),
        ("yield 3", "must yield reasons as strings, this one yielded int"),
        ("yield ' '", "a check yielded an empty reason"),
        ("assert case is None", "the check broke: AssertionError"),
    ],
)
def test_a_broken_check_holds(expense, body, words):
    expense.write(
        "conftest.py", f"def own(case, output):\n    {body}\ndef pytest_release_gate_checks(): return {{'own': own}}\n"
    )
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "own"\n\n[[rules]]', 1)
    run = expense.gate(GOOD)

    assert (run.code, run.verdict) == (11, "HOLD")
    assert words in run.out
    assert "12 of the checks broke on an output" in run.last


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("return {'decision_exact': print}", "two checks are called 'decision_exact'"),
        ("return {'own': 3}", "the check 'own' can't be called"),
        ("return ['own']", "must return a mapping of name to check, found list"),
        ("return {'own': lambda case: []}", "the check 'own' takes"),
    ],
)
def test_a_bad_hook_is_a_usage_error(expense, hook, words):
    expense.write("conftest.py", f"def pytest_release_gate_checks():\n    {hook}\n")
    expense.replace("policy/gate.toml", "[[rules]]", '[[checks]]\nname = "own"\n\n[[rules]]', 1)
    run = expense.gate(GOOD)

    assert run.code == 4
    assert words in run.out


def test_two_hooks_with_one_name_are_a_usage_error(expense):
    expense.write("conftest.py", "def pytest_release_gate_checks(): return {'own': print}\n")
    expense.write("other.py", "def pytest_release_gate_checks(): return {'own': print}\n")

    run = expense.gate(GOOD, "-p", "other", env={"PYTHONPATH": "."})

    assert run.code == 4
    assert "two checks are called 'own'" in run.out


def test_the_concluded_hook_sees_each_report(expense):
    expense.write(
        "conftest.py",
        "def pytest_release_gate_concluded(config, report):\n"
        "    print('CONCLUDED', report.snapshot, report.decision.verdict.name)\n",
    )
    run = expense.run("--release-gate=outputs", "-s")

    for said in ("baseline-v1 BLOCK", "candidate-v2 REVIEW", "candidate-v3 PASS"):
        assert f"CONCLUDED {said}" in run.out


def test_a_concluded_hook_that_raises_holds(expense):
    expense.write("conftest.py", "def pytest_release_gate_concluded(config, report): raise ValueError('no')\n")
    run = expense.gate_results(GOOD)

    assert (run.code, run.verdict) == (11, "HOLD")
    assert "a pytest_release_gate_concluded hook raised ValueError: no" in run.last
    assert run.evidence()["decision"]["verdict"] == "HOLD"


def test_a_concluded_hook_can_not_soften_a_verdict(expense):
    expense.write(
        "conftest.py",
        "import contextlib\n"
        "def pytest_release_gate_concluded(config, report):\n"
        "    with contextlib.suppress(Exception): report.decision.verdict = 0\n"
        "    return 'PASS'\n",
    )

    assert expense.gate(BAD).verdict == "BLOCK"


def test_a_broken_test_module_beside_it_is_pytests_own_code(expense):
    expense.write("test_broken.py", "import nothing_like_that\n")
    run = expense.gate(GOOD, "test_broken.py")

    assert (run.code, run.verdict) == (2, "HOLD")


def test_an_ignored_cases_file_is_judged_or_held(expense):
    expense.write("test_own.py", "def test_own(): pass\n")
    run = expense.gate(GOOD, "--ignore=cases/cases.jsonl", "test_own.py")

    assert (run.code, run.verdict) in ((0, "PASS"), (11, "HOLD"))
    assert ("13 passed" in run.out) == (run.code == 0)


def test_data_outside_of_the_rootdir(expense):
    expense.write("sub/pytest.ini", "[pytest]\n")
    run = expense.gate_results(GOOD, "--rootdir=sub", "-c", "sub/pytest.ini", "-rA")

    assert (run.code, run.verdict) == (0, "PASS")
    shown = "sub/../cases/cases.jsonl::ER-001[candidate-v3]"
    assert f"PASSED {shown}" in run.out
    assert "1 passed" in expense.gate(GOOD, "--rootdir=sub", "-c", "sub/pytest.ini", shown).out
    assert str(expense.at) not in (expense.results / "evidence.json").read_text("utf-8")


def test_from_a_subfolder(expense):
    expense.path("sub/deeper").mkdir(parents=True)
    run = expense.run("--release-gate=../../outputs/candidate-v3.jsonl", cwd="sub/deeper")

    assert (run.code, run.verdict) == (0, "PASS")


def test_without_autoload_the_plugin_is_named(expense):
    run = expense.gate(GOOD, "-p", "pytest_release_gate.plugin", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})

    assert (run.code, run.verdict) == (0, "PASS")


def test_switched_off_its_options_are_unknown(expense):
    assert expense.gate(GOOD, "-p", "no:release_gate").code == 4


def test_help_is_one_group_and_touches_nothing(expense):
    expense.gate_results(GOOD)
    run = expense.gate_results(GOOD, "--help")

    assert run.code == 0
    assert "release gate:" in run.out
    assert run.evidence()["decision"]["verdict"] == "PASS"
