"""The session's state, as the calls left it that were answered before, decides what a tool's code gives next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.evidence import tool_returns
from simulator.environment.evidence.sketch import EarlierCall, Hole, Outcome
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.environment.evidence.running import function_of

DESK = """
ORDERS = {"A-1": {"status": "open"}, "A-2": {"status": "open"}}
SENT = []

def no_order(order_id):
    return {"error": f"No order {order_id}"}

def find(order_id: str, tool_context) -> dict:
    changed = tool_context.state.get("orders") or {}
    return (ORDERS | changed).get(order_id) or no_order(order_id)

def cancel(order_id: str, tool_context) -> dict:
    changed = tool_context.state.get("orders") or {}
    if order_id not in ORDERS:
        return no_order(order_id)
    tool_context.state["orders"] = changed | {order_id: {"status": "cancelled"}}
    return {"order_id": order_id, "cancelled": True}

def refund(order_id: str, tool_context) -> dict:
    refunds = tool_context.state.setdefault("refunds", [])
    refunds.append(order_id)
    SENT.append(order_id)
    return {"refund_id": f"R-{len(refunds)}", "sent": len(SENT)}

def guess(order_id: str, tool_context) -> dict:
    if order_id.startswith(unknown()):
        tool_context.state["orders"] = {order_id: {"status": "lost"}}
    return {"done": True}

def mark(order_id: str) -> dict:
    SENT.append(order_id)
    return {"sent": len(SENT)}
"""
TOOLS = {name: function_of(DESK, name) for name in ("find", "cancel", "refund", "guess", "mark")}


def was(tool: str, order_id: str, response: JsonValue) -> EarlierCall:
    """Return a call that was answered."""
    return EarlierCall(TOOLS[tool], {"order_id": order_id}, response)


def first(tool: str, order_id: str, *earlier: EarlierCall, state: JsonObject | None = None) -> Outcome:
    """Return what the code gives first."""
    read = read_returns(
        TOOLS[tool], {"order_id": order_id}, state={} if state is None else state, earlier=earlier
    )
    return read.outcomes[0]


CANCELLED: JsonValue = {"order_id": "A-1", "cancelled": True}


def test_what_a_call_wrote_into_the_state_stands_for_the_next_one() -> None:
    """It is certain, as if the tools had run."""
    assert first("find", "A-1") == Outcome({"status": "open"}, certain=True, line=10)
    cancelled = was("cancel", "A-1", CANCELLED)
    assert first("find", "A-1", cancelled) == Outcome({"status": "cancelled"}, certain=True, line=10)
    assert first("find", "A-2", cancelled).value == {"status": "open"}


def test_what_stands_in_the_state_and_in_the_module_is_counted_on() -> None:
    """Through several calls."""
    earlier = [was("refund", "A-1", {"refund_id": f"R-{number}", "sent": number}) for number in (1, 2)]
    assert first("refund", "A-2", *earlier[:1]) == Outcome(
        {"refund_id": "R-2", "sent": 2}, certain=True, line=23, state={"refunds": ["A-1", "A-2"]}
    )
    assert first("refund", "A-2", *earlier).value == {"refund_id": "R-3", "sent": 3}


def test_what_the_earlier_calls_leave_open_is_not_known() -> None:
    """An answer that the code does not give, several ways that fit one and leave different things, and no state at all."""
    found = first("refund", "A-2", was("refund", "A-1", {"refund_id": "R-77", "sent": 1}))
    assert not found.certain
    assert isinstance(found.value, dict)
    assert isinstance(found.value["refund_id"], Hole)
    assert not first("find", "A-1", was("guess", "A-1", {"done": True})).certain
    read = read_returns(TOOLS["find"], {"order_id": "A-1"}, earlier=[was("cancel", "A-1", CANCELLED)])
    assert not read.outcomes[0].certain


def test_an_error_leaves_the_state_as_it_was() -> None:
    """A call that failed has changed nothing."""
    failed = was("cancel", "A-9", {"error": "No order A-9"})
    assert first("find", "A-1", failed) == Outcome({"status": "open"}, certain=True, line=10)
    by_person = was("cancel", "A-1", {"error": "The shop is closed."})
    assert first("find", "A-1", by_person).value == {"status": "open"}


def test_what_the_state_holds_already_is_not_counted_twice() -> None:
    """Whether it holds what the calls wrote is not told: nothing is known of it."""
    answered = was("refund", "A-1", {"refund_id": "R-2", "sent": 1})
    state: JsonObject = {"refunds": ["A-1"], "orders": {"A-2": {"status": "cancelled"}}}
    found = first("refund", "A-2", answered, state=state)
    assert isinstance(found.value, dict)
    assert isinstance(found.value["refund_id"], Hole)
    kept = first("find", "A-2", answered, state=state)
    assert kept == Outcome({"status": "cancelled"}, certain=True, line=10)


def test_a_draft_without_a_state_leaves_no_trace_either() -> None:
    """What earlier calls left is kept for the next draft, and the draft itself is no call."""
    for _ in range(2):
        read = read_returns(TOOLS["mark"], {"order_id": "A-3"}, earlier=[was("mark", "A-3", {"sent": 1})])
        assert read.outcomes[0].value == {"sent": 2}


def test_each_earlier_call_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft follows what was answered since the one before it; and what it gives is the same as when all was followed anew."""
    followed: list[str] = []
    ends = tool_returns._Reader.ends

    def counted(reader: Any, heap: Any, most: int) -> Any:
        followed.append(reader._code.name)
        return ends(reader, heap, most)

    monkeypatch.setattr(tool_returns._Reader, "ends", counted)
    earlier: list[EarlierCall] = []
    for number in range(1, 11):
        followed.clear()
        given = first("refund", "A-1", *earlier, state={"at": "once"}).value
        assert given == {"refund_id": f"R-{number}", "sent": number}
        assert len(followed) == (1 if number == 1 else 2)
        earlier.append(was("refund", "A-1", {"refund_id": f"R-{number}", "sent": number}))
    followed.clear()
    other = [*earlier[:4], was("refund", "A-2", {"refund_id": "R-5", "sent": 5})]
    assert first("refund", "A-1", *other, state={"at": "once"}).value == {"refund_id": "R-6", "sent": 6}
    assert len(followed) == 2
    again = first("refund", "A-1", *earlier[:2], state={"at": "once"}).value
    assert again == {"refund_id": "R-3", "sent": 3}


def test_drafts_at_the_same_time_leave_each_other_alone() -> None:
    """What was followed before is shared, and no draft changes it."""
    earlier = [was("refund", "A-1", {"refund_id": f"R-{n}", "sent": n}) for n in range(1, 6)]

    def drafted(known: int) -> JsonValue:
        return first("refund", "A-1", *earlier[:known], state={"with": "threads"}).value  # type: ignore[return-value] # no blanks

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(drafted, [5, 3, 1, 5, 2, 4, 0, 5] * 4))
    assert found == [{"refund_id": f"R-{n + 1}", "sent": n + 1} for n in [5, 3, 1, 5, 2, 4, 0, 5] * 4]
