"""Says what the rules made of one call: which fired, and why the others did not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pydantic import ConfigDict

from simulator.environment.injection.injection import InjectionRule


@dataclass(frozen=True, slots=True)
class Miss:
    """Why one rule did not fire for a call, and how near it came: 0 is not at all, 1 would be to fire.

    A dataclass, as hundreds are made for a call, and a pydantic model takes twice as long.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    rule_id: str
    reason: str
    nearness: float = 0.0


def nearest_first(misses: Iterable[Miss]) -> tuple[Miss, ...]:
    """Sort misses for people: those that came nearest to firing first, equal ones in their order."""
    return tuple(sorted(misses, key=lambda miss: -miss.nearness))


class RuleVerdict:
    """The verdict of the rules on one call.

    Attributes:
        fired: The rule that answers it, if any.
        modifiers: The rules that fired before it and only delay, distort or lose the answer, in their order.
        drawn: The rules that took a value from their stream for this call, in order.
        counted: The rules whose own counter moves with this call, in order.
    """

    def __init__(
        self,
        *,
        fired: InjectionRule | None,
        modifiers: tuple[InjectionRule, ...],
        drawn: tuple[str, ...],
        counted: tuple[str, ...],
        explain: Callable[[], Iterable[Miss]],
    ) -> None:
        self.fired, self.modifiers, self.drawn, self.counted = fired, modifiers, drawn, counted
        self._explain = explain

    def __repr__(self) -> str:
        fired = self.fired.rule_id if self.fired else None
        return f"Verdict(fired={fired!r}, modifiers={[rule.rule_id for rule in self.modifiers]!r})"

    @cached_property
    def misses(self) -> tuple[Miss, ...]:
        """Why the other rules for this tool did not fire, in their order.

        Put into words when they are first read, from the call as it is then: read them before its arguments change.
        """
        return tuple(self._explain())
