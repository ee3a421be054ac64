"""Settles the choices that a JSON schema leaves: merges what it asks for, and gives the plain schemas, without choices, that it stands for.

An error is right beside any schema, as that describes no error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, islice, product
from typing import Any

from jsonschema.exceptions import UnknownType
from pydantic import JsonValue
from referencing.exceptions import Unresolvable

from simulator.base.json_values import Json, JsonObject, same
from simulator.environment.conventions import is_error
from simulator.environment.schema.scalar_instances import matches
from simulator.environment.schema.schema_checks import (
    BrokenSchemaError,
    Problem,
    check_normal,
    in_words,
    normalise,
    referred,
    unchecked_validator,
)

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
    left, right = _list(one.get("prefixItems")), _list(other.get("prefixItems"))
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


def _is_void(schema: JsonObject) -> bool:
    constant = schema.get("const")
    if schema.get("type") == [] or schema.get("enum") == []:
        return True
    if isinstance(constant, dict) and constant.keys() == {"$never"}:
        return True
    choices = schema.get("enum")
    return "const" in schema and isinstance(choices, list) and not any(same(constant, one) for one in choices)


_MOST_ALTERNATIVES = 24
_CHOICES = ("anyOf", "oneOf")
_LEADING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_SPLIT = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "$defs"})
_NOTES = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_COMMON = _NOTES | {"type", "enum", "properties", "required", "items", "additionalProperties"}
"""Words of schemas for which no validator is needed, where no field is there that is not named."""
_STRICT = frozenset(
    {"oneOf", "not", "if", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "format"}
)
"""Keywords for which a value that was made for the plain schema must be checked against the whole one."""
_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("object", frozenset({"properties", "required", "additionalProperties", "patternProperties", "minProperties",
                          "propertyNames", "dependentRequired", "maxProperties"})),
    ("array", frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"})),
    ("string", frozenset({"minLength", "maxLength", "pattern", "format"})),
    ("number", frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})),
)  # fmt: skip
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "object": dict,
    "array": list,
}
_NOTHING: list[JsonValue] = [{"nothing": "valid yet"}]
_ALL = ("string", "integer", "object", "array", "boolean", "number", "null")


class SchemaPlan:
    """A schema, as `normalise` gives it, with all that was found out about its parts; one plan serves many drafts."""

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self._text = json.dumps(schema)
        self._validator = unchecked_validator(schema)
        self._alternatives: dict[int, tuple[JsonObject, tuple[JsonObject, ...]]] = {}
        self._shapes: dict[int, tuple[JsonObject, bool]] = {}
        self._valid: JsonValue = _NOTHING
        self._fields: dict[tuple[int, str], tuple[JsonObject, JsonValue]] = {}
        self._pairs: dict[tuple[int, int], tuple[JsonValue, JsonValue, JsonValue]] = {}

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Say what is wrong with a whole answer."""
        if value == self._valid and same(value, self._valid):  # a draft is looked at more than once
            return ()
        if _fits_plainly(value, self.schema) or _is_valid(self._validator, value):
            self._valid = value
            return ()
        return check_normal(value, self._text)

    def alternatives(self, node: JsonObject) -> tuple[JsonObject, ...]:
        """Return the plain schemas that a part stands for, in its own order; none where no value can fit it."""
        kept = self._alternatives.get(id(node))
        if kept is None:
            found = (one for one in self._expanded({}, [node], frozenset()) if one != NEVER)
            typed = (one for plain in found for one in _typed(plain))
            # The node is kept with the answer: its id is its own only as long as it lives.
            kept = self._alternatives[id(node)] = (node, tuple(islice(typed, _MOST_ALTERNATIVES)))
        return kept[1]

    def is_strict(self, node: JsonObject) -> bool:
        """Return whether a value that fits one of the alternatives may still miss the part itself."""
        kept = self._shapes.get(id(node))
        if kept is None:
            kept = self._shapes[id(node)] = (node, self._has_strict(node, frozenset()))
        return kept[1]

    def fits(self, value: JsonValue, node: JsonObject) -> bool:
        """Return whether a value fits a part of the schema."""
        quick = _quick(value, node)
        if quick is not None:
            return quick
        return _is_valid(self._validator.evolve(schema=node), value)

    def field(self, plain: JsonObject, name: str) -> JsonValue:
        """Return the schema of a property of a plain schema, also of one that it does not name."""
        kept = self._fields.get((id(plain), name))
        if kept is None:
            kept = self._fields[id(plain), name] = (plain, _property(plain, name))
        return kept[1]

    def fields(self, node: JsonValue) -> frozenset[str]:
        """Return the names of an object's properties; none where the part is of no object."""
        for plain in self.alternatives(node) if isinstance(node, dict) else ():
            properties = plain.get("properties")
            if isinstance(properties, dict):
                return frozenset(properties)
        return frozenset()

    def both(self, left: JsonValue, right: JsonValue) -> JsonValue:
        """Return the schema that asks for what two parts ask for."""
        kept = self._pairs.get((id(left), id(right)))
        if kept is None:
            kept = self._pairs[id(left), id(right)] = (left, right, both_of(left, right))
        return kept[2]

    def refers(self, node: JsonObject) -> bool:
        """Return whether a part is, or stands right beside, a reference: that is where a schema holds itself."""
        if not node.keys() & _LEADING:
            return False
        if "$ref" in node:
            return True
        return any(
            isinstance(one, dict) and "$ref" in one
            for key in ("allOf", *_CHOICES)
            for one in _list(node.get(key))
        )

    def _expanded(
        self, base: JsonObject, pending: list[JsonValue], seen: frozenset[str]
    ) -> Iterator[JsonObject]:
        if not pending:
            yield base
            return
        first, *rest = pending
        if first is True or first == {}:
            yield from self._expanded(base, rest, seen)
        elif isinstance(first, dict):
            plain = {key: value for key, value in first.items() if key not in _SPLIT}
            ref = first.get("$ref")
            more: list[JsonValue] = list(_list(first.get("allOf")))
            if isinstance(ref, str) and ref not in seen:
                seen = seen | {ref}
                more.append(self._target(ref))
            whole = merged(base, plain)
            if whole == NEVER:
                return
            for options in _options(first):
                yield from self._expanded(whole, [*more, *options, *rest], seen)

    def _target(self, ref: str) -> JsonValue:
        try:
            return referred(self.schema, ref)
        except LookupError:
            return True

    def _has_strict(self, node: JsonValue, seen: frozenset[str]) -> bool:
        if not isinstance(node, dict):
            return False
        if node.keys() & _STRICT:
            return True
        ref = node.get("$ref")
        inner: list[JsonValue] = [*_list(node.get("allOf")), *_list(node.get("anyOf"))]
        if isinstance(ref, str) and ref not in seen:
            seen = seen | {ref}
            inner.append(self._target(ref))
        return any(self._has_strict(one, seen) for one in inner)


