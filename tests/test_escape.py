"""One escape function per sink, each against what is hostile there; what people read stays readable."""

from __future__ import annotations

import json
import re
import shutil
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_release_gate import escape

from story import ROOT, Project

# Any text that JSON can hold, lone surrogates too.
ANY = st.text(st.characters(), max_size=40)
READABLE = "§ é ß 日本語 عربي ✅ 👍🏽 👩‍👩‍👧 naïve – “quoted” € ×"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (READABLE, READABLE),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\rc\td", "a\\x0ab\\x0dc\\x09d"),
        ("\u202eevil", "\\u202eevil"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("no\u00a0break", "no\\xa0break"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("a\u200db", "a\\u200db"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("\ufeffBOM", "\\ufeffBOM"),
        ("::error::x", "\\x3a:error::x"),
        ("  ::error::x", "  \\x3a:error::x"),
        ("##[error]x", "\\x23#[error]x"),
        ("a::b", "a::b"),
        # GitHub's runner takes this for a command wherever it stands in a line.
        ("a ##[b] ##[c]", "a \\x23#[b] \\x23#[c]"),
        ("a ##teamcity[x] # #[y", "a \\x23#teamcity[x] # #[y"),
        ("# heading", "# heading"),
    ],
)
def test_terminal(text, shown):
    assert escape.terminal(text) == shown


@given(ANY)
def test_a_terminal_line_is_one_printable_line(text):
    shown = escape.terminal(text)

    assert "\n" not in shown
    assert "\r" not in shown
    assert "\x1b" not in shown
    assert not re.match(r"\s*::", shown)
    assert not re.search(r"##\w*\[", shown)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode("utf-8")


def test_lines_keeps_line_feeds_only():
    assert escape.lines("a\nb\r\x1b") == "a\nb\\x0d\\x1b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ER-001", "ER-001"),
        ("a::b", "a:\\x3ab"),
        ("a:b", "a:b"),
        ("a[b]", "a\\x5bb]"),
        ("back\\slash", "back\\\\slash"),
        (" padded ", "\\x20padded\\x20"),
        ("§ é 👍", "§ é 👍"),
    ],
)
def test_node_id(text, shown):
    assert escape.node_id(text) == shown


@given(st.lists(ANY | st.text(st.sampled_from("a:\\[ \nx3"), max_size=8), unique=True, max_size=20))
def test_node_ids_stay_different_and_selectable(texts):
    shown = [escape.node_id(text) for text in texts]

    assert len(set(shown)) == len(shown)
    for one in shown:
        assert "::" not in one
        assert "[" not in one
        assert one == one.strip(" ") or one == ""


def test_long_node_ids_are_short_and_different():
    one, other = escape.node_id("x" * 10_000), escape.node_id("x" * 10_001)

    assert one != other
    assert len(one) <= 100


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("candidate-v3", "candidate-v3"),
        ("candidate v3", "candidate%20v3"),
        ("../../etc", "..%2F..%2Fetc"),
        ("100%", "100%25"),
        ("§", "%C2%A7"),
    ],
)
def test_file_name(text, shown):
    assert escape.file_name(text) == shown


@given(st.lists(ANY, unique=True, max_size=20))
def test_file_names_stay_different_and_in_their_folder(texts):
    names = [escape.file_name(text) for text in texts]

    assert len(set(names)) == len(names)
    assert not any("/" in name or "\\" in name or "\x00" in name for name in names)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, § é 👍", "plain text, § é 👍"),
        ("# Decision: PASS", "\\# Decision: PASS"),
        ("a | b", "a \\| b"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert\\(1\\)&lt;/script&gt;"),
        ("![x](http://y)", "\\!\\[x\\]\\(http://y\\)"),
        ("`code` *b* _i_ ~s~", "\\`code\\` \\*b\\* \\_i\\_ \\~s\\~"),
        ("line\nbreak", "line\\\\x0abreak"),
        ("&amp;", "&amp;amp;"),
        ("@someone", "\\@someone"),
    ],
)
def test_markdown(text, shown):
    assert escape.markdown(text) == shown


@given(ANY)
def test_markdown_is_one_line_without_markup(text):
    shown = escape.markdown(text)

    assert "\n" not in shown
    assert "<" not in shown
    assert not re.search(r"(?<!\\)(\\\\)*[|`*\[\]#!]", re.sub(r"\\.", "", shown))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a|b", "`a\\|b`"), ("", ""), ("a\nb", "`a\\x0ab`")],
)
def test_code(text, shown):
    assert escape.code(text) == shown


# ------------------------------------------------------------------------------------------------ through a real run

