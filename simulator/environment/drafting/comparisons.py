"""Reads arguments that set a bound or a number of results: `max_price`, `created_after`, `limit`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from pydantic import JsonValue

from simulator.environment.conventions.names import words_of

Comparison: TypeAlias = Literal["at least", "at most"]

_LEAST = frozenset(
    {"min", "minimum", "least", "after", "since", "above", "over", "from", "greater", "gte", "gt", "start"}
)
_MOST = frozenset(
    {"max", "maximum", "most", "before", "until", "below", "under", "to", "less", "lte", "lt", "up", "within", "end"}
)  # fmt: skip
_FILLERS = frozenset({"at", "than", "by", "the", "of", "date", "value"})
_LIMITS = frozenset(
    {
        "limit",
        "max_results",
        "top",
        "top_k",
        "top_n",
        "page_size",
        "per_page",
        "num_results",
        "max_items",
        "results",
        "n",
        "k",
    }
)
_OFFSETS = frozenset({"offset", "skip", "start_index"})


@lru_cache(maxsize=2048)
def comparison(argument: str) -> tuple[Comparison, frozenset[str]] | None:
    """Tell what an argument is a bound on: the way, and the words of the field; None where it is no bound."""
    words = words_of(argument)
    for found, way in ((_LEAST, "at least"), (_MOST, "at most")):
        if len(words) > 1 and (words[0] in found or words[-1] in found):
            left = frozenset(word for word in words if word not in found and word not in _FILLERS)
            dates = frozenset({"date"}) if "date" in words and not left else frozenset()
            return ("at least" if way == "at least" else "at most"), left | dates
    return None


def bounds_on(name: str, arguments: Mapping[str, JsonValue]) -> tuple[float | None, float | None]:
    """Give the least and the most that a call's arguments ask for in a field."""
    low: float | None = None
    high: float | None = None
    for argument, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        found = comparison(argument)
        if found is None or not found[1] or not found[1] <= set(words_of(name)):
            continue
        if found[0] == "at least":
            low = value
        else:
            high = value
    return low, high


def limit_of(arguments: Mapping[str, JsonValue]) -> int | None:
    """Give how many results a call asks for at most; None where it does not say."""
    return _whole(arguments, _LIMITS, least=1)


def offset_of(arguments: Mapping[str, JsonValue]) -> int:
    """Give how many results a call skips, by an offset or by the number of a page (counted from 1)."""
    offset = _whole(arguments, _OFFSETS, least=0)
    if offset is not None:
        return offset
    page, size = _whole(arguments, frozenset({"page", "page_number"}), least=1), limit_of(arguments)
    return (page - 1) * size if page is not None and size is not None else 0


def is_about_results(argument: str) -> bool:
    """Tell whether an argument says which part of the results, or in which order, and nothing about the things."""
    name = "_".join(words_of(argument))
    return name in _LIMITS or name in _OFFSETS or name in {
        "page", "page_number", "page_token", "cursor", "sort", "sort_by", "order_by", "sort_order", "direction",
        "language", "locale", "format", "verbose",
    }  # fmt: skip


def _whole(arguments: Mapping[str, JsonValue], names: frozenset[str], *, least: int) -> int | None:
    for argument, value in arguments.items():
        if (
            "_".join(words_of(argument)) in names
            and isinstance(value, int)
            and not isinstance(value, bool)
            and value >= least
        ):
            return value
    return None
