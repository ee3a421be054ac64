"""Turns one fact into the timeline entries that it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, assert_never

from simulator.base.json_values import JsonObject
from simulator.environment.environment_facts import EnvironmentFact
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import (
    EVERY,
    CodeAnswered,
    ConversationEnded,
    Deferred,
    Failed,
    ModelAnswered,
    Raised,
    Returned,
    SeatChanged,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
    UserSeated,
)
from simulator.session.adk_event_fields import (
    content_text,
    final_event,
    final_output,
    message_responses,
    message_text,
    output_text,
    parts_of,
)
from simulator.session.attached_files import files_in
from simulator.session.environment_state import SessionEnvironment, words_of_change
from simulator.session.history import (
    AgentMessage,
    CodeRun,
    FinalResponse,
    HistoryEntry,
    ModelError,
    SessionNote,
    ToolCall,
    ToolError,
    ToolOutput,
    TurnFailed,
    UserQuery,
    UserReply,
)

_STOPPED = "stopped"
_ADK_ERROR = "error"
_NO_RESPONSE = "NoResponse"


def when(at: float) -> datetime:
    """Return a fact's time as a datetime in UTC."""
    return datetime.fromtimestamp(at, UTC)


def started(number: int, fact: TurnStarted) -> list[HistoryEntry]:
    """Show what the user said: a query, or the replies to what was left open."""
    common: dict[str, Any] = {"fact": number, "turn": fact.turn, "timestamp": when(fact.at)}
    if fact.purpose == "query":
        files = tuple(files_in(fact.message))
        text = message_text(fact.message)
        return [UserQuery(content=text, files=files, provenance=fact.provenance, **common)]
    return [
        UserReply(
            call_id=response.get("id") or "",
            tool_name=response.get("name") or "",
            response=response.get("response"),
            provenance=fact.provenance,
            **common,
        )
        for response in message_responses(fact.message)
    ]


def scope_of(key: str) -> str:
    """Return the calls of agent tools that a request with this key happened inside of."""
    parts = key.split("/", 2)
    return parts[1] if len(parts) == 3 else ""  # noqa: PLR2004 - a key is turn/scope/rest


def answered_by_model(number: int, fact: ModelAnswered) -> Iterator[HistoryEntry]:
    """Show the texts and calls of the agent's turn, and its error."""
    common: dict[str, Any] = {"fact": number, "turn": fact.turn, "timestamp": when(fact.at)}
    scope = scope_of(fact.key)
    for response in fact.responses:
        if response.get("partial"):
            continue
        for part in parts_of(response.get("content")):
            if part.get("text"):
                yield AgentMessage(
                    agent=fact.agent,
                    content=part["text"],
                    thought=bool(part.get("thought")),
                    scope=scope,
                    provenance=fact.provenance,
                    **common,
                )
            if call := part.get("function_call"):
                yield ToolCall(
                    agent=fact.agent,
                    tool_name=call.get("name") or "",
                    arguments=call.get("args") or {},
                    call_id=call["id"],
                    scope=scope,
                    provenance=fact.provenance,
                    **common,
                )
        if code := response.get("error_code"):
            yield ModelError(
                agent=fact.agent,
                error_type=str(code),
                error_message=str(response.get("error_message") or ""),
                **common,
            )
    if trouble := _trouble(fact):
        kind, message = trouble
        yield ModelError(agent=fact.agent, error_type=kind, error_message=message, **common)


def _trouble(fact: ModelAnswered) -> tuple[str, str] | None:
    """Return what a model raised, or that it gave nothing: the kind of error and its message."""
    if fact.error:
        return fact.error.short_type, fact.error.message
    return (_NO_RESPONSE, _why_nothing(fact.responses)) if _says_nothing(fact.responses) else None


def _says_nothing(responses: Iterable[Any]) -> bool:
    """Return whether a model has given nothing that ADK could go on with: not a word, not a call, and no error."""
    whole = [response for response in responses if not response.get("partial")]
    return not any(
        response.get("error_code") or any(any(part.values()) for part in parts_of(response.get("content")))
        for response in whole
    )


def _why_nothing(responses: tuple[JsonObject, ...]) -> str:
    if not responses:
        return "The model ended without yielding a response."
    if all(response.get("partial") for response in responses):
        return "The model's stream ended before its response was complete."
    reasons = dict.fromkeys(str(each["finish_reason"]) for each in responses if each.get("finish_reason"))
    because = f" Finish reason: {', '.join(reasons)}." if reasons else ""
    return f"The model's response is empty: no text and no tool call.{because}"


def answered_by_tool(number: int, fact: ToolAnswered) -> HistoryEntry | None:
    """Show a tool's answer; nothing where it comes later."""
    common: dict[str, Any] = {
        "fact": number,
        "turn": fact.turn,
        "timestamp": when(fact.at),
        "call_id": fact.call_id,
        "duration_ms": fact.elapsed_ms,
        "provenance": fact.provenance,
        "beneath": fact.beneath,
    }
    match fact.outcome:
        case Returned(value=value):
            return ToolOutput(result=value, state_delta=fact.effects.state_delta, **common)
        case Failed(error_code=code, error_message=message):
            return ToolError(error_type=str(code), error_message=message, **common)
        case Raised(error=error):
            return ToolError(
                error_type=error.short_type, error_message=error.message, traceback=fact.traceback, **common
            )
        case Deferred():
            return None
        case never:
            assert_never(never)


