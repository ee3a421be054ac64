"""Says when an injection rule is for a call, beyond the tool's name and `match_args`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Self, TypeAlias, assert_never

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from simulator.base.json_values import NotJsonError, canonical, same
from simulator.base.pattern_search import PatternError, PatternSizeError, Searcher, SearchError, searcher
from simulator.environment.environment_value import FiniteValue, Number, Whole
from simulator.environment.expressions import json_paths
from simulator.environment.expressions.expressions import compiled

LONGEST_PATTERN = 8_000
"""Characters that a regular expression may have."""

_KNOWN = frozenset({"args", "world", "state", "calls", "agent"})


def _path(text: str) -> str:
    json_paths.parse(text)
    return text


ValuePath: TypeAlias = Annotated[str, AfterValidator(_path)]
"""A path into a JSON value, as `paths.parse` reads it."""

# ---------------------------------------------------------------- tests of one value


class Equals(FiniteValue):
    """The value is this one, as JSON compares: 1 is 1.0, and neither is true."""

    test: Literal["equals"] = "equals"
    value: JsonValue


class Holds(FiniteValue):
    """The value holds this one: each named field of an object, at any depth, and and for each item of a list one that holds it."""

    test: Literal["holds"] = "holds"
    value: JsonValue


class Matches(FiniteValue):
    """The value is a text in which the regular expression is found (`whole`: that is one match from start to end)."""

    test: Literal["matches"] = "matches"
    pattern: str = Field(max_length=LONGEST_PATTERN)
    whole: bool = False
    ignore_case: bool = False

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        compiled_pattern(self)
        return self


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


class Between(FiniteValue):
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


class OneOf(FiniteValue):
    """The value is one of these."""

    test: Literal["one_of"] = "one_of"
    values: tuple[JsonValue, ...] = Field(min_length=1)


class Present(FiniteValue):
    """There is a value, though it may be null."""

    test: Literal["present"] = "present"


class Absent(FiniteValue):
    """There is no value."""

    test: Literal["absent"] = "absent"


Test: TypeAlias = Annotated[
    Equals | Holds | Matches | Between | OneOf | Present | Absent, Field(discriminator="test")
]

# ---------------------------------------------------------------- conditions


class ArgumentIs(FiniteValue):
    """An argument of the call passes a test; `path` is like `order.items[0].sku`, `items[*].sku` means any of them."""

    kind: Literal["argument"] = "argument"
    path: ValuePath = Field(min_length=1)
    test: Test


class CallNumber(FiniteValue):
    """The call's number, from 1, is the nth, among the first n, each nth, or after the nth.

    `counted` says what is counted in the session: the calls that this rule's other conditions let through (`rule`),
    the calls of the same tool (`tool`), or all tool calls (`session`).
    """

    kind: Literal["call_number"] = "call_number"
    which: Literal["nth", "first", "every", "after"]
    n: Whole = Field(ge=1)
    counted: Literal["rule", "tool", "session"] = "rule"


class WorldIs(FiniteValue):
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


class Expression(FiniteValue):
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


class AgentIs(FiniteValue):
    """An agent with this name asks, in this branch; a name may hold `*`. What is empty does not count."""

    kind: Literal["agent"] = "agent"
    agent: str = ""
    branch: str = ""

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.agent and not self.branch:
            raise ValueError("agent and branch are both empty; set one")
        return self


class AllOf(FiniteValue):
    """Each of these holds."""

    kind: Literal["all_of"] = "all_of"
    conditions: tuple[Condition, ...] = Field(min_length=1)


class AnyOf(FiniteValue):
    """At least one of these holds."""

    kind: Literal["any_of"] = "any_of"
    conditions: tuple[Condition, ...] = Field(min_length=1)


class Not(FiniteValue):
    """This does not hold."""

    kind: Literal["not"] = "not"
    condition: Condition


Condition: TypeAlias = Annotated[
    ArgumentIs | CallNumber | WorldIs | Expression | AgentIs | AllOf | AnyOf | Not,
    Field(discriminator="kind"),
]

AllOf.model_rebuild()
AnyOf.model_rebuild()
Not.model_rebuild()


# Checks whether a value passes a condition's test, what the test wants in words, and how near the value came.


_SHOWN_LENGTH = 120

_OTHER_TYPE, _SAME_TYPE, _NEARLY = 0.2, 0.5, 0.9


@dataclass(frozen=True, slots=True)
class ReadyTest:
    """A test of one value, made ready.

    Attributes:
        passes: Checks whether a value passes; raises `SearchError` where a pattern takes too long.
        wanted: What it wants, in words that follow "wanted".
        near: Tells how near a value that does not pass came, from 0 to 1.
        asks_for_absence: Whether no value is what it wants.
    """

    passes: Callable[[JsonValue], bool]
    wanted: str
    near: Callable[[JsonValue], float]
    asks_for_absence: bool = False


def ready_test(test: Test) -> ReadyTest:
    """Make a test ready."""
    match test:
        case Equals(value=wanted):
            return ReadyTest(
                lambda value: same(value, wanted), shown(wanted), lambda value: likeness(value, wanted)
            )
        case Holds(value=wanted):
            return ReadyTest(
                lambda value: holds(value, wanted),
                f"something that contains {shown(wanted)}",
                lambda value: _share_held(value, wanted),
            )
        case Matches():
            return _ready_pattern(test)
        case Between():
            return ReadyTest(lambda value: _is_between(value, test), _range(test), lambda v: _near(v, test))
        case OneOf(values=values):
            return ReadyTest(
                lambda value: any(same(value, wanted) for wanted in values),
                f"one of {shown(list(values))}",
                lambda value: max(likeness(value, wanted) for wanted in values),
            )
        case Present() | Absent():
            absence = isinstance(test, Absent)
            return ReadyTest(
                lambda _value: not absence, "none" if absence else "a value", lambda _value: 0.0, absence
            )
    assert_never(test)


def shown(value: object) -> str:
    """Show a value in a line, as JSON where it is that; a long one is cut."""
    try:
        text = canonical(value)
    except NotJsonError:
        text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."


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
        return _SAME_TYPE + (_NEARLY - _SAME_TYPE) * _closeness(float(value), float(wanted))
    if isinstance(value, (str, int, float)) and isinstance(wanted, (str, int, float)):
        return _NEARLY if str(value) == str(wanted) else _OTHER_TYPE
    return _SAME_TYPE if type(value) is type(wanted) else _OTHER_TYPE


def _closeness(value: float, wanted: float) -> float:
    """Return 1 for equal numbers, and less the farther they are apart, in relation to what was wanted."""
    apart = abs(value - wanted) / max(1.0, abs(wanted))
    return 1.0 / (1.0 + apart) if apart == apart else 0.0  # noqa: PLR0124 - only NaN is not itself


def _share_held(value: JsonValue, wanted: JsonValue) -> float:
    if isinstance(wanted, dict) and isinstance(value, dict) and wanted:
        held = sum(name in value and holds(value[name], inner) for name, inner in wanted.items())
        return _OTHER_TYPE + (_NEARLY - _OTHER_TYPE) * held / len(wanted)
    if isinstance(wanted, list) and isinstance(value, list) and wanted:
        held = sum(any(holds(item, inner) for item in value) for inner in wanted)
        return _OTHER_TYPE + (_NEARLY - _OTHER_TYPE) * held / len(wanted)
    return likeness(value, wanted)


def _ready_pattern(test: Matches) -> ReadyTest:
    pattern = compiled_pattern(test)
    search = pattern.fullmatch if test.whole else pattern.search

    def passes(value: JsonValue) -> bool:
        try:
            return isinstance(value, str) and search(value)
        except SearchError as error:
            raise SearchError(f"the pattern {shown(test.pattern)} {error}") from None

    what = "a text that fully matches" if test.whole else "a text that matches"
    return ReadyTest(
        passes,
        f"{what} {shown(test.pattern)}",
        lambda value: _SAME_TYPE if isinstance(value, str) else _OTHER_TYPE,
    )


def _is_between(value: JsonValue, test: Between) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    low, high = test.low, test.high
    if test.exclusive:
        return (low is None or value > low) and (high is None or value < high)
    return (low is None or value >= low) and (high is None or value <= high)


def _near(value: JsonValue, test: Between) -> float:
    ends = [end for end in (test.low, test.high) if end is not None]
    return max(likeness(value, end) for end in ends)


def _range(test: Between) -> str:
    ends = "" if not test.exclusive else ", exclusive" if None not in {test.low, test.high} else ""
    if test.low is None:
        return f"a number {'below' if test.exclusive else 'of at most'} {test.high:g}"
    if test.high is None:
        return f"a number {'above' if test.exclusive else 'of at least'} {test.low:g}"
    return f"a number from {test.low:g} to {test.high:g}{ends}"
