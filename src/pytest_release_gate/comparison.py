"""Expected against actual, for whoever draws differences: PyCharm, and plugins that explain failed assertions.

pytest tells such plugins of a failed `==` through `pytest_assertrepr_compare`. Our items compare in checks, not in
`assert` statements, so they tell it themselves, for the first equality that failed on an output.
"""

from __future__ import annotations

import json

import pytest

from pytest_release_gate import escape
from pytest_release_gate.model import Json, Result


def first_failed(result: Result) -> tuple[Json, Json] | None:
    """Expected and actual of the first equality that failed; None if nothing that failed was one."""
    for finding in result.findings:
        if finding.expected is not None or finding.actual is not None:
            return finding.expected, finding.actual
    return None


def readable(expected: Json, actual: Json) -> tuple[Json, Json]:
    """The same two, safe to print: text has its lines and nothing that moves a cursor; they never read alike."""
    # Whoever prints lists and objects prints them by repr, which spells out what can't be seen.
    one, other = (escape.lines(value) if isinstance(value, str) else value for value in (expected, actual))
    if str(one) != str(other):
        return one, other
    return json.dumps(expected, sort_keys=True), json.dumps(actual, sort_keys=True)


def tell(config: pytest.Config, result: Result) -> None:
    """Call the hook of everybody but pytest itself, whose explanation nobody would see and long texts make slow."""
    found = first_failed(result)
    if found is None:
        return
    own = [plugin for plugin in (config.pluginmanager.get_plugin("assertion"),) if plugin is not None]
    hook = config.pluginmanager.subset_hook_caller("pytest_assertrepr_compare", own)
    try:
        expected, actual = readable(*found)
        hook(config=config, op="==", left=actual, right=expected)
    except Exception:  # a check may yield what is no JSON, a plugin may not like what it gets: the text says it anyway
        return
