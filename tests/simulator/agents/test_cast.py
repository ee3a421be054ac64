"""Which tools of an agent can have rules and players, and who answers an agent that is used as a tool."""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from simulator.agents.agent_directory import directory_of, known_tools, steers, tool_player
from simulator.session import Seats, SimulationSession


def finish_task(note: str) -> str:
    """Say that a task is done; a tool of the agent's own, whatever ADK calls one of its."""
    return note


def test_an_agent_tool_is_listed_and_runs_by_itself() -> None:
    """It can have rules and players like any tool; without one its agent runs, whoever answers all other tools.

    Tools that steer cannot be answered. ADK's own are told by name here, but for a tool of the agent's own.
    """
    specialist = LlmAgent(name="specialist", description="Knows.")
    directory = directory_of(LlmAgent(name="desk", tools=[AgentTool(specialist), finish_task]))
    session = SimulationSession(agent_name="desk", seats=Seats(tools={"*": "offline"}))
    assert "specialist" in known_tools(directory, session)
    assert tool_player(directory, session, "specialist") == "real"
    assert tool_player(directory, session, "finish_task") == "offline"
    seated = session.model_copy(update={"seats": Seats(tools={"specialist": "person"})})
    assert tool_player(directory, seated, "specialist") == "person"
    assert [steers(directory, name) for name in ("transfer_to_agent", "finish_task")] == [True, False]
