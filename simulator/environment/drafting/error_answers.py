"""Words the error that a tool would give, in the shape that the tool's schema, description or earlier errors show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.answers import EarlierAnswer, is_error, is_read
from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.drafting.docstrings import shown_values
from simulator.environment.drafting.instances import NoValueError, instance
from simulator.environment.schema.schema_plans import Plan, is_error_branch
from simulator.environment.value import Value
from simulator.jsonvalue import JsonObject, copied

_NAMES = {
    400: "BAD_REQUEST", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "CONFLICT", 410: "GONE",
    422: "UNPROCESSABLE_ENTITY", 429: "TOO_MANY_REQUESTS", 500: "INTERNAL_ERROR", 503: "SERVICE_UNAVAILABLE",
}  # fmt: skip
_TOLD = re.compile(
    r"(?<![\w.,-])([45]\d\d)\b(?:\s+(?P<join>where|when|if|for|means|=|:|-)\s+(?P<why>[^.;,\n]{3,90}(?:\n\s+[^.;,\n]{3,90})?))?"
)
_ABOUT_ERRORS = re.compile(r"error|code|status|http|fail|rais|respon", re.IGNORECASE)
_NOT_FOUND, _CONFLICT, _BUSY = 404, 409, 503


class Trouble(Value):
    """Why a tool does not do what it was asked: an HTTP status and a sentence."""

    code: int
    message: str


def told_troubles(description: str) -> tuple[Trouble, ...]:
    """Give the errors that a tool's description tells of: `404 where no such order exists`."""
    return _told(description)


@lru_cache(maxsize=512)
def _told(description: str) -> tuple[Trouble, ...]:
    found: dict[int, str] = {}
    for match in _TOLD.finditer(description):
        sentence = description[: match.start()].rpartition(". ")[2]
        if not _ABOUT_ERRORS.search(sentence):
            continue
        why = " ".join((match.group("why") or "").split()).removesuffix(" or").strip()
        if found.get(int(match.group(1)), "") == "":
            found[int(match.group(1))] = why
    return tuple(Trouble(code=code, message=why) for code, why in found.items())


def likely_trouble(tool_name: str, description: str, arguments: JsonObject) -> Trouble:
    """Give the error that this call would most likely meet: what it names is not there, or not in the right state."""
    told = told_troubles(description)
    names = [name for name in arguments if is_identifier(name)]
    wanted = [_NOT_FOUND] if is_read(tool_name) or not names else [_CONFLICT, _NOT_FOUND]
    for code in wanted:
        found = next((one for one in told if one.code == code), None)
        if found is not None:
            return Trouble(code=code, message=_sentence(code, found.message, arguments))
    if told:
        return Trouble(code=told[0].code, message=_sentence(told[0].code, told[0].message, arguments))
    if names:
        return Trouble(code=_NOT_FOUND, message=_sentence(_NOT_FOUND, "", arguments))
    return Trouble(code=_BUSY, message="The service is temporarily unavailable. Please try again later.")


def _sentence(code: int, why: str, arguments: JsonObject) -> str:
    """Say what is wrong, with the first id or else the first text of the call."""
    named = next(((name, value) for name, value in arguments.items() if is_identifier(name)), None)
    if code == _NOT_FOUND and named is not None:
        what = " ".join(word for word in words_of(named[0]) if word != "id") or "record"
        return f"No {what} {named[1]} was found."
    said = (
        named[1]
        if named is not None
        else next((one for one in arguments.values() if isinstance(one, str)), None)
    )
    if not why:
        return f"Request for {said} failed: {_NAMES.get(code, 'ERROR').replace('_', ' ').lower()}."
    return f"{said}: {why}." if said is not None else f"{why[0].upper()}{why[1:]}."


def error_answers(
    trouble: Trouble,
    *,
    plan: Plan | None,
    description: str = "",
    earlier: Sequence[EarlierAnswer] = (),
    tool_name: str = "",
    arguments: Mapping[str, JsonValue] | None = None,
    chance: Chance | None = None,
) -> list[JsonObject]:
    """Give ways to say an error, the tool's own first; none where its schema has no room for one.

    The shapes come from the error branch of the schema, a schema that has fields for errors, the latest error that
    this tool gave, an error that the description shows, and last ADK's own error dict. `arguments` are those of the
    call: an error names no other thing than they do.
    """
    shapes = [
        answer.response
        for answer in reversed(earlier)
        if answer.tool_name == tool_name
        and not answer.injected
        and is_error(answer.response)
        and isinstance(answer.response, dict)
    ][:1]
    shapes += [shown for shown in shown_values(description) if isinstance(shown, dict) and is_error(shown)]
    asked = _asked(arguments or {})
    found = [] if plan is None else _of_schema(trouble, plan, asked, chance or Chance())
    found += [_reworded(shape, trouble, asked) for shape in shapes]
    found.append({"error_code": trouble.code, "error_message": trouble.message})
    return found if plan is None else [one for one in found if not plan.problems(one)]


