"""Finds the agent that a recording may be of, where no agent has its name any more: by the tools, as they are declared."""

from __future__ import annotations

from collections.abc import Iterable

from evalset.recorded.known_agents import KnownAgent
from evalset.recorded.recording import RecordedCase


def fitting_agent(recorded: Iterable[RecordedCase], agents: Iterable[KnownAgent]) -> str:
    """Return the app name of the one agent that declares every recorded tool as it was; empty where none or several do.

    Of recordings that hold no declarations the names of the tools that were called decide. Those without tools fit no agent:
    nothing speaks for one.
    """
    cases = list(recorded)
    wanted = {(name, tool.schema_digest) for case in cases for name, tool in case.tools.items()}
    called = {call.tool for case in cases for turn in case.turns for call in turn.calls if not call.within}
    if not called:
        return ""
    fits = [
        agent.name
        for agent in agents
        if all(agent.digest(name) == digest for name, digest in wanted) and all(map(agent.can_call, called))
    ]
    return fits[0] if len(set(fits)) == 1 else ""
