"""Tells where an answer contradicts what earlier calls said, with no rule of a person to say so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from pydantic import JsonValue

from simulator.base.json_values import JsonObject, same
from simulator.environment.conventions import EarlierAnswer, id_kind, id_of, words_of
from simulator.environment.world.entities import (
    PERSON,
    SEED,
    Contradiction,
    Entity,
    EntityChange,
    Origin,
)
from simulator.environment.world.response_reader import failed, says_missing
from simulator.environment.world.world import World

_BEGINNINGS = frozenset(
    {"created", "placed", "ordered", "registered", "joined", "issued", "born", "birth", "birthday"}
)
_FOR_GOOD = frozenset({"currency"})
_DESCRIBES = frozenset(
    {
        "name",
        "surname",
        "title",
        "sku",
        "isbn",
        "item",
        "article",
        "product",
        "brand",
        "author",
        "email",
        "mail",
    }
)
"""Last words of fields that say what a thing is: only a tool that changes it gives them another value."""
_WHOSE = frozenset(
    {"full", "first", "given", "family", "middle", "official", "english", "customer", "company", "model"}
)
"""What may stand before such a word, beside the thing's own kind; a driver's name comes to a ride with time."""
_PASSES = frozenset(
    {"status", "state", "condition", "phase", "progress", "stage", "step", "level", "score", "mood", "result"}
    | {
        "stock",
        "available",
        "availability",
        "balance",
        "position",
        "location",
        "place",
        "queue",
        "rank",
        "eta",
    }
    | {
        "time",
        "date",
        "at",
        "on",
        "updated",
        "modified",
        "seen",
        "last",
        "latest",
        "current",
        "currently",
        "next",
    }
    | {
        "forecast",
        "weather",
        "temperature",
        "summary",
        "message",
        "note",
        "notes",
        "comment",
        "remark",
        "display",
    }
    | {
        "assignee",
        "assigned",
        "owner",
        "priority",
        "version",
        "token",
        "url",
        "link",
        "speed",
        "rate",
        "mode",
    }
)
"""Words of fields that pass: with time alone, and with no tool, they get another value."""
_ANOTHER_WAY = frozenset(
    {"lang", "language", "locale", "format", "unit", "units", "translate", "date", "as", "of", "currency"}
)
"""Words of arguments that ask for the same thing in another way."""
_TOTALS = frozenset({"total", "subtotal"})
_PRICES = frozenset({"price", "cost", "rate"})
_ADDED = frozenset(
    {"tax", "shipping", "fee", "fees", "delivery", "vat", "discount", "express", "tip", "credit"}
)
_CENT = 0.01
_WORDS = re.compile(r"[^\W_]+")
_PROSE = 200
"""Characters from which on a text is prose, which is written anew for each answer."""
_SHORTEST_NUMBER = 4
_LARGEST = 10**12
_SHOWN = 60


def broken_off(world: World, changes: Sequence[EntityChange], call: EarlierAnswer) -> Iterator[Contradiction]:
    """Yield what an answer says against earlier ones.

    These are: a field that identifies or describes a thing (when it began, its currency, the ids that it refers to, its
    name), or one that a person has set and no tool can change, is changed by a mere question; a thing that was taken
    away lives; a thing that lives is said not to be there; what was just made
    has the id of another thing; the total of an order is not the sum of its lines.
    """
    yield from _missing(world, call)
    role = world.role_of(call.tool_name, call.arguments)
    named = set(world.named(call.tool_name, call.arguments))
    for change in changes:
        entity = world.entity(change.kind, change.id)
        if change.op == "delete":
            continue
        yield from _sums(change, entity)
        if entity is None:
            continue
        if entity.gone:
            if role.use != "creates":
                yield _said(change, f"{_name(change)} is in the response, but it was deleted", entity.last)
        elif role.use == "reads":
            yield from _identity(change, entity)
            if role.kind == change.kind and _asks_for_it_as_it_is(call.arguments, change.id, named):
                yield from _description(world, change, entity)
        elif role.use == "creates" and (change.kind, change.id) not in named and change.kind == role.kind:
            yield _said(change, f"{_name(change)} was created, but it already existed", entity.first)


def _missing(world: World, call: EarlierAnswer) -> Iterator[Contradiction]:
    if not isinstance(call.response, dict) or not failed(call.response) or not says_missing(call.response):
        return
    named = world.named(call.tool_name, call.arguments)
    entity = world.entity(*named[0]) if len(named) == 1 else None
    if entity is not None and not entity.gone:
        what = f"{entity.kind} {entity.id!r} is reported as not found, but it exists"
        yield Contradiction(
            kind=entity.kind, id=entity.id, what=_with(what, entity.last), earlier=entity.last
        )


def _identity(change: EntityChange, entity: Entity) -> Iterator[Contradiction]:
    for name, value in change.fields.items():
        before = entity.fields.get(name)
        if before is None or same(before, value) or not _identifies(name):
            continue
        what = f"{name} of {_name(change)} would be {_short(value)}, but was {_short(before)}"
        yield _said(change, what, entity.origins.get(name))


def _asks_for_it_as_it_is(arguments: JsonObject, key: str, named: set[tuple[str, str]]) -> bool:
    """Return whether a question names no more than a thing, or what to search for: neither a language nor a part of it."""
    if any(set(words_of(name)) & _ANOTHER_WAY for name in arguments):
        return False
    if not any(one == key for _, one in named):
        return True
    others = (value for value in arguments.values() if value is not None and not isinstance(value, bool))
    return not any(id_of(value) != key for value in others)


def _description(world: World, change: EntityChange, entity: Entity) -> Iterator[Contradiction]:
    """Compare what says what a thing is, and what a person has set of it, unless a tool may have changed it since."""
    can_change = world.can_change(change.kind)
    for name, value in change.fields.items():
        before, origin = entity.fields.get(name), entity.origins.get(name)
        if origin is None or world.changed_since(change.kind, origin.fact) or _identifies(name):
            continue
        is_set = origin.source in {SEED, PERSON}
        if _is_numbered(change.id) and not is_set:
            continue
        if not _describes(name, change.kind) and (
            can_change or not is_set or not _stays(name, change.kind, value)
        ):
            continue
        if _is_another(before, value):
            what = f"{name} of {_name(change)} would be {_short(value)}, but was {_short(before)}"
            yield _said(change, what, origin)


def _is_numbered(key: str) -> bool:
    """Return whether an id is as those that each list counts anew: the first hit of one search is not that of another."""
    return key.isdigit() and len(key) < _SHORTEST_NUMBER


def _describes(name: str, kind: str) -> bool:
    *whose, last = words_of(name) or ("",)
    return last in _DESCRIBES and set(whose) <= _DESCRIBES | _WHOSE | set(kind.split("_"))


def _stays(name: str, kind: str, value: JsonValue) -> bool:
    """Return whether a field keeps its value where no tool changes it: of numbers, only what the thing itself costs."""
    words = set(words_of(name))
    costs = words <= _TOTALS | _PRICES | {"amount"} | set(kind.split("_"))
    return not words & _PASSES and (isinstance(value, str) or costs)


def _is_another(before: JsonValue, value: JsonValue) -> bool:
    """Return whether two values say different things: not where a text says more, says less, or is written otherwise."""
    if isinstance(before, str) and isinstance(value, str):
        return max(len(before), len(value)) < _PROSE and not _is_written_otherwise(before, value)
    return _is_number(before) and _is_number(value) and abs(before - value) >= _CENT


def _is_written_otherwise(one: str, other: str) -> bool:
    """Return whether two texts may say the same: `Tea` and `Tea (green)`, `Ann Lee`, `A. Lee` and `a***@lee.example`."""
    short, long = sorted((_WORDS.findall(text.casefold()) for text in (one, other)), key=len)
    return "".join(short) in "".join(long) or all(any(_begin(word, each) for each in long) for word in short)


def _begin(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _identifies(name: str) -> bool:
    words = set(words_of(name))
    return bool(words & (_BEGINNINGS | _FOR_GOOD)) or id_kind(name) is not None


def _sums(change: EntityChange, entity: Entity | None) -> Iterator[Contradiction]:
    """Compare the total with the lines, where nothing else is in the price; a field that is absent proves nothing."""
    record = {**(entity.fields if entity else {}), **change.fields}
    totals = [name for name in record if words_of(name)[-1:] and set(words_of(name)) <= _TOTALS]
    if len(totals) != 1 or any(set(words_of(name)) & _ADDED and record[name] for name in record):
        return
    for name, lines in record.items():
        added = _sum(lines)
        total = record[totals[0]]
        if added is None or not _is_number(total) or abs(added - total) < _CENT:
            continue
        if name in change.fields or totals[0] in change.fields:
            other = totals[0] if name in change.fields else name
            where = entity.origins.get(other) if entity and other not in change.fields else None
            what = f"{totals[0]} of {_name(change)} is {_short(total)}, but its {name} add up to {added:.2f}"
            yield _said(change, what, where)


def _sum(lines: JsonValue) -> float | None:
    if not isinstance(lines, list) or not lines:
        return None
    products = [_product(line) if isinstance(line, dict) else None for line in lines]
    known = [product for product in products if product is not None]
    return sum(known) if len(known) == len(products) else None


def _product(line: JsonObject) -> float | None:
    quantities = [value for name, value in line.items() if name in ("quantity", "qty")]
    prices = [value for name, value in line.items() if set(words_of(name)) & _PRICES]
    others = any(set(words_of(name)) & (_ADDED | _TOTALS) for name in line)
    if len(quantities) != 1 or len(prices) != 1 or others:
        return None
    quantity, price = quantities[0], prices[0]
    return quantity * price if _is_number(quantity) and _is_number(price) else None


def _is_number(value: JsonValue) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST


def _said(change: EntityChange, what: str, earlier: Origin | None) -> Contradiction:
    return Contradiction(kind=change.kind, id=change.id, what=_with(what, earlier), earlier=earlier)


def _with(what: str, earlier: Origin | None) -> str:
    return f"{what} ({earlier.words()})." if earlier else f"{what}."


def _name(change: EntityChange) -> str:
    return f"{change.kind} {change.id!r}"


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
