"""How far a judge can be trusted: its verdicts on known answers, as precision, recall and Cohen's kappa."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from pytest_release_gate import wording
from pytest_release_gate.judgements import Calibration
from pytest_release_gate.metrics import exact, wilson
from pytest_release_gate.model import Metric

FEWEST = 20
"""Fewer known answers prove nothing about a judge."""

Pairs = Sequence[tuple[bool, bool]]
"""For each justification, whether it is good, and whether the judge called it good."""


def agreement(calibration: Calibration, dimension: str) -> tuple[Metric, Metric, Metric]:
    """Precision and recall in finding what is bad, and Cohen's kappa, over one dimension of a calibration set."""
    pairs = calibration.pairs.get(dimension, ())
    called = [not known for known, said in pairs if not said]
    bad = [not said for known, said in pairs if not known]
    return (
        _rate("judge_precision", dimension, called),
        _rate("judge_recall", dimension, bad),
        _kappa(dimension, pairs),
    )


def _rate(name: str, dimension: str, hits: Sequence[bool]) -> Metric:
    value = Fraction(sum(hits), len(hits)) if hits else None
    interval = None if value is None else wilson(value, len(hits))
    return Metric(name=name, group=dimension, value=value, n=len(hits), unit="rate", interval=interval)


def _kappa(dimension: str, pairs: Pairs) -> Metric:
    value = kappa(pairs)
    interval = None
    if value is not None:
        by_chance = _chance(pairs)
        low, high = wilson(_agreed(pairs), len(pairs))
        interval = _above_chance(low, by_chance), _above_chance(high, by_chance)
    return Metric(name="judge_kappa", group=dimension, value=value, n=len(pairs), unit="kappa", interval=interval)


def kappa(pairs: Pairs) -> Fraction | None:
    """Cohen's kappa: the agreement beyond that of chance; None without pairs, or if chance alone agrees always.

    Source: Cohen, "A coefficient of agreement for nominal scales" (1960): (p_o - p_e) / (1 - p_e). Its interval is
    Wilson's for the agreement that was observed, p_o, at the chance agreement that was observed, p_e.
    """
    if not pairs or _chance(pairs) == 1:
        return None
    return (_agreed(pairs) - _chance(pairs)) / (1 - _chance(pairs))


def _agreed(pairs: Pairs) -> Fraction:
    return Fraction(sum(known == said for known, said in pairs), len(pairs))


def _chance(pairs: Pairs) -> Fraction:
    known, said = (Fraction(sum(one), len(pairs)) for one in zip(*pairs, strict=True))
    return known * said + (1 - known) * (1 - said)


def _above_chance(share: float, by_chance: Fraction) -> float:
    return (share - float(by_chance)) / (1 - float(by_chance))


def distrusted(calibration: Calibration, dimensions: Iterable[str], precision: float, recall: float) -> list[str]:
    """Why a judge can't be trusted, a sentence each; empty if it can.

    :param precision: the least share, 0 to 1, of what it calls bad that must be bad.
    :param recall: the least share, 0 to 1, of what is bad that it must call bad.
    """
    reasons = []
    if calibration.size < FEWEST:
        reasons.append(f"{calibration.path} has {calibration.size} justifications, at least {FEWEST} are needed")
    for dimension in dimensions:
        found = agreement(calibration, dimension)
        for metric, least in zip(found[:2], (exact(precision), exact(recall)), strict=True):
            if metric.value is None:
                reasons.append(
                    f"{wording.name(metric.name)} of {dimension!r} is not known (n=0): "
                    f"add justifications to {calibration.path}, good ones and bad ones"
                )
            elif metric.value < least:
                got, wanted = wording.told_apart(metric.value, least, "rate")
                reasons.append(f"{wording.name(metric.name)} of {dimension!r} {got} < {wanted} (n={metric.n})")
    return reasons


def own_judge(calibration: Calibration, agent: object) -> str:
    """Why a judge may not judge an agent, a sentence: it is the agent's own model, or nobody knows; "" if it may.

    :param agent: the model that the snapshot's sidecar names, if it names one.
    """
    models = sorted({model for model, _ in calibration.judges.values()})
    if not isinstance(agent, str) or not agent.strip():
        return "the sidecar names no model, so the judge may be the agent itself; write the agent's model into it"
    if any(model.strip().casefold() == agent.strip().casefold() for model in models):
        return f"the judge is of the agent's own model, {agent!r}; have another model judge"
    return ""