def called_by_graph(number: int, fact: ToolAnswered) -> ToolCall:
    """Show the call of a tool that stands in a workflow's graph, where no model asked for it."""
    return ToolCall(
        fact=number,
        turn=fact.turn,
        timestamp=when(fact.at),
        agent=fact.agent,
        tool_name=fact.tool_name,
        arguments=fact.arguments,
        call_id=fact.call_id,
        scope=fact.scope,
    )


def answered_by_adk(
    number: int, turn: int, at: float, response: dict[str, Any], *, asks: bool = False
) -> ToolOutput | ToolError:
    """Show what ADK itself answered to a call: a transfer, an agent tool, a callback; an unknown tool is an error.

    `asks` says that ADK only asks the user to confirm the call, which it words as an error too.
    """
    common: dict[str, Any] = {
        "fact": number,
        "turn": turn,
        "timestamp": when(at),
        "call_id": response["id"],
    }
    result = response.get("response")
    if isinstance(result, dict) and result.keys() == {"error"} and not asks:
        return ToolError(error_type=_ADK_ERROR, error_message=str(result["error"]), **common)
    return ToolOutput(result=result, **common)


def code_run(number: int, fact: CodeAnswered) -> CodeRun:
    """Show code and what it printed."""
    result = fact.result or {}
    output = "\n".join(str(result[stream]) for stream in ("stdout", "stderr") if result.get(stream))
    return CodeRun(
        fact=number,
        turn=fact.turn,
        timestamp=when(fact.at),
        agent=fact.agent,
        code=fact.code,
        output=output,
        error=fact.error.message if fact.error else None,
        provenance=fact.provenance,
    )


def ended(number: int, fact: TurnEnded) -> list[HistoryEntry]:
    """Show how the turn ended: with a final response, an error, by a stop, or with nothing to show."""
    common: dict[str, Any] = {"fact": number, "turn": fact.turn, "timestamp": when(fact.at)}
    if fact.stopped:
        return [TurnFailed(error_type=_STOPPED, error_message="stopped by a person", stopped=True, **common)]
    if fact.error:
        return [TurnFailed(error_type=fact.error.short_type, error_message=fact.error.message, **common)]
    place = final_event(fact.events)
    if place is not None:
        event = fact.events[place]
        author = str(event.get("author") or "")
        return [FinalResponse(agent=author, content=content_text(event.get("content")), **common)]
    output = final_output(fact.events)
    if output is None:
        return []
    author = str(fact.events[-1].get("author") or "")
    return [FinalResponse(agent=author, content=output_text(output), **common)]


def seat_note(number: int, turn: int, fact: SeatChanged) -> SessionNote:
    """Say who sat down where."""
    whose = "all others" if fact.target == EVERY else fact.target
    text = f"{fact.seat} seat of {whose}: {fact.player}"
    return SessionNote(fact=number, turn=turn, timestamp=when(fact.at), content=text)


def user_note(number: int, turn: int, fact: UserSeated) -> SessionNote:
    """Say who speaks for the user from now on."""
    held = ", each message held for approval" if fact.hold and fact.player != "person" else ""
    return SessionNote(
        fact=number, turn=turn, timestamp=when(fact.at), content=f"user seat: {fact.player}{held}"
    )


def conversation_note(number: int, turn: int, fact: ConversationEnded) -> SessionNote:
    """Say that the conversation was over, or goes on."""
    words = "ended the conversation" if fact.over else "reopened the conversation"
    return SessionNote(fact=number, turn=turn, timestamp=when(fact.at), content=f"user seat: {words}")


def rules_note(
    number: int, turn: int, at: float, before: tuple[InjectionRule, ...], after: tuple[InjectionRule, ...]
) -> SessionNote:
    """Say which injections were added, removed, switched or edited."""
    old = {rule.rule_id: rule for rule in before}
    new = {rule.rule_id: rule for rule in after}
    words = [f"added {rule_id}" for rule_id in new if rule_id not in old]
    words += [f"removed {rule_id}" for rule_id in old if rule_id not in new]
    for rule_id, rule in new.items():
        known = old.get(rule_id)
        if known is None or known == rule:
            continue
        if known.model_copy(update={"enabled": rule.enabled}) == rule:
            words.append(f"switched {rule_id} {'on' if rule.enabled else 'off'}")
        else:
            words.append(f"edited {rule_id}")
    text = "injections: " + (", ".join(words) or "new order")
    return SessionNote(fact=number, turn=turn, timestamp=when(at), content=text)


def environment_note(
    number: int, turn: int, fact: EnvironmentFact, before: SessionEnvironment
) -> SessionNote:
    """Say how the environment was changed."""
    text = f"environment: {words_of_change(fact, before)}"
    return SessionNote(fact=number, turn=turn, timestamp=when(fact.at), content=text)
