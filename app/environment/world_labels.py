"""Says in words what the world holds: the place of an answer that contradicts, where a field comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.forms.typed_json import show_json, write_json
from simulator.base.json_values import JsonObject
from simulator.session.history import HistoryEntry

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import WorldFlag, WorldTable

_LONGEST = 200


def flag_lines(flags: Iterable[WorldFlag], history: Iterable[HistoryEntry]) -> list[str]:
    """Return a line for each contradiction, the newest answer first, with its step in the timeline."""
    steps = {entry.fact: number for number, entry in enumerate(history, start=1)}
    return [
        f"{_step(steps.get(flag.fact))}{flag.tool_name}: {what}"
        for flag in reversed([*flags])
        for what in flag.what
    ]


def _step(number: int | None) -> str:
    return f"Step {number}, " if number is not None else ""


def field_rows(table: WorldTable, key: str) -> list[dict[str, str]]:
    """Return a row for each field of a thing: its name, where it was set last, and its value."""
    row = table.rows[table.ids.index(key)]
    origins = table.origins.get(key, {})
    return [
        {"field": name, "from": origins.get(name, ""), "value": _shown(value)} for name, value in row.items()
    ]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else show_json(value)  # type: ignore[arg-type]  # the rows hold JSON
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def template(tables: Iterable[WorldTable]) -> str:
    """Write what is known as data to begin with; where nothing is known, an example of its form."""
    known: JsonObject = {table.name: list(table.rows) for table in tables if table.rows}
    example: JsonObject = {
        "customers": [{"customer_id": "C-1", "name": "Ada Lovelace", "email": "ada@example.com"}],
        "orders": [{"order_id": "A-1", "customer_id": "C-1", "status": "shipped", "total": 59.9}],
        "currency": "EUR",
    }
    return write_json(known or example)