def _asked(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the ids of a call: what an error is about."""
    return {
        name: value
        for name, value in arguments.items()
        if is_identifier(name) and isinstance(value, (str, int))
    }


def _invents(answer: JsonObject, asked: Mapping[str, JsonValue], fields: Mapping[str, JsonValue]) -> bool:
    """Tell whether an error names a thing that was not asked for, or says of it what nobody knows."""
    ids = list(asked.values())
    if any(
        is_identifier(name) and name not in fields and value not in (None, "", *ids)
        for name, value in answer.items()
    ):
        return True
    has_words = any(answer.get(name) == fields["message"] for name in fields)
    return not has_words and any(
        name not in asked and name not in fields and isinstance(value, (str, int, float))
        for name, value in answer.items()
    )


def _of_schema(
    trouble: Trouble, plan: Plan, asked: Mapping[str, JsonValue], chance: Chance
) -> list[JsonObject]:
    made: list[JsonObject] = []
    branches = [one for one in plan.alternatives(plan.schema) if is_error_branch(one)]
    for schema in [*branches, *([] if branches or not _has_room(plan) else [plan.schema])]:
        definitions = {"$defs": plan.schema["$defs"]} if "$defs" in plan.schema else {}
        for numbers in (True, False):
            fields = _fields(trouble, numbers=numbers)
            try:
                one = instance(
                    {**schema, **definitions},
                    chance,
                    {**asked, **fields},
                    arguments=asked,
                    style="least",
                )
            except NoValueError:
                continue
            if not isinstance(one, dict) or plan.problems(one) or not is_error(one):
                continue
            one = _with_message(one, schema, trouble, plan)
            if not _invents(one, asked, fields):
                made.append(one)
                if {trouble.code, _NAMES.get(trouble.code)} & {
                    value for value in one.values() if isinstance(value, (int, str))
                }:
                    break
    return made[-1:] + made[:-1]  # the one that names its code came last


def _has_room(plan: Plan) -> bool:
    found = [one.get("properties") for one in plan.alternatives(plan.schema)]
    names = {name for properties in found if isinstance(properties, dict) for name in properties}
    return bool(
        names & {"error", "error_message", "errorMessage", "error_code", "errors", "message", "status"}
    )


def _with_message(answer: JsonObject, schema: JsonObject, trouble: Trouble, plan: Plan) -> JsonObject:
    """Name the error in an optional field, where the schema has one."""
    properties = schema.get("properties")
    if trouble.message in answer.values() or not isinstance(properties, dict):
        return answer
    for name in ("error_message", "errorMessage", "error", "message", "detail", "reason"):
        if name in properties:
            fuller: JsonObject = {**answer, name: trouble.message}
            if not plan.problems(fuller):
                return fuller
    return answer


def _fields(trouble: Trouble, *, numbers: bool) -> Mapping[str, JsonValue]:
    code: JsonValue = trouble.code if numbers else _NAMES.get(trouble.code, "ERROR")
    words = dict.fromkeys(
        ("error", "error_message", "errorMessage", "message", "detail", "details", "reason"), trouble.message
    )
    codes = dict.fromkeys(("error_code", "errorCode", "code", "status_code", "statusCode"), code)
    kind = _NAMES.get(trouble.code, "ERROR").lower()
    return {
        **words,
        **codes,
        "error_type": kind,
        "type": kind,
        "status": "error",
        "success": False,
        "ok": False,
        "found": False,
    }


def _reworded(shape: JsonObject, trouble: Trouble, asked: Mapping[str, JsonValue]) -> JsonObject:
    """Put another error into the shape of one, with the ids of the call and no others."""
    fields = _fields(trouble, numbers=True)
    own: JsonObject = copied(shape)
    answer: JsonObject = {
        name: asked.get(name, value)
        for name, value in own.items()
        if name in asked or name in fields or not is_identifier(name)
    }
    for name, value in answer.items():
        told = fields.get(name)
        if told is not None and type(told) is type(value) and name not in {"status", "type"}:
            answer[name] = told
    return answer
