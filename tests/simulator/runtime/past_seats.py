"""Agents whose own code comes to a tool past its seat, each on another way; what is raised there they swallow, as real code does."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.authenticated_function_tool import AuthenticatedFunctionTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.mcp_tool import McpTool
from google.adk.tools.mcp_tool.mcp_session_manager import MCPSessionManager
from google.adk.tools.transfer_to_agent_tool import TransferToAgentTool, transfer_to_agent
from google.adk.workflow import START, Workflow
from google.genai import types
from mcp import StdioServerParameters
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as ServerTool

from tests.simulator.runtime.stage import agent_of, call, say

NAME = "hit"
"""The name of the tool that leaves a mark, but for those that transfer."""

Hit = Callable[[str], str]


def hitting(marker: Path) -> Hit:
    """Return a tool's function that leaves a mark in a file each time that it runs."""

    def hit(mark: str) -> str:
        """Hit something."""
        with marker.open("a") as file:
            file.write(f"{mark}\n")
        return "hit for real"

    return hit


def marks(marker: Path) -> list[str]:
    """Return the marks that were left."""
    return marker.read_text().split() if marker.exists() else []


async def used(tool: BaseTool, context: Any, mark: str = "past") -> None:
    """Run a tool past its seat, and go on whatever comes of it."""
    with contextlib.suppress(Exception):
        await tool.run_async(args={"mark": mark}, tool_context=context)


async def _run_by_own_runner(hit: Hit) -> None:
    """Let a runner of one's own run an agent that calls the tool."""
    runner = InMemoryRunner(agent_of([call(NAME, mark="own")], tools=[hit], name="inner"), app_name="own")
    session = await runner.session_service.create_session(app_name="own", user_id="own")
    message = types.Content(role="user", parts=[say("hit it")])
    with contextlib.suppress(Exception):
        async for _ in runner.run_async(user_id="own", session_id=session.id, new_message=message):
            pass


