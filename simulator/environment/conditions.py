"""Says when an injection rule is for a call, beyond the tool's name and `match_args`."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, model_validator

from simulator.environment.value import Value

# ---------------------------------------------------------------- tests of one value


class Equals(Value):
    """The value is this one; types count, so 1, 1.0 and true differ as they do in JSON."""

    test: Literal["equals"] = "equals"
    value: JsonValue


class Holds(Value):
    """The value holds this one: each named field of an object, at any depth, and each item of a list, in any order."""

    test: Literal["holds"] = "holds"
    value: JsonValue


class Matches(Value):
    """The value is a text in which the regular expression is found (`whole`: that is one match from start to end)."""

    test: Literal["matches"] = "matches"
    pattern: str
    whole: bool = False
    ignore_case: bool = False


class Between(Value):
    """The value is a number from `low` to `high`, both included unless `exclusive`; one of the two may be left out."""

    test: Literal["between"] = "between"
    low: float | None = None
    high: float | None = None
    exclusive: bool = False

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("low and high are both missing; set one")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low is {self.low:g}, which is above high, {self.high:g}")
        return self


class OneOf(Value):
    """The value is one of these."""

    test: Literal["one_of"] = "one_of"
    values: tuple[JsonValue, ...] = Field(min_length=1)


class Present(Value):
    """There is a value, though it may be null."""

    test: Literal["present"] = "present"


class Absent(Value):
    """There is no value."""

    test: Literal["absent"] = "absent"


Test: TypeAlias = Annotated[
    Equals | Holds | Matches | Between | OneOf | Present | Absent, Field(discriminator="test")
]

# ---------------------------------------------------------------- conditions


class ArgumentIs(Value):
    """An argument of the call passes a test; `path` is like `order.items[0].sku`, `items[*].sku` means any of them."""

    kind: Literal["argument"] = "argument"
    path: str = Field(min_length=1)
    test: Test


class CallNumber(Value):
    """The call's number, from 1, is the nth, among the first n, each nth, or after the nth.

    `counted` says what is counted in the session: the calls that this rule's other conditions let through (`rule`),
    the calls of the same tool (`tool`), or all tool calls (`session`).
    """

    kind: Literal["call_number"] = "call_number"
    which: Literal["nth", "first", "every", "after"]
    n: int = Field(ge=1)
    counted: Literal["rule", "tool", "session"] = "rule"


class WorldIs(Value):
    """Something in the world passes a test: a field of an entity, or the entity itself (`field` empty).

    The entity's id stands in `entity_id`, or in the argument at the path `id_from`.
    """

    kind: Literal["world"] = "world"
    entity: str = Field(min_length=1)
    entity_id: str = ""
    id_from: str = ""
    field: str = ""
    test: Test

    @model_validator(mode="after")
    def _names_one_entity(self) -> Self:
        if bool(self.entity_id) == bool(self.id_from):
            raise ValueError("name the entity either by entity_id or by id_from")
        return self


class Expression(Value):
    """An expression in one line is true, such as `args.quantity > world.products[args.sku].stock`.

    It knows `args`, `world`, `state` (the session's), `calls` (of this tool so far) and `agent`.
    """

    kind: Literal["expression"] = "expression"
    text: str = Field(min_length=1)


class AgentIs(Value):
    """An agent with this name asks, in this branch; a name may hold `*`. What is empty does not count."""

    kind: Literal["agent"] = "agent"
    agent: str = ""
    branch: str = ""

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.agent and not self.branch:
            raise ValueError("agent and branch are both empty; set one")
        return self


class AllOf(Value):
    """Each of these holds."""

    kind: Literal["all_of"] = "all_of"
    conditions: tuple[Condition, ...] = Field(min_length=1)


class AnyOf(Value):
    """At least one of these holds."""

    kind: Literal["any_of"] = "any_of"
    conditions: tuple[Condition, ...] = Field(min_length=1)


class Not(Value):
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
