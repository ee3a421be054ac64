"""Suggests paths into a tool's arguments or answers, and how the value at a path is typed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from app.session.past_calls import PastCall
from simulator.base.json_paths import PathError, field_place, parse
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import EVERY_TOOL
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise
from simulator.seats.requests import ToolDeclaration

MOST = 60
"""How many paths are suggested at most."""

_DEEPEST = 4
_DRAFTS_READ = 3
"""Drafts of waiting calls of which the places are suggested, where no call is answered yet."""
_TYPES = {"string": "text", "integer": "number", "number": "number", "boolean": "boolean"}


def schema_paths(schema: JsonObject) -> dict[str, JsonObject]:
    """Return the paths of a JSON schema's fields, each with its own schema, outer ones first.

    An item of a list is written `items[*]`. What is broken, or nested too deeply, is left out.
    """
    try:
        plain = normalise(schema)
    except BrokenSchemaError:
        return {}
    found: dict[str, JsonObject] = {}
    for place, inner in _fields(plain, "", 0):
        found.setdefault(place, inner)  # the field itself comes before its variants
    outer_first = sorted(found, key=lambda place: place.count(".") + place.count("["))
    return {place: found[place] for place in outer_first[:MOST]}


def _fields(schema: JsonValue, place: str, depth: int) -> Iterator[tuple[str, JsonObject]]:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    if place:
        yield place, schema
    properties = schema.get("properties")
    for name, inner in (properties if isinstance(properties, dict) else {}).items():
        yield from _fields(inner, field_place(place, name), depth + 1)
    if "items" in schema:
        yield from _fields(schema["items"], f"{place}[*]", depth + 1)
    for variant in _variants(schema):
        yield from _fields(variant, place, depth + 1)


def _variants(schema: JsonObject) -> Iterator[JsonValue]:
    for word in ("anyOf", "oneOf", "allOf"):
        inner = schema.get(word)
        yield from inner if isinstance(inner, list) else ()


def value_paths(values: Iterable[JsonValue]) -> tuple[str, ...]:
    """Return the paths that are found in values, each once; items of lists as `[*]`."""
    found: dict[str, None] = {}
    for value in values:
        for place in _places(value, "", 0):
            found.setdefault(place)
            if len(found) >= MOST:
                return tuple(found)
    return tuple(found)


def _places(value: JsonValue, place: str, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if place:
        yield place
    match value:
        case dict():
            for name, inner in value.items():
                yield from _places(inner, field_place(place, name), depth + 1)
        case list():
            for inner in value[:3]:
                yield from _places(inner, f"{place}[*]", depth + 1)
        case _:
            return


def typed_as(schema: JsonObject | None, value: JsonValue = None) -> str:
    """Return how a value is typed: `text`, `number`, `boolean` or `json`; by its schema, else by an example."""
    kinds = _kinds(schema or {})
    if len(kinds) == 1:
        return _TYPES.get(kinds.pop(), "json")
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "json" if isinstance(value, (dict, list)) else "text"


def _kinds(schema: JsonObject) -> set[str]:
    named = schema.get("type")
    names = {str(each) for each in named} if isinstance(named, list) else ({str(named)} if named else set())
    for variant in _variants(schema):
        names |= _kinds(variant) if isinstance(variant, dict) else set()
    return names - {"null"}


def choices_at(schema: JsonObject | None) -> tuple[str, ...]:
    """Return the texts that a schema allows, where it lists them."""
    listed = (schema or {}).get("enum")
    return tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()


class CallHints:
    """Hints on the calls that a rule for a tool may match: the places of their arguments and responses.

    Args:
        tool: The tool's name, or the one that stands for every tool.
        declared: The tool, where it is known.
        calls: All calls of the session.
        agents: The names of the agents.
    """

    def __init__(
        self, tool: str, declared: ToolDeclaration | None, calls: Sequence[PastCall], agents: Iterable[str]
    ) -> None:
        of_tool = [call for call in calls if tool in {call.tool_name, EVERY_TOOL}]
        answered = [call for call in of_tool if not call.waits] or of_tool[:_DRAFTS_READ]
        self.agents = tuple(agents)
        self._arguments = [dict(call.arguments) for call in of_tool[-20:]]
        self._schemas = schema_paths(dict(declared.parameters)) if declared else {}
        answers = schema_paths(dict(declared.response or {})) if declared else {}
        self.paths = tuple(dict.fromkeys((*self._schemas, *value_paths(self._arguments))))
        self.answer_paths = tuple(dict.fromkeys((*answers, *value_paths(call.response for call in answered))))

    def choices_at(self, path: str) -> list[str]:
        """Return the texts that the value at a path may be, by its schema and by what calls had there."""
        known = [str(each) for each in self._values_at(path) if isinstance(each, (str, int, float))]
        return [*choices_at(self._schemas.get(path)), *known]

    def _values_at(self, path: str) -> list[JsonValue]:
        try:
            read = parse(path)
        except PathError:
            return []
        return [value for arguments in self._arguments for _, value in read.found(arguments)]

    def type_at(self, path: str) -> str:
        """Return how the value at a path is typed."""
        return typed_as(self._schemas.get(path), next(iter(self._values_at(path)), None))
