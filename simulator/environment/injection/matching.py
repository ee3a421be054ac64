"""Makes a rule's condition ready to be judged for each call."""

from __future__ import annotations

import fnmatch
from typing import assert_never

from simulator.environment.injection.conditions import (
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    CallNumber,
    Condition,
    Expression,
    Not,
    WorldIs,
)
from simulator.environment.injection.expression_matching import ExpressionMatcher
from simulator.environment.injection.matchers import Matcher, Seen, Why
from simulator.environment.injection.place_matching import ArgumentMatcher, WorldMatcher


def ready_condition(condition: Condition, *, negated: bool = False) -> Matcher:
    """Make a condition ready. A `not` is carried inwards, so that what cannot be told never counts as holding."""
    ready: Matcher
    match condition:
        case Not(condition=inner):
            ready = ready_condition(inner, negated=not negated)
        case AllOf(conditions=inner) | AnyOf(conditions=inner):
            parts = tuple(ready_condition(each, negated=negated) for each in inner)
            ready = _All(parts) if isinstance(condition, AllOf) is not negated else _Any(parts)
        case ArgumentIs():
            ready = ArgumentMatcher(condition, negated=negated)
        case WorldIs():
            ready = WorldMatcher(condition, negated=negated)
        case CallNumber():
            ready = _Number(condition, negated=negated)
        case AgentIs():
            ready = _Agent(condition, negated=negated)
        case Expression():
            ready = ExpressionMatcher(condition, negated=negated)
        case _:
            assert_never(condition)
    return ready


# ---------------------------------------------------------------- conditions made of others


class _All(Matcher):
    def __init__(self, parts: tuple[Matcher, ...]) -> None:
        self._parts = parts

    def holds(self, seen: Seen, number: int | None) -> bool | None:
        held: bool | None = True
        for part in self._parts:
            one = part.holds(seen, number)
            if one is False:
                return False
            if one is None:
                held = None
        return held

    def why(self, seen: Seen, number: int | None) -> Why:
        failed = [part.why(seen, number) for part in self._parts if part.holds(seen, number) is False]
        near = len(self._parts) - len(failed) + sum(each.nearness for each in failed)
        return Why(failed[0].reason, near / len(self._parts))


class _Any(Matcher):
    def __init__(self, parts: tuple[Matcher, ...]) -> None:
        self._parts = parts

    def holds(self, seen: Seen, number: int | None) -> bool | None:
        held: bool | None = False
        for part in self._parts:
            one = part.holds(seen, number)
            if one:
                return True
            if one is None:
                held = None
        return held

    def why(self, seen: Seen, number: int | None) -> Why:
        whys = [part.why(seen, number) for part in self._parts]
        nearest = max(whys, key=lambda each: each.nearness)
        if len(whys) == 1:
            return nearest
        return Why(f"{nearest.reason}; no other of its {len(whys)} ways came nearer", nearest.nearness)


# ---------------------------------------------------------------- conditions on the call itself


class _Number(Matcher):
    def __init__(self, condition: CallNumber, *, negated: bool) -> None:
        self._condition, self._negated = condition, negated

    def holds(self, seen: Seen, number: int | None) -> bool | None:
        this = self._this(seen, number)
        return None if this is None else self._fits(this) is not self._negated

    def _this(self, seen: Seen, number: int | None) -> int | None:
        tally = seen.call.tally
        match self._condition.counted:
            case "rule":
                return number
            case "tool":
                return tally.tool_calls + 1
            case "session":
                return tally.session_calls + 1

    def _fits(self, this: int) -> bool:
        n = self._condition.n
        match self._condition.which:
            case "nth":
                return this == n
            case "first":
                return this <= n
            case "every":
                return this % n == 0
            case "after":
                return this > n

    def why(self, seen: Seen, number: int | None) -> Why:
        this = self._this(seen, number) or 0
        whose = {"rule": "", "tool": f" of {seen.call.tool_name}", "session": " of the session"}
        wanted = self._wanted()
        but = "any but " if self._negated else ""
        apart = abs(this - self._condition.n)
        return Why(
            f"this was call {this}{whose[self._condition.counted]}, wanted {but}{wanted}", 1 / (1 + apart)
        )

    def _wanted(self) -> str:
        n = self._condition.n
        match self._condition.which:
            case "nth":
                return f"call {n}"
            case "first":
                return f"one of the first {n}" if n > 1 else "the first"
            case "every":
                return f"every {n}{_ordinal(n)} call"
            case "after":
                return f"one after call {n}"


def _ordinal(n: int) -> str:
    teens = n % 100 in {11, 12, 13}
    return "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


class _Agent(Matcher):
    def __init__(self, condition: AgentIs, *, negated: bool) -> None:
        self._condition, self._negated = condition, negated

    def holds(self, seen: Seen, number: int | None) -> bool:
        del number
        return all(fits for fits, _, _ in self._looks(seen)) is not self._negated

    def _looks(self, seen: Seen) -> list[tuple[bool, str, str]]:
        """Give what is asked for: whether it fits, what was there, and what was wanted."""
        each = (
            ("agent", seen.call.agent, self._condition.agent),
            ("branch", seen.call.branch, self._condition.branch),
        )
        return [
            (fnmatch.fnmatchcase(given, wanted), f"{name} was {given!r}", repr(wanted))
            for name, given, wanted in each
            if wanted
        ]

    def why(self, seen: Seen, number: int | None) -> Why:
        del number
        looks = self._looks(seen)
        if self._negated:
            return Why(f"{looks[0][1]}, wanted any but {looks[0][2]}", 0.0)
        failed = [look for look in looks if not look[0]]
        return Why(f"{failed[0][1]}, wanted {failed[0][2]}", 1 - len(failed) / len(looks))
