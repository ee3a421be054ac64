"""Puts together what is known when a call is drafted: the world of the session, its tables, ids and prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue

from simulator.environment.conventions.answers import EarlierAnswer
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.drafting.records import Record
from simulator.jsonvalue import JsonObject

_LOOKED_AT = 60
"""How many of the latest answers are searched for prices and ids."""
_ARTICLES = ("sku", "product", "article", "name", "title", "item", "product_id", "id")
_PRICES = ("unit_price", "price", "cost", "item_price", "price_per_night")
_MOST_DEPTH = 6


class KnownWorld(Protocol):
    """What a draft asks of the world; `simulator.environment.things.world.World` gives it."""

    currency: str

    def known(self, tool_name: str, arguments: JsonObject) -> dict[str, JsonValue]:
        """Give the fields of the things that a call names."""

    def not_found(self, tool_name: str, arguments: JsonObject) -> JsonObject | None:
        """Give the answer for a call about a thing that is gone or never was."""

    def kinds(self) -> tuple[str, ...]:
        """Give the kinds of which something is known, in the singular."""

    def rows(self, kind: str) -> list[JsonObject]:
        """Give the things of a kind."""

    def columns(self, kind: str) -> tuple[str, ...]:
        """Give the fields of a kind, the id first."""

    def is_authoritative(self, kind: str) -> bool:
        """Tell whether a thing of this kind that is not known does not exist."""


class Knowledge:
    """What is known when one call is drafted; looked up only where it is asked for."""

    def __init__(self, earlier: Sequence[EarlierAnswer], world: KnownWorld) -> None:
        self.earlier = earlier
        self.world = world
        self.tables: Mapping[str, Sequence[Record]] = _Tables(world)
        self._prices: dict[str, float] | None = None

    @property
    def currency(self) -> str:
        """The currency that was named last."""
        return self.world.currency

    @property
    def names_currency(self) -> bool:
        """Whether amounts have a currency already: one was named, or there were answers before."""
        return bool(self.earlier) or bool(self.tables) or self.currency != "EUR"

    @property
    def complete(self) -> frozenset[str]:
        """The kinds of which all is known."""
        return frozenset(kind for kind in self.world.kinds() if self.world.is_authoritative(kind))

    def fields(self, tool_name: str, arguments: JsonObject) -> dict[str, JsonValue]:
        """Give what is known about the things that a call names by their ids."""
        return {**self._keyed(arguments), **self.world.known(tool_name, arguments)}

    def _keyed(self, arguments: JsonObject) -> dict[str, JsonValue]:
        """Give the fields of the rows of tables whose key is an argument of that very name: a room by `room_number`."""
        known: dict[str, JsonValue] = {}
        for name, value in arguments.items():
            kind = next((kind for kind in self.tables if kind in words_of(name)), None)
            row = self.record(str(value), kind) if kind and is_identifier(name) else None
            if row is not None and name in row.fields:
                known.update(row.fields)
        return known

    def missing(self, tool_name: str, arguments: JsonObject) -> JsonObject | None:
        """Give the answer for a call about a thing that does not exist; None where nothing is known against it."""
        return self.world.not_found(tool_name, arguments)

    def record(self, key: str, kind: str = "") -> Record | None:
        """Give the record that has an id, of a kind or, where none is given, of any."""
        for one in [kind] if kind in self.tables else self.tables:
            for row in self.tables[one]:
                if row.key == key:
                    return row
        return None

    def price(self, article: str) -> float | None:
        """Give what an article costs, where a table or an earlier answer has told it."""
        if self._prices is None:
            self._prices = {}
            for record in self._records():
                _take_price(self._prices, record)
            for kind in self.tables:
                for row in self.tables[kind]:
                    _take_price(self._prices, row.fields)
        return self._prices.get(article.casefold())

    def ids(self, name: str) -> list[str | int]:
        """Give the ids that are known under a name such as `order_id`, those of its kind first, oldest first."""
        kind = "_".join(word for word in words_of(name) if word not in {"id", "number", "no", "code", "uuid"})
        found: list[JsonValue] = [_id_in(row) for row in self.tables.get(kind, ())]
        found.extend(record[name] for record in self._records() if name in record)
        return [one for one in found if isinstance(one, (str, int)) and not isinstance(one, bool)]

    def _records(self) -> Iterator[JsonObject]:
        for answer in self.earlier[-_LOOKED_AT:]:
            yield from _inside(answer.arguments, 0)
            yield from _inside(answer.response, 0)


def told_of(row: Mapping[str, JsonValue], knowledge: Knowledge | None) -> Mapping[str, JsonValue]:
    """Give a row of the arguments together with what is known of the thing that it names; the row's own words win."""
    if knowledge is None or not knowledge.tables:
        return row
    for name, value in row.items():
        if isinstance(value, str) and (is_identifier(name) or name in _ARTICLES):
            kind = "_".join(word for word in words_of(name) if word != "id")
            record = knowledge.record(value, kind)
            if record is not None:
                return Record({**record.fields, **row}, record.kind, record.key)
    return row


class _Tables(Mapping[str, Sequence[Record]]):
    """The things of the world by kind; each kind is read when it is first asked for."""

    def __init__(self, world: KnownWorld) -> None:
        self._world = world
        self._read: dict[str, list[Record]] = {}
        self._kinds = world.kinds()

    def __getitem__(self, kind: str) -> Sequence[Record]:
        if kind not in self._kinds:
            raise KeyError(kind)
        if kind not in self._read:
            columns = self._world.columns(kind)
            first = columns[0] if columns else "id"
            self._read[kind] = [Record(row, kind, str(row.get(first, ""))) for row in self._world.rows(kind)]
        return self._read[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


def _id_in(row: Record) -> JsonValue:
    for name, value in row.fields.items():
        if str(value) == row.key and is_identifier(name):
            return value
    return row.key


def _take_price(prices: dict[str, float], record: Mapping[str, JsonValue]) -> None:
    price = next((record[name] for name in _PRICES if name in record), None)
    if isinstance(price, bool) or not isinstance(price, (int, float)):
        return
    for name in _ARTICLES:
        article = record.get(name)
        if isinstance(article, str) and article:
            prices[article.casefold()] = price


def _inside(value: JsonValue, depth: int) -> Iterator[JsonObject]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, (dict, list)):
            yield from _inside(inner, depth + 1)
