"""Reckons what remains of a budget or balance after what was paid since it was last told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from simulator.environment.plausible import words_of
from simulator.environment.recall import EarlierAnswer, is_error, is_read
from simulator.environment.words_of_fields import ALLOWANCES
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
    }
)
_PAID_IN = frozenset({"deposit", "refund", "credit", "release", "return", "top", "add"})
_AMOUNTS = ("amount", "total", "price", "cost")


def remaining(
    tool_name: str, arguments: JsonObject, known: Mapping[str, JsonValue], earlier: Sequence[EarlierAnswer]
) -> dict[str, JsonValue]:
    """Give the fields of an answer that tell what remains, after the payments that name what the call names.

    The last answer to the very same call tells what remained then, or else what is known does. A payment counts where it
    shares an argument with the call: the department, the account.
    """
    if not is_read(tool_name) or not arguments:
        return {}
    told: Mapping[str, JsonValue] = known
    since: Sequence[EarlierAnswer] = earlier
    for place in range(len(earlier) - 1, -1, -1):
        answer = earlier[place]
        if (
            answer.tool_name == tool_name
            and answer.arguments == arguments
            and isinstance(answer.response, dict)
        ):
            told, since = answer.response, earlier[place + 1 :]
            break
    found = {
        name: _number(told[name])
        for name in told
        if set(words_of(name)) & (ALLOWANCES - {"limit", "allowed", "approved"})
    }
    if not found:
        return {}
    change = sum(_paid(answer, arguments) for answer in since)
    return {name: round(value + change, 2) for name, value in found.items() if value is not None}


def _paid(answer: EarlierAnswer, arguments: JsonObject) -> float:
    """Give what an answered call added, or took off as a negative number."""
    verb = set(words_of(answer.tool_name)[:1])
    if is_error(answer.response) or not any(
        answer.arguments.get(name) == value for name, value in arguments.items()
    ):
        return 0.0
    amount = next(_amounts(answer.arguments), 0.0)
    return -amount if verb & _PAID_OUT else amount if verb & _PAID_IN else 0.0


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
