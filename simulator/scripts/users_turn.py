"""Finds the open call that a turn of a script answers."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.scripts.script import ScriptTurn
from simulator.scripts.script_text import asked_about
from simulator.session import OpenCall


class MisplacedError(ValueError):
    """Nothing waits for what the user says; the text names what does."""


def open_call(turn: ScriptTurn, calls: Iterable[OpenCall]) -> OpenCall:
    """Return the call that a turn confirms or replies to: the first that fits, those first that have no answer yet.

    Raises:
        MisplacedError: None fits.
    """
    waiting = sorted(calls, key=lambda call: call.answered)
    found = [call for call in waiting if _fits(turn, call)]
    if not found:
        there = ", ".join(f"{asked_about(call)} ({_called(call)})" for call in waiting) or "none"
        asks = f"with the question {turn.question!r}" if turn.question else ""
        named = (turn.tool, turn.call_id, asks, f"of the node {turn.node}" if turn.node else "")
        wanted = " of ".join(filter(None, (turn.speaks, " ".join(filter(None, named)))))
        raise MisplacedError(f"no open call matches {wanted}; open calls: {there}")
    return found[0]


def _called(call: OpenCall) -> str:
    """Name an open call: by its id, and by its question where it asks one."""
    message = call.arguments.get("message")
    asks = f": {message!r} of the node {call.node}" if isinstance(message, str) and message else ""
    return f"{call.call_id}{asks}"


def _fits(turn: ScriptTurn, call: OpenCall) -> bool:
    if turn.call_id and turn.call_id != call.call_id:
        return False
    if turn.speaks == "confirm" and not call.is_confirmation:
        return False
    if turn.node and turn.node != call.node:
        return False
    if turn.question and turn.question != call.arguments.get("message"):
        return False
    return not turn.tool or turn.tool in {call.tool_name, asked_about(call)}
