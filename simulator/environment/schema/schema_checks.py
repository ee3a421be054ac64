"""Checks a tool's answer, and the arguments of a call, against what the tool declares.

A schema in any form that a tool may declare is brought into one standard form first (`normalise`, JSON schema of 2020-12), and jsonschema checks
values against that, with its patterns searched within bounds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from pydantic import BaseModel, ConfigDict, JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from simulator.base.json_values import JsonObject, NotJsonError, copied
from simulator.base.work_limit import PatternError, SearchError
from simulator.environment.schema.scalar_instances import is_found

__all__ = [
    "BrokenSchemaError",
    "CallMisfit",
    "Problem",
    "check",
    "check_arguments",
    "in_words",
    "misfit_calls",
    "normalise",
    "refusal",
    "undeclared",
]

_MOST_PROBLEMS, _MOST_NAMED = 50, 3
_MESSAGE_LENGTH = 300
_PLAIN_SCHEMA = frozenset({"type", "properties", "required", "title", "description", "additionalProperties"})
_PLAIN_VALUE = frozenset({"type", "title", "description", "default"})
_PLAIN_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)
}  # fmt: skip
_PARTS = frozenset({"items", "prefixItems", "anyOf", "oneOf"})
_DROPS: JsonObject = {"not": {}, "$comment": "dropped"}
"""What stands for the fields that ADK drops, where a declaration does not say itself which further ones an object may have."""
UNKNOWN_PLACE = "?"
"""Stands among the places where ADK drops what is not declared: what becomes of the tool's further arguments is up to the tool."""


class Problem(BaseModel):
    """One thing that is wrong with a value, or with the schema itself where `of_schema`.

    `path` is where, from the value's root: `$.orders[0].price`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    message: str
    of_schema: bool = False


def check(value: object, schema: object) -> tuple[Problem, ...]:
    """Say what is wrong with a value; nothing where it fits its schema. At most 50 problems, never an error.

    The schema may be in any form that `normalise` reads. One that is itself broken, or points out of itself, gives
    one problem that says so. Nothing is ever fetched.
    """
    try:
        return check_normal(value, json.dumps(normalise(schema)))
    except BrokenSchemaError as error:
        return (_broken(str(error)),)


class _Declared(Protocol):
    """A tool as it is declared: `dropped` names where ADK drops what `parameters` do not name."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> JsonObject: ...

    @property
    def dropped(self) -> tuple[str, ...]: ...


def check_arguments(arguments: object, tool: _Declared) -> tuple[Problem, ...]:
    """Say what is wrong with the arguments of a call by a tool's declaration; nothing where the declaration is itself broken: nobody can fit it."""
    if plainly_fits(arguments, tool.parameters):
        return ()
    normal = _normal(json.dumps(tool.parameters), tool.dropped)
    return () if normal is None else check_normal(arguments, normal)


def refusal(arguments: object, tool: _Declared) -> str:
    """Say why a tool, as it is declared, does not accept the arguments of a call; empty where it does."""
    problems = check_arguments(arguments, tool)
    missing, unknown = misnamed(arguments, tool.parameters)
    told = [f"{name!r} is unknown" for name in unknown] + [f"{name!r} is required" for name in missing]
    named = {f"{name!r} is a required property" for name in missing}
    named |= {_dropped_words(name) for name in unknown} if missing else set()
    others = [each for each in problems if each.path != "$" or each.message not in named]
    words = "; ".join((*([", ".join(told)] if missing else []), *in_words(others, _MOST_NAMED)))
    return f"the tool {tool.name!r} does not accept these arguments: {words}" if problems else ""


def undeclared(arguments: object, tool: _Declared) -> str:
    """Say which arguments of a call a tool does not declare, where it is up to the tool what becomes of these; empty where there are none."""
    _, unknown = misnamed(arguments, tool.parameters)
    is_open = not tool.parameters.keys().isdisjoint({"additionalProperties", "patternProperties"})
    if UNKNOWN_PLACE not in tool.dropped or is_open or not unknown:
        return ""
    named = ", ".join(f"{name!r} is unknown" for name in unknown)
    return f"the tool {tool.name!r} does not accept these arguments: {named}"


