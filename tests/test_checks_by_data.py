"""Checks that a policy puts together from data: what each holds for and says, and that the documentation is true."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from pytest_release_gate import PolicyError, SuiteError, conclude, grade_all, load
from pytest_release_gate.checks import BUILT_IN
from pytest_release_gate.documents import read_markdown
from pytest_release_gate.model import State

from story import ROOT, Project

DOCS = (ROOT / "docs/checks.md").read_text("utf-8")
HEAD = """\
[suite]
name = "s"
cases = "cases.jsonl"
case_schema = "case.json"
output_schema = "output.json"
document = "POLICY.md"
version = "V2"
"""
RULES = '[[rules]]\nmetric = "pass_rate"\nat_least = 1\notherwise = "BLOCK"\n'
FILES = {
    "POLICY.md": "# P\n## V2 §1 – Title\n## V2 §2 (replaces V1 §1, V1 §9)\n",
    "receipt.schema.json": '{"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}',
    "tools.json": json.dumps(
        {"pay": {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}}
    ),
    "records.jsonl": '{"id": "R-1"}\n{"id": "R-2"}\n',
    "calibration.jsonl": "",
    "case.json": '{"type": "object", "required": ["case_id"]}',
    "output.json": '{"type": "object", "required": ["case_id"]}',
}


@pytest.fixture
def suite(tmp_path) -> Project:
    project = Project(tmp_path)
    for name, text in FILES.items():
        project.write(name, text)
    return project


def judged(project: Project, entry: str, expected: dict, record: dict, rules: str = RULES):
    """What one check entry says of one output."""
    project.write("gate.toml", HEAD + entry + rules)
    project.write_records("cases.jsonl", [{"case_id": "A", "severity": "major", "expected": expected}])
    project.write_records("outputs/s.jsonl", [{"case_id": "A", **record}])
    loaded = load(project.path("gate.toml"), [project.path("outputs/s.jsonl")], root=project.at)
    (result,) = grade_all(loaded)
    return result, conclude(loaded, [result]).reports[0]


def entry(uses: str, **arguments) -> str:
    def toml(value) -> str:
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
        return json.dumps(value, ensure_ascii=False)

    lines = "".join(f"{key} = {toml(value)}\n" for key, value in arguments.items())
    return f'[[checks]]\nname = "it"\nuses = "{uses}"\n{lines}'


def call(name="pay", /, **arguments):
    return {"name": name, "arguments": arguments}


DIGEST = "sha256:" + hashlib.sha256("héllo".encode()).hexdigest()
F = {"field": "x", "expected": "x"}
TABLE = [
    ("equals", F, {"x": 1}, {"x": 1.0}, None),
    ("equals", F, {"x": 1}, {"x": "1"}, "expected x 1, got '1'"),
    ("contains_subset", F, {"x": {"a": [1]}}, {"x": {"a": [2, 1], "b": 0}}, None),
    ("contains_subset", F, {"x": {"a": [1]}}, {"x": {"a": [2]}}, "x does not contain what is expected"),
    ("contains_subset", F, {"x": {}}, {}, "x does not contain what is expected"),
    ("number_within", {**F, "tolerance": 0.1}, {"x": 0.3}, {"x": 0.4}, None),
    ("number_within", {**F, "tolerance": 0.1}, {"x": 0.3}, {"x": 0.41}, "expected x 0.3 ± 0.1, got 0.41"),
    ("number_within", {**F, "tolerance": "t"}, {"x": 5, "t": 2}, {"x": 7}, None),
    ("number_within", {**F, "tolerance": "t"}, {"x": 5, "t": 2}, {"x": 8}, "expected x 5 ± 2, got 8"),
    ("number_within", F, {"x": 5}, {"x": True}, "expected x to be a number near 5, got true"),
    ("number_within", F, {"x": 5}, {}, "expected x to be a number near 5, got nothing"),
    ("number_at_most", {"field": "x", "limit": 10}, {}, {"x": 10}, None),
    ("number_at_most", {"field": "x", "limit": 10}, {}, {"x": 10.5}, "expected x of at most 10, got 10.5"),
    ("number_at_most", {"field": "x", "limit": "l"}, {"l": 1}, {"x": 2}, "expected x of at most 1, got 2"),
    ("number_at_most", {"field": "x", "limit": 1}, {}, {"x": "0"}, "expected x to be a number of at most 1, got '0'"),
    ("number_at_most", {"field": "x", "limit": 1, "if_output": {"a": ["go"]}}, {}, {"x": 2, "a": "stop"}, None),
    (
        "number_at_most",
        {"field": "x", "limit": 1, "if_output": {"a": ["go"]}},
        {},
        {"x": 2, "a": "go"},
        "expected x of at most 1, got 2",
    ),
    ("number_at_least", {"field": "x", "limit": 10}, {}, {"x": 10}, None),
    ("number_at_least", {"field": "x", "limit": 10}, {}, {"x": 9}, "expected x of at least 10, got 9"),
    ("set_contains", F, {"x": [1, "a"]}, {"x": ["a", 1, 2]}, None),
    ("set_contains", F, {"x": [1, True]}, {"x": [1]}, "x lacks [true]"),
    ("set_within", F, {"x": [1, 2]}, {"x": [2]}, None),
    ("set_within", F, {"x": [1]}, {"x": [1, 3]}, "x has [3]"),
    ("set_equals", F, {"x": [1, 2]}, {"x": [2, 1]}, None),
    ("set_equals", F, {"x": [1, 2]}, {"x": [2]}, "x lacks [1]"),
    ("set_equals", F, {"x": [1]}, {"x": [1, 2]}, "x has [2]"),
    ("set_disjoint", F, {"x": [1]}, {"x": [2]}, None),
    ("set_disjoint", F, {"x": [1, 2]}, {"x": [2]}, "x has [2], which it must not"),
    ("text_contains", F, {"x": "b"}, {"x": "abc"}, None),
    ("text_contains", F, {"x": ["a", "z"]}, {"x": "abc"}, "expected x to contain 'z', got 'abc'"),
    ("text_contains", F, {"x": "b"}, {"x": 3}, "expected x to contain 'b', got 3"),
    ("text_matches", {"field": "x", "pattern": "^[0-9]+$"}, {}, {"x": "12"}, None),
    ("text_matches", {"field": "x", "pattern": "^[0-9]+$"}, {}, {"x": "12\n"}, "expected x to match '^[0-9]+$', got"),
    ("document_exact", F, {"x": "a\nb"}, {"x": "a\nb"}, None),
    ("document_exact", F, {"x": "a\nb"}, {"x": "a\nc"}, "x differs"),
    ("document_exact", F, {"x": DIGEST}, {"x": "héllo"}, None),
    ("document_exact", F, {"x": DIGEST}, {"x": DIGEST}, None),
    ("document_exact", F, {"x": DIGEST}, {"x": "hello"}, f"expected x with the digest {DIGEST}, got sha256:"),
    ("document_exact", F, {"x": {"a": 1}}, {"x": {"a": 1}}, None),
    ("document_exact", F, {"x": {"a": 1}}, {"x": {"a": 1, "b": 2}}, "x differs\nmore than expected: $.b"),
    ("document_exact", F, {"x": [1, 2]}, {"x": [2, 1]}, "x differs\nthe same items, in another order"),
    ("document_exact", F, {"x": "a"}, {}, "x differs\nit is not there"),
    ("field_schema", {"field": "x", "schema": "receipt.schema.json"}, {}, {"x": {"id": 1}}, None),
    (
        "field_schema",
        {"field": "x", "schema": "receipt.schema.json"},
        {},
        {"x": {"id": "1"}},
        "x: id: expected a whole number",
    ),
    ("calls_not_executed", {}, {"forbidden_tools": ["ask"]}, {"tool_calls": [call()]}, None),
    (
        "calls_not_executed",
        {},
        {"forbidden_tools": ["pay"]},
        {"tool_calls": [{**call(), "outcome": "stopped"}]},
        None,
    ),
    ("calls_not_executed", {}, {"forbidden_tools": ["pay"]}, {"tool_calls": [call()]}, "the forbidden tool 'pay' was"),
    ("tool_call_count", {"tool": "pay", "at_most": 1}, {}, {"tool_calls": [call()]}, None),
    (
        "tool_call_count",
        {"tool": "pay", "at_most": 1},
        {},
        {"tool_calls": [call(), call()]},
        "expected at least 0 and at most 1 'pay' calls, got 2",
    ),
    (
        "tool_call_count",
        {"tool": "pay", "at_least": 1},
        {},
        {"tool_calls": []},
        "expected at least 1 and any number of 'pay' calls, got 0",
    ),
    ("tool_arguments_valid", {"tools": "tools.json"}, {}, {"tool_calls": [call(n=1)]}, None),
    (
        "tool_arguments_valid",
        {"tools": "tools.json"},
        {},
        {"tool_calls": [call(n=1, m=2)]},
        "call 0 (pay): unexpected field 'm'",
    ),
    (
        "tool_arguments_valid",
        {"tools": "tools.json"},
        {},
        {"tool_calls": [call("steal")]},
        "call 0: there is no schema for the tool 'steal'",
    ),
    (
        "tool_arguments_valid",
        {"tools": "tools.json", "sensitive": ["n"]},
        {},
        {"tool_calls": [call(n=1)]},
        "call 0 (pay): carries the sensitive field 'n'",
    ),
    ("facts_match", {}, {"facts": {"a": 1}}, {"facts": {"a": 1}}, None),
    ("facts_match", {}, {"facts": {"a": 1}}, {"facts": {"a": True}}, "the fact 'a': expected 1, got true"),
    ("facts_match", {}, {"facts": {"a": 1}}, {}, "the fact 'a' is missing, expected 1"),
    ("facts_match", {}, {"facts": {}}, {"facts": {"b": 1}}, "the fact 'b' is not in the golden record"),
    (
        "citations_supported",
        {},
        {"required_citations": ["R"], "allowed_citations": ["S"]},
        {"citations": ["S", "R"]},
        None,
    ),
    (
        "citations_supported",
        {},
        {"required_citations": ["R"], "allowed_citations": []},
        {"citations": []},
        "the required citation 'R' is missing",
    ),
    (
        "citations_supported",
        {},
        {"required_citations": [], "allowed_citations": []},
        {"citations": ["T"]},
        "the citation 'T' is not supported by this case",
    ),
    ("citations_exist", {}, {}, {"citations": ["V2 §1", "V2 §2"]}, None),
    ("citations_exist", {}, {}, {"citations": ["V1 §9"]}, "'V1 §9' was replaced by 'V2 §2'"),
    ("citations_exist", {}, {}, {"citations": ["V2 §3"]}, "'V2 §3' is no rule of version 'V2'"),
    (
        "ids_known",
        {"field": "x", "known": {"p": "POLICY.md", "r": "records.jsonl#id"}},
        {},
        {"x": ["R-2", "V2 §1"]},
        None,
    ),
    ("ids_known", {"field": "x", "known": {"r": "records.jsonl#id"}}, {}, {"x": ["R-3"]}, "'R-3' exists nowhere in r"),
    ("latency_within", {"budget": "b"}, {"b": 1500}, {"latency_ms": 1500}, None),
    (
        "latency_within",
        {"budget": 1500},
        {},
        {"latency_ms": 1501},
        "latency_ms 1501 ms is above the budget of 1500 ms",
    ),
    ("latency_within", {"budget": 1}, {}, {}, "latency_ms was not recorded, so it is not within 1 ms"),
    (
        "latency_within",
        {"budget": 9, "field": "p.model"},
        {},
        {"p": {"model": 10}},
        "p.model 10 ms is above the budget",
    ),
    ("cost_within", {"budget": 0.5}, {}, {"cost_usd": 0.5}, None),
    ("cost_within", {"budget": 0.5}, {}, {"cost_usd": 0.6}, "cost_usd 0.6 USD is above the budget of 0.5 USD"),
]
ASSERTION = {"facts": {"a": 1}, "records": ["R"]}
TABLE += [
    (
        "assertions_supported",
        {},
        ASSERTION,
        {"assertions": [{"text": "t", "fact": "a"}, {"text": "t", "record": "R"}]},
        None,
    ),
    ("assertions_supported", {}, ASSERTION, {"assertions": [{"text": "t"}]}, "assertion 0 rests on nothing"),
    (
        "assertions_supported",
        {},
        ASSERTION,
        {"assertions": [{"text": "t", "fact": "b"}]},
        "assertion 0 rests on 'b', which is no golden fact",
    ),
    (
        "assertions_supported",
        {},
        ASSERTION,
        {"assertions": [{"text": "t", "record": "S"}]},
        "assertion 0 rests on 'S', which is no record of this case",
    ),
]


@pytest.mark.parametrize(("uses", "arguments", "expected", "record", "reason"), TABLE)
def test_what_a_check_says(suite, uses, arguments, expected, record, reason):
    result, _ = judged(suite, entry(uses, **arguments), expected, record)

    if reason is None:
        assert (result.state, result.findings) == (State.PASSED, ())
    else:
        assert result.state is State.FAILED, result.checks
        assert result.findings[0].message.startswith(reason)


ONE, TWO = call("a", n=1), call("b", n=2)


@pytest.mark.parametrize(
    ("arguments", "expected", "made", "reason"),
    [
        ({}, [ONE, TWO], [TWO, ONE, call("c")], None),
        ({}, [ONE, ONE], [ONE, TWO], 'no call for the expected a({"n": 1})'),
        ({"order": "same"}, [ONE, TWO], [ONE, call("c"), TWO], None),
        ({"order": "same"}, [ONE, TWO], [TWO, ONE], 'no call in this place for the expected b({"n": 2})'),
        ({"others": "refused"}, [ONE], [ONE], None),
        ({"others": "refused"}, [ONE], [ONE, TWO], 'calls beyond those expected: b({"n": 2})'),
        ({"ignored": ["n"]}, [ONE], [call("a", n=9)], None),
        ({"ignored": ["n"]}, [ONE], [call("a")], None),
        ({"optional": ["n"]}, [ONE], [call("a")], None),
        ({"optional": ["n"]}, [ONE], [call("a", n=9)], "no call for the expected"),
        ({"defaults": {"n": 1}}, [ONE], [call("a")], None),
        ({"defaults": {"n": 2}}, [ONE], [call("a")], "no call for the expected"),
        ({"tolerances": {"n": 0.5}}, [ONE], [call("a", n=1.5)], None),
        ({"tolerances": {"n": 0.5}}, [ONE], [call("a", n=1.6)], "no call for the expected"),
        ({"tolerances": {"n": 0.1}}, [call("a", n=0.3)], [call("a", n=0.4)], None),
        ({"tolerances": {"n": 5}}, [ONE], [call("a", n=True)], "no call for the expected"),
        ({}, [call("a", n={"$any_of": [1, 2]})], [call("a", n=2)], None),
        ({}, [call("a", n={"$any_of": [1, 2]})], [call("a", n=3)], "no call for the expected"),
        ({}, [call("a"), call("a", n=1)], [call("a", n=1), call("a")], None),
        ({"arguments": "exact"}, [ONE], [ONE], None),
        ({"arguments": "exact"}, [ONE], [call("a", n=1, m=2)], "no call for the expected"),
        ({"arguments": "exact", "ignored": ["m"]}, [ONE], [call("a", n=1, m=2)], None),
        ({"arguments": "exact"}, [call("a", n=[1, 2])], [call("a", n=[2, 1])], "no call for the expected"),
        ({}, [], [ONE], None),
        ({"others": "refused"}, [], [ONE], "calls beyond those expected"),
    ],
)
def test_tool_calls_match(suite, arguments, expected, made, reason):
    result, _ = judged(suite, entry("tool_calls_match", **arguments), {"tool_calls": expected}, {"tool_calls": made})

    found = [finding.summary for finding in result.findings]
    assert (found == []) if reason is None else found[0].startswith(reason)


def test_kinds_have_severities_of_their_own(suite):
    severity = {"wrong": "critical", "missing": "minor"}
    expected = {"facts": {"a": 1, "b": 2, "c": 3}}
    result, report = judged(
        suite, entry("facts_match", severity=severity), expected, {"facts": {"a": 2, "c": 3, "d": 4}}
    )

    assert [(f.severity, f.summary.split(",")[0]) for f in result.findings] == [
        ("critical", "the fact 'a': expected 1"),
        ("minor", "the fact 'b' is missing"),
        ("major", "the fact 'd' is not in the golden record"),
    ]
    metrics = {name: metric.value for name, metric in report.metrics.items()}
    assert metrics["findings"] == 3
    assert metrics["affected_cases"] == metrics["critical_affected_cases"] == 1
    assert (metrics["facts_matched"], metrics["facts_matched_rate"]) == (1, pytest.approx(1 / 3))
    assert report.measures["facts_matched"] == (1, 3)


def test_a_rule_may_name_a_measure(suite):
    rules = '[[rules]]\nmetric = "facts_matched_rate"\nat_least = 0.5\notherwise = "REVIEW"\n'
    expected = {"facts": {"a": 1, "b": 2}}

    assert judged(suite, entry("facts_match"), expected, {"facts": {"a": 1}}, rules)[1].decision.verdict.name == "PASS"
    assert judged(suite, entry("facts_match"), expected, {"facts": {}}, rules)[1].decision.verdict.name == "REVIEW"


def test_a_zero_denominator_is_no_data(suite):
    rules = '[[rules]]\nmetric = "facts_matched_rate"\nat_least = 0\notherwise = "REVIEW"\n'
    _, report = judged(suite, entry("facts_match"), {"facts": {}}, {}, rules)

    assert report.decision.verdict.name == "HOLD"
    assert report.metrics["facts_matched_rate"].value is None


def test_a_measure_that_no_check_yields_is_refused(suite):
    rules = RULES.replace("pass_rate", "facts_matched_rat")
    with pytest.raises(PolicyError, match="no metric is called 'facts_matched_rat', did you mean 'facts_matched_rate'"):
        judged(suite, entry("facts_match"), {}, {}, rules)


def test_the_facts_of_a_missing_output_stay_in_the_denominator(suite):
    suite.write("gate.toml", HEAD + '[evidence]\nmissing_output = "fail"\n' + entry("facts_match") + RULES)
    cases = [{"case_id": name, "severity": "major", "expected": {"facts": {"f": 1, "g": 2}}} for name in "AB"]
    suite.write_records("cases.jsonl", cases)
    suite.write_records("outputs/s.jsonl", [{"case_id": "A", "facts": {"f": 1, "g": 2}}])
    loaded = load(suite.path("gate.toml"), [suite.path("outputs/s.jsonl")], root=suite.at)

    report = conclude(loaded, grade_all(loaded)).reports[0]

    assert report.measures["facts_matched"] == (2, 4)


@pytest.mark.parametrize(
    ("uses", "arguments", "problem"),
    [
        ("field_schema", {"field": "x", "schema": "gone.json"}, "gone.json: can't be read"),
        ("ids_known", {"field": "x", "known": {"r": "records.jsonl"}}, "records.jsonl:1: holds no text at ''"),
        ("ids_known", {"field": "x", "known": {"r": "records.jsonl#no"}}, "records.jsonl:1: holds no text at 'no'"),
        ("tool_arguments_valid", {"tools": "records.jsonl"}, "records.jsonl"),
        ("tool_arguments_valid", {"tools": "case.json"}, "case.json#type"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused(suite, uses, arguments, problem):
    with pytest.raises(SuiteError) as caught:
        judged(suite, entry(uses, **arguments), {}, {})

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("uses", "arguments", "problem"),
    [
        (
            "number_within",
            {**F, "tolerance": True},
            "'tolerance' of the check 'it' must be a number or the path of one",
        ),
        ("tool_call_count", {"tool": "a", "at_least": 1.5}, "'at_least' of the check 'it' must be a whole number"),
        (
            "tool_calls_match",
            {"order": "sorted"},
            "'order' of the check 'it' must be 'any' or 'same', found",
        ),
        ("tool_calls_match", {"ignored": "n"}, "'ignored' of the check 'it' must be a list of strings"),
        ("text_matches", {"field": "x", "pattern": "(a+)+$"}, "must be a usable pattern"),
        ("text_matches", {"field": "x", "pattern": "("}, "must be a usable pattern"),
        ("equals", {"field": "x"}, "the check 'it' needs the argument 'expected'"),
        ("citations_exist", {"fields": "x"}, "takes no argument 'fields', did you mean 'field'?"),
    ],
)
def test_arguments_are_held_against_the_check(suite, uses, arguments, problem):
    with pytest.raises(PolicyError) as caught:
        judged(suite, entry(uses, **arguments), {}, {})

    assert problem in str(caught.value)


VERSIONS = HEAD.replace('document = "POLICY.md"\n', "") + 'documents = { V1 = "V1.md", V2 = "POLICY.md" }\n'


def test_each_case_is_judged_by_the_version_that_it_names(suite):
    suite.write("V1.md", "# V1 §1\n# V1 §9\n")
    suite.write("gate.toml", VERSIONS + 'case_version = "input.version"\n' + entry("citations_exist") + RULES)
    cases = [
        {"case_id": f"A{i}", "severity": "major", "input": {"version": version}, "expected": {}}
        for i, version in enumerate(["V1", "V2", "V2"])
    ]
    suite.write_records("cases.jsonl", cases)
    outputs = [{"case_id": f"A{i}", "citations": [cited]} for i, cited in enumerate(["V1 §1", "V2 §1", "V1 §1"])]
    suite.write_records("outputs/s.jsonl", outputs)
    loaded = load(suite.path("gate.toml"), [suite.path("outputs/s.jsonl")], root=suite.at)

    report = conclude(loaded, grade_all(loaded)).reports[0]

    assert [result.passed for result in report.results] == [True, True, False]
    assert report.results[2].findings[0].summary == "'V1 §1' was replaced by 'V2 §2'"
    assert [(one.group, one.value, one.n) for one in report.groups] == [
        ("version=V1", 1, 1),
        ("version=V2", pytest.approx(0.5), 2),
    ]


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("V3", "names the policy version 'V3', but the suite has documents for 'V1', 'V2'"),
        (3, "input.version: must be text"),
    ],
)
def test_a_version_without_a_document_is_refused(suite, version, problem):
    suite.write("V1.md", "# V1 §1\n")
    suite.write("gate.toml", VERSIONS + 'case_version = "input.version"\n' + entry("citations_exist") + RULES)
    case = {"case_id": "A", "severity": "major", "input": {"version": version}, "expected": {}}
    suite.write_records("cases.jsonl", [case])
    suite.write_records("outputs/s.jsonl", [{"case_id": "A"}])
    with pytest.raises(SuiteError) as caught:
        load(suite.path("gate.toml"), [suite.path("outputs/s.jsonl")], root=suite.at)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rules", "replaced"),
    [
        ("# A §1\ntext # no\n", {"A §1"}, {}),
        ("## A §1 – Title\n", {"A §1"}, {}),
        ("## A-1: Title\n", {"A-1"}, {}),
        ("### A §2 (replaces B §1, B §2) ###\n", {"A §2"}, {"B §1": "A §2", "B §2": "A §2"}),
        ("no headings", set(), {}),
    ],
)
def test_the_rules_of_a_document_are_its_headings(text, rules, replaced):
    document = read_markdown(text)

    assert document.rules == rules
    assert document.replaced == replaced


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ('{"latency": "measured"}', "(n=12, measured)"),
        ('{"latency": "simulated"}', "(n=12, simulated)"),
        ("{}", "(n=12, unstated)"),
        (None, "(n=12, unstated)"),
    ],
)
def test_every_display_says_how_latency_came_about(expense, meta, words):
    expense.path("outputs/candidate-v2.meta.json").unlink()
    if meta is not None:
        expense.write("outputs/candidate-v2.meta.json", meta)
    run = expense.gate_results("candidate-v2")

    assert f"p95 latency 5200 ms > 2500 ms {words}" in run.last
    provenance = words.strip("()").split(", ")[1]
    assert run.evidence()["snapshots"][0]["metrics"]["p95_latency_ms"]["provenance"] == provenance
    assert f"5200 ms {provenance}" in (expense.results / "RELEASE_REPORT.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("meta", "problem"),
    [
        ('{"latency": "guessed"}', 'candidate-v2.meta.json: latency: "guessed" is none of "measured", "simulated"'),
        ('{"agnt": "x"}', "candidate-v2.meta.json: unexpected field 'agnt', did you mean 'agent'?"),
        ("[]", "candidate-v2.meta.json"),
        ("{", "candidate-v2.meta.json:1"),
    ],
)
def test_a_sidecar_that_is_wrong_is_refused(expense, meta, problem):
    expense.write("outputs/candidate-v2.meta.json", meta)
    run = expense.gate("candidate-v2")

    assert (run.code, run.verdict) == (2, "HOLD")
    assert problem in run.out


EXAMPLES = re.findall(r"(?ms)^```toml\n(.*?)^```$", DOCS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: re.findall('name = "(.+?)"', text)[0])
def test_every_example_in_the_documentation_is_a_policy(suite, example):
    suite.write("gate.toml", HEAD + example + RULES)
    suite.write_records("cases.jsonl", [{"case_id": "A", "severity": "major", "expected": {}}])
    suite.write_records("outputs/s.jsonl", [{"case_id": "A"}])

    assert load(suite.path("gate.toml"), [suite.path("outputs/s.jsonl")], root=suite.at).policy.checks


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_check_is_documented_with_an_example(name):
    assert f"`{name}`" in DOCS
    used = {word for example in EXAMPLES for word in re.findall(r'(?:uses|name) = "(\w+)"', example)}
    assert name in used


def test_the_check_of_your_own_in_the_documentation_works(expense):
    (body,) = re.findall(r"(?ms)^```python\n(.*?)^```$", DOCS)
    expense.write("cases/conftest.py", body)
    expense.replace(
        "policy/gate.toml", "[[rules]]", '[[checks]]\nname = "says_please"\nfield = "decision"\n\n[[rules]]', 1
    )
    run = expense.gate("candidate-v3")

    assert "says_please: decision does not say please" in run.out
    assert run.verdict == "BLOCK"