def in_a_thread(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do something on a loop of its own, in a thread of its own, and wait for that without any loop."""
    thread = threading.Thread(target=lambda: asyncio.run(work()), name="own-thread")
    thread.start()
    thread.join()


def before(callback: Callable[[Any], Any], **more: Any) -> LlmAgent:
    """Make an agent with a callback before it."""
    return agent_of([say("done")], before_agent_callback=callback, **more)


# ---------------------------------------------------------------- ways that are asked about, as every seat is


def own_runner(hit: Hit) -> BaseAgent:
    """A callback lets a runner of its own run another agent."""

    async def run(callback_context: Any) -> None:
        await _run_by_own_runner(hit)

    return before(run)


class Announcing(TransferToAgentTool):
    """A transfer that does something else first."""

    hit: Hit

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Leave a mark, and transfer."""
        self.hit("announced")
        return await super().run_async(args=args, tool_context=tool_context)


def transferring(tool: BaseTool) -> BaseAgent:
    """Make an agent that transfers by such a tool."""
    turn = [call("transfer_to_agent", agent_name="desk")]
    return agent_of(turn, tools=[tool], sub_agents=[agent_of(name="desk")])


def transfer_with_code(hit: Hit) -> BaseAgent:
    """A tool that is made of ADK's own transfer, with code of its own."""
    tool = Announcing(["desk"])
    tool.hit = hit
    return transferring(tool)


class Renamed(TransferToAgentTool):
    """A transfer that calls another function."""


def transfer_with_function(hit: Hit) -> BaseAgent:
    """A tool that is made of ADK's own transfer, with a function of its own."""

    def announced(agent_name: str, tool_context: Any) -> None:
        hit("announced")
        transfer_to_agent(agent_name, tool_context)

    tool = Renamed(["desk"])
    tool.func = announced
    return transferring(tool)


class Noting(AgentTool):
    """An agent as a tool, with code of its own around it."""

    hit: Hit

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Leave a mark, and let the agent run."""
        self.hit("noted")
        return await super().run_async(args=args, tool_context=tool_context)


def agent_tool_with_code(hit: Hit) -> BaseAgent:
    """A tool that runs an agent, with code of its own."""
    tool = Noting(agent_of([say("helped")], name="helper"))
    tool.hit = hit
    return agent_of([call("helper", request="go")], tools=[tool])


# ---------------------------------------------------------------- ways on which nobody can be asked


def own_runner_in_a_thread(hit: Hit) -> BaseAgent:
    """The same as `own_runner`, in a thread."""

    def run(callback_context: Any) -> None:
        in_a_thread(lambda: _run_by_own_runner(hit))

    return before(run)


def own_runner_blocking(hit: Hit) -> BaseAgent:
    """A runner's blocking `run`, which ADK does in a thread."""

    def run(callback_context: Any) -> None:
        runner = InMemoryRunner(agent_of([call(NAME, mark="own")], tools=[hit], name="inner"), app_name="own")
        runner.auto_create_session = True
        message = types.Content(role="user", parts=[say("hit it")])
        with contextlib.suppress(Exception):
            [*runner.run(user_id="own", session_id="own", new_message=message)]

    return before(run)


def callback(hit: Hit) -> BaseAgent:
    """A callback calls a tool that it makes."""

    async def run(callback_context: Any) -> None:
        await used(FunctionTool(hit), callback_context)

    return before(run)


def callback_in_a_thread(hit: Hit) -> BaseAgent:
    """The same in a thread."""
    return before(lambda callback_context: in_a_thread(lambda: used(FunctionTool(hit), callback_context)))


def callback_in_a_worker(hit: Hit) -> BaseAgent:
    """The same in a worker thread, which context variables do reach."""

    async def run(callback_context: Any) -> None:
        await asyncio.to_thread(lambda: asyncio.run(used(FunctionTool(hit), callback_context)))

    return before(run)


def plugin(hit: Hit) -> App:
    """A plugin calls a tool."""

    class Using(BasePlugin):
        async def before_run_callback(self, *, invocation_context: Any) -> None:
            await used(FunctionTool(hit), None)

    return App(name="stage", root_agent=agent_of([say("done")], name="clerk"), plugins=[Using("using")])


def instruction(hit: Hit) -> BaseAgent:
    """An instruction provider calls a tool."""

    async def instruct(context: Any) -> str:
        await used(FunctionTool(hit), None)
        return "Help."

    return agent_of([say("done")], instruction=instruct)


def node(hit: Hit) -> Any:
    """A function in a graph calls a tool."""

    async def look(ctx: Any, node_input: Any) -> str:
        await used(FunctionTool(hit), ctx)
        return "looked"

    return Workflow(name="clerk", edges=[(START, look)])


def canonical_again(hit: Hit) -> BaseAgent:
    """A callback asks for the agent's tools again, which makes them anew."""

    async def run(callback_context: Any) -> None:
        for tool in await agent.canonical_tools():
            await used(tool, callback_context)

    agent = before(run, tools=[hit])
    return agent


def canonical_late(hit: Hit) -> BaseAgent:
    """A task that a callback leaves behind does so while the model is asked."""
    tasks: list[asyncio.Task[None]] = []

    async def late(callback_context: Any) -> None:
        await asyncio.sleep(0)
        for tool in await agent.canonical_tools():
            await used(tool, callback_context)

    def begin(callback_context: Any) -> None:
        tasks.append(asyncio.get_running_loop().create_task(late(callback_context)))

    async def end(callback_context: Any) -> None:
        await asyncio.gather(*tasks)

    agent = before(begin, tools=[hit], after_agent_callback=end)
    return agent


class StubSession(MCPSessionManager):
    """The connection of an MCP tool, and its session; the server is here."""

    def __init__(self, hit: Hit) -> None:
        super().__init__(StdioServerParameters(command="none"))
        self.hit = hit

    async def create_session(self, *_: Any, **__: Any) -> Any:
        """Return the session."""
        return self

    async def call_tool(self, name: str, *, arguments: Any, **_: Any) -> CallToolResult:
        """Run the tool."""
        del name
        return CallToolResult(content=[TextContent(type="text", text=self.hit(arguments["mark"]))])


def _mcp_tool(hit: Hit) -> McpTool:
    """Make an MCP tool whose server is here."""
    schema: dict[str, Any] = {"type": "object", "properties": {"mark": {"type": "string"}}}
    return McpTool(
        mcp_tool=ServerTool(name=NAME, description="Hit something.", inputSchema=schema),
        mcp_session_manager=StubSession(hit),
    )


class Context:
    """Stands for the context of a tool of which nothing but the state and the call's id is used."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.function_call_id = "own"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def mcp(hit: Hit) -> BaseAgent:
    """A callback calls an MCP tool."""

    async def run(callback_context: Any) -> None:
        await used(_mcp_tool(hit), Context(callback_context))

    return before(run)


def authenticated(hit: Hit) -> BaseAgent:
    """A callback calls a tool that has to authenticate itself."""

    async def run(callback_context: Any) -> None:
        await used(AuthenticatedFunctionTool(func=hit), callback_context)

    return before(run)


class Mixed:
    """Brings a `run_async` into a tool's class, and is none itself."""

    hit: Hit

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Leave a mark."""
        del tool_context
        return self.hit(args["mark"])


def class_made_meanwhile(hit: Hit) -> BaseAgent:
    """A callback calls a tool of a class that is defined in the turn, and has what it runs from a class that is no tool."""

    async def run(callback_context: Any) -> None:
        class Own(Mixed, BaseTool):
            """A tool."""

        tool = Own(name=NAME, description="Hit something.")
        tool.hit = hit
        await used(tool, callback_context)

    return before(run)


def tool_calls_tool(hit: Hit) -> BaseAgent:
    """A tool that someone chose to be real calls another one."""

    async def outer(tool_context: Any) -> str:
        """Call another tool."""
        await used(FunctionTool(hit), tool_context)
        return "called"

    return agent_of([call("outer")], tools=[outer])


Way = Callable[[Hit], Any]

ASKED: dict[str, tuple[Way, str]] = {
    "own_runner": (own_runner, NAME),
    "transfer_with_code": (transfer_with_code, "transfer_to_agent"),
    "transfer_with_function": (transfer_with_function, "transfer_to_agent"),
    "agent_tool_with_code": (agent_tool_with_code, "helper"),
}
"""Ways on which a seat is asked about the call, with the tool's name."""

REFUSED: dict[str, Way] = {
    name: way
    for name, way in vars(sys.modules[__name__]).items()
    if inspect.isfunction(way)
    and [*inspect.signature(way).parameters] == ["hit"]
    and name not in ASKED
    and not name.startswith("_")
}
"""Ways on which the tool can only be refused, which fails the turn."""
