"""Says who sits where when a script is played: the script itself wherever it has something to say."""

from __future__ import annotations

from simulator.agent_config import SimulatedAgentConfig
from simulator.environment.injection.injection import EVERY_TOOL
from simulator.facts import EVERY, AgentPlayer, ToolPlayer
from simulator.runtime.models.reachability import default_seats
from simulator.scripts.script import Script
from simulator.scripts.script_lines import AgentMove, ToolMove
from simulator.session import Seats


def answered_tools(script: Script) -> frozenset[str]:
    """Return the tools that the script has answers for, `*` where it answers any."""
    entries = [*script.environment, *(entry for _, entry in script.entries_of_turns())]
    return frozenset(entry.tool for entry in entries if isinstance(entry, ToolMove))


def fallback(script: Script, tool: str) -> ToolPlayer:
    """Return who answers a tool where the script has no answer; a person where nobody was named."""
    return script.players.get(tool) or script.players.get(EVERY_TOOL, "person")


def seats_of(script: Script, config: SimulatedAgentConfig) -> Seats:
    """Return the seats from the start; the script sits in a person's place."""
    answered = answered_tools(script)
    if EVERY_TOOL in answered:
        return Seats(agents=_agents(script, config), tools={EVERY: "person"})
    tools: dict[str, ToolPlayer] = {EVERY: "person", **script.players}
    return Seats(agents=_agents(script, config), tools=tools | dict.fromkeys(answered, "person"))


def _agents(script: Script, config: SimulatedAgentConfig) -> dict[str, AgentPlayer]:
    agent = script.agent
    if isinstance(agent, str):
        return {EVERY: agent}
    if isinstance(agent, tuple):
        return {EVERY: "person"}
    usual = default_seats(config).agents
    if isinstance(agent, dict):
        own: dict[str, AgentPlayer] = {
            name: player if isinstance(player, str) else "person" for name, player in agent.items()
        }
        return own if EVERY in own else usual | own
    moving = {entry.agent or EVERY for _, entry in script.entries_of_turns() if isinstance(entry, AgentMove)}
    return usual | dict.fromkeys(sorted(moving), "person")
