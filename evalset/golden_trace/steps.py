"""Says what the steps of a turn are, of a golden as of a run. Knows no ADK, whose import takes a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject


class Step(Value):
    """One step of a turn: what the user asks, a call, what it was answered, or the final text; behind the last turn, the state.

    Attributes:
        kind: Which of these.
        author: Who made it, where that is told.
        tool: The tool of a call or a response.
        value: The arguments of a call, a response, or the state.
        text: What was said, by the user or at last.
        within: The agent tools inside of which a call was made, outermost first, by name.
    """

    kind: Literal["query", "call", "response", "text", "state"]
    author: str = ""
    tool: str = ""
    value: Json = None
    text: str = ""
    within: tuple[str, ...] = ()


def response_behind(steps: Sequence[Step], place: int) -> Step | None:
    """Return the response to the call at a place among the steps of a turn; None where it has none."""
    following = steps[place + 1] if place + 1 < len(steps) else None
    return following if following is not None and following.kind == "response" else None


def with_state(turns: Sequence[tuple[Step, ...]], state: JsonObject | None) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of all turns with the final state behind the last one, where it is known."""
    if not turns or state is None:
        return tuple(turns)
    return (*turns[:-1], (*turns[-1], Step(kind="state", value=state)))


def text_of(steps: Sequence[Step], kind: str) -> str:
    """Return what the user asks, or what the agent says at last, among the steps of a turn."""
    return next((step.text for step in steps if step.kind == kind), "")
