"""Gives the facts with which a session begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.environment_data import environment_data_of
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import AgentSelected, Fact, RulesChanged, SeatChanged, SessionOpened
from simulator.runtime.models.reachability import default_seats
from simulator.session import Seats


def opening_facts(
    config: SimulatedAgentConfig,
    header: Mapping[str, str],
    begins: Mapping[str, Any],
    seats: Seats | None,
    rules: Iterable[InjectionRule],
    *,
    now: float,
) -> Iterator[Fact]:
    """Yield them, in their order.

    Args:
        config: The agent.
        header: The session's id, ADK's user and the seed, by the names of `SessionOpened`.
        begins: What ADK's session holds at first, by the names of `AgentSelected`.
        seats: Who plays; by default each agent's own model if it can be reached, else a person.
        rules: The injection rules that are in force.
        now: The time, in seconds since the epoch.

    Raises:
        EnvironmentDataError: The environment data that the agent brings along cannot be used.
    """
    yield SessionOpened(at=now, **header)
    yield AgentSelected(
        at=now,
        agent_name=config.name,
        app_name=config.app_name,
        environment_data=environment_data_of(config),
        **begins,
    )
    # A person answers the tools anyway: the journal need not say so.
    seats = Seats(agents=default_seats(config).agents) if seats is None else seats
    for target, agent_player in seats.agents.items():
        yield SeatChanged(at=now, seat="agent", target=target, player=agent_player)
    for target, tool_player in seats.tools.items():
        yield SeatChanged(at=now, seat="tool", target=target, player=tool_player)
    if in_force := tuple(rules):
        yield RulesChanged(at=now, rules=in_force)
