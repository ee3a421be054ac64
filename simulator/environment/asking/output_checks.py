"""Says where an answer breaks a tool's output schema; an error is right beside any schema, as it describes no error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulator.environment.asking.asked_schemas import RESULT
from simulator.environment.conventions.answers import is_error
from simulator.environment.schema.schema_plans import plan_for
from simulator.environment.schema.schemas import BrokenSchemaError, in_words
from simulator.jsonvalue import Json, JsonObject

_MOST_TOLD = 3
_CHOICES = ("anyOf", "oneOf", "allOf")


def breach(value: Json, schema: JsonObject | None) -> str:
    """Say where an answer breaks a schema: "breaks the output schema: $.total: 'x' is not of type 'number'"; else "".

    The schema may be in any form that `normalise` reads. None, one that says nothing and one that is itself broken
    cannot be broken, and an error needs not fit. A value stands for itself or, as ADK wraps it, in a field `result`.
    """
    try:
        plan = plan_for(schema or {})
    except BrokenSchemaError:
        return ""
    found = plan.problems(value)
    if not found or found[0].of_schema or is_error_beside(value, plan.schema):
        return ""
    if isinstance(value, dict) and value.keys() == {RESULT} and not plan.problems(value[RESULT]):
        return ""
    return f"breaks the output schema: {'; '.join(in_words(found, _MOST_TOLD))}"


def is_error_beside(value: Json, schema: JsonObject) -> bool:
    """Tell whether a value that does not fit a schema is an error that a tool reports, and no botched answer.

    Args:
        value: The value.
        schema: What `normalise` has given.
    """
    if not isinstance(value, dict) or not is_error(value):
        return False
    # A failed order may have the status "failed": alone, among fields of the answer, the word tells no error.
    if is_error({name: inner for name, inner in value.items() if name != "status"}):
        return True
    return not value.keys() <= set(_fields(schema))


def _fields(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from schema.get("properties", ())
    for name in _CHOICES:
        for part in schema.get(name, ()):
            yield from _fields(part)
