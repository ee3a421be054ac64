"""Says when an injection rule is for a call, beyond the tool's name and `match_args`.

A test asks something of one value, a condition something of the call. Each says itself whether it holds, what it wants in
words, and how near a call came. `holds` is None where all hangs on the call's number among those that the rule counts, which is known
only after the rest. A `not` is handed inwards (`negated`), so that what cannot be told, as an expression without a value or a pattern that takes too
long, never counts as holding.
"""

from __future__ import annotations

import fnmatch
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from simulator.base import json_paths
from simulator.base.frozen_value import FiniteValue, Number, Whole
from simulator.base.json_values import NotJsonError, canonical, same
from simulator.base.work_limit import PatternError, PatternSizeError, Searcher, SearchError, searcher
from simulator.environment.conventions import plural
from simulator.environment.expressions.expression_values import ExpressionError
from simulator.environment.expressions.expressions import compiled
from simulator.environment.injection.rule_call import Seen, Why

LONGEST_PATTERN = 8_000
"""Characters that a regular expression may have."""

_KNOWN = frozenset({"args", "world", "state", "calls", "agent"})
_SHOWN_LENGTH = 120
_OTHER_TYPE, _SAME_TYPE, _NEARLY = 0.2, 0.5, 0.9
_FALSE = 0.5
"""How near an expression comes that is false."""
_MOST_SHOWN = 3
_SHORT = ("args", "state", "agent")
"""Variables whose values are short enough for a reason."""


def _path(text: str) -> str:
    json_paths.parse(text)
    return text


ValuePath: TypeAlias = Annotated[str, AfterValidator(_path)]
"""A path into a JSON value, as `paths.parse` reads it."""


def shown(value: object) -> str:
    """Show a value in a line, as JSON where it is that; a long one is cut."""
    try:
        text = canonical(value)
    except NotJsonError:
        text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."


class _Test(FiniteValue):
    @abstractmethod
    def passes(self, value: JsonValue) -> bool:
        """Return whether a value passes; raises `SearchError` where that takes too long to tell."""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What it wants, in words that follow "wanted"."""

    def near(self, value: JsonValue) -> float:  # noqa: ARG002 - for those that compare
        """Return how near a value came that does not pass, from 0 to 1."""
        return 0.0


class Equals(_Test):
    """The value is this one, as JSON compares: 1 is 1.0, and neither is true."""

    test: Literal["equals"] = "equals"
    value: JsonValue

    def passes(self, value: JsonValue) -> bool:
        """Compare."""
        return same(value, self.value)

    @property
    def wanted(self) -> str:
        """Show the value."""
        return shown(self.value)

    def near(self, value: JsonValue) -> float:
        """Say how like it is."""
        return likeness(value, self.value)


class Holds(_Test):
    """The value holds this one: each named field of an object, at any depth, and and for each item of a list one that holds it."""

    test: Literal["holds"] = "holds"
    value: JsonValue

    def passes(self, value: JsonValue) -> bool:
        """Look for it in the value."""
        return holds(value, self.value)

    @property
    def wanted(self) -> str:
        """Show what is looked for."""
        return f"something that contains {shown(self.value)}"

    def near(self, value: JsonValue) -> float:
        """Say how much of it the value holds."""
        wanted = self.value
        if isinstance(wanted, dict) and isinstance(value, dict) and wanted:
            held = sum(name in value and holds(value[name], inner) for name, inner in wanted.items())
        elif isinstance(wanted, list) and isinstance(value, list) and wanted:
            held = sum(any(holds(item, inner) for item in value) for inner in wanted)
        else:
            return likeness(value, wanted)
        return _OTHER_TYPE + (_NEARLY - _OTHER_TYPE) * held / len(wanted)


class Matches(_Test):
    """The value is a text in which the regular expression is found (`whole`: that is one match from start to end)."""

    test: Literal["matches"] = "matches"
    pattern: str = Field(max_length=LONGEST_PATTERN)
    whole: bool = False
    ignore_case: bool = False

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        compiled_pattern(self)
        return self

    def passes(self, value: JsonValue) -> bool:
        """Search."""
        pattern = compiled_pattern(self)
        try:
            return isinstance(value, str) and (pattern.fullmatch if self.whole else pattern.search)(value)
        except SearchError as error:
            raise SearchError(f"the pattern {shown(self.pattern)} {error}") from None

    @property
    def wanted(self) -> str:
        """Show the pattern."""
        return f"a text that {'fully ' if self.whole else ''}matches {shown(self.pattern)}"

    def near(self, value: JsonValue) -> float:
        """Tell texts from other values."""
        return _SAME_TYPE if isinstance(value, str) else _OTHER_TYPE


def compiled_pattern(test: Matches) -> Searcher:
    """Return a test's regular expression, ready to search.

    Raises:
        ValueError: It cannot be read, or it repeats so much that making it ready would fill the memory.
    """
    try:
        return searcher(test.pattern, ignore_case=test.ignore_case)
    except PatternSizeError as error:
        raise ValueError(f"the pattern {test.pattern!r} {error}") from error
    except PatternError as error:
        raise ValueError(f"the pattern {test.pattern!r} cannot be read: {error}") from error


class Between(_Test):
    """The value is a number from `low` to `high`, both included unless `exclusive`; one of the two may be left out."""

    test: Literal["between"] = "between"
    low: Number | None = None
    high: Number | None = None
    exclusive: bool = False

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("low and high are both missing; set one")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low is {self.low:g}, which is above high, {self.high:g}")
        return self

    def passes(self, value: JsonValue) -> bool:
        """Compare it with both ends."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        low, high = self.low, self.high
        if self.exclusive:
            return (low is None or value > low) and (high is None or value < high)
        return (low is None or value >= low) and (high is None or value <= high)

    @property
    def wanted(self) -> str:
        """Say the range."""
        if self.low is None:
            return f"a number {'below' if self.exclusive else 'of at most'} {self.high:g}"
        if self.high is None:
            return f"a number {'above' if self.exclusive else 'of at least'} {self.low:g}"
        return f"a number from {self.low:g} to {self.high:g}{', exclusive' if self.exclusive else ''}"

    def near(self, value: JsonValue) -> float:
        """Say how like it is to the nearer end."""
        return max(likeness(value, end) for end in (self.low, self.high) if end is not None)


