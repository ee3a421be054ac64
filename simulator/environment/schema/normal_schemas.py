"""Brings any schema that a tool may declare into one standard form of JSON schema (2020-12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from pydantic import JsonValue

from simulator.jsonvalue import JsonObject, NotJsonError, copied

_SPELLINGS = {
    "any_of": "anyOf",
    "all_of": "allOf",
    "one_of": "oneOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
    "prefix_items": "prefixItems",
    "unique_items": "uniqueItems",
    "defs": "$defs",
    "definitions": "$defs",
    "ref": "$ref",
}
"""How google-genai and OpenAPI spell some keywords, and the standard's word."""

_DROPPED = frozenset({"$schema", "$id", "id", "$anchor", "property_ordering", "propertyOrdering", "$comment"})
"""Keywords that no reader here needs. An `$id` would turn `#/...` into a reference to another document."""

_DEFINITIONS = ("$defs", "defs", "definitions")
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_NOTES = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "nullable"}
)
_ONE = frozenset(
    {"items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_SEVERAL = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})

_MOST_NODES = 1_000
_MOST_NESTED = 60


class BrokenSchemaError(ValueError):
    """Something is no JSON schema; the text says why."""


def normalise(schema: object) -> JsonObject:
    """Write a schema as standard JSON schema (2020-12) that stands by itself.

    Types become lower case and google-genai's and OpenAPI's spellings standard ones, `nullable` becomes the type
    `null`. Local references are replaced by what they name; only where a schema contains itself (or grows
    without measure) a reference into the root's `$defs` stays. Keywords that nobody knows are kept.

    Raises:
        BrokenSchemaError: The schema is neither an object nor a boolean, holds something that is not JSON, or is
            nested too deeply.
    """
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    if not isinstance(schema, dict):
        raise BrokenSchemaError(f"a schema is an object, and this is of type {type(schema).__name__}")
    try:
        root: JsonObject = copied(schema)
        return _Normaliser(root).whole()
    except NotJsonError as error:
        raise BrokenSchemaError(str(error)) from error
    except RecursionError as error:
        raise BrokenSchemaError("the schema is nested too deeply") from error


class _Normaliser:
    """One walk over one schema. `_kept` gives a name to each reference that stays."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._kept: dict[str, str] = {}
        self._within: dict[str, frozenset[str]] = {}
        self._nodes = 0

    def whole(self) -> JsonObject:
        schema = self._object(self._root, 0)
        definitions: JsonObject = {}
        while left := [ref for ref, name in self._kept.items() if name not in definitions]:
            for ref in left:
                definitions[self._kept[ref]] = self._schema(_target(self._root, ref), 0)
        return {**schema, "$defs": definitions} if definitions else schema

    def _schema(self, schema: JsonValue, depth: int) -> JsonValue:
        return self._object(schema, depth) if isinstance(schema, dict) else schema

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        self._nodes += 1
        spelled = {_SPELLINGS.get(key, key): value for key, value in schema.items() if key not in _DROPPED}
        spelled.pop("$defs", None)
        result = {key: self._keyword(key, value, depth) for key, value in spelled.items()}
        _settle_type(result)
        _settle_bounds(result)
        _settle_items(result)
        ref = result.pop("$ref", None)
        if isinstance(ref, str):
            result = self._referred(ref, result, depth)
        _settle_nullable(result)
        return result

    def _keyword(self, key: str, value: JsonValue, depth: int) -> JsonValue:
        if key in _ONE and isinstance(value, dict):
            return self._schema(value, depth)
        if (key in _SEVERAL or key == "items") and isinstance(value, list):
            return [self._schema(item, depth) for item in value]
        if key in _NAMED and isinstance(value, dict):
            return {name: self._schema(item, depth) for name, item in value.items()}
        if key in _COUNTS and isinstance(value, str) and value.isdecimal():
            return int(value)
        return value

    def _referred(self, ref: str, beside: JsonObject, depth: int) -> JsonObject:
        try:
            target = _target(self._root, ref)
        except LookupError:
            return {**beside, "$ref": ref}
        if depth > _MOST_NESTED or self._nodes > _MOST_NODES or self._contains_itself(ref):
            target = {"$ref": f"#/$defs/{self._name(ref)}"}
        elif isinstance(target, dict):
            target = self._object(target, depth + 1)
        else:
            target = {} if target is True else {"not": {}}
        if beside.keys() <= _NOTES:
            return {**target, **beside}
        notes = {key: value for key, value in beside.items() if key in _NOTES}
        limits: JsonObject = {key: value for key, value in beside.items() if key not in _NOTES}
        return {"allOf": [target, limits], **notes}

    def _name(self, ref: str) -> str:
        if ref not in self._kept:
            plain = re.sub(r"[^\w.-]", "_", ref.rpartition("/")[2]).strip("_") or "root"
            taken = set(self._kept.values())
            numbered = (plain if n == 1 else f"{plain}_{n}" for n in range(1, len(taken) + 2))
            self._kept[ref] = next(name for name in numbered if name not in taken)
        return self._kept[ref]

    def _contains_itself(self, ref: str) -> bool:
        seen: set[str] = set()
        left = {ref}
        while left:
            seen |= left
            found = frozenset().union(*map(self._references, left))
            if ref in found:
                return True
            left = set(found - seen)
        return False

    def _references(self, ref: str) -> frozenset[str]:
        if ref not in self._within:
            try:
                target = _target(self._root, ref)
            except LookupError:
                target = {}
            self._within[ref] = frozenset(_references(target))
        return self._within[ref]


def _references(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in {"$ref", "ref"} and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _target(root: JsonObject, ref: str) -> JsonValue:
    """Follow a JSON pointer inside the root to a schema.

    Raises:
        LookupError: It leads nowhere, to something else, or out of the document.
    """
    place: Any = root
    for step in _steps(ref):
        if isinstance(place, list) and step.isdecimal():
            place = place[int(step)]
        elif isinstance(place, dict):
            place = place[_spelled(place, step)]
        else:
            raise LookupError(ref)
    if isinstance(place, (dict, bool)):
        return place
    raise LookupError(ref)


def _spelled(place: JsonObject, step: str) -> str:
    """Find definitions under any of the names that they have; google-genai renames them, not what refers to them."""
    if step in place or step not in _DEFINITIONS:
        return step
    return next((name for name in _DEFINITIONS if name in place), step)


def _steps(ref: str) -> Iterator[str]:
    pointer = unquote(ref[1:])
    if not ref.startswith("#") or (pointer and not pointer.startswith("/")):
        raise LookupError(ref)
    for step in pointer.split("/")[1:]:
        yield step.replace("~1", "/").replace("~0", "~")


def _settle_type(schema: JsonObject) -> None:
    """Write types in lower case; google-genai gives the choices of a number as texts."""
    named = schema.get("type")
    if isinstance(named, str):
        named = named.lower()
        if named == "type_unspecified":
            del schema["type"]
        else:
            schema["type"] = named
    elif isinstance(named, list):
        schema["type"] = [item.lower() if isinstance(item, str) else item for item in named]
    choices = schema.get("enum")
    read = _NUMBERS.get(named) if isinstance(named, str) else None
    if isinstance(choices, list) and read is not None:
        schema["enum"] = [_number(choice, read) for choice in choices]


_NUMBERS: dict[str, Callable[[str], int | float]] = {"integer": int, "number": float}


def _number(choice: JsonValue, read: Callable[[str], int | float]) -> JsonValue:
    if not isinstance(choice, str):
        return choice
    try:
        return read(choice)
    except ValueError:
        return choice


def _settle_bounds(schema: JsonObject) -> None:
    """In OpenAPI 3.0 a bound is made exclusive by a boolean beside it; `example` is its word for examples."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and bound in schema:
            schema[exclusive] = schema.pop(bound)
        elif isinstance(schema.get(exclusive), bool):
            del schema[exclusive]
    if "example" in schema:
        example = schema.pop("example")
        schema.setdefault("examples", [example])


def _settle_items(schema: JsonObject) -> None:
    """Before 2020 a list of schemas under `items` stood for the first items."""
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema.pop("additionalItems")


def _settle_nullable(schema: JsonObject) -> None:
    if schema.pop("nullable", None) is not True:
        return
    named, choices = schema.get("type"), schema.get("enum")
    if isinstance(choices, list) and None not in choices:
        schema["enum"] = [*choices, None]
    if isinstance(named, str) and named != "null":
        schema["type"] = [named, "null"]
    elif isinstance(named, list) and "null" not in named:
        schema["type"] = [*named, "null"]
    if schema.keys() - _NOTES == {"anyOf"} and isinstance(schema["anyOf"], list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    elif schema.keys() & {"$ref", "anyOf", "oneOf", "allOf", "const", "not"}:
        notes: JsonObject = {key: schema.pop(key) for key in list(schema) if key in _NOTES}
        either: list[JsonValue] = [dict(schema), {"type": "null"}]
        schema.clear()
        schema.update({"anyOf": either, **notes})
