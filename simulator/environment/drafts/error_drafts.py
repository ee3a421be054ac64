"""Words an error in the tool's own shape: as its code, its earlier errors or its schema show it, else in ADK's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.conventions.entity_kinds import is_identifier
from simulator.environment.conventions.seeded_choice import Chance
from simulator.environment.conventions.tool_verbs import is_error
from simulator.environment.drafts.schema_instances import Maker, NoValueError, ValueContext
from simulator.environment.schema.schema_plans import SchemaPlan, is_error_branch

ADK_FORM = {"error_code", "error_message"}
"""The fields of an error as ADK's environment simulation gives it."""
_CODES = ("error_code", "code", "status_code", "errorCode", "statusCode")
_MESSAGES = ("error_message", "errorMessage", "message", "error", "detail", "details", "reason")


def adk_error(code: int, message: str) -> JsonObject:
    """Return an error in ADK's form."""
    return {"error_code": code, "error_message": message}


def error_places(error: JsonObject) -> tuple[str, str]:
    """Return the fields in which an error has its number and its sentence; an empty name where it has none."""
    code = next((name for name in _CODES if isinstance(error.get(name), int)), "")
    return code, next((name for name in _MESSAGES if isinstance(error.get(name), str)), "")


def sentence_of(error: JsonObject) -> str:
    """Return what an error says in words."""
    return str(error.get(error_places(error)[1], "Not found."))


def error_answers(
    code: int,
    message: str,
    arguments: Mapping[str, JsonValue],
    *,
    plan: SchemaPlan | None,
    shapes: Sequence[JsonValue],
) -> Iterator[JsonObject]:
    """Yield ways to say an error, the tool's own first; none where its schema has no room for one.

    An error names no other thing than the call does.

    Args:
        code: An HTTP status.
        message: A sentence.
        arguments: The call's.
        plan: That of the tool's schema.
        shapes: Errors of the tool, the most telling first.
    """
    ids = {name: value for name, value in arguments.items() if is_identifier(name)}
    found = (_reworded(one, code, message, ids) for one in shapes if isinstance(one, dict))
    made = iter(()) if plan is None else _of_schema(plan, code, message, ids)
    for one in (*found, *made):
        if plan is None or not plan.problems(one):
            yield one


def _reworded(shape: JsonObject, code: int, message: str, ids: Mapping[str, JsonValue]) -> JsonObject:
    places: dict[str, JsonValue] = dict(zip(error_places(shape), (code, message), strict=True))
    kept = {name: value for name, value in shape.items() if name in ids or not is_identifier(name)}
    return {name: places.get(name, ids.get(name, value)) for name, value in kept.items()}


def _of_schema(
    plan: SchemaPlan, code: int, message: str, ids: Mapping[str, JsonValue]
) -> Iterator[JsonObject]:
    """Make errors by the branches of a schema that are for errors, else by a schema that has room for one."""
    known = {**dict.fromkeys(_MESSAGES, message), "status": "error", "success": False, "ok": False, **ids}
    branches = plan.alternatives(plan.schema)
    for branch in [one for one in branches if is_error_branch(one)] or branches:
        properties, required = branch.get("properties"), branch.get("required")
        names = [
            name for name in (properties if isinstance(properties, dict) else ()) if name in {*known, *_CODES}
        ]
        for wanted in ([*names, *(required if isinstance(required, list) else ())], required):
            schema = branch if wanted is None else {**branch, "required": wanted}
            for number in (code, HTTPStatus(code).name):
                scope = ValueContext(Chance(), {**known, **dict.fromkeys(_CODES, number)}, {}, style="least")
                maker = Maker(plan)
                try:
                    made = maker.value(schema, "", scope)
                except NoValueError:
                    continue
                if maker.blanks:  # nobody knows the id of what it is about
                    continue
                if isinstance(made, dict) and is_error(made) and _says(made, message, number, known):
                    yield made


def _says(error: JsonObject, message: str, number: JsonValue, known: Mapping[str, JsonValue]) -> bool:
    """Return whether an error says what it is about, and nothing that nobody knows."""
    is_named = number in error.values() or not error.keys() & {*_CODES}
    is_told = message in error.values() or error.keys() <= known.keys()
    return (
        is_named
        and is_told
        and all(value for name, value in error.items() if is_identifier(name) and name not in _CODES)
    )
