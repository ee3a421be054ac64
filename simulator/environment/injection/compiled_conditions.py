"""Makes a rule's condition ready to be judged for each call."""

from __future__ import annotations

import fnmatch
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import NamedTuple, assert_never

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.base.pattern_search import SearchError
from simulator.base.place_names import field_place
from simulator.base.work_limit import MOST_SECONDS, WorkLimit
from simulator.environment.conventions.entity_kinds import plural
from simulator.environment.expressions import json_paths
from simulator.environment.expressions.compiled_expression import ExpressionError
from simulator.environment.expressions.expressions import compiled
from simulator.environment.injection.conditions import (
    AgentIs,
    AllOf,
    AnyOf,
    ArgumentIs,
    CallNumber,
    Condition,
    Expression,
    Matches,
    Not,
    Test,
    WorldIs,
    ready_test,
    shown,
)
from simulator.environment.injection.rule_call import CallContext

# Says what every condition of a rule can do once it is made ready: return whether it holds, and if not, why not.


MOST_SECONDS_OF_ALL = 0.5
"""Processor time that the expressions and patterns of all rules may take for one call."""


_UNLIMITED = nullcontext()


class Seen:
    """What the rules have looked at in one decision, so that nothing is fetched twice."""

    def __init__(self, call: CallContext) -> None:
        self.call = call
        self.limit = WorkLimit()
        """What the rule that is judged may still take."""
        self._given, self._seconds = MOST_SECONDS, MOST_SECONDS_OF_ALL
        self.words: dict[str, str] = {}
        """What was said about an argument's value, by the argument's name."""

    def next_rule(self) -> None:
        """Give the rule that is judged next a limit of its own, out of the time that all rules have for this call."""
        if self.limit.left < self._given:
            self._seconds -= self._given - self.limit.left
            self._given = min(MOST_SECONDS, max(self._seconds, 0.0))
            self.limit = WorkLimit(self._given)

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
        """Return whether the condition holds; None where that hangs on the number, which is not known."""

    @abstractmethod
    def why(self, seen: Seen, number: int | None) -> Why:
        """Say why it does not hold."""


# Makes a rule's condition ready to be judged for each call.


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
        return Why(f"{nearest.reason}; none of its {len(whys)} alternatives came closer", nearest.nearness)


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
        """Return what is asked for: whether it fits, what was there, and what was wanted."""
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


# Tests what stands at some places: in a call's arguments, or in the world.


class _OfPlaces(Matcher):
    """A test of the values that stand at some places."""

    def __init__(self, test: Test, *, negated: bool) -> None:
        self._test, self._negated = ready_test(test), negated
        self._searches = isinstance(test, Matches)

    @abstractmethod
    def _values(self, seen: Seen) -> list[tuple[str, JsonValue]]:
        """Return the values to test, each with its place for people."""

    @abstractmethod
    def _nowhere(self, seen: Seen) -> str:
        """Say that there is no such value."""

    def holds(self, seen: Seen, number: int | None) -> bool:
        del number
        try:
            return self._passes(seen, self._values(seen)) is not self._negated
        except SearchError:
            return False

    def _passes(self, seen: Seen, values: list[tuple[str, JsonValue]]) -> bool:
        if self._test.asks_for_absence:
            return not values
        with seen.limit if self._searches else _UNLIMITED:
            return any(self._test.passes(value) for _, value in values)

    def why(self, seen: Seen, number: int | None) -> Why:
        del number
        test = self._test
        values = self._values(seen)
        try:
            if self._passes(seen, values) is self._negated:
                return self._missed(seen, values)
        except SearchError as error:
            return Why(f"{values[0][0]}: {error}", 0.0)
        # A pattern was too slow when the rule was judged, and is not now.
        return Why(f"could not check in time whether {values[0][0]} is {test.wanted}", 0.0)

    def _missed(self, seen: Seen, values: list[tuple[str, JsonValue]]) -> Why:
        test = self._test
        wanted = f"anything but {test.wanted}" if self._negated else test.wanted
        if not values:
            return Why(f"{self._nowhere(seen)}, wanted {wanted}", 0.0)
        if self._negated:
            place, value = next((each for each in values if self._passes(seen, [each])), values[0])
            return Why(f"{place} was {shown(value)}, wanted {wanted}", 0.0)
        place, value = max(values, key=lambda each: test.near(each[1]))
        others = f" (closest of {len(values)})" if len(values) > 1 else ""
        return Why(f"{place} was {shown(value)}, wanted {wanted}{others}", test.near(value))


