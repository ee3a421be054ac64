"""Agents that reach a tool with a side effect on every way that ADK knows.

Each way is a function that is given a `Traces` and gives an agent whose run calls the tool `calls` times; the
tool leaves a trace when it really runs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools._node_tool import NodeTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow, node
from google.genai import types
from pydantic import BaseModel

from tests.simulator.runtime.stage import agent_of, call, say
from tests.simulator.runtime.traces import Traces


def plain(traces: Traces) -> BaseAgent:
    """A function."""
    return agent_of([call("hit", mark="a")], tools=[traces.hit])


def asynchronous(traces: Traces) -> BaseAgent:
    """An asynchronous function."""
    return agent_of([call("hit_later", mark="a")], tools=[traces.hit_later])


def generator(traces: Traces) -> BaseAgent:
    """A function that yields."""
    return agent_of([call("hits", mark="a")], tools=[traces.hits])


def long_running(traces: Traces) -> BaseAgent:
    """A long-running tool."""
    return agent_of([call("hit", mark="a")], tools=[LongRunningFunctionTool(traces.hit)])


def confirmed(traces: Traces) -> BaseAgent:
    """A tool that is approved."""
    return agent_of([call("hit", mark="a")], tools=[FunctionTool(traces.hit, require_confirmation=True)])


def confirmed_by_function(traces: Traces) -> BaseAgent:
    """A tool whose function says that it needs approval."""

    def needed(mark: str = "") -> bool:
        return mark == "a"

    return agent_of([call("hit", mark="a")], tools=[FunctionTool(traces.hit, require_confirmation=needed)])


def confirmed_in_toolset(traces: Traces) -> BaseAgent:
    """A tool of a prefixed tool set, made anew for each step, that is approved: the copy comes from ADK."""
    toolset = Making(lambda: FunctionTool(traces.hit, require_confirmation=True), prefix="my")
    return agent_of([call("my_hit", mark="a")], tools=[toolset])


def parallel_calls(traces: Traces) -> BaseAgent:
    """Two calls in one turn."""
    return agent_of(
        [call("hit", mark="a"), call("hit_later", mark="b")], tools=[traces.hit, traces.hit_later]
    )


def subclass(traces: Traces) -> BaseAgent:
    """A tool with a class of its own."""

    class Own(BaseTool):
        def _get_declaration(self) -> types.FunctionDeclaration:
            return types.FunctionDeclaration(name=self.name, description=self.description)

        async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
            return traces.hit("a")

    return agent_of([call("own")], tools=[Own(name="own", description="Own.")])


def deep_copy(traces: Traces) -> BaseAgent:
    """A deep copy of a tool."""
    return agent_of([call("hit", mark="a")], tools=[copy.deepcopy(FunctionTool(traces.named("hit")))])


class Making(BaseToolset):
    """A tool set that makes its tool whenever it is asked."""

    def __init__(self, make: Callable[[], BaseTool], prefix: str | None = None) -> None:
        super().__init__(tool_name_prefix=prefix)
        self._make = make

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        """Make the tool."""
        return [self._make()]


def made_by_toolset(traces: Traces) -> BaseAgent:
    """A tool that a tool set makes at run time."""
    return agent_of([call("hit", mark="a")], tools=[Making(lambda: FunctionTool(traces.hit))])


def prefixed(traces: Traces) -> BaseAgent:
    """ADK's prefixed copy of a tool set's tool, twice."""
    tool = FunctionTool(traces.hit)
    toolset = Making(lambda: tool, prefix="my")
    return agent_of([call("my_hit", mark="a")], [call("my_hit", mark="b")], tools=[toolset])


def agent_tool(traces: Traces) -> BaseAgent:
    """A tool of an agent that is a tool itself."""
    inner = agent_of([call("hit", mark="a")], tools=[traces.hit], name="helper")
    return agent_of([call("helper", request="go")], tools=[AgentTool(inner)])


def agent_tool_without_plugins(traces: Traces) -> BaseAgent:
    """As before, where the nested agent has no plugins, so no guard from the runner."""
    inner = agent_of([call("hit", mark="a")], tools=[traces.hit], name="helper")
    return agent_of([call("helper", request="go")], tools=[AgentTool(inner, include_plugins=False)])


def agent_tool_with_answering_callback(traces: Traces) -> BaseAgent:
    """A nested agent without plugins whose callback speaks, so that no model request ever shows its tools."""
    inner = agent_of(tools=[traces.hit], name="helper", before_model_callback=_speaks_once())
    return agent_of([call("helper", request="go")], tools=[AgentTool(inner, include_plugins=False)])


def _speaks_once() -> Callable[..., LlmResponse | None]:
    def speak(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        said = llm_request.contents[-1].parts or []
        if any(part.function_response for part in said):
            return LlmResponse(content=types.Content(role="model", parts=[say("done")]))
        return LlmResponse(content=types.Content(role="model", parts=[call("hit", mark="a")]))

    return speak


def answering_callback(traces: Traces) -> BaseAgent:
    """An agent whose callback speaks in the model's place."""
    return agent_of(tools=[traces.hit], before_model_callback=_speaks_once())


