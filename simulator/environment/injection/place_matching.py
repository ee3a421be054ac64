"""Tests what stands at some places: in a call's arguments, or in the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from simulator.environment.conventions.kinds import plural
from simulator.environment.injection.conditions import ArgumentIs, WorldIs
from simulator.environment.injection.matchers import Matcher, Seen, Why
from simulator.environment.injection.value_tests import Patience, ReadyTest, UndecidedError, ready_test, shown
from simulator.environment.language import paths
from simulator.jsonvalue import JsonObject


class _OfPlaces(Matcher):
    """A test of the values that stand at some places."""

    def __init__(self, test: ReadyTest, *, negated: bool) -> None:
        self._test, self._negated = test, negated

    @abstractmethod
    def _values(self, seen: Seen) -> list[tuple[str, JsonValue]]:
        """Give the values to test, each with its place for people."""

    @abstractmethod
    def _nowhere(self, seen: Seen) -> str:
        """Say that there is no such value."""

    def holds(self, seen: Seen, number: int | None) -> bool:
        del number
        try:
            return self._passes(self._values(seen), seen.patience) is not self._negated
        except UndecidedError:
            return False

    def _passes(self, values: list[tuple[str, JsonValue]], patience: Patience) -> bool:
        if self._test.asks_for_absence:
            return not values
        return any(self._test.passes(value, patience) for _, value in values)

    def why(self, seen: Seen, number: int | None) -> Why:
        del number
        test = self._test
        values = self._values(seen)
        try:
            if self._passes(values, seen.patience) is self._negated:
                return self._missed(seen, values)
        except UndecidedError as error:
            return Why(f"{values[0][0]}: {error}", 0.0)
        # A pattern was too slow when the rule was judged, and is not now.
        return Why(f"whether {values[0][0]} is {test.wanted} could not be told in time", 0.0)

    def _missed(self, seen: Seen, values: list[tuple[str, JsonValue]]) -> Why:
        test = self._test
        wanted = f"anything but {test.wanted}" if self._negated else test.wanted
        if not values:
            return Why(f"{self._nowhere(seen)}, wanted {wanted}", 0.0)
        if self._negated:
            place, value = next((each for each in values if test.passes(each[1], seen.patience)), values[0])
            return Why(f"{place} was {shown(value)}, wanted {wanted}", 0.0)
        place, value = max(values, key=lambda each: test.near(each[1]))
        others = f" (the nearest of {len(values)})" if len(values) > 1 else ""
        return Why(f"{place} was {shown(value)}, wanted {wanted}{others}", test.near(value))


class ArgumentMatcher(_OfPlaces):
    """Asks for an argument of the call."""

    def __init__(self, condition: ArgumentIs, *, negated: bool) -> None:
        super().__init__(ready_test(condition.test), negated=negated)
        self._path = paths.parse(condition.path)
        steps = self._path.steps
        self._name = steps[0] if len(steps) == 1 and isinstance(steps[0], str) else None

    def _values(self, seen: Seen) -> list[tuple[str, JsonValue]]:
        arguments = seen.call.arguments
        if self._name is not None:
            name = self._name
            return [(paths.field_place("args", name), arguments[name])] if name in arguments else []
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
        super().__init__(ready_test(condition.test), negated=negated)
        self._kind, self._id = condition.entity, condition.entity_id
        self._id_from = paths.parse(condition.id_from) if condition.id_from else None
        self._field = paths.parse(condition.field)

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
    """Give the ids that an argument names: a text or a whole number is one, a list may name several."""
    if isinstance(value, list):
        return [key for item in value for key in _keys(item)]
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return [str(value)]
    return []
