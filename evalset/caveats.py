"""Says in plain words what of a golden trace plain `adk eval` cannot replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulator.session.events import USER_AUTHOR, function_calls
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

_CONFIRMATION = "adk_request_confirmation"
_REAL = "real"
_BY_MODEL = "model"


def warnings(session: SimulationSession) -> tuple[str, ...]:
    """Say what will differ when `adk eval` replays the session with the agent's own model and the real tools.

    Each text is one sentence or two, and names the tools. An empty tuple: nothing is known to differ.
    """
    return (
        *_authored_answers(session),
        *_replies(session),
        *_parallel_calls(session),
        *_authored_turns(session),
        *_authored_code(session),
        *_data_for_text(session),
    )


def _authored_answers(session: SimulationSession) -> Iterator[str]:
    names = {entry.call_id: entry.tool_name for entry in session.history if isinstance(entry, ToolCall)}
    authored = [
        names[entry.call_id]
        for entry in session.history
        if isinstance(entry, (ToolOutput, ToolError))
        and entry.provenance
        and entry.provenance.source != _REAL
    ]
    if authored:
        yield (
            f"{_counted(len(authored), 'tool answer was', 'tool answers were')} authored or injected here "
            f"({_listed(authored)}). `adk eval` does not replay them: it runs the real tools."
        )


def _replies(session: SimulationSession) -> Iterator[str]:
    replies = [entry for entry in session.history if isinstance(entry, UserReply)]
    if any(reply.tool_name == _CONFIRMATION for reply in replies):
        yield "A tool confirmation was answered. `adk eval` cannot answer one, so the replay stops there."
    late = [reply.tool_name for reply in replies if reply.tool_name != _CONFIRMATION]
    if late:
        yield f"A later answer was given to {_listed(late)}. `adk eval` does not send it."


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
            f"Tools were called in parallel ({_listed(at_once)}). `adk eval` passes only if they are called in "
            "the same order."
        )


def _authored_turns(session: SimulationSession) -> Iterator[str]:
    agents = [
        entry.agent
        for entry in session.history
        if isinstance(entry, (AgentMessage, ToolCall))
        and entry.provenance
        and entry.provenance.source != _BY_MODEL
    ]
    if agents:
        yield f"Turns of {_listed(agents)} were authored here. `adk eval` asks the agent's own model instead."


def _authored_code(session: SimulationSession) -> Iterator[str]:
    if any(
        isinstance(entry, CodeRun) and entry.provenance and entry.provenance.source != _REAL
        for entry in session.history
    ):
        yield "What code of the agent prints was authored here. `adk eval` executes the code."


def _data_for_text(session: SimulationSession) -> Iterator[str]:
    with_data = [turn.number for turn in session.turns if turn.ended and turn.final_event is None]
    if any(isinstance(entry, FinalResponse) and entry.turn in with_data for entry in session.history):
        yield (
            "A workflow answered with data instead of text, which stands in the case as JSON text. `adk eval` "
            "compares texts only and finds none."
        )


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _listed(names: Iterable[str]) -> str:
    """List names once each, in the order in which they came."""
    return ", ".join(dict.fromkeys(names))
