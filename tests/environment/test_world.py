"""The world learns from answered calls what there is, what it is like, and what is gone."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from simulator.environment.connections import ConnectionEdits, ParameterUse, ToolShape, found_offline, merged
from simulator.environment.entities import EntityChange, Origin, WorldCall
from simulator.environment.tables import read_tables
from simulator.environment.world import World
from simulator.jsonvalue import JsonObject

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
        call = WorldCall(tool, arguments, response, fact=self.calls * 10, turn=self.calls)
        foreseen = self.world.preview(call)
        changes = self.world.take(call)
        assert foreseen == changes
        return changes

    def fields(self, kind: str, key: str) -> JsonObject:
        """Give what is known of a thing that lives."""
        entity = self.world.entity(kind, key)
        assert entity is not None
        assert not entity.gone
        return entity.fields


def test_an_order_that_was_found_is_known_with_its_lines() -> None:
    """What a question is answered is remembered by kind and id, with nested records and where it was said."""
    told = Told()
    told.call("find_order", ORDER, order_id="A-1")
    assert told.fields("order", "A-1") == ORDER
    assert told.world.known("cancel_order", {"order_id": "A-1"}) == ORDER
    entity = told.world.entity("order", "A-1")
    assert entity is not None
    assert entity.origins["status"] == Origin(fact=10, turn=1, source="find_order")


def test_a_line_teaches_the_price_of_an_article_and_not_its_quantity() -> None:
    """How many were ordered says nothing of the article itself."""
    told = Told()
    told.call("find_order", ORDER, order_id="A-1")
    assert told.fields("product", "mug") == {"sku": "mug", "unit_price": 12.45}


def test_a_partial_answer_updates_and_never_erases() -> None:
    """A cancellation says three things; what else is known of the order stays, inside of objects too."""
    told = Told()
    told.call("find_order", ORDER | {"address": {"city": "Oslo", "zip": "0150"}}, order_id="A-1")
    changes = told.call(
        "cancel_order", {"order_id": "A-1", "status": "cancelled"}, order_id="A-1", reason="late"
    )
    assert [change.fields for change in changes] == [{"reason": "late", "status": "cancelled"}]
    told.call("get_order", {"order_id": "A-1", "address": {"zip": "0151"}}, order_id="A-1")
    fields = told.fields("order", "A-1")
    assert fields["address"] == {"city": "Oslo", "zip": "0151"}
    assert fields["total"] == 24.9
    assert fields["status"] == "cancelled"


def test_a_list_of_records_is_learnt_and_is_no_field_of_whom_was_asked_about() -> None:
    """The orders of a customer are orders; the customer does not carry a copy, nor their count."""
    told = Told()
    told.call(
        "list_orders",
        {"customer_id": "C-17", "orders": [ORDER, ORDER | {"order_id": "A-2"}], "count": 2},
        customer_id="C-17",
    )
    assert [row["order_id"] for row in told.world.rows("order")] == ["A-1", "A-2"]
    assert told.fields("customer", "C-17") == {"customer_id": "C-17"}


def test_records_have_what_the_answer_says_of_all_of_them() -> None:
    """The orders that stand under a customer's id are that customer's, where they do not say it themselves."""
    told = Told()
    told.call("list_orders", {"customer_id": "C-17", "orders": [{"order_id": "A-1"}]}, customer_id="C-17")
    assert told.fields("order", "A-1")["customer_id"] == "C-17"


@pytest.mark.parametrize(
    "response",
    [
        {"id": 7, "title": "x"},
        {"status": "success", "ticket": {"id": 7, "title": "x"}},
        {"status": "success", "data": {"ticket_id": 7, "title": "x"}},
        {"result": {"ticketId": "7"}},
        {"tickets": {"7": {"title": "x"}}},
        [{"id": 7}],
        "7",
        {"result": "7"},
    ],
)
def test_what_a_tool_makes_is_known_in_whatever_it_is_wrapped(response: JsonValue) -> None:
    """The new thing has its id and what was asked to be made."""
    told = Told()
    told.call("create_ticket", response, title="x")
    assert told.world.not_found("get_ticket", {"ticket_id": "7"}) is None
    assert told.world.not_found("get_ticket", {"ticket_id": "8"}) is not None
    assert told.world.kinds() == ("ticket",)


def test_arguments_of_a_creation_are_fields_of_the_new_thing() -> None:
    """What the answer does not repeat is known all the same, lists too; what it says otherwise counts."""
    told = Told()
    told.call(
        "create_order",
        {"order_id": "A-5", "express": False},
        customer_id="C-1",
        items=[{"sku": "mug"}],
        express=True,
    )
    assert told.fields("order", "A-5") == {
        "customer_id": "C-1",
        "items": [{"sku": "mug"}],
        "express": False,
        "order_id": "A-5",
    }
    assert told.world.entity("customer", "C-1") is None


def test_a_refund_is_a_thing_of_its_own_and_leaves_the_order_alone() -> None:
    """The amount and state of the refund are not those of the order that it names."""
    told = Told()
    told.call("find_order", ORDER, order_id="A-1")
    told.call(
        "refund_order",
        {"refund_id": "R-1", "order_id": "A-1", "amount": 3, "status": "sent"},
        order_id="A-1",
        amount=3,
    )
    assert told.fields("order", "A-1") == ORDER
    assert told.fields("refund", "R-1")["order_id"] == "A-1"


def test_an_update_sets_what_was_asked_for() -> None:
    """A tool that answers nothing has done what it was told: a patch is opened, and a new name is the name."""
    told = Told()
    told.call(
        "update_user", None, user_id="U-1", changes={"email": "a@example.com"}, new_name="Ada", phone=None
    )
    assert told.fields("user", "U-1") == {"user_id": "U-1", "email": "a@example.com", "name": "Ada"}


def test_an_update_of_several_things_changes_each_of_them() -> None:
    """Ids in a list have the same said of each; records in a list say each their own, and the answer stands over them."""
    told = Told()
    told.call("update_orders", None, order_ids=["A-1", "A-2"], status="open")
    assert told.world.rows("order") == [{"order_id": key, "status": "open"} for key in ("A-1", "A-2")]
    told.call(
        "update_products",
        {"products": [{"product_id": "P-1", "stock": 2}]},
        products=[{"product_id": "P-1", "stock": 3, "name": "Mug"}, {"product_id": "P-2", "stock": 1}],
    )
    assert told.fields("product", "P-1") == {"product_id": "P-1", "stock": 2, "name": "Mug"}
    assert told.fields("product", "P-2") == {"product_id": "P-2", "stock": 1}


@pytest.mark.parametrize(
    ("tool", "arguments", "response", "known"),
    [
        (
            "checkout",
            {"cart_id": "K-1"},
            {"order": {"order_id": "O-1", "total": 6}, "payment": {"payment_id": "PY-1", "state": "paid"}},
            {("order", "O-1"): {"total": 6}, ("payment", "PY-1"): {"state": "paid"}},
        ),
        (
            "get_product",
            {"product_id": "P-1"},
            {"product": {"name": "Mug"}, "related_products": [{"product_id": "P-2", "name": "Cup"}]},
            {("product", "P-1"): {"name": "Mug"}, ("product", "P-2"): {"name": "Cup"}},
        ),
        (
            "search_products",
            {"query": "mug"},
            {"products": [{"id": "P-1", "category": {"id": "C-1", "name": "Cups"}}], "total": 1},
            {("product", "P-1"): {"id": "P-1"}, ("category", "C-1"): {"name": "Cups"}},
        ),
        (
            "transfer_money",
            {"from_account_id": "1", "to_account_id": "2", "amount": 5},
            {"transaction_id": "X-1", "state": "completed"},
            {("transaction", "X-1"): {"amount": 5, "to_account_id": "2"}},
        ),
        (
            "assign_ticket",
            {"ticket_id": "T-1", "assignee_id": "U-1"},
            {"success": True},
            {("ticket", "T-1"): {"assignee_id": "U-1"}},
        ),
        (
            "create_booking",
            {"flight_id": "F-1"},
            {"confirmation_code": "ABC", "state": "ok"},
            {("booking", "ABC"): {"flight_id": "F-1"}},
        ),
    ],
)
def test_answers_as_real_services_give_them_are_read(
    tool: str, arguments: JsonObject, response: JsonObject, known: dict[tuple[str, str], JsonObject]
) -> None:
    """Each thing gets what is said of it, and no thing gets what is said of another."""
    told = Told()
    told.call(tool, response, **arguments)
    for (kind, key), fields in known.items():
        assert fields.items() <= told.fields(kind, key).items()
    assert sum(len(told.world.rows(kind)) for kind in told.world.kinds()) == len(known)


def test_a_status_without_an_id_is_of_the_thing_that_was_asked_about() -> None:
    """A short answer is about the one thing that the call names; its remark is not."""
    told = Told()
    told.call("get_order_status", {"status": "shipped", "message": "On its way."}, order_id="A-1")
    assert told.fields("order", "A-1") == {"order_id": "A-1", "status": "shipped"}


@pytest.mark.parametrize(
    "response",
    [
        {"status": "error", "error": "broken"},
        {"error_code": 500, "error_message": "x"},
        {"success": False, "order_id": "A-1"},
    ],
)
@pytest.mark.parametrize("tool", ["create_order", "delete_order", "update_order", "find_order"])
def test_an_answer_that_is_an_error_changes_nothing(tool: str, response: JsonValue) -> None:
    """What failed has not happened."""
    told = Told()
    assert told.call(tool, response, order_id="A-1") == ()
    assert told.world.kinds() == ()


def test_what_was_deleted_is_gone_and_stays_known_as_gone() -> None:
    """Any call about it is answered with a 404; making it anew starts from nothing."""
    told = Told()
    told.call("find_order", ORDER, order_id="A-1")
    told.call("delete_order", {"status": "success", "order_id": "A-1"}, order_id="A-1")
    assert told.world.not_found("cancel_order", {"order_id": "A-1"}) == {
        "status": "error",
        "error_code": 404,
        "error": "No order with order_id 'A-1' was found.",
    }
    assert told.world.rows("order") == []
    told.call("create_order", {"order_id": "A-1", "status": "new"})
    assert told.fields("order", "A-1") == {"order_id": "A-1", "status": "new"}


def test_cancelling_and_taking_out_of_a_cart_delete_nothing() -> None:
    """Only what is deleted is gone."""
    told = Told()
    told.call("cancel_order", {"status": "success"}, order_id="A-1")
    told.call("remove_item_from_cart", {"status": "success"}, cart_id="K-1", item_id="I-1")
    for tool, name, key in (
        ("find_order", "order_id", "A-1"),
        ("get_item", "item_id", "I-1"),
        ("get_cart", "cart_id", "K-1"),
    ):
        assert told.world.not_found(tool, {name: key}) is None


def test_lists_and_objects_as_ids_name_several_things() -> None:
    """They do not crash, and each thing counts; what is no id is left out."""
    told = Told()
    told.call("delete_orders", None, order_ids=["A-1", 2, None, {"order_id": "A-3"}, {}, True, ["A-4"]])
    gone = [key for key in ("A-1", "2", "A-3") if told.world.not_found("find_order", {"order_id": key})]
    assert gone == ["A-1", "2", "A-3"]
    assert told.world.not_found("find_order", {"order_id": {"id": "A-3"}}) is not None


def test_the_first_not_found_answer_is_given_again_until_the_thing_is_there() -> None:
    """A session's own error is kept, word for word."""
    told = Told()
    error: JsonObject = {"error_code": 404, "error_message": "No order A-9 exists."}
    told.call("find_order", error, order_id="A-9")
    told.call("find_order", {"error": "not found, second"}, order_id="A-9")
    assert told.world.not_found("cancel_order", {"order_id": "A-9"}) == error
    told.call("create_order", {"order_id": "A-9"})
    assert told.world.not_found("cancel_order", {"order_id": "A-9"}) is None


