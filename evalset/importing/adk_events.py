"""Makes facts of a studio's session from the events of an ADK session, so that it is exported and recorded like one."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import EvalCase
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from evalset.errors import GoldenTraceError
from evalset.files.eval_names import usable_eval_id
from evalset.golden_trace.builder import GoldenTraceBuilder
from evalset.importing.gathered import FoundCase, ImportProblemError
from evalset.recorded.recorder import recorded_case
from evalset.recorded.recording import BY_IMPORT
from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject, NotJsonError, copied
from simulator.environment.world.tool_settings import steers
from simulator.facts import (
    AgentSelected,
    Deferred,
    Fact,
    ModelAnswered,
    Outcome,
    Provenance,
    RequestDigests,
    Returned,
    SessionOpened,
    ToolAnswered,
    ToolEffects,
    TurnEnded,
    TurnStarted,
)
from simulator.runtime.adk.codec import event_json
from simulator.session import SessionFold, SessionState
from simulator.session.adk_event_fields import USER_AUTHOR
from simulator.session.model import CONFIRMATION, REQUEST_INPUT

_ASKS_USER = "adk_request_"
_DONE_BY_TOOLS = ("skip_summarization", "escalate", "transfer_to_agent")
"""The actions of ADK's by which a tool steers what follows its response."""

_REJECTED: JsonObject = {"error": "This tool call is rejected."}
_NOTHING = RequestDigests(parts={}, chain="")
_NO_REPLY = f"no reply of the user to the question {{!r}}. Add it as a function response of `{REQUEST_INPUT}` with this ID"
TAKEN_IN = Provenance(source="recorded", by=BY_IMPORT)


class AdkSession(NamedTuple):
    """A session of ADK's.

    Attributes:
        session_id: Its id.
        app_name: ADK's name of the app.
        user_id: Whose it is.
        state: What its state is at the end, as far as that is known.
        events: Its events, in their order.
        first: What its state was at the beginning; None where only the end tells.
    """

    session_id: str
    app_name: str
    user_id: str
    state: JsonObject
    events: Sequence[Event]
    first: JsonObject | None = None


class _Turn(NamedTuple):
    """A message of the user and what followed; `given` is what the user set in the state, with the message or before it."""

    message: Event
    events: list[Event]
    given: JsonObject


def facts_of(session: AdkSession) -> list[Fact]:
    """Read a session of ADK's as the facts of a session of ours.

    What ADK does not keep is not told: exceptions and artifacts, who answered, and the models inside of agents that are tools.

    Raises:
        ImportProblemError: It holds nothing that a user said, or what JSON cannot hold.
    """
    turns = list(_turns(list(_with_ids(session.events))))
    if not turns:
        raise ImportProblemError("no user message")
    try:
        return list(_Teller(session, turns).facts())
    except NotJsonError as error:
        raise ImportProblemError(f"contains a value that is {error}") from error


def first_state(session: AdkSession) -> JsonObject:
    """Return what a session's state held at first; where that is not given, as far as its end tells: what no event has changed.

    What agents changed before the user said anything belongs to it.
    """
    if session.first is not None:
        return dict(copied(lasting(session.first)))
    changed = {key for event in session.events for key in event.actions.state_delta}
    kept = {key: value for key, value in session.state.items() if key not in changed}
    for event in _leading(session.events):
        kept |= event.actions.state_delta
    return dict(copied(lasting(kept)))


