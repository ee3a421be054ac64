"""A draft carries what the tool's code does for certain besides its response."""

from __future__ import annotations

from typing import Any

from simulator.environment.conventions import EarlierAnswer
from simulator.environment.drafts.candidates import candidates, drafted
from simulator.environment.drafts.draft import Draft, DraftCall, Sources
from simulator.environment.drafts.evidence_drafts import Parts
from simulator.environment.evidence.sketch import Hole
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

def by_actions(item: str, tool_context) -> dict:
    acts = tool_context.actions
    acts.state_delta["user"] = item
    acts.state_delta.update(seen=tool_context.state["user"])
    return {"item": item}

def whole(item: str, tool_context) -> dict:
    tool_context.actions.state_delta = {"user": item}
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

def either(item: str, tool_context) -> dict:
    if requests.get("http://shop").ok:
        return {"done": item}
    tool_context.state["open"] = False
    return {"done": item}

def resource(name: str) -> str:
    try:
        for row in requests.get("http://shop").json():
            if row["name"] == name:
                return row["id"]
    except Exception:
        pass
    return f"x/{name}"

def removes(item: str, tool_context) -> dict:
    try:
        requests.delete(resource(item))
        tool_context.state["gone"] = item
        return {"status": "success", "item": item}
    except Exception as e:
        return {"status": "error", "message": str(e)}

def loops(item: str, tool_context) -> dict:
    for row in requests.get("http://shop").json():
        tool_context.state["row"] = row["id"]
    return {"done": item}

def seeks(item: str, tool_context) -> dict:
    tool_context.state["rounds"] = 0
    for row in requests.get("http://shop").json():
        if row["id"] == item:
            tool_context.state["found"] = True
            return {"done": item}
    return {"done": None}

def counts(item: str, tool_context) -> dict:
    for row in requests.get("http://shop").json():
        tool_context.state["row"] = row["id"]
        if row["id"] == item:
            tool_context.state["found"] = True
            return {"done": item}
    return {"done": None}

def talks(item: str, tool_context) -> dict:
    tool_context.state["asked"] = item
    task = requests.get("http://shop").json()
    if task["closed"]:
        raise ValueError("closed")
    tool_context.state["mood"] = "busy"
    if task["status"] == "asks":
        tool_context.actions.escalate = True
        tool_context.state["mood"] = "curious"
    elif task["status"] == "gone":
        raise ValueError("gone")
    elif task["status"] == "failed":
        raise ValueError("failed")
    said = []
    for part in ("text", "data", "file"):
        if task[part]:
            said.append(task[part]["a"] if task[part]["plain"] else task[part]["b"])
    return {"said": said}

def talks_on(item: str, tool_context) -> dict:
    tool_context.state["asked"] = item
    try:
        while requests.get("http://shop").json()["more"]:
            tool_context.state["turned"] = True
    except ValueError:
        tool_context.actions.escalate = True
    return {"said": item}

def gives_away(item: str, tool_context) -> dict:
    tool_context.state["item"] = item
    requests.post("http://shop", data=tool_context)
    return {"done": item}

def clears(item: str, tool_context) -> dict:
    keys = [key for key in tool_context.state.to_dict() if hasattr(tool_context.state, "to_dict")]
    for key in keys:
        tool_context.state[key] = None
    return {"cleared": keys}

def keyed(item: str, tool_context) -> dict:
    key = requests.get("http://shop").text
    tool_context.state[f"by_{key}"] = item
    return {"done": item}

def merges(item: str, tool_context) -> dict:
    more = requests.get("http://shop").json()
    tool_context.state.update(more)
    tool_context.state.setdefault("shop", item)
    return {"done": item}

async def draws(item: str, tool_context) -> dict:
    try:
        await tool_context.save_artifact(f"{item}.png", requests.get("http://shop").content)
        await tool_context.save_artifact(filename=f"{tool_context.function_call_id}.png", artifact=None)
    except ValueError:
        pass
    return {"done": item}

async def draws_on(item: str, tool_context) -> dict:
    await tool_context.save_artifact("a.png", None)
    return requests.get(item).json()

def same(item: str, tool_context) -> dict:
    tool_context.state["known"] = "A"
    return {"done": item}

def searches(item: str, tool_context) -> dict:
    tool_context.state["item"] = item
    tool_context.state["at"] = requests.get("http://shop/time").text
    tool_context.actions.escalate = True
    if requests.get("http://shop").ok:
        tool_context.state["open"] = True
    return requests.get(item).json()

def waits(item: str, tool_context) -> dict:
    tool_context.state["item"] = item
    while True:
        job = requests.get("http://shop").json()
        if job["done"]:
            return job
        tool_context.state["asked"] = True

