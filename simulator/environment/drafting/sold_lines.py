"""Makes the drafted lines of an order name what is known to be sold, and add up to the total that is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from pydantic import JsonValue

from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import is_identifier, spelled, words_of
from simulator.environment.drafting.coherence import amount_of, extras, line_of
from simulator.environment.drafting.echoes import is_own_id
from simulator.environment.drafting.fields import singular_of
from simulator.environment.drafting.knowledge import Knowledge
from simulator.environment.drafting.records import Record
from simulator.jsonvalue import JsonObject

_WARES = frozenset({"product", "article", "item", "sku", "ware", "inventory", "inventory_item", "menu_item"})
_BARE = ("product", "article", "item")
_SAID = frozenset({"sku", *(f"{bare}{end}" for bare in _BARE for end in ("", "_id", "_name"))})
"""Fields of a line that say what it is about."""
_LISTS = frozenset({"item", "line", "product", "article", "position"})
_OF_THE_LINE = frozenset({"total", "subtotal", "stock", "line", "status", "state"})
_TOTALS = frozenset({"total", "subtotal"})
_QUANTITIES = frozenset({"quantity", "qty", "count"})
_MOST_LOOKED_AT, _MOST_OF_THREE, _MOST_OF_ONE, _MOST_ALONE = 40, 12, 6, 20
_CENTS = 100

_Some: TypeAlias = tuple[Record, int]
"""Some of one ware: the ware, and how many."""
_Sale: TypeAlias = tuple[str, float | None, float | None]
"""An article, how many of it, and what one costs, where that is said."""


class _Shelf:
    """Wares with a price, and what some of one cost, in cents."""

    def __init__(self, wares: Sequence[Record]) -> None:
        self.prices = [(ware, price) for ware in wares if (price := _price_of(ware)) > 0]
        self.prices = self.prices[:_MOST_LOOKED_AT]
        self.wares = [ware for ware, _ in self.prices]
        self._ways, self._few = _ways(self.prices), _ways(self.prices[:_MOST_OF_THREE])

    def adding_up(self, cents: int) -> list[_Some] | None:
        """Give one to three wares whose prices add up to an amount; two where there are."""
        two = next(_twos(self._ways, cents), None)
        return two or self._alone(cents) or next(_threes(self._few, cents), None)

    def _alone(self, cents: int) -> list[_Some] | None:
        for ware, price in self.prices:
            if not cents % price and cents // price <= _MOST_ALONE:
                return [(ware, cents // price)]
        return None

    def nearest(self, cents: int) -> Record:
        """Give the ware that costs most nearly an amount."""
        return min(self.prices, key=lambda one: abs(one[1] - cents))[0]


class SoldLines:
    """Settles the lines in one answer.

    Args:
        knowledge: What is known.
        known: What is told of the answer itself, by field; what is told there is not changed.
        chance: Decides what is in an order of which nothing is told.
    """

    def __init__(self, knowledge: Knowledge, known: Mapping[str, JsonValue], chance: Chance) -> None:
        self._tables, self._known, self._chance = knowledge.tables, known, chance
        self._indexes: dict[str, dict[str, Record]] = {}
        self._shelves: dict[str, _Shelf] = {}

    def settled(self, value: JsonValue) -> JsonValue:
        """Give the answer with its lines settled; what it was given is not changed."""
        return self._within(value, "", self._known)

    def told(self, record: JsonObject, item: str) -> Mapping[str, JsonValue]:
        """Give what the tables tell of an object that is called so, which stands there with its own id; else nothing."""
        for name, value in record.items():
            if not isinstance(value, (str, int)) or not is_own_id(name, item):
                continue
            kind = spelled(name).removesuffix("_id")
            row = self._index(item if kind == "id" else kind).get(str(value))
            if row is not None:
                return row
        return {}

    def _index(self, kind: str) -> dict[str, Record]:
        if kind not in self._indexes:
            self._indexes[kind] = {row.key: row for row in self._tables.get(kind, ())}
        return self._indexes[kind]

    def _within(self, value: JsonValue, item: str, told: Mapping[str, JsonValue]) -> JsonValue:
        if isinstance(value, list):
            return [
                self._within(one, item, self.told(one, item) if isinstance(one, dict) else {})
                for one in value
            ]
        if not isinstance(value, dict):
            return value
        made: JsonObject = {
            name: inner if name in told else self._within(inner, singular_of(name), told)
            for name, inner in value.items()
        }
        for name, inner in value.items():
            if name not in told and isinstance(inner, list):
                lines = [one for one in inner if isinstance(one, dict) and _is_line(one, name)]
                if lines and len(lines) == len(inner) and not self._are_told(lines, singular_of(name)):
                    made[name] = [*self._lines(lines, _told_sum(made, told))]
        return made

    def _are_told(self, lines: Sequence[JsonObject], item: str) -> bool:
        """Tell whether lines stand in a table."""
        if any(self.told(line, item) for line in lines):
            return True
        for line in lines:
            sales = _sales(line)
            if self._counted.isdisjoint(sales | {(article, count, None) for article, count, _ in sales}):
                return False
        return True

    @cached_property
    def _counted(self) -> frozenset[_Sale]:
        """What the rows of the tables say of articles and how many of them there are."""
        tables = [rows for rows in self._tables.values() if rows and any(map(_counts, rows[0].fields))]
        return frozenset(sale for rows in tables for row in rows for sale in _sales({**row.fields}))

    # ------------------------------------------------------------ other lines

    def _lines(self, lines: Sequence[JsonObject], cents: int | None) -> Sequence[JsonValue]:
        shelf = self._shelf_for(lines[0])
        if cents is None:
            return lines if shelf is None else self._of_what_is_sold(lines, shelf.wares)
        if shelf is None:
            return _scaled(lines, cents)
        chosen = shelf.adding_up(cents)
        if chosen is not None:
            return [_as_line(lines[place % len(lines)], *one) for place, one in enumerate(chosen)]
        return _scaled([_as_line(lines[0], shelf.nearest(cents), 1)], cents)

    def _of_what_is_sold(self, lines: Sequence[JsonObject], wares: Sequence[Record]) -> Sequence[JsonValue]:
        if all(any(str(said) in self._sold for said in line.values()) for line in lines):
            return lines
        start = self._chance.number(f"sold:{lines[0]}", len(wares))
        turned = [*wares[start:], *wares[:start]]
        return [_as_line(line, ware) for line, ware in zip(lines, turned, strict=False)]

    @cached_property
    def _sold(self) -> frozenset[str]:
        """The keys and names of all that is sold."""
        rows = [row for kind in self._tables if kind in _WARES for row in self._tables[kind]]
        return frozenset(str(row[name]) for row in rows for name in ("id", "sku", "name") if name in row)

    def _shelf_for(self, line: JsonObject) -> _Shelf | None:
        """Give the first table of what a line may be about in which there are prices."""
        for kind in self._tables:
            if kind not in _WARES and f"{kind}_id" not in line:
                continue
            if kind not in self._shelves:
                self._shelves[kind] = _Shelf(self._tables[kind][: 2 * _MOST_LOOKED_AT])
            if self._shelves[kind].prices:
                return self._shelves[kind]
        return None


def _is_line(line: JsonObject, among: str) -> bool:
    """Tell a line, with an article, a quantity and a price of one, by its fields and the name of the list."""
    named = any(spelled(name) in _SAID for name in line)
    is_list = words_of(singular_of(among))[-1:] in {(word,) for word in _LISTS}
    return (named or ("name" in line and is_list)) and line_of(line) is not None


def _counts(name: str) -> bool:
    return not _QUANTITIES.isdisjoint(words_of(name))


def _sales(line: JsonObject) -> set[_Sale]:
    """Give what a line or a row says of articles and how many there are of one; nothing where it says neither."""
    read = line_of(line)
    counted = [amount_of(value) for name, value in line.items() if _counts(name)][:1]
    articles = [str(value) for name, value in line.items() if spelled(name) in _SAID]
    return {(article, count, read.price if read else None) for article in articles for count in counted}


def _told_sum(record: JsonObject, told: Mapping[str, JsonValue]) -> int | None:
    """Give what the lines of a record come to, in cents, by the total that is told of it; None where none is."""
    for name, value in record.items():
        words, total = set(words_of(name)), amount_of(value)
        if name not in told or total is None or not words & _TOTALS or words & {"items", "count"}:
            continue
        cents = round((total if "subtotal" in words else total - extras(record)) * _CENTS)
        return cents if cents > 0 and told[name] == value else None
    return None


def _price_of(row: Record) -> int:
    return round((amount_of(row.get("price")) or 0) * _CENTS)


def _ways(prices: Sequence[tuple[Record, int]]) -> dict[int, list[_Some]]:
    """Give some of each ware by what they cost."""
    ways: dict[int, list[_Some]] = {}
    for ware, price in prices:
        for count in range(1, _MOST_OF_ONE + 1):
            ways.setdefault(count * price, []).append((ware, count))
    return ways


def _twos(ways: Mapping[int, Sequence[_Some]], cents: int) -> Iterator[list[_Some]]:
    for amount, some in ways.items():
        for other in ways.get(cents - amount, ()):
            yield from ([one, other] for one in some if one[0] is not other[0])


def _threes(ways: Mapping[int, Sequence[_Some]], cents: int) -> Iterator[list[_Some]]:
    for amount, some in ways.items():
        for one, other in _twos(ways, cents - amount):
            yield from (
                [first, one, other] for first in some if first[0] is not one[0] and first[0] is not other[0]
            )


def _as_line(line: JsonObject, ware: Record, count: int | None = None) -> JsonObject:
    """Say in a line's own fields that it is about a ware, and how many of it."""
    made: JsonObject = dict(line)
    for name, value in line.items():
        if _counts(name):
            made[name] = value if count is None else count
        elif name == "id" or isinstance(value, (dict, list)) or _OF_THE_LINE & set(words_of(name)):
            continue
        elif name in ware:
            made[name] = ware[name]
        elif spelled(name) in _SAID or name == "name":
            made[name] = ware.key if is_identifier(name) else ware.get("name", ware.key)
    return _with_total(made)


