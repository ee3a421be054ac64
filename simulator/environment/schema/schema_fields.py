"""The fields of values: those that a JSON schema lets them have, and the schema that can be inferred from values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions import words_of
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


_MOST_CHOICES = 6
_MOST_INFERRED_DEPTH = 12
_LONGEST_CHOICE = 32
_STATES = frozenset(
    {"status", "state", "result", "currency", "unit", "units", "type", "kind", "level", "outcome", "priority"}
)


def inferred_schema(values: Sequence[JsonValue], name: str = "", *, closed: bool = True) -> JsonObject:
    """Return a schema that every one of some values fits.

    A field is required where each object has it. A text is an enum where its name is that of a state, or where the
    same few short texts come again and again. No value at all gives the schema that anything fits.

    Args:
        values: The values, all of one place.
        name: What the values are called.
        closed: Whether a field that said only a few words may say no other; else they are examples of what it says.
    """
    schema = _of(list(values), name, 0)
    return schema if closed else _opened(schema)


def _of(values: list[JsonValue], name: str, depth: int) -> JsonObject:
    if not values or depth > _MOST_INFERRED_DEPTH:
        return {}
    branches: list[JsonObject] = []
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    texts = [value for value in values if isinstance(value, str)]
    if objects:
        branches.append(_of_objects(objects, depth))
    if lists:
        items = [item for value in lists for item in value]
        branches.append(
            {"type": "array", "items": _of(items, name, depth + 1)} if items else {"type": "array"}
        )
    if texts:
        branches.append(_of_texts(texts, name))
    branches.extend(_of_numbers(values))
    if any(value is None for value in values):
        branches.append({"type": "null"})
    either: list[JsonValue] = list(branches)
    return branches[0] if len(branches) == 1 else {"anyOf": either}


def _of_objects(objects: list[JsonObject], depth: int) -> JsonObject:
    names = list(dict.fromkeys(name for one in objects for name in one))
    properties: JsonObject = {
        name: _of([one[name] for one in objects if name in one], name, depth + 1) for name in names
    }
    required: list[JsonValue] = [name for name in names if all(name in one for one in objects)]
    return {"type": "object", "properties": properties, "required": required}


def _of_texts(texts: list[str], name: str) -> JsonObject:
    seen = list(dict.fromkeys(texts))
    short = len(seen) <= _MOST_CHOICES and all(len(text) <= _LONGEST_CHOICE for text in seen)
    repeated = len(texts) >= 2 * len(seen) and len(texts) > 2  # noqa: PLR2004 - two alike may be chance
    if short and (set(words_of(name)) & _STATES or (repeated and len(seen) > 1)):
        choices: list[JsonValue] = list(seen)
        return {"type": "string", "enum": choices}
    return {"type": "string"}


def _of_numbers(values: list[JsonValue]) -> list[JsonObject]:
    branches: list[JsonObject] = []
    truths = [value for value in values if isinstance(value, bool)]
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if truths:
        alike = all(same(value, truths[0]) for value in truths)
        branches.append({"type": "boolean", "enum": [truths[0]]} if alike else {"type": "boolean"})
    if numbers:
        whole = all(isinstance(value, int) for value in numbers)
        branches.append({"type": "integer" if whole else "number"})
    return branches


def _opened(schema: JsonObject) -> JsonObject:
    """Make the choices of a schema examples."""
    result: JsonObject = {}
    for key, value in schema.items():
        match value:
            case dict() if key == "properties":
                result[key] = {name: _opened(one) for name, one in value.items() if isinstance(one, dict)}
            case dict():
                result[key] = _opened(value)
            case list() if key == "anyOf":
                result[key] = [_opened(one) for one in value if isinstance(one, dict)]
            case _:
                result["examples" if key == "enum" else key] = value
    return result