def test_with_nothing_known_nothing_is_missing() -> None:
    """The first question of a session may be about any thing; only the tables could say that it is not there."""
    told = Told()
    assert told.world.not_found("find_order", {"order_id": "A-1"}) is None
    told.call("find_order", ORDER, order_id="A-1")
    assert told.world.not_found("find_order", {"order_id": "A-2"}) is None


def test_after_a_creation_what_was_never_created_is_not_found() -> None:
    """Where all things of a kind were made in the session, another id cannot be known."""
    told = Told()
    told.call("create_order", {"order_id": "ORD-1"}, customer_id="C-1")
    assert told.world.not_found("find_order", {"order_id": "ORD-1"}) is None
    missing = told.world.not_found("find_order", {"order_id": "ORD-999"})
    assert missing is not None
    assert missing["error_code"] == 404
    assert told.world.not_found("get_customer", {"customer_id": "C-2"}) is None


def test_where_things_were_there_before_a_creation_says_nothing_of_others() -> None:
    """An order that was found, not made, shows that there are more than were made; deleting one shows it too."""
    for tool in ("find_order", "delete_order"):
        told = Told()
        told.call(tool, {"order_id": "A-1"}, order_id="A-1")
        told.call("create_order", {"order_id": "ORD-1"})
        assert told.world.not_found("find_order", {"order_id": "A-2"}) is None


