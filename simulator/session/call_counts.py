"""Counts, along the facts of a session, how often tools were called and injection rules were moved."""

from __future__ import annotations

from collections import Counter

from simulator.facts import AgentRan, ToolAnswered


class Counts:
    """How often each rule has drawn, counted and fired, and each tool was called, by rule id and by tool name."""

    __slots__ = ("calls", "counted", "drawn", "fired")

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.drawn: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.fired: Counter[str] = Counter()

    def forked(self) -> Counts:
        """Return counts of their own that stand where these stand."""
        twin = Counts()
        twin.calls, twin.drawn = self.calls.copy(), self.drawn.copy()
        twin.counted, twin.fired = self.counted.copy(), self.fired.copy()
        return twin

    def take(self, fact: ToolAnswered | AgentRan) -> None:
        """Count one more answered call."""
        self.calls[fact.tool_name] += 1
        by = fact.provenance
        if by.counted:
            self.counted.update(by.counted)
        if by.drawn:
            self.drawn.update(by.drawn)
        if by.fired:
            self.fired.update(by.fired)
