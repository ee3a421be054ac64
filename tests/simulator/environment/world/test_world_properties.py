"""Whatever tools answer, the world agrees with a plain model of it, foresees what it learns, and never crashes."""

from __future__ import annotations

import copy
import json

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.world.entities import read_tables
from simulator.environment.world.world import World
from tests.simulator.environment.drawn_json import PLAIN, json_values

NAMES = st.sampled_from([
    "id", "order_id", "orderIds", "customer_id", "sku", "items", "orders", "order", "customer", "data",
    "result", "status", "total", "currency", "error", "success", "changes", "tracking_number", "parent_id",
    "quantity", "",
])  # fmt: skip
SCALARS = PLAIN | st.integers(0, 3) | st.sampled_from(["A-1", "A-2", "open", ""])
JSON = json_values(SCALARS, NAMES, max_leaves=20)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=4)
TOOLS = st.sampled_from([
    "find_order", "list_orders", "create_order", "cancel_order", "delete_order", "refund_order",
    "get_customer", "add_item_to_order", "update_customer", "lookup", "frobnicate", "book_order",
    "search_products", "",
])  # fmt: skip
CALLS = st.lists(st.tuples(TOOLS, OBJECTS, JSON), max_size=8)


def calls_of(given_calls: list[tuple[str, JsonObject, JsonValue]]) -> list[EarlierAnswer]:
    """Return each call a fact and a turn."""
    return [
        EarlierAnswer(*call, fact=number, turn=number) for number, call in enumerate(given_calls, start=1)
    ]


def seen(world: World) -> str:
    """Write down all that a world shows."""
    shown = {
        kind: [
            world.columns(kind),
            [(key, repr(world.entity(kind, key))) for key in world.collections().get(kind, {})],
        ]
        for kind in world.kinds()
    }
    return json.dumps([shown, dict(world.collections()), world.currency])


@given(CALLS)
def test_any_json_is_taken_and_foreseen(given_calls: list[tuple[str, JsonObject, JsonValue]]) -> None:
    """No answer crashes the world; `preview` says what `take` does, and changes neither the world nor the answer.

    A second world that is only told the calls is the same after each: after an undo a world is what it was.
    """
    world, again = World(), World()
    for call in calls_of(given_calls):
        kept = copy.deepcopy((call.arguments, call.response))
        before = seen(world)
        foreseen = world.preview(call)
        assert seen(world) == before
        after = world.after(foreseen)
        assert world.take(call) == foreseen
        assert world.collections() == after
        again.take(call)
        assert seen(again) == seen(world)
        assert (call.arguments, call.response) == kept
        world.known(call.tool_name, call.arguments)
        world.not_found(call.tool_name, call.arguments)


@given(CALLS)
def test_what_was_just_said_changes_nothing_when_it_is_said_again(
    given_calls: list[tuple[str, JsonObject, JsonValue]],
) -> None:
    """A second question that gets the answer of the first tells nothing new."""
    world = World()
    for call in calls_of(given_calls):
        if world.role_of(call.tool_name, call.arguments).use == "reads":
            world.take(call)
            assert world.preview(call) == ()


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["create", "update", "cancel", "find", "delete", "fail"]),
        st.sampled_from(["A-1", "A-2", "A-3"]),
        st.dictionaries(st.sampled_from(["total", "note", "colour"]), st.integers(0, 3), max_size=2),
    ),
    max_size=20,
)


@given(OPERATIONS)
@example(
    [
        ("create", "A-1", {"total": 1}),
        ("delete", "A-1", {}),
        ("create", "A-1", {"note": 2}),
        ("find", "A-2", {}),
    ]
)
def test_the_world_agrees_with_a_plain_model(operations: list[tuple[str, str, dict[str, int]]]) -> None:
    """Creating, changing, reading and deleting orders is what it is for a dict of dicts."""
    world = World(tables=read_tables('{"orders": [{"order_id": "A-3", "total": 9}]}'))
    model: dict[str, JsonObject] = {"A-3": {"order_id": "A-3", "total": 9}}
    for number, (what, key, values) in enumerate(operations):
        fields: JsonObject = {**values}
        response: JsonValue = {"order_id": key, **fields}
        arguments: JsonObject = {"order_id": key}
        if what == "fail":
            response = {"error_code": 500, "error_message": "x", **fields}
        elif what == "delete":
            response = None
            model.pop(key, None)
        elif what == "cancel":
            arguments["reason"], response = number, {"status": "success"}
            model[key] = {**model.get(key, {}), "order_id": key, "reason": number}
        else:
            model[key] = {**model.get(key, {}), "order_id": key, **fields}
        name = {"fail": "update"}.get(what, what)
        world.take(EarlierAnswer(f"{name}_order", arguments, response, fact=number, turn=number))
        assert world.collections()["orders"] == model
        for one in ("A-1", "A-2", "A-3", "A-4"):
            assert (world.not_found("find_order", {"order_id": one}) is None) == (one in model)