def test_a_table_says_what_there_is() -> None:
    """A row is found by any key of its own; what has no row is missing, in reading, changing and nested lines."""
    told = Told('{"products": [{"id": "P-1", "sku": "MUG", "stock": 3}], "currency": "NOK"}')
    assert told.world.currency == "NOK"
    for name, key in (("product_id", "P-1"), ("sku", "MUG"), ("id", "P-1")):
        assert told.world.not_found("get_product", {name: key}) is None
        assert told.world.known("get_product", {name: key})["stock"] == 3
    for tool, arguments in (
        ("get_product", {"product_id": "P-2"}),
        ("update_product", {"sku": "CUP"}),
        ("create_order", {"items": [{"sku": "MUG"}, {"sku": "CUP"}]}),
    ):
        found = told.world.not_found(tool, arguments)  # type: ignore[arg-type] # JSON
        assert found is not None
        assert "'P-2'" in str(found["error"]) or "'CUP'" in str(found["error"])
    assert told.world.not_found("create_product", {"product_id": "P-2"}) is None


def test_a_row_is_updated_by_any_of_its_keys() -> None:
    """A tool that knows products by sku changes the row of the table, and adds no second product."""
    told = Told('{"products": [{"id": "P-1", "sku": "MUG", "stock": 3}]}')
    told.call("update_stock", {"sku": "MUG", "stock": 2}, sku="MUG", stock=2)
    told.call("get_product", {"product_id": "P-1", "price": 5}, product_id="P-1")
    assert told.world.rows("product") == [{"id": "P-1", "sku": "MUG", "stock": 2, "price": 5}]
    assert told.world.columns("product") == ("id", "sku", "stock", "price")


