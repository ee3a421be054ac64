"""Walks a JSON schema and gives the fields that a value of it can have, each with its path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise

_MOST_DEPTH = 6
_MOST_FIELDS = 400
_CHOICES = ("anyOf", "oneOf", "allOf")
_ID_TYPES = frozenset({"string", "integer"})


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field: its path (`orders[*].order_id`, `order_ids[*]`), its own name, and that of what it stands in."""

    path: str
    name: str
    parent: str
    description: str
    can_be_id: bool
    """Whether it is a text or a whole number that may be any: no choice, no date."""


def fields_of(schema: object) -> tuple[SchemaField, ...]:
    """Return the plain fields of a schema in their order, at most 400; none where it is broken or says nothing."""
    try:
        normal = normalise(schema)
    except BrokenSchemaError:
        return ()
    found: dict[str, SchemaField] = {}
    for field in _walk(normal, "", "", "", 0):
        found.setdefault(field.path, field)
        if len(found) >= _MOST_FIELDS:
            break
    return tuple(found.values())


def _walk(schema: JsonValue, path: str, name: str, parent: str, depth: int) -> Iterator[SchemaField]:
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return
    branches = [branch for key in _CHOICES for branch in _list(schema.get(key))]
    for branch in branches:
        yield from _walk(branch, path, name, parent, depth + 1)
    named = schema.get("properties")
    if isinstance(named, dict):
        for own, inner in named.items():
            yield from _walk(inner, f"{path}.{own}" if path else own, own, name, depth + 1)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _walk(items, f"{path}[*]", name, parent, depth + 1)
    if path and name and not branches and not isinstance(named, dict) and not isinstance(items, dict):
        words = schema.get("description")
        yield SchemaField(path, name, parent, words if isinstance(words, str) else "", _can_be_id(schema))


def _can_be_id(schema: JsonObject) -> bool:
    types = schema.get("type")
    kinds = set(_list(types)) if isinstance(types, list) else {types}
    form = schema.get("format")
    open_ended = "enum" not in schema and "const" not in schema and form in (None, "uuid")
    return open_ended and (types is None or bool(kinds & _ID_TYPES))


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
