"""The messages of the product, read from its source: for docs/messages.md and the test that holds it true.

python tests/messages.py          # writes the page anew
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from story import ROOT

SRC = ROOT / "src/pytest_release_gate"
PAGE = ROOT / "docs/messages.md"
# Calls that a message is handed to, and names that one is kept under on its way there.
SINKS = frozenset({"_complain", "complain", "_doubt", "_RefusedError", "PatternError", "ResultsError", "UsageError"})
SINKS |= {"Problem", "Ground", "SuiteError", "PolicyError"}
NAMES = frozenset({"message", "reason", "words", "why", "_RUNNING", "UNFINISHED"})
# Modules whose functions return or yield messages.
TELLING = frozenset({"contract", "jsonl", "gate", "agreement", "judgements", "pipeline", "complaints", "patterns"})
TELLING |= {"merge"}
HOLE = "…"


@dataclass(frozen=True)
class Message:
    """A message with `…` for what is filled in, and the module that says it."""

    text: str
    module: str

    @property
    def pieces(self) -> list[str]:
        """What nothing is filled into, the longest first: a test that provokes the message has one in its source."""
        head = self.text.rpartition("; ")[0] or self.text
        found = [piece.strip() for part in (head, self.text) for piece in re.split(f"{HOLE}|[\n(),:;]", part)]
        return sorted({piece for piece in found if len(piece) > 8 and " " in piece}, key=len, reverse=True)

    @property
    def remedy(self) -> str:
        """What to do: the message's own last part, or a sentence from the table below."""
        for start, sentence in REMEDIES.items():
            if self.text.startswith(start):
                return sentence
        said, sign, rest = self.text.rpartition("; ")
        return rest if sign and said else ""


def text_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left) or HOLE) + (text_of(node.right) or HOLE)
    if isinstance(node, ast.IfExp):
        return text_of(node.body)
    return None


def said_in(path: Path) -> Iterator[str]:
    telling = path.stem in TELLING
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        values: list[ast.AST] = []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in SINKS:
            values = [*node.args, *(word.value for word in node.keywords if word.arg in ("message", "reason"))]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in NAMES:
            values = [node.value]
        elif telling and isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            values = list(node.value.elts) if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
        elif telling and isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append":
            values = list(node.args)
        for value in values:
            text = text_of(value)
            if text and " " in text and max(map(len, text.split(HOLE))) > 11:
                yield text


def messages() -> list[Message]:
    found = {
        Message(text=text, module=path.relative_to(SRC).with_suffix("").as_posix())
        for path in sorted(SRC.rglob("*.py"))
        for text in said_in(path)
    }
    return sorted(found, key=lambda one: (one.module, one.text))


def provoked_by(message: Message, sources: dict[str, str]) -> list[str]:
    """The test files that expect the message, or a piece of it."""
    return [name for name, source in sources.items() if any(piece in source for piece in message.pieces)]


def sources() -> dict[str, str]:
    """The test files, with string literals that were broken over lines put together again."""
    found = {}
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        if path.name != "test_messages.py":
            joined = re.sub(r"""["']\s*\n\s*[rf]{0,2}["']""", "", path.read_text("utf-8"))
            found[path.name] = re.sub(r"\\(?=[\[\]().'\"])", "", joined)
    return found


