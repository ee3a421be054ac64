"""`golden-trace run` answers tool calls with drafts that agree with the tools' code: what it returns, and what it does besides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalset.recorded.recorded_script import script_of_recorded
from evalset.recorded.recording_files import read_environment, sidecar_of
from simulator.scripts.script_text import read_script, write_script
from tests.evalset.ending import Ends
from tests.evalset.verify.small_agents import agent, verified

Runs = Callable[..., Path]
TOOLS = "from google.adk.agents import LoopAgent\nfrom google.adk.tools import ToolContext\n"
CLERK = 'clerk = LlmAgent(name="clerk", model="gemini-2.5-flash", instruction="Help.", tools=[NAMES])\nroot_agent = ROOT\n'


def case_in(path: Path) -> dict[str, Any]:
    """Return the case that was written."""
    (case,) = json.loads(path.read_text())["eval_cases"]
    return dict(case)


def responses(path: Path) -> list[Any]:
    """Return what its tools responded, in order."""
    turns = case_in(path)["conversation"]
    return [each["response"] for turn in turns for each in turn["intermediate_data"]["tool_responses"]]


def recorded(path: Path) -> Any:
    """Return the calls that were recorded."""
    return read_environment(sidecar_of(path)).cases["a"].turns[0].calls


@pytest.fixture
def run(tmp_path: Path, ends: Ends) -> Runs:
    """Writes an agent with these tools and plays one turn of it, in which the clerk makes these calls one after the other.

    Returns where the eval set is to be; `said` is a list that takes what is said on the standard error.
    """

    def played(
        tools: str,
        *calls: tuple[str, dict[str, Any]],
        code: int = 0,
        root: str = "clerk",
        before: Any = (),
        said: list[str] | None = None,
        **head: Any,
    ) -> Path:
        names = ", ".join(dict.fromkeys(name for name, _ in calls))
        source = TOOLS + tools + CLERK.replace("NAMES", names).replace("ROOT", root)
        folder = agent(tmp_path / "agents", source, f"desk_{tmp_path.name.replace('-', '_')}")
        moves = [{"agent": "clerk", "calls": [{"name": name, "args": args}]} for name, args in calls]
        turn = {"say": "Go", "before": [*before], "moves": [*moves, {"agent": "clerk", "text": "Done."}]}
        script, out = tmp_path / "script.json", tmp_path / "set.evalset.json"
        top = {
            "format": "golden-trace-studio/script",
            "version": 1,
            "otherwise": "generate",
            "agent": "person",
        }
        script.write_text(json.dumps({**top, **head, "turns": [turn]}))
        told = ends(code, "run", folder, "--script", script, "--out", out, "--eval-id", "a", "--quiet").err
        if said is not None:
            said.append(told)
        return out

    return played


CART = '''
def load_cart(customer_id: str, tool_context: ToolContext) -> dict:
    """Load the cart of a customer."""
    tool_context.state["customer_id"] = customer_id
    tool_context.state.update({"cart": [{"sku": "A-1", "qty": 2}]})
    return {"status": "success", "items": 2}

def check_out(tool_context: ToolContext) -> dict:
    """Check out the cart."""
    cart = tool_context.state.get("cart")
    if not cart:
        return {"status": "error", "message": "The cart is empty."}
    return {"status": "success", "customer": tool_context.state["customer_id"], "lines": len(cart)}
'''
CART_CALLS: Any = (("load_cart", {"customer_id": "C-7"}), ("check_out", {}))
CART_STATE = {"customer_id": "C-7", "cart": [{"sku": "A-1", "qty": 2}]}


OFFLINE: Any = {"otherwise": "fail", "players": {"*": "offline"}}


@pytest.mark.long
@pytest.mark.parametrize("head", [{}, OFFLINE])
def test_a_draft_writes_the_state_that_the_next_tool_reads(run: Runs, head: Any) -> None:
    """Case and recording have what the real tool would have written, and verify replays it."""
    written = run(CART, *CART_CALLS, **head)
    assert responses(written)[1] == {"status": "success", "customer": "C-7", "lines": 1}
    assert case_in(written)["final_session_state"] == CART_STATE
    assert [call.effects.state_delta for call in recorded(written)] == [CART_STATE, {}]
    assert verified(written, written.parent / "agents") == 0


LOOP_TOOLS = '''
def finish(tool_context: ToolContext):
    """Call this when no further changes are needed."""
    tool_context.actions.escalate = True
    return {}
'''


@pytest.mark.long
def test_a_draft_of_a_tool_that_escalates_ends_the_loop(run: Runs) -> None:
    """As the real tool does, in the run and in the replay."""
    root = 'LoopAgent(name="loop", sub_agents=[clerk], max_iterations=3)'
    written = run(LOOP_TOOLS, ("finish", {}), root=root, **OFFLINE)
    (call,) = recorded(written)
    assert call.effects.actions == {"escalate": True}
    assert verified(written, written.parent / "agents") == 0


ADD = '''
def add_item(sku: str, tool_context: ToolContext) -> dict:
    """Add an item to the cart."""
    cart = tool_context.state.get("cart", [])
    tool_context.state["cart"] = [*cart, sku]
    return {"count": len(cart) + 1}
'''


@pytest.mark.long
def test_what_a_draft_wrote_is_counted_once(run: Runs) -> None:
    """The state is what it is, and the calls that wrote it are not followed on top of it."""
    written = run(ADD, *[("add_item", {"sku": sku}) for sku in "ABC"])
    assert [each["count"] for each in responses(written)] == [1, 2, 3]
    assert case_in(written)["final_session_state"] == {"cart": ["A", "B", "C"]}


STOCK = '''
STOCK = {"A-1": 100, "B-2": 5}

def get_stock(sku: str) -> dict:
    """Get the stock of a product."""
    if sku not in STOCK:
        return {"error": f"Unknown product {sku}"}
    return {"sku": sku, "quantity": STOCK[sku]}

def create_order(sku: str, quantity: int) -> dict:
    """Order some of a product."""
    if STOCK.get(sku, 0) < quantity:
        return {"status": "rejected", "reason": "not enough stock"}
    STOCK[sku] -= quantity
    return {"order_id": f"O-{sku}-{quantity}", "remaining": STOCK[sku], "status": "ok"}
'''
LOOK: Any = ("get_stock", {"sku": "A-1"})
ORDER: Any = ("create_order", {"sku": "A-1", "quantity": 30})
MORE: Any = ("create_order", {"sku": "A-1", "quantity": 20})


def test_a_draft_reads_what_earlier_drafts_changed_in_a_table_of_the_module(run: Runs) -> None:
    """What was read before the order does not count any more."""
    made = responses(run(STOCK, LOOK, ORDER, LOOK, ("get_stock", {"sku": "B-2"}), MORE, LOOK))
    assert [each.get("quantity", each.get("remaining")) for each in made] == [100, 70, 70, 5, 50, 50]


@pytest.mark.parametrize(
    ("given", "quantity"),
    [
        ({"order_id": "O-1", "status": "ok"}, None),
        ({"status": "rejected", "reason": "not enough stock"}, 100),
    ],
)
def test_what_an_order_by_hand_has_changed_is_not_known(run: Runs, given: Any, quantity: Any) -> None:
    """A response that the code does not give leaves a marked blank, and never the number from before; one that changes nothing leaves that."""
    by_hand = [{"tool": "create_order", "returns": given}]
    written = run(STOCK, LOOK, ORDER, LOOK, ("get_stock", {"sku": "B-2"}), environment=by_hand)
    first, _, second, other = responses(written)
    assert (first["quantity"], second["quantity"], other["quantity"]) == (100, quantity, 5)


JOBS = '''
import urllib.request
JOBS = ["a", "b", "c"]
USED = 0
def get_next_job() -> dict:
    """Get the next job."""
    return {"job": JOBS.pop(0), "left": len(JOBS)}

def fetch_page(url: str) -> dict:
    """Fetch a page."""
    global USED
    USED += 1
    return {"url": url, "text": urllib.request.urlopen(url).read().decode()}

def usage() -> dict:
    """Return the usage."""
    return {"used": USED, "waiting": len(JOBS)}

def get_quota(tool_context: ToolContext) -> dict:
    """Get what is left; each look costs one."""
    tool_context.state["quota"] = tool_context.state.get("quota", 3) - 1
    return {"left": tool_context.state["quota"]}
'''
USERS = '''
USERS = {"u1": "Ann"}
LOG = []
def create_user(user_id: str, name: str) -> dict:
    """Create a user."""
    USERS[user_id] = name
    return {"created": True, "user_id": user_id}

def delete_user(user_id: str) -> dict:
    """Delete a user."""
    USERS.pop(user_id, None)
    return {"deleted": user_id}

def user_exists(user_id: str) -> bool:
    """Return whether a user exists."""
    return user_id in USERS

def read_user(user_id: str) -> dict:
    """Read a user."""
    return {"user_id": user_id, "name": USERS[user_id]}

def find_user(user_id: str) -> dict:
    """Find a user."""
    return {"found": True, "name": USERS[user_id]} if user_id in USERS else {"found": False}

def pay(user_id: str, amount: int) -> dict:
    """Pay."""
    LOG.append(amount)
    if amount > 10:
        raise ValueError("too much")
    return {"paid": amount}

def history() -> dict:
    """Return what was tried."""
    return {"log": LOG}
'''
U3 = {"user_id": "u3"}
NEW: Any = ("create_user", {**U3, "name": "Cy"})
GONE: Any = ("delete_user", U3)


def test_a_tool_that_reads_by_its_name_and_writes_by_its_code_is_followed(run: Runs) -> None:
    """Each call changes the next one, also where its response has a blank."""
    names = ("get_quota", "get_quota", "get_next_job", "get_next_job")
    calls: Any = [*((name, {}) for name in names), ("fetch_page", {"url": "x"}), ("usage", {})]
    made = responses(run(JOBS, *calls))
    assert [each["left"] for each in made[:4]] == [2, 1, 2, 1]
    assert [each["job"] for each in made[2:4]] == ["a", "b"]
    assert made[5]["used"] != 0
    assert made[5]["waiting"] == 1


def test_code_that_follows_what_was_taken_away_says_what_is_left(run: Runs) -> None:
    """It says so in its own words, and no error takes their place; what was taken away may be made again."""
    ask, find = ("user_exists", U3), ("find_user", U3)
    made = responses(run(USERS, NEW, ask, GONE, ask, find, GONE, NEW, ask))
    assert [each["result"] for each in (made[1], made[3], made[7])] == [True, False, True]
    assert made[4:7] == [{"found": False}, {"deleted": "u3"}, {"created": True, "user_id": "u3"}]


def test_an_id_that_the_code_gives_twice_is_given_twice(run: Runs) -> None:
    """It counts what is left, as the code does."""
    orders = "ORDERS = {}\ndef create_order(item: str) -> dict:\n    key = f'O-{len(ORDERS) + 1}'\n    ORDERS[key] = item\n    return {'order_id': key}\n"
    orders += "def delete_order(order_id: str) -> dict:\n    return {'deleted': ORDERS.pop(order_id)}\n"
    make: Any = ("create_order", {"item": "tea"})
    made = responses(run(orders, make, make, ("delete_order", {"order_id": "O-1"}), make))
    assert [one["order_id"] for one in (made[0], made[1], made[3])] == ["O-1", "O-2", "O-2"]


def test_what_a_call_wrote_before_it_raised_stays(run: Runs) -> None:
    """The list has the payment that was refused."""
    calls: Any = [("pay", {**U3, "amount": amount}) for amount in (4, 40)]
    assert responses(run(USERS, *calls, ("history", {})))[-1] == {"log": [4, 40]}


def test_a_draft_that_breaks_an_invariant_ends_the_run_in_its_own_words(run: Runs) -> None:
    """The session had begun: nobody answered the call."""
    settings = {"kind": "environment_changed", "settings": {"invariants": ["user.name == 'Ann'"]}}
    said: list[str] = []
    written = run(USERS, ("find_user", {"user_id": "u1"}), ("create_user", {"user_id": "u3", "name": "Cy"}), ("read_user", U3), before=[{"environment": settings}], code=3, said=said)  # fmt: skip
    assert "was not answered with its draft" in said[0]
    assert "started" not in said[0]
    assert not written.exists()


@pytest.mark.parametrize(
    ("player", "body", "named"),
    [
        ("real", "", ("nothing was not answered", "no code")),
        ("model", "", ("nothing was not answered", "gave no response")),
        ("auto", "", ("nothing was not answered", "gave no response")),
        ("no model", "", ("nothing was not answered", "no model is set")),
        ("real", '    raise ValueError("no such ticket")\n', ("turn 1 ended with an error of the tool nothing: ValueError: no such ticket",)),
    ],
)  # fmt: skip
def test_who_cannot_answer_ends_the_run(run: Runs, player: str, body: str, named: tuple[str, ...]) -> None:
    """A tool without a body that is played for real, one that raises, and a model that fails or was never set: the exit code is 3, the tool is named, and no guess goes on."""
    tools = f'def nothing(ticket: str) -> None:\n    """Close a ticket."""\n{body}'
    settings = {"kind": "environment_changed", "settings": {"simulation_model": "no-such-model"}}
    before = [] if player in {"real", "no model"} else [{"environment": settings}]
    player = player.removeprefix("no ")
    said: list[str] = []
    written = run(
        tools, ("nothing", {"ticket": "T-1"}), players={"*": player}, before=before, code=3, said=said
    )
    assert all(words in said[0] for words in named)
    assert not written.exists()


def test_a_case_that_is_played_again_keeps_its_blanks(run: Runs, ends: Ends, tmp_path: Path) -> None:
    """They are named again, and `--strict` fails for them, with the recording and by what a script of the session has."""
    tools = "def note(text: str) -> dict:\n    '''Note a text.'''\n    return {'text': text, 'number': len(open(text).read())}\n"
    out, again = run(tools, ("note", {"text": "tea"})), tmp_path / "again.evalset.json"
    words = "the response of note is blank at $.number"
    folder = next(path for path in (tmp_path / "agents").iterdir() if path.is_dir())
    play = ["run", folder, "--script", out, "--case", "a", "--out", again, "--eval-id", "a", "--quiet"]
    assert f"error: turn 1: {words}" in ends(1, *play, "--strict").err
    assert f"warning: turn 1: {words}" in ends(0, *play).err
    assert recorded(again)[0].author.blanks == recorded(out)[0].author.blanks == ("$.number",)
    script = script_of_recorded("a", read_environment(sidecar_of(again)).cases["a"], agent="moves").script
    written = write_script(script)
    assert read_script(written).script == script
    assert "$.number" in written
    (turn,) = script.turns
    drafted = script.model_copy(
        update={"otherwise": "generate", "turns": (turn.model_copy(update={"moves": turn.moves[::2]}),)}
    )
    path = tmp_path / "drafted.yaml"
    path.write_text(write_script(drafted))
    told = ends(0, "run", folder, "--script", path, "--out", tmp_path / "drafted.evalset.json", "--quiet").err
    assert words in told
