"""The world learns from answered calls what there is, what it is like, and what is gone."""

from __future__ import annotations

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.world.entities import Origin
from tests.simulator.base.rows import for_each
from tests.simulator.environment.world.told_worlds import ORDER, Told


def test_an_order_that_was_found_is_known_with_its_lines() -> None:
    """What a question is answered is remembered by kind and id, with where it was said.

    A line teaches the price of its article, and not how many were ordered.
    """
    told = Told()
    told.call("find_order", ORDER, order_id="A-1")
    assert told.fields("order", "A-1") == ORDER
    assert told.world.known("cancel_order", {"order_id": "A-1"}) == ORDER
    entity = told.world.entity("order", "A-1")
    assert entity is not None
    assert entity.origins["status"] == Origin(fact=10, turn=1, source="find_order")
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
    """The orders of a customer are orders, also those that do not name the customer, who carries no copy, nor their count."""
    told = Told()
    told.call(
        "list_orders",
        {"customer_id": "C-17", "orders": [ORDER, {"order_id": "A-2"}], "count": 2},
        customer_id="C-17",
    )
    assert [row["order_id"] for row in told.world.rows("order")] == ["A-1", "A-2"]
    assert told.fields("order", "A-2")["customer_id"] == "C-17"
    assert told.fields("customer", "C-17") == {"customer_id": "C-17"}


@for_each(
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


@for_each(
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


@for_each(
    "response",
    [
        {"status": "error", "error": "broken"},
        {"error_code": 500, "error_message": "x"},
        {"success": False, "order_id": "A-1"},
    ],
)
@for_each("tool", ["create_order", "delete_order", "update_order", "find_order"])
def test_an_answer_that_is_an_error_changes_nothing(tool: str, response: JsonValue) -> None:
    """What failed has not happened."""
    told = Told()
    assert told.call(tool, response, order_id="A-1") == ()
    assert told.world.kinds() == ()


def test_a_tool_that_only_says_that_it_is_done_leaves_the_state_of_its_verb() -> None:
    """A ticket is closed once `close_ticket` has answered with a sentence; a refund may be one of a part."""
    told = Told()
    told.call("get_ticket", {"ticket_id": "T-1", "status": "open"}, ticket_id="T-1")
    told.call("close_ticket", "Ticket T-1 was closed.", ticket_id="T-1")
    assert told.fields("ticket", "T-1")["status"] == "closed"
    told.call("refund_ticket", "Refunded.", ticket_id="T-1")
    assert told.fields("ticket", "T-1")["status"] == "closed"
