"""What was only drawn holds in its session, and stays marked where a later draft says it again."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.facts import Returned
from simulator.seats.answers import ToolAnswer
from simulator.seats.requests import ToolRequest
from tests.simulator.runtime.stage import agent_of, call, opened, tool_facts


def _row(sku: str) -> Any:
    return __import__("the_real_tool_ran").row(sku)


def find_item(sku: str) -> dict[str, Any]:
    """Find an item."""
    return {"sku": sku, "state": "there"} if _row(sku) else {"sku": sku, "state": "gone"}


def list_items(warehouse: str) -> dict[str, Any]:
    """List the items of a warehouse."""
    return {"warehouse": warehouse, "items": [{"sku": "A-1", "state": _row("A-1")["state"]}]}


def show_item(sku: str, state: str = "") -> dict[str, Any]:
    """Show an item."""
    return {"sku": sku, "state": _row(sku)["state"]}


CALLS = {
    "the same call": (call("find_item", sku="A-1"), "$.state"),
    "another tool": (call("show_item", sku="A-1"), "$.state"),
    "in a list": (call("list_items", warehouse="W"), "$.items[0].state"),
}


@pytest.mark.parametrize(("again", "place"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("is_said", [False, True])
def test_a_drawn_value_stays_marked_when_it_returns(again: Any, place: str, is_said: bool) -> None:
    """The later draft has the value of the session; nobody said it, unless a person has entered one."""
    tools = [find_item, list_items, show_item]
    with opened(agent_of([call("find_item", sku="A-1")], [again], tools=tools), tools="person") as sim:
        sim.query("What of A-1?")
        request = _asked(sim)
        said = ToolAnswer(outcome=Returned(value={"sku": "A-1", "state": "sold"}), source="edited")
        sim.answer(request, said if is_said else request.draft)
        (fact,) = tool_facts(sim)
        assert fact.provenance.uncertain == (() if is_said else ("$.state",))
        later = _asked(sim)
        assert str("sold" if is_said else "there") in str(later.draft)
        assert [one.path for one in later.draft_blanks] == ([] if is_said else [place])
        sim.answer(later, later.draft)
        assert tool_facts(sim)[-1].provenance.uncertain == (() if is_said else (place,))


def _asked(sim: Any) -> ToolRequest:
    (request,) = sim.pending
    assert isinstance(request, ToolRequest)
    return request