class ArgumentMatcher(_OfPlaces):
    """Asks for an argument of the call."""

    def __init__(self, condition: ArgumentIs, *, negated: bool) -> None:
        super().__init__(condition.test, negated=negated)
        self._path = json_paths.parse(condition.path)
        steps = self._path.steps
        self._name = steps[0] if len(steps) == 1 and isinstance(steps[0], str) else None

    def _values(self, seen: Seen) -> list[tuple[str, JsonValue]]:
        arguments = seen.call.arguments
        if self._name is not None:
            name = self._name
            return [(field_place("args", name), arguments[name])] if name in arguments else []
        return [(_inside("args", place), value) for place, value in self._path.found(arguments)]

    def _nowhere(self, seen: Seen) -> str:
        del seen
        return f"{_inside('args', self._path.text)} is absent"


def _inside(root: str, place: str) -> str:
    place = place.removeprefix("$").removeprefix(".")
    return f"{root}{place}" if place.startswith("[") else f"{root}.{place}"


class WorldMatcher(_OfPlaces):
    """Asks for an entity of the world, or for something in it."""

    def __init__(self, condition: WorldIs, *, negated: bool) -> None:
        super().__init__(condition.test, negated=negated)
        self._kind, self._id = condition.entity, condition.entity_id
        self._id_from = json_paths.parse(condition.id_from) if condition.id_from else None
        self._field = json_paths.parse(condition.field)

    def _values(self, seen: Seen) -> list[tuple[str, JsonValue]]:
        entities = self._entities(seen)
        return [
            (place if not at else _inside(place, at), value)
            for key in self._ids(seen)
            if key in entities
            for place in [f"world.{self._kind}[{shown(key)}]"]
            for at, value in self._field.found(entities[key])
        ]

    def _entities(self, seen: Seen) -> Mapping[str, JsonObject]:
        return seen.world.get(self._kind) or seen.world.get(plural(self._kind), {})

    def _ids(self, seen: Seen) -> Iterable[str]:
        if self._id_from is None:
            return (self._id,)
        found = self._id_from.found(seen.call.arguments)
        return dict.fromkeys(key for _, value in found for key in _keys(value))

    def _nowhere(self, seen: Seen) -> str:
        if self._id_from is not None and not self._id_from.found(seen.call.arguments):
            return f"{_inside('args', self._id_from.text)} is absent"
        entities = self._entities(seen)
        there = [key for key in self._ids(seen) if key in entities]
        if there and self._field.steps:
            return f"world.{self._kind}[{shown(there[0])}] has no {self._field.text}"
        return f"world.{self._kind} has no {' or '.join(map(shown, self._ids(seen))) or 'such id'}"


def _keys(value: JsonValue) -> Iterable[str]:
    """Return the ids that an argument names: a text or a whole number is one, a list may name several."""
    if isinstance(value, list):
        return [key for item in value for key in _keys(item)]
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return [str(value)]
    return []


# Asks a rule's expression, such as `args.quantity > 3`, whether it is true for a call.


_FALSE = 0.5
_MOST_SHOWN = 3
_SHORT = ("args", "state", "agent")
"""Variables whose values are short enough for a reason."""


class ExpressionMatcher(Matcher):
    """Asks for an expression to be true. One that has no value does not hold, negated or not."""

    def __init__(self, condition: Expression, *, negated: bool) -> None:
        self._expression = compiled(condition.text)
        self._negated = negated

    def holds(self, seen: Seen, number: int | None) -> bool:
        """Return whether it is true, or false where that is asked for."""
        del number
        try:
            return self._is_true(seen) is not self._negated
        except ExpressionError:
            return False

    def _is_true(self, seen: Seen) -> bool:
        variables = self._variables(seen)
        with seen.limit:
            return bool(self._expression.value(variables))

    def _variables(self, seen: Seen) -> Mapping[str, object]:
        variables: dict[str, object] = {"args": seen.call.arguments, "agent": seen.call.agent}
        names = self._expression.names
        if "world" in names:
            variables["world"] = seen.world
        if "state" in names:
            variables["state"] = seen.state
        if "calls" in names:
            variables["calls"] = seen.calls
        return variables

    def why(self, seen: Seen, number: int | None) -> Why:
        """Say what it was, and the values that it read."""
        del number
        try:
            self._is_true(seen)
        except ExpressionError as error:
            return Why(str(error), 0.0)
        was, wanted = ("true", ", wanted false") if self._negated else ("false", "")
        return Why(f"{self._expression.text} was {was}{wanted}{self._values(seen)}", _FALSE)

    def _values(self, seen: Seen) -> str:
        """Show the values that the expression has read, where that helps."""
        variables = self._variables(seen)
        read = [path for path in self._expression.paths if path.split(".")[0].split("[")[0] in _SHORT]
        told = [
            f"{path} was {shown(value)}"
            for path in read[:_MOST_SHOWN]
            for _, value in json_paths.parse(path).found(dict(variables))  # type: ignore[arg-type] # JSON values by name
        ]
        return f" ({', '.join(told)})" if told else ""
