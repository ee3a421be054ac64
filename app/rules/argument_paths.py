"""Suggests paths into a tool's arguments or answers, and how the value at a path is typed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.base.place_names import field_place
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise

MOST = 60
"""How many paths are suggested at most."""

_DEEPEST = 4
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
