"""Makes facts and journals for the tests of the session, with as few words as a test needs."""

from __future__ import annotations

from typing import Any

from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.facts import (
    AgentRan,
    AgentSelected,
    CodeAnswered,
    Fact,
    ModelAnswered,
    Provenance,
    RaisedError,
    RequestDigests,
    Returned,
    SessionOpened,
    ToolAnswered,
    TurnEnded,
    TurnStarted,
)
from simulator.journal import Journal

DIGESTS = RequestDigests(parts={}, chain="")
WRITTEN = Provenance(source="written")


def opened() -> SessionOpened:
    """A session begins."""
    return SessionOpened(at=1.0, session_id="session", seed="seed")


def selected() -> AgentSelected:
    """An agent is selected."""
    return AgentSelected(at=1.0, agent_name="Clerk", app_name="clerk", initial_state={"open": True})


def asked(text: str = "go", turn: int = 0) -> TurnStarted:
    """The user asks something."""
    return TurnStarted(at=2.0, turn=turn, message={"role": "user", "parts": [{"text": text}]})


def replied(call_id: str, turn: int, name: str = "adk_request_confirmation") -> TurnStarted:
    """The user answers an open call."""
    part: Any = {"function_response": {"id": call_id, "name": name, "response": {"confirmed": True}}}
    return TurnStarted(at=2.0, turn=turn, purpose="reply", message={"role": "user", "parts": [part]})


def model(*parts: Any, turn: int = 0, key: str = "model", agent: str = "clerk") -> ModelAnswered:
    """The agent's seat makes a turn of these parts."""
    return ModelAnswered(
        at=3.0,
        turn=turn,
        key=key,
        agent=agent,
        responses=({"content": {"role": "model", "parts": list(parts)}},),
        digests=DIGESTS,
        provenance=WRITTEN,
    )


def call(call_id: str, name: str = "find") -> Any:
    """Make a part that calls a tool."""
    return {"function_call": {"id": call_id, "name": name, "args": {"id": call_id}}}


def tool(call_id: str, *, turn: int = 0, key: str | None = None, outcome: Any = None) -> ToolAnswered:
    """A tool call is answered."""
    return ToolAnswered(
        at=4.0,
        turn=turn,
        key=key or f"tool/{call_id}",
        call_id=call_id,
        agent="clerk",
        tool_name="find",
        arguments={"id": call_id},
        outcome=outcome or Returned(value={"found": call_id}),
        digests=DIGESTS,
        provenance=WRITTEN,
    )


def agent_ran(call_id: str, **more: Any) -> AgentRan:
    """A call of an agent is let run."""
    return AgentRan(
        at=4.0,
        turn=0,
        key=f"agent/{call_id}",
        agent="clerk",
        call_id=call_id,
        tool_name="helper",
        arguments={},
        digests=DIGESTS,
        provenance=Provenance(source="real", **more),
    )


def code_ran(result: Any = None, error: RaisedError | None = None) -> CodeAnswered:
    """A block of code is run, or fails."""
    made = {"code": "1", "result": result, "error": error, "digests": DIGESTS, "provenance": WRITTEN}
    return CodeAnswered(at=4.0, turn=0, key="code", agent="clerk", **made)


def event(*parts: Any, author: str = "clerk", **more: Any) -> Any:
    """Make an event of ADK in JSON."""
    return {"author": author, "content": {"role": "model", "parts": list(parts)}, "timestamp": 5.0, **more}


def ended(*events: Any, turn: int = 0, **more: Any) -> TurnEnded:
    """The run of the agent ended."""
    return TurnEnded(at=6.0, turn=turn, events=events, **more)


def waits(call_id: str, name: str = "adk_request_confirmation", path: str = "") -> TurnEnded:
    """A turn ends with a call that waits for the user."""
    part = {"functionCall": {"id": call_id, "name": name, "args": {"of": call_id}}}
    return ended(event(part, longRunningToolIds=[call_id], nodeInfo={"path": path}))


def rule(rule_id: str) -> InjectionRule:
    """A rule of this id."""
    effect = ErrorEffect(error_code=1, error_message="no")
    return InjectionRule(rule_id=rule_id, tool_name="find", effect=effect)


def answered_turn(turn: int = 0) -> list[Fact]:
    """Return the facts of a whole turn: a query, a call, its answer, a final response."""
    return [
        asked(turn=turn),
        model(call(f"c{turn}"), turn=turn, key="model#0"),
        tool(f"c{turn}", turn=turn),
        model({"text": "done"}, turn=turn, key="model#1"),
        ended(event({"text": "done"}), turn=turn, state={"turns": turn + 1}),
    ]


def journal_of(*facts: Fact) -> Journal:
    """Return a journal whose agent is selected, with these facts behind."""
    return Journal([opened(), selected(), *facts])