def _is_valid(validator: Any, value: JsonValue) -> bool:
    """Return whether a value fits; to a schema that is broken, or that holds itself without end, none does."""
    try:
        return bool(validator.is_valid(value))
    except (
        Unresolvable,
        UnknownType,
        RecursionError,
        ArithmeticError,
        AttributeError,
        TypeError,
        ValueError,
        re.error,
    ):
        return False


def plan_for(schema: JsonObject) -> SchemaPlan:
    """Return the plan of a schema in any form that `normalise` reads; the plans that were used last are kept.

    Raises:
        BrokenSchemaError: It is no schema.
    """
    return _plan(json.dumps(schema))


@lru_cache(maxsize=128)
def _plan(text: str) -> SchemaPlan:
    return SchemaPlan(normalise(json.loads(text)))


def is_error_branch(schema: JsonObject) -> bool:
    """Return whether a plain schema is that of an error: an object that must name one, and little else."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return False
    names = {re.sub(r"[^a-z]", "", name.lower()) for name in properties}
    telling = {"error", "errorcode", "errormessage", "errortype", "errors", "errordetails", "exception"}
    beside = {
        "status",
        "message",
        "code",
        "detail",
        "details",
        "success",
        "retryafter",
        "requestid",
        "reason",
        "type",
    }
    return bool(names & telling) and names <= telling | beside


def _property(plain: JsonObject, name: str) -> JsonValue:
    properties, patterns = plain.get("properties"), plain.get("patternProperties")
    found: list[JsonValue] = []
    if isinstance(properties, dict) and name in properties:
        found.append(properties[name])
    if isinstance(patterns, dict):
        found.extend(schema for pattern, schema in patterns.items() if matches(pattern, name))
    if not found:
        return plain.get("additionalProperties", plain.get("unevaluatedProperties", True))
    result = found[0]
    for other in found[1:]:
        result = both_of(result, other)
    return result


def _options(node: JsonObject) -> Iterator[list[JsonValue]]:
    """Yield each way to settle the choices that stand right in a node, as schemas to be merged into it."""
    ways: list[list[list[JsonValue]]] = []
    ways.extend([[one] for one in branches] for key in _CHOICES if (branches := _list(node.get(key))))
    if "if" in node:
        condition = node["if"]
        ways.append([[condition, node.get("then", True)], [{"not": condition}, node.get("else", True)]])
    dependent = node.get("dependentSchemas")
    ways.extend(
        [[{"required": [name]}, schema], [{"properties": {name: False}}]]
        for name, schema in (dependent if isinstance(dependent, dict) else {}).items()
    )
    yield from ([*chain.from_iterable(chosen)] for chosen in product(*ways))


def _typed(plain: JsonObject) -> Iterator[JsonObject]:
    """Yield a plain schema once for each type that it allows, what says most first and null last."""
    if "const" in plain or "enum" in plain:
        yield plain
        return
    named = plain.get("type")
    if isinstance(named, str):
        yield plain
        return
    if isinstance(named, list):
        for kind in sorted((one for one in named if isinstance(one, str)), key=lambda one: one == "null"):
            yield {**plain, "type": kind}
        return
    told = [kind for kind, words in _KINDS if plain.keys() & words]
    if not told:
        yield plain
    for kind in [*told, *(one for one in _ALL if one not in told)]:
        yield {**plain, "type": kind}


def _fits_plainly(value: JsonValue, node: JsonValue) -> bool:
    """Return whether a value fits a schema of the commonest words alone; False where that takes a validator to tell.

    It takes a tenth of the time that a validator takes, and is asked of each draft.
    """
    if not isinstance(node, dict) or not node.keys() <= _COMMON:
        return False
    kind, choices = node.get("type"), node.get("enum")
    if not isinstance(kind, str) or not is_of(value, kind):
        return False
    if isinstance(choices, list) and not any(same(value, one) for one in choices):
        return False
    if isinstance(value, list):
        items = node.get("items", True)
        return items is True or all(_fits_plainly(one, items) for one in value)
    if not isinstance(value, dict):
        return True
    properties = node.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    return all(name in value for name in _list(node.get("required"))) and all(
        name in fields and _fits_plainly(one, fields[name]) for name, one in value.items()
    )


def _quick(value: JsonValue, node: JsonObject) -> bool | None:
    """Decide the commonest cases without a validator; None where one is needed."""
    kind = node.get("type")
    if isinstance(kind, str) and not is_of(value, kind):
        return False
    rest = node.keys() - _NOTES - {"type"}
    if not rest and isinstance(kind, str):
        return True
    choices = node.get("enum")
    if rest == {"enum"} and isinstance(choices, list):
        return any(same(value, one) for one in choices)
    return None


def is_of(value: JsonValue, kind: str) -> bool:
    """Return whether a value is of one of JSON schema's types."""
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES.get(kind, type(None)))


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


