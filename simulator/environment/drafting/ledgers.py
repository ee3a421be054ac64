"""Reckons what remains of a budget or balance after what was paid since it was last told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from simulator.environment.conventions.answers import EarlierAnswer, is_error, is_read
from simulator.environment.conventions.names import words_of
from simulator.environment.drafting.answer_names import answer_name
from simulator.environment.drafting.words_of_fields import ALLOWANCES
from simulator.jsonvalue import JsonObject

_PAID_OUT = frozenset(
    {
        "pay",
        "reimburse",
        "transfer",
        "charge",
        "withdraw",
        "spend",
        "book",
        "buy",
        "purchase",
        "order",
        "debit",
        "send",
    }
)
_PAID_IN = frozenset({"deposit", "refund", "credit", "release", "return", "top", "add"})
_SOURCES = frozenset({"from", "source", "sender", "debit"})
_TARGETS = frozenset({"to", "target", "destination", "recipient", "beneficiary", "credit"})
_AMOUNTS = ("amount", "total", "price", "cost")
_REMAINS = ALLOWANCES - {"limit", "allowed", "approved"}


def remaining(
    tool_name: str, arguments: JsonObject, known: Mapping[str, JsonValue], earlier: Sequence[EarlierAnswer]
) -> dict[str, JsonValue]:
    """Give the fields of an answer that tell what remains, after the payments that name what the call names.

    The last answer about just the same tells what remained then, also one of another tool, or else what is known does.
    A payment counts where it shares an argument with the call (the department), or where it goes from or to what the
    call names (the account).
    """
    if not is_read(tool_name) or not arguments:
        return {}
    told: Mapping[str, JsonValue] = {name: known[name] for name in known if set(words_of(name)) & _REMAINS}
    since: Sequence[EarlierAnswer] = earlier
    for place in range(len(earlier) - 1, -1, -1):
        answer = earlier[place]
        if answer.arguments == arguments and is_read(answer.tool_name):
            said = _said(answer)
            if said:
                told, since = {**told, **said}, earlier[place + 1 :]
                break
    found = {name: _number(told[name]) for name in told}
    if not found:
        return {}
    change = sum(_paid(answer, arguments) for answer in since)
    return {name: round(value + change, 2) for name, value in found.items() if value is not None}


def _said(answer: EarlierAnswer) -> dict[str, JsonValue]:
    """Give what an answer says remains, by the field's name; of a plain number by what the tool asks for."""
    response = answer.response
    if isinstance(response, dict) and set(response) != {"result"}:
        return {name: value for name, value in response.items() if set(words_of(name)) & _REMAINS}
    value = response["result"] if isinstance(response, dict) else response
    name = answer_name(answer.tool_name).name
    return {name: value} if _number(value) is not None and set(words_of(name)) & _REMAINS else {}


def _paid(answer: EarlierAnswer, arguments: JsonObject) -> float:
    """Give what an answered call added, or took off as a negative number."""
    verb = set(words_of(answer.tool_name)[:1])
    if is_error(answer.response) or is_read(answer.tool_name):
        return 0.0
    amount = next(_amounts(answer.arguments), 0.0)
    if any(answer.arguments.get(name) == value for name, value in arguments.items()):
        return -amount if verb & _PAID_OUT else amount if verb & _PAID_IN else 0.0
    named = list(arguments.values())
    for name, value in answer.arguments.items():
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value in named:
            words = set(words_of(name))
            return -amount if words & _SOURCES else amount if words & _TARGETS else 0.0
    return 0.0


def _amounts(values: JsonObject) -> Iterator[float]:
    for name in _AMOUNTS:
        amount = _number(values.get(name))
        if amount is not None:
            yield amount
    for inner in values.values():
        if isinstance(inner, dict):
            yield from _amounts(inner)


def _number(value: JsonValue) -> float | int | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
