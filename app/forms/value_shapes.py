"""Finds the shape of a value that has no schema, exact enough that a form made of it changes nothing by itself. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from pydantic import JsonValue

from app.forms.typed_in_language import LARGEST_WHOLE
from simulator.base.json_values import JsonObject

Way: TypeAlias = tuple[str | int, ...]
"""The way to a value inside of another one."""

FIRST_VALUES: Mapping[str, JsonValue] = MappingProxyType(
    {
        "Text": "",
        "Whole number": 0,
        "Number": 0.0,
        "Yes or no": False,
        "List of texts": [""],
        "List of whole numbers": [0],
        "List of numbers": [0.0],
        "Group of fields": {},
        "List of groups": [{}],
    }
)
"""The kinds of a field that can be added, in words, and what each holds at first."""

_DEEPEST = 4
"""An object or a list that is nested deeper is written as JSON."""
_MOST_ITEMS = 40
_MOST_INPUTS = 120
LONGEST_TEXT = 20_000
_SIMPLE = frozenset({"string", "integer", "number", "boolean"})
_SPACES = frozenset("\n\t")
_DECIDES = frozenset({"$ref", "allOf", "anyOf", "oneOf", "enum", "const", "prefixItems", "patternProperties"})
"""Words of a schema that say what a value is without its fields."""


def shape_of(value: JsonValue) -> JsonObject:
    """Return a schema whose form shows a value and gives it back as it is.

    What an input cannot hold exactly has the schema that anything fits, which is written as JSON: a mixed list, a number
    with more digits than an input shows, a text with control characters. An empty list is taken for one of texts.
    """
    return _of([value], 0)


def filled(schema: JsonObject, value: JsonValue) -> JsonObject:
    """Return a schema in which the parts that it leaves open are shaped as in a value: an object of any fields, a list of anything.

    It is for inputs. Whether a value is right, the schema itself says.
    """
    if isinstance(value, dict) and value:
        named = schema.get("properties")
        if not isinstance(named, dict) or not named:
            return _opened(schema, "object", [value])
        parts: JsonObject = {
            name: filled(part, value.get(name)) if isinstance(part, dict) else part
            for name, part in named.items()
        }
        return {**schema, "properties": parts}
    if isinstance(value, list) and value:
        items = schema.get("items")
        if not isinstance(items, dict) or not items:
            return _opened(schema, "array", [value])
        if all(isinstance(row, dict) for row in value) and not items.get("properties"):
            return {**schema, "items": _opened(items, "object", value)}
    return schema


def _opened(schema: JsonObject, kind: str, values: Sequence[JsonValue]) -> JsonObject:
    """Return the shape of some values where a schema says no more than their kind; objects may have more fields."""
    is_closed = schema.get("additionalProperties") is False
    shape = (
        {}
        if is_closed or _DECIDES & schema.keys() or schema.get("type") not in {kind, None}
        else _of(values, 0)
    )
    more: JsonObject = {"additionalProperties": True} if kind == "object" else {}
    return {**schema, **shape, **more} if shape else schema


def why_only_json(value: JsonValue) -> str:
    """Return why a value has no form, in a sentence; empty where it has one."""
    count = sum(1 for _ in _leaves(value))
    if count > _MOST_INPUTS:
        return f"This value has {count:,} fields. A form shows up to {_MOST_INPUTS}, so it is edited as JSON."
    if not isinstance(value, (dict, list)):
        return "This value is neither an object nor a list, so it is edited as JSON."
    if not value:
        return "This value is empty, so it is edited as JSON."
    if not shape_of(value):
        return "No form can show this value exactly, so it is edited as JSON."
    return ""


def is_plain(text: str) -> bool:
    """Return whether an input of the browser gives a text back as it got it."""
    if len(text) > LONGEST_TEXT or any(char < " " and char not in _SPACES for char in text) or "\x7f" in text:
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _of(values: Sequence[JsonValue], depth: int) -> JsonObject:
    """Return the shape that several values of one place have; the one that anything fits where they differ."""
    kinds = {kind_of(value) for value in values}
    if "null" in kinds:  # what is always null may become anything
        others = kinds - {"null"}
        kind = others.pop() if len(others) == 1 else ""
        return {"type": [kind, "null"]} if kind in _SIMPLE else {}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if kind in _SIMPLE:
        return {"type": kind}
    if depth > _DEEPEST:
        return {}
    if kind == "object":
        return _of_objects([value for value in values if isinstance(value, dict)], depth)
    if kind == "array":
        return _of_lists([value for value in values if isinstance(value, list)], depth)
    return {}


def kind_of(value: JsonValue) -> str:  # noqa: PLR0911 - one arm for each kind
    """Return the type of a value that an input can hold; empty where none can."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer" if abs(value) <= LARGEST_WHOLE else ""
        case float():
            return "number" if abs(value) <= LARGEST_WHOLE else ""
        case str():
            return "string" if is_plain(value) else ""
        case dict():
            return "object" if not any(_is_odd(name) for name in value) else ""
        case list():
            return "array" if len(value) <= _MOST_ITEMS else ""
        case _:
            return "null"


