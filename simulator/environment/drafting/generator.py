"""Drafts the answer to a tool call, offline: plausible, consistent with the session, and valid for the tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from simulator.environment.conventions.answers import EarlierAnswer, is_read
from simulator.environment.conventions.chance import Chance
from simulator.environment.drafting.attempt import Try
from simulator.environment.drafting.draft_parts import Parts
from simulator.environment.drafting.knowledge import Knowledge, KnownWorld
from simulator.environment.drafting.recorded import RecordedAnswers
from simulator.environment.recording.recordings import RecordedCall
from simulator.environment.schema.schemas import Problem
from simulator.environment.things.entities import WorldCall
from simulator.environment.things.world import World
from simulator.environment.value import Value
from simulator.jsonvalue import JsonObject, canonical, copied

__all__ = ["Draft", "DraftCall", "EarlierAnswer", "Sources", "draft", "drafted"]


class DraftCall(BaseModel):
    """A tool call, all that is known about its tool, and what the session's tools answered before.

    `seed` makes the drafts of one session differ from those of another; equal calls of one session are drafted
    equally.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_name: str = Field(min_length=1)
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)
    response_schema: JsonObject | None = None
    arguments: JsonObject = Field(default_factory=dict)
    earlier: tuple[EarlierAnswer, ...] = ()
    seed: str = ""


class Draft(Value):
    """A drafted answer, where it comes from in words, and what is wrong with it where the tool's schema has no value.

    `is_guess` says that nothing but names was known of what the tool answers.
    """

    value: JsonValue
    why: str
    is_guess: bool = False
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Sources:
    """What a draft may draw on besides the call: the world of the session, and recorded answers.

    `world` has learnt the call's earlier answers; without one, it is made of them.
    """

    world: KnownWorld | None = None
    recorded: Sequence[RecordedCall] = ()


NO_SOURCES = Sources()


def draft(call: DraftCall) -> JsonValue:
    """Draft an answer out of the call and the answers before it; the same call always gets the same draft."""
    return drafted(call).value


def drafted(call: DraftCall, sources: Sources = NO_SOURCES) -> Draft:
    """Draft an answer and say where it comes from; the same call and sources always give the same draft.

    The first of these that applies: an error for a required argument that is missing; the next answer that was recorded
    for this very call, unless what it names is gone; the earlier answer, where the very same question was asked and
    nothing was changed since; an error for a thing that does not exist, and for what the state of a thing forbids; the
    last answer that was recorded for this very call; the rows of known tables that the arguments ask for,
    and the fields of the things that they name; the recorded answer to the nearest call, adapted to this one; and then
    what is made up: by the tool's schema, the shape that its description tells of, a schema inferred from its earlier
    answers, or the plainest answer. Rows, known fields and the arguments stand in whatever shape that gives.
    """
    return drafted_of(call, sources, parts_of(call, sources))


def drafted_of(call: DraftCall, sources: Sources, parts: Parts) -> Draft:
    """Draft as `drafted` does, with the parts that `parts_of` gives for the same call and sources."""
    made = _first(call, sources, parts)
    value: JsonValue = copied(made.value)
    problems = parts.problems(value)
    if problems and parts.hopeless:
        problems = (Problem(path="$", message=f"no draft could be made: {parts.hopeless}"), *problems)
    return Draft(value=value, why=made.why, is_guess=made.is_guess, problems=problems)


def parts_of(call: DraftCall, sources: Sources) -> Parts:
    """Give what the ways to make an answer to a call share."""
    return Parts(
        tool_name=call.tool_name,
        description=call.description,
        arguments=call.arguments,
        schema=call.response_schema,
        knowledge=Knowledge(call.earlier, sources.world or _world_of(call)),
        chance=Chance(call.seed, call.tool_name, canonical(call.arguments)),
        defaults=_defaults(call),
    )


def _world_of(call: DraftCall) -> World:
    """Give the world that follows from a call's earlier answers alone."""
    world = World()
    for place, answer in enumerate(call.earlier, start=1):
        world.take(WorldCall(answer.tool_name, answer.arguments, answer.response, fact=place))
    return world


def _first(call: DraftCall, sources: Sources, parts: Parts) -> Try:
    said: JsonObject
    nothing = _null(call)
    if nothing:
        said = {
            "status": "error",
            "error_code": 400,
            "error": f"{' and '.join(nothing)} must not be null.",
        }
        return Try(said, "the call gives null where the tool requires a value")
    missing = _missing(call)
    if missing:
        word = "arguments" if len(missing) > 1 else "argument"
        said = {"status": "error", "error": f"Missing required {word}: {', '.join(missing)}."}
        return Try(said, "the call lacks what the tool requires")
    recorded = RecordedAnswers(
        sources.recorded, call.tool_name, call.arguments, earlier=call.earlier, fits=parts.fits
    )
    following = recorded.exact(again=False)
    if following is not None and not parts.is_gone:
        return following
    again = _asked_before(call)
    if again is not None:
        return Try(again, "as this question was answered before")
    return (
        parts.refused()
        or recorded.exact(again=True)
        or parts.of_rows()
        or recorded.adapted()
        or parts.made_up()
    )


def _defaults(call: DraftCall) -> JsonObject:
    """Give what the tool takes for the plain arguments that the call leaves out."""
    properties = call.parameters.get("properties")
    return {
        name: schema["default"]
        for name, schema in (properties if isinstance(properties, dict) else {}).items()
        if isinstance(schema, dict)
        and isinstance(schema.get("default"), (str, int, float))
        and name not in call.arguments
    }


def _missing(call: DraftCall) -> list[str]:
    required = call.parameters.get("required")
    wanted = required if isinstance(required, list) else []
    return [name for name in wanted if isinstance(name, str) and name not in call.arguments]


def _null(call: DraftCall) -> list[str]:
    """Give the required arguments that are null though they may not be."""
    properties = call.parameters.get("properties")
    required = call.parameters.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return []
    return [
        name
        for name in required
        if isinstance(name, str)
        and name in call.arguments
        and call.arguments[name] is None
        and _asks_for_value(properties.get(name))
    ]


def _asks_for_value(schema: JsonValue) -> bool:
    """Tell whether a schema names one type, and that is not null."""
    if not isinstance(schema, dict) or schema.get("nullable"):
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and kind.lower() != "null"


def _asked_before(call: DraftCall) -> JsonValue:
    """Give the last answer to this very call, if the tool only reads and nothing has been written since."""
    if not is_read(call.tool_name):
        return None
    for answer in reversed(call.earlier):
        if answer.tool_name == call.tool_name and answer.arguments == call.arguments:
            return answer.response
        if not is_read(answer.tool_name):
            return None
    return None
