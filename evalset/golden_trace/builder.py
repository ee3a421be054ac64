"""Builds an ADK eval case from a completed session: what the agent really said, asked for and saw.

The source is ADK's own events of each turn, so transfers, callbacks' answers and errors stand in the case as the
agent saw them. Nothing is made up: what a session does not hold, its case does not hold. `warnings` says in plain words what of it plain `adk eval` cannot replay.
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
    came_to_nothing,
    first_state,
    function_calls,
    function_responses,
    message_responses,
    parts_of,
    turns_by_query,
)
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
    UserReply,
)
from simulator.session.model import OpenCall, SessionState, SimulationSession, Turn

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
        check_kind("" if eval_id is None else eval_id, "encode", "`eval_id` as a text")
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


_CONFIRMATION = "adk_request_confirmation"
_REAL = "real"
_BY_MODEL = ("model", "generated")
"""Its own answers, and those that a person accepted as it proposed them."""
_SHOWN = 80
_INSTEAD = "adk eval runs the real tools instead, and their responses may lead the agent elsewhere."


def warnings(session: SimulationSession) -> tuple[str, ...]:
    """Return what will differ when `adk eval` replays the session with the agent's own model and the real tools.

    Each text is one sentence or two, and names the tools or agents. An empty tuple: nothing is known to differ.
    """
    check_kind(session, "history", "a session, such as `simulation.session`")
    return (
        *_answers(session),
        *_errors(session),
        *_replies(session),
        *_parallel_calls(session),
        *_authored_turns(session),
        *_authored_code(session),
        *_changed_state(session),
        *_data_for_text(session),
        *_left_out(session),
        *_earlier(session),
    )


def _earlier(session: SimulationSession) -> Iterator[str]:
    """Tell of what the session began with and a case has no field for."""
    names = ", ".join(dict.fromkeys(each.filename for each in session.earlier.artifacts))
    if names:
        yield f"The session began with the artifacts {names}. A case has no field for them; the recorded environment has them."
    if session.earlier.memory:
        yield "The session began with memory. A case has no field for it; the recorded environment has it."


def _left_out(session: SimulationSession) -> Iterator[str]:
    """Tell of queries that came to nothing: the agent remembers them here, but not when the case is replayed."""
    lost = [turns[0] for turns in turns_by_query(session.turns) if came_to_nothing(turns)]
    if lost:
        numbers = ", ".join(str(turn.number + 1) for turn in lost)
        words = "turn" if len(lost) == 1 else "turns"
        yield (
            (
                f"The case leaves out {words} {numbers}, which failed, was stopped or has no response. Later agent responses may depend "
                "on it. Undo it to be sure."
            )
            if len(lost) == 1
            else (
                f"The case leaves out {words} {numbers}, which failed, were stopped or have no response. Later agent responses may "
                "depend on them. Undo them to be sure."
            )
        )


def _answers(session: SimulationSession) -> Iterator[str]:
    """Tell of tools' answers, apart from errors, that no real tool gave."""
    authored, injected = _not_real(session, ToolOutput)
    if authored:
        words = _counted(len(authored), "tool response is", "tool responses are")
        yield f"{words} not from the real tools ({_names(authored)}). {_INSTEAD}"
    if injected:
        words = _counted(len(injected), "tool response was", "tool responses were")
        yield f"{words} injected by a rule ({_names(injected)}). {_INSTEAD}"


def _errors(session: SimulationSession) -> Iterator[str]:
    """Tell of tools' errors that no real tool gave."""
    authored, injected = _not_real(session, ToolError)
    if failed := [*authored, *injected]:
        words = _counted(len(failed), "tool call", "tool calls")
        yield (
            f"{words} failed, but not in the real tools ({_names(failed)}). adk eval runs the real tools. If they succeed, the agent gets no error."
        )


