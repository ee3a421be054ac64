"""Merges JSON schemas without choices into one that asks for all that they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, same

NEVER: JsonObject = {"not": {}}
"""The schema that no value fits."""

_LARGER = frozenset(
    {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"}
)  # fmt: skip
_SMALLER = frozenset(
    {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"}
)  # fmt: skip
_BOTH = frozenset(
    {
        "items",
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "propertyNames",
        "contains",
    }
)
_NAMED = frozenset({"properties", "patternProperties", "prefixItems", "items", "additionalProperties"})


def merged(one: JsonObject, other: JsonObject) -> JsonObject:
    """Return a schema that a value fits where it fits both, for schemas as `normalise` gives them, without choices.

    Where the two contradict each other in a way that is seen here, the result is `NEVER`. Rare pairs (two patterns,
    two formats) keep the second only; a caller that must be sure checks the value against the schema itself.
    """
    if not one or not other:
        return one or other
    if NEVER in (one, other):
        return NEVER
    result = {**one, **other}
    for key in one.keys() & other.keys() - _NAMED:
        result[key] = _both(key, one[key], other[key])
    _merge_properties(result, one, other)
    _merge_items(result, one, other)
    return NEVER if _is_void(result) else result


def _both(key: str, left: Any, right: Any) -> JsonValue:
    if key in _LARGER:
        return _number_of(max, left, right)
    if key in _SMALLER:
        return _number_of(min, left, right)
    if key in _BOTH:
        return both_of(left, right)
    merge = _MERGES.get(key)
    return right if merge is None else merge(left, right)


def both_of(left: JsonValue, right: JsonValue) -> JsonValue:
    """Return the schema that asks for what two ask for; `False` where either lets nothing through."""
    if left is False or right is False:
        return False
    if left is True or left in ({}, right):
        return right
    return left if right is True or right == {} else {"allOf": [left, right]}


def _number_of(choose: Any, left: Any, right: Any) -> JsonValue:
    numbers = [value for value in (left, right) if isinstance(value, (int, float))]
    result: JsonValue = choose(numbers) if numbers else right
    return result


def _types(left: JsonValue, right: JsonValue) -> JsonValue:
    ones = left if isinstance(left, list) else [left]
    others = right if isinstance(right, list) else [right]
    kept: list[JsonValue] = [kind for kind in ones if kind in others]
    if "number" in ones and "integer" in others and "integer" not in kept:
        kept.append("integer")
    if "integer" in ones and "number" in others and "integer" not in kept:
        kept.append("integer")
    return kept[0] if len(kept) == 1 else kept


def _choices(left: JsonValue, right: JsonValue) -> JsonValue:
    if not isinstance(left, list) or not isinstance(right, list):
        return right
    return [value for value in left if any(same(value, one) for one in right)]


def _steps(left: Any, right: Any) -> JsonValue:
    if isinstance(left, int) and isinstance(right, int) and left and right:
        return math.lcm(left, right)
    return max(left, right) if isinstance(left, (int, float)) and isinstance(right, (int, float)) else right


def _lists(left: JsonValue, right: JsonValue) -> JsonValue:
    if not isinstance(left, list) or not isinstance(right, list):
        return right
    return [*left, *(one for one in right if one not in left)]


def _dependent(left: JsonValue, right: JsonValue) -> JsonValue:
    if not isinstance(left, dict) or not isinstance(right, dict):
        return right
    return {
        **left,
        **{key: _lists(left[key], value) if key in left else value for key, value in right.items()},
    }


_MERGES: dict[str, Callable[[Any, Any], JsonValue]] = {
    "type": _types,
    "enum": _choices,
    "multipleOf": _steps,
    "required": _lists,
    "dependentRequired": _dependent,
    "uniqueItems": lambda left, right: left is True or right is True,
    "not": lambda left, right: left if left == right else {"anyOf": [left, right]},
    "const": lambda left, right: left if same(left, right) else {"$never": [left, right]},
}


def _merge_properties(result: JsonObject, one: JsonObject, other: JsonObject) -> None:
    """Bring properties together; a property that one schema does not name must be one that it lets through."""
    left, right = _object(one.get("properties")), _object(other.get("properties"))
    if left or right:
        names = [*left, *(name for name in right if name not in left)]
        result["properties"] = {
            name: both_of(_of(one, left, name), _of(other, right, name)) for name in names
        }
    patterns = {**_object(one.get("patternProperties")), **_object(other.get("patternProperties"))}
    if patterns:
        result["patternProperties"] = patterns
    rests = [schema["additionalProperties"] for schema in (one, other) if "additionalProperties" in schema]
    if rests:
        result["additionalProperties"] = both_of(rests[0], rests[-1])


def _of(schema: JsonObject, properties: JsonObject, name: str) -> JsonValue:
    if name in properties:
        return properties[name]
    if schema.get("patternProperties"):
        return True
    return schema.get("additionalProperties", True)


def _merge_items(result: JsonObject, one: JsonObject, other: JsonObject) -> None:
    left, right = _array(one.get("prefixItems")), _array(other.get("prefixItems"))
    rest, others = one.get("items", True), other.get("items", True)
    if left or right:
        longest = max(len(left), len(right))
        result["prefixItems"] = [
            both_of(
                left[place] if place < len(left) else rest, right[place] if place < len(right) else others
            )
            for place in range(longest)
        ]
    if "items" in one or "items" in other:
        result["items"] = both_of(rest, others)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _array(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _is_void(schema: JsonObject) -> bool:
    constant = schema.get("const")
    if schema.get("type") == [] or schema.get("enum") == []:
        return True
    if isinstance(constant, dict) and constant.keys() == {"$never"}:
        return True
    choices = schema.get("enum")
    return "const" in schema and isinstance(choices, list) and not any(same(constant, one) for one in choices)