def misnamed(arguments: object, parameters: JsonObject) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the required parameters that arguments lack, and the arguments that are no parameters."""
    given = arguments if isinstance(arguments, dict) else {}
    properties, required = parameters.get("properties"), parameters.get("required")
    if not isinstance(properties, dict):
        return (), ()
    wanted = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    missing = tuple(name for name in wanted if name not in given)
    return missing, tuple(name for name in given if name not in properties)


class CallMisfit(NamedTuple):
    """What is wrong with a call of a tool: the place of the call among those of its turn, from 1, and words that name the tool."""

    number: int
    words: str


def misfit_calls(
    parts: Iterable[JsonObject], tools: Iterable[_Declared], named: Callable[[str], str] = str
) -> Iterator[CallMisfit]:
    """Yield which calls among the parts of a model's turn do not fit the declarations of its tools.

    A text that is required and empty is none that a model means. Where no tool is declared, none is called unknown: another
    program's agent does not tell what it has.

    Args:
        parts: The parts.
        tools: The tools that the model is offered.
        named: Names a place such as `$.items[0].price`; the page has the words of its forms.
    """
    declared = {tool.name: tool for tool in tools}
    calls: list[Any] = [part.get("function_call") or part.get("functionCall") for part in parts]
    for number, call in enumerate(filter(None, calls), 1):
        name, given = str(call.get("name")), call.get("args") or {}
        if name in declared:
            tool = declared[name]
            problems = (*check_arguments(given, tool), *_empty_texts(given, dict(tool.parameters)))
            if problems:
                words = "; ".join(in_words(problems, _MOST_NAMED, named))
                yield CallMisfit(number, f"the tool {name!r} does not accept these arguments: {words}")
        elif declared:
            yield CallMisfit(number, f"the agent has no tool {name!r}")


def _empty_texts(given: Any, declared: JsonObject) -> Iterator[Problem]:
    for path, text in required_texts(given, declared):
        if not text:
            steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            yield Problem(path=f"${''.join(steps)}", message="is empty")


def required_texts(given: object, declared: JsonObject) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts among the arguments of a call that are required, each with its place, but for those that may be empty: a default or a choice says so."""
    normal = _normal(json.dumps(declared), ())
    yield from _required_texts(given, json.loads(normal) if normal else declared, ())


def _required_texts(given: Any, schema: Any, path: tuple[str | int, ...]) -> Iterator[tuple[Any, str]]:
    schema = _of_group(schema)
    if isinstance(given, list):
        for number, each in enumerate(given):
            yield from _required_texts(each, schema.get("items"), (*path, number))
    fields, required = schema.get("properties") or {}, schema.get("required") or ()
    for name, value in given.items() if isinstance(given, dict) else ():
        field = fields.get(name)
        field = field if isinstance(field, dict) else {}
        if not isinstance(value, str):
            yield from _required_texts(value, field, (*path, name))
        elif name in required and "" not in (
            field.get("default"),
            field.get("const"),
            *(field.get("enum") or ()),
        ):
            yield (*path, name), value


def _of_group(schema: Any) -> Any:
    """Return the one schema of an object or a list among choices, as where a group may be null; one that says nothing where there are several."""
    plain = schema if isinstance(schema, dict) else {}
    choices = [each for each in plain.get("anyOf") or () if {"properties", "items"} & set(each)]
    return choices[0] if len(choices) == 1 else {} if choices else plain


def plainly_fits(given: object, schema: Mapping[str, Any]) -> bool:
    """Tell quickly whether arguments surely fit a schema that names types and no more; False where nobody can say so quickly."""
    properties = schema.get("properties")
    if not isinstance(given, dict) or not isinstance(properties, dict) or not schema.keys() <= _PLAIN_SCHEMA:
        return False
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(name in given for name in required):
        return False
    return all(name in properties and _plainly_is(value, properties[name]) for name, value in given.items())


