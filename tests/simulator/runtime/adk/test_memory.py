"""ADK's memory holds what the agent's code has put into it and not taken out: after a restart, an undo and on each branch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions import Session
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from simulator import Journal, Simulation
from simulator.facts import TurnEnded, TurnStarted
from simulator.runtime.adk.watched_services import WatchedMemory
from tests.simulator.runtime.stage import PATIENCE, agent_of, opened, resumed, say

WHERE = {"app_name": "app", "user_id": "user", "session_id": "own"}
_PLACE: Any = {"app_name": "app", "user_id": "user"}


async def _does_what_is_said(callback_context: Any) -> None:
    """Remember the session, or forget all that is found of violets; then note what is found."""
    said = callback_context.user_content.parts[0].text
    if said.startswith("remember"):
        await callback_context.add_session_to_memory()
    if said == "forget":
        for memory in (await callback_context.search_memory("violet")).memories:
            await callback_context.delete_memory(memory.id)
        await callback_context.delete_memory()
    found = (await callback_context.search_memory("violet")).memories
    callback_context.state["found"] = [memory.content.parts[0].text for memory in found]


@pytest.fixture
def agent() -> Any:
    """An agent that says "done", and remembers and forgets when it is told to."""
    return agent_of(*([say("done")] for _ in range(6)), after_agent_callback=_does_what_is_said)


def _ask(sim: Simulation, text: str) -> list[str]:
    """Say something; return what the memory holds of violets then."""
    assert sim.query(text, wait=PATIENCE)
    found: Any = sim.session.current_state["found"]
    return list(found)


def test_what_was_deleted_stays_deleted(agent: Any) -> None:
    """In later turns, where the session is remembered again, and when the session comes back from its journal."""
    with opened(agent) as sim:
        assert _ask(sim, "remember the violet") == ["remember the violet"]
        assert _ask(sim, "forget") == []
        text = sim.journal.to_json()
        assert _ask(sim, "remember") == []
    with resumed(text, agent, wait=PATIENCE) as again:
        assert _ask(again, "look") == []
        assert _ask(again, "remember") == []
        deleted = [each.deleted for each in _noted(again.journal) if each.deleted]
        assert len(deleted) == 1


def test_what_was_deleted_is_back_with_an_undo_and_on_another_branch(agent: Any) -> None:
    """Each way through the session has its own memory; the way that forgot finds nothing when somebody goes back to it."""
    with opened(agent) as sim:
        _ask(sim, "remember the violet")
        assert _ask(sim, "forget") == []
        forgot = sim.journal.head
        begun = [number for number, fact in sim.journal.path() if isinstance(fact, TurnStarted)]
        assert sim.move_head(sim.journal.parent(begun[-1]), wait=PATIENCE)
        assert _ask(sim, "look") == ["remember the violet"]
        assert sim.move_head(forgot, wait=PATIENCE)
        assert _ask(sim, "look") == []
        while sim.can_undo() and len(sim.session.turns) > 1:
            sim.undo()
        assert _ask(sim, "look") == ["remember the violet"]


def _noted(journal: Journal) -> list[Any]:
    return [each for _, fact in journal.path() if isinstance(fact, TurnEnded) for each in fact.memories]


_MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("session"), st.integers(0, 5)),
        st.tuples(st.just("events"), st.lists(st.integers(0, 8), max_size=4)),
        st.tuples(st.just("delete"), st.integers(0, 9)),
    ),
    max_size=12,
)
_OWN = 5
"""How many events the session has; those with higher numbers are of elsewhere."""


def _event(number: int) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=f"violet {number}")])
    return Event(id=f"event-{number}", author="user", invocation_id="one", content=content, timestamp=1.0)


async def _moved(memory: WatchedMemory, moves: list[tuple[str, Any]]) -> None:
    for kind, what in moves:
        if kind == "session":
            own = Session(id="own", app_name="app", user_id="user")
            own.events.extend(_event(number) for number in range(what))
            await memory.add_session_to_memory(own)
        elif kind == "events":
            await memory.add_events_to_memory(**_PLACE, events=[_event(number) for number in what])
        else:
            await memory.delete_memory(**_PLACE, memory_id=f"event-{what}" if what else None)


async def _held(memory: WatchedMemory) -> list[str]:
    found = await memory.search_memory(**_PLACE, query="violet")
    return [f"{each.id} {each.content.parts}" for each in found.memories]


@given(_MOVES, _MOVES)
def test_what_was_noted_gives_the_same_memory_again(
    before: list[tuple[str, Any]], after: list[tuple[str, Any]]
) -> None:
    """Whatever was put in and taken out, in whatever order; and what is done next does the same to both."""

    async def both() -> None:
        first, second = WatchedMemory(), WatchedMemory()
        await _moved(first, before)
        await second.restore(first.taken(), WHERE, [_event(number) for number in range(_OWN)])
        assert second.taken() == ()
        assert await _held(second) == await _held(first)
        await _moved(first, after)
        await _moved(second, after)
        assert await _held(second) == await _held(first)
        assert second.taken() == first.taken()

    asyncio.run(both())
