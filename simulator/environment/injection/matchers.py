"""Says what every condition of a rule can do once it is made ready: tell whether it holds, and if not, why not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from simulator.environment.injection.calls import CallContext
from simulator.environment.injection.value_tests import Patience
from simulator.environment.language.budget import MOST_SECONDS, Budget
from simulator.jsonvalue import JsonObject

MOST_SECONDS_OF_ALL = 0.5
"""Processor time that the expressions of all rules may take for one call."""


class Seen:
    """What the rules have looked at in one decision, so that nothing is fetched twice."""

    def __init__(self, call: CallContext) -> None:
        self.call = call
        self.patience = Patience()
        self.work = Budget()
        """What the expressions of the rule that is judged may still take."""
        self._seconds = MOST_SECONDS_OF_ALL
        self.words: dict[str, str] = {}
        """What was said about an argument's value, by the argument's name."""

    def next_rule(self) -> None:
        """Give the rule that is judged next work of its own, out of the time that all rules have for this call."""
        if self.work.taken:
            self._seconds -= self.work.taken
            self.work = Budget(seconds=min(MOST_SECONDS, max(self._seconds, 0.0)))

    @cached_property
    def world(self) -> Mapping[str, Mapping[str, JsonObject]]:
        """The world's entities by plural kind and id."""
        return self.call.world()

    @cached_property
    def state(self) -> JsonObject:
        """The session's state."""
        return self.call.state()

    @cached_property
    def calls(self) -> Sequence[JsonObject]:
        """The earlier calls of the tool."""
        return self.call.calls()


class Why(NamedTuple):
    """Why a condition does not hold, and how near it came: from 0 to 1."""

    reason: str
    nearness: float


class Matcher(ABC):
    """A condition that was made ready.

    `number` is the number of the call among those that the rule counts, or None before that is known.
    """

    @abstractmethod
    def holds(self, seen: Seen, number: int | None) -> bool | None:
        """Tell whether the condition holds; None where that hangs on the number, which is not known."""

    @abstractmethod
    def why(self, seen: Seen, number: int | None) -> Why:
        """Say why it does not hold."""
