"""Makes answers that are one plain value: a name, a count, a yes, or a sentence about the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from simulator.environment.conventions.answers import EarlierAnswer, is_creation, is_error, is_read
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.conventions.roles import role_of
from simulator.environment.drafting.answer_names import answer_name
from simulator.environment.drafting.attempt import Try
from simulator.environment.drafting.docstrings import told_of
from simulator.environment.drafting.fields import is_null
from simulator.environment.drafting.new_ids import new_id
from simulator.environment.drafting.plausible import is_sentence
from simulator.environment.drafting.rates import rate_of
from simulator.environment.drafting.sentences import sentence_about
from simulator.environment.drafting.told_fields import EXAMPLE
from simulator.jsonvalue import JsonObject

if TYPE_CHECKING:
    from simulator.environment.drafting.draft_parts import Parts
    from simulator.environment.drafting.rows import Rows
    from simulator.environment.schema.schema_plans import Plan

_PLAIN = frozenset({"string", "number", "integer", "boolean"})
_BOUNDS = frozenset({"enum", "const", "format", "pattern", "examples", "maxLength"})


def is_plain(plan: Plan) -> bool:
    """Tell whether a tool answers with one plain value, or with a list of them."""
    found = [one for one in plan.alternatives(plan.schema) if not is_null(one)]
    return bool(found) and all(_is_plain(plan, one) for one in found)


def _is_plain(plan: Plan, one: JsonObject) -> bool:
    items = one.get("items")
    if one.get("type") == "array" and isinstance(items, dict):
        inner = [each for each in plan.alternatives(items) if not is_null(each)]
        return bool(inner) and all(each.get("type") in _PLAIN for each in inner)
    return one.get("type") in _PLAIN


def said_plainly(parts: Parts, plan: Plan) -> Try | None:
    """Give the value where it is no field of anything: a count of rows, a new id, a sentence; else None."""
    named = answer_name(parts.tool_name, parts.description)
    kinds = {one.get("type") for one in plan.alternatives(plan.schema) if not is_null(one)}
    value: JsonValue = None
    is_guess = False
    if named.name == "count" and parts.rows is not None and kinds <= {"integer", "number"}:
        value = parts.rows.total
    elif kinds == {"number"} and parts.tool_name.startswith(("convert", "exchange")):
        value = _converted(parts.arguments)
    elif kinds <= {"string", "integer"} and is_creation(parts.tool_name) and _is_id(named.name, kinds):
        value = _new_key(parts, whole="integer" in kinds)
    elif kinds == {"string"} and named.name not in parts.known and _example(parts.description):
        value = _example(parts.description)
    elif kinds == {"string"} and named.name not in parts.known and _is_free(plan) and _is_sentence(parts):
        made = _new_key(parts, whole=False) if is_creation(parts.tool_name) else None
        value = sentence_about(parts.tool_name, parts.arguments, named.phrase, made, parts.chance)
        is_guess = not named.is_telling
    elif kinds == {"array"} and parts.rows is not None:
        value = _of_rows(named.name, parts.rows)
    if value is None or not parts.fits(value):
        return None
    return Try(
        value, "made up in words about the call" if isinstance(value, str) else "by what is known", is_guess
    )


def name_of(parts: Parts, plan: Plan) -> str:
    """Give what a plain answer is called, so that its value is of that kind: several of them by the plural."""
    name = answer_name(parts.tool_name, parts.description).name
    is_list = any(one.get("type") == "array" for one in plan.alternatives(plan.schema))
    return f"{name}s" if is_list and name else name


def is_telling(parts: Parts) -> bool:
    """Tell whether the name of a plain answer tells what it looks like."""
    return answer_name(parts.tool_name, parts.description).is_telling


def told_plainly(
    earlier: Sequence[EarlierAnswer], arguments: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Give the plain values that reading tools have answered about just these things, by their names, the latest last."""
    found: dict[str, JsonValue] = {}
    if not arguments:
        return found
    for answer in earlier:
        if answer.arguments != arguments or not is_read(answer.tool_name) or is_error(answer.response):
            continue
        value = plain_of(answer.response)
        if value is not None:
            found[answer_name(answer.tool_name).name] = value
    return {name: value for name, value in found.items() if name}


def plain_of(response: JsonValue) -> JsonValue:
    """Give the plain value of an answer, also in the `result` in which the agent sees it; None where it is none."""
    if isinstance(response, dict) and set(response) == {"result"}:
        response = response["result"]
    return response if isinstance(response, (str, int, float)) else None


def _of_rows(name: str, rows: Rows) -> JsonValue:
    """Give the field of each row that a list of plain values is of; None where the rows have no such field."""
    is_key = is_identifier(name) or name in {"", "key", rows.kind}
    if rows.records and all(name in row for row in rows.records):
        return [row[name] for row in rows.records]
    return [row.key for row in rows.records] if is_key else None


def _example(description: str) -> str:
    """Give the value that a description shows of what is returned; none of what it says of the parameters."""
    first = description.strip().split("\n\n", maxsplit=1)[0]
    found = EXAMPLE.search(told_of(description)) or EXAMPLE.search(first.partition(":param")[0])
    return found.group(1) if found else ""


def _converted(arguments: JsonObject) -> JsonValue:
    """Give an amount in the other one of the two currencies that a call names."""
    amount = arguments.get("amount", arguments.get("value"))
    rate = rate_of(arguments)
    return round(amount * rate, 2) if rate and isinstance(amount, (int, float)) else None


def _is_id(name: str, kinds: set[JsonValue]) -> bool:
    return is_identifier(name) or kinds == {"integer"}


def _is_free(plan: Plan) -> bool:
    return not any(one.keys() & _BOUNDS for one in plan.alternatives(plan.schema))


def _is_sentence(parts: Parts) -> bool:
    named = answer_name(parts.tool_name, parts.description)
    return not named.is_telling or is_sentence(named.name)


def _new_key(parts: Parts, *, whole: bool) -> str | int:
    kind = role_of(parts.tool_name, parts.description).kind or "_".join(words_of(parts.tool_name)[1:])
    name = f"{kind}_id"
    return new_id(name, parts.knowledge.ids(name), parts.chance, whole=whole)
