"""Names what is asked for a draft, what a draft is, and each way to answer that has led to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject
from simulator.environment.call_effects import NO_EFFECTS, ToolEffects
from simulator.environment.conventions.tool_roles import EarlierAnswer
from simulator.environment.drafts.blanks import Blank
from simulator.environment.evidence.sketch import CodeReading, FunctionSource
from simulator.environment.evidence.tool_returns import read_returns
from simulator.environment.recordings import ObservedCall
from simulator.environment.schema.schema_checks import Problem
from simulator.environment.world.world import World


@dataclass(frozen=True, slots=True)
class Try:
    """An answer, its source in words, and the places of it for which nothing is known.

    `varies` says that another draw may give another answer, `when` what has to hold for it, in words, and `effects` what the
    tool's code does besides for certain where it gives this answer. `raises` names the exception that it raises, where the value only tells of one.
    """

    value: JsonValue
    why: str
    blanks: tuple[Blank, ...] = ()
    varies: bool = False
    when: str = ""
    effects: ToolEffects = NO_EFFECTS
    raises: str = ""


class DraftCall(BaseModel):
    """A tool call, all that is known about its tool, and what the session's tools answered before.

    `examples` are whole responses that the tool's declaration shows.
    `seed` makes the drafts of one session differ from those of another; equal calls of one session are drafted
    equally, and another `draw` draws what is drawn anew. `code` is where the tool's function is written, `codes` those
    of the agent's tools by name, and `state` the session's state. `is_held` says that a person has set `response_schema`: nothing is drafted
    that does not fit it, whatever the code does. `now` is the time of the session's clock, in seconds since the epoch; 0 where it is not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_name: str = Field(min_length=1)
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    response_schema: JsonObject | None = None
    examples: tuple[JsonValue, ...] = ()
    arguments: JsonObject = Field(default_factory=dict)
    earlier: tuple[EarlierAnswer, ...] = ()
    seed: str = ""
    draw: int = 0
    is_long_running: bool = False
    code: FunctionSource | None = None
    codes: Mapping[str, FunctionSource] = Field(default_factory=dict)
    state: JsonObject | None = None
    is_held: bool = False
    now: float = 0.0


class Draft(FiniteValue):
    """A drafted answer.

    Attributes:
        value: The answer.
        why: Where it comes from, in a sentence; with file and line where that is the tool's code.
        is_guess: Whether there is any place of it for which not even a value can be drawn.
        blanks: Those places, where something of the right type stands meanwhile: a text of Faker's, or what a format or a
            pattern asks for, is drawn and marked, too.
        varies: Whether another draw gives another answer.
        problems: What is wrong with it where the tool's schema has no value.
        effects: What the tool's code does besides, where it gives this answer.
        failure: Why none could be made, where this is there instead.
    """

    value: JsonValue
    why: str
    is_guess: bool = False
    blanks: tuple[Blank, ...] = ()
    varies: bool = False
    problems: tuple[Problem, ...] = ()
    effects: ToolEffects = NO_EFFECTS
    failure: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Where it comes from, and what is wrong with it, in words."""
        return (self.why, *(f"{problem.path}: {problem.message}" for problem in self.problems))


@dataclass(frozen=True)
class Sources:
    """What a draft may draw on besides the call.

    `recorded` are recorded answers, and `shared` is what tools that share a state said last, by the names of fields. `world` has learnt the call's earlier answers; without one, it is made of them. `read` reads a tool's code, as
    `read_returns`.
    """

    world: World | None = None
    recorded: Sequence[ObservedCall] = ()
    shared: Mapping[str, JsonValue] | None = None
    read: Callable[..., CodeReading] = read_returns


NO_SOURCES = Sources()
