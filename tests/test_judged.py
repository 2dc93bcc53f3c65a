"""Judged quality: recorded judgements count only if the judge is another model and knows the known answers."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

import pytest

from pytest_release_gate import SuiteError, conclude, grade_all, load
from pytest_release_gate.agreement import agreement, distrusted, kappa
from pytest_release_gate.jsonl import read_records
from pytest_release_gate.judgements import Calibration, read_calibration
from pytest_release_gate.model import State

from story import ROOT, Project

POLICY = """\
[suite]
name = "s"
cases = "cases.jsonl"
case_schema = "schema.json"
output_schema = "schema.json"
[[checks]]
name = "prose"
uses = "judged"
dimensions = ["true", "clear"]
calibration = "calibration.jsonl"
precision = 0.8
recall = 0.75
severity = { true = "critical" }
[[rules]]
metric = "judged_good_rate"
at_least = 0.9
otherwise = "BLOCK"
"""
JUDGE = {"model": "judge-1", "prompt": "sha256:1"}


def judgement(dimension: str, verdict: str = "good", call: str = "", **more: str) -> dict[str, str]:
    return {"dimension": dimension, "verdict": verdict, **JUDGE, "call": call or f"call-{dimension}", **more}


def known_answers(wrong: int = 0, size: int = 20) -> list[dict]:
    """Half of them bad; the judge misses the first `wrong` of the bad ones, in the dimension `true`."""
    lines = []
    for n in range(size):
        truth = "bad" if n % 2 else "good"
        said = "good" if n % 2 and n // 2 < wrong else truth
        lines.append(
            {
                "id": f"K{n}",
                "justification": f"because of {n}",
                "known": {"true": truth, "clear": truth},
                "judgements": [judgement("true", said), judgement("clear", truth)],
            }
        )
    return lines


@pytest.fixture
def project(tmp_path) -> Project:
    made = Project(tmp_path)
    made.write("pytest.ini", "[pytest]\n")
    made.write("schema.json", '{"type": "object", "required": ["case_id"]}')
    made.write("gate.toml", POLICY)
    made.write_records("cases.jsonl", [{"case_id": "A", "severity": "minor", "expected": {}}])
    made.write_records("calibration.jsonl", known_answers())
    record(made, judgement("true"), judgement("clear"))
    made.write("outputs/s.meta.json", '{"model": "agent-1"}')
    return made


def record(project: Project, *judgements: object, **more: object) -> None:
    project.write_records("outputs/s.jsonl", [{"case_id": "A", "judgements": list(judgements), **more}])


def judged(project: Project):
    suite = load(project.path("gate.toml"), [project.path("outputs/s.jsonl")], root=project.at)
    return conclude(suite, grade_all(suite)).reports[0]


def run(project: Project, *args: str):
    return project.run(
        "--release-gate=outputs/s.jsonl",
        "--release-gate-policy=gate.toml",
        "--release-gate-results=results",
        *args,
    )


def test_a_judge_that_proved_itself_counts(project):
    good = run(project, "-rA")

    assert (good.code, good.verdict) == (0, "PASS")
    assert "PASSED cases.jsonl::trust-1[calibration]" in good.out
    assert "trust in the judge holds: of calibration 40 of 40 verdicts are right" in good.out
    assert "true: precision 1.00 [0.72, 1.00] (n=10), recall 1.00 [0.72, 1.00] (n=10), kappa 1.00 [" in good.out
    (trust,) = good.evidence()["snapshots"][0]["trust"]
    assert [(m["metric"], m["dimension"], m["value"]) for m in trust["metrics"]] == [
        (f"judge_{name}", dimension, 1.0)
        for dimension in ("true", "clear")
        for name in ("precision", "recall", "kappa")
    ]


def test_what_it_calls_bad_is_a_finding_of_that_kind(project):
    record(project, judgement("true", "bad", why="it was Tuesday"), judgement("clear", "bad"))
    report = judged(project)
    (check,) = report.results[0].checks

    assert [finding.message for finding in check.findings] == [
        "judged bad: 'true'\nit was Tuesday",
        "judged bad: 'clear'",
    ]
    assert [finding.severity for finding in check.findings] == ["critical", "minor"]
    assert report.decision.reasons == ("judged good rate 0.0000 < 0.9000 (n=2)",)


BROKEN = [
    ([], "'true' was not judged; have it judged and record the judgement"),
    ([judgement("true")], "'clear' was not judged"),
    ("good", "judgements must be a list of objects"),
    ([judgement("true"), 3], "judgements must be a list of objects"),
    ([judgement("true"), judgement("true", call="2")], '"true" is judged twice'),
    ([judgement("true", call="1"), judgement("clear", call="1")], '"true" and "clear" come from one call, "1"'),
    ([judgement("true", "fine"), judgement("clear")], "judgement 0: the verdict is 'good' or 'bad', found \"fine\""),
    ([judgement("true", model=""), judgement("clear")], "judgement 0 has no text at 'model'"),
    ([judgement("true"), {"dimension": "clear", "verdict": "good"}], "judgement 1 has no text at 'model'"),
    ([judgement("true", model="judge-2"), judgement("clear")], "'true' was judged by 'judge-2' with the prompt"),
    ([judgement("true"), judgement("clear", prompt="sha256:2")], "which calibration.jsonl knows nothing of"),
]


@pytest.mark.parametrize(("judgements", "words"), BROKEN, ids=[words[:30] for _, words in BROKEN])
def test_what_was_not_judged_properly_is_not_known(project, judgements, words):
    project.write_records("outputs/s.jsonl", [{"case_id": "A", "judgements": judgements}])
    report = judged(project)
    (check,) = report.results[0].checks

    assert report.results[0].state is State.UNGRADED
    assert words in check.findings[0].message
    assert report.decision.verdict.name == "HOLD"


def test_an_output_without_judgements_is_not_known(project):
    project.write_records("outputs/s.jsonl", [{"case_id": "A"}])

    assert judged(project).decision.verdict.name == "HOLD"


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ('{"model": "judge-1"}', "the judge is of the agent's own model, 'judge-1'"),
        ('{"model": " Judge-1 "}', "the judge is of the agent's own model"),
        ('{"agent": "a"}', "the sidecar names no model, so the judge may be the agent itself"),
        ('{"model": " "}', "the sidecar names no model"),
    ],
)
def test_nobody_judges_himself(project, meta, words):
    project.write("outputs/s.meta.json", meta)
    decision = judged(project).decision

    assert decision.verdict.name == "HOLD"
    assert any(words in reason for reason in decision.reasons)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (known_answers(wrong=3), "judge recall of 'true' 0.7000 < 0.7500 (n=10)"),
        (known_answers(size=18), "calibration.jsonl has 18 justifications, at least 20 are needed"),
        (
            [{**line, "known": {"true": "good", "clear": "good"}} for line in known_answers()],
            "judge precision of 'true' 0.0000 < 0.8000 (n=10)",
        ),
        (
            [
                {**line, "known": {"true": line["known"]["true"]}, "judgements": line["judgements"][:1]}
                for line in known_answers()
            ],
            "judge precision of 'clear' is not known (n=0)",
        ),
    ],
)
@pytest.mark.parametrize("verdict", ["good", "bad"])
def test_a_judge_that_fails_on_known_answers_holds_whatever_it_says(project, answers, reason, verdict):
    project.write_records("calibration.jsonl", answers)
    record(project, judgement("true", verdict), judgement("clear", verdict))
    held = run(project)

    assert (held.code, held.verdict) == (11, "HOLD")
    assert f"the graders can't be trusted: {reason}" in held.last
    assert "FAILED cases.jsonl::trust-1[calibration]" in held.out


FIRST = known_answers()[0]
FAULTY = [
    ({"id": ""}, "has no text at 'id'"),
    ({"justification": 3}, "has no text at 'justification'"),
    ({"id": "K1"}, "has the same id as line 2"),
    ({"justification": "because of 1"}, "has the same justification as line 2"),
    ({"known": {}}, "'known' must map each dimension to 'good' or 'bad'"),
    ({"known": {"true": "yes"}}, "'known' must map each dimension to 'good' or 'bad'"),
    ({"known": {"true": "good"}}, "judges true, clear, but what is known is true"),
    ({"judgements": []}, "judges nothing, but what is known is true, clear"),
    ({"judgements": [judgement("true"), judgement("clear", model="other")]}, '"clear": another judge'),
    ({"judgements": [judgement("true"), judgement("true")]}, '"true" is judged twice'),
]


@pytest.mark.parametrize(("change", "problem"), FAULTY, ids=[problem for _, problem in FAULTY])
def test_a_calibration_set_with_a_fault_is_refused_with_its_line(project, change, problem):
    _, second, third, *_ = known_answers()
    project.write_records("calibration.jsonl", [third, second, {**FIRST, **change}])
    with pytest.raises(SuiteError) as caught:
        judged(project)

    assert f"calibration.jsonl:3: {problem}" in str(caught.value)


def of(pairs: list[tuple[bool, bool]]) -> Calibration:
    return Calibration(path="c.jsonl", size=len(pairs), judges={"d": ("m", "p")}, pairs={"d": tuple(pairs)})


G, B = True, False


@pytest.mark.parametrize(
    ("pairs", "precision", "recall", "agreed"),
    [
        ([(G, G), (B, B)], 1, 1, 1),
        ([(G, B), (B, G)], 0, 0, -1),
        ([(G, G), (G, B), (B, G), (B, B)], Fraction(1, 2), Fraction(1, 2), 0),
        # Cohen's own kind of example: 20 and 15 agreed of 50, 5 and 10 not.
        ([(G, G)] * 20 + [(G, B)] * 5 + [(B, G)] * 10 + [(B, B)] * 15, Fraction(3, 4), Fraction(3, 5), Fraction(2, 5)),
        ([(G, G)] * 3, None, None, None),
        ([(B, B)] * 3, 1, 1, None),
        ([], None, None, None),
    ],
)
def test_precision_recall_and_kappa(pairs, precision, recall, agreed):
    values = [metric.value for metric in agreement(of(pairs), "d")]

    assert values == [precision, recall, agreed]
    assert kappa(pairs) == agreed


def test_the_interval_of_kappa_holds_it_and_is_not_empty_at_the_ends():
    for pairs in ([(G, G), (B, B)] * 12, [(G, G)] * 20 + [(G, B)] * 5 + [(B, G)] * 10 + [(B, B)] * 15):
        metric = agreement(of(pairs), "d")[2]
        low, high = metric.interval

        assert low < float(metric.value) <= high <= 1


@pytest.mark.parametrize(("precision", "recall", "count"), [(0.75, 0.6, 0), (0.76, 0.6, 1), (0.75, 0.61, 1)])
def test_the_bounds_themselves_are_within(precision, recall, count):
    pairs = [(G, G)] * 20 + [(G, B)] * 5 + [(B, G)] * 10 + [(B, B)] * 15

    assert len(distrusted(of(pairs), ["d"], precision, recall)) == count


def test_the_shipped_set_is_large_enough_made_by_the_shipped_prompts_and_not_flawless():
    folder = ROOT / "cases/deductions"
    problems: list = []
    read = read_records((folder / "calibration.jsonl").read_bytes(), "c", problems)
    calibration = read_calibration(read, "c", problems)

    sidecars = [json.loads(path.read_text("utf-8")) for path in (ROOT / "outputs/deductions").glob("*.meta.json")]
    models = {meta["model"] for meta in sidecars}

    assert not problems
    assert calibration.size >= 20
    for dimension, (model, prompt) in calibration.judges.items():
        text = (folder / f"judge/{dimension}.md").read_bytes()
        assert prompt == "sha256:" + hashlib.sha256(text).hexdigest()
        assert model not in models
        assert {known for known, _ in calibration.pairs[dimension]} == {True, False}
        assert any(known != said for known, said in calibration.pairs[dimension])


def test_deductions_with_a_judge_of_the_agents_model_holds(expense):
    expense.replace("outputs/deductions/postfix.meta.json", "made-up-model-m", "made-up-judge-l")
    held = expense.gate("deductions/postfix")

    assert (held.code, held.verdict) == (11, "HOLD")
    assert "the judge is of the agent's own model, 'made-up-judge-l'" in held.last
