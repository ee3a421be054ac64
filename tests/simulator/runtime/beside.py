"""Plays one agent through stock ADK and through a simulation whose seats are all real, and gives both in one form."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.genai import types

from simulator.runtime.adk.codec import event_json, jsonable
from tests.simulator.runtime.stage import PATIENCE, opened

_MADE_ID = re.compile(
    r"(adk-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|adk-[0-9a-f]{16,}"
)
_CONFIRMATION = "adk_request_confirmation"


@dataclass(frozen=True)
class Decision:
    """The user's answer to the oldest confirmation that is open."""

    confirmed: bool


Message = str | Decision


@dataclass
class Log:
    """What callbacks were called with, in order."""

    lines: list[list[Any]] = field(default_factory=list)

    def note(self, *line: Any) -> None:
        """Take a line down as it is now."""
        self.lines.append(json.loads(json.dumps(jsonable(list(line)))))


@dataclass(frozen=True)
class Played:
    """One play: the events of the session, the callbacks' log, and the error that each turn ended with."""

    events: Any
    log: Any
    errors: list[str | None]
    state: Any


Make = Callable[[Log], BaseAgent | App]


def both(
    make: Make, messages: Sequence[Message] = ("go",), max_llm_calls: int = 500
) -> tuple[Played, Played]:
    """Return what stock ADK does with an agent, and what the simulation does."""
    return asyncio.run(_stock(make, messages, max_llm_calls)), seated(make, messages, max_llm_calls)


async def _stock(make: Make, messages: Sequence[Message], max_llm_calls: int) -> Played:
    log = Log()
    made = make(log)
    runner = InMemoryRunner(app=made if isinstance(made, App) else App(name="stage", root_agent=made))
    where: dict[str, Any] = {"app_name": "stage", "user_id": "user", "session_id": "session"}
    await runner.session_service.create_session(**where)
    errors: list[str | None] = []
    for message in messages:
        session = await runner.session_service.get_session(**where)
        assert session is not None
        written = [event_json(event) for event in session.events]
        running = runner.run_async(
            user_id="user",
            session_id="session",
            new_message=_content(message, written),
            run_config=RunConfig(max_llm_calls=max_llm_calls),
        )
        errors.append(await _error_of(running))
    session = await runner.session_service.get_session(**where)
    assert session is not None
    return _played([event_json(event) for event in session.events], log, errors, session.state)


async def _error_of(running: Any) -> str | None:
    try:
        async for event in running:
            assert isinstance(event, Event)
    except Exception as error:  # noqa: BLE001 - whatever the agent raises is what is compared
        return f"{type(error).__name__}: {error}"
    return None


def _content(message: Message, events: list[Any]) -> types.Content:
    if isinstance(message, str):
        return types.Content(role="user", parts=[types.Part(text=message)])
    asked = [
        part["functionCall"]["id"]
        for event in events
        for part in event.get("content", {}).get("parts", [])
        if part.get("functionCall", {}).get("name") == _CONFIRMATION
    ]
    response = types.FunctionResponse(
        id=asked[-1], name=_CONFIRMATION, response={"confirmed": message.confirmed}
    )
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def seated(make: Make, messages: Sequence[Message] = ("go",), max_llm_calls: int = 500) -> Played:
    """Play an agent through a simulation whose seats are all real."""
    log = Log()
    with opened(make(log), tools="real") as sim:
        for message in messages:
            if isinstance(message, str):
                assert sim.query(message, wait=PATIENCE, max_llm_calls=max_llm_calls)
            else:
                open_call = next(call for call in sim.session.open_calls if call.is_confirmation)
                assert sim.confirm(open_call.call_id, message.confirmed, wait=PATIENCE)
            assert not sim.pending
        session = sim.session
    events = [event for turn in session.turns for event in turn.events]
    errors = [
        None if turn.error is None else f"{turn.error.short_type}: {turn.error.message}"
        for turn in session.turns
    ]
    return _played(events, log, errors, session.current_state)


def _played(events: list[Any], log: Log, errors: list[str | None], state: Any) -> Played:
    timeless = [_without_times(event) for event in events]
    text = json.dumps([timeless, log.lines, errors, jsonable(dict(state))])
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(), f"id-{len(numbers):03}")

    events, lines, errors, state = json.loads(_MADE_ID.sub(numbered, text))
    for event in events:
        event.get("longRunningToolIds", []).sort()
    return Played(events, lines, errors, state)


def _without_times(event: Any) -> Any:
    return {name: value for name, value in event.items() if name != "timestamp"}


def assert_same(make: Make, messages: Sequence[Message] = ("go",), max_llm_calls: int = 500) -> Played:
    """Play an agent both ways, which must not differ; return what the simulation does."""
    stock, ours = both(make, messages, max_llm_calls)
    assert differences(stock, ours) == []
    return ours


def differences(stock: Played, ours: Played) -> list[str]:
    """Return where two plays differ, one line each; empty where they are the same."""
    found: list[str] = []
    for name in ("events", "log", "errors"):
        theirs, our = getattr(stock, name), getattr(ours, name)
        found += [
            f"{name}[{place}]: {a!r} is now {b!r}"
            for place, (a, b) in enumerate(zip(theirs, our, strict=False))
            if a != b
        ]
        if len(theirs) != len(our):
            found.append(f"{name}: {len(theirs)} are now {len(our)}")
    return found if stock.state == ours.state else [*found, f"state: {stock.state!r} is now {ours.state!r}"]
