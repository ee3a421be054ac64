"""Puts in place what the turns that have ended left behind: the session, its artifacts, and what was remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from google.adk.events.event import Event
from google.genai import types

from simulator.base.json_values import JsonObject, copied
from simulator.facts import TurnEnded
from simulator.runtime.adk.watched_memory import WatchedMemory
from simulator.runtime.adk.watched_services import Ground, WatchedArtifacts, WatchedSessions


async def restored(
    ended: Sequence[tuple[int, TurnEnded]],
    initial_state: JsonObject,
    where: dict[str, str],
    events_of: Callable[[int, TurnEnded], list[Event]],
) -> Ground:
    """Return the services as they were after some turns.

    Args:
        ended: How the turns ended, with the numbers of the facts.
        initial_state: What the session's state held at first.
        where: The session in ADK: its app, user and id.
        events_of: Gives the events of a turn.
    """
    ground = Ground(WatchedSessions(), WatchedArtifacts(), WatchedMemory(), where)
    events = [event for number, fact in ended for event in events_of(number, fact)]
    state = ended[-1][1].state if ended else initial_state
    await ground.sessions.restore(where, copied(state), events)
    for _, fact in ended:
        for saved in fact.artifacts:
            part, more = types.Part.model_validate(copied(saved.part)), saved.custom_metadata
            await ground.artifacts.save_artifact(
                **where, filename=saved.filename, artifact=part, custom_metadata=more
            )
        await ground.memory.restore(fact.memories, where, events)
    return ground