def _plainly_is(value: object, schema: Any) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_VALUE:
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and type(value) in _PLAIN_TYPES.get(kind, ())


@lru_cache(maxsize=256)
def _normal(schema: str, dropped: tuple[str, ...]) -> str | None:
    """Bring the schema of a tool, of which there are few, into its normal form, with what is dropped; None where it is itself broken."""
    try:
        normal: Any = normalise(json.loads(schema))
    except BrokenSchemaError:
        return None
    properties = normal.get("properties")
    for place in dropped:
        name = place.removeprefix("$").removeprefix(".")
        if not name:
            normal.setdefault("additionalProperties", _DROPS)
        elif isinstance(properties, dict) and name in properties:
            properties[name] = _closed(properties[name])
    return json.dumps(normal)


def _closed(schema: Any) -> Any:
    """Write into all objects of a schema that say which fields they have, and not what becomes of others, that these are dropped."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _closed(value) if key in _PARTS else value for key, value in schema.items()}
    if isinstance(fields := schema.get("properties"), dict):
        inner["properties"] = {name: _closed(field) for name, field in fields.items()}
        inner.setdefault("additionalProperties", _DROPS)
    return inner


def check_normal(value: object, schema_text: str) -> tuple[Problem, ...]:
    """Check as `check` does, against a schema that `normalise` has given, as JSON text."""
    try:
        found = islice(_validator(schema_text).iter_errors(value), _MOST_PROBLEMS)
        return tuple(_problem(error) for error in found)
    except SchemaError as error:
        return (_broken(f"at {error.json_path}: {error.message}"),)
    except Unresolvable as error:
        return (_broken(f"it refers to {error.ref!r}, which it does not contain"),)
    except RecursionError:
        return (_broken("it refers to itself endlessly, or the value is nested too deeply"),)
    except (re.error, PatternError, OverflowError, TypeError) as error:
        return (_broken(str(error)),)


def in_words(problems: Sequence[Problem], most: int, named: Callable[[str], str] = str) -> tuple[str, ...]:
    """Say the first of some problems, each with its place as it is `named`, and how many more there are."""
    told = tuple(
        ": ".join(filter(None, (named(problem.path), problem.message))) for problem in problems[:most]
    )
    more = len(problems) - len(told)
    return (*told, f"and {more} more") if more else told


def _broken(reason: str) -> Problem:
    return Problem(path="$", message=_short(f"the schema itself is invalid: {reason}"), of_schema=True)


def _problem(error: ValidationError) -> Problem:
    """Name the cause inside a choice of schemas where there is a clear one."""
    cause: Any = best_match([error]) or error
    return Problem(path=cause.json_path, message=_short(cause.message))


def _short(message: str) -> str:
    if len(message) <= _MESSAGE_LENGTH:
        return message
    half = _MESSAGE_LENGTH // 2
    return f"{message[:half]} ... {message[-half:]}"


@lru_cache(maxsize=256)
def _validator(schema_text: str) -> Draft202012Validator:
    schema = json.loads(schema_text)
    Draft202012Validator.check_schema(schema)
    return unchecked_validator(schema)


def unchecked_validator(schema: Any) -> Draft202012Validator:
    """Return a validator for a schema that `normalise` has given; whether it is one is not checked, which takes long.

    Each use of it may raise what a broken schema raises.
    """
    # A pattern is searched for within bounds: some take for ever.
    # A registry of our own: the library's default one would fetch what a schema refers to.
    validator: Draft202012Validator = _Validator(schema, registry=Registry(), format_checker=_formats())
    return validator


def _pattern(_: Any, pattern: str, instance: object, __: object) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        found = is_found(pattern, instance)
    except SearchError as error:
        yield ValidationError(str(error))
        return
    if not found:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: object, _: object
) -> Iterator[ValidationError]:
    for name, value in instance.items() if isinstance(instance, dict) else ():
        for pattern, schema in patterns.items():
            try:
                found = is_found(pattern, name)
            except SearchError as error:
                yield ValidationError(str(error))
                continue
            if found:
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: object, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    if not isinstance(instance, dict):
        return
    extras = [name for name in instance if name not in named and not _has_pattern(name, patterns)]
    if allowed == _DROPS:
        yield from (ValidationError(_dropped_words(name)) for name in extras)
    elif isinstance(allowed, dict):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        were = "was" if len(extras) == 1 else "were"
        yield ValidationError(
            f"Additional properties are not allowed ({', '.join(map(repr, extras))} {were} unexpected)"
        )


def _dropped_words(name: str) -> str:
    return f"{name!r} is unknown: its value would be dropped"


def _has_pattern(name: str, patterns: dict[str, Any]) -> bool:
    """Return whether one of some patterns names a field; one that takes too much does not, and is a problem of its own."""
    for pattern in patterns:
        with suppress(SearchError):
            if is_found(pattern, name):
                return True
    return False


def _unevaluated_properties(
    validator: Any, allowed: Any, instance: object, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    """Check as the library does, once the fields that patterns name are named themselves: it searches without bounds."""
    if not isinstance(instance, dict):
        return
    try:
        named = _with_names(schema, list(instance))
    except SearchError as error:
        yield ValidationError(str(error))
        return
    yield from Draft202012Validator.VALIDATORS["unevaluatedProperties"](validator, allowed, instance, named)


def _with_names(schema: Any, names: list[str]) -> Any:
    """Write out which of some fields the patterns of a schema name, also in what applies to the same object."""
    if not isinstance(schema, dict):
        return schema
    result = {key: value for key, value in schema.items() if key != "patternProperties"}
    for key in result.keys() & {"allOf", "anyOf", "oneOf"}:
        result[key] = [_with_names(one, names) for one in result[key]]
    for key in result.keys() & {"if", "then", "else"}:
        result[key] = _with_names(result[key], names)
    if "dependentSchemas" in result:
        result["dependentSchemas"] = {
            name: _with_names(one, names) for name, one in result["dependentSchemas"].items()
        }
    for pattern, inner in schema.get("patternProperties", {}).items():
        for name in names:
            if is_found(pattern, name):
                fields = result.get("properties", {})
                result["properties"] = {**fields, name: {"allOf": [fields.get(name, True), inner]}}
    return result


_Validator: Any = extend(  # type: ignore[no-untyped-call] # jsonschema gives it no types
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "unevaluatedProperties": _unevaluated_properties,
    },
)


@lru_cache(maxsize=1)
def _formats() -> FormatChecker:
    """Know the formats that JSON schemas of tools use, read as generously as pydantic reads them."""
    checker = FormatChecker(formats=("email", "ipv4", "ipv6", "uuid"))
    for name, reads in _READERS.items():
        checker.checks(name, raises=ValueError)(_for_texts(reads))
    return checker


def _for_texts(reads: Callable[[str], object]) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        if isinstance(value, str):
            reads(value)
        return True

    return fits


def _date_time(text: str) -> datetime:
    if not re.match(r"\d{4}-\d\d-\d\d[Tt ]\d\d", text):
        raise ValueError(f"{text!r} is not a date with a time")
    return datetime.fromisoformat(text)


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not parts.scheme or not (parts.netloc or parts.path) or re.search(r"\s", text):
        raise ValueError(f"{text!r} is not a URI")


_READERS: dict[str, Callable[[str], object]] = {
    "date": date.fromisoformat,
    "date-time": _date_time,
    "time": time.fromisoformat,
    "uri": _uri,
}


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
        raise BrokenSchemaError(f"a schema must be an object, not {type(schema).__name__}")
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
                definitions[self._kept[ref]] = self._schema(referred(self._root, ref), 0)
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
            target = referred(self._root, ref)
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
                target = referred(self._root, ref)
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


def referred(root: JsonObject, ref: str) -> JsonValue:
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
