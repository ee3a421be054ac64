"""Agents of the shapes that are delicate to re-execute: state, files, callbacks, plans, code, errors.

As in `ways`: each is a function that is given a `Traces`, where everything real leaves a trace.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

from google.adk.agents import BaseAgent, ParallelAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.apps import App, ResumabilityConfig
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.planners.plan_re_act_planner import PlanReActPlanner
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel, PrivateAttr

from tests.simulator.runtime.stage import agent_of, call, say
from tests.simulator.runtime.traces import Traces


class Order(BaseModel):
    """What an agent with a schema answers."""

    number: str
    amount: float = 1.0


def unknown_tool(traces: Traces) -> BaseAgent:
    """A model that calls a tool which nobody has: ADK's error ends the turn."""
    return agent_of([call("nobody", mark="a")], tools=[traces.hit])


def unknown_tool_healed(traces: Traces) -> BaseAgent:
    """The same, where a callback answers in the tool's place."""

    def heal(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> Any:
        return {"healed": tool.name}

    return agent_of([call("nobody"), call("hit", mark="a")], tools=[traces.hit], on_tool_error_callback=heal)


def raising_tool(traces: Traces) -> BaseAgent:
    """A tool that raises when it is real."""

    def break_down(mark: str = "") -> dict[str, str]:
        """Leave a trace and raise."""
        traces.hit(mark)
        raise ValueError(f"broken {mark}")

    return agent_of([call("break_down", mark="a")], tools=[break_down])


def raising_model(traces: Traces) -> BaseAgent:
    """A model that raises after a tool's answer."""
    return agent_of([call("hit", mark="a")], _refuses, tools=[traces.hit])


def raising_model_healed(traces: Traces) -> BaseAgent:
    """The same, where a callback speaks in the model's place."""

    def heal(callback_context: CallbackContext, llm_request: LlmRequest, error: Exception) -> LlmResponse:
        return LlmResponse(content=types.Content(role="model", parts=[say(f"sorry: {error}")]))

    return agent_of([call("hit", mark="a")], _refuses, tools=[traces.hit], on_model_error_callback=heal)


def _refuses(request: LlmRequest) -> list[types.Part]:
    raise RuntimeError("no model today")


def state_and_files(traces: Traces) -> BaseAgent:
    """Tools that write state of every scope, in place too, and files; the instruction shows the state."""

    def remember(tool_context: ToolContext, mark: str = "") -> list[str]:
        """Write state."""
        traces.hit(mark)
        tool_context.state["last"] = mark
        tool_context.state["user:name"] = {"first": mark}
        tool_context.state["app:count"] = tool_context.state.get("app:count", 0) + 1
        tool_context.state["temp:secret"] = mark
        tool_context.state.setdefault("list", []).append(mark)
        return ["kept", mark]

    async def save(tool_context: ToolContext, mark: str = "") -> dict[str, Any]:
        """Write a file."""
        traces.hit(mark)
        part = types.Part.from_bytes(data=mark.encode(), mime_type="application/octet-stream")
        version = await tool_context.save_artifact(f"{mark}.bin", part)
        return {"version": version, "files": await tool_context.list_artifacts()}

    return agent_of(
        [call("remember", mark="a"), call("save", mark="b")],
        [call("remember", mark="c")],
        [call("save", mark="b")],
        [say("done for {last?}")],
        tools=[remember, save],
        instruction="Last: {last?}, by {user:name?}, {list?}",
        output_key="answer",
    )


def not_json_state(traces: Traces) -> BaseAgent:
    """A tool that puts into the state, and returns, what JSON cannot hold."""

    def stamp(tool_context: ToolContext, mark: str = "") -> Any:
        """Write dates."""
        traces.hit(mark)
        tool_context.state["when"] = dt.datetime(2025, 1, 2, tzinfo=dt.UTC)
        tool_context.state["pair"] = ("a", 1)
        tool_context.state["set"] = {"b", "a", "c"}
        return {"days": {dt.date(2025, 1, 2)}, "object": Order(number="7")}

    return agent_of(
        [call("stamp", mark="a")],
        [call("stamp", mark="b")],
        tools=[stamp],
        instruction="{when?} {pair?} {set?}",
    )


def writing_callbacks(traces: Traces) -> BaseAgent:
    """Callbacks of every kind that write state and save files, one after some sleep."""

    async def before_agent(callback_context: CallbackContext) -> None:
        await asyncio.sleep(0.005)
        callback_context.state["before_agent"] = True

    def before_model(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        count = callback_context.state.get("turns", 0) + 1
        callback_context.state["turns"] = count
        llm_request.append_instructions([f"This is turn {count}."])

    async def after_model(callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        await asyncio.sleep(0)
        await callback_context.save_artifact(
            "turn.txt", types.Part(text=str(callback_context.state["turns"]))
        )

    def before_tool(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> None:
        args["mark"] = f"{args['mark']}!"
        tool_context.state["asked"] = tool.name

    async def after_tool(
        tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> dict[str, Any]:
        await asyncio.sleep(0.002)
        tool_context.state[f"seen:{args['mark']}"] = tool_response
        return {"wrapped": tool_response}

    return agent_of(
        [call("hit", mark="a"), call("hit_later", mark="b")],
        tools=[traces.hit, traces.hit_later],
        before_agent_callback=before_agent,
        before_model_callback=before_model,
        after_model_callback=after_model,
        before_tool_callback=before_tool,
        after_tool_callback=after_tool,
    )


class Noting(BasePlugin):
    """A plugin that counts model calls in the state."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Count."""
        callback_context.state["counted"] = callback_context.state.get("counted", 0) + 1


def app_with_plugin(traces: Traces) -> App:
    """An app with a plugin of its own."""
    return App(
        name="stage", root_agent=agent_of([call("hit", mark="a")], tools=[traces.hit]), plugins=[Noting("n")]
    )


def resumable_app(traces: Traces) -> App:
    """An app whose runs can be resumed, with a tool that needs approval and one that answers later."""
    agent = agent_of(
        [call("hit", mark="a"), call("hit_later", mark="b")],
        tools=[
            FunctionTool(traces.hit, require_confirmation=True),
            LongRunningFunctionTool(traces.hit_later),
        ],
    )
    return App(name="stage", root_agent=agent, resumability_config=ResumabilityConfig(is_resumable=True))


def asked_in_json(traces: Traces) -> BaseAgent:
    """An agent with an input schema, asked in JSON."""
    return agent_of([call("hit", mark="a")], tools=[traces.hit], input_schema=Order)


def output_schema(traces: Traces) -> BaseAgent:
    """An agent that answers in JSON and has no tools."""
    return agent_of(
        [say('{"number": "7"}')], [say('{"number": "8"}')], output_schema=Order, output_key="order"
    )


def output_schema_with_tools(traces: Traces) -> BaseAgent:
    """An agent that answers in JSON and has tools: ADK gives it `set_model_response`."""
    return agent_of(
        [call("hit", mark="a")],
        [call("set_model_response", number="7", amount=2.0)],
        tools=[traces.hit],
        output_schema=Order,
    )


def planning(traces: Traces) -> BaseAgent:
    """An agent with a planner, whose turns hold thoughts."""
    return agent_of(
        [say("/*PLANNING*/ first hit /*ACTION*/"), call("hit", mark="a")],
        [say("/*REASONING*/ it was hit /*FINAL_ANSWER*/ all done")],
        tools=[traces.hit],
        planner=PlanReActPlanner(),
    )


class Executing(BaseCodeExecutor):
    """An executor that leaves a trace of each code."""

    _traces: Traces = PrivateAttr()

    @classmethod
    def into(cls, traces: Traces) -> Executing:
        """Make one that leaves its traces there."""
        executor = cls()
        executor._traces = traces
        return executor

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Leave a trace."""
        self._traces.hit(code_execution_input.code.strip())
        return CodeExecutionResult(stdout="real")


def coding(traces: Traces) -> BaseAgent:
    """An agent that writes code twice and calls a tool."""

    def turn(request: LlmRequest) -> list[types.Part]:
        results = sum("tool_output" in (part.text or "") for c in request.contents for part in c.parts or [])
        answered = any(part.function_response for c in request.contents for part in c.parts or [])
        if results < 2:
            return [say(f"```tool_code\nprint({results})\n```")]
        return [say("done")] if answered else [call("hit", mark="a")]

    turns = [turn] * 8
    return agent_of(*turns, tools=[traces.hit], code_executor=Executing.into(traces))


def provided_instruction(traces: Traces) -> BaseAgent:
    """An agent whose instruction comes from a function that reads the state."""

    async def provide(context: ReadonlyContext) -> str:
        await asyncio.sleep(0.001)
        return f"Seen: {sorted(context.state)}"

    return agent_of([call("hit", mark="a")], tools=[traces.hit], instruction=provide, include_contents="none")


def repeating_ids(traces: Traces) -> BaseAgent:
    """A model that gives all its calls the same id."""

    def same(mark: str) -> types.Part:
        return types.Part(function_call=types.FunctionCall(id="same", name="hit", args={"mark": mark}))

    return agent_of([same("a"), same("b")], [same("c")], tools=[traces.hit])


def silent(traces: Traces) -> BaseAgent:
    """A model that says nothing at all."""

    def say_nothing(callback_context: CallbackContext, llm_response: LlmResponse) -> LlmResponse:
        return LlmResponse()

    return agent_of(tools=[traces.hit], after_model_callback=say_nothing)


def quick_and_slow(traces: Traces) -> BaseAgent:
    """Agents side by side whose tools answer at once, later, and in a thread, again and again."""

    async def hit_soon(mark: str = "") -> dict[str, str]:
        """Let others go first."""
        for _ in range(3):
            await asyncio.sleep(0)
        return traces.hit(mark)

    def lane(name: str) -> BaseAgent:
        marked = [call(tool, mark=f"{name} {tool}") for tool in ("hit_later", "hit_soon", "hit")]
        return agent_of(marked, [marked[0]], tools=[traces.hit, traces.hit_later, hit_soon], name=name)

    return ParallelAgent(name="lanes", sub_agents=[lane("one"), lane("two")])
