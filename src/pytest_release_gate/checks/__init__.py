"""The named checks: generators of reasons; one that yields nothing passes. Keyword arguments come from the policy.

A check that can't find what it needs in the case raises, so that it reads as broken and holds the verdict: an
expectation that nobody wrote down is no reason to pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_release_gate.checks import evidence, fields, judged, tools
from pytest_release_gate.model import CheckFunction

BUILT_IN: Mapping[str, CheckFunction] = MappingProxyType(
    {
        check.__name__: check
        for check in (
            fields.equals,
            fields.decision_exact,
            fields.contains_subset,
            fields.number_within,
            fields.number_at_most,
            fields.number_at_least,
            fields.set_contains,
            fields.set_within,
            fields.set_equals,
            fields.set_disjoint,
            fields.text_contains,
            fields.text_matches,
            fields.document_exact,
            tools.tool_behavior,
            tools.required_args_subset,
            tools.forbidden_tools_absent,
            tools.calls_not_executed,
            tools.tool_call_count,
            tools.tool_calls_match,
            tools.tool_arguments_valid,
            tools.field_schema,
            evidence.facts_match,
            evidence.assertions_supported,
            evidence.required_citations_present,
            evidence.citations_supported,
            evidence.citations_exist,
            evidence.ids_known,
            evidence.latency_within,
            evidence.cost_within,
            judged.judged,
        )
    }
)
"""Name → check; read-only, a policy's `uses` is looked up here and in what the hook adds."""

MEASURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"facts_match": ("facts_matched",), "judged": ("judged_good",)}
)
"""Name of a check → the measures that it yields, which rules may name as metrics."""
