"""Reads from a journal's facts what a turn starts with, and makes what it runs in."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from google.adk.apps import App
from google.adk.events.event import Event
from google.genai import types

from simulator.agent_config import SimulatedAgentConfig
from simulator.base.json_values import JsonObject, copied, digest
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    Answered,
    EarlierData,
    Fact,
    RulesChanged,
    SeatChanged,
    TurnEnded,
    TurnStarted,
)
from simulator.runtime.adk.boundaries import seated_app, senders, without_senders
from simulator.runtime.adk.earlier_services import give_earlier
from simulator.runtime.adk.guard_plugin import GuardPlugin
from simulator.runtime.adk.watched_memory import WatchedMemory
from simulator.runtime.adk.watched_services import Ground, WatchedArtifacts, WatchedSessions

Path: TypeAlias = Sequence[tuple[int, Fact]]
"""Facts in order, each with its number in the journal."""


def random_of(seed: str, turn: int) -> random.Random:
    """Return the chance that ADK has in a turn: the same in every execution."""
    return random.Random(digest(seed, str(turn)))  # noqa: S311 - not for secrets


def guarded_app(config: SimulatedAgentConfig) -> App:
    """Return the agent as an app whose first plugin is the guard."""
    agent, guard = config.agent, GuardPlugin()
    if isinstance(agent, App):
        here = without_senders(seated_app(agent))
        return here.model_copy(update={"plugins": [guard, *here.plugins]})
    return App(name=agent.name, root_agent=agent, plugins=[guard])


def left_out(agent: Any) -> tuple[str, ...]:
    """Say which plugins of an agent's app take no part in its turns."""
    return tuple(
        f"The plugin {plugin.name} did not run. It sends data to another machine."
        for plugin in senders(agent)
    )


def turn_in_progress(facts: Path) -> tuple[TurnStarted, list[tuple[int, Answered]]]:
    """Return the fact with which the last turn started, and the answers in it."""
    place, started = next(
        (place, fact)
        for place, (_, fact) in reversed(list(enumerate(facts)))
        if isinstance(fact, TurnStarted)
    )
    return started, [(number, fact) for number, fact in facts[place:] if isinstance(fact, Answered)]


def is_as_answered(facts: Path) -> bool:
    """Return whether no seat and no rule was changed since the last answer."""
    since = itertools.takewhile(
        lambda fact: not isinstance(fact, Answered), (fact for _, fact in reversed(facts))
    )
    return not any(isinstance(fact, (SeatChanged, RulesChanged)) for fact in since)


def rules_at_rest(facts: Path) -> tuple[InjectionRule, ...]:
    """Return the rules as they were when the turn came to rest: a later switch counts from the next call on."""
    rules: tuple[InjectionRule, ...] = ()
    at_rest = rules
    for _, fact in facts:
        if isinstance(fact, RulesChanged):
            rules = fact.rules
        elif isinstance(fact, Answered | TurnStarted):
            at_rest = rules
    return at_rest


async def restored(
    ended: Sequence[tuple[int, TurnEnded]],
    initial_state: JsonObject,
    earlier: EarlierData,
    where: dict[str, str],
    events_of: Callable[[int, TurnEnded], list[Event]],
) -> Ground:
    """Return the services as they were after some turns.

    Args:
        ended: How the turns ended, with the numbers of the facts.
        initial_state: What the session's state held at first.
        earlier: The artifacts and the memory that there were at first.
        where: The session in ADK: its app, user and id.
        events_of: Gives the events of a turn.
    """
    ground = Ground(WatchedSessions(), WatchedArtifacts(), WatchedMemory(), where)
    events = [event for number, fact in ended for event in events_of(number, fact)]
    state = ended[-1][1].state if ended else initial_state
    await ground.sessions.restore(where, copied(state), events)
    await give_earlier(earlier, ground.artifacts, ground.memory, where)
    ground.memory.taken()  # what the agent remembers in its turns is noted alone
    for _, fact in ended:
        for saved in fact.artifacts:
            part, more = types.Part.model_validate(copied(saved.part)), saved.custom_metadata
            await ground.artifacts.save_artifact(
                **where, filename=saved.filename, artifact=part, custom_metadata=more
            )
        await ground.memory.restore(fact.memories, where, events)
    return ground
