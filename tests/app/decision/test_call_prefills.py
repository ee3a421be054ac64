"""Arguments of a call are found in what the agent has seen, by literals alone, and each says where it comes from."""

from __future__ import annotations

from typing import Any

import pytest

from app.decision.call_prefills import DEFAULT, EARLIER_MESSAGE, MESSAGE, Prefill, prefills
from simulator.seats.requests import ToolDeclaration

TOOL = ToolDeclaration(
    name="refund",
    description="""Refund an order.

    Args:
        order_id: The order's id, for instance "A-1001".
        size: one of 'small', 'large'
        amount: How much.
        currency: For example 'EUR'.
        days: How many, defaults to 5.
    """,
    parameters={
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "size": {"type": "string"},
            "amount": {"type": "number"},
            "currency": {"type": "string"},
            "days": {"type": "integer"},
        },
        "required": ["order_id", "size", "amount", "currency", "days"],
    },
)


def user(text: str) -> dict[str, Any]:
    """Return what the user said."""
    return {"role": "user", "parts": [{"text": text}]}


def responded(name: str, **response: Any) -> dict[str, Any]:
    """Return a tool's response."""
    return {"role": "user", "parts": [{"function_response": {"name": name, "response": response}}]}


def called(name: str, **args: Any) -> dict[str, Any]:
    """Return a call of the agent."""
    return {"role": "model", "parts": [{"function_call": {"name": name, "args": args}}]}


def found(*contents: dict[str, Any]) -> dict[str, Prefill]:
    """Return what is found after this conversation."""
    return prefills(TOOL, contents).found


def test_an_id_and_a_choice_come_from_the_message_and_the_rest_from_the_docstring() -> None:
    """A number without a name is no evidence for an amount, which stays empty."""
    assert found(user("Refund 12 for B-77, the LARGE one.")) == {
        "order_id": Prefill(value="B-77", source=MESSAGE),
        "size": Prefill(value="large", source=MESSAGE),
        "days": Prefill(value=5, source=DEFAULT),
    }


def test_an_example_is_offered_and_fills_nothing_in() -> None:
    """It is seldom what is right here."""
    assert prefills(TOOL, [user("Refund mine.")]).several["currency"] == ("EUR",)


def test_values_of_earlier_steps_have_the_parameters_own_name_and_type() -> None:
    """The newest response wins over an older call; what has another type or another name is none."""
    steps = (
        user("Refund my order."),
        called("find", order_id="A-1", amount=3),
        responded("find", order={"order_id": "A-2", "amount": "much", "total": 9}),
    )
    prefilled = found(*steps)
    assert (prefilled["order_id"].value, prefilled["amount"].value) == ("A-2", 3)
    assert all("find" in prefilled[name].source for name in ("order_id", "amount"))
    assert prefilled["order_id"].source != prefilled["amount"].source


def test_another_call_of_the_same_tool_is_for_something_else() -> None:
    """Its own earlier arguments are no evidence for the next ones."""
    assert "amount" not in found(user("Refund."), called("refund", amount=3))


@pytest.mark.parametrize(
    "contents",
    [
        (user("Refund A-1 and A-2."),),
        (user("Refund mine."), responded("list", orders=[{"order_id": "A-1"}, {"order_id": "A-2"}])),
    ],
)
def test_several_values_are_offered_and_none_is_chosen(contents: tuple[dict[str, Any], ...]) -> None:
    """Two ids in a message, or in one response, are no evidence for either."""
    both = prefills(TOOL, contents)
    assert "order_id" not in both.found
    assert both.several["order_id"] == ("A-1", "A-2")


def test_the_newest_message_counts_first_and_what_other_agents_did_is_no_message() -> None:
    """An older message helps where the newest has nothing."""
    assert found(user("A-1"), user("A-2"))["order_id"] == Prefill(value="A-2", source=MESSAGE)
    assert found(user("A-1"), user("Yes."))["order_id"] == Prefill(value="A-1", source=EARLIER_MESSAGE)
    context = {"role": "user", "parts": [{"text": "For context:"}, {"text": "[desk] said: A-9"}]}
    assert "order_id" not in found(user("Refund me."), context)


def test_choices_of_a_shared_definition_are_found() -> None:
    """ADK declares an enumeration beside the parameters, and refers to it."""
    tool = ToolDeclaration(
        name="send",
        parameters={
            "type": "object",
            "properties": {"size": {"$ref": "#/$defs/Size"}},
            "$defs": {"Size": {"type": "string", "enum": ["small", "large"]}},
        },
    )
    assert prefills(tool, [user("A large one.")]).found["size"] == Prefill(value="large", source=MESSAGE)
