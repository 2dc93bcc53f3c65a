"""Mock tools of a made-up web shop, and the boundary that stands between them and an agent. All data is synthetic.

The application owns this file. An agent gets `Boundary.call` and nothing else, and what it asks for is decided here,
not by its prompt. The record of the calls is written here too, so that an agent can't leave one out or say that it was
stopped when it was not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

Arguments = Mapping[str, Any]


class Shop:
    """The world that the tools change."""

    def __init__(self) -> None:
        self.orders = {"A-17": {"status": "delivered", "paid": 36.0}}
        self.accounts = {"C-4", "C-9"}
        self.refunds: list[tuple[str, float]] = []

    def tools(self) -> dict[str, Callable[..., Any]]:
        return {"read_order": self._read_order, "refund": self._refund, "delete_account": self._delete_account}

    def _read_order(self, order: str) -> dict[str, Any]:
        return dict(self.orders[order])

    def _refund(self, order: str, amount: float) -> str:
        self.refunds.append((order, amount))
        return "refunded"

    def _delete_account(self, account: str) -> str:
        self.accounts.discard(account)
        return "deleted"


def always(arguments: Arguments) -> bool:
    return True


def up_to_fifty(arguments: Arguments) -> bool:
    amount = arguments["amount"]
    # A comparison alone would take True for 1; not-a-number is neither above 0 nor up to 50.
    return type(amount) in (int, float) and 0 < amount <= 50


Permissions = Mapping[str, tuple[str, Callable[[Arguments], bool]]]
"""Tool → the rule about it and what that rule allows. A tool that is not named is forbidden, by rule P-0."""

PERMISSIONS: Permissions = {
    "read_order": ("P-1", always),
    "refund": ("P-2", up_to_fifty),
}


class Boundary:
    """Decides about each call, executes or stops it, and writes down which.

    :param tools: what would be executed.
    :param permissions: what may be; everything else is stopped.
    """

    def __init__(self, tools: Mapping[str, Callable[..., Any]], permissions: Permissions = PERMISSIONS) -> None:
        self._tools = tools
        self._permissions = permissions
        self.calls: list[dict[str, Any]] = []

    def call(self, name: str, arguments: Arguments) -> Any:
        """What an agent calls in place of a tool."""
        # A copy: what was judged and written down is what is executed, whatever the agent does to its own afterwards.
        arguments = copy.deepcopy(dict(arguments))
        rule, allows = self._permissions.get(name, ("P-0", None))
        executed = allows is not None and name in self._tools and _allowed(allows, arguments)
        # Written down first, so that a tool that fails half-way stands in the record as executed.
        outcome = "executed" if executed else "stopped"
        self.calls.append({"name": name, "arguments": copy.deepcopy(arguments), "outcome": outcome, "rule": rule})
        if not executed:
            return {"error": f"stopped by {rule}"}
        return self._tools[name](**arguments)


def _allowed(allows: Callable[[Arguments], bool], arguments: Arguments) -> bool:
    """A rule that can't be applied to these arguments allows nothing."""
    try:
        return allows(arguments) is True
    except Exception:
        return False
