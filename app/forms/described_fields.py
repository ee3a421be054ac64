"""Adds to a schema what the tool's docstring says of its fields, and leaves a field open of which only null is known. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.drafts.docstrings import Part, field_texts


def described(schema: JsonObject, docstring: str, part: Part) -> JsonObject:
    """Return a schema whose top-level fields have the docstring's words, where they have none of their own."""
    said, fields = field_texts(docstring, part), schema.get("properties")
    if not said or not isinstance(fields, dict):
        return schema
    return {**schema, "properties": {name: _described(one, said.get(name)) for name, one in fields.items()}}


def _described(field: JsonValue, words: str | None) -> JsonValue:
    if words is None or not isinstance(field, dict) or field.get("description"):
        return field
    return {**field, "description": words}


def without_null(schema: JsonObject) -> JsonObject:
    """Return a schema that was inferred from a value, in which a field that was null may hold anything."""
    found = {key: _opened(key, value) for key, value in schema.items()}
    return {} if found == {"type": "null"} else found


def _opened(key: str, value: JsonValue) -> JsonValue:
    if key == "properties" and isinstance(value, dict):
        return {name: without_null(one) if isinstance(one, dict) else one for name, one in value.items()}
    return without_null(value) if key == "items" and isinstance(value, dict) else value
