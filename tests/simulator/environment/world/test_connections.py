"""Tools hang together by the things that they create, change, read and delete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import Use
from simulator.environment.world.connections import (
    ConnectionEdits,
    Connections,
    ParameterUse,
    Produced,
    Source,
    ToolField,
    ToolRole,
    ToolShape,
    found_offline,
    merged,
)
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values

TEXT: JsonObject = {"type": "string"}


def tool(
    name: str, parameters: JsonObject | None = None, answer: JsonObject | None = None, description: str = ""
) -> ToolShape:
    """Make a tool of properties; those of the answer too."""
    return ToolShape(
        name=name,
        description=description,
        parameters={"type": "object", "properties": parameters or {}},
        response_schema=None if answer is None else {"type": "object", "properties": answer},
    )


def uses(found: Connections) -> set[tuple[str, str, str, str]]:
    """Return what is found, without the words that say why."""
    return {(one.tool_name, one.parameter, one.kind, one.use) for one in found.uses}


def made(found: Connections) -> set[tuple[str, str, str]]:
    """Return the fields that hold ids of new things."""
    return {(one.tool_name, one.field, one.kind) for one in found.produces if one.creates}


ORDER: JsonObject = {"order_id": TEXT, "customer_id": TEXT, "status": TEXT}
DESK = [
    tool("find_order", {"order_id": TEXT}, ORDER),
    tool("list_orders", {"customer_id": TEXT, "email": TEXT}),
    tool(
        "create_order",
        {
            "customer_id": TEXT,
            "items": {"type": "array", "items": {"type": "object", "properties": {"sku": TEXT}}},
        },
        ORDER,
    ),
    tool("cancel_order", {"order_id": TEXT, "reason": TEXT}),
    tool(
        "refund_order",
        {"order_id": TEXT, "amount": {"type": "number"}},
        {"refund_id": TEXT, "order_id": TEXT},
    ),
    tool("delete_order", {"order_id": TEXT}),
]


def test_an_order_desk_is_understood_without_a_model() -> None:
    """Each parameter that names a thing has its kind and use, nested ones too; others are left alone.

    A new order has its own id, and a refund too, though its tool only changes an order. Each find says why.
    """
    found = found_offline(DESK)
    assert uses(found) == {
        ("find_order", "order_id", "order", "reads"),
        ("list_orders", "customer_id", "customer", "reads"),
        ("create_order", "customer_id", "customer", "reads"),
        ("create_order", "items[*].sku", "product", "reads"),
        ("cancel_order", "order_id", "order", "changes"),
        ("refund_order", "order_id", "order", "changes"),
        ("delete_order", "order_id", "order", "deletes"),
    }
    assert made(found) == {
        ("create_order", "order_id", "order"),
        ("refund_order", "refund_id", "refund"),
    }
    assert [role.tool_name for role in found.roles] == [shape.name for shape in DESK]
    assert all(one.why for one in (*found.uses, *found.produces, *found.roles))
    assert "'cancel'" in next(one.why for one in found.uses if one.tool_name == "cancel_order")
    booked = found_offline([tool("book_flight", {"flight_id": TEXT})])
    assert made(booked) == {("book_flight", "booking_id", "booking")}


NESTED: JsonObject = {"type": "object", "properties": {"id": TEXT}}
CAPITALS: JsonObject = {
    "type": "OBJECT",
    "properties": {"orderIds": {"type": "ARRAY", "items": {"type": "STRING"}}},
}
NO_IDS: JsonObject = {
    "mode_id": {"enum": ["a", "b"]},
    "day_id": {"type": "string", "format": "date"},
    "weight_id": {"type": "number"},
    "flag_id": {"type": "boolean"},
}


@for_each(
    ("shape", "used"),
    [
        (tool("book_flight", {"flight_id": TEXT}), {("flight_id", "flight", "reads")}),
        (
            tool("create_user", {"user_id": TEXT, "team_id": TEXT}),
            {("user_id", "user", "creates"), ("team_id", "team", "reads")},
        ),
        (ToolShape(name="cancelOrders", parameters=CAPITALS), {("orderIds[*]", "order", "changes")}),
        (
            tool("get_user", {"id": TEXT, "customer": NESTED}),
            {("id", "user", "reads"), ("customer.id", "customer", "reads")},
        ),
        (
            tool("ship_order", {"order": TEXT, "carrier": TEXT}, description="Ships.\n\nArgs:\n    order: The id."),
            {("order", "order", "changes")},
        ),
        (
            tool("pay_order", {"order": {**TEXT, "description": "Identifier of the order"}}),
            {("order", "order", "changes")},
        ),
        (tool("get_order", NO_IDS), set()),
    ],
)  # fmt: skip
def test_a_parameter_is_an_id_of_what_its_name_its_place_or_a_description_says(
    shape: ToolShape, used: set[tuple[str, str, str]]
) -> None:
    """One that the caller chooses creates, a bare one is of what the tool is about, and what is measured is none."""
    assert {each[1:] for each in uses(found_offline([shape]))} == used


@for_each("schema", [{}, {"properties": 3}, {"type": "object", "properties": {"a": None}}, {"$ref": "#/x"}])
def test_a_schema_that_says_nothing_or_is_broken_is_no_error(schema: JsonObject) -> None:
    """The tool has its role by its name, and no connections by its schema."""
    found = found_offline([ToolShape(name="find_order", parameters=schema, response_schema=schema)])
    assert found.uses == ()
    assert found.roles[0].use == "reads"


SCHEMAS = json_values(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["string", "object", "array", "#/$defs/a", "id"]),
    st.sampled_from([
        "type", "properties", "items", "anyOf", "allOf", "$ref", "$defs", "a", "order_id", "id", "description", "enum",
        "format", "required",
    ]),
    max_leaves=25,
)  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf", "$defs", "$ref"]), SCHEMAS),
    st.text(),
)
def test_any_schema_and_any_name_can_be_looked_at(schema: JsonObject, name: str) -> None:
    """Nothing that a tool declares crashes the search, and what is found can be stored."""
    shape = ToolShape(name=name or "x", description=name, parameters=schema, response_schema=schema)
    found = found_offline([shape])
    assert len(found.roles) == 1
    assert Connections.model_validate_json(found.model_dump_json()) == found


def said(tool_name: str, kind: str, use: Use, source: Source) -> ParameterUse:
    """Say what a tool does with the thing that its `order_id` names."""
    return ParameterUse(tool_name=tool_name, parameter="order_id", kind=kind, use=use, source=source)


def test_a_person_stands_over_a_model_and_a_model_over_names() -> None:
    """Each speaks for a place alone; places that it does not mention stay as they were."""
    model = Connections(
        uses=(
            said("cancel_order", "order", "deletes", "model"),
            said("find_order", "Purchases", "reads", "model"),
        )
    )
    person = ConnectionEdits(uses=(said("find_order", "parcel", "reads", "person"),))
    found = {(one.tool_name, one.parameter): one for one in merged(found_offline(DESK), model, person).uses}
    assert found["find_order", "order_id"].kind == "parcel"
    assert found["cancel_order", "order_id"].use == "deletes"
    assert found["refund_order", "order_id"].source == "offline"
    assert found["cancel_order", "order_id"].source == "model"


def test_a_role_follows_what_is_said_of_its_parameters() -> None:
    """Who makes `find_order` change orders need not also say that it no longer only reads."""
    person = ConnectionEdits(uses=(said("find_order", "order", "changes", "person"),))
    roles = {role.tool_name: role.use for role in merged(found_offline(DESK), None, person).roles}
    assert roles["find_order"] == "changes"
    assert roles["cancel_order"] == "changes"
    assert roles["list_orders"] == "reads"


def test_a_connection_can_be_taken_away_and_a_role_be_set() -> None:
    """What a person takes away does not come back, also not from a model."""
    person = ConnectionEdits(
        no_uses=(ToolField(tool_name="create_order", path="items[*].sku"),),
        no_produces=(ToolField(tool_name="refund_order", path="refund_id"),),
        roles=(ToolRole(tool_name="list_orders", use="deletes", kind="orders", source="person"),),
    )
    model = Connections(
        produces=(
            Produced(
                tool_name="refund_order", field="refund_id", kind="refund", creates=True, source="model"
            ),
        )
    )
    found = merged(found_offline(DESK), model, person)
    assert ("create_order", "items[*].sku", "product", "reads") not in uses(found)
    assert made(found) == {("create_order", "order_id", "order")}
    assert [(role.use, role.kind) for role in found.roles if role.tool_name == "list_orders"] == [
        ("deletes", "order")
    ]
