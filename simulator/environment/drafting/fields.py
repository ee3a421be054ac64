"""Reads what the maker of answers needs to know of fields: which come first, and what their schemas say in a word."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.kinds import singular
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.jsonvalue import JsonObject

_ANY_ITEM = frozenset({"", "result", "data", "item", "record", "entry", "value"})
_MOMENT = re.compile(r"\d\d:\d\d|\d{4}-\d\d-\d\d")
_RANKS = ("null", "array", "boolean", "integer", "number", "string", "object")


@lru_cache(maxsize=8192)
def holds(name: str) -> bool:
    """Tell whether a field of an object is as well one of all that the object holds: a key of several words."""
    words = words_of(name)
    return "currency" in words or (is_identifier(name) and len(words) > 1)


@lru_cache(maxsize=8192)
def turn(name: str) -> int:
    """Order fields as they depend on each other: ids and names tell what the rest is about, numbers come last."""
    words = set(words_of(name))
    if words & {"currency", "country", "timezone", "email", "airport"}:
        return 2
    if holds(name) or words & {"status", "state", "finding", "verdict", "decision", "outcome"}:
        return 0
    return 1 if words & {"name", "title", "product", "item", "article", "sku", "category", "city"} else 3


def singular_of(name: str) -> str:
    """Give the name of one item of a list."""
    if name.endswith("ies") and name.islower():
        head, _, last = name.rpartition("_")
        return f"{head}_{singular(last)}" if head else singular(last)
    return name[:-1] if name.endswith("s") and len(name) > 1 else name


def item_of(name: str, tool_name: str) -> str:
    """Give what one item of a list is called; of a list without a telling name, what the tool is about."""
    singular = singular_of(name)
    return singular if singular not in _ANY_ITEM else tool_name.replace("s_", "_").removesuffix("s")


def told_apart(items: list[JsonValue]) -> list[JsonValue]:
    """Put days and times into their order, and leave out texts that were there before."""
    texts = [one for one in items if isinstance(one, str)]
    if len(texts) != len(items):
        return items
    different: list[JsonValue] = list(dict.fromkeys(texts))
    return sorted(different, key=str) if texts and all(map(_MOMENT.match, texts)) else different


def rank(plain: JsonObject) -> tuple[int, int]:
    """Order plain schemas by how little a value of theirs can hold, and how little leads on."""
    kind = plain.get("type")
    named = texts_of(plain.get("required"))
    properties = plain.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    holds = sum("$ref" in str(fields.get(one)) for one in named)
    return _RANKS.index(kind) if isinstance(kind, str) and kind in _RANKS else 1, holds


def is_null(plain: JsonObject) -> bool:
    """Tell whether only null fits."""
    return plain.get("type") == "null" or ("const" in plain and plain["const"] is None)


def texts_of(value: JsonValue) -> list[str]:
    """Give the texts of a list, such as `required`."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def count_of(schema: JsonObject, key: str, default: int) -> int:
    """Give a count that a schema sets, such as `minItems`."""
    value = schema.get(key)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def wanted_fields(plain: JsonObject, required: Collection[str], *, lean: bool) -> list[str]:
    """Give the fields that an object may well have, in its schema's order; only those that it must, where it is lean."""
    if lean:
        return list(required)
    properties = plain.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    optional = [one for one in fields if one not in required]
    most = plain.get("maxProperties")
    if isinstance(most, int):
        optional = optional[: max(most - len(required), 0)]
    kept = {*required, *optional}
    return [*(one for one in fields if one in kept), *(one for one in required if one not in fields)]