def test_a_person_decides_what_is_known_for_certain() -> None:
    """`open` never says that something is missing, and `closed` does from the start."""
    assert Told('{"orders": []}', order="open").world.not_found("find_order", {"order_id": "A"}) is None
    assert Told(order="closed").world.not_found("find_order", {"order_id": "A"}) is not None
    assert Told('{"orders": []}').world.not_found("find_order", {"order_id": "A"}) is not None


def test_an_argument_names_a_row_where_it_is_called_like_the_table() -> None:
    """`department="sales"` is the row of that department, though it is no id by name."""
    told = Told('{"departments": [{"department": "sales", "remaining": 1800}]}')
    assert told.world.known("get_budget", {"department": "sales"})["remaining"] == 1800
    assert told.world.known("get_budget", {"department": "legal"}) == {}


def test_what_is_known_of_the_thing_itself_stands_over_what_it_refers_to() -> None:
    """An order's state is not its customer's."""
    told = Told(
        '{"orders": [{"id": "A-1", "status": "open"}], "customers": [{"id": "C-1", "status": "vip"}]}'
    )
    for arguments in ({"order_id": "A-1", "customer_id": "C-1"}, {"customer_id": "C-1", "order_id": "A-1"}):
        assert told.world.known("cancel_order", dict(arguments))["status"] == "open"


def test_equal_numbers_of_different_kinds_are_different_things() -> None:
    """Customer 5 is not order 5."""
    told = Told()
    told.call("get_customer", {"customer_id": 5, "name": "Ada"}, customer_id=5)
    assert told.world.known("find_order", {"order_id": 5}) == {}
    told.call("find_order", {"order_id": 5, "total": 3}, order_id=5)
    assert told.fields("customer", "5") == {"customer_id": 5, "name": "Ada"}


def test_a_reference_finds_the_one_thing_with_that_id() -> None:
    """Where an argument does not say of which kind it is, an id that only one thing has is enough."""
    told = Told()
    told.call("find_order", ORDER, order_id="A-1")
    assert told.world.known("lookup", {"reference": "A-1"})["total"] == 24.9
    told.call("find_order", {"order_id": "A-2", "tracking_number": "TRK-1"}, order_id="A-2")
    assert told.world.known("track", {"tracking_number": "TRK-1"})["order_id"] == "A-2"


