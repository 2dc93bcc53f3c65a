"""Whether the checks would notice: mutants of outputs that are known to be right, made by data, and who fails them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pytest_release_gate.grading import run_checks
from pytest_release_gate.model import Case, Json, Output, Snapshot, Status, Suite

_IDENTITY = frozenset({"case_id", "trial", "error", "earlier_attempts"})
# Recorded once for the whole output; only a budget could notice them.
_SPENT = frozenset({"latency_ms", "cost_usd"})
_INVENTED = "INVENTED-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A right answer with one thing wrong."""

    case_id: str
    # The field, and what was done to it: `citations: drop`.
    what: str
    # Where: `citations[0]`, `tool_calls[1] pay`, `tool_calls[1] pay.amount`.
    where: str
    record: Mapping[str, Json]

    @property
    def names(self) -> tuple[str, str]:
        """What a policy may call it: what was done, or exactly which one it is."""
        return self.what, f"{self.case_id} {self.what} at {self.where.replace('[', '(').replace(']', ')')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """What the checks of a suite made of its mutants."""

    suite: str
    # How many were judged, and how many of them a check failed.
    made: int
    killed: int
    # Declared equivalent by the policy, so that nobody expects a check to fail them.
    equivalent: int
    survivors: tuple[Mutant, ...]
    # Name of a check, or id of a case → killed, made.
    by_check: Mapping[str, tuple[int, int]]
    by_case: Mapping[str, tuple[int, int]]


def selftest(suite: Suite) -> SelfTest:
    """Make mutants of every reference solution and let the checks judge them.

    The reference solutions are the outputs of the snapshots that a `[[trust]]` entry says must pass; without one, those
    outputs of the candidates that pass every check.
    """
    killed_by = {check.name: 0 for check in suite.policy.checks}
    by_case: dict[str, list[int]] = {}
    survivors: list[Mutant] = []
    made = equivalent = 0
    for case, output, others in _references(suite):
        for mutant in mutants(case, output.record, others):
            if any(fnmatchcase(name, pattern) for pattern in suite.policy.equivalent for name in mutant.names):
                equivalent += 1
                continue
            made += 1
            counts = by_case.setdefault(case.id, [0, 0])
            counts[1] += 1
            changed = _as_output(output, mutant.record)
            # A check that breaks on a mutant does not pass it either: the output would be held.
            noticed = [
                check.name
                for check in run_checks(case, changed, suite.policy.checks)
                if check.status in (Status.FAILED, Status.ERROR)
            ]
            for name in noticed:
                killed_by[name] += 1
            if noticed:
                counts[0] += 1
            else:
                survivors.append(mutant)
    return SelfTest(
        suite=suite.policy.name,
        made=made,
        killed=made - len(survivors),
        equivalent=equivalent,
        survivors=tuple(survivors),
        by_check={name: (count, made) for name, count in killed_by.items()},
        by_case={case_id: (counts[0], counts[1]) for case_id, counts in sorted(by_case.items())},
    )


def _references(suite: Suite) -> Iterator[tuple[Case, Output, list[Mapping[str, Json]]]]:
    known = [s for trust, s in zip(suite.policy.trust, suite.known, strict=True) if trust.must == "pass"]
    sources: Sequence[Snapshot] = known or suite.snapshots
    right: dict[str, Output] = {}
    for snapshot in sources:
        for (case_id, _), output in sorted(snapshot.outputs.items()):
            found = run_checks(suite.cases[case_id], output, suite.policy.checks)
            if found and all(check.status in (Status.PASSED, Status.SKIPPED) for check in found):
                right.setdefault(case_id, output)
    others = [output.record for output in right.values()]
    for case_id, output in sorted(right.items()):
        yield suite.cases[case_id], output, others


def _as_output(output: Output, record: Mapping[str, Json]) -> Output:
    numbers = {key: record[key] for key in _SPENT if isinstance(record.get(key), int | float)}
    return replace(output, record=record, **numbers)


def mutants(case: Case, record: Mapping[str, Json], others: Sequence[Mapping[str, Json]]) -> Iterator[Mutant]:
    """Every way to break one thing of a record, in the order of its fields.

    :param others: other right records, whose values for a field are the likeliest wrong ones.
    """
    for key, value in record.items():
        if key in _IDENTITY:
            continue
        for kind, where, changed in _changes(key, value, case, [other.get(key) for other in others]):
            broken = {**copy.deepcopy(dict(record)), key: changed}
            yield Mutant(case_id=case.id, what=f"{key}: {kind}", where=where, record=broken)


_Change = tuple[str, str, Json]


def _changes(key: str, value: Json, case: Case, seen: Sequence[Json]) -> Iterator[_Change]:
    if key in _SPENT:
        if isinstance(value, int | float):
            yield "cross the threshold", key, value * 1000 + 1000
    elif isinstance(value, list):
        yield from _list_changes(key, value, case)
    elif isinstance(value, dict):
        for inner, one in value.items():
            yield "drop", f"{key}.{inner}", {k: v for k, v in value.items() if k != inner}
            yield from (
                (kind, f"{key}.{inner}", {**value, inner: changed}) for kind, changed in _scalar_changes(one, ())
            )
        yield "add", key, {**value, _INVENTED: 1}
    else:
        yield from ((kind, key, changed) for kind, changed in _scalar_changes(value, seen))


def _scalar_changes(value: Json, seen: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Another value, and the same in another type."""
    if isinstance(value, bool):
        yield "change", not value
        yield "change the type", int(value)
    elif isinstance(value, int | float):
        yield "cross the threshold", value * 1000 + 1000
        yield "change the type", str(value)
    elif isinstance(value, str):
        other = next((one for one in seen if isinstance(one, str) and one != value), f"{value}?")
        yield "change", other
        yield "change the type", 1
    elif value is None:
        yield "change", 1


def _list_changes(key: str, value: list[Json], case: Case) -> Iterator[_Change]:
    for index, item in enumerate(value):
        where = f"{key}[{index}]" + (f" {item['name']}" if isinstance(item, dict) and "name" in item else "")
        rest_before, rest_after = value[:index], value[index + 1 :]
        yield "drop", where, rest_before + rest_after
        if isinstance(item, str):
            if re.search(r"\d", item):
                yield "age", where, [*rest_before, re.sub(r"\d+", _older, item, count=1), *rest_after]
        elif isinstance(item, dict) and isinstance(item.get("name"), str):
            yield "twice", where, [*value[: index + 1], copy.deepcopy(item), *rest_after]
            if rest_after and rest_after[0] != item:
                yield "swap", where, [*rest_before, rest_after[0], item, *rest_after[1:]]
            for argument, one in item.get("arguments", {}).items():
                for kind, changed in _scalar_changes(one, ()):
                    call = {**item, "arguments": {**item["arguments"], argument: changed}}
                    yield f"argument, {kind}", f"{where}.{argument}", [*rest_before, call, *rest_after]
    if all(isinstance(item, str) for item in value):
        yield "invent", key, [*value, _INVENTED]
    if (value and all(isinstance(item, dict) and "name" in item for item in value)) or key.endswith("calls"):
        barred = [n for k, v in case.expected.items() if k.startswith("forbidden") and isinstance(v, list) for n in v]
        for name in [*barred, "unknown_tool"]:
            kind = "add an unknown call" if name == "unknown_tool" else "add a forbidden call"
            yield kind, f"{key}+{name}", [*value, {"name": name, "arguments": {}}]


def _older(match: re.Match[str]) -> str:
    return str(int(match[0]) - 1).zfill(len(match[0])) if int(match[0]) else "9" * len(match[0])