def _not_real(session: SimulationSession, kind: type[ToolOutput | ToolError]) -> tuple[list[str], list[str]]:
    """Return the tools whose answers of this kind people, drafts or recordings gave, and those whose answers rules gave."""
    names = {entry.call_id: entry.tool_name for entry in session.history if isinstance(entry, ToolCall)}
    authored: list[str] = []
    injected: list[str] = []
    for entry in session.history:
        if isinstance(entry, kind) and entry.provenance and entry.provenance.source != _REAL:
            found = injected if entry.provenance.source == "injected" else authored
            found.append(names[entry.call_id])
    return authored, injected


def _replies(session: SimulationSession) -> Iterator[str]:
    replies = [entry for entry in session.history if isinstance(entry, UserReply)]
    if any(reply.tool_name == _CONFIRMATION for reply in replies):
        yield (
            "A tool confirmation was answered. Plain adk eval cannot answer it and stops at the question. The recorded "
            "environment keeps the reply: a replay with it gives the tool the same yes or no, and an exact comparison passes."
        )
    late = [reply.tool_name for reply in replies if reply.tool_name != _CONFIRMATION]
    if late:
        yield f"A later response was given to {_names(late)}. adk eval does not send it."
    yield from _said_before(session)


def _said_before(session: SimulationSession) -> Iterator[str]:
    """Tell of responses that the agent gave before a late result came: a case has one for each message of the user."""
    finals = {entry.turn: entry.content for entry in session.history if isinstance(entry, FinalResponse)}
    late = {
        entry.turn: entry.tool_name
        for entry in session.history
        if isinstance(entry, UserReply) and entry.tool_name != _CONFIRMATION
    }
    queries = [turn.number for turn in session.turns if turn.purpose == "query"]
    for number, turns in enumerate(turns_by_query(session.turns), start=1):
        for before, turn in pairwise(turns):
            if turn.number in late and {before.number, turn.number} <= finals.keys():
                after = sum(query < turn.number for query in queries)
                yield (
                    f"The result of {late[turn.number]} came after turn {after}. The case's final response of turn {number} is what the "
                    f"agent said then, {_short(finals[turn.number])}, in place of {_short(finals[before.number])}."
                )


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\u2026")


def _parallel_calls(session: SimulationSession) -> Iterator[str]:
    at_once = [
        str(call.get("name"))
        for turn in session.turns
        for event in turn.events
        if event.get("author") != USER_AUTHOR and not event.get("partial") and len(function_calls(event)) > 1
        for call in function_calls(event)
    ]
    if at_once:
        yield (
            f"Tools were called in parallel ({_names(at_once)}). adk eval passes only if the agent calls them in the same order."
        )


def _authored_turns(session: SimulationSession) -> Iterator[str]:
    agents = [
        entry.agent
        for entry in session.history
        if isinstance(entry, (AgentMessage, ToolCall, FinalResponse))
        and entry.provenance
        and entry.provenance.source not in _BY_MODEL
    ]
    if agents:
        yield (
            f"Turns of {_names(agents)} are not from the agent's own model. adk eval calls that model, which may decide differently."
        )


def _authored_code(session: SimulationSession) -> Iterator[str]:
    if any(
        isinstance(entry, CodeRun) and entry.provenance and entry.provenance.source != _REAL
        for entry in session.history
    ):
        yield "The agent's code was not run for its output. adk eval runs the code."


def _changed_state(session: SimulationSession) -> Iterator[str]:
    changed = [key for turn in session.turns[1:] for key in turn.state_delta]
    if changed:
        yield (
            f"The session state was changed together with a later user message ({_names(changed)}). adk eval sets only the initial state. "
            "A replay with the recorded environment sets it again."
        )


def _data_for_text(session: SimulationSession) -> Iterator[str]:
    with_data = [turn.number for turn in session.turns if turn.ended and turn.final_event is None]
    if any(isinstance(entry, FinalResponse) and entry.turn in with_data for entry in session.history):
        yield (
            "A workflow responded with data instead of text. The case contains it as JSON text. adk eval compares only texts and "
            "finds none."
        )


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _names(names: Iterable[str]) -> str:
    """List names once each, in the order in which they came."""
    return ", ".join(dict.fromkeys(names))
