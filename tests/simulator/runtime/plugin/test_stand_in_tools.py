"""Proves which tools and agents the environment without the page answers, and which it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import MagicMock

import pytest
from google.adk.agents import LoopAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from pydantic import BaseModel

from simulator.runtime.plugin import create_plugin
from tests.simulator.runtime.plugin.order_tools import RAN, breaks, create_order, find_order, really_ran
from tests.simulator.runtime.plugin.standing import (
    BUSY,
    FIND,
    Form,
    Stage,
    config,
    played,
    responses,
    rule,
    runner_of,
    staged,
)
from tests.simulator.runtime.stage import agent_of, call, say
from tests.simulator.runtime.ways import Making

# ---------------------------------------------------------------- kinds of tools and agents


def test_an_agent_tool_runs_and_its_tools_are_answered_in_the_same_world(form: Form) -> None:
    """The inner agent works; its tools are the environment's, and its calls count in the outer session."""
    second = rule("second", when={"kind": "call_number", "which": "nth", "n": 2})
    helper = agent_of(FIND, FIND, [say("found")], tools=[find_order], name="helper")
    agent = agent_of([call("helper", request="find it")], FIND, tools=[AgentTool(helper), find_order])
    seen, stage = played(form, agent, config(second))
    assert seen[0] == {"result": "found"}
    assert seen[1]["order_id"] == "A-1"
    logged = stage.ours.calls("s")
    assert [each.agent for each in logged] == ["helper", "helper", "clerk"]
    assert [each.provenance.by for each in logged] == ["offline", "second", "offline"]


def test_an_agent_tool_without_plugins_is_covered_all_the_same(form: Form) -> None:
    """`include_plugins=False` keeps other plugins out of the inner agent, but lets nothing real run there."""
    seen: list[str] = []

    class Other(BasePlugin):
        async def before_tool_callback(self, *, tool: BaseTool, **_: Any) -> None:
            seen.append(tool.name)

    helper = agent_of(FIND, [say("found")], tools=[find_order], name="helper")
    tool = AgentTool(helper, include_plugins=False)
    played(
        form,
        agent_of([call("helper", request="?")], tools=[tool]),
        config(rule("busy")),
        plugins=[Other("o")],
    )
    assert seen == ["helper"]
    assert tool.include_plugins is False


def test_an_agent_inside_with_a_callback_of_its_own_keeps_it() -> None:
    """The outer agent's callback gives way to the one that an inner agent has."""
    helper = agent_of(FIND, [say("found")], tools=[find_order], name="helper")
    inner = staged(
        "callback", helper, config(rule("inner", effect={"kind": "response", "value": {"by": "in"}}))
    )
    agent = agent_of([call("helper", request="?")], tools=[AgentTool(helper)])
    _, stage = played("callback", agent, config(rule("outer")))
    assert [each.response for each in inner.ours.calls()] == [{"by": "in"}]
    assert stage.ours.calls() == ()


@pytest.mark.parametrize(
    ("form", "mode", "begins"),
    [
        ("plugin", "chat", call("transfer_to_agent", agent_name="helper")),
        ("plugin", "task", call("helper", request="?")),
        ("plugin", "single_turn", call("helper", request="?")),
        ("callback", "single_turn", call("helper", request="?")),
    ],
)
def test_the_tools_of_sub_agents_are_answered(form: Form, mode: str, begins: Any) -> None:
    """Of one that is transferred to, is given a task, or is run as a tool, which the callback covers as well."""
    helper = agent_of(FIND, [say("found")], tools=[find_order], name="helper", mode=mode)
    _, stage = played(form, agent_of([begins], sub_agents=[helper]), config(rule("busy")))
    assert [(each.agent, each.response) for each in stage.ours.calls()] == [("helper", BUSY)]


