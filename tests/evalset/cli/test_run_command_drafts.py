"""`golden-trace run` answers tool calls with drafts that agree with the tools' code: what it returns, and what it does besides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalset.cli.main import main
from evalset.recorded.recording_files import read_environment, sidecar_of

Runs = Callable[..., "Ran"]

HEAD = "format: golden-trace-studio/script\nversion: 1\n"
AGENT = """
from google.adk.agents import LlmAgent, LoopAgent
from google.adk.tools import ToolContext
{tools}
clerk = LlmAgent(name="clerk", model="gemini-2.5-flash", instruction="Help.", tools=[{names}])
root_agent = {root}
"""


class Ran(NamedTuple):
    """How a script went: its exit code, the eval set, and what was said on the standard error."""

    code: int
    path: Path
    said: str

    @property
    def case(self) -> dict[str, Any]:
        """The case that was written."""
        (case,) = json.loads(self.path.read_text())["eval_cases"]
        return dict(case)

    @property
    def verified(self) -> int:
        """The exit code of a replay with recorded models."""
        agents = str(self.path.parent / "agents")
        return main(["verify", str(self.path), "--agents-dir", agents, "--models", "recorded", "--quiet"])

    @property
    def responses(self) -> list[Any]:
        """What its tools responded, in order."""
        turns = self.case["conversation"]
        return [each["response"] for turn in turns for each in turn["intermediate_data"]["tool_responses"]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Runs:
    """Writes an agent with these tools and plays one turn of it, in which the clerk makes these calls one after the other."""

    def played(
        tools: str,
        *calls: tuple[str, dict[str, Any]],
        head: str = "",
        root: str = "clerk",
        replies: Any = (),
        before: Any = (),
    ) -> Ran:
        folder = tmp_path / "agents" / f"desk_{tmp_path.name.replace('-', '_')}"
        folder.mkdir(parents=True)
        names = dict.fromkeys(name for name, _ in calls)
        text = AGENT.format(tools=tools, names=", ".join(names), root=root)
        (folder / "__init__.py").write_text("from . import agent\n")
        (folder / "agent.py").write_text(text)
        moves = [{"agent": "clerk", "calls": [{"name": name, "args": args}]} for name, args in calls]
        turn = {"say": "Go", "before": [*before], "moves": [*moves, {"agent": "clerk", "text": "Done."}]}
        script = tmp_path / "script.yaml"
        script.write_text(
            f"{HEAD}{head or 'otherwise: generate'}\nagent: person\nenvironment: {json.dumps([*replies])}\nturns: {json.dumps([turn])}\n"
        )
        out = tmp_path / "set.evalset.json"
        code = main(
            ["run", str(folder), "--script", str(script), "--out", str(out), "--eval-id", "a", "--quiet"]
        )
        return Ran(code, out, capsys.readouterr().err)

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


@pytest.mark.parametrize("head", ["otherwise: generate", 'otherwise: fail\nplayers: {"*": offline}'])
def test_a_draft_writes_the_state_that_the_next_tool_reads(run: Runs, head: str) -> None:
    """Case and recording have what the real tool would have written, and verify replays it."""
    ran = run(CART, *CART_CALLS, head=head)
    assert ran.code == 0
    assert ran.responses[1] == {"status": "success", "customer": "C-7", "lines": 1}
    assert ran.case["final_session_state"] == CART_STATE
    recorded = read_environment(sidecar_of(ran.path)).cases["a"].turns[0].calls
    assert [call.effects.state_delta for call in recorded] == [CART_STATE, {}]
    assert ran.verified == 0


LOOP_TOOLS = '''
def finish(tool_context: ToolContext):
    """Call this when no further changes are needed."""
    tool_context.actions.escalate = True
    return {}
'''


def test_a_draft_of_a_tool_that_escalates_ends_the_loop(run: Runs) -> None:
    """As the real tool does, in the run and in the replay."""
    root = 'LoopAgent(name="loop", sub_agents=[clerk], max_iterations=3)'
    head = 'otherwise: fail\nplayers: {"*": offline}'
    ran = run(LOOP_TOOLS, ("finish", {}), head=head, root=root)
    assert ran.code == 0
    (call,) = read_environment(sidecar_of(ran.path)).cases["a"].turns[0].calls
    assert call.effects.actions == {"escalate": True}
    assert ran.verified == 0


ADD = '''
def add_item(sku: str, tool_context: ToolContext) -> dict:
    """Add an item to the cart."""
    cart = tool_context.state.get("cart", [])
    tool_context.state["cart"] = [*cart, sku]
    return {"count": len(cart) + 1}
'''


def test_what_a_draft_wrote_is_counted_once(run: Runs) -> None:
    """The state is what it is, and the calls that wrote it are not followed on top of it."""
    ran = run(ADD, *[("add_item", {"sku": sku}) for sku in "ABC"])
    assert [each["count"] for each in ran.responses] == [1, 2, 3]
    assert ran.case["final_session_state"] == {"cart": ["A", "B", "C"]}


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
    ran = run(STOCK, LOOK, ORDER, LOOK, ("get_stock", {"sku": "B-2"}), MORE, LOOK)
    assert ran.code == 0, ran.said
    assert [each.get("quantity", each.get("remaining")) for each in ran.responses] == [100, 70, 70, 5, 50, 50]


@pytest.mark.parametrize(
    ("given", "quantity"),
    [
        ({"order_id": "O-1", "status": "ok"}, None),
        ({"status": "rejected", "reason": "not enough stock"}, 100),
    ],
)
def test_what_an_order_by_hand_has_changed_is_not_known(run: Runs, given: Any, quantity: Any) -> None:
    """A response that the code does not give leaves a marked blank, and never the number from before; one that changes nothing leaves that."""
    ran = run(
        STOCK,
        LOOK,
        ORDER,
        LOOK,
        ("get_stock", {"sku": "B-2"}),
        replies=[{"tool": "create_order", "returns": given}],
    )
    first, _, second, other = ran.responses
    assert (first["quantity"], second["quantity"], other["quantity"]) == (100, quantity, 5)


@pytest.mark.parametrize(
    ("players", "named"),
    [('"*": real', "no code"), ('"*": model', "gave no response"), ('"*": auto', "gave no response")],
)
def test_who_cannot_answer_ends_the_run(run: Runs, players: str, named: str) -> None:
    """A tool without a body that is played for real, and a model that fails: the exit code is 3, the tool is named, and no guess goes on."""
    tools = 'def nothing(ticket: str) -> None:\n    """Close a ticket."""\n'
    head = f"otherwise: generate\nplayers: {{{players}}}"
    settings = {"kind": "environment_changed", "settings": {"simulation_model": "no-such-model"}}
    ran = run(
        tools,
        ("nothing", {"ticket": "T-1"}),
        head=head,
        before=[] if "real" in players else [{"environment": settings}],
    )
    assert ran.code == 3
    assert "nothing was not answered" in ran.said
    assert named in ran.said
    assert not ran.path.exists()


def test_a_real_tool_that_raises_is_named(run: Runs) -> None:
    """The run ends with the tool's name beside its error."""
    tools = (
        'def close(ticket: str) -> dict:\n    """Close a ticket."""\n    raise ValueError("no such ticket")\n'
    )
    ran = run(tools, ("close", {"ticket": "T-1"}), head='otherwise: generate\nplayers: {"*": real}')
    assert ran.code == 3
    assert "turn 1 ended with an error of the tool close: ValueError: no such ticket" in ran.said