def test_the_lines_of_two_orders_are_not_mixed_up() -> None:
    """Lines that are numbered 1, 2, 3 in each order are no things of the world."""
    told = Told()
    for key in ("A-1", "A-2"):
        told.call("find_order", {"order_id": key, "items": [{"id": 1, "name": key}]}, order_id=key)
    assert told.world.kinds() == ("order",)


def test_connections_decide_before_names() -> None:
    """What a person says of a tool holds: here archiving takes an order away, and `key` is an order's."""
    shape = ToolShape(
        name="archive_order", parameters={"type": "object", "properties": {"handle": {"type": "string"}}}
    )
    edits = ConnectionEdits(
        uses=(
            ParameterUse(
                tool_name="archive_order", parameter="handle", kind="order", use="deletes", source="person"
            ),
        )
    )
    world = World(merged(found_offline([shape]), None, edits))
    world.take(WorldCall("archive_order", {"handle": "A-1"}, {"status": "success"}))
    assert world.not_found("find_order", {"order_id": "A-1"}) is not None


def test_a_persons_edit_sets_replaces_and_deletes() -> None:
    """An edit counts as said by a person; a new thing gets its id as a field."""
    told = Told('{"orders": [{"id": "A-1", "status": "open", "note": "x"}]}')
    told.world.edit(
        [
            EntityChange(op="put", kind="order", id="A-1", fields={"status": "shipped"}),
            EntityChange(op="put", kind="order", id="A-2", fields={"status": "new"}),
        ],
        fact=4,
        turn=2,
    )
    assert told.fields("order", "A-2") == {"id": "A-2", "status": "new"}
    entity = told.world.entity("order", "A-1")
    assert entity is not None
    assert (entity.origins["status"].source, entity.origins["note"].source) == ("person", "seed")
    told.world.edit(
        [EntityChange(op="replace", kind="order", id="A-1", fields={"id": "A-1"})], fact=5, turn=2
    )
    assert told.fields("order", "A-1") == {"id": "A-1"}
    told.world.edit([EntityChange(op="delete", kind="order", id="A-2")], fact=6, turn=2)
    assert told.world.not_found("find_order", {"order_id": "A-2"}) is not None


def test_a_thing_gets_another_id_wherever_it_is_named() -> None:
    """Its own field, and those of the things that refer to it; the old id is gone."""
    told = Told(
        '{"customers": [{"id": "C-1", "name": "Ada"}], "orders": [{"id": "A-1", "customer_id": "C-1"}]}'
    )
    told.world.edit(told.world.renaming("customer", "C-1", "C-9"), fact=1, turn=1)
    assert told.fields("customer", "C-9") == {"id": "C-9", "name": "Ada"}
    assert told.fields("order", "A-1")["customer_id"] == "C-9"
    assert told.world.not_found("get_customer", {"customer_id": "C-1"}) is not None
    with pytest.raises(ValueError, match="no customer 'C-1'"):
        told.world.renaming("customer", "C-1", "C-2")
    with pytest.raises(ValueError, match="already there"):
        told.world.renaming("customer", "C-9", "C-9")


def test_collections_are_for_expressions_and_made_once() -> None:
    """They have plural names, hold what lives, and stay as they were for who holds them."""
    told = Told('{"orders": [{"id": "A-1"}, {"id": "A-2"}]}')
    before = told.world.collections()
    assert before is told.world.collections()
    told.call("delete_order", None, order_id="A-1")
    told.call("update_order", None, order_id="A-2", status="open")
    assert before == {"orders": {"A-1": {"id": "A-1"}, "A-2": {"id": "A-2"}}}
    assert told.world.collections() == {"orders": {"A-2": {"id": "A-2", "status": "open"}}}


def test_currency_is_the_one_that_was_named_last() -> None:
    """Euros, until a table or an answer names another; a nested one counts too."""
    told = Told()
    assert told.world.currency == "EUR"
    told.call("find_order", ORDER, order_id="A-1")
    assert told.world.currency == "USD"
    told.call("search", {"results": [{"price": {"currency": "GBP"}}]})
    assert told.world.currency == "GBP"
