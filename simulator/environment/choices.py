"""Picks the choice of a list, such as a status, that a tool would give if all went well."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from simulator.environment.plausible import words_of
from simulator.environment.recall import is_creation, is_read

_WELL = ("success", "ok", "succeeded", "completed")
_AT_FIRST = (
    *_WELL, "processing", "pending", "created", "open", "confirmed", "approved", "allowed", "booked", "placed",
    "accepted", "active", "queued", "scheduled", "new",
)  # fmt: skip
_AT_BEST = (
    *_WELL, "approved", "allowed", "confirmed", "available", "active", "processing", "shipped", "delivered", "open",
)  # fmt: skip
_BAD = frozenset(
    {"error", "failed", "failure", "rejected", "denied", "cancelled", "canceled", "expired", "unavailable", "not",
     "inactive", "blocked", "invalid", "declined", "closed", "over", "no", "missing", "refunded", "returned"}
)  # fmt: skip


def best_choice(choices: Sequence[JsonValue], tool_name: str) -> JsonValue:
    """Give the choice that a tool would make if all went well; None where no choice says so.

    A tool that makes a new thing gives it a state to begin with, one that changes something the state that its name
    tells of, and one that reads the best state.
    """
    told = [choice for choice in choices if isinstance(choice, str)]
    verb = (words_of(tool_name) or ("",))[0]
    if len(verb) >= len("ship") and not is_read(tool_name):
        done = next((choice for choice in told if choice.lower().startswith(verb)), None)
        if done is not None:
            return done
    for good in _AT_FIRST if is_creation(tool_name) else _AT_BEST:
        best = next((choice for choice in told if choice.lower() == good), None)
        if best is not None:
            return best
    fine = [choice for choice in told if not set(words_of(choice)) & _BAD]
    return fine[0] if fine and len(fine) < len(told) else None
