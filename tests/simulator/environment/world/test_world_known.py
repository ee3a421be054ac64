"""The world knows things by tables, by any of their names, and as a person edits them."""

from __future__ import annotations

import pytest

from simulator.base.json_values import JsonObject
from simulator.environment.conventions import EarlierAnswer
from simulator.environment.world.connections import (
    ConnectionEdits,
    ParameterUse,
    ToolShape,
    found_offline,
    merged,
)
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.world import World
from tests.simulator.environment.world.told_worlds import ORDER, Told


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
    world.take(EarlierAnswer("archive_order", {"handle": "A-1"}, {"status": "success"}))
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
    with pytest.raises(ValueError, match="already exists"):
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


def test_what_was_deleted_is_gone_and_stays_known_as_gone() -> None:
    """Any call about it is answered with a 404."""
    told = Told()
    told.call("delete_order", {"status": "success", "order_id": "A-1"}, order_id="A-1")
    error = told.world.not_found("cancel_order", {"order_id": "A-1"})
    assert error is not None
    assert (error["status"], error["error_code"]) == ("error", 404)
    assert "'A-1'" in str(error["error"])


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


def test_a_404_that_a_rule_injected_says_nothing_of_the_thing() -> None:
    """A fault is no word of the world: the next call finds what is there."""
    told = Told()
    error: JsonObject = {"error_code": 404, "error_message": "busy"}
    told.world.take(EarlierAnswer("find_order", {"order_id": "A-9"}, error, fact=10, turn=1, injected=True))
    assert told.world.not_found("find_order", {"order_id": "A-9"}) is None


def test_after_a_creation_what_was_never_created_is_not_found() -> None:
    """Where all things of a kind were made in the session, another id cannot be known.

    Before it any thing may be there, and one that was found or deleted, not made, shows that there are more.
    """
    for tool in ("find_order", "delete_order"):
        told = Told()
        assert told.world.not_found("find_order", {"order_id": "A-1"}) is None
        told.call(tool, {"order_id": "A-1"}, order_id="A-1")
        assert told.world.not_found("find_order", {"order_id": "A-2"}) is None
        told.call("create_order", {"order_id": "ORD-1"})
        assert told.world.not_found("find_order", {"order_id": "A-2"}) is None
    told = Told()
    told.call("create_order", {"order_id": "ORD-1"}, customer_id="C-1")
    assert told.world.not_found("find_order", {"order_id": "ORD-1"}) is None
    missing = told.world.not_found("find_order", {"order_id": "ORD-999"})
    assert missing is not None
    assert missing["error_code"] == 404
    assert told.world.not_found("get_customer", {"customer_id": "C-2"}) is None