def _is_odd(name: str) -> bool:
    """Return whether a key would be read as a word of JSON schema, or as nothing."""
    return not name.strip() or name.startswith("$") or not is_plain(name)


def _of_objects(objects: Sequence[dict[str, Any]], depth: int) -> JsonObject:
    names = list(dict.fromkeys(name for one in objects for name in one))
    shapes: JsonObject = {
        name: _of([one[name] for one in objects if name in one], depth + 1) for name in names
    }
    always: list[JsonValue] = [name for name in names if all(name in one for one in objects)]
    made: JsonObject = {"type": "object", "properties": shapes, "required": always}
    return made if names else {**made, "additionalProperties": False}


def _of_lists(lists: Sequence[list[Any]], depth: int) -> JsonObject:
    every = [item for one in lists for item in one]
    items: JsonObject = _of(every, depth + 1) if every else {"type": "string"}
    is_known = items or all(item is None for item in every)
    return {"type": "array", "items": items} if is_known else {}


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inside is None:
        yield value
        return
    for one in inside:
        yield from _leaves(one)


def as_before(value: JsonValue, before: JsonValue) -> JsonValue:
    """Return a value with the keys of its objects in the order that they had before; new keys follow."""
    if isinstance(value, dict) and isinstance(before, dict):
        names = [*(name for name in before if name in value), *(name for name in value if name not in before)]
        return {name: as_before(value[name], before.get(name)) for name in names}
    if isinstance(value, list) and isinstance(before, list):
        known = [*before, *[None] * len(value)]
        return [as_before(one, old) for one, old in zip(value, known, strict=False)]
    return value


def name_problem(name: str, taken: Collection[str]) -> str:
    """Say why no field with this name can be added; empty where one can."""
    if not name.strip():
        return "enter a name"
    if name in taken:
        return "another field has this name"
    return "a name in a form cannot start with $ or hold control characters" if _is_odd(name) else ""


def objects_in(value: JsonValue, but: Collection[Way] = ()) -> dict[Way, tuple[str, ...]]:
    """Return the ways to all objects in a value, each with the names of its fields; what is at or below the ways `but` aside."""
    return dict(_objects(value, (), but))


def _objects(value: JsonValue, so_far: Way, but: Collection[Way]) -> Iterator[tuple[Way, tuple[str, ...]]]:
    if so_far in but or not isinstance(value, (dict, list)):
        return
    if isinstance(value, dict):
        yield so_far, tuple(value)
    for name, held in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _objects(held, (*so_far, name), but)


def with_field(value: JsonValue, way: Way, name: str, first: JsonValue) -> JsonValue:
    """Return a value with one more field in the object that a way leads to; as it is where there is no such object."""
    return _changed(value, way, lambda held: {**held, name: first})


def without_field(value: JsonValue, way: Way) -> JsonValue:
    """Return a value without the field that a way leads to; as it is where there is no such field."""
    return _changed(
        value, way[:-1], lambda held: {name: one for name, one in held.items() if way[-1:] != (name,)}
    )


def _changed(value: JsonValue, way: Way, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    """Return a value in which the object that a way leads to is changed."""
    if isinstance(value, dict):
        if not way:
            return change(value)
        return {at: _changed(one, way[1:], change) if at == way[0] else one for at, one in value.items()}
    if isinstance(value, list):
        return [_changed(one, way[1:], change) if way[:1] == (at,) else one for at, one in enumerate(value)]
    return value
