"""Builds an ADK eval case from a completed session: what the agent really said, asked for and saw.

The source is ADK's own events of each turn, so transfers, callbacks' answers and errors stand in the case as the
agent saw them. Nothing is made up: what a session does not hold, its case does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    SessionInput,
)
from google.genai import types
from pydantic import ValidationError

from evalset.errors import GoldenTraceError
from evalset.files.eval_names import eval_id_for, flaw_of_eval_id
from evalset.golden_trace.golden_steps import spoken, without_confirmations
from simulator.base.adk_names import lasting
from simulator.base.json_values import canonical, copied
from simulator.base.validation_words import check_kind
from simulator.session.adk_event_fields import (
    USER_AUTHOR,
    function_calls,
    function_responses,
    message_responses,
    parts_of,
)
from simulator.session.history import FinalResponse, HistoryEntry, ToolCall, ToolError, ToolOutput, UserQuery
from simulator.session.model import OpenCall, SessionState, SimulationSession, Turn
from simulator.session.query_turns import came_to_nothing, first_state, turns_by_query

TraceForm: TypeAlias = Literal["intermediate_data", "invocation_events"]
Confirmations: TypeAlias = Literal["in_case", "beside"]

ENDS_WITH_DATA = "set_model_response"
"""ADK's tool by which an agent with an output schema and tools gives its data."""

_SHORT = 60


class _Step(NamedTuple):
    """What one party said on the way of an invocation; `is_final` marks its final response."""

    author: str
    content: types.Content
    is_final: bool = False


class GoldenTraceBuilder:
    """Builds the eval case of a session.

    Each query is one invocation. The turns that answered what it left open (confirmations, late results) belong to
    it: their calls and texts follow, and the last of them gives the final response.

    Args:
        session: A completed session.
        form: How the steps between query and final response are kept. `intermediate_data` lists calls, responses
            and texts; `invocation_events` keeps them as events.
        eval_id: The case's id; by default the agent's name and the session's start.
        confirmations: Where the questions whether a tool may run are kept, with what a person said: in the case, as ADK asks
            them; or in the recorded environment alone, so that a hermetic replay is exactly like the case.
    """

    def __init__(
        self,
        session: SimulationSession,
        *,
        form: TraceForm = "intermediate_data",
        eval_id: str | None = None,
        confirmations: Confirmations = "in_case",
    ) -> None:
        check_kind(session, "history", "a session, such as `simulation.session`")
        self.session = session
        self.form = form
        self.confirmations = confirmations
        self.eval_id = (
            eval_id_for(session.agent_name, session.start_timestamp) if eval_id is None else eval_id
        )

    def build(self) -> EvalCase:
        """Build the case. Queries whose turn failed, was stopped or gave no final response are left out.

        Raises:
            GoldenTraceError: The session is not completed, or the eval id cannot be used. The text names what is
                missing.
        """
        session = self.session
        if flaw := flaw_of_eval_id(self.eval_id):
            raise GoldenTraceError(flaw)
        if session.state is not SessionState.COMPLETED:
            raise GoldenTraceError(f"the session is not completed ({session.state.value}): {_lack(session)}")
        groups = [turns for turns in turns_by_query(session.turns) if not came_to_nothing(turns)]
        case = EvalCase(
            eval_id=self.eval_id,
            conversation=[self._invocation(number, turns) for number, turns in enumerate(groups)]
            if session.turns
            else [*_told(session)],
            session_input=SessionInput(
                app_name=session.app_name,
                user_id=session.user_id,
                state=dict(copied(first_state(session, groups))),
            ),
            creation_timestamp=session.start_timestamp,
            final_session_state=copied(lasting(session.turns[-1].state if session.turns else {})),
        )
        return without_confirmations(case) if self.confirmations == "beside" else case

    def _invocation(self, number: int, turns: Sequence[Turn]) -> Invocation:
        query, last = turns[0], turns[-1]
        final = self._final_response(last)
        left = put_off_data(turns)
        said = [step for turn in turns for step in _steps(turn, last)]
        steps = self._with_raised([step for each in said if (step := _without(each, left)) is not None])
        return Invocation(
            invocation_id=f"{self.session.session_id}_inv_{number}",
            user_content=_content(query, query.message, "user"),
            final_response=final,
            intermediate_data=_listed(steps) if self.form == "intermediate_data" else _as_events(steps),
            creation_timestamp=query.started_at,
        )

    def _with_raised(self, steps: Sequence[_Step]) -> Iterator[_Step]:
        """Put behind each call what it raised, where the agent went on and ADK has no event that says it: a node that was retried."""
        parts = [part for step in steps for part in step.content.parts or ()]
        responded = {part.function_response.id for part in parts if part.function_response}
        raised = {entry.call_id: entry for entry in self.session.history if isinstance(entry, ToolError)}
        for step in steps:
            yield step
            calls = (part.function_call for part in step.content.parts or () if part.function_call)
            for call in calls:
                if call.id in raised and call.id not in responded:
                    yield _Step(step.author, _raised_response(call, raised[call.id]))

    def _final_response(self, turn: Turn) -> types.Content:
        """Return the content of the turn's final event, or as text what ended it instead: a workflow's data, a tool's response."""
        if turn.final_event is not None:
            event = turn.events[turn.final_event]
            content = _content(turn, event.get("content"), "model")
            if not function_responses(event):
                return content
            return types.Content(role="model", parts=[types.Part(text=spoken(content))])
        said = [entry for entry in self.session.history if entry.turn == turn.number]
        if said and isinstance(said[-1], FinalResponse):
            return types.Content(role="model", parts=[types.Part(text=said[-1].content)])
        raise GoldenTraceError(f"{_called(turn)} has no final response; undo it to export the session")