class OneOf(_Test):
    """The value is one of these."""

    test: Literal["one_of"] = "one_of"
    values: tuple[JsonValue, ...] = Field(min_length=1)

    def passes(self, value: JsonValue) -> bool:
        """Compare it with each."""
        return any(same(value, wanted) for wanted in self.values)

    @property
    def wanted(self) -> str:
        """Show them."""
        return f"one of {shown(list(self.values))}"

    def near(self, value: JsonValue) -> float:
        """Say how like it is to the nearest."""
        return max(likeness(value, wanted) for wanted in self.values)


class Present(_Test):
    """There is a value, though it may be null."""

    test: Literal["present"] = "present"
    wanted: ClassVar[str] = "a value"

    def passes(self, value: JsonValue) -> bool:  # noqa: ARG002 - any will do
        """Take any value."""
        return True


class Absent(_Test):
    """There is no value."""

    test: Literal["absent"] = "absent"
    wanted: ClassVar[str] = "none"

    def passes(self, value: JsonValue) -> bool:  # noqa: ARG002 - none will do
        """Take none."""
        return False


Test: TypeAlias = Annotated[
    Equals | Holds | Matches | Between | OneOf | Present | Absent, Field(discriminator="test")
]


def holds(value: JsonValue, wanted: JsonValue) -> bool:
    """Return whether a value holds another: each named field of an object, and for each item of a list one that holds it."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(
            name in value and holds(value[name], inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(holds(item, inner) for item in value) for inner in wanted)
    return same(value, wanted)


def likeness(value: object, wanted: object) -> float:
    """Return how like two values are that are not the same, from 0.2 for another type to 0.9 for a slip of the hand."""
    if isinstance(value, str) and isinstance(wanted, str):
        return _NEARLY if value.strip().casefold() == wanted.strip().casefold() else _SAME_TYPE
    if isinstance(value, bool) or isinstance(wanted, bool):
        return _SAME_TYPE if type(value) is type(wanted) else _OTHER_TYPE
    if isinstance(value, (int, float)) and isinstance(wanted, (int, float)):
        # 1 for equal numbers, and less the farther they are apart, in relation to what was wanted.
        apart = abs(float(value) - float(wanted)) / max(1.0, abs(float(wanted)))
        closeness = 1.0 / (1.0 + apart) if apart == apart else 0.0  # noqa: PLR0124 - only NaN is not itself
        return _SAME_TYPE + (_NEARLY - _SAME_TYPE) * closeness
    if isinstance(value, (str, int, float)) and isinstance(wanted, (str, int, float)):
        return _NEARLY if str(value) == str(wanted) else _OTHER_TYPE
    return _SAME_TYPE if type(value) is type(wanted) else _OTHER_TYPE


class _Condition(FiniteValue):
    @abstractmethod
    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool | None:
        """Return whether it holds for a call; None where that hangs on its number, which is not known."""

    @abstractmethod
    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:
        """Say why it does not hold."""


_Values: TypeAlias = list[tuple[str, JsonValue]]
"""Values that are tested, each with its place for people."""


class _OfPlaces(_Condition):
    """A test of the values that stand at some places."""

    if TYPE_CHECKING:  # each has it, behind what says where the values stand
        test: Test

    @abstractmethod
    def _values(self, seen: Seen) -> _Values: ...

    @abstractmethod
    def _nowhere(self, seen: Seen) -> str:
        """Say that there is no such value."""

    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool:  # noqa: ARG002 - the base's
        """Return whether one of the values passes."""
        try:
            return _any_passes(self.test, self._values(seen), seen) is not negated
        except SearchError:
            return False

    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:  # noqa: ARG002 - as above
        """Say what stands there instead."""
        test, values = self.test, self._values(seen)
        try:
            if _any_passes(test, values, seen) is not negated:
                # A pattern was too slow when the rule was judged, and is not now.
                return Why(f"could not check in time whether {values[0][0]} is {test.wanted}", 0.0)
            wanted = f"anything but {test.wanted}" if negated else test.wanted
            if not values:
                return Why(f"{self._nowhere(seen)}, wanted {wanted}", 0.0)
            if negated:
                passing = (each for each in values if _any_passes(test, [each], seen))
                place, value = next(passing, values[0])
                return Why(f"{place} was {shown(value)}, wanted {wanted}", 0.0)
        except SearchError as error:
            return Why(f"{values[0][0]}: {error}", 0.0)
        place, value = max(values, key=lambda each: test.near(each[1]))
        others = f" (closest of {len(values)})" if len(values) > 1 else ""
        return Why(f"{place} was {shown(value)}, wanted {wanted}{others}", test.near(value))


def _any_passes(test: Test, values: _Values, seen: Seen) -> bool:
    if isinstance(test, Absent):
        return not values
    with seen.limit if isinstance(test, Matches) else nullcontext():
        return any(test.passes(value) for _, value in values)


def _inside(root: str, place: str) -> str:
    place = place.removeprefix("$").removeprefix(".")
    return f"{root}{place}" if place.startswith("[") else f"{root}.{place}"


class ArgumentIs(_OfPlaces):
    """An argument of the call passes a test; `path` is like `order.items[0].sku`, `items[*].sku` means any of them."""

    kind: Literal["argument"] = "argument"
    path: ValuePath = Field(min_length=1)
    test: Test

    def _values(self, seen: Seen) -> _Values:
        found = json_paths.parse(self.path).found(seen.call.arguments)
        return [(_inside("args", place), value) for place, value in found]

    def _nowhere(self, seen: Seen) -> str:  # noqa: ARG002 - the base's
        return f"{_inside('args', self.path)} is absent"


class WorldIs(_OfPlaces):
    """Something in the world passes a test: what stands at the path `field` of an entity, or the entity itself.

    `entity` is its kind, in the singular or the plural. Its id is `entity_id`, or stands in the argument at the path
    `id_from`; where several stand there, any of them will do.
    """

    kind: Literal["world"] = "world"
    entity: str = Field(min_length=1)
    entity_id: str = ""
    id_from: ValuePath = ""
    field: ValuePath = ""
    test: Test

    @model_validator(mode="after")
    def _names_one_entity(self) -> Self:
        if bool(self.entity_id) == bool(self.id_from):
            raise ValueError("set either entity_id or id_from")
        return self

    def _values(self, seen: Seen) -> _Values:
        entities = self._entities(seen)
        return [
            (place if not at else _inside(place, at), value)
            for key in self._ids(seen)
            if key in entities
            for place in [f"world.{self.entity}[{shown(key)}]"]
            for at, value in json_paths.parse(self.field).found(entities[key])
        ]

    def _entities(self, seen: Seen) -> Mapping[str, dict[str, JsonValue]]:
        return seen.world.get(self.entity) or seen.world.get(plural(self.entity), {})

    def _ids(self, seen: Seen) -> Iterable[str]:
        if not self.id_from:
            return (self.entity_id,)
        found = json_paths.parse(self.id_from).found(seen.call.arguments)
        return dict.fromkeys(key for _, value in found for key in _keys(value))

    def _nowhere(self, seen: Seen) -> str:
        if self.id_from and not json_paths.parse(self.id_from).found(seen.call.arguments):
            return f"{_inside('args', self.id_from)} is absent"
        entities = self._entities(seen)
        there = [key for key in self._ids(seen) if key in entities]
        if there and json_paths.parse(self.field).steps:
            return f"world.{self.entity}[{shown(there[0])}] has no {self.field}"
        return f"world.{self.entity} has no {' or '.join(map(shown, self._ids(seen))) or 'such id'}"


def _keys(value: JsonValue) -> Iterable[str]:
    """Return the ids that an argument names: a text or a whole number is one, a list may name several."""
    if isinstance(value, list):
        return [key for item in value for key in _keys(item)]
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return [str(value)]
    return []


class Expression(_Condition):
    """An expression in one line is true, such as `args.quantity > world.products[args.sku].stock`.

    It knows `args`, `world`, `state` (the session's), `calls` (of this tool so far) and `agent`.
    """

    kind: Literal["expression"] = "expression"
    text: str = Field(min_length=1)

    @field_validator("text")
    @classmethod
    def _can_be_read(cls, text: str) -> str:
        if unknown := sorted(compiled(text).names - _KNOWN):
            raise ValueError(f"unknown name {', '.join(unknown)}; available: {', '.join(sorted(_KNOWN))}")
        return text

    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool:  # noqa: ARG002 - the base's
        """Return whether it is true, or false where that is asked for; one without a value is neither."""
        try:
            return self._is_true(seen) is not negated
        except ExpressionError:
            return False

    def _is_true(self, seen: Seen) -> bool:
        variables = self._variables(seen)
        with seen.limit:
            return bool(compiled(self.text).value(variables))

    def _variables(self, seen: Seen) -> dict[str, object]:
        names = compiled(self.text).names
        read = {name: getattr(seen, name) for name in ("world", "state", "calls") if name in names}
        return {"args": seen.call.arguments, "agent": seen.call.agent} | read

    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:  # noqa: ARG002 - as above
        """Say what it was, and the values that it read, where that helps."""
        try:
            self._is_true(seen)
        except ExpressionError as error:
            return Why(str(error), 0.0)
        variables = self._variables(seen)
        read = [path for path in compiled(self.text).paths if path.split(".")[0].split("[")[0] in _SHORT]
        told = [
            f"{path} was {shown(value)}"
            for path in read[:_MOST_SHOWN]
            for _, value in json_paths.parse(path).found(variables)  # type: ignore[arg-type] # JSON values by name
        ]
        was = "true, wanted false" if negated else "false"
        return Why(f"{self.text} was {was}" + (f" ({', '.join(told)})" if told else ""), _FALSE)


class CallNumber(_Condition):
    """The call's number, from 1, is the nth, among the first n, each nth, or after the nth.

    `counted` says what is counted in the session: the calls that this rule's other conditions let through (`rule`),
    the calls of the same tool (`tool`), or all tool calls (`session`).
    """

    kind: Literal["call_number"] = "call_number"
    which: Literal["nth", "first", "every", "after"]
    n: Whole = Field(ge=1)
    counted: Literal["rule", "tool", "session"] = "rule"

    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool | None:
        """Compare the number."""
        this = self._this(seen, number)
        if this is None:
            return None
        fits = {
            "nth": this == self.n,
            "first": this <= self.n,
            "every": this % self.n == 0,
            "after": this > self.n,
        }
        return fits[self.which] is not negated

    def _this(self, seen: Seen, number: int | None) -> int | None:
        tally = seen.call.tally
        return {"rule": number, "tool": tally.tool_calls + 1, "session": tally.session_calls + 1}[
            self.counted
        ]

    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:
        """Say which number it was."""
        n, this = self.n, self._this(seen, number) or 0
        whose = {
            "rule": " that matches since the rule was added",
            "tool": f" of {seen.call.tool_name}",
            "session": " of the session",
        }[self.counted]
        wanted = {
            "nth": f"call {n}",
            "first": f"one of the first {n}" if n > 1 else "the first",
            "every": f"every {n}{_ordinal(n)} call",
            "after": f"one after call {n}",
        }[self.which]
        but = "any but " if negated else ""
        return Why(f"this was call {this}{whose}, wanted {but}{wanted}", 1 / (1 + abs(this - n)))


def _ordinal(n: int) -> str:
    teens = n % 100 in {11, 12, 13}
    return "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


class AgentIs(_Condition):
    """An agent with this name asks, in this branch; a name may hold `*`. What is empty does not count."""

    kind: Literal["agent"] = "agent"
    agent: str = ""
    branch: str = ""

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.agent and not self.branch:
            raise ValueError("agent and branch are both empty; set one")
        return self

    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool:  # noqa: ARG002 - the base's
        """Compare both names."""
        return all(fits for fits, _, _ in self._looks(seen)) is not negated

    def _looks(self, seen: Seen) -> list[tuple[bool, str, str]]:
        """Return what is asked for: whether it fits, what was there, and what was wanted."""
        each = (("agent", seen.call.agent, self.agent), ("branch", seen.call.branch, self.branch))
        return [
            (fnmatch.fnmatchcase(given, wanted), f"{name} was {given!r}", repr(wanted))
            for name, given, wanted in each
            if wanted
        ]

    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:  # noqa: ARG002 - as above
        """Say which name it was."""
        looks = self._looks(seen)
        if negated:
            return Why(f"{looks[0][1]}, wanted any but {looks[0][2]}", 0.0)
        failed = [look for look in looks if not look[0]]
        return Why(f"{failed[0][1]}, wanted {failed[0][2]}", 1 - len(failed) / len(looks))


class _Group(_Condition):
    """Conditions of which each has to hold, or any."""

    kind: str
    conditions: tuple[Condition, ...] = Field(min_length=1)
    _each: ClassVar[bool]

    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool | None:
        """Ask them until one decides. Turned round, each has to be false where any would have done."""
        held: bool | None = (each := self._each is not negated)
        for part in self.conditions:
            one = part.holds(seen, number, negated=negated)
            if one is not None and one is not each:
                return one
            if one is None:
                held = None
        return held

    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:
        """Say why the first fails of those that each have to hold, or else the one that comes nearest."""
        each = self._each is not negated
        whys = [
            part.why(seen, number, negated=negated)
            for part in self.conditions
            if not each or part.holds(seen, number, negated=negated) is False
        ]
        if each:
            near = len(self.conditions) - len(whys) + sum(why.nearness for why in whys)
            return Why(whys[0].reason, near / len(self.conditions))
        nearest = max(whys, key=lambda why: why.nearness)
        others = f"; none of its {len(whys)} alternatives came closer" if len(whys) > 1 else ""
        return Why(f"{nearest.reason}{others}", nearest.nearness)


class AllOf(_Group):
    """Each of these holds."""

    kind: Literal["all_of"] = "all_of"
    _each: ClassVar[bool] = True


class AnyOf(_Group):
    """At least one of these holds."""

    kind: Literal["any_of"] = "any_of"
    _each: ClassVar[bool] = False


class Not(_Condition):
    """This does not hold."""

    kind: Literal["not"] = "not"
    condition: Condition

    def holds(self, seen: Seen, number: int | None, *, negated: bool = False) -> bool | None:
        """Ask the opposite."""
        return self.condition.holds(seen, number, negated=not negated)

    def why(self, seen: Seen, number: int | None, *, negated: bool = False) -> Why:
        """Say why the opposite does not hold."""
        return self.condition.why(seen, number, negated=not negated)


Condition: TypeAlias = Annotated[
    ArgumentIs | CallNumber | WorldIs | Expression | AgentIs | AllOf | AnyOf | Not,
    Field(discriminator="kind"),
]

AllOf.model_rebuild()
AnyOf.model_rebuild()
Not.model_rebuild()
