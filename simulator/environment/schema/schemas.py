"""Checks a tool's answer against the schema that the tool declares."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from pydantic import BaseModel, ConfigDict
from referencing import Registry
from referencing.exceptions import Unresolvable

from simulator.environment.regexes import PatternError
from simulator.environment.schema.bounded_patterns import UnboundedPatternError, is_found
from simulator.environment.schema.normal_schemas import BrokenSchemaError, normalise

__all__ = ["BrokenSchemaError", "Problem", "check", "in_words", "normalise"]

_MOST_PROBLEMS = 50
_PATTERN_SECONDS, _NAME_SECONDS = 0.1, 0.05
_MESSAGE_LENGTH = 300


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


def check_normal(value: object, schema_text: str) -> tuple[Problem, ...]:
    """Check as `check` does, against a schema that `normalise` has given, as JSON text."""
    try:
        found = islice(_validator(schema_text).iter_errors(value), _MOST_PROBLEMS)
        return tuple(_problem(error) for error in found)
    except SchemaError as error:
        return (_broken(f"at {error.json_path}: {error.message}"),)
    except Unresolvable as error:
        return (_broken(f"it refers to {error.ref!r}, which it does not hold"),)
    except RecursionError:
        return (_broken("it contains itself without end, or the value is nested too deeply"),)
    except (re.error, PatternError, OverflowError, TypeError) as error:
        return (_broken(str(error)),)


def in_words(problems: Sequence[Problem], most: int) -> tuple[str, ...]:
    """Say the first of some problems, each with its place, and how many more there are."""
    told = tuple(f"{problem.path}: {problem.message}" for problem in problems[:most])
    more = len(problems) - len(told)
    return (*told, f"and {more} more") if more else told


def _broken(reason: str) -> Problem:
    return Problem(path="$", message=_short(f"the schema itself is broken: {reason}"), of_schema=True)


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
    """Give a validator for a schema that `normalise` has given; whether it is one is not checked, which takes long.

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
        found = is_found(pattern, instance, _PATTERN_SECONDS)
    except UnboundedPatternError as error:
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
                found = is_found(pattern, name, _NAME_SECONDS)
            except UnboundedPatternError as error:
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
    if isinstance(allowed, dict):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        were = "was" if len(extras) == 1 else "were"
        yield ValidationError(
            f"Additional properties are not allowed ({', '.join(map(repr, extras))} {were} unexpected)"
        )


def _has_pattern(name: str, patterns: dict[str, Any]) -> bool:
    """Tell whether one of some patterns names a field; one that takes too much does not, and is a problem of its own."""
    for pattern in patterns:
        with suppress(UnboundedPatternError):
            if is_found(pattern, name, _NAME_SECONDS):
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
    except UnboundedPatternError as error:
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
            if is_found(pattern, name, _NAME_SECONDS):
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
    for name, reads in _readers():
        checker.checks(name, raises=ValueError)(_for_texts(reads))
    return checker


def _readers() -> Iterator[tuple[str, Callable[[str], object]]]:
    yield "date", date.fromisoformat
    yield "date-time", _date_time
    yield "time", time.fromisoformat
    yield "uri", _uri


def _for_texts(reads: Callable[[str], object]) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        if isinstance(value, str):
            reads(value)
        return True

    return fits


def _date_time(text: str) -> datetime:
    if not re.match(r"\d{4}-\d\d-\d\d[Tt ]\d\d", text):
        raise ValueError(f"{text!r} is no date with a time")
    return datetime.fromisoformat(text)


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not parts.scheme or not (parts.netloc or parts.path) or re.search(r"\s", text):
        raise ValueError(f"{text!r} is no URI")
