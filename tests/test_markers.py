"""Markers of items by severity, bucket and tag: the rule for names, and what `-m` makes of them."""

from __future__ import annotations

import ast
import json

import pytest

from pytest_release_gate import markers

from build import case

HOSTILE = [
    "a\nb",
    "x: y (z)",
    "and not or",
    "§ 3.1",
    "²",
    "e\u0301",
    "half \ud83d",
    "\x1b[31m",
    "✓",
    "__import__('os')",
    " ",
    "T" * 10_000,
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deny", "bucket_deny"),
        ("Deny", "bucket_Deny"),
        ("3-way match", "bucket_3_way_match"),
        ("größe", "bucket_größe"),
        ("審査", "bucket_審査"),
        ("a\nb: (c)", "bucket_a_b___c_"),
        # letters to `re` but not to Python, and the other way
        ("x²", "bucket_x_"),
        ("e\u0301", "bucket_e_"),
        ("half \ud83d", "bucket_half__"),
        ("T" * 10_000, "bucket_" + "T" * 100),
    ],
)
def test_the_rule_for_names(text, name):
    assert markers.name_of("bucket", text) == name
    assert name.isidentifier()


def test_a_case_has_each_marker_once():
    one = case(severity="minor", bucket="deny", tags=("new", "a b", "a-b", ""))

    assert markers.of_case(one) == ("release_gate", "minor", "bucket_deny", "tag_new", "tag_a_b")
    assert markers.of_case(case()) == ("release_gate", "major")


def test_only_what_occurs_is_registered_and_once():
    found = [line.partition(":")[0] for line in markers.lines([case(bucket="deny", tags=("b", "a")), case("B")])]

    assert found == ["release_gate", "critical", "major", "minor", "bucket_deny", "tag_a", "tag_b"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_the_data_ends_up_in_a_registered_line(text):
    *_, last = markers.lines([case(bucket=text)])
    name, colon, said = last.partition(":")

    assert ast.parse(name).body[0].value.id.startswith("bucket_")
    assert (colon, said) == (":", " set on release gate items of cases with this bucket")
    assert len(last.splitlines()) == 1


@pytest.mark.parametrize(
    ("expression", "judged"),
    [
        ("bucket_deny", 3),
        ("bucket_deny and not minor", 3),
        ("bucket_deny and critical", 2),
        ("tag_replay", 2),
        ("bucket_deny or tag_replay", 5),
        ("bucket_deny and tag_replay", 0),
    ],
)
def test_m_selects_by_bucket_and_tag(grouped, expression, judged):
    run = grouped.gate("candidate-v3", "-m", expression, "--strict-markers")

    assert (run.code, run.verdict) == (11, "HOLD")
    assert f"only {judged} of 12 outputs were judged" in run.last


@pytest.fixture
def grouped(expense):
    """The shipped suite with buckets and tags."""
    loosen(expense)
    records = expense.records("cases/cases.jsonl")
    for record in records:
        record["bucket"] = "deny" if record["expected"]["decision"] == "reject" else "other"
        record["tags"] = ["replay"] if record["input"]["prior_payment_status"] != "none" else []
    expense.write_records("cases/cases.jsonl", records)
    return expense


def loosen(project):
    """Let the case schema of the project take a bucket and tags."""
    schema = json.loads(project.path("cases/case.schema.json").read_text("utf-8"))
    schema["properties"] |= {"bucket": {"type": "string"}, "tags": {"type": "array"}}
    project.write("cases/case.schema.json", json.dumps(schema))


def test_k_goes_on_by_the_names_as_they_are_written(expense):
    loosen(expense)
    records = expense.records("cases/cases.jsonl")
    records[0] |= {"bucket": "3-way match", "tags": ["réplay"]}
    expense.write_records("cases/cases.jsonl", records)

    for words in ("3-way", "réplay"):
        assert "1 passed, 11 deselected" in expense.gate("candidate-v3", "-k", words).out


def test_pytest_lists_them_while_the_gate_is_used(grouped):
    listed = grouped.gate("candidate-v3", "--markers").stdout

    for name in ("release_gate", "critical", "major", "minor", "bucket_deny", "bucket_other", "tag_replay"):
        assert f"@pytest.mark.{name}: set on" in listed
    assert "bucket_" not in grouped.run("--markers").stdout


def test_two_suites_register_what_occurs_in_either(expense):
    paths = ("--release-gate=outputs/operations/clean.jsonl", "--release-gate=outputs/candidate-v3.jsonl")
    alone, both = expense.run(paths[1], "--markers").stdout, expense.run(*paths, "--markers").stdout

    assert ("bucket_" in alone, "bucket_calculation:" in both) == (False, True)


@pytest.mark.parametrize("more", [[], ["-n2"]], ids=["one process", "two workers"])
def test_hostile_names_select_and_break_nothing(expense, more):
    loosen(expense)
    records = expense.records("cases/cases.jsonl")
    for record, text in zip(records, HOSTILE, strict=True):
        record |= {"bucket": text, "tags": [text, f"{text}!"]}
    expense.write("cases/cases.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    run = expense.gate("candidate-v3", "--strict-markers", "-W", "error", *more)

    assert (run.code, run.verdict) == (0, "PASS")
    for text in HOSTILE[:6]:
        selected = expense.gate("candidate-v3", "--collect-only", "-q", "-m", markers.name_of("tag", text))
        assert "::ER-" in selected.stdout, text


def test_refused_evidence_is_the_reason_whatever_is_selected(expense):
    """Nobody knows its buckets; with strict markers the newest pytest adds that it doesn't know them either (4)."""
    expense.replace("cases/cases.jsonl", '"ER-001"', '"ER-002"', 1)

    for strict, codes in ([], (2,)), (["--strict-markers"], (2, 4)):
        run = expense.gate("candidate-v3", "-m", "bucket_deny", *strict)
        assert run.verdict == "HOLD"
        assert run.code in codes
        assert "cases/cases.jsonl:2" in run.out
