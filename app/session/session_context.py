"""Holds what a page of one session draws from: the live session, and one snapshot of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from app.live.live_sessions import LiveSession
from simulator.agents.agent_directory import AgentDirectory, known_agents, known_tools
from simulator.base.json_values import JsonObject
from simulator.facts import SessionOpened
from simulator.seats.requests import ModelRequest, ToolDeclaration, ToolRequest

if TYPE_CHECKING:
    from app.live.live_sessions import UnsentTexts
    from simulator.runtime import SimulationView
    from simulator.runtime.knowledge.world_view import WorldView
    from simulator.session import SimulationSession


@dataclass(frozen=True)
class SessionContext:
    """A live session as it stands in this run of the page; `stamp` tells it from the same one later."""

    live: LiveSession
    view: SimulationView
    stamp: str = ""

    @cached_property
    def known(self) -> WorldView:
        """What the environment knows now."""
        return self.live.simulation.environment.world()

    @property
    def session(self) -> SimulationSession:
        """The session."""
        return self.view.session

    @property
    def drafts(self) -> UnsentTexts:
        """What was typed and not sent."""
        return self.live.drafts

    @property
    def directory(self) -> AgentDirectory:
        """The agents and tools, as far as they are known without a run."""
        return self.live.directory

    def seed(self) -> str:
        """Return where the session's draws come from."""
        first = next((fact for _, fact in self.live.simulation.journal.path()), None)
        return first.seed if isinstance(first, SessionOpened) else ""

    def world(self) -> dict[str, dict[str, JsonObject]]:
        """Return the things of the world as it is now, by plural kind and id."""
        tables = self.known.tables
        return {table.name: dict(zip(table.ids, table.rows, strict=True)) for table in tables}

    def waiting_calls(self) -> tuple[ToolRequest, ...]:
        """Return the tool calls that wait for a person."""
        return tuple(each for each in self.view.pending if isinstance(each, ToolRequest))

    def declarations(self) -> dict[str, ToolDeclaration]:
        """Return the tools that are known with their schemas, by name: the agent's own, those a model was shown, those that wait."""
        shown = [each for each in self.view.pending if isinstance(each, ModelRequest)]
        last = self.live.simulation.model_view()
        found = {
            tool.name: tool for request in (*((last,) if last else ()), *shown) for tool in request.tools
        }
        for call in self.waiting_calls():
            found.setdefault(
                call.tool_name,
                ToolDeclaration(
                    name=call.tool_name,
                    description=call.description,
                    parameters=call.parameters or {"type": "object", "properties": {}},
                    response=call.response_schema,
                ),
            )
        return found

    def tools(self) -> tuple[str, ...]:
        """Return the names of the tools that may be called."""
        named = known_tools(self.directory, self.session, self.declarations())
        return tuple(name for name in named if name != "*")

    def agents(self) -> tuple[str, ...]:
        """Return the names of the agents that take turns."""
        return known_agents(self.directory, self.session)
