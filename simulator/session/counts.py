"""Counts, along the facts of a session, how often tools were called and injection rules were moved."""

from __future__ import annotations

from collections import Counter

from simulator.facts import ToolAnswered


class Counts:
    """How often each rule has drawn, counted and fired, and each tool was called, by rule id and by tool name."""

    __slots__ = ("calls", "counted", "drawn", "fired")

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.drawn: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.fired: Counter[str] = Counter()

    def take(self, fact: ToolAnswered) -> None:
        """Count one more answered call."""
        self.calls[fact.tool_name] += 1
        by = fact.provenance
        if by.counted:
            self.counted.update(by.counted)
        if by.drawn:
            self.drawn.update(by.drawn)
        if by.fired:
            self.fired.update(by.fired)
