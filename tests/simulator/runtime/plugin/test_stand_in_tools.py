"""Proves which tools and agents the environment without the page answers, and which it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from unittest.mock import MagicMock

import pytest
from google.adk.agents import LoopAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from pydantic import BaseModel

from simulator.runtime.plugin import create_plugin
from tests.simulator.runtime.plugin.order_tools import RAN, breaks, create_order, find_order
from tests.simulator.runtime.plugin.standing import (
    BUSY,
    FIND,
    Form,
    Stage,
    both,
    config,
    played,
    responses,
    rule,
    staged,
)
from tests.simulator.runtime.stage import agent_of, call, say

# ---------------------------------------------------------------- kinds of tools and agents


@both
def test_parallel_calls_of_one_turn_are_answered_one_by_one(form: Form) -> None:
    """Four calls at once, two to the same order: each has its own answer, in the order of the calls."""
    second = rule("second", when={"kind": "call_number", "which": "nth", "n": 2})
    calls = [call("find_order", order_id=order_id) for order_id in ("A-1", "A-2", "A-1", "A-3")]
    seen, stage = played(form, agent_of(calls, tools=[find_order]), config(second))
    assert [answer.get("order_id") for answer in seen] == ["A-1", None, "A-1", "A-3"]
    assert seen[1] == BUSY
    assert seen[0] == seen[2]
    assert len(stage.ours.calls()) == 4
    assert RAN == []


@both
def test_an_agent_tool_runs_and_its_tools_are_answered_in_the_same_world(form: Form) -> None:
    """The inner agent works; its tools are the environment's, and its calls count in the outer session."""
    second = rule("second", when={"kind": "call_number", "which": "nth", "n": 2})
    helper = agent_of(FIND, FIND, [say("found")], tools=[find_order], name="helper")
    agent = agent_of([call("helper", request="find it")], FIND, tools=[AgentTool(helper), find_order])
    seen, stage = played(form, agent, config(second))
    assert seen[0] == {"result": "found"}
    assert seen[1]["order_id"] == "A-1"
    assert RAN == []
    logged = stage.ours.calls("s")
    assert [each.agent for each in logged] == ["helper", "helper", "clerk"]
    assert [each.provenance.by for each in logged] == ["offline", "second", "offline"]


@both
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
    assert RAN == []
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
    assert RAN == []


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
    assert RAN == []


@pytest.mark.filterwarnings("ignore:LoopAgent is deprecated:DeprecationWarning")
@both
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
@both
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
    assert RAN == []
    real = agent_of(turn, tools=[LongRunningFunctionTool(approve)])
    seen, stage = played(form, real, config(unlisted="real"))
    assert RAN == [("approve", "A-1")]
    assert seen == []
    assert stage.ours.calls()[0].outcome.kind == "deferred"


class Desk(BaseToolset):
    """A tool set that makes its tools anew each time, as those of remote servers do."""

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        """Return the tools."""
        return [FunctionTool(find_order), FunctionTool(create_order)]

    async def close(self) -> None:
        """Have nothing to close."""


@both
def test_tools_of_tool_sets_are_answered_under_their_prefixed_names(form: Form) -> None:
    """ADK's copies of prefixed tools are answered too, every time that they are made anew."""
    turn = [call("desk_find_order", order_id="A-1")]
    agent = agent_of(turn, turn, tools=[Desk(tool_name_prefix="desk")])
    seen, stage = played(form, agent, config(rule("busy", "desk_find_order")))
    assert seen == [BUSY] * 2
    assert RAN == []
    assert len(stage.ours.calls()) == 2


def test_a_tool_that_stands_in_a_graph_is_answered() -> None:
    """The plugin answers a workflow's tool nodes; a function node is the graph's own code, and runs."""

    def start(node_input: Any) -> dict[str, str]:
        return {"order_id": "A-1"}

    graph = Workflow(name="graph", edges=[(START, start, FunctionTool(find_order))])
    RAN.clear()
    stage = staged("plugin", graph, config(rule("busy")))
    events = asyncio.run(stage.turn())
    assert RAN == []
    assert BUSY in [event.output for event in events]
    assert [each.response for each in stage.ours.calls()] == [BUSY]


# ---------------------------------------------------------------- by hand


def by_hand(stage: Stage, function: Any, context: Any = None, **arguments: Any) -> Any:
    """Call an environment as one calls ADK's own callback: without a runner."""
    ours: Any = getattr(stage.ours, "before_tool_callback", stage.ours)
    return asyncio.run(ours(FunctionTool(function), arguments, context))


@both
def test_called_by_hand_it_gives_the_answer(form: Form) -> None:
    """The answer is a dict; None leaves the real tool to run."""
    stage = staged(form, agent_of(), config(rule("busy"), players={"breaks": "real"}))
    assert by_hand(stage, find_order, order_id="A-1") == BUSY
    assert by_hand(stage, breaks) is None
    assert by_hand(stage, create_order, item="x")["error_code"] == "refused"
    assert [each.tool_name for each in stage.ours.calls()] == ["find_order", "create_order"]


@both
@pytest.mark.parametrize("context", [None, object(), MagicMock(), MagicMock(spec=ToolContext)])
def test_any_context_will_do_by_hand(form: Form, context: Any) -> None:
    """What a unit test gives in place of ADK's context is never looked at in vain."""
    stage = staged(form, agent_of(), config(rule("busy", match_args={"order_id": "B-2"})))
    assert by_hand(stage, find_order, context, order_id="A-1")["order_id"] == "A-1"
    assert by_hand(stage, find_order, context, order_id="B-2") == BUSY
    assert len(stage.ours.calls()) == 2


@both
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
    assert RAN == []
    assert [each.tool_name for each in stage.ours.calls()] == ["find_order"]
    assert [each.tool_name for each in callback.ours.calls()] == ["create_order"]


def test_an_agent_without_the_environment_is_as_before() -> None:
    """Tools that an environment has answered run for real where it has no part."""
    seated = FunctionTool(find_order)
    played("callback", agent_of(FIND, tools=[seated]), config(rule("busy")))
    seen, _ = played("plugin", agent_of(FIND, tools=[seated]), config(unlisted="real"))
    assert seen == [{"order_id": "A-1", "status": "really open", "total": 1.0}]


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

    RAN.clear()
    agent = agent_of([call("watch", order_id="A-1")], tools=[watch])
    environment = create_plugin(config(rule("busy", "watch")))
    runner = InMemoryRunner(app=App(name="stage", root_agent=agent, plugins=[Live("live"), environment]))
    assert responses(asyncio.run(Stage(runner, environment).turn())) == [BUSY]
    assert RAN == []


class Question(BaseModel):
    """What a graph is asked as a tool."""

    text: str


@both
def test_a_graph_that_runs_as_a_tool_is_covered(form: Form) -> None:
    """Its tool nodes are answered, in the callback's form too."""

    def start(node_input: Any) -> dict[str, str]:
        return {"order_id": "A-1"}

    edges: Any = [(START, start, FunctionTool(find_order))]
    graph = Workflow(name="graph", description="Look it up.", input_schema=Question, edges=edges)
    agent = agent_of([call("graph", text="?")], tools=[graph])
    _, stage = played(form, agent, config(rule("busy")))
    assert [each.response for each in stage.ours.calls()] == [BUSY]
    assert RAN == []
