"""Drafts the answer to a tool call, offline: plausible, consistent with the session, and valid for the tool."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from simulator.environment import plausible
from simulator.environment.coherence import coherent
from simulator.environment.docstrings import returned_example
from simulator.environment.echoes import Echo
from simulator.environment.instances import instance
from simulator.environment.plausible import Chance, is_identifier, words_of
from simulator.environment.recall import EarlierAnswer, Memory, is_creation, is_error, is_read
from simulator.environment.schemas import BrokenSchemaError, check, normalise
from simulator.jsonvalue import JsonObject, canonical, copied

__all__ = ["DraftCall", "EarlierAnswer", "draft"]


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


def draft(call: DraftCall, memory: Memory | None = None) -> JsonValue:
    """Draft an answer; the same call always gets the same draft. `memory` is that of `call.earlier`, where it is kept.

    The first of these that applies: an error for a required argument that is missing; the earlier answer, where
    the very same question was asked and nothing was changed since; an error for a thing that is known to be gone;
    a value of the tool's response schema; the shape that the tool's docstring tells of; the shape of an earlier answer of this
    tool; a plain success. Known fields of the things that the arguments name, and the arguments themselves, stand
    wherever a field has their name.
    """
    answer: JsonValue = copied(_drafted(call, memory))
    return answer


def _drafted(call: DraftCall, memory: Memory | None) -> JsonValue:
    missing = _missing(call)
    if missing:
        word = "arguments" if len(missing) > 1 else "argument"
        return {"status": "error", "error": f"Missing required {word}: {', '.join(missing)}."}
    again = _asked_before(call)
    if again is not None:
        return again
    memory = memory or Memory(call.earlier)
    gone = memory.missing(call.arguments)
    known = {**memory.fields(call.arguments), **call.arguments}
    chance = Chance(call.seed, call.tool_name, canonical(call.arguments))
    if call.response_schema is not None:
        return _of_schema(call, gone, known, chance, memory.currency)
    return gone if gone is not None else _of_shape(call, known, chance)


def _of_shape(call: DraftCall, known: Mapping[str, JsonValue], chance: Chance) -> JsonValue:
    told = returned_example(call.description, chance)
    if told is not None:
        return _known_in(told, Echo(call.arguments, known, call.tool_name))
    before = _shape_before(call)
    return _plain(call, known, chance) if before is None else _redrawn(before, known, chance)


def _missing(call: DraftCall) -> list[str]:
    required = call.parameters.get("required")
    wanted = required if isinstance(required, list) else []
    return [name for name in wanted if isinstance(name, str) and name not in call.arguments]


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


def _of_schema(
    call: DraftCall,
    gone: JsonObject | None,
    known: Mapping[str, JsonValue],
    chance: Chance,
    currency: str,
) -> JsonValue:
    """Make what fits the schema best: with all that is known, or else without it."""
    try:
        normal = normalise(call.response_schema or {})
    except BrokenSchemaError:
        return gone if gone is not None else {"status": "success"}
    if gone is not None and not check(gone, normal):
        return gone
    made = instance(
        normal, chance, known, arguments=call.arguments, tool_name=call.tool_name, currency=currency
    )
    if check(made, normal):
        other = instance(normal, chance, {})
        return other if not check(other, normal) else made
    agreeing = coherent(made, known, chance)
    return made if check(agreeing, normal) else agreeing


def _known_in(shown: JsonValue, echo: Echo, name: str = "", item: str | None = None) -> JsonValue:
    """Put what the call says into the fields of a shape that mean it."""
    if isinstance(shown, list):
        singular = name[:-1] if name.endswith("s") and len(name) > 1 else name
        inner = [_known_in(one, echo, singular, singular) for one in shown]
        return _about_rows([one for one in inner if isinstance(one, dict)], echo, name) or inner
    if not isinstance(shown, dict):
        return shown
    answer: dict[str, JsonValue] = {}
    for key, value in shown.items():
        said = (
            ()
            if isinstance(value, (dict, list))
            else echo.field(key, lambda said: not isinstance(said, (dict, list)), shown, item)
        )
        answer[key] = said[0] if said else _known_in(value, echo, key, item)
    return answer


def _about_rows(shown: list[JsonObject], echo: Echo, name: str) -> list[JsonValue]:
    """Repeat the items of an example for each object that the call is about; nothing where it is about none."""
    rows = echo.rows(name, shown[0]) if shown else []
    answer: list[JsonValue] = []
    for place, row in enumerate(rows):
        one = shown[place % len(shown)]
        answer.append({key: row.get(key, value) for key, value in one.items()})
    return answer


def _shape_before(call: DraftCall) -> JsonValue:
    for answer in reversed(call.earlier):
        if answer.tool_name == call.tool_name and not is_error(answer.response):
            return answer.response
    return None


def _redrawn(before: JsonValue, known: Mapping[str, JsonValue], chance: Chance, name: str = "") -> JsonValue:
    """Keep an answer's shape and what says how it went; draw its particulars anew."""
    redraw = functools.partial(_redrawn, known=known, chance=chance)
    match before:
        case dict():
            return {
                key: known[key]
                if key in known and not isinstance(value, (dict, list))
                else redraw(value, name=key)
                for key, value in before.items()
            }
        case list():
            return [redraw(value, name=name) for value in before]
        case bool() | None:
            return before
        case int() | float():
            return plausible.number(name, chance, whole=isinstance(before, int))
        case _:
            drawn = plausible.text(name, chance)
            return before if drawn.startswith("example") or "status" in words_of(name) else drawn


def _plain(call: DraftCall, known: Mapping[str, JsonValue], chance: Chance) -> JsonValue:
    """Report success, echo the arguments, and add what a tool of this name would give."""
    words = words_of(call.tool_name)
    noun = "_".join(words[1:]) if len(words) > 1 else ""
    answer: dict[str, JsonValue] = {"status": "success", **call.arguments}
    if words and words[0] in {"is", "has", "can"}:
        return {**answer, "result": True}
    if is_creation(call.tool_name) and noun and not any(map(is_identifier, call.arguments)):
        return {
            "status": "success",
            f"{noun}_id": plausible.identifier(f"{noun}_id", chance),
            **call.arguments,
        }
    if is_read(call.tool_name) and noun:
        answer.update({name: value for name, value in known.items() if name not in call.arguments})
        if known.keys() <= call.arguments.keys():
            answer.update(_thing(noun, chance))
    return answer


def _thing(noun: str, chance: Chance) -> dict[str, JsonValue]:
    """Give what a tool that reads this would tell: two records of a plural, one value where the name says enough."""
    if noun.endswith("s") and not noun.endswith("ss"):
        one = noun[:-1]
        names = [
            plausible.identifier(f"{one}_id", Chance(str(chance.number(noun + place, 2**31))))
            for place in "12"
        ]
        return {noun: [{f"{one}_id": name} for name in names]}
    value = plausible.by_name(noun, chance)
    told_nothing = isinstance(value, str) and value.startswith("example")
    return {} if told_nothing else {noun: value}