HOSTILE = {
    "ANSI": "\x1b[2J\x1b[31mred",
    "line feed": "first\nrelease gate: PASS: says who",
    "workflow command": "\n::error title=x::y",
    "at once": "::error::y",
    "old workflow command": "\n##[error]y",
    "in the middle": "a ##teamcity[testFinished name='x'] b ##vso[task.complete result=Succeeded;]",
    "carriage return": "over\r::warning::y",
    "script": "</script><script>alert(1)</script>",
    "right to left": "\u202egnp.exe",
    "backticks": "```\n# Release gate: PASS\n```",
    "pipes": "a | b || c \\| d",
    "XML": "]]> & <b> \x00\x0b\ufffe",
    "lone surrogate": "half \ud83d a pair",
    "separators": "a\u2028b\u2029c\x85d\x0ce",
    "brackets": "a[b]::c",
    "a megabyte": "M" * 1_000_000,
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A run with each hostile text as a title, in an id and as a citation, and everything that it wrote."""
    project = Project(tmp_path_factory.mktemp("hostile"))
    for name in ("cases", "outputs", "policy"):
        shutil.copytree(ROOT / name, project.at / name)
    project.write("pytest.ini", "[pytest]\n")
    schema = json.loads(project.path("cases/case.schema.json").read_text("utf-8"))
    schema["properties"]["case_id"] = {"type": "string"}
    project.write("cases/case.schema.json", json.dumps(schema))
    output_schema = json.loads(project.path("cases/output.schema.json").read_text("utf-8"))
    output_schema["properties"]["case_id"] = {"type": "string"}
    project.write("cases/output.schema.json", json.dumps(output_schema))
    case, output = project.records("cases/cases.jsonl")[0], project.records("outputs/candidate-v3.jsonl")[0]
    cases, outputs = [], []
    for number, text in enumerate(HOSTILE.values()):
        named = {"case_id": f"{number}{text[:9000]}"}  # an id has at most 10,000 characters
        expected = {**case["expected"], "required_citations": [text]}
        cases.append({**case, **named, "title": text, "severity": "critical", "expected": expected})
        outputs.append({**output, **named, "citations": [f"other {text}"]})
    for name, records in (("cases/cases.jsonl", cases), ("outputs/candidate-v3.jsonl", outputs)):
        project.write(name, "".join(json.dumps(record) + "\n" for record in records))
    return project, project.gate_results("candidate-v3", "-rA", "-v", "--junitxml=junit.xml")


def test_hostile_text_is_judged_like_any_other(hostile):
    _, run = hostile

    assert (run.code, run.verdict) == (12, "BLOCK")
    assert run.last.startswith("release gate: BLOCK")
    assert len(run.verdicts) == 1


def test_no_line_of_a_log_is_a_command_or_a_control(hostile):
    _, run = hostile

    assert not re.search(r"^\s*::|##\[", run.out, re.MULTILINE)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", run.out)
    assert "\\x1b[31mred" in run.out
    assert len(run.out) < 1_000_000


def test_junit_is_well_formed_and_readable(hostile):
    project, _ = hostile
    suite = ElementTree.parse(project.path("junit.xml")).getroot()[0]

    failures = [one.find("failure").text for one in suite.iter("testcase")]
    assert len(failures) == len(HOSTILE)
    assert "required_citations_present" in failures[0]
    assert "\\x1b[31mred" in "".join(failures)
    assert len({one.get("name") for one in suite.iter("testcase")}) == len(HOSTILE)


def test_the_report_is_small_and_its_tables_are_regular(hostile):
    project, _ = hostile
    text = (project.results / "RELEASE_REPORT.md").read_bytes().decode("utf-8")

    assert len(text) < 1_000_000
    assert [line for line in text.split("\n") if line.startswith("# ")] == ["# Release gate: BLOCK"]
    assert "<script" not in text
    assert not re.search(r"^\s*(```|::|##\[)", text, re.MULTILINE)
    widths = [
        [len(re.split(r"(?<!\\)\|", line)) for line in table.split("\n")]
        for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    ]
    assert widths
    assert all(len(set(filter(lambda width: width > 1, table))) == 1 for table in widths)


def test_results_are_strict_json_and_lose_nothing(hostile):
    project, run = hostile

    def refuse(constant):
        raise AssertionError(constant)

    for name in ("evidence.json", "candidate-v3.json", "summary.json"):
        json.loads((project.results / name).read_bytes().decode("utf-8"), parse_constant=refuse)
    titles = [one["title"] for one in run.evidence()["snapshots"][0]["results"]]
    assert sorted(titles) == sorted(HOSTILE.values())


def test_every_node_id_is_unique_and_selects_its_item(hostile):
    project, _ = hostile
    listed = project.gate("candidate-v3", "--collect-only", "-q").stdout
    ids = [line for line in listed.split("\n") if line.startswith("cases/cases.jsonl::")]

    assert len(set(ids)) == len(ids) == len(HOSTILE)
    run = project.gate("candidate-v3", *ids)
    assert f"{len(HOSTILE)} failed" in run.out
    assert "1 failed" in project.gate("candidate-v3", ids[-1]).out
