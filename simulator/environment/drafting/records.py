"""Reads a record under the names that another tool gives to the same fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from pydantic import JsonValue

from simulator.environment.conventions.names import spelled

_SAME = (
    frozenset({"name", "title", "label"}),
    frozenset({"price", "unit_price", "cost", "item_price", "list_price"}),
    frozenset({"stock", "stock_level", "in_stock", "quantity_in_stock", "stock_quantity", "units_in_stock", "quantity_available"}),
    frozenset({"email", "mail", "email_address", "e_mail"}),
    frozenset({"phone", "phone_number", "telephone", "mobile"}),
    frozenset({"status", "state"}),
    frozenset({"quantity", "qty"}),
    frozenset({"date", "day"}),
    frozenset({"created_at", "created", "created_on", "creation_date"}),
    frozenset({"description", "summary", "details"}),
    frozenset({"zip", "zip_code", "zipcode", "postcode", "postal_code"}),
)  # fmt: skip
_STOCKS = frozenset(
    {"stock", "stock_level", "quantity_in_stock", "stock_quantity", "units_in_stock", "quantity_available"}
)


class Record(Mapping[str, JsonValue]):
    """A record of a kind, whose fields are found under any name that means the same.

    The exact name comes first, then the same words in another spelling (`orderId`, `order_id`), then the kind's own
    prefix (`id` for `product_id`, `product_name` for `name`), then common words for one thing (`title`, `name`).
    """

    def __init__(self, fields: Mapping[str, JsonValue], kind: str = "", key: str = "") -> None:
        self.fields = fields
        self.kind = kind
        self.key = key
        self._spelled: dict[str, str] | None = None

    def __getitem__(self, name: str) -> JsonValue:
        if name in self.fields:
            return self.fields[name]
        if self._spelled is None:
            self._spelled = {spelled(own): own for own in reversed(list(self.fields))}
        wanted = spelled(name)
        own = self._own(wanted)
        if own is not None:
            return self._as(wanted, self.fields[own])
        if self.key and wanted in ("id", f"{self.kind}_id"):
            return self.key
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, name: object) -> bool:
        if not self.fields and not self.key:
            return False
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def _own(self, wanted: str) -> str | None:
        known = self._spelled or {}
        for one in _names(wanted, self.kind):
            if one in known:
                return known[one]
        return None

    def _as(self, wanted: str, value: JsonValue) -> JsonValue:
        """Tell by a number of pieces whether there are any, where that is what is asked."""
        if wanted == "in_stock" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return value > 0
        return value


class Layers(Mapping[str, JsonValue]):
    """Several mappings read as one: what an earlier one has hides what a later one has."""

    def __init__(self, *layers: Mapping[str, JsonValue]) -> None:
        self._layers = layers

    def __getitem__(self, name: str) -> JsonValue:
        for layer in self._layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for layer in self._layers for name in layer))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        for layer in self._layers:  # noqa: SIM110 - asked for each field of each answer; `any` takes twice as long
            if name in layer:
                return True
        return False


@lru_cache(maxsize=4096)
def _names(wanted: str, kind: str) -> tuple[str, ...]:
    bare = wanted.removeprefix(f"{kind}_") if kind else wanted
    names = [wanted, bare]
    if kind and bare == wanted:
        names.append(f"{kind}_{wanted}")
    if kind and wanted == kind:
        names.extend(["name", f"{kind}_name", "title"])
    for group in _SAME:
        if bare in group:
            others = sorted(group - {bare})
            names.extend(others)
            names.extend(f"{kind}_{one}" for one in others if kind)
    if wanted == "available":
        names.extend(sorted(_STOCKS))
    return tuple(dict.fromkeys(names))