@pytest.mark.filterwarnings("ignore:LoopAgent is deprecated:DeprecationWarning")
def test_tools_that_steer_the_flow_are_left_alone(form: Form) -> None:
    """`exit_loop` ends the loop and `set_model_response` gives the answer, even where a rule is for every tool."""

    class Answer(BaseModel):
        text: str

    ends = agent_of(FIND, [call("exit_loop")], tools=[find_order, exit_loop], name="ends")
    if form == "plugin":
        loop = LoopAgent(name="loop", sub_agents=[ends], max_iterations=5)
        seen, stage = played(form, loop, config(rule("all", "*")))
        assert seen[0] == BUSY
        assert len(stage.ours.calls()) == 1
    final = [call("set_model_response", text="done")]
    agent = agent_of(FIND, final, tools=[find_order], output_schema=Answer)
    stage = staged(form, agent, config(rule("all", "*")))
    events = asyncio.run(stage.turn())
    assert events[-1].content
    assert '"done"' in str(events[-1].content.parts)
    assert [each.tool_name for each in stage.ours.calls()] == ["find_order"]


@pytest.mark.long
def test_a_long_running_tool_is_answered_at_once_or_runs_for_real(form: Form) -> None:
    """A drafted answer is its first word; where it runs for real, having no answer yet stays ADK's to handle."""

    def approve(order_id: str) -> dict[str, Any] | None:
        """Ask for an approval."""
        RAN.append(("approve", order_id))
        return None

    turn = [call("approve", order_id="A-1")]
    listed = agent_of(turn, tools=[LongRunningFunctionTool(approve)])
    seen, _ = played(form, listed, config(players={"approve": "offline"}))
    assert seen[0] == {"result": "<result>"}
    real = agent_of(turn, tools=[LongRunningFunctionTool(approve)])
    seen, stage = played(form, real, config(unlisted="real"))
    assert really_ran() == [("approve", "A-1")]
    assert seen == []
    assert stage.ours.calls()[0].outcome.kind == "deferred"


def test_tools_of_tool_sets_are_answered_under_their_prefixed_names(form: Form) -> None:
    """ADK's copies of prefixed tools are answered too, every time that they are made anew."""
    turn = [call("desk_find_order", order_id="A-1")]
    agent = agent_of(turn, turn, tools=[Making(lambda: FunctionTool(find_order), prefix="desk")])
    seen, stage = played(form, agent, config(rule("busy", "desk_find_order")))
    assert seen == [BUSY] * 2
    assert len(stage.ours.calls()) == 2


