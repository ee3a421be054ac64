"""Draws choices that a seed repeats, in whatever order they are made."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Chance:
    """A stream of choices that hangs on a seed alone. Each choice names what it is for, so order does not matter."""

    def __init__(self, *seed: str) -> None:
        self._seed = "\x1f".join(seed)

    def number(self, name: str, below: int) -> int:
        """Return a whole number from 0 up to, but not including, `below` (at least 1)."""
        digest = hashlib.sha256(f"{self._seed}\x1f{name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % below

    def choice(self, name: str, among: Sequence[Item]) -> Item:
        """Return one of a sequence that is not empty."""
        return among[self.number(name, len(among))]

    def within(self, name: str, low: float, high: float, digits: int) -> float | int:
        """Return a number between two, rounded; a whole number where `digits` is 0."""
        value = low + (high - low) * self.number(name, 10_001) / 10_000
        return round(value, digits) if digits else round(value)
