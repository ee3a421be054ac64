"""Tells when a tool would refuse a call, by what is known of the thing that it is about."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_creation, is_error, is_read
from simulator.environment.conventions.names import is_identifier, spelled, words_of
from simulator.environment.drafting.error_answers import Trouble
from simulator.environment.drafting.knowledge import Knowledge
from simulator.jsonvalue import JsonObject

_CONFLICT, _UNPROCESSABLE = 409, 422
_CENT = 0.005

_OVER = frozenset(
    {"cancelled", "canceled", "refunded", "returned", "deleted", "archived", "expired", "rejected"}
)
_GONE_OUT = frozenset(
    {"shipped", "delivered", "completed", "closed", "in_transit", "dispatched", "departed", "checked_out"}
)
_STILL = frozenset(
    {
        "processing",
        "pending",
        "open",
        "new",
        "draft",
        "queued",
        "placed",
        "shipped",
        "in_transit",
        "dispatched",
    }
)
_FORBIDDEN: dict[str, tuple[str, frozenset[str]]] = {
    "cancel": ("already", _OVER | _GONE_OUT),
    "ship": ("already", _OVER | _GONE_OUT),
    "deliver": ("already", _OVER | frozenset({"delivered", "completed"})),
    "refund": ("still", _STILL),
    "return": ("still", _STILL - {"shipped", "in_transit", "dispatched"}),
    "approve": ("already", frozenset({"approved", "rejected", "closed", "cancelled", "paid"})),
    "reject": ("already", frozenset({"approved", "rejected", "closed", "cancelled", "paid"})),
    "close": ("already", frozenset({"closed", "archived", "deleted"})),
    "reopen": ("already", frozenset({"open"})),
    "pay": ("already", frozenset({"paid", "cancelled", "refunded"})),
    "confirm": ("already", _OVER),
}
"""By the verb of a tool: the states in which it refuses, and how it says so."""


def refusal(
    tool_name: str, arguments: JsonObject, known: Mapping[str, JsonValue], knowledge: Knowledge
) -> Trouble | None:
    """Give why a tool would not do what it is asked; None where nothing that is known speaks against it.

    Args:
        tool_name: The tool.
        arguments: What it is asked.
        known: What is known of the things that the call names by their ids.
        knowledge: What else is known.
    """
    if is_read(tool_name):
        return None
    return (
        _nothing_given(arguments)
        or _in_the_wrong_state(tool_name, arguments, known)
        or _too_much(tool_name, arguments, known, knowledge)
        or _not_there(arguments, knowledge)
    )


def _nothing_given(arguments: JsonObject) -> Trouble | None:
    """Refuse an empty list of what is to be done, and an empty name."""
    for name, value in arguments.items():
        if value == [] or (isinstance(value, str) and not value.strip() and words_of(name)[-1:] == ("name",)):
            return Trouble(code=_UNPROCESSABLE, message=f"{name} is empty: there is nothing to do.")
    return None


def _in_the_wrong_state(
    tool_name: str, arguments: JsonObject, known: Mapping[str, JsonValue]
) -> Trouble | None:
    verb = (words_of(tool_name) or ("",))[0]
    if verb not in _FORBIDDEN or "status" in arguments:
        return None
    how, states = _FORBIDDEN[verb]
    status = known.get("status", known.get("state"))
    if not isinstance(status, str) or status.lower() not in states:
        return None
    for name, value in arguments.items():
        if is_identifier(name):
            what = " ".join(word for word in words_of(name) if word != "id").capitalize() or "Record"
            return Trouble(code=_CONFLICT, message=f"{what} {value} is {how} {status.replace('_', ' ')}.")
    return None


def _too_much(
    tool_name: str, arguments: JsonObject, known: Mapping[str, JsonValue], knowledge: Knowledge
) -> Trouble | None:
    """Refuse to pay back more than was paid, in another currency, or what was paid back before."""
    amount, total = _number(arguments.get("amount")), _number(known.get("total", known.get("total_amount")))
    if (
        amount is None
        or total is None
        or (words_of(tool_name) or ("",))[0] not in {"refund", "repay", "return"}
    ):
        return None
    ids = {name: value for name, value in arguments.items() if is_identifier(name)}
    before = [
        _number(answer.arguments.get("amount")) or 0.0
        for answer in knowledge.earlier
        if answer.tool_name == tool_name
        and not is_error(answer.response)
        and all(answer.arguments.get(name) == value for name, value in ids.items())
    ]
    left = round(total - sum(before), 2)
    currency = known.get("currency")
    if amount <= left + _CENT and arguments.get("currency", currency) == currency:
        return None
    return Trouble(
        code=_UNPROCESSABLE, message=f"At most {left:.2f} {currency or knowledge.currency} can be refunded."
    )


def _not_there(arguments: JsonObject, knowledge: Knowledge) -> Trouble | None:
    """Refuse what no table has, or has too little of, among the articles of the call."""
    rows = [row for value in arguments.values() for row in (value if isinstance(value, list) else ())]
    for row in [arguments, *(one for one in rows if isinstance(one, dict))]:
        for name, value in row.items():
            found = _article(name, value, knowledge)
            if found is None:
                continue
            kind, known = found
            if not known:
                return Trouble(code=_UNPROCESSABLE, message=f"No {kind.replace('_', ' ')} {value} is sold.")
            stock = _number(
                next((known[one] for one in ("stock", "quantity_available") if one in known), None)
            )
            wanted = _number(next((row[one] for one in ("quantity", "qty", "count") if one in row), None))
            if stock is not None and wanted is not None and wanted > stock:
                return Trouble(code=_CONFLICT, message=f"Only {stock:g} of {value} in stock.")
    return None


def _article(name: str, value: JsonValue, knowledge: Knowledge) -> tuple[str, Mapping[str, JsonValue]] | None:
    """Give the kind and the record of an article; an empty record where a complete table has none like it."""
    words = set(words_of(name))
    if not isinstance(value, str) or not words & {"sku", "product", "article"}:
        return None
    field = spelled(name)
    for kind in knowledge.tables:
        rows = knowledge.tables[kind]
        if not rows or not (kind in words or (field in rows[0].fields and is_identifier(name))):
            continue
        for row in rows:
            if value.casefold() in (
                row.key.casefold(),
                str(row.get(field, "")).casefold(),
                str(row.get("name", "")).casefold(),
            ):
                return kind, row
        return (kind, {}) if kind in knowledge.complete else None
    return None


def makes_something(tool_name: str) -> bool:
    """Tell whether a tool's answer names a new thing by a new id: it creates one, or moves money or a message."""
    return is_creation(tool_name) or bool(
        set(words_of(tool_name)[:1])
        & {
            "refund",
            "pay",
            "reimburse",
            "transfer",
            "send",
            "charge",
            "request",
            "log",
            "buy",
            "purchase",
            "checkout",
            "ship",
        }
    )


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
