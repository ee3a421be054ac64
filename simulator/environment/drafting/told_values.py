"""Reads from the description of a field what its values are: in which unit, of which kind, or the like of which example."""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.environment.conventions.names import words_of
from simulator.environment.drafting.plausible import is_telling

_EXAMPLE = re.compile(
    r"\b(?:e\.g\.|for example|for instance|such as|example:|examples:)[,:]?\s+"
    r"(?:[\"'`]([^\"'`\n]{1,60})[\"'`]|([\w:+/@.,\u20ac$#-]*\d[\w:+/@.\u20ac$#-]*\w))",
    re.IGNORECASE,
)
_KINDS = (
    "date",
    "timestamp",
    "datetime",
    "time",
    "email",
    "url",
    "phone",
    "currency",
    "country",
    "city",
    "address",
    "name",
)
"""Last words of what a field is said to hold, and what a field of such a name holds."""
_SPLIT = re.compile(r"[.,;(]|\b(?:of|for|in|at|when|where|that|which|as|from|on|to|if|by)\b", re.IGNORECASE)
_HEATS = frozenset({"temperature", "temp", "high", "low", "feels", "setpoint", "dewpoint"})
_MONEY = frozenset(
    {"price", "amount", "total", "subtotal", "cost", "fee", "tax", "balance", "fare", "discount", "shipping"}
)


@lru_cache(maxsize=2048)
def name_told(name: str, description: str) -> str:
    """Give the name that tells what a text field holds: its own, or one that ends in the kind that its description names."""
    if not description or is_telling(name):
        return name
    words = words_of(_SPLIT.split(description, maxsplit=1)[0])
    kind = next((one for one in reversed(words[-2:]) if one in _KINDS), None)
    return name if kind is None else f"{name}_{kind}"


@lru_cache(maxsize=2048)
def example_told(description: str) -> str | None:
    """Give the value that a description shows for example; None where it shows none."""
    found = _EXAMPLE.search(description)
    return None if found is None else found.group(1) or found.group(2)


def in_told_unit(amount: float, name: str, description: str, *, whole: bool) -> float | int:
    """Give an amount, in degrees Celsius or in whole money, in the unit that the field's description names."""
    if not description:
        return amount
    words, said = set(words_of(name)), description.lower()
    made: float = amount
    if words & _HEATS and re.search(r"fahrenheit|\u00b0\s?f\b", said):
        made = round(amount * 9 / 5 + 32, 1)
    elif words & _HEATS and "kelvin" in said:
        made = round(amount + 273.15, 1)
    elif words & _MONEY and re.search(r"\bin (?:\w+ )?cents\b|\bminor units?\b", said):
        made = round(amount * 100)
    return round(made) if whole else round(made, 2)
