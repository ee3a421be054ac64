"""Agents whose run branches, loops, asks or is made on the way: agents of agents, and graphs.

As in `ways`: each is a function that is given a `Traces`, where everything real leaves a trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.events.request_input import RequestInput
from google.adk.tools._request_input_tool import request_input
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, JoinNode, Workflow, node
from pydantic import PrivateAttr

from tests.simulator.runtime.more_ways import Order
from tests.simulator.runtime.stage import agent_of, call, say
from tests.simulator.runtime.traces import Traces


def transferred_and_confirmed(traces: Traces) -> BaseAgent:
    """A tool that needs approval, of an agent that is handed over to."""
    inner = agent_of(
        [call("hit", mark="a")], tools=[FunctionTool(traces.hit, require_confirmation=True)], name="helper"
    )
    return agent_of([call("transfer_to_agent", agent_name="helper")], sub_agents=[inner])


def handed_back(traces: Traces) -> BaseAgent:
    """Two agents that hand over to each other, each with a tool."""
    inner = agent_of(
        [call("hit_later", mark="b")],
        [call("transfer_to_agent", agent_name="clerk")],
        tools=[traces.hit_later],
        name="helper",
    )
    return agent_of(
        [call("hit", mark="a")],
        [call("transfer_to_agent", agent_name="helper")],
        tools=[traces.hit],
        sub_agents=[inner],
    )


def nested_agent_tools(traces: Traces) -> BaseAgent:
    """An agent tool inside an agent tool, twice at once, with a state that goes both ways."""

    def mark(tool_context: ToolContext, text: str) -> str:
        """Write state."""
        traces.hit(text)
        tool_context.state["marked"] = text
        return text

    deep = agent_of([call("mark", text="deep")], tools=[mark], name="deep", output_key="deep_said")
    middle = agent_of([call("deep", request="go")], tools=[AgentTool(deep), traces.hit], name="middle")
    return agent_of(
        [call("middle", request="one"), call("middle", request="two")],
        tools=[AgentTool(middle)],
        instruction="{deep_said?} {marked?}",
    )


def agent_tool_with_schemas(traces: Traces) -> BaseAgent:
    """An agent tool with an input and an output schema."""
    inner = agent_of(
        [say('{"number": "7", "amount": 2.5}')], name="helper", input_schema=Order, output_schema=Order
    )
    return agent_of(
        [call("helper", number="7")], [call("hit", mark="a")], tools=[AgentTool(inner), traces.hit]
    )


def escaping_loop(traces: Traces) -> BaseAgent:
    """A loop that one of its agents ends, by ADK's `exit_loop` and by a tool that escalates."""

    def enough(tool_context: ToolContext, mark: str = "") -> str:
        """End the loop."""
        traces.hit(mark)
        tool_context.actions.escalate = True
        return "enough"

    one = agent_of([call("hit", mark="a")], [say("on")], [call("exit_loop")], tools=[traces.hit, exit_loop])
    two = agent_of([say("well")], [call("enough", mark="b")], tools=[enough], name="judge")
    inner = LoopAgent(name="inner", sub_agents=[one], max_iterations=2)
    return LoopAgent(name="ring", sub_agents=[inner, two], max_iterations=3)


def merging(traces: Traces) -> BaseAgent:
    """Agents side by side, each with two calls, and one after them that reads what they wrote."""
    sides = [
        agent_of(
            [call("hit", mark=f"{name}1"), call("hit_later", mark=f"{name}2")],
            [say(f"{name} is done")],
            tools=[traces.hit, traces.hit_later],
            name=name,
            output_key=f"{name}_said",
        )
        for name in ("left", "right", "third")
    ]
    last = agent_of(
        [call("hit", mark="m")], tools=[traces.hit], name="merger", instruction="{left_said} {right_said}"
    )
    return SequentialAgent(name="row", sub_agents=[ParallelAgent(name="both", sub_agents=list(sides)), last])


def single_turn(traces: Traces) -> BaseAgent:
    """A sub-agent that is asked once, like a tool."""
    inner = agent_of([call("hit", mark="a")], tools=[traces.hit], name="helper", mode="single_turn")
    return agent_of([call("helper", request="go")], sub_agents=[inner])


def task_mode(traces: Traces) -> BaseAgent:
    """A sub-agent with a task, which it says is finished."""
    inner = agent_of(
        [call("hit", mark="a")],
        [call("finish_task", number="7")],
        tools=[traces.hit],
        name="helper",
        mode="task",
        output_schema=Order,
    )
    return agent_of([call("helper", request="go")], sub_agents=[inner])


class Making(BaseAgent):
    """An agent that makes another one while it runs."""

    _traces: Traces = PrivateAttr()

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        made = agent_of([call("hit", mark="a")], tools=[self._traces.hit], name="made")
        async for event in made.run_async(ctx):
            yield event


def made_at_run_time(traces: Traces) -> BaseAgent:
    """An agent that is made while the turn runs."""
    agent = Making(name="maker")
    agent._traces = traces
    return agent


def fan_out(traces: Traces) -> Workflow:
    """A graph that goes two ways at once and joins: an agent with a tool, functions, and a tool of the graph."""

    async def prepare() -> dict[str, str]:
        await asyncio.sleep(0)
        return {"mark": "a"}

    def finish(node_input: Any) -> str:
        return f"joined {sorted(node_input)}"

    one = agent_of([call("hit", mark="b")], tools=[traces.hit], name="one")
    join = JoinNode(name="join")
    tool = FunctionTool(traces.hit_later)
    return Workflow(
        name="graph", edges=[(START, (prepare, one)), (prepare, tool, join), (one, join), (join, finish)]
    )


def asking_graph(traces: Traces) -> Workflow:
    """A graph that asks the user in the middle."""

    def ask() -> RequestInput:
        return RequestInput(interrupt_id="which", message="Which one?")

    def told(node_input: Any) -> dict[str, str]:
        return {"mark": str(node_input)}

    return Workflow(name="graph", edges=[(START, ask, told, FunctionTool(traces.hit))])


def asking_agent(traces: Traces) -> BaseAgent:
    """An agent that asks the user by ADK's own tool."""
    return agent_of(
        [call("hit", mark="a")],
        [call("adk_request_input", message="Which one?")],
        tools=[traces.hit, request_input],
    )


def worker_graph(traces: Traces) -> Workflow:
    """A graph whose node works on a list, all items at once, by a tool that it runs itself."""

    def items() -> list[str]:
        return ["a", "b", "c"]

    @node(parallel_worker=True, rerun_on_resume=True)
    async def work(ctx: Any, node_input: str) -> Any:
        return await ctx.run_node(FunctionTool(traces.hit), node_input={"mark": node_input})

    return Workflow(name="graph", edges=[(START, items, work)])


def searching(traces: Traces) -> BaseAgent:
    """A root whose helper is a tool beside others, with a parent that the helper may hand over to."""
    helper = LlmAgent(name="helper", model=agent_of([say("found")]).model)
    return agent_of(
        [call("helper", request="x"), call("hit", mark="a")], tools=[AgentTool(helper), traces.hit]
    )
