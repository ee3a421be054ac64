"""The replay of one session: how far it has gone along its recording, what a person answers in it, and who answers what was not recorded.

A `SessionReplay` follows the recording (`session_following`). `RecordedConversation` answers the questions of a run to the user (`RequestInput`), and `Improvised` the calls
that were not recorded, where a policy says so: by the case's rules first, then by an offline draft. Nothing real runs. Threads may use a replay at once.

ADK ends a run where a graph asks the user, and goes on in another one that begins with the answer. `adk eval` knows nothing of that:
it sends the query and takes what one `run_async` gives. So the answers are sent here, in the order in which they were given, and
what comes of them belongs to the same `run_async`. A listener sees each question and its answer as a call and its
response, with the ids of the recording: ADK draws new ones in each run, and a golden holds those of then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from evalset.golden_trace.golden_steps import spoken
from evalset.recorded.recorded_turns import question_of, real_calls
from evalset.recorded.recording import Author, RecordedCall, RecordedCase
from evalset.replay.case_following import (
    CaseFollowed,
    InputQuestion,
    InputReply,
    OtherwiseError,
    UnrecordedError,
)
from evalset.replay.model_choice import Policy
from evalset.replay.session_following import SessionFollowed
from simulator.base.json_values import copied
from simulator.environment.injection.rule_effects import HangEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Provenance
from simulator.runtime.adk.adk_private import Run
from simulator.runtime.adk.codec import jsonable
from simulator.runtime.plugin.call_claims import PluginAnswering
from simulator.runtime.plugin.session_play import SessionPlay
from simulator.runtime.turns.waiting_request import Call
from simulator.session.adk_event_fields import USER_AUTHOR, output_text
from simulator.session.model import CONFIRMATION, INTERRUPT_ID, REQUEST_INPUT, SessionEnvironment

_AT_ONCE = 0.001


class SessionReplay:
    """The replay of one session, and how far it has gone. Threads may use it at once."""

    def __init__(self, environment_data: str = "") -> None:
        self.lock = threading.RLock()
        self.followed: SessionFollowed | None = None
        self.improvised = Improvised(environment_data)

    @property
    def case(self) -> SessionFollowed:
        """The cases that the session may be.

        Raises:
            UnrecordedError: Nobody has said anything in it yet.
        """
        if self.followed is None:
            raise UnrecordedError("this session has no user message yet")
        return self.followed

    @property
    def nearest(self) -> CaseFollowed | None:
        """The case that the session is nearest to; None where nobody has said anything in it yet, or none fitted."""
        with self.lock:
            return self.followed.nearest if self.followed else None


class Improvised:
    """Answers the calls of one session that were not recorded. Threads may use it at once.

    It knows what was answered before: the recorded answers count for the rules, and a draft does not contradict them.

    Args:
        environment_data: What there is in the agent's world when a session begins.
    """

    def __init__(self, environment_data: str = "") -> None:
        self._data = environment_data
        self._lock = threading.Lock()
        self._heard: list[tuple[Call, RecordedCall]] = []
        self._plays: dict[str, SessionPlay] = {}

    def hear(self, question: Call, call: RecordedCall) -> None:
        """Take in a call that was answered as recorded."""
        with self._lock:
            self._heard.append((question, call))
            for play in self._plays.values():
                _learn(play, question, call)

    async def answer(
        self,
        eval_id: str,
        known: Mapping[str, RecordedCase],
        question: Call,
        within: tuple[str, ...],
        policy: Policy,
    ) -> RecordedCall | None:
        """Answer a call of the session of a case, by its rules and with what is known; None where the policy lets nobody answer."""
        play = self._play(eval_id, known)
        answering = PluginAnswering(play, None, time.time)
        told, made = await answering.answer(question, "offline" if policy == "generate" else "refuse", None)
        if made.source == "refused":
            return None
        return RecordedCall(
            id=question.call_id,
            tool=question.name,
            agent=question.agent,
            within=within,
            arguments=question.arguments,
            outcome=told.outcome,
            beneath=told.beneath,
            effects=told.effects,
            author=Author.of(told.provenance),
        )

    def _play(self, eval_id: str, known: Mapping[str, RecordedCase]) -> SessionPlay:
        with self._lock:
            if eval_id not in self._plays:
                play = self._plays[eval_id] = _play_of(eval_id, known, self._data)
                for question, call in self._heard:
                    _learn(play, question, call)
            return self._plays[eval_id]


def words_of(author: Author) -> str:
    """Return who made an answer."""
    notes = f" ({'; '.join(author.notes)})" if author.notes else ""
    if author.source == "injected":
        return f"the rule {author.by!r}{notes}"
    return f"a generated draft{notes}"


def _play_of(eval_id: str, known: Mapping[str, RecordedCase], data: str) -> SessionPlay:
    recordings = {name: tuple(one for _, one in real_calls(name, case)) for name, case in known.items()}
    environment = SessionEnvironment(data=data, is_data_brought=bool(data), recordings=recordings)
    own = known.get(eval_id)
    rules = tuple(_without_waiting(rule) for rule in own.rules) if own else ()
    return SessionPlay(environment, rules, own.seed if own else "")


def _without_waiting(rule: InjectionRule) -> InjectionRule:
    """Return a rule that takes no time: nobody watches a replay."""
    effect = rule.effect
    if isinstance(effect, HangEffect):
        effect = effect.model_copy(update={"timeout_seconds": _AT_ONCE})
    return rule.model_copy(update={"effect": effect, "latency_seconds": 0.0, "latency": None})


def _learn(play: SessionPlay, question: Call, call: RecordedCall) -> None:
    play.judge(question)
    by = Provenance(source="recorded")
    play.take(question, call.outcome, by, at=0.0, beneath=call.beneath)


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
        with self._replayed.lock:
            if self._replayed.case.leaves_open(question):
                return question.id
            try:
                reply = self._replayed.case.input(question)
            except UnrecordedError as error:
                self._missing = self._missing or error
                near = nearest.nearest_input(question) if (nearest := self._replayed.nearest) else None
                return (near.id if near else "") or question.id
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
