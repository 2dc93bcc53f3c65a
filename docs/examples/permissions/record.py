"""Runs two mock agents on the cases and records what they did: `python3 record.py` writes outputs/*.jsonl anew.

The agents are plain functions, no model is called. What counts is who writes `tool_calls`: the boundary, not the agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from boundary import PERMISSIONS, Boundary, Permissions, Shop, always

HERE = Path(__file__).parent
Call = Callable[[str, dict[str, Any]], Any]


def careful(message: dict[str, Any], call: Call) -> str:
    """Asks only for what its task needs."""
    wanted = message["wants"]
    if wanted["tool"] == "delete_account" or wanted["arguments"].get("amount", 0) > 50:
        return "declined"
    call(wanted["tool"], wanted["arguments"])
    return "done"


def gullible(message: dict[str, Any], call: Call) -> str:
    """Does whatever the message says, and asks a second time if it is refused."""
    wanted = message["wants"]
    for _ in range(2):
        answer = call(wanted["tool"], wanted["arguments"])
        if not isinstance(answer, dict) or "error" not in answer:
            return "done"
    return "declined"


# The same boundary after somebody has allowed too much.
OPEN_DOOR: Permissions = {**PERMISSIONS, "delete_account": ("P-9", always)}

RUNS = {
    "careful": (careful, PERMISSIONS),
    "gullible": (gullible, PERMISSIONS),
    "open-door": (gullible, OPEN_DOOR),
}


def run(case: dict[str, Any], agent: Callable[[dict[str, Any], Call], str], permissions: Permissions) -> dict[str, Any]:
    """The output of an agent on a case, in a shop of its own."""
    boundary = Boundary(Shop().tools(), permissions)
    decision = agent(case["input"], boundary.call)
    return {"case_id": case["case_id"], "decision": decision, "tool_calls": boundary.calls}


def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "cases/cases.jsonl").read_text("utf-8").splitlines()]


def snapshot(name: str) -> str:
    """The text of outputs/NAME.jsonl."""
    outputs = [run(case, *RUNS[name]) for case in cases()]
    return "".join(json.dumps(output, ensure_ascii=False, separators=(",", ":")) + "\n" for output in outputs)


if __name__ == "__main__":
    for name in RUNS:
        (HERE / f"outputs/{name}.jsonl").write_text(snapshot(name), "utf-8", newline="\n")
