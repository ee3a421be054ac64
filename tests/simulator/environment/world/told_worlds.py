"""Tells worlds of calls, for tests of what a world learns from them."""

from __future__ import annotations

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.world.entities import EntityChange, read_tables
from simulator.environment.world.world import World

ORDER: JsonObject = {
    "order_id": "A-1",
    "customer_id": "C-17",
    "status": "processing",
    "items": [{"sku": "mug", "quantity": 2, "unit_price": 12.45}],
    "total": 24.9,
    "currency": "USD",
}


class Told:
    """A world that is told calls one after another; each is a fact and a turn of its own."""

    def __init__(self, data: str = "", **settings: str) -> None:
        self.world = World(tables=read_tables(data), authority=settings)  # type: ignore[arg-type] # checked by the world's user
        self.calls = 0

    def call(self, tool: str, response: JsonValue, **arguments: JsonValue) -> tuple[EntityChange, ...]:
        """Tell of one answered call."""
        self.calls += 1
        call = EarlierAnswer(tool, arguments, response, fact=self.calls * 10, turn=self.calls)
        foreseen = self.world.preview(call)
        changes = self.world.take(call)
        assert foreseen == changes
        return changes

    def fields(self, kind: str, key: str) -> JsonObject:
        """Return what is known of a thing that lives."""
        entity = self.world.entity(kind, key)
        assert entity is not None
        assert not entity.gone
        return entity.fields
