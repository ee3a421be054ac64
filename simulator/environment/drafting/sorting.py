"""Puts the lists of an answer into the order that a tool's description, or the call, asks for."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from simulator.environment.conventions.names import words_of
from simulator.jsonvalue import JsonObject

_TOLD = (
    (re.compile(r"\b(cheapest|lowest priced?|least expensive)[ -]first\b|\b(sorted|ordered) by (ascending )?price\b"), "price", False),
    (re.compile(r"\b(most expensive|highest priced?|dearest)[ -]first\b"), "price", True),
    (re.compile(r"\b(newest|latest|most recent)[ -]first\b"), "date", True),
    (re.compile(r"\b(oldest|earliest|soonest)[ -]first\b|\b(sorted|ordered) by date\b"), "date", False),
    (re.compile(r"\b(best|highest|top)[ -]rated[ -]first\b|\b(sorted|ordered) by rating\b"), "rating", True),
)  # fmt: skip
_FIELDS = {
    "price": frozenset({"price", "fare", "cost", "amount", "total"}),
    "date": frozenset(
        {"date", "created", "placed", "at", "on", "day", "departs", "starts", "timestamp", "time"}
    ),
    "rating": frozenset({"rating", "stars", "score"}),
}
_FEW = 2


@lru_cache(maxsize=512)
def _order(description: str) -> tuple[str, bool] | None:
    words = " ".join(description.casefold().split())
    return next(((what, falling) for told, what, falling in _TOLD if told.search(words)), None)


def is_ordered(description: str, arguments: JsonObject) -> tuple[str, bool] | None:
    """Tell by what lists are ordered, and whether they fall; None where neither description nor call says so."""
    by = next(
        (arguments[name] for name in ("sort_by", "order_by", "sort") if isinstance(arguments.get(name), str)),
        None,
    )
    if isinstance(by, str):
        words = words_of(by)
        falls = bool(
            {"desc", "descending"}
            & {*words, *words_of(str(arguments.get("sort_order", arguments.get("direction", ""))))}
        )
        for what, names in _FIELDS.items():
            if set(words) & names:
                return what, falls
    return _order(description)


def in_order(value: JsonValue, by: tuple[str, bool]) -> JsonValue:
    """Give an answer with its lists of records in order; a list whose records cannot be compared stays as it is."""
    what, falling = by
    if isinstance(value, dict):
        return {key: in_order(inner, by) for key, inner in value.items()}
    if not isinstance(value, list) or len(value) < _FEW:
        return value
    records = [one for one in value if isinstance(one, dict)]
    field = next(
        (name for name in (records[0] if records else ()) if set(words_of(name)) & _FIELDS[what]), None
    )
    if field is None or len(records) < len(value):
        return value
    numbers = all(isinstance(one.get(field), (int, float)) for one in records)
    texts = all(isinstance(one.get(field), str) for one in records)
    if not numbers and not texts:
        return value

    def place(record: JsonObject) -> Any:
        return record[field]

    found: list[JsonValue] = [*sorted(records, key=place, reverse=falling)]
    return found