def transferred(traces: Traces) -> BaseAgent:
    """A tool of an agent that is handed over to."""
    inner = agent_of([call("hit", mark="a")], tools=[traces.hit], name="helper")
    return agent_of([call("transfer_to_agent", agent_name="helper")], sub_agents=[inner])


def inherited_model(traces: Traces) -> BaseAgent:
    """A tool of an agent with the model of its parent."""

    def turn(request: LlmRequest) -> list[types.Part]:
        if "hit" in request.tools_dict:
            return [call("hit", mark="a")]
        return [call("transfer_to_agent", agent_name="helper")]

    return agent_of(turn, sub_agents=[LlmAgent(name="helper", tools=[traces.hit])])


def sequential(traces: Traces) -> BaseAgent:
    """A tool of an agent in a sequence."""
    inner = agent_of([call("hit", mark="a")], tools=[traces.hit])
    return SequentialAgent(name="row", sub_agents=[inner])


def looping(traces: Traces) -> BaseAgent:
    """A tool of an agent in a loop."""
    inner = agent_of([call("hit", mark="a")], [say("on")], [call("hit", mark="b")], tools=[traces.hit])
    return LoopAgent(name="ring", sub_agents=[inner], max_iterations=2)


def side_by_side(traces: Traces) -> BaseAgent:
    """Tools of agents that run at the same time."""
    one = agent_of([call("hit", mark="a")], tools=[traces.hit], name="one")
    two = agent_of([call("hit", mark="b")], tools=[traces.hit], name="two")
    return ParallelAgent(name="both", sub_agents=[one, two])


def _opening() -> dict[str, str]:
    """Begin."""
    return {"mark": "a"}


def tool_in_graph(traces: Traces) -> Workflow:
    """A tool that stands in a graph."""
    return Workflow(name="graph", edges=[(START, _opening), (_opening, FunctionTool(traces.hit))])


def agent_in_graph(traces: Traces) -> Workflow:
    """A tool of an agent in a graph."""
    return Workflow(name="graph", edges=[(START, agent_of([call("hit", mark="a")], tools=[traces.hit]))])


def tool_run_by_node(traces: Traces) -> Workflow:
    """A tool that a node of a graph runs by itself."""

    @node(rerun_on_resume=True)
    async def runs(ctx: Any) -> Any:
        return await ctx.run_node(FunctionTool(traces.hit), node_input={"mark": "a"})

    return Workflow(name="graph", edges=[(START, runs)])


def graph_tool(traces: Traces) -> BaseAgent:
    """A tool in a graph that is a tool."""
    graph = Workflow(
        name="graph", input_schema=_Opened, edges=[(START, _opening), (_opening, FunctionTool(traces.hit))]
    )
    return agent_of([call("graph", mark="a")], tools=[NodeTool(graph)])


class _Opened(BaseModel):
    mark: str = ""
