"""Tools hang together by the things that they create, change, read and delete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulator.base.json_values import JsonObject
from simulator.environment.world.connections import (
    ConnectionEdits,
    Connections,
    ParameterUse,
    Produced,
    ToolField,
    ToolRole,
    ToolShape,
    found_offline,
    merged,
)
from tests.simulator.base.rows import for_each

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
    """Each parameter that names a thing has its kind and use, nested ones too; others are left alone."""
    assert uses(found_offline(DESK)) == {
        ("find_order", "order_id", "order", "reads"),
        ("list_orders", "customer_id", "customer", "reads"),
        ("create_order", "customer_id", "customer", "reads"),
        ("create_order", "items[*].sku", "product", "reads"),
        ("cancel_order", "order_id", "order", "changes"),
        ("refund_order", "order_id", "order", "changes"),
        ("delete_order", "order_id", "order", "deletes"),
    }


def test_a_tool_makes_the_things_whose_new_ids_it_answers() -> None:
    """A new order has its own id, and a refund too, though its tool only changes an order."""
    assert made(found_offline(DESK)) == {
        ("create_order", "order_id", "order"),
        ("refund_order", "refund_id", "refund"),
    }


def test_every_tool_that_was_looked_at_has_a_role_and_every_find_says_why() -> None:
    """A person sees in words where a connection comes from."""
    found = found_offline(DESK)
    assert [role.tool_name for role in found.roles] == [shape.name for shape in DESK]
    assert all(one.why for one in (*found.uses, *found.produces, *found.roles))
    assert "'cancel'" in next(one.why for one in found.uses if one.tool_name == "cancel_order")


def test_booking_a_flight_makes_a_booking_and_reads_the_flight() -> None:
    """What a verb takes as its object is not always what comes out of it."""
    found = found_offline([tool("book_flight", {"flight_id": TEXT})])
    assert uses(found) == {("book_flight", "flight_id", "flight", "reads")}
    assert made(found) == {("book_flight", "booking_id", "booking")}


def test_a_thing_whose_id_the_caller_chooses_is_created_by_that_parameter() -> None:
    """`create_user(user_id=...)` makes the user of that id; no other field needs to name it."""
    found = found_offline([tool("create_user", {"user_id": TEXT, "team_id": TEXT})])
    assert uses(found) == {
        ("create_user", "user_id", "user", "creates"),
        ("create_user", "team_id", "team", "reads"),
    }


def test_names_in_camel_case_and_schemas_in_capitals_are_read() -> None:
    """google-genai's spelling of a schema, and a JavaScript programmer's of names, change nothing."""
    shape = ToolShape(
        name="cancelOrders",
        parameters={
            "type": "OBJECT",
            "properties": {"orderIds": {"type": "ARRAY", "items": {"type": "STRING"}}},
        },
    )
    assert uses(found_offline([shape])) == {("cancelOrders", "orderIds[*]", "order", "changes")}


def test_a_bare_id_is_of_what_the_tool_is_about() -> None:
    """`get_user(id)` reads a user; inside of a customer, an id is the customer's."""
    nested: JsonObject = {"type": "object", "properties": {"id": TEXT}}
    found = found_offline([tool("get_user", {"id": TEXT, "customer": nested})])
    assert uses(found) == {
        ("get_user", "id", "user", "reads"),
        ("get_user", "customer.id", "customer", "reads"),
    }


def test_a_description_says_that_a_parameter_is_an_id() -> None:
    """A parameter called `order` is an id where its description or the docstring says so, and only then."""
    told = tool(
        "ship_order", {"order": TEXT, "carrier": TEXT}, description="Ships it.\n\nArgs:\n    order: The id."
    )
    described = tool("pay_order", {"order": {"type": "string", "description": "Identifier of the order"}})
    assert uses(found_offline([told, described])) == {
        ("ship_order", "order", "order", "changes"),
        ("pay_order", "order", "order", "changes"),
    }


def test_a_choice_a_date_or_a_number_with_fractions_is_no_id() -> None:
    """What can only have a few values, or is measured, names nothing."""
    parameters: JsonObject = {
        "mode_id": {"enum": ["a", "b"]},
        "day_id": {"type": "string", "format": "date"},
        "weight_id": {"type": "number"},
        "flag_id": {"type": "boolean"},
    }
    assert found_offline([tool("get_order", parameters)]).uses == ()


@for_each("schema", [{}, {"properties": 3}, {"type": "object", "properties": {"a": None}}, {"$ref": "#/x"}])
def test_a_schema_that_says_nothing_or_is_broken_is_no_error(schema: JsonObject) -> None:
    """The tool has its role by its name, and no connections by its schema."""
    found = found_offline([ToolShape(name="find_order", parameters=schema, response_schema=schema)])
    assert found.uses == ()
    assert found.roles[0].use == "reads"


SCHEMAS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.sampled_from(["string", "object", "array", "#/$defs/a", "id"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "allOf",
                    "$ref",
                    "$defs",
                    "a",
                    "order_id",
                    "id",
                    "description",
                    "enum",
                    "format",
                    "required",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf", "$defs", "$ref"]), SCHEMAS),
    st.text(),
)
def test_any_schema_and_any_name_can_be_looked_at(schema: JsonObject, name: str) -> None:
    """Nothing that a tool declares crashes the search, and what is found can be stored."""
    shape = ToolShape(name=name or "x", description=name, parameters=schema, response_schema=schema)
    found = found_offline([shape])
    assert len(found.roles) == 1
    assert Connections.model_validate(found.model_dump()) == found


def test_a_person_stands_over_a_model_and_a_model_over_names() -> None:
    """Each speaks for a place alone; places that it does not mention stay as they were."""
    model = Connections(
        uses=(
            ParameterUse(
                tool_name="cancel_order", parameter="order_id", kind="order", use="deletes", source="model"
            ),
            ParameterUse(
                tool_name="find_order", parameter="order_id", kind="Purchases", use="reads", source="model"
            ),
        )
    )
    person = ConnectionEdits(
        uses=(
            ParameterUse(
                tool_name="find_order", parameter="order_id", kind="parcel", use="reads", source="person"
            ),
        )
    )
    found = {(one.tool_name, one.parameter): one for one in merged(found_offline(DESK), model, person).uses}
    assert found["find_order", "order_id"].kind == "parcel"
    assert found["cancel_order", "order_id"].use == "deletes"
    assert found["refund_order", "order_id"].source == "offline"
    assert found["cancel_order", "order_id"].source == "model"


def test_a_role_follows_what_is_said_of_its_parameters() -> None:
    """Who makes `find_order` change orders need not also say that it no longer only reads."""
    person = ConnectionEdits(
        uses=(
            ParameterUse(
                tool_name="find_order", parameter="order_id", kind="order", use="changes", source="person"
            ),
        )
    )
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


def test_connections_are_json_in_and_out() -> None:
    """They can be stored, and sent to a page."""
    found = found_offline(DESK)
    assert Connections.model_validate_json(found.model_dump_json()) == found