def _told(session: SimulationSession) -> Iterator[Invocation]:
    """Yield what a history tells by itself, where no run stands behind it: an invocation for each query."""
    turns = list[tuple[UserQuery, list[HistoryEntry]]]()
    for entry in session.history:
        if isinstance(entry, UserQuery):
            turns.append((entry, []))
        elif turns:
            turns[-1][1].append(entry)
    for number, (query, entries) in enumerate(turns):
        names = {entry.call_id: entry.tool_name for entry in entries if isinstance(entry, ToolCall)}
        said = [entry.content for entry in entries if isinstance(entry, FinalResponse)]
        calls = [
            types.FunctionCall(id=entry.call_id, name=entry.tool_name, args=copied(entry.arguments))
            for entry in entries
            if isinstance(entry, ToolCall)
        ]
        responses = [
            types.FunctionResponse(id=entry.call_id, name=names[entry.call_id], response=_response(entry))
            for entry in entries
            if isinstance(entry, (ToolOutput, ToolError))
        ]
        yield Invocation(
            invocation_id=f"{session.session_id}_inv_{number}",
            user_content=types.Content(role="user", parts=[types.Part(text=query.content)]),
            final_response=types.Content(role="model", parts=[types.Part(text=said[-1])]) if said else None,
            intermediate_data=IntermediateData(tool_uses=calls, tool_responses=responses),
            creation_timestamp=query.timestamp.timestamp(),
        )


def _response(entry: ToolOutput | ToolError) -> dict[str, Any]:
    if isinstance(entry, ToolError):
        return {"error": {"type": entry.error_type, "message": entry.error_message}}
    result: Any = copied(entry.result)
    return result if isinstance(result, dict) else {"result": result}


def _lack(session: SimulationSession) -> str:
    """Return what keeps a session from being completed."""
    if session.state is SessionState.SELECTING_AGENT:
        return "no agent is selected"
    if not session.turns:
        return "no user message yet"
    if session.is_running:
        return f"{_called(session.turns[-1])} is still running"
    if waiting := [call for call in session.open_calls if not call.answered]:
        names = ", ".join(dict.fromkeys(_asked_about(call) for call in waiting))
        return f"{names} still waits for a user reply"
    _check_ended(session.turns[-1])
    return f"{_called(session.turns[-1])} has no final response"


def _asked_about(call: OpenCall) -> str:
    """Name an open call; a confirmation by the tool that it is about."""
    original = call.arguments.get("originalFunctionCall")
    name = original.get("name") if call.is_confirmation and isinstance(original, dict) else None
    return f"the confirmation of {name}" if name else call.tool_name


def _check_ended(turn: Turn) -> None:
    if turn.stopped:
        raise GoldenTraceError(f"{_called(turn)} was stopped; undo it to export the session")
    if turn.error:
        raise GoldenTraceError(
            f"{_called(turn)} failed with {turn.error.short_type}: {turn.error.message}; undo it to export the session"
        )


