"""Gives a session that is played what no fact holds: its configuration, its agent's tools, and ADK's session."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject, copied
from simulator.session.model import SimulationSession


class AgentBehind:
    """What stands behind one view of a session.

    Args:
        config: The configuration that the session was opened with.
        events: ADK's events of the turn in progress, in JSON, up to that view.
    """

    def __init__(self, config: SimulatedAgentConfig, events: tuple[JsonObject, ...]) -> None:
        self.agent_config = config
        self._events = events
        self._tools: list[BaseTool] | None = None

    def tools(self) -> list[BaseTool]:
        """Return the tools of the root agent, asked once; those of a tool set that cannot be reached are missing."""
        agent = self.agent_config.root_agent
        if self._tools is None and isinstance(agent, LlmAgent):
            # In a thread of its own: the caller may be on a loop.
            with ThreadPoolExecutor(1) as apart:
                context = contextvars.copy_context()
                self._tools = apart.submit(context.run, asyncio.run, agent.canonical_tools()).result()
        return list(self._tools or ())

    def adk_session(self, session: SimulationSession) -> Session:
        """Return ADK's session: the events of all turns, and the state after them."""
        ended = [event for turn in session.turns for event in turn.events]
        events = [Event.model_validate(copied(event)) for event in (*ended, *self._events)]
        return Session(
            id=session.session_id,
            app_name=session.app_name,
            user_id=session.user_id,
            state=copied(session.current_state),
            events=events,
            last_update_time=events[-1].timestamp if events else session.start_timestamp,
        )
