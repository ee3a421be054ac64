"""The agents, scenarios and models that the tests of the user's seat share."""

from __future__ import annotations

from typing import Any

from google.genai import types
from pydantic import Field

from simulator.base.json_values import JsonObject
from simulator.runtime import Simulation
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, Scripted, agent_of, opened, say

SCENARIO: JsonObject = {
    "starting_prompt": "Where is my order?",
    "conversation_plan": "Ask for a refund; then you are done.",
    "user_persona": "NOVICE",
}


class Speaker(Scripted):
    """A model that says its lines in order, one for each time that it is asked; an exception is raised in place of a line."""

    model: str = "speaker"
    lines: list[Any] = Field(default_factory=list)

    def turn(self, request: Any) -> list[types.Part]:
        """Return the next line."""
        line = self.lines[len(self.asked) - 1] if len(self.asked) <= len(self.lines) else "</finished>"
        if isinstance(line, BaseException):
            raise line
        return line if isinstance(line, list) else [say(line)]


def speaker(*lines: Any) -> Speaker:
    """Make a model that says these lines, and then gives ADK's stop signal."""
    return Speaker(lines=list(lines))


def desk(*turns: Any, **more: Any) -> Simulation:
    """Open a session with an agent that answers each message with `reply n`."""
    says = turns or tuple([say(f"reply {number}")] for number in range(1, 20))
    return opened(agent_of(*says), **more)


def seat(sim: Simulation, model: Any = None, **more: Any) -> None:
    """Let the scenario sit down."""
    more.setdefault("scenario", SCENARIO)
    assert sim.set_user("scenario", model=model, wait=PATIENCE, **more)


def said(sim: Simulation) -> list[str]:
    """Return what the user said, in order."""
    messages: list[Any] = [turn.message for turn in sim.session.turns]
    return [part["text"] for message in messages for part in message["parts"]]


def held(sim: Simulation) -> str | None:
    """Return the text that is held."""
    message: Any = sim.view().user.held
    return None if message is None else message["parts"][0]["text"]


def status(sim: Simulation) -> str | None:
    """Return the status of what the player said last."""
    proposed = sim.view().user.seat.proposed
    return proposed.status if proposed else None


def until(condition: Any) -> None:
    """Wait until something is so."""
    wait_until(condition, what="it", seconds=PATIENCE)
