"""Sessions that begin with events of earlier turns are replayed from there: with ADK's runner, several at once on one plugin."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.runners import InMemoryRunner
from google.genai import types

from evalset import HermeticEnvironment, UnrecordedCallError
from simulator import SimulatedAgentConfig
from simulator.seats.answers import returned
from tests.evalset.replay.desk_agent import keep, played

Answers = list[tuple[str, Any]]


@pytest.fixture
def agent(real: Any) -> LlmAgent:
    """The agent that is replayed."""
    root: LlmAgent = real.root_agent
    return root


class Replay:
    """One runner with one plugin.

    Args:
        agent: The agent.
        sidecar: The recorded environment.
        case: As of the plugin.
    """

    def __init__(self, agent: LlmAgent, sidecar: Path, case: str | None = None) -> None:
        self.plugin = HermeticEnvironment(sidecar, case=case, models="recorded")
        self.runner = InMemoryRunner(app=App(name="desk", root_agent=agent, plugins=[self.plugin]))

    async def goes_on(
        self, said: str | types.Part, earlier: Sequence[Event] = (), state: dict[str, Any] | None = None
    ) -> list[Event]:
        """Make a session of earlier events, say one thing more, and return the events of that."""
        service = self.runner.session_service
        session = await service.create_session(app_name="desk", user_id="user", state=state)
        for event in earlier:
            await service.append_event(session, event.model_copy(deep=True))
        part = types.Part(text=said) if isinstance(said, str) else said
        message = types.Content(role="user", parts=[part])
        return [
            event
            async for event in self.runner.run_async(
                user_id="user", session_id=session.id, new_message=message
            )
        ]


def user(text: str) -> Event:
    """What a user said."""
    return Event(author="user", content=types.Content(role="user", parts=[types.Part(text=text)]))


def answers(events: Sequence[Event]) -> Answers:
    """What tools answered in events."""
    return [(said.name or "", said.response) for event in events for said in event.get_function_responses()]


def first_turn(agent: LlmAgent, sidecar: Path, case: str, said: str) -> list[Event]:
    """Replay the first turn of a case, and return all events of it."""
    return [user(said), *asyncio.run(Replay(agent, sidecar, case).goes_on(said))]


def test_several_sessions_go_on_at_once_each_in_its_case(
    desk: SimulatedAgentConfig, agent: LlmAgent, tmp_path: Path
) -> None:
    """The user says the same in all cases; the responses, the text or the state that are there tell which case it is."""
    eval_set = tmp_path / "desk.evalset.json"
    for number in range(4):
        given = {
            "check": [{"status": number}, {"status": -number}],
            "note": returned({}, state_delta={"n": number}),
        }
        sidecar = keep(played(desk, ["check A; note A", "check A"], given), eval_set, f"case-{number}")
    turns = [first_turn(agent, sidecar, f"case-{number}", "check A; note A") for number in range(4)]
    replay = Replay(agent, sidecar)

    async def all_at_once() -> list[list[Event]]:
        return await asyncio.gather(*(replay.goes_on("check A", turn) for turn in turns))

    found = [answers(events) for events in asyncio.run(all_at_once())]
    assert found == [[("check", {"status": -number})] for number in range(4)]
    assert replay.plugin.missed == []


@pytest.mark.long
def test_a_leading_state_delta_is_the_state_that_the_case_began_with(
    desk: SimulatedAgentConfig, agent: LlmAgent, tmp_path: Path
) -> None:
    """Two cases in which the same is said and done begin with different states; so do sessions, in an event or at their creation."""
    eval_set = tmp_path / "desk.evalset.json"
    for tier in ("gold", "basic"):
        given = {"check": [{"n": 1}, {"tier": tier}]}
        simulation = played(desk, ["check A", "check B"], given, state={"tier": tier})
        sidecar = keep(simulation, eval_set, tier)
    earlier = first_turn(agent, sidecar, "gold", "check A")
    seeds = Event(author="user", actions=EventActions(state_delta={"tier": "gold"}))
    replay = Replay(agent, sidecar)
    assert answers(asyncio.run(replay.goes_on("check A", [seeds]))) == [("check", {"n": 1})]
    for begun, state in (([seeds, *earlier], None), (earlier, {"tier": "gold"})):
        assert answers(asyncio.run(replay.goes_on("check B", begun, state))) == [("check", {"tier": "gold"})]
    assert replay.plugin.missed == []


def test_a_session_gets_the_state_that_it_lacks(
    desk: SimulatedAgentConfig, agent: LlmAgent, tmp_path: Path
) -> None:
    """What the case began with, and what its tools changed in turns before; once, and nothing that the session has, or the eval set says."""
    eval_set = tmp_path / "desk.evalset.json"
    keep(played(desk, ["check C"], {"check": [{"n": 0}]}), eval_set, "plain")
    given = {
        "check": [{"n": 1}, {"n": 2}],
        "note": returned({}, state_delta={"noted": "A", "tier": "silver"}),
    }
    golden = played(desk, ["check A; note A", "check B"], given, state={"tier": "gold", "user:name": "Ada"})
    sidecar = keep(golden, eval_set, "gold")
    earlier = [
        event.model_copy(update={"actions": EventActions()})
        for event in first_turn(agent, sidecar, "gold", "check A; note A")
    ]
    seen: list[dict[str, Any]] = []

    def see(callback_context: CallbackContext) -> None:
        seen.append(callback_context.state.to_dict())

    agent.before_agent_callback = see
    replay = Replay(agent, sidecar)
    first = asyncio.run(replay.goes_on("check A; note A"))
    assert answers(first) == [("check", {"n": 1}), ("note", {})]
    assert [event.actions.state_delta for event in first if event.actions.state_delta] == [
        {"noted": "A", "tier": "silver"}
    ]
    assert answers(asyncio.run(replay.goes_on("check B", earlier))) == [("check", {"n": 2})]
    asyncio.run(replay.goes_on("check C"))
    asyncio.run(Replay(agent, sidecar, "gold").goes_on("check A; note A", state={"tier": "own"}))
    assert replay.plugin.missed == []
    name = {"user:name": "Ada"}
    assert seen == [
        {"tier": "gold", **name},
        {"tier": "silver", "noted": "A", **name},
        name,
        {"tier": "own", **name},
    ]


def test_a_confirmation_that_is_open_is_answered_by_the_message(
    desk: SimulatedAgentConfig, agent: LlmAgent, tmp_path: Path
) -> None:
    """The turn had begun: what it asked and was told is used up, and the rest is still there."""
    simulation = played(
        desk, ["check A; wipe A; check A"], {"check": [{"n": 1}, {"n": 2}], "wipe": {"wiped": 3}}
    )
    sidecar = keep(simulation, tmp_path / "desk.evalset.json", "one")
    whole = first_turn(agent, sidecar, "one", "check A; wipe A; check A")
    begun = whole[:3]
    call = types.FunctionCall(id="w", name="wipe", args={"order": "A"})
    asks = types.FunctionCall(
        id="q",
        name="adk_request_confirmation",
        args={"originalFunctionCall": call.model_dump(exclude_none=True), "toolConfirmation": {"hint": "?"}},
    )
    put_off = types.FunctionResponse(
        id="w", name="wipe", response={"error": "This tool call requires confirmation"}
    )
    open_turn = [
        *begun,
        Event(author="desk", content=types.Content(role="model", parts=[types.Part(function_call=call)])),
        Event(
            author="desk",
            content=types.Content(role="model", parts=[types.Part(function_call=asks)]),
            long_running_tool_ids={"q"},
        ),
        Event(
            author="desk", content=types.Content(role="user", parts=[types.Part(function_response=put_off)])
        ),
    ]
    yes = types.FunctionResponse(id="q", name="adk_request_confirmation", response={"confirmed": True})
    replay = Replay(agent, sidecar)
    events = asyncio.run(replay.goes_on(types.Part(function_response=yes), open_turn))
    assert answers(events) == [("wipe", {"wiped": 3}), ("check", {"n": 2})]
    assert replay.plugin.missed == []


def test_a_recording_may_begin_behind_events_that_it_does_not_hold(
    desk: SimulatedAgentConfig, agent: LlmAgent, tmp_path: Path
) -> None:
    """They are the background; what no recording holds, with them or without, is named by the turn that is not recorded."""
    sidecar = keep(
        played(desk, ["check A", "check B"], {"check": [{"n": 1}, {"n": 2}]}),
        tmp_path / "desk.evalset.json",
        "one",
    )
    told = Event(author="desk", content=types.Content(role="model", parts=[types.Part(text="hello")]))
    background = [user("hi"), told]
    replay = Replay(agent, sidecar)
    assert answers(asyncio.run(replay.goes_on("check A", background))) == [("check", {"n": 1})]
    recorded = first_turn(agent, sidecar, "one", "check A")
    assert answers(asyncio.run(replay.goes_on("check B", [*background, *recorded]))) == [("check", {"n": 2})]
    with pytest.raises(UnrecordedCallError, match=r"'hi' .*turn 1"):
        asyncio.run(replay.goes_on("check B", background))
