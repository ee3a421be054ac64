"""Makes the fields of one answer agree with each other: what comes first is lower, and totals are sums."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import words_of
from simulator.environment.drafting.fields import singular_of
from simulator.environment.drafting.records import Layers
from simulator.jsonvalue import JsonObject

_PAIRS = (
    ("low", "high"),
    ("lowest", "highest"),
    ("lower", "upper"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("start", "end"),
    ("starts", "ends"),
    ("depart", "arrive"),
    ("departs", "arrives"),
    ("departure", "arrival"),
    ("open", "close"),
    ("opens", "closes"),
    ("in", "out"),
    ("created", "updated"),
    ("from", "to"),
)
_QUANTITIES = frozenset({"quantity", "qty", "count"})
_PRICES = frozenset({"price", "cost", "rate", "fare"})
_STAYS = (("in", "out"), ("start", "end"), ("arrival", "departure"), ("pickup", "return"), ("begin", "end"))
_LONGEST_STAY = 1_000
_TOTALS = frozenset({"total", "subtotal"})
_ADDED = frozenset({"tax", "shipping", "fee", "fees", "delivery", "vat"})
_TAKEN_OFF = frozenset({"discount"})
_LARGEST = 10**12


def coherent(
    value: JsonValue,
    fixed: Mapping[str, JsonValue],
    chance: Chance,
    unit_price: float | None = None,
    told: Callable[[JsonObject, str], Mapping[str, JsonValue]] | None = None,
) -> JsonValue:
    """Order the pairs and add up the totals in a value, at any depth.

    Args:
        value: A drafted answer; it is not changed.
        fixed: Values by field name that stay as they are, such as the arguments of the call.
        chance: Decides how long it is from a beginning to its end.
        unit_price: What one of the article costs that the call is about, where the answer does not say so.
        told: Gives what is told of an object in a list, which stays as it is too; asked with what the object is called.
    """
    return _coherent(value, fixed, chance, told or _nothing, unit_price=unit_price)


def _nothing(_: JsonObject, __: str) -> Mapping[str, JsonValue]:
    return {}


def _coherent(
    value: JsonValue,
    fixed: Mapping[str, JsonValue],
    chance: Chance,
    told: Callable[[JsonObject, str], Mapping[str, JsonValue]],
    *,
    unit_price: float | None = None,
    item: str = "",
) -> JsonValue:
    if isinstance(value, list):
        return [_coherent(one, fixed, chance, told, item=item) for one in value]
    if not isinstance(value, dict):
        return value
    record: JsonObject = {}
    for name, inner in value.items():
        price = unit_price if isinstance(inner, dict) else None
        record[name] = _coherent(inner, fixed, chance, told, unit_price=price, item=singular_of(name))
    own = told(value, item)
    fixed = Layers(fixed, own) if own else fixed
    _end_stay(record, fixed)
    _order(record, fixed, chance)
    _add_up(record, fixed, unit_price)
    _count(record, fixed)
    return record


def _count(record: JsonObject, fixed: Mapping[str, JsonValue]) -> None:
    """Let `count`, `order_count` and `number_of_orders` say how long the list is."""
    lists = {name: value for name, value in record.items() if isinstance(value, list)}
    for name, value in record.items() if lists else ():
        words = words_of(name)
        if name in fixed or isinstance(value, bool) or not isinstance(value, int) or "total" in words:
            continue
        if words[-1:] != ("count",) and words[:1] not in (("num",), ("number",)):
            continue
        named = set(words) - {"count", "num", "number", "of"}
        meant = [
            one for own, one in lists.items() if named & {*words_of(own), *words_of(own.removesuffix("s"))}
        ]
        if len(meant) == 1 or (
            not meant and len(lists) == 1 and named <= {"result", "results", "item", "items"}
        ):
            record[name] = len((meant or list(lists.values()))[0])


def _end_stay(record: JsonObject, fixed: Mapping[str, JsonValue]) -> None:
    """Let a stay end as many nights, or days, after its beginning as the call or the record says."""
    for name in record:
        words = words_of(name)
        first = next(
            (
                "_".join(begin if word == end else word for word in words)
                for begin, end in _STAYS
                if end in words
            ),
            None,
        )
        if first is None or name in fixed:
            continue
        begin, end = record.get(first, fixed.get(first)), record[name]
        nights = amount_of(next((one for one in _spans(record, fixed) if one is not None), None))
        day = _date(begin) if isinstance(begin, str) else None
        if (
            day is not None
            and nights is not None
            and isinstance(end, str)
            and _date(end) is not None
            and 0 < nights < _LONGEST_STAY
        ):
            record[name] = (day + dt.timedelta(days=int(nights))).date().isoformat()


def _spans(record: JsonObject, fixed: Mapping[str, JsonValue]) -> tuple[JsonValue, ...]:
    return tuple(one.get(name) for one in (record, fixed) for name in ("nights", "days", "duration_days"))


def _order(record: JsonObject, fixed: Mapping[str, JsonValue], chance: Chance) -> None:
    names = {words_of(name): name for name in record}
    for words, first in names.items():
        for one, other in _PAIRS:
            if one not in words:
                continue
            last = names.get(tuple(other if word == one else word for word in words))
            if last is not None:
                _order_pair(record, first, last, fixed, chance)


def _order_pair(
    record: JsonObject, first: str, last: str, fixed: Mapping[str, JsonValue], chance: Chance
) -> None:
    low, high = record[first], record[last]
    held = first in fixed and fixed[first] == low, last in fixed and fixed[last] == high
    if all(held):
        return
    low_number, high_number = amount_of(low), amount_of(high)
    if low_number is not None and high_number is not None:
        if low_number > high_number:
            record[first], record[last] = (low, low) if held[0] else (high, high) if held[1] else (high, low)
    elif isinstance(low, str) and isinstance(high, str):
        moved = _moved(high, -1, chance) if held[1] else _moved(low, 1, chance)
        if moved and len(moved) == len(low) == len(high):
            record[first if held[1] else last] = moved


def _moved(text: str, way: int, chance: Chance) -> str:
    """Give a date some days, or a time some hours, after a date or time (before, where `way` is -1)."""
    steps = chance.number(f"span:{text}", 4) + 1
    for read, step in ((_date, dt.timedelta(days=1)), (_time, dt.timedelta(minutes=55))):
        moment = read(text)
        if moment is None:
            continue
        try:
            then = moment + way * steps * step
        except OverflowError:
            return ""
        if read is _date:
            return then.date().isoformat()
        if len(text) <= len("08:30:00Z"):
            tail = text[5:]
            return f"{then:%H:%M}{tail}" if then.date() == moment.date() else ""
        return then.isoformat().replace("+00:00", "Z")
    return ""


def _date(text: str) -> dt.datetime | None:
    return _read(lambda: dt.datetime.combine(dt.date.fromisoformat(text), dt.time()))


def _time(text: str) -> dt.datetime | None:
    if len(text) <= len("08:30:00Z"):
        return _read(lambda: dt.datetime.combine(dt.date(2026, 1, 1), dt.time.fromisoformat(text)))
    return _read(lambda: dt.datetime.fromisoformat(text))


def _read(parse: Callable[[], dt.datetime]) -> dt.datetime | None:
    try:
        return parse()
    except ValueError:
        return None


def _add_up(record: JsonObject, fixed: Mapping[str, JsonValue], unit_price: float | None) -> None:
    base = _sum_of_lists(record)
    if base is None:
        base = _of_one(record, fixed)
    if base is None and unit_price is not None:
        base = _product({**fixed, **record, "unit_price": unit_price})
    if base is None:
        return
    extra = extras(record)
    for name, value in record.items():
        words = set(words_of(name))
        if not words & _TOTALS or words & {"items", "count"} or amount_of(value) is None or name in fixed:
            continue
        total = round(base if "subtotal" in words else base + extra, 2)
        record[name] = int(total) if isinstance(value, int) and total == int(total) else total


def _sum_of_lists(record: JsonObject) -> float | None:
    for rows in record.values():
        if isinstance(rows, list) and rows:
            products = [_product(row) if isinstance(row, dict) else None for row in rows]
            known = [product for product in products if product is not None]
            if len(known) == len(rows):
                return sum(known)
    return None


def _of_one(record: JsonObject, fixed: Mapping[str, JsonValue]) -> float | None:
    """Give quantity times price of a line, or a price per night times the nights that were asked for."""
    told = [(name, fixed[name]) for name in fixed if name not in record and "per" in words_of(name)]
    for name, value in (*record.items(), *told):
        words, price = words_of(name), amount_of(value)
        if price is None or "per" not in words[1:-1] or not set(words) & _PRICES:
            continue
        for unit in (words[-1], f"{words[-1]}s"):
            count = amount_of(record.get(unit, fixed.get(unit)))
            if count is not None:
                return price * count
    return _product(record)


class Line(NamedTuple):
    """How many of an article a line of an order says, and what one costs, each with the name of its field."""

    counts: str
    quantity: float
    prices: str
    price: float


def line_of(row: JsonObject) -> Line | None:
    """Read a line; None where it does not say both."""
    counts = prices = ""
    quantity = price = None
    for name, value in row.items():
        words = set(words_of(name))
        if words & _QUANTITIES and quantity is None:
            counts, quantity = name, amount_of(value)
        elif words & _PRICES and not words & _TOTALS and price is None:
            prices, price = name, amount_of(value)
    return None if quantity is None or price is None else Line(counts, quantity, prices, price)


def _product(row: JsonObject) -> float | None:
    line = line_of(row)
    return None if line is None else line.quantity * line.price


def extras(record: JsonObject) -> float:
    """Give what a record adds to the sum of its lines (tax, shipping), less what it takes off."""
    return sum(_signed(name, value) for name, value in record.items())


def _signed(name: str, value: JsonValue) -> float:
    words, amount = set(words_of(name)), amount_of(value)
    if amount is None or words & _TOTALS or words & {"rate", "percent", "percentage"}:
        return 0.0
    return amount if words & _ADDED else -amount if words & _TAKEN_OFF else 0.0


def amount_of(value: JsonValue) -> float | int | None:
    """Give a number that can be reckoned with; None for anything else, also for one too large for an amount."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return value if -_LARGEST < value < _LARGEST else None
