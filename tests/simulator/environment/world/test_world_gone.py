"""The world knows what is gone, and what never was."""

from __future__ import annotations

from simulator.base.json_values import JsonObject
from simulator.environment.world.entities import WorldCall
from tests.simulator.environment.world.told_worlds import Told


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
    told.world.take(WorldCall("find_order", {"order_id": "A-9"}, error, fact=10, turn=1), by_rule=True)
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