def load_cart(customer_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Load a cart."""
    tool_context.state["cart"] = [customer_id]
    tool_context.actions.skip_summarization = True
    return {"items": 1}


def test_a_draft_writes_the_state_and_sets_the_actions(form: Form) -> None:
    """ADK's event and session have both; the call that was answered, too."""
    stage = staged(
        form,
        agent_of([call("load_cart", customer_id="C-1")], [say("Done.")], tools=[load_cart]),
        config(players={"load_cart": "offline"}),
    )
    events = asyncio.run(stage.turn())
    assert responses(events) == [{"items": 1}]
    (event,) = [event for event in events if event.get_function_responses()]
    assert event.actions.skip_summarization is True
    assert event.actions.state_delta == {"cart": ["C-1"]}
    (answered,) = stage.ours.calls()
    assert answered.effects.written == {
        "state_delta": {"cart": ["C-1"]},
        "actions": {"skip_summarization": True},
    }


# ---------------------------------------------------------------- by hand


def by_hand(stage: Stage, function: Any, context: Any = None, **arguments: Any) -> Any:
    """Call an environment as one calls ADK's own callback: without a runner."""
    ours: Any = getattr(stage.ours, "before_tool_callback", stage.ours)
    return asyncio.run(ours(FunctionTool(function), arguments, context))


@pytest.mark.parametrize("context", [None, object(), MagicMock(), MagicMock(spec=ToolContext)])
def test_called_by_hand_it_gives_the_answer(form: Form, context: Any) -> None:
    """The answer is a dict; None leaves the real tool to run. What a unit test gives in place of ADK's context is never looked at in vain."""
    only_b = rule("busy", match_args={"order_id": "B-2"})
    stage = staged(form, agent_of(), config(only_b, players={"breaks": "real"}))
    assert by_hand(stage, find_order, context, order_id="A-1")["order_id"] == "A-1"
    assert by_hand(stage, find_order, context, order_id="B-2") == BUSY
    assert by_hand(stage, breaks, context) is None
    assert by_hand(stage, create_order, context, item="x")["error_code"] == "refused"
    assert [each.tool_name for each in stage.ours.calls()] == ["find_order", "find_order", "create_order"]


def test_by_hand_a_real_tool_that_no_rule_hits_is_left_to_run(form: Form) -> None:
    """None says so, as in ADK; the rules have seen the call, and a rule that fires answers."""
    second = rule("second", "*", when={"kind": "call_number", "which": "nth", "n": 2})
    stage = staged(form, agent_of(), config(second, unlisted="real"))
    seen = [by_hand(stage, find_order, order_id="A-1") for _ in range(3)]
    assert seen == [None, BUSY, None]
    assert [each.outcome.kind for each in stage.ours.calls()] == ["deferred", "failed", "deferred"]


def test_both_forms_together_answer_once() -> None:
    """The plugin speaks first; what it leaves to the real tool, the agent's callback may answer."""
    agent = agent_of(FIND, [call("create_order", item="lamp")], tools=[find_order, create_order])
    callback = staged("callback", agent, config(rule("mine", "create_order"), listed="offline"))
    seen, stage = played("plugin", agent, config(rule("busy"), unlisted="real"))
    assert seen == [BUSY, BUSY]
    assert [each.tool_name for each in stage.ours.calls()] == ["find_order"]
    assert [each.tool_name for each in callback.ours.calls()] == ["create_order"]


def test_an_agent_without_the_environment_is_as_before() -> None:
    """Tools that an environment has answered run for real where it has no part."""
    seated = FunctionTool(find_order)
    played("callback", agent_of(FIND, tools=[seated]), config(rule("busy")))
    seen, _ = played("plugin", agent_of(FIND, tools=[seated]), config(unlisted="real"))
    assert seen == [{"order_id": "A-1", "status": "really open", "total": 1.0}]
    assert really_ran() == [("find_order", "A-1")]


def test_a_streaming_tool_of_a_live_session_is_answered_before_adk_calls_its_function() -> None:
    """There ADK runs the function past the tool's seat; the answer is given in its place, and nothing streams."""

    async def watch(order_id: str) -> AsyncGenerator[str, None]:
        """Watch an order."""
        RAN.append(("watch", order_id))
        yield "real"

    class Live(BasePlugin):
        async def before_tool_callback(self, *, tool_context: ToolContext, **_: Any) -> None:
            invocation = tool_context._invocation_context
            live = invocation.model_copy(update={"live_request_queue": LiveRequestQueue()})
            tool_context._invocation_context = live

    agent = agent_of([call("watch", order_id="A-1")], tools=[watch])
    environment = create_plugin(config(rule("busy", "watch")))
    stage = Stage(runner_of(agent, Live("live"), environment), environment)
    assert responses(asyncio.run(stage.turn())) == [BUSY]


class Question(BaseModel):
    """What a graph is asked as a tool."""

    text: str


def test_a_tool_that_stands_in_a_graph_is_answered(form: Form) -> None:
    """Where the graph is the app's own, and, in the callback's form too, where it runs as a tool; a function node is the graph's own code."""

    def start(node_input: Any) -> dict[str, str]:
        return {"order_id": "A-1"}

    edges: Any = [(START, start, FunctionTool(find_order))]
    graph = Workflow(name="graph", description="Look it up.", input_schema=Question, edges=edges)
    _, stage = played(form, agent_of([call("graph", text="?")], tools=[graph]), config(rule("busy")))
    assert [each.response for each in stage.ours.calls()] == [BUSY]
    if form == "plugin":
        stage = staged("plugin", Workflow(name="graph", edges=edges), config(rule("busy")))
        assert BUSY in [event.output for event in asyncio.run(stage.turn())]
        assert [each.response for each in stage.ours.calls()] == [BUSY]