def _scaled(lines: Sequence[JsonObject], cents: int) -> list[JsonValue]:
    """Give lines with other prices, so that they come to an amount; the last one has what the others leave."""
    read = [line_of(line) for line in lines]
    now = sum(one.quantity * one.price for one in read if one)
    if len(lines) > 1 and (now <= 0 or cents < len(lines)):
        return _scaled(lines[:1], cents)
    made: list[JsonValue] = []
    left = cents
    for line, one in zip(lines[:-1], read, strict=False):
        own = int(one.price * cents / now) if one else 0
        made.append(_priced(line, one.quantity if one else 0, own))
        left -= round(one.quantity * own) if one else 0
    if left <= 0:
        return _scaled(lines[:1], cents)
    count = int(read[-1].quantity) if read[-1] else 1
    count = count if count > 0 and not left % count else 1
    return [*made, _priced(lines[-1], count, left // count)]


def _priced(line: JsonObject, quantity: float, cents: int) -> JsonObject:
    """Give a line with another quantity and another price of one."""
    one = line_of(line)
    if one is None:
        return line
    is_whole = isinstance(one.price, int) and not cents % _CENTS
    price = cents // _CENTS if is_whole else cents / _CENTS
    return _with_total({**line, one.counts: quantity, one.prices: price})


def _with_total(line: JsonObject) -> JsonObject:
    """Give a line with its own total right."""
    one = line_of(line)
    totals = [
        name for name, value in line.items() if amount_of(value) is not None and _TOTALS & set(words_of(name))
    ]
    return line if one is None else {**line, **dict.fromkeys(totals, round(one.quantity * one.price, 2))}