def _called(turn: Turn) -> str:
    """Name a turn for a person: by its number, counted from 1, and what the user said."""
    texts = [str(part["text"]) for part in parts_of(turn.message) if part.get("text")]
    said = " ".join(" ".join(texts).split())
    short = said if len(said) <= _SHORT else said[:_SHORT] + "…"
    return f"turn {turn.number + 1} ({short!r})" if short else f"turn {turn.number + 1}"


def _steps(turn: Turn, last: Turn) -> Iterator[_Step]:
    """Yield what was said after the query: the user's replies, and the complete contents of all events."""
    if turn.purpose != "query":
        yield _Step(USER_AUTHOR, _content(turn, turn.message, "user"))
    for place, event in enumerate(turn.events):
        content = event.get("content")
        if event.get("author") == USER_AUTHOR or event.get("partial") or not parts_of(content):
            continue
        role = "user" if function_responses(event) else "model"
        is_final = turn is last and place == turn.final_event
        yield _Step(str(event.get("author") or ""), _content(turn, content, role), is_final)


def put_off_data(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the ids of the calls that gave a turn's data although a late answer, or a confirmation, then went on: a replay has that at once, and gives its data once."""
    found, others = set[str](), set[str]()
    for turn, following in pairwise(turns):
        given = set[str]()
        for call in (call for event in turn.events for call in function_calls(event)):
            (given if call.get("name") == ENDS_WITH_DATA else others).add(str(call.get("id")))
        if others & {str(said.get("id")) for said in message_responses(following.message)}:
            found |= given
    return frozenset(found)


def _without(step: _Step, left: frozenset[str]) -> _Step | None:
    """Return a step without these calls and their responses; None where nothing is left of it."""
    parts = step.content.parts or []
    kept = [
        part
        for part in parts
        if not any(
            each is not None and each.id in left for each in (part.function_call, part.function_response)
        )
    ]
    if len(kept) == len(parts):
        return step
    return step._replace(content=step.content.model_copy(update={"parts": kept})) if kept else None


def _content(turn: Turn, content: Any, role: str) -> types.Content:
    """Read a content; `role` is its role where it has none."""
    try:
        read = types.Content.model_validate_json(canonical(content))
    except ValidationError as error:
        raise GoldenTraceError(
            f"{_called(turn)} has content that google-genai cannot read: {error}"
        ) from error
    return read if read.role else read.model_copy(update={"role": role})


def _listed(given: Iterable[_Step]) -> IntermediateData:
    steps = [*given]
    parts = [part for step in steps for part in step.content.parts or ()]
    said = [
        (step.author, spoken)
        for step in steps
        if not step.is_final and step.author != USER_AUTHOR and (spoken := _spoken(step.content))
    ]
    return IntermediateData(
        tool_uses=[_portable_call(part.function_call) for part in parts if part.function_call],
        tool_responses=[
            _portable_response(part.function_response) for part in parts if part.function_response
        ],
        intermediate_responses=said,
    )


def _spoken(content: types.Content) -> list[types.Part]:
    """Return the parts that are meant for a reader: no calls, no responses, no thoughts, nothing empty."""
    return [
        part
        for part in content.parts or ()
        if not (part.function_call or part.function_response or part.thought)
        and (
            part.text or part.model_dump(exclude_none=True, exclude={"text", "thought", "thought_signature"})
        )
    ]


def _raised_response(call: types.FunctionCall, raised: ToolError) -> types.Content:
    error = {"type": raised.error_type, "message": raised.error_message}
    response = types.FunctionResponse(id=call.id, name=call.name, response={"error": error})
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def _portable_call(call: types.FunctionCall) -> types.FunctionCall:
    return types.FunctionCall(id=call.id, name=call.name, args=call.args)


def _portable_response(response: types.FunctionResponse) -> types.FunctionResponse:
    return types.FunctionResponse(
        id=response.id, name=response.name, response=response.response, parts=response.parts
    )


def _as_events(steps: Iterable[_Step]) -> InvocationEvents:
    """Keep the steps as events; the final text stands in the final response alone."""
    return InvocationEvents(
        invocation_events=[
            InvocationEvent(author=step.author, content=step.content)
            for step in steps
            if not (step.is_final and _is_speech(step.content))
        ]
    )


def _is_speech(content: types.Content) -> bool:
    return not any(part.function_call or part.function_response for part in content.parts or ())
