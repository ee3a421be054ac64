"""The order desk, played with answers that a person gives."""

from __future__ import annotations

from typing import Any

from simulator import failed
from simulator.agents.demos.order_desk.tools import ORDERS
from tests.simulator.agents.playing import calls, failures, last_words, play, play_real, scripted, tools
from tests.simulator.base.rows import for_each

NAME = "order_desk"
CANCEL = "Please cancel order A-1001 and refund me."
FOUND = {"order_id": "A-1001", "status": "processing", "total": 49.9, "currency": "EUR"}
CANCELLED = {"order_id": "A-1001", "status": "cancelled"}
REFUNDED = {"refund_id": "R-1", "amount": 49.9, "currency": "EUR", "status": "sent"}
BUSY = failed(503, "The order system is unavailable.")


def script(**changed: Any) -> Any:
    """Answer as the shop does, save for what is changed."""
    fine = {"find_order": FOUND, "cancel_order": CANCELLED, "refund_order": REFUNDED}
    return scripted(fine | changed)


def test_the_ids_go_from_tool_to_tool() -> None:
    """What one tool said (id, total, currency) is what the next one is asked with."""
    session = play(NAME, CANCEL, answer=script(find_order=FOUND | {"total": 12.5, "currency": "USD"}))
    assert calls(session) == [
        ("find_order", {"order_id": "A-1001"}),
        ("cancel_order", {"order_id": "A-1001", "reason": "customer_request"}),
        ("refund_order", {"order_id": "A-1001", "amount": 12.5, "currency": "USD"}),
    ]
    assert "R-1" in last_words(session)


@for_each(
    ("changed", "called", "words"),
    [
        ({"find_order": FOUND | {"status": "shipped"}}, "f", "cannot be cancelled"),
        ({"find_order": FOUND | {"status": "delivered"}}, "f", "refund"),
        ({"find_order": FOUND | {"status": "cancelled"}}, "fr", "already cancelled"),
        ({"find_order": failed(404, "No order A-1001 exists.")}, "f", "cannot find"),
        ({"find_order": {"error": "no such order"}}, "f", "cannot find"),
        ({"find_order": {}}, "f", "no details"),
        ({"find_order": "out of service"}, "f", "out of service"),
        ({"find_order": (BUSY, FOUND)}, "ffcr", "R-1"),
        ({"find_order": BUSY}, "ff", "not available"),
        *(
            ({"find_order": order}, "fcr", "R-1")
            for order in ([FOUND], {"order": FOUND}, {"orders": [FOUND]}, {"data": FOUND})
        ),
        ({"cancel_order": failed(409, "Order A-1001 is already shipped.")}, "fc", "already shipped"),
        ({"cancel_order": {}}, "fc", "no confirmation"),
        ({"cancel_order": {"order_id": "A-1001", "status": "pending approval"}}, "fc", "refunded nothing"),
        ({"refund_order": failed(422, "At most 10.00 EUR can be refunded.")}, "fcr", "10.00 EUR"),
        ({"refund_order": REFUNDED | {"amount": 30}}, "fcr", "30.00 EUR"),
        ({"refund_order": {}}, "fcr", "no refund id"),
    ],
)
def test_a_changed_answer_changes_what_the_desk_does(
    changed: dict[str, Any], called: str, words: str
) -> None:
    """Each status and error leads to other calls, or to other words: the model reads what the tools say.

    A busy service is asked once more and no oftener; a record is found in any wrapping. A call is given by its first letter.
    """
    session = play(NAME, CANCEL, answer=script(**changed))
    assert "".join(name[0] for name in tools(session)) == called
    assert words in last_words(session)


def test_several_orders_are_asked_for_at_once() -> None:
    """Two orders in one message are two parallel calls, and each is reported."""
    session = play_real(NAME, "Where are orders A-1001 and A-1002?")
    assert [arguments["order_id"] for _, arguments in calls(session)] == ["A-1001", "A-1002"]
    assert "A-1001 is processing" in last_words(session)
    assert "TRK-88012" in last_words(session)


def test_the_desk_remembers_what_it_offered() -> None:
    """It offers to cancel an order that is on its way out; a plain "yes" to that cancels and refunds it."""
    session = play(NAME, "Refund order A-1001.", "Yes, please.", answer=script())
    assert tools(session) == ["find_order", "find_order", "cancel_order", "refund_order"]
    session = play(NAME, "Refund order A-1001.", "No.", answer=script())
    assert tools(session) == ["find_order"]


def test_an_order_is_placed_for_a_customer_who_is_known_by_address() -> None:
    """The customer's id is looked up first; articles, quantities and the express wish are arguments."""
    listed = {"customer_id": "C-99", "orders": []}
    answer = scripted({"list_orders": listed, "create_order": {"order_id": "A-9", "total": 5}})
    session = play(NAME, "Order 2 mugs and 1 lamp for ada@example.com, express", answer=answer)
    items = [{"sku": "mug", "quantity": 2}, {"sku": "lamp", "quantity": 1}]
    wanted = {"customer_id": "C-99", "items": items, "express": True}
    assert calls(session)[1] == ("create_order", wanted)
    assert "A-9" in last_words(session)


def test_the_shop_changes_in_the_sessions_state_and_nowhere_else() -> None:
    """A real cancellation is seen by the next real call of that session, and by no other session."""
    first = play_real(NAME, CANCEL, "Where is order A-1001?")
    assert "cancelled" in last_words(first)
    assert "processing" in last_words(play_real(NAME, "Where is order A-1001?"))
    assert ORDERS["A-1001"]["status"] == "processing"


@for_each("said", ["Hello", "Cancel my order", "?", "A new order for C-17"])
def test_words_without_an_order_end_in_a_question(said: str) -> None:
    """Where the desk does not know what is meant it calls no tool, and says what it needs."""
    session = play_real(NAME, said)
    assert not tools(session)
    assert not failures(session)
    assert last_words(session)
