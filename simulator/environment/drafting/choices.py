"""Picks the choice of a list, such as a status, that a tool would give if all went well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_creation, is_read
from simulator.environment.conventions.names import words_of

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


def turned_choices(choices: Sequence[JsonValue], draw: int, shift: int, wanted: JsonValue) -> list[JsonValue]:
    """Give all choices, the wanted one first, or the one that was drawn; null comes last.

    `shift` gives another one first for each item of a list whose items must differ.
    """
    full: list[JsonValue] = [one for one in choices if one is not None] or [*choices]
    start = draw % max(len(full), 1) + shift
    turned = [full[(start + place) % len(full)] for place in range(len(full))]
    nulls: list[JsonValue] = [None] if None in choices and full != choices else []
    if shift:
        return [*nulls, *turned] if nulls and shift % len(choices) == len(choices) - 1 else [*turned, *nulls]
    return [*([] if wanted is None else [wanted]), *turned, *nulls]


_ABSENT = frozenset({"no", "missing", "without", "lacks", "invalid", "not"})


def missing_choice(choices: Sequence[JsonValue], row: Mapping[str, JsonValue]) -> JsonValue:
    """Give the choice that says what a record of the arguments lacks: `no_receipt` where `has_receipt` is false."""
    for choice in choices if row else ():
        words = words_of(choice) if isinstance(choice, str) else ()
        if len(words) > 1 and words[0] in _ABSENT:
            for name, value in row.items():
                if (value is None or value is False or value == "") and set(words[1:]) <= set(words_of(name)):
                    return choice
    return None


def is_refusal(value: JsonValue) -> bool:
    """Tell whether a state says that something was not granted."""
    return isinstance(value, str) and bool(set(words_of(value)) & _BAD)


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
