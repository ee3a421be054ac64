"""Tells which optional fields an answer leaves out: what tells of trouble, or of what is still to come."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_creation
from simulator.environment.conventions.names import words_of

_TROUBLE = frozenset(
    {"error", "errors", "warning", "warnings", "failure", "exception", "problem", "traceback"}
)
_LATER = frozenset(
    {
        "tracking",
        "shipped",
        "delivered",
        "cancelled",
        "canceled",
        "cancellation",
        "refund",
        "refunded",
        "completed",
    }
    | {"returned", "closed", "resolved", "resolution", "deleted", "archived", "finished", "ended", "expired"}
)
_EARLY = frozenset(
    {"processing", "pending", "open", "new", "created", "draft", "queued", "scheduled", "received", "placed"}
    | {"confirmed", "active", "accepted", "booked", "submitted", "in_progress"}
)

_ON_THE_WAY = frozenset(
    {
        "shipped",
        "in_transit",
        "in transit",
        "out_for_delivery",
        "dispatched",
        "delivered",
        "returned",
        "completed",
    }
)


class InAnObject(Protocol):
    """Where a field stands."""

    @property
    def tool_name(self) -> str:
        """The tool that answers."""

    @property
    def beside(self) -> Mapping[str, JsonValue]:
        """What was made before in the same object."""

    @property
    def row(self) -> Mapping[str, JsonValue]:
        """The record that the object is about."""


@lru_cache(maxsize=2048)
def is_trouble(name: str) -> bool:
    """Tell whether a field is there only where something went wrong."""
    return bool(set(words_of(name)) & _TROUBLE)


def is_for_later(name: str, scope: InAnObject) -> bool:
    """Tell whether a field tells of what has not come to pass yet: the tracking number of an order just placed."""
    later = set(words_of(name)) & _LATER
    if not later:
        return False
    verb = words_of(scope.tool_name)[:1]
    if any(word.startswith(verb[0][:5]) for word in later if verb):
        return False
    status = scope.row.get("status", scope.beside.get("status"))
    if "tracking" in later and isinstance(status, str) and status.lower() not in _ON_THE_WAY:
        return True
    return is_creation(scope.tool_name) or (isinstance(status, str) and status.lower() in _EARLY)
