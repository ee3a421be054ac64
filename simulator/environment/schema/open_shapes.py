"""Fills the parts of a schema that say only "an object" with the fields that such an object may well have."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from simulator.base.json_values import JsonObject

FieldsFor = Callable[[str], JsonObject | None]
"""Gives the schema of the object that a field of some name holds; None where nothing can be said of it."""

_NOTES = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_CHOICES = ("anyOf", "oneOf", "allOf")
_PLAIN = frozenset({"string", "number", "integer", "boolean"})
_MOST_DEPTH = 8


def is_open(schema: JsonValue) -> bool:
    """Return whether a schema, as `normalise` gives it, allows an object and says nothing of its fields' names."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return False
    rest = schema.keys() - _NOTES - {"type"}
    if not rest:
        return "default" not in schema and "examples" not in schema
    return rest == {"additionalProperties"} and schema["additionalProperties"] is not False


def has_open(schema: JsonObject) -> bool:
    """Return whether `opened` may find anything to fill."""
    return opened(schema, lambda _: {"type": "object", "properties": {"any": {}}}) != schema


def values_of(schema: JsonObject) -> JsonObject | None:
    """Return the schema that all values of an open object fit, where they may not be anything."""
    inner = schema.get("additionalProperties")
    return inner if isinstance(inner, dict) and inner.keys() - _NOTES else None


def opened(schema: JsonObject, fields_for: FieldsFor, name: str = "") -> JsonObject:
    """Fill the open objects of a schema, also in lists and in choices; what was asked of them is asked still.

    Args:
        schema: As `normalise` gives it; it is not changed.
        fields_for: Asked with the name of the field that holds the object, or the list of objects.
        name: What the whole is called.
    """
    return _opened(schema, fields_for, name, 0)


def _opened(schema: JsonObject, fields_for: FieldsFor, name: str, depth: int) -> JsonObject:
    if depth > _MOST_DEPTH:
        return schema
    if is_open(schema):
        return _filled(schema, fields_for(name))
    result = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        result["properties"] = {
            one: _opened(inner, fields_for, one, depth + 1) if isinstance(inner, dict) else inner
            for one, inner in properties.items()
        }
    items = schema.get("items")
    if isinstance(items, dict) and items:
        result["items"] = _opened(items, fields_for, name, depth + 1)
    elif schema.get("type") == "array" and items in (None, True, {}) and "prefixItems" not in schema:
        record = fields_for(name)
        result["items"] = record if record is not None else {}
    for key in _CHOICES:
        branches = schema.get(key)
        if isinstance(branches, list):
            result[key] = [
                _opened(one, fields_for, name, depth + 1) if isinstance(one, dict) else one
                for one in branches
            ]
    return result


def _filled(schema: JsonObject, record: JsonObject | None) -> JsonObject:
    """Return an open object the fields of a record; each has to fit what the object asks of all its values."""
    properties = record.get("properties") if record is not None else None
    if not isinstance(properties, dict) or not properties:
        return schema
    values = values_of(schema)
    if values is None:
        fields: JsonObject = dict(properties)
    else:
        fields = {name: values for name, inner in properties.items() if _may_be(inner, values)}
    if not fields:
        return schema
    required: list[JsonValue] = list(fields)
    return {**schema, "properties": fields, "required": required}


def _may_be(inner: JsonValue, values: JsonObject) -> bool:
    """Return whether a field, by what is known of it, may hold what an object's values must be."""
    kind, wanted = inner.get("type") if isinstance(inner, dict) else None, values.get("type")
    if kind is None or kind == wanted or not isinstance(wanted, str):
        return True
    return wanted == "string" and kind in _PLAIN
