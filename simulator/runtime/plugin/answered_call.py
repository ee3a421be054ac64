"""Describes a call that was answered in place of a tool: what was asked, what the agent saw, and who said it."""

from __future__ import annotations

from typing import Any

from simulator.base.json_values import JsonObject
from simulator.facts import Outcome, Provenance, Value
from simulator.runtime.turns.outcomes import as_response


class AnsweredCall(Value):
    """An answered call.

    Attributes:
        number: Its place among the answered calls of its session, from 1.
        at: When it was answered, in seconds since the epoch.
        call_id: ADK's id of the function call.
        agent: The agent that called.
        tool_name: The tool.
        arguments: What it was asked.
        outcome: What the agent got: a value, an error dict, or an exception.
        beneath: What really happened, where a rule distorted the answer or lost it.
        provenance: Who answered, which rules fired, and why the others did not.
        contradicts: What of the answer contradicts the world, in words.
        seconds: How long it took.
    """

    number: int
    at: float
    call_id: str = ""
    agent: str = ""
    tool_name: str
    arguments: JsonObject
    outcome: Outcome
    beneath: Outcome | None = None
    provenance: Provenance
    contradicts: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def turn(self) -> int:
        """The place of the call, which stands for the time at which it changed the world."""
        return self.number

    @property
    def response(self) -> Any:
        """What the agent saw: a value or an error dict; None where the call raised."""
        return as_response(self.outcome)

    @property
    def really(self) -> Any:
        """What really happened, as `response` says it."""
        return as_response(self.beneath or self.outcome)
