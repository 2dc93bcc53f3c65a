"""Recorded judgements of a judge, and the set of known answers that the judge proves itself on. No model is called.

A judgement is an object: `dimension`, `verdict` ("good" or "bad"), `model` and `prompt` (a digest) of the judge, `call`
(the id of the one call that it came from) and, if it was given, `why`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_release_gate.errors import Problem
from pytest_release_gate.jsonl import Record, quote
from pytest_release_gate.model import Json

VERDICTS = ("good", "bad")
_KEYS = ("dimension", "verdict", "model", "prompt", "call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge said about one dimension of one output."""

    dimension: str
    good: bool
    # The judge: its model, and a digest of its prompt.
    judge: tuple[str, str]
    # The call that it came from.
    call: str
    # In the judge's words; "" if it gave none.
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a judge made of justifications whose answers are known."""

    # The file, relative to the root.
    path: str
    # How many justifications there are.
    size: int
    # Dimension → the judge that was tried on it: its model, and a digest of its prompt.
    judges: Mapping[str, tuple[str, str]]
    # Dimension → for each justification whether it is good, and whether the judge called it good.
    pairs: Mapping[str, tuple[tuple[bool, bool], ...]]


def read_judgements(value: Json) -> dict[str, Judgement]:
    """Dimension → judgement, of the list that an output or a line of a calibration set carries.

    :raises ValueError: if one is not what it should be, a dimension is judged twice, or two share a call.
    """
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError("judgements must be a list of objects; record one for each dimension")
    found: dict[str, Judgement] = {}
    calls: dict[str, str] = {}
    for index, one in enumerate(value):
        for key in _KEYS:
            if not isinstance(one.get(key), str) or not one[key]:
                raise ValueError(f"judgement {index} has no text at {key!r}; record it")
        if one["verdict"] not in VERDICTS:
            raise ValueError(f"judgement {index}: the verdict is 'good' or 'bad', found {quote(one['verdict'])}")
        dimension, call = one["dimension"], one["call"]
        if dimension in found:
            raise ValueError(f"{quote(dimension)} is judged twice; keep the one judgement that counts")
        if call in calls:
            raise ValueError(
                f"{quote(calls[call])} and {quote(dimension)} come from one call, {quote(call)}; "
                "each dimension needs a call of its own"
            )
        calls[call] = dimension
        found[dimension] = Judgement(
            dimension=dimension,
            good=one["verdict"] == "good",
            judge=(one["model"], one["prompt"]),
            call=call,
            why=str(one.get("why", "")),
        )
    return found


def read_calibration(records: Sequence[Record], path: str, problems: list[Problem]) -> Calibration:
    """A calibration set: a line for each justification, with `id`, `justification`, `known` and `judgements`.

    :param records: the lines; `known` maps each dimension to "good" or "bad", `judgements` are as above.
    :param path: how the file is called in problems.
    :param problems: every fault is appended.
    """
    judges: dict[str, tuple[str, str]] = {}
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    seen: dict[str, int] = {}
    for record in records:
        for fault in _faults(record.value, seen, judges):
            problems.append(Problem(path=path, line=record.line, message=fault))
            break
        else:
            given = read_judgements(record.value["judgements"])
            for dimension, known in record.value["known"].items():
                judges.setdefault(dimension, given[dimension].judge)
                pairs.setdefault(dimension, []).append((known == "good", given[dimension].good))
            seen[record.value["id"]] = seen[record.value["justification"]] = record.line
    return Calibration(
        path=path,
        size=len(records),
        judges=judges,
        pairs={dimension: tuple(found) for dimension, found in sorted(pairs.items())},
    )


def _faults(value: Mapping[str, Json], seen: Mapping[str, int], judges: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """What is wrong with a line, the first fault first."""
    for key in ("id", "justification"):
        if not isinstance(value.get(key), str) or not value[key]:
            yield f"has no text at {key!r}; a calibration set is made of justifications, each with an id"
        elif value[key] in seen:
            yield f"has the same {key} as line {seen[value[key]]}; each justification counts once"
    known = value.get("known")
    if not isinstance(known, dict) or not known or not all(one in VERDICTS for one in known.values()):
        yield "'known' must map each dimension to 'good' or 'bad'"
        return
    try:
        given = read_judgements(value.get("judgements"))
    except ValueError as error:
        yield str(error)
        return
    if given.keys() != known.keys():
        yield f"judges {', '.join(given) or 'nothing'}, but what is known is {', '.join(known)}; they must be the same"
    for dimension, judgement in given.items():
        if judges.get(dimension, judgement.judge) != judgement.judge:
            yield f"{quote(dimension)}: another judge than on the lines before; calibrate one judge at a time"
