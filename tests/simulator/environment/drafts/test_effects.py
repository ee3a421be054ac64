"""A draft carries what the tool's code does for certain besides its response."""

from __future__ import annotations

from typing import Any

from simulator.environment.drafts.candidates import candidates
from simulator.environment.drafts.draft_generator import Draft, DraftCall, EarlierAnswer, drafted
from simulator.environment.evidence.tool_returns import read_returns
from tests.simulator.base.rows import for_each
from tests.simulator.environment.evidence.running import function_of

DESK = """
import requests
import uuid

def keep(tool_context, value):
    tool_context.state["kept"] = value

def plain(item: str, tool_context) -> dict:
    keep(tool_context, [item])
    tool_context.state["seen"] = True
    return {"item": item}

def raises(item: str, tool_context) -> dict:
    tool_context.state["tried"] = item
    raise ValueError("closed")

def decides(item: str, tool_context) -> dict:
    if requests.get("http://shop").ok:
        tool_context.state["open"] = True
        tool_context.actions.transfer_to_agent = "seller"
        return {"open": True}
    tool_context.state["open"] = False
    return {"open": False}

def hides(item: str, tool_context) -> dict:
    if requests.get("http://shop").ok:
        tool_context.state["open"] = True
    tool_context.state["item"] = item
    return {"done": item}

def loops(item: str, tool_context) -> dict:
    for row in requests.get("http://shop").json():
        tool_context.state["row"] = row["id"]
    return {"done": item}

def gives_away(item: str, tool_context) -> dict:
    tool_context.state["item"] = item
    requests.post("http://shop", data=tool_context)
    return {"done": item}

def same(item: str, tool_context) -> dict:
    tool_context.state["known"] = "A"
    return {"done": item}

def names(item: str, tool_context) -> dict:
    order_id = f"ORD-{uuid.uuid4().hex}"
    tool_context.state["last"] = order_id
    tool_context.state["token"] = requests.get("http://shop").text
    return {"order_id": order_id, "message": f"Ordered {order_id}"}
"""


def made(name: str, state: dict[str, Any] | None = None, **more: Any) -> Draft:
    """Draft a call of a tool."""
    return drafted(call_of(name, state, **more))


def call_of(name: str, state: dict[str, Any] | None = None, **more: Any) -> DraftCall:
    """Return a call of a tool."""
    code = function_of(DESK, name)
    return DraftCall(tool_name=name, arguments={"item": "A"}, code=code, state=state or {}, seed="s", **more)


@for_each(
    ("name", "state", "expected"),
    [
        ("plain", {}, {"state_delta": {"kept": ["A"], "seen": True}}),
        ("same", {"known": "A"}, {}),
        ("raises", {}, {"state_delta": {"tried": "A"}}),
        ("decides", {}, {"state_delta": {"open": True}, "actions": {"transfer_to_agent": "seller"}}),
        ("hides", {}, {"state_delta": {"item": "A"}}),
        ("loops", {}, {}),
        ("gives_away", {}, {}),
    ],
)  # fmt: skip
def test_only_what_is_certain_is_proposed(name: str, state: dict[str, Any], expected: dict[str, Any]) -> None:
    """On the way through the code that gives the response; what is not known is left out."""
    found = read_returns(function_of(DESK, name), {"item": "A"}, state=state).outcomes[0]
    assert {"state_delta": dict(found.state), "actions": dict(found.actions)} == {
        "state_delta": {},
        "actions": {},
        **expected,
    }
    if name != "raises":
        assert made(name, state).effects.written == expected


def test_each_outcome_has_its_own_effects() -> None:
    """A candidate carries those of the way that gives it."""
    offered = [(one.value, one.effects.written) for one in candidates(call_of("decides"))]
    assert ({"open": False}, {"state_delta": {"open": False}}) in offered
    assert (
        {"open": True},
        {"state_delta": {"open": True}, "actions": {"transfer_to_agent": "seller"}},
    ) in offered


def test_what_is_drawn_for_the_response_is_what_the_state_gets() -> None:
    """One variable is one value; what else nobody knows is not written."""
    draft = made("names")
    value: Any = draft.value
    assert value["message"] == f"Ordered {value['order_id']}"
    assert draft.effects.state_delta == ({} if "<" in value["order_id"] else {"last": value["order_id"]})


def test_a_response_that_was_given_before_has_them_too() -> None:
    """The earlier response to a tool that only reads does what the tool does."""
    code = function_of(DESK.replace("def plain", "def get_plain"), "get_plain")
    before = EarlierAnswer(tool_name="get_plain", arguments={"item": "A"}, response={"item": "A"})
    call = DraftCall(
        tool_name="get_plain",
        arguments={"item": "A"},
        code=code,
        state={"kept": ["B"], "seen": True},
        earlier=(before,),
    )
    assert drafted(call).effects.state_delta == {"kept": ["A"]}
