"""A policy in words: what is judged, by which checks, and what may not ship."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_release_gate import escape, wording
from pytest_release_gate.model import Check, Policy, Rule

_BOUNDS = {"at_least": "at least", "at_most": "at most", "equals": "exactly"}


def render(policy: Policy, path: str, front: Sequence[Rule], unit_of: Callable[[str], str], own: Sequence[str]) -> str:
    """The effective policy, with what was left out of the file.

    :param path: where the policy stands.
    :param front: the rules in front of every policy.
    :param unit_of: the unit of a metric.
    :param own: names of checks that are not built in.
    """
    version = f", version {policy.version}" if policy.version else ""
    lines = [f"{path}: the suite {policy.name!r}{version}", ""]
    lines += [f"Cases: {policy.cases} (schema {policy.case_schema}), {policy.trials} output(s) each."]
    lines += [f"Outputs: schema {policy.output_schema}. {_evidence(policy)}", *_documents(policy), ""]
    lines += ["Checks, in this order:", *(_check(check, own) for check in policy.checks), ""]
    lines += ["In front of every policy:", *(_rule(rule, unit_of) for rule in front), ""]
    lines += ["Rules; the worst broken one decides:", *(_rule(rule, unit_of) for rule in policy.rules), ""]
    lines += ["A rule without data is HOLD."]
    return "".join(f"{escape.terminal(line)}\n" for line in lines)


def _evidence(policy: Policy) -> str:
    words = {True: "counts as a failure (and never a PASS)", False: "is refused"}
    return f"A missing output {words[policy.missing_fails]}, a malformed one {words[policy.malformed_fails]}."


def _documents(policy: Policy) -> list[str]:
    lines = [f"Policy document: {policy.document}."] if policy.document else []
    lines += [f"Policy document of {version}: {file}." for version, file in policy.documents.items()]
    if policy.case_version:
        lines.append(f"A case names its version at {policy.case_version}.")
    return lines


def _check(check: Check, own: Sequence[str]) -> str:
    uses = "" if check.uses == check.name else f" ({check.uses})"
    if check.uses in own:
        what = "a check of the suite's own, from a conftest.py or a plugin"
    else:
        what = (inspect.getdoc(check.function) or "").partition("\n")[0].rstrip(".")
    parts = [f"  {check.name}{uses}: {what}."]
    if check.arguments:
        parts.append(f"With {_pairs(check.arguments)}.")
    if check.when:
        parts.append(f"Only where the case expects {_pairs({key: list(v) for key, v in check.when.items()})}.")
    if isinstance(check.severity, str):
        parts.append(f"Its findings are {check.severity}.")
    elif check.severity:
        parts.append(f"Findings by kind: {_pairs(check.severity)}; others as the case.")
    return " ".join(parts)


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value!r}" for key, value in mapping.items())


def _rule(rule: Rule, unit_of: Callable[[str], str]) -> str:
    group = "" if rule.group == "all" else f" where {rule.group}"
    limit = wording.figure(rule.limit, unit_of(rule.metric))
    more = [f"at least {rule.minimum_n} of them"] if rule.minimum_n > 1 else []
    more += [f"{rule.allow_missing} may be missing"] if rule.allow_missing else []
    extra = f" ({', '.join(more)})" if more else ""
    return f"  {rule.otherwise.name} unless {wording.name(rule.metric)}{group} is {_BOUNDS[rule.bound]} {limit}{extra}"
