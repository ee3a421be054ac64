"""The plugin that runs before every other: it seats what the walk at loading could not reach, and notes places.

Fails closed: a tool that comes to a call unseated (made at run time, resumed, in a graph) is seated here, before
ADK can run it.
"""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from simulator.runtime.adk.adk_private import invocation_of, is_steering
from simulator.runtime.adk.boundaries import is_seated, seat_agent, seat_tool
from simulator.runtime.adk.turn_context import CURRENT_TURN, GUARD_NAME, PLACE


class GuardPlugin(BasePlugin):
    """Seats agents and tools right before they work, in a turn of a simulation; changes nothing else."""

    def __init__(self) -> None:
        super().__init__(GUARD_NAME)

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> None:
        """Seat an agent that was made at run time."""
        if CURRENT_TURN.get() is not None and isinstance(agent, LlmAgent):
            seat_agent(agent)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Note where in the turn the model is called."""
        invocation = invocation_of(callback_context)
        isolation = getattr(invocation, "isolation_scope", None) or ""
        PLACE.set(f"{invocation.branch or ''}~{isolation}~{callback_context.node_path}")
        if CURRENT_TURN.get() is not None and isinstance(invocation.agent, LlmAgent):
            seat_agent(invocation.agent)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        """Seat a tool that no model request has shown."""
        if (turn := CURRENT_TURN.get()) is None or is_seated(tool):
            return
        if is_steering(tool):
            turn.note_steering(tool.name)
        seat_tool(tool)