def _leading(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events before the user's first message."""
    return itertools.takewhile(lambda event: not _is_message(event), events)


def _is_message(event: Event) -> bool:
    return _is_of_user(event) and bool(event.content and event.content.parts)


def _is_of_user(event: Event) -> bool:
    return event.author == USER_AUTHOR and not _path(event)


def _spoken(events: Iterable[Event]) -> frozenset[str]:
    """Return the invocations in which something was said. Another one only has what the program around the agent appended."""
    return frozenset(
        ["", *(event.invocation_id for event in events if event.content and event.content.parts)]
    )


def _sets_state(event: Event, spoken: frozenset[str]) -> bool:
    """Return whether an event is state that no agent set: the user did, or the program around the agent."""
    return bool(event.actions.state_delta) and (_is_of_user(event) or event.invocation_id not in spoken)


def _turns(events: Sequence[Event]) -> Iterator[_Turn]:
    """Part events where the user speaks; what comes before is left out. State that is set between messages goes with the next one."""
    turn: _Turn | None = None
    spoken = _spoken(events)
    given: dict[str, Any] = {}
    for event in events:
        if _is_message(event):
            if turn is not None:
                yield turn
            turn, given = _Turn(event, [event], {**given, **event.actions.state_delta}), {}
        elif _sets_state(event, spoken):
            given |= event.actions.state_delta
        elif turn is not None:
            turn.events.append(event)
    if turn is not None:
        yield turn


def _left_out(session: AdkSession) -> Iterator[str]:
    """Say what of a session its case does not hold."""
    said = [event for event in _leading(session.events) if event.content and event.content.parts]
    if said:
        are = "event is" if len(said) == 1 else "events are"
        yield f"before the first user message, {len(said)} {are} left out. The state that was set there is in the initial state"
    set_last = itertools.takewhile(lambda event: not _is_message(event), reversed(session.events))
    replies = (event for event in session.events if _is_message(event) and event.get_function_responses())
    spoken = _spoken(session.events)
    late = [*(event for event in set_last if _sets_state(event, spoken)), *replies]
    if names := sorted({name for event in late for name in lasting(event.actions.state_delta)}):
        yield f"state that was set with a reply, or after the last message, by no agent is left out: {', '.join(names)}"


def _path(event: Event) -> str:
    """Return the node that an event comes from: ADK's workflows say things in the user's name, too."""
    return str(getattr(getattr(event, "node_info", None), "path", None) or "")


def _with_ids(events: Iterable[Event]) -> Iterator[Event]:
    """Yield complete events whose calls have ids of their own, and whose responses have those of their calls."""
    ids = CallIds()
    for given in events:
        if given.partial:
            continue
        with_calls = given.get_function_calls() or given.get_function_responses()
        # Nothing of an event without calls is changed here.
        event = copy.deepcopy(given) if with_calls or given.long_running_tool_ids else given
        for call in event.get_function_calls():
            call.id = ids.of_call(call)
        for response in event.get_function_responses():
            response.id = ids.of_response(response)
        if event.long_running_tool_ids:
            event.long_running_tool_ids = {ids.now(each) or each for each in event.long_running_tool_ids}
        yield event


class CallIds:
    """Gives each call of a session an id that no other has, and each response that of its call."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._taken: set[str] = set()
        self._now: dict[str, str] = {}
        self._waiting: dict[str, str] = {}

    def of_call(self, call: types.FunctionCall) -> str:
        """Return the id of the next call."""
        own = call.id or ""
        free = own if own and own not in self._taken else f"{own or 'call'}-import-{next(self._numbers)}"
        self._taken.add(free)
        self._now[own] = free
        self._waiting[free] = call.name or ""
        return free

    def of_response(self, response: types.FunctionResponse) -> str | None:
        """Return the id of the call that the next response answers: the named one, or the first of the tool that waits.

        A response without an id that is named by the id of a question to the user gets the question's name.
        """
        of_tool = (call_id for call_id, called in self._waiting.items() if called == response.name)
        if response.id:
            found = self._now.get(response.id)
        elif (found := next(of_tool, None) or self._now.get(response.name or "")) is not None:
            response.name = self._waiting.get(found, response.name)
        if found is not None:
            self._waiting.pop(found, None)
        return found

    def now(self, call_id: str) -> str | None:
        """Return the id that the last call of this id got; None where there was none."""
        return self._now.get(call_id)


class _Teller:
    """Tells the turns of one session."""

    def __init__(self, session: AdkSession, turns: Sequence[_Turn]) -> None:
        self._session, self._turns = session, turns
        everything = [event for turn in turns for event in turn.events]
        self._calls = {call.id or "": call for event in everything for call in event.get_function_calls()}
        self._callers = {
            call.id or "": event.author for event in everything for call in event.get_function_calls()
        }
        self._questions = {
            str(call_id): str((call.args or {}).get("originalFunctionCall", {}).get("id") or "")
            for call_id, call in self._calls.items()
            if call.name == CONFIRMATION
        }
        answered = (
            (response.id or "", response)
            for event in everything
            if event.author != USER_AUTHOR
            for response in event.get_function_responses()
        )
        self._last: dict[str, types.FunctionResponse] = dict(answered)
        self._keys = itertools.count()

    def facts(self) -> Iterator[Fact]:
        session, begin = self._session, self._turns[0].message.timestamp
        state = first_state(session)
        yield SessionOpened(
            at=begin,
            session_id=session.session_id,
            user_id=session.user_id or "user",
            seed=session.session_id,
        )
        name = next((event.author for event in self._turns[0].events if event.author != USER_AUTHOR), "")
        app_name = session.app_name or name or "agent"
        yield AgentSelected(
            at=begin, agent_name=name or app_name, app_name=app_name, initial_state=dict(copied(state))
        )
        for number, turn in enumerate(self._turns):
            yield from self._turn(number, turn, state)

    def _turn(self, number: int, turn: _Turn, state: dict[str, Any]) -> Iterator[Fact]:
        message, at = turn.message, turn.message.timestamp
        replies = bool(message.get_function_responses())
        said: Any = message.content.model_dump(mode="json", exclude_none=True) if message.content else {}
        given: JsonObject = {} if replies else dict(copied(turn.given))
        yield TurnStarted(
            at=at,
            turn=number,
            purpose="reply" if replies else "query",
            message=said,
            state_delta=given,
        )
        state.update(lasting(given))
        for event in turn.events[1:]:
            state.update(lasting(event.actions.state_delta))
            if event.author != USER_AUTHOR:
                yield from self._event(number, event)
        yield TurnEnded(
            at=turn.events[-1].timestamp,
            turn=number,
            events=tuple(event_json(event) for event in turn.events),
            state=dict(copied(state)),
        )

    def _event(self, turn: int, event: Event) -> Iterator[Fact]:
        responses = event.get_function_responses()
        if responses:
            yield from self._answers(turn, event, responses)
        elif event.content and event.content.parts and not self._is_of_adk(event):
            yield self._model(turn, event, event.content)
        long_running = event.long_running_tool_ids or set()
        for call in event.get_function_calls():
            if call.id in long_running and call.id not in self._last and not steers(call.name):
                yield self._answer(turn, event, call, Deferred(), ToolEffects())

    @staticmethod
    def _is_of_adk(event: Event) -> bool:
        return any((call.name or "").startswith(_ASKS_USER) for call in event.get_function_calls())

    def _model(self, turn: int, event: Event, content: types.Content) -> ModelAnswered:
        response = LlmResponse(content=content)
        return ModelAnswered(
            at=event.timestamp,
            turn=turn,
            key=self._key(turn),
            agent=event.author,
            digests=_NOTHING,
            provenance=TAKEN_IN,
            responses=(response.model_dump(mode="json", exclude_none=True),),
        )

    def _answers(
        self, turn: int, event: Event, responses: Iterable[types.FunctionResponse]
    ) -> Iterator[ToolAnswered]:
        """Return what the tools answered; what they did beside that is written down with the first of them."""
        done = event.actions
        actions = {name: value for name in _DONE_BY_TOOLS if (value := getattr(done, name)) is not None}
        effects = ToolEffects(state_delta=copied(lasting(done.state_delta)), actions=actions)
        for response in responses:
            call = self._calls.get(response.id or "")
            if call is None or steers(call.name, response.response) or not self._counts(response):
                continue
            outcome = Returned(value=copied(response.response or {}))
            yield self._answer(turn, event, call, outcome, effects)
            effects = ToolEffects()

    def _counts(self, response: types.FunctionResponse) -> bool:
        """Return whether this is the tool's answer, and not what stood for it until a person had confirmed the call, or did not."""
        call_id = response.id or ""
        if call_id not in self._questions.values():
            return True
        return self._last[call_id] is response and response.response != _REJECTED

    def _answer(
        self, turn: int, event: Event, call: types.FunctionCall, outcome: Outcome, effects: ToolEffects
    ) -> ToolAnswered:
        return ToolAnswered(
            at=event.timestamp,
            turn=turn,
            key=self._key(turn),
            agent=self._callers.get(call.id or "", event.author),
            digests=_NOTHING,
            provenance=TAKEN_IN,
            call_id=call.id or "",
            tool_name=call.name or "",
            arguments=dict(copied(call.args or {})),
            outcome=outcome,
            effects=effects,
        )

    def _key(self, turn: int) -> str:
        return f"{turn}//{next(self._keys)}"


# Makes a case, with its environment, of the facts of a session: of one of the studio's, or of one that ADK kept.


def case_of_session(session: AdkSession, tell: Callable[[str], None]) -> FoundCase:
    """Make a case of a session of ADK's.

    Args:
        session: The session.
        tell: Is told what is left out.

    Raises:
        ImportProblemError: No case can be made of it.
    """
    found = case_of_facts(facts_of(session), session.session_id, tell)
    for words in _left_out(session):
        tell(words)
    return found


def case_of_facts(facts: Sequence[Fact], name: str, tell: Callable[[str], None]) -> FoundCase:
    """Make a case of a session's facts, as far as it is complete. As `case_of_session`; `name` becomes its id."""
    known, fold = _complete(facts, tell)
    if len(known) < len(facts):
        left = sum(isinstance(fact, TurnStarted) for fact in facts[len(known) :])
        if left:
            tell(f"the last {left} user messages have no final response and are left out")
    session = fold.session()
    eval_id = usable_eval_id(name)
    try:
        case: EvalCase = GoldenTraceBuilder(session, eval_id=eval_id, confirmations="beside").build()
    except GoldenTraceError as error:
        raise ImportProblemError(str(error)) from error
    return FoundCase(case, recorded_case(session, known))


def _complete(facts: Sequence[Fact], tell: Callable[[str], None]) -> tuple[list[Fact], SessionFold]:
    """Return the facts up to the last point at which the session was complete.

    Raises:
        ImportProblemError: It never was, or its facts cannot follow each other.
    """
    fold, best, count = SessionFold(), SessionFold(), 0
    for number, fact in enumerate(facts):
        try:
            fold.take(number, fact)
        except ValueError as error:
            if not count:
                raise ImportProblemError(str(error)) from error
            tell(str(error))
            break
        if fold.state is SessionState.COMPLETED:
            best, count = fold.forked(), number + 1
    if not count:
        asked = [call.call_id for call in fold.session().open_calls if call.tool_name == REQUEST_INPUT]
        raise ImportProblemError(_NO_REPLY.format(asked[0]) if asked else "no final response of the agent")
    return list(facts[:count]), best
