"""A policy file to a `Policy`: read, checked and refused as a whole, every problem with its line."""

from __future__ import annotations

import difflib
import inspect
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pytest_release_gate.errors import PolicyError, Problem
from pytest_release_gate.matching import show
from pytest_release_gate.model import KILL_RATE, SEVERITIES, Check, CheckFunction, Policy, Rule, Trust, Verdict
from pytest_release_gate.patterns import PatternError, translate

UnitOf = Callable[[str, Collection[str]], str | None]
"""The unit of a metric by its name and the suite's measures, None if there is no such metric."""

SUITE = (
    "name",
    "cases",
    "case_schema",
    "output_schema",
    "document",
    "version",
    "documents",
    "case_version",
)
EVIDENCE = ("missing_output", "malformed_output", "trials", "valid_trials")
_CHECK = ("name", "uses", "when", "severity")
_RULE = ("metric", "where", "at_least", "at_most", "equals", "otherwise", "minimum_n", "allow_missing")
BOUNDS = ("at_least", "at_most", "equals")
WHERE = ("bucket", "severity", "tag", "version")
_TABLES = ("suite", "evidence", "checks", "rules", "trust", "selftest")
SELFTEST = ("equivalent",)
TRUST = ("snapshot", "must", "passed", "where")
# Arguments that the suite gives, not the policy.
GIVEN = frozenset({"documents"})


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` for the nearest known word, or `; there are a, b, c` if none is near."""
    words = sorted(known)
    near = difflib.get_close_matches(word, words, n=1)
    return f", did you mean {near[0]!r}?" if near else f"; there are {', '.join(words)}"


def parse_policy(
    text: str,
    path: str,
    *,
    checks: Mapping[str, CheckFunction],
    measures: Mapping[str, tuple[str, ...]],
    metrics: Sequence[str],
    unit_of: UnitOf,
    trials_of: Callable[[str], int] = lambda metric: 1,
) -> Policy:
    """A policy from the text of its file.

    :param path: how the file is named in problems.
    :param checks: registered name → function, what `uses` may name.
    :param measures: registered name → the measures that the check yields.
    :param metrics: the names of metrics to suggest.
    :param trials_of: how many trials of a case a metric needs.
    :raises PolicyError: with every problem, if there is one.
    """
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError, ArithmeticError) as error:
        found = re.search(r"at line (\d+)", str(error))
        problem = Problem(path=path, line=int(found[1]) if found else None, message=f"is not TOML: {error}")
        raise PolicyError([problem]) from None
    reader = _Reader(path, _Lines(text), checks, measures, metrics, unit_of, trials_of)
    policy = reader.policy(document)
    if reader.problems or policy is None:
        raise PolicyError(reader.problems)
    return policy


class _Lines:
    """Where tables and keys of a TOML text begin; enough grammar to point at a line, nothing is decided by it."""

    _HEADER = re.compile(r"\s*\[{1,2}\s*([\w.\-\"']+)\s*\]{1,2}")
    _KEY = re.compile(r"\s*([\w\-]+|\"[^\"]*\"|'[^']*')\s*[.=]")

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[str, int, str], int] = {}
        counts: dict[str, int] = {}
        table, index = "", 0
        for number, line in enumerate(text.split("\n"), 1):
            if header := self._HEADER.match(line):
                table = header[1]
                index = counts[table] = counts.get(table, -1) + 1
                self._found.setdefault((table, index, ""), number)
            elif key := self._KEY.match(line):
                self._found.setdefault((table, index, key[1].strip("\"'")), number)

    def of(self, table: str, index: int = 0, key: str = "") -> int | None:
        return self._found.get((table, index, key)) or self._found.get((table, index, ""))


class _Reader:
    """Goes through the document once and collects problems."""

    def __init__(
        self,
        path: str,
        lines: _Lines,
        checks: Mapping[str, CheckFunction],
        measures: Mapping[str, tuple[str, ...]],
        metrics: Sequence[str],
        unit_of: UnitOf,
        trials_of: Callable[[str], int],
    ) -> None:
        self.problems: list[Problem] = []
        self._path, self._lines = path, lines
        self._checks, self._measures, self._metrics, self._unit_of = checks, measures, metrics, unit_of
        self._trials_of = trials_of
        self._trials = 1
        # The measures of the checks that were read so far.
        self._yielded: set[str] = set()
        self._place: tuple[str, int] = ("", 0)

    def _complain(self, message: str, key: str = "") -> None:
        line = self._lines.of(*self._place, key)
        self.problems.append(Problem(path=self._path, line=line, message=message))

    def _known(self, table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
        for key in table:
            if key not in known:
                self._complain(f"{what} has no key {key!r}{did_you_mean(key, known)}", key)

    def _text(self, table: Mapping[str, Any], key: str, what: str, *, needed: bool = False) -> str | None:
        value = table.get(key)
        if isinstance(value, str) and value:
            return value
        if value is not None:
            self._complain(f"{key!r} of {what} must be a non-empty string, found {_shown(value)}", key)
        elif needed:
            self._complain(f"{what} needs the key {key!r}")
        return None

    def _whole(self, table: Mapping[str, Any], key: str, what: str, *, least: int, default: int) -> int:
        value = table.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self._complain(f"{key!r} of {what} must be a whole number of at least {least}, found {_shown(value)}", key)
        return default

    def policy(self, document: Mapping[str, Any]) -> Policy | None:
        self._known(document, _TABLES, "the policy")
        tables = {"suite": dict, "evidence": dict, "selftest": dict, "checks": list, "rules": list, "trust": list}
        for name, kind in tables.items():
            value = document.get(name, kind())
            whole = isinstance(value, kind) and (kind is dict or all(isinstance(entry, dict) for entry in value))
            if not whole:
                brackets = f"[{name}]" if kind is dict else f"[[{name}]]"
                self._complain(f"{name!r} must be written as {brackets} tables")
                return None
        suite = self._suite(document.get("suite", {}))
        evidence = self._evidence(document.get("evidence", {}))
        checks = [self._check(entry, index) for index, entry in enumerate(document.get("checks", []))]
        rules = [self._rule(entry, index) for index, entry in enumerate(document.get("rules", []))]
        trust = [self._trust(entry, index) for index, entry in enumerate(document.get("trust", []))]
        equivalent = self._equivalent(document.get("selftest", {}))
        self._place = ("", 0)
        if not checks:
            self._complain("there is no [[checks]] entry: without a check nothing is judged, so add one")
        if not rules:
            self._complain("there is no [[rules]] entry: without a rule nothing is decided, so add one")
        names = [check.name for check in checks if check]
        for name in sorted({name for name in names if names.count(name) > 1}):
            self._complain(f"two checks are named {name!r}; give one of them another name")
        if self.problems:
            return None
        return Policy(
            **suite,
            **evidence,
            checks=tuple(filter(None, checks)),
            rules=tuple(filter(None, rules)),
            trust=tuple(filter(None, trust)),
            equivalent=equivalent,
        )

    def _suite(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self._place = ("suite", 0)
        self._known(table, SUITE, "[suite]")
        needed = {key: self._text(table, key, "[suite]", needed=True) for key in SUITE[:4]}
        return {
            **needed,
            "document": self._text(table, "document", "[suite]"),
            "version": self._text(table, "version", "[suite]") or "",
            "documents": self._documents(table.get("documents", {})),
            "case_version": self._text(table, "case_version", "[suite]"),
        }

    def _documents(self, value: Any) -> dict[str, str]:
        if isinstance(value, dict) and all(isinstance(file, str) and file for file in value.values()):
            return value
        self._complain(f"'documents' of [suite] must map versions to files, found {_shown(value)}", "documents")
        return {}

    def _evidence(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self._place = ("evidence", 0)
        self._known(table, EVIDENCE, "[evidence]")
        fails = {}
        for key in EVIDENCE[:2]:
            value = table.get(key, "refuse")
            if value not in ("refuse", "fail"):
                self._complain(f"{key!r} of [evidence] must be 'refuse' or 'fail', found {_shown(value)}", key)
            fails[key.replace("output", "fails")] = value == "fail"
        self._trials = self._whole(table, "trials", "[evidence]", least=1, default=1)
        valid = self._whole(table, "valid_trials", "[evidence]", least=1, default=self._trials)
        if valid > self._trials:
            self._complain(f"'valid_trials' of [evidence] must be at most the {self._trials} trials", "valid_trials")
        return {**fails, "trials": self._trials, "valid_trials": valid}

    def _equivalent(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        self._place = ("selftest", 0)
        self._known(table, SELFTEST, "[selftest]")
        value = table.get("equivalent", [])
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return tuple(value)
        self._complain(f"'equivalent' of [selftest] must be a list of strings, found {_shown(value)}", "equivalent")
        return ()

    def _trust(self, table: Mapping[str, Any], index: int) -> Trust | None:
        self._place = ("trust", index)
        before = len(self.problems)
        self._known(table, TRUST, "[[trust]]")
        snapshot = self._text(table, "snapshot", "[[trust]]", needed=True)
        must = table.get("must")
        if (must is None) == ("passed" not in table):
            self._complain("[[trust]] needs either 'must' or 'passed'")
        elif must not in (None, "pass", "fail"):
            self._complain(f"'must' of [[trust]] must be 'pass' or 'fail', found {_shown(must)}", "must")
        passed = self._whole(table, "passed", "[[trust]]", least=0, default=0) if "passed" in table else None
        where = self._where(table.get("where", {}))
        if len(self.problems) > before or snapshot is None:
            return None
        return Trust(snapshot=snapshot, where=where, must=must, passed=passed)

    def _check(self, table: Mapping[str, Any], index: int) -> Check | None:
        self._place = ("checks", index)
        name = self._text(table, "name", "[[checks]]", needed=True)
        uses = self._text(table, "uses", "[[checks]]") or name
        severity = self._severity(table.get("severity"))
        when = self._when(table.get("when", {}))
        if name is None or uses is None:
            return None
        function = self._checks.get(uses)
        if function is None:
            self._complain(f"no check is called {uses!r}{did_you_mean(uses, self._checks)}", "uses")
            return None
        arguments = {key: value for key, value in table.items() if key not in _CHECK}
        if not self._takes(name, function, arguments):
            return None
        measures = self._measures.get(uses, ())
        self._yielded.update(measures)
        return Check(
            name=name,
            uses=uses,
            function=function,
            arguments=_plain(arguments),
            when=when,
            severity=severity,
            measures=measures,
        )

    def _takes(self, name: str, function: CheckFunction, arguments: Mapping[str, Any]) -> bool:
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):  # some callables written in C don't tell
            self._complain(f"the check {name!r} has no signature; write it as check(case, output, *, argument=…)")
            return False
        names = [key for key, parameter in parameters.items() if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
        free = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
        good = True
        for key, value in arguments.items():
            if key not in names and not free:
                hint = did_you_mean(key, [*names, *_CHECK])
                self._complain(f"the check {name!r} takes no argument {key!r}{hint}", key)
                good = False
            elif key in names and (wanted := _mistyped(key, value, parameters[key])):
                self._complain(f"{key!r} of the check {name!r} must be {wanted}, found {_shown(value)}", key)
                good = False
        for key in names:
            if parameters[key].default is inspect.Parameter.empty and key not in (*arguments, *GIVEN):
                self._complain(f"the check {name!r} needs the argument {key!r}")
                good = False
        if good and not _callable_with(function, arguments):
            self._complain(
                f"the check {name!r} takes {inspect.signature(function)}; write it as check(case, output, …)"
            )
            good = False
        return good

    def _severity(self, value: Any) -> str | dict[str, str] | None:
        given = list(value.values()) if isinstance(value, dict) else [] if value is None else [value]
        for one in given:
            if one not in SEVERITIES:
                hint = did_you_mean(one, SEVERITIES) if isinstance(one, str) else ""
                self._complain(f"'severity' is {', '.join(SEVERITIES)}; found {_shown(one)}{hint}", "severity")
        return value  # type: ignore[no-any-return]

    def _when(self, value: Any) -> dict[str, tuple[Any, ...]]:
        if not isinstance(value, dict):
            self._complain(f"'when' must be a table of accepted values, found {_shown(value)}", "when")
            return {}
        return {key: tuple(_plain(v) if isinstance(v, list) else [_plain(v)]) for key, v in value.items()}

    def _rule(self, table: Mapping[str, Any], index: int) -> Rule | None:
        self._place = ("rules", index)
        before = len(self.problems)
        self._known(table, _RULE, "[[rules]]")
        metric = self._text(table, "metric", "[[rules]]", needed=True)
        unit = self._unit_of(metric, self._yielded) if metric else None
        if metric and unit is None:
            known = [*self._metrics, *self._yielded, *(f"{name}_rate" for name in self._yielded)]
            self._complain(f"no metric is called {metric!r}{did_you_mean(metric, known)}", "metric")
        elif metric and self._trials_of(metric) > self._trials:
            planned = f"{self._trials} trial{'' if self._trials == 1 else 's'}"
            self._complain(f"{metric!r} needs more than the {planned} of [evidence]; plan them or lower k", "metric")
        otherwise = self._otherwise(table)
        where = self._where(table.get("where", {}))
        if where and metric == KILL_RATE:
            self._complain(f"{metric!r} is about the whole suite, not about some cases; remove 'where'", "where")
        bound, limit = self._bound(table, metric or "?", unit)
        minimum_n = self._whole(table, "minimum_n", "[[rules]]", least=1, default=1)
        allow_missing = self._whole(table, "allow_missing", "[[rules]]", least=0, default=0)
        if len(self.problems) > before or metric is None:
            return None
        return Rule(
            metric=metric,
            where=where,
            bound=bound,
            limit=limit,
            otherwise=otherwise,
            minimum_n=minimum_n,
            allow_missing=allow_missing,
        )

    def _otherwise(self, table: Mapping[str, Any]) -> Verdict:
        value = table.get("otherwise")
        names = [verdict.name for verdict in Verdict if verdict]
        if isinstance(value, str) and value in names:
            return Verdict[value]
        found = "nothing" if value is None else _shown(value)
        self._complain(f"'otherwise' of [[rules]] must be {', '.join(names)}; found {found}", "otherwise")
        return Verdict.HOLD

    def _where(self, value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict):
            self._complain(f"'where' must be a table, found {_shown(value)}", "where")
            return {}
        self._known(value, WHERE, "'where'")
        where = {}
        for key, accepted in value.items():
            values = accepted if isinstance(accepted, list) else [accepted]
            if not values or not all(isinstance(one, str) for one in values):
                self._complain(f"{key!r} in 'where' must be a string or a list of strings", "where")
            elif key == "severity" and not set(values) <= set(SEVERITIES):
                self._complain(f"'severity' in 'where' is {', '.join(SEVERITIES)}; found {_shown(accepted)}", "where")
            where[key] = tuple(map(str, values))
        return where

    def _bound(self, table: Mapping[str, Any], metric: str, unit: str | None) -> tuple[str, Fraction]:
        given = [key for key in BOUNDS if key in table]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            self._complain(f"the rule over {metric!r} needs exactly one of {', '.join(BOUNDS)}; found {found}")
            return "at_least", Fraction(0)
        key = given[0]
        value = table[key]
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not Decimal(value).is_finite():
            self._complain(f"{key!r} of the rule over {metric!r} must be a finite number, found {_shown(value)}", key)
            return key, Fraction(0)
        limit = Fraction(value)
        if limit < 0:
            self._complain(f"{key!r} of the rule over {metric!r} must not be negative, found {value}", key)
        elif unit == "rate" and limit > 1:
            self._complain(f"{key!r} of the rule over {metric!r} must lie between 0 and 1, found {value}", key)
        return key, limit


def _mistyped(key: str, value: Any, parameter: inspect.Parameter) -> str:
    """What an argument must be, "" if it is, or if the check doesn't say."""
    if key == "pattern" and isinstance(value, str):
        try:
            translate(value)
        except PatternError as error:
            return f"a usable pattern (it {error})"
    # Annotations are text here, since no module of ours evaluates them.
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
    if annotation.startswith("Literal["):
        choices = re.findall(r"'(.*?)'", annotation)
        return "" if value in choices else " or ".join(map(repr, choices))
    wanted, fits = _ARGUMENT_TYPES.get(annotation.partition("[")[0], ("", None))
    return "" if fits is None or fits(value) else wanted


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Annotation of a parameter → what it must be, in words and as a test.
_ARGUMENT_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a string", lambda value: isinstance(value, str)),
    "Schema": ("the name of a file", lambda value: isinstance(value, str)),
    "Calibration": ("the name of a file", lambda value: isinstance(value, str)),
    "int": ("a whole number", _is_whole),
    "int | None": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "float | str": ("a number or the path of one", lambda value: isinstance(value, str) or _is_number(value)),
    "Sequence": ("a list of strings", lambda v: isinstance(v, list) and all(isinstance(one, str) for one in v)),
}


def _callable_with(function: CheckFunction, arguments: Mapping[str, Any]) -> bool:
    given = dict.fromkeys(GIVEN & inspect.signature(function).parameters.keys())
    try:
        inspect.signature(function).bind(None, None, **{**given, **arguments})
    except TypeError:
        return False
    return True


def _plain(value: Any) -> Any:
    """TOML's exact decimals as the doubles that JSON numbers are read to."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value).lower()
    return show(value) if isinstance(value, bool | int | str | list | dict) else str(value)