_MOST_PROBLEMS = 3
RESULT = "result"
"""The field of the object in which a value is asked for that is no object itself, as ADK wraps it too."""


def breach(value: Json, schema: JsonObject | None) -> str:
    """Return where an answer breaks a schema: "breaks the output schema: $.total: 'x' is not of type 'number'"; else "".

    The schema may be in any form that `normalise` reads. None, one that says nothing and one that is itself broken
    cannot be broken, and an error needs not fit. A value stands for itself or, as ADK wraps it, in a field `result`.
    """
    if not schema:
        return ""
    try:
        plan = plan_for(schema)
    except BrokenSchemaError:
        return ""
    found = plan.problems(value)
    if not found or found[0].of_schema or is_error_beside(value, plan.schema):
        return ""
    if isinstance(value, dict) and value.keys() == {RESULT} and not plan.problems(value[RESULT]):
        return ""
    return f"breaks the output schema: {'; '.join(in_words(found, _MOST_PROBLEMS))}"


def is_error_beside(value: Json, schema: JsonObject) -> bool:
    """Return whether a value that does not fit a schema is an error that a tool reports, and no botched answer.

    Args:
        value: The value.
        schema: What `normalise` has given.
    """
    if not isinstance(value, dict) or not is_error(value):
        return False
    # A failed order may have the status "failed": alone, among fields of the answer, the word tells no error.
    if is_error({name: inner for name, inner in value.items() if name != "status"}):
        return True
    return not value.keys() <= set(_field_names(schema))


def _field_names(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from schema.get("properties", ())
    for name in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(name, ()):
            yield from _field_names(part)
