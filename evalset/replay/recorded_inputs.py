"""Answers a run's questions to the user (`RequestInput`) as a person did when they were recorded, and lets the run go on.

ADK ends a run where a graph asks the user, and goes on in another one that begins with the answer. `adk eval` knows nothing of that:
it sends the query and takes what one `run_async` gives. So the answers are sent here, in the order in which they were given, and
what comes of them belongs to the same `run_async`. A listener sees each question and its answer as a call and its
response, with the ids of the recording: ADK draws new ones in each run, and a golden holds those of then.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from evalset.golden_trace.golden_steps import spoken
from evalset.recorded.recorded_turns import question_of
from evalset.replay.case_following import InputQuestion, InputReply, OtherwiseError, UnrecordedError
from evalset.replay.session_replay import SessionReplay
from simulator.base.json_values import copied
from simulator.runtime.adk.adk_private import Run
from simulator.runtime.adk.codec import jsonable
from simulator.session.adk_event_fields import USER_AUTHOR, output_text
from simulator.session.model import CONFIRMATION, INTERRUPT_ID, REQUEST_INPUT


class _Open(NamedTuple):
    """A question that waits for its answer, the event that asked it, and the answer."""

    question: InputQuestion
    event: Event
    reply: InputReply


class RecordedConversation:
    """A recorded conversation: one query, and the questions that the agent asked because of it.

    Args:
        replayed: The session, which knows what was recorded.
    """

    def __init__(self, replayed: SessionReplay) -> None:
        self._replayed = replayed
        self._open: dict[str, _Open] = {}
        self._places: dict[str, int] = {}
        self._missing: UnrecordedError | None = None
        self._output: Event | None = None
        self._ending: Event | None = None
        self._has_response = self._waits = False

    async def events(self, run: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Yield the events of a run, and of those that go on with the user's answers.

        Raises:
            UnrecordedError: It was asked what was not recorded; it is raised after the event that asks.
        """
        while True:
            self._output, self._ending, self._has_response = None, None, False
            self._places.clear()
            async with aclosing(self._of_one_run(run, given)) as events:
                async for event in events:
                    yield event
            if self._missing is not None:
                raise self._missing
            if not self._open or _is_aborted(given):
                break
            answered = self._next()
            given = {**given, **_reply(answered)}
            yield _response(answered)
        if (final := self._final()) is not None:
            yield final

    async def _of_one_run(self, run: Run, given: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """Yield what a run gives, as it is shown; from its first question on at its end, as another one may belong before it."""
        held: list[Event] = []
        async with aclosing(run(**given)) as events:
            try:
                async for event in events:
                    shown = self._shown(event)
                    if held or self._place(shown):
                        held.append(shown)
                    else:
                        yield shown
            except Exception:
                for shown in self._in_recorded_order(held):
                    yield shown
                raise
        for shown in self._in_recorded_order(held):
            yield shown

    def _in_recorded_order(self, events: list[Event]) -> list[Event]:
        """Return events with the questions among them in the order in which they were asked when they were recorded.

        All of them are open at once: which of several branches asks first is chance.
        """
        asking = [at for at, event in enumerate(events) if self._place(event)]
        ordered = list(events)
        for at, shown in zip(asking, sorted((events[at] for at in asking), key=self._place), strict=True):
            ordered[at] = shown
        return ordered

    def _place(self, shown: Event) -> int:
        """Return the recorded place of the first new question that an event asks; 0 where there is none."""
        places = (self._places.get(call.id or "", 0) for call in shown.get_function_calls())
        return next(filter(None, places), 0)

    def _next(self) -> _Open:
        """Take the question that was answered first."""
        first = min(self._open.values(), key=lambda each: each.reply.place)
        del self._open[first.question.id]
        return first

    def _shown(self, event: Event) -> Event:
        """Take in an event; return it as it is shown.

        Raises:
            OtherwiseError: It answers a question that the user had to answer.
        """
        if any(answer.id in self._open for answer in event.get_function_responses()):
            raise OtherwiseError("no longer asks the user for input")
        self._note(event)
        calls = [call for call in event.get_function_calls() if call.name == REQUEST_INPUT and call.id]
        if not calls or event.partial:
            return event
        known = {str(call.id): self._asked(call, event) for call in calls}
        ids = set(event.long_running_tool_ids or ()) - known.keys()
        return event.model_copy(
            update={"content": _with_ids(event.content, known), "long_running_tool_ids": ids or None}
        )

    def _asked(self, call: types.FunctionCall, event: Event) -> str:
        """Take in a question; return the id that it has in the recording, or its own where there is none."""
        path = event.node_info.path if event.node_info else ""
        question = InputQuestion(str(call.id), path, question_of(jsonable(call.args or {})))
        if question.id in self._open:  # it is asked again, as others of the run were answered
            return self._open[question.id].reply.recorded.id or question.id
        if self._replayed.leaves_open(question):
            return question.id
        try:
            reply = self._replayed.reply_to(question)
        except UnrecordedError as error:
            self._missing = self._missing or error
            return self._replayed.id_like(question) or question.id
        self._open[question.id] = _Open(question, event, reply)
        shown = reply.recorded.id or question.id
        self._places[shown] = reply.recorded.asked
        return shown

    def _note(self, event: Event) -> None:
        parts = event.content.parts if event.content else None
        if event.output is not None and not parts:
            self._output = event
        elif event.author == USER_AUTHOR or event.long_running_tool_ids or not event.is_final_response():
            self._waits = self._waits or any(call.name == CONFIRMATION for call in event.get_function_calls())
        elif parts and all(part.function_response for part in parts):
            self._ending = event
        else:
            self._has_response = self._has_response or bool(parts)

    def _final(self) -> Event | None:
        """Write the data that a graph or a tool ended with as its final response, as a golden holds it; None where it said something."""
        last = self._ending or self._output
        if last is None or self._has_response or self._waits:
            return None
        text = spoken(last.content) if last is self._ending else output_text(jsonable(last.output))
        content = types.Content(role="model", parts=[types.Part(text=text)])
        return Event(author=last.author, invocation_id=last.invocation_id, content=content)


def _with_ids(content: types.Content | None, known: Mapping[str, str]) -> types.Content | None:
    """Return a content in which the questions have other ids."""
    parts = [_with_id(part, known) for part in (content.parts if content else None) or ()]
    return content.model_copy(update={"parts": parts}) if content is not None else None


def _with_id(part: types.Part, known: Mapping[str, str]) -> types.Part:
    call = part.function_call
    own = known.get(call.id or "") if call is not None else None
    if call is None or own is None:
        return part
    arguments = dict(call.args or {})
    if INTERRUPT_ID in arguments:
        arguments[INTERRUPT_ID] = own
    return part.model_copy(update={"function_call": call.model_copy(update={"id": own, "args": arguments})})


def _reply(answered: _Open) -> dict[str, Any]:
    """Return what `run_async` is given to go on with an answer."""
    part = _answer(answered, answered.question.id)
    message = types.Content(role=USER_AUTHOR, parts=[part])
    return {
        "new_message": message,
        "invocation_id": None,
        "state_delta": None,
        "yield_user_message": False,
    }


def _response(answered: _Open) -> Event:
    """Write the user's answer as the response to the question."""
    asked = answered.event
    part = _answer(answered, answered.reply.recorded.id or answered.question.id)
    return Event(
        author=asked.author,
        invocation_id=asked.invocation_id,
        branch=asked.branch,
        content=types.Content(role=USER_AUTHOR, parts=[part]),
    )


def _answer(answered: _Open, call_id: str) -> types.Part:
    response = copied(answered.reply.recorded.response)
    return types.Part(
        function_response=types.FunctionResponse(id=call_id, name=REQUEST_INPUT, response=response)
    )


def _is_aborted(given: Mapping[str, Any]) -> bool:
    signal = given.get("abort_signal")
    return signal is not None and signal.is_set()
