"""Says in plain words what of a golden trace plain `adk eval` cannot replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from simulator.base.validation_words import check_kind
from simulator.session.adk_event_fields import USER_AUTHOR, function_calls
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    ToolCall,
    ToolError,
    ToolOutput,
    UserReply,
)
from simulator.session.model import SimulationSession
from simulator.session.query_turns import came_to_nothing, turns_by_query

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
        yield f"{words} not from the real tools ({_listed(authored)}). {_INSTEAD}"
    if injected:
        words = _counted(len(injected), "tool response was", "tool responses were")
        yield f"{words} injected by a rule ({_listed(injected)}). {_INSTEAD}"


def _errors(session: SimulationSession) -> Iterator[str]:
    """Tell of tools' errors that no real tool gave."""
    authored, injected = _not_real(session, ToolError)
    if failed := [*authored, *injected]:
        words = _counted(len(failed), "tool call", "tool calls")
        yield (
            f"{words} failed, but not in the real tools ({_listed(failed)}). adk eval runs the real tools. If they succeed, the agent gets no error."
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
        yield f"A later response was given to {_listed(late)}. adk eval does not send it."
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
            f"Tools were called in parallel ({_listed(at_once)}). adk eval passes only if the agent calls them in the same order."
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
            f"Turns of {_listed(agents)} are not from the agent's own model. adk eval calls that model, which may decide differently."
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
            f"The session state was changed together with a later user message ({_listed(changed)}). adk eval sets only the initial state. "
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


def _listed(names: Iterable[str]) -> str:
    """List names once each, in the order in which they came."""
    return ", ".join(dict.fromkeys(names))