# Of messages that say what is wrong and leave it at that: how they begin → what to do.
REMEDIES: dict[str, str] = {
    "… has … justifications, at least": "add justifications whose answers are known",
    "… of … is not known (n=0)": "add justifications, good ones and bad ones",
    "missing required citations": "a finding: the agent cites too little; the lines below say what it cites",
    "expected exactly one": "a finding: the agent called another tool, none, or several",
    "no call …for the expected": "a finding: an expected call was not made; the line below says which were",
    "required tool arguments were not": "a finding: the line below says which argument differs",
    ", did you mean": "write it as suggested",
    "fits more than one of the forms": "make the record fit one form only, or the schema use anyOf",
    "has an item twice": "remove one of them",
    "… does not match the pattern": "write the value as the pattern has it",
    "… is none of": "use one of the values that are listed",
    "case_id: has": "give the case a shorter id",
    "earlier_attempts: …": "record the list of attempts that died, as objects with an `error`",
    "trial: expected": "number trials from 0",
    "…: must be text that names the version": "give the case the version of the policy that it is judged by",
    "…: … is not finite": "record a finite number, or leave it out",
    "pytest_release_gate_checks must return": "return a dict of name to function from the hook",
    "has the same label as": "rename one of the two files",
    "no snapshot matches": "check the pattern; quote it, so that the shell leaves it alone",
    "the old results file": "remove the file, or make it writable",
    "the results file": "make room, or name another folder",
    "the results folder": "make the folder writable, or name another one",
    "the graders can't be trusted": "mend the checks or the judge, as the rest of the sentence says",
    "… of … outputs were not graded": "mend the check that broke, or add one that applies",
    "the check broke": "mend the check; what it raised is in the message",
    "release gate can't start": "see the lines below it",
    "begins an array": "write one object on each line",
    "is …, expected a JSON object": "write one JSON object",
    "is …, expected an object": "write one object on each line",
    "'known' must map": "write for each dimension whether the justification is good or bad",
    "lacks the check": "run this part again",
    "names the check": "run this part again with this policy",
    "names …, which is no path": "run this part again",
    "the check … is …, whatever": "run this part again",
    "can't be used: …": "the rest of the sentence says why",
    "the run of the agent was lost": "nothing, if few are lost; run those trials again otherwise",
    "has …, which ECMA-262": "write the pattern with what ECMA-262 has",
    "repeats …, which is upside down": "write the smaller number first",
    "… must pass … of … cases": "mend the checks: a snapshot whose answer is known ends otherwise",
    "a conftest.py or a plugin called": "take the call out; nothing was decided",
    "'documents' of [suite]": 'write `documents = { V1 = "V1.md" }`',
    "'equivalent' of [selftest]": "write a list of patterns",
    "'must' of [[trust]]": 'write `must = "pass"` or `must = "fail"`',
    "'valid_trials'": "lower it, or plan more trials",
    "'when' must be": "write a table: path into the case's expected → accepted values",
    "'where' must be": "write a table of bucket, severity, tag or version",
    "[[trust]] needs either": "write one of the two",
    "is not TOML": "mend the file at this line",
    "no check is called": "use the name that is suggested, or register the check",
    "no metric is called": "use the name that is suggested",
    "the check … needs the argument": "write the argument",
    "the check … takes no argument": "use the name that is suggested, or remove it",
    "there is no [[checks]] entry": "add one",
    "there is no [[rules]] entry": "add one",
    "… has no key": "use the name that is suggested, or remove it",
    "… in 'where' must be a string": "write a string or a list of strings",
    "… must be written as": "write the brackets as shown",
    "… needs the key": "add the key",
    "… of [evidence] must be": 'write "refuse" or "fail"',
    "… of the check … must be": "write a value of the kind that is named",
    "… of the rule over … must be": "write a finite number",
    "… of the rule over … must lie": "write a number from 0 to 1",
    "… of the rule over … must not": "write a number from 0 on",
    "… of … must be a non-empty": "write some text",
    "… of … must be a whole": "write a whole number",
    "is no valid schema": "mend the schema where the sentence says",
    "it refers to itself": "let the schema end somewhere",
    "…the pattern": "write the pattern as the sentence says",
    "…the unknown keyword": "a note: mend the name, or begin it with x-",
    "…… is not draft 2020-12": "write the schema for draft 2020-12 as a whole",
    "…… leads to something": "refer to a schema",
    "two suites judge": "rename one of the snapshots",
    "a snapshot can't be called": "rename the file",
    "can't be read": "the rest of the sentence says why",
    "names the policy version": "add the document to the policy, or mend the case",
    "trial … of case … is beyond": "plan more trials, or remove the line",
    "… names …, but there is no such file": "mend the path, which is relative to the policy",
}
# Parts of other messages, which stand in this page with those.
PARTS = (
    "are below minimum",
    "exceed maximum",
    "it refers to itself",
    ", did you mean",
    "… (…); run this part again",
    "earlier_attempts: …",
    "release gate can't start",
    "has an item twice",
)
WHERE = {
    "Options, and what stands around a session": (
        "claim discovery files guard plugin session integrations reporters/codequality"
    ),
    "The policy (exit code 4, before anything is collected)": "policy custom binding",
    "Cases, outputs and schemas (exit code 2, verdict HOLD)": (
        "jsonl contract complaints schema patterns suite judgements"
    ),
    "Checks, on one output": (
        "checks/common checks/evidence checks/fields checks/judged checks/tools grading reporters/remarks"
    ),
    "Why a decision is not PASS": "gate agreement pipeline",
    "Merging (verdict HOLD)": "merge",
}
HEAD = """\
# Messages, and what to do

Every message stands with the file and line that it is about; `…` is what is filled in. This page is made from the
source by `python tests/messages.py`; a test holds that it is complete, and that each message is provoked by a test.
"""


def page() -> str:
    """The document."""
    lines = [HEAD]
    found = [one for one in messages() if not one.text.startswith(PARTS)]
    for heading, modules in WHERE.items():
        lines += [f"## {heading}", "", "| message | what to do |", "| --- | --- |"]
        for one in found:
            if one.module in modules.split():
                said = one.text.partition("\n")[0].removesuffix(f"; {one.remedy}")
                lines.append(f"| {_cell(said)} | {_cell(one.remedy)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return re.sub(r"([|*_<>\\`])", r"\\\1", text) if "`" not in text else text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
