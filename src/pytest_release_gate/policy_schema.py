"""The JSON Schema of a policy file, made from what `policy` accepts; shipped as `policy.schema.json` for editors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_release_gate import policy
from pytest_release_gate.model import SEVERITIES, CheckFunction, Verdict

_TEXT = {"type": "string", "minLength": 1}
_TYPES: Mapping[str, Any] = {
    "str": _TEXT,
    "Schema": _TEXT,
    "Calibration": _TEXT,
    "int": {"type": "integer"},
    "int | None": {"type": "integer"},
    "float": {"type": "number"},
    "float | str": {"type": ["number", "string"]},
    "Sequence": {"type": "array", "items": {"type": "string"}},
}


def policy_schema(checks: Mapping[str, CheckFunction], metrics: Sequence[str]) -> dict[str, Any]:
    """A schema, draft 2020-12, that an editor can complete a policy file by.

    It knows the built-in checks and metrics and allows others, since a suite may bring its own.
    """
    otherwise = [verdict.name for verdict in Verdict if verdict]
    texts = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
    evidence: dict[str, Any] = {key: {"enum": ["refuse", "fail"]} for key in policy.EVIDENCE[:2]}
    evidence |= {key: {"type": "integer", "minimum": 1} for key in policy.EVIDENCE[2:]}
    trust = {
        "snapshot": _TEXT,
        "must": {"enum": ["pass", "fail"]},
        "passed": {"type": "integer", "minimum": 0},
        "where": _closed(dict.fromkeys(policy.WHERE, texts)),
    }
    rule: dict[str, Any] = {key: {"type": "number", "minimum": 0} for key in policy.BOUNDS}
    rule["metric"] = {"type": "string", "examples": sorted(metrics)}
    rule["otherwise"] = {"enum": otherwise}
    rule["where"] = _closed(dict.fromkeys(policy.WHERE, texts))
    rule["minimum_n"], rule["allow_missing"] = {"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}
    suite: dict[str, Any] = dict.fromkeys(policy.SUITE, _TEXT)
    suite["documents"] = {"type": "object", "additionalProperties": _TEXT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of a release gate",
        "description": "gate.toml: what is judged, by which checks, and what may not ship.",
        **_closed(
            {
                "suite": _closed(suite, policy.SUITE[:4]),
                "evidence": _closed(evidence),
                "selftest": _closed({"equivalent": {"type": "array", "items": _TEXT}}),
                "trust": {
                    "type": "array",
                    "items": {
                        **_closed(trust, ["snapshot"]),
                        "oneOf": [{"required": ["must"]}, {"required": ["passed"]}],
                    },
                },
                "checks": {"type": "array", "minItems": 1, "items": _check(checks)},
                "rules": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        **_closed(rule, ["metric", "otherwise"]),
                        "oneOf": [{"required": [key]} for key in policy.BOUNDS],
                    },
                },
            },
            ["suite", "checks", "rules"],
        ),
    }


def _closed(properties: Mapping[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _check(checks: Mapping[str, CheckFunction]) -> dict[str, Any]:
    severity = {"enum": list(SEVERITIES)}
    common = {
        "name": {**_TEXT, "description": "How it reads in results.", "examples": sorted(checks)},
        "uses": {**_TEXT, "description": "The check; left out: the name.", "examples": sorted(checks)},
        "when": {"type": "object", "description": "Dotted path into the case's expected → accepted values."},
        "severity": {"anyOf": [severity, {"type": "object", "additionalProperties": severity}]},
    }
    arguments: dict[str, Any] = {}
    for check in checks.values():
        for name, parameter in inspect.signature(check).parameters.items():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in policy.GIVEN:
                annotation = str(parameter.annotation)
                kind = _TYPES.get(annotation.partition("[")[0], {})
                if annotation.startswith("Literal["):
                    kind = {"enum": re.findall(r"'(.*?)'", annotation)}
                arguments[name] = kind if arguments.get(name, kind) == kind else {}
    return {"type": "object", "properties": {**arguments, **common}, "required": ["name"]}
