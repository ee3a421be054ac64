"""Finds the case and the turn of a session that began before a replay saw it: from the events that are already there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalset.recorded.recorded_turns import question_of
from evalset.recorded.recording import RecordedCase
from evalset.replay.case_following import IncomingCall, InputQuestion, SessionFollowed
from simulator.base.json_values import JsonObject, same
from simulator.base.state_scopes import lasting
from simulator.session.adk_event_fields import (
    USER_AUTHOR,
    function_calls,
    function_responses,
    parts_of,
)
from simulator.session.model import CONFIRMATION, INTERRUPT_ID, REQUEST_INPUT

_ASKS_USER = frozenset({CONFIRMATION, REQUEST_INPUT})


def follow(
    cases: Mapping[str, RecordedCase],
    message: JsonObject,
    *,
    events: Sequence[JsonObject] = (),
    state: JsonObject | None = None,
) -> SessionFollowed:
    """Follow a session up to a user message, along the cases that it may be.

    Events are taken as the earlier turns of a case where one has such turns. Where none has, the case may begin at a later user
    message, at the last with this one: what was said before is then the background of the recording. Cases that began with the state of the session
    come before those of which it lacks some.

    Args:
        cases: What is recorded, by eval ids.
        message: What the user says now.
        events: ADK's events of the session before the message, in JSON, oldest first.
        state: The state of the session before the message; None where it does not count, as the case is known.
    """
    begins = [place for place, event in enumerate(events) if _is_query(event)]
    first: SessionFollowed | None = None
    for begin in [*begins, len(events)]:
        for alike in [cases] if state is None else _of_state(cases, state, events, begin):
            followed = SessionFollowed(alike)
            _Past(followed).take(events[begin:])
            followed.hear(message)
            if followed.eval_ids:
                return followed
            first = first or followed
    return first or SessionFollowed(cases)


def _of_state(
    cases: Mapping[str, RecordedCase], state: JsonObject, events: Sequence[JsonObject], begin: int
) -> list[Mapping[str, RecordedCase]]:
    """Return the cases that began with the state that a session had at an event, those of which it has only a part, and all."""
    before, since = _delta(events[:begin]), _delta(events[begin:])
    began = {name: case for name, case in cases.items() if _within(before, case.state)}
    equal = {name: case for name, case in began.items() if same({**case.state, **since}, state)}
    lacking = {name: case for name, case in began.items() if _within(state, {**case.state, **since})}
    return [each for each in (equal, lacking, cases) if each]


def _within(state: JsonObject, whole: JsonObject) -> bool:
    return all(key in whole and same(whole[key], value) for key, value in state.items())


def _delta(events: Iterable[JsonObject]) -> JsonObject:
    found: JsonObject = {}
    for event in events:
        actions: Any = event.get("actions") or {}
        found |= lasting(actions.get("stateDelta") or {})
    return found


def _is_query(event: JsonObject) -> bool:
    """Return whether a user says something in an event, and does not only answer a call."""
    return (
        event.get("author") == USER_AUTHOR
        and bool(parts_of(event.get("content")))
        and not function_responses(event)
    )


class _Past:
    """Takes in the events of earlier turns: which cases they fit, and what they used up of them."""

    def __init__(self, followed: SessionFollowed) -> None:
        self._followed = followed
        self._calls: dict[str, JsonObject] = {}

    def take(self, events: Iterable[JsonObject]) -> None:
        for event in events:
            content: Any = event.get("content")
            if not parts_of(content):
                continue
            if event.get("author") == USER_AUTHOR:
                self._take_inputs(event)
                self._followed.hear(content)
            else:
                self._take_agents(event)

    def _take_agents(self, event: JsonObject) -> None:
        calls, responses = function_calls(event), function_responses(event)
        self._calls |= {str(call.get("id")): call for call in calls}
        for response in responses:
            asked = self._calls.get(str(response.get("id")))
            if asked is not None and response.get("name") not in _ASKS_USER:
                arguments: Any = asked.get("args") or {}
                self._followed.was_called(
                    IncomingCall(str(asked.get("name")), arguments), response.get("response")
                )
        if not responses and not any(call.get("name") in _ASKS_USER for call in calls):
            content: Any = event.get("content")
            self._followed.was_said(str(event.get("author")), content)

    def _take_inputs(self, event: JsonObject) -> None:
        for response in function_responses(event):
            asked = self._calls.get(str(response.get("id")))
            if asked is not None and response.get("name") == REQUEST_INPUT:
                arguments: Any = asked.get("args") or {}
                question = InputQuestion(
                    str(arguments.get(INTERRUPT_ID) or asked.get("id")), "", question_of(arguments)
                )
                self._followed.was_typed(question)
