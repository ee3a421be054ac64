"""Finds what a call's arguments, and known records, say about a field of the answer: by its name, or by its meaning."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_creation, is_envelope
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.jsonvalue import JsonObject

Fits = Callable[[JsonValue], bool]

_SAME = {
    "from": "origin",
    "source": "origin",
    "to": "destination",
    "dest": "destination",
    "town": "city",
    "location": "city",
    "place": "city",
    "day": "date",
    "depart": "departs",
    "departing": "departs",
    "departure": "departs",
    "arrive": "arrives",
    "arrival": "arrives",
    "mail": "email",
    "qty": "quantity",
}
"""Words that mean the same in names of fields."""

_FILLERS = frozenset({"on", "at", "the", "of", "in", "for", "my"})
_BOUNDS = frozenset({"max", "min", "maximum", "minimum", "new", "old", "not", "total", "limit", "per"})
_OF_THE_CALL = frozenset({"departs", "start", "requested"})
_DATES = frozenset({"date", "deadline", "birthday"})
_ANYWHERE = frozenset({"name", "id", "type", "status", "description", "note"})
_MONEY = frozenset({"amount", "total", "price", "cost", "sum", "subtotal", "fee"})
_LARGEST = 10**12


class Echo:
    """What a call says: its arguments, also nested ones, and what is known about the things that it names."""

    def __init__(
        self, arguments: Mapping[str, JsonValue], known: Mapping[str, JsonValue], tool_name: str = ""
    ) -> None:
        self.arguments = arguments
        self.known = known
        self._creates = is_creation(tool_name)
        self._inner = _unambiguous(arguments)
        self._said = tuple({**self._inner, **arguments}.items())
        self._words = frozenset().union(*(meaning(key) for key, _ in self._said))

    def field(
        self, name: str, fits: Fits, siblings: Collection[str] = (), item: str | None = None
    ) -> tuple[JsonValue, ...]:
        """Give the value that a field takes over, as a tuple of one; an empty tuple where there is none.

        Args:
            name: The field.
            fits: Tells whether the field may have a value.
            siblings: The fields of the same object: an argument that one of them names is not taken by another.
            item: What the field's object is called where it is an item of a list; such an object has its own id, and
                what is known of the things that the call names is not said of it.
        """
        if item is not None and is_own_id(name, item):
            return ()
        exact = [values[name] for values in (self.arguments, self._inner) if name in values]
        alike = self._alike(name, fits, siblings)
        known = [self.known[name]] if name in self.known and item is None else []
        ways = [*exact, *alike, *known] if self._creates else [*exact, *known, *alike]
        return tuple(value for value in ways if fits(value))[:1]

    def rows(self, name: str, fields: Collection[str]) -> list[JsonObject]:
        """Give the objects in the arguments that the items of a list are about; none where no list is meant.

        A list of the same name is meant, or else the one list whose items share the most telling fields. A list
        of plain values counts as objects with one field, in the singular.
        """
        best: list[JsonObject] = []
        most = 0
        for own, rows in _lists(self.arguments):
            shared = {key for row in rows for key in row} & set(fields) - _ANYWHERE
            if own == name and all(isinstance(row, dict) for row in rows):
                return rows
            if len(shared) > most:
                best, most = rows, len(shared)
        return best

    def amounts(self) -> list[float]:
        """Give the amounts of money that the arguments name."""
        return amounts_in(self.arguments) or amounts_in(self._inner)

    def _alike(self, name: str, fits: Fits, siblings: Collection[str]) -> list[JsonValue]:
        wanted = meaning(name)
        if self._words.isdisjoint(wanted):
            return []
        found = [
            value
            for key, value in self._said
            if key != name
            and key not in siblings
            and _means(wanted, key, value)
            and _is_date_if(wanted, value)
        ]
        fitting = [value for value in found if fits(value)]
        return fitting if len(fitting) == 1 and not isinstance(fitting[0], (dict, list)) else []


def is_own_id(name: str, item: str) -> bool:
    """Tell whether a field of a list's item is the item's own id: `order_id` of an order, or a bare `id`."""
    words = words_of(name)
    return is_identifier(name) and (len(words) == 1 or words[0] in words_of(item))


def amounts_in(values: Mapping[str, JsonValue]) -> list[float]:
    """Give the amounts of money among the fields of an object."""
    return [
        value
        for key, value in values.items()
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 < value < _LARGEST
        and set(words_of(key)) & _MONEY
    ]


@lru_cache(maxsize=8192)
def meaning(name: str) -> frozenset[str]:
    """Give the words of a name that carry its meaning, in one spelling: `departs_on` means a departure's date."""
    words = words_of(name)
    kept = {_SAME.get(word, word) for word in words if word not in _FILLERS}
    return frozenset(kept | ({"date"} if words[-1:] == ("on",) else set()))


def is_date(value: JsonValue) -> bool:
    """Tell whether a value is an ISO date, with or without a time."""
    try:
        dt.datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _means(wanted: frozenset[str], key: str, value: JsonValue) -> bool:
    own = meaning(key)
    if not own or not wanted:
        return False
    if own == wanted:
        return True
    if not isinstance(value, str) or is_identifier(key) or "id" in wanted:
        return False
    if wanted < own:
        return not (own - wanted) & _BOUNDS
    return own < wanted and wanted - own <= _OF_THE_CALL


def _is_date_if(wanted: frozenset[str], value: JsonValue) -> bool:
    return bool(wanted & _DATES) == is_date(value) if isinstance(value, str) else not wanted & _DATES


def _unambiguous(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the plain fields of objects inside the arguments whose names stand there once."""
    found: dict[str, list[JsonValue]] = {}
    for value in arguments.values():
        for key, inner in value.items() if isinstance(value, dict) else ():
            if not isinstance(inner, (dict, list)) and not is_envelope(key, inner):
                found.setdefault(key, []).append(inner)
    return {key: values[0] for key, values in found.items() if len(values) == 1}


def _lists(values: Mapping[str, JsonValue]) -> Iterator[tuple[str, list[JsonObject]]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _lists(value)
        elif isinstance(value, list) and value:
            rows = [row for row in value if isinstance(row, dict)]
            plain = [row for row in value if isinstance(row, (str, int)) and not isinstance(row, bool)]
            if len(rows) == len(value):
                yield key, rows
            elif len(plain) == len(value) and key.endswith("s"):
                yield "", [{key[:-1]: row} for row in plain]
