"""Turns a case into the entries of a session's timeline, so that two cases are set side by side as two branches are. Pure."""

from __future__ import annotations

from typing import Any

from evalset.editing.case_parts import Case, CaseStep, field, steps_of, text_of, turns_of
from simulator.base.json_values import canonical
from simulator.environment.conventions.tool_verbs import is_error
from simulator.session.adk_event_fields import message_text
from simulator.session.history import (
    AgentMessage,
    FinalResponse,
    HistoryEntry,
    ToolCall,
    ToolError,
    ToolOutput,
    UserQuery,
)


def case_history(case: Case, *, with_agents: bool) -> tuple[HistoryEntry, ...]:
    """Return what happens in a case, in order; `with_agents` says whose calls and texts they are, where the case tells."""
    steps = [step for turn in range(len(turns_of(case))) for step in steps_of(case, turn)]
    return tuple(_entry(step, step.author if with_agents else "") for step in steps)


def tells_agents(case: Case) -> bool:
    """Return whether each call of a case has its agent, as in the form with events."""
    turns = range(len(turns_of(case)))
    return all(step.author for turn in turns for step in steps_of(case, turn) if step.kind == "call")


def _entry(step: CaseStep, agent: str) -> HistoryEntry:
    match step.kind:
        case "query":
            return UserQuery(turn=step.turn, content=_text(step.value))
        case "text":
            return AgentMessage(turn=step.turn, agent=agent or "Agent", content=_text(step.value))
        case "final":
            return FinalResponse(turn=step.turn, agent="Final response", content=_text(step.value))
        case "call":
            arguments = field(step.value, "args")
            held = arguments if isinstance(arguments, dict) else {}
            return ToolCall(
                turn=step.turn, agent=agent, tool_name=step.name, arguments=held, call_id=_call_id(step)
            )
        case "response":
            return _answer(step, field(step.value, "response"))


def _answer(step: CaseStep, response: Any) -> ToolOutput | ToolError:
    if not is_error(response):
        return ToolOutput(turn=step.turn, call_id=_call_id(step), result=response)
    said = canonical(response)
    return ToolError(turn=step.turn, call_id=_call_id(step), error_type="Response", error_message=said)


def _call_id(step: CaseStep) -> str:
    """Return an id that a call has in common with the responses of its tool alone."""
    return f"{step.name} {step.call_id}"


def _text(value: Any) -> str:
    """Write a content, a list of its parts or one part; what is only thought, too."""
    has_parts = isinstance(value, dict) and "parts" in value
    content = value if has_parts else {"parts": value if isinstance(value, list) else [value]}
    return message_text(content) or text_of(value)