def counts_on(item: str, tool_context) -> dict:
    tool_context.state["item"] = item
    job, known = requests.get("http://shop").json(), 0
    for key in ("a", "b", "c", "d", "e", "f", "g"):
        if job[key]:
            known += 1
    tool_context.state["known"] = known
    return job

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
        ("by_actions", {"known": 1}, {"state_delta": {"user": "A", "seen": "A"}}),
        ("whole", {"known": 1}, {"state_delta": {"user": "A"}}),
        ("same", {"known": "A"}, {}),
        ("clears", {"known": "A"}, {"state_delta": {"known": None}}),
        ("raises", {}, {"state_delta": {"tried": "A"}}),
        ("decides", {}, {"state_delta": {"open": True}, "actions": {"transfer_to_agent": "seller"}}),
        ("hides", {}, {"state_delta": {"open": True, "item": "A"}}),
        ("either", {}, {}),
        ("removes", {}, {"state_delta": {"gone": "A"}}),
        ("loops", {}, {}),
        ("seeks", {}, {"state_delta": {"rounds": 0, "found": True}}),
        ("counts", {}, {}),
        ("gives_away", {}, {}),
        ("draws", {}, {}),
        ("talks", {}, {"state_delta": {"asked": "A"}}),
        ("talks_on", {}, {}),
    ],
)  # fmt: skip
def test_what_the_way_to_the_response_does_is_proposed(
    name: str, state: dict[str, Any], expected: dict[str, Any]
) -> None:
    """On the way through the code that gives the response; what is not known is left out."""
    found = read_returns(function_of(DESK, name), {"item": "A"}, state=state).outcomes[0]
    state_delta = {key: one for key, one in found.state.items() if not isinstance(one, Hole)}
    assert {"state_delta": state_delta, "actions": dict(found.actions)} == {
        "state_delta": {},
        "actions": {},
        **expected,
    }
    if name != "raises":
        assert made(name, state).effects.written == expected


@for_each(
    ("name", "told"),
    [
        ("hides", "; its code may write open otherwise, or not"),
        ("either", "; its code may also write open"),
        ("removes", ""),
        ("loops", "; its code may also write row"),
        ("gives_away", "; its code also writes item to the state: the values are unknown"),
        ("keyed", "; its code may also write by_<requests.get('http://shop').text>"),
        (
            "merges",
            "; its code may also write <tool_context.state.update(more)>, shop",
        ),
        (
            "draws",
            "; its code may also save the artifact <tool_context.function_call_id>.png, A.png",
        ),
        ("draws_on", "; its code may also save the artifact a.png"),
        ("talks", "; its code may also write escalate, mood"),
        ("talks_on", "; its code may also write asked, escalate, turned"),
    ],
)
def test_what_other_ways_to_the_response_write_is_named(name: str, told: str) -> None:
    """Also where a `try` of a function that the tool calls keeps a failure away; a response that is not drafted has what is certain alone."""
    draft = made(name)
    assert draft.why.partition("; ")[2] == told.removeprefix("; ")
    again = Parts(call_of(name), Sources()).effects_of(draft.value).state_delta
    assert again == {key: one for key, one in draft.effects.state_delta.items() if key != "open"}


@for_each("schema", [None, {"type": "object", "properties": {"found": {"type": "string"}}}])
def test_a_guess_has_what_the_code_does_on_each_way(schema: Any) -> None:
    """Whatever it returns; what it does on some ways is named."""
    draft = made("searches", response_schema=schema)
    assert draft.is_guess
    assert draft.effects.written == {"state_delta": {"item": "A"}, "actions": {"escalate": True}}
    assert draft.why.split("; ")[-2:] == [
        "its code also writes at to the state: the values are unknown",
        "its code may also write open",
    ]


@for_each(("name", "open_key"), [("waits", "asked"), ("counts_on", "known")])
def test_a_guess_has_what_the_code_does_before_the_ways_that_are_not_followed(
    name: str, open_key: str
) -> None:
    """Each of them does it; what comes later is named."""
    draft = made(name)
    assert draft.is_guess
    assert draft.effects.state_delta == {"item": "A"}
    assert draft.why.split("; ")[-1] == f"its code may also write {open_key}"


@for_each(
    ("name", "told"),
    [("same", "known"), ("merges", "<tool_context.state.update(more)>, shop")],
)
def test_writes_into_a_state_that_is_not_known_any_more_are_named(name: str, told: str) -> None:
    """As after a call that may have left several states."""
    [found] = read_returns(function_of(DESK, name), {"item": "A"}).outcomes
    assert ", ".join(sorted(found.unsure)) == told


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
