"""Names who may play an agent and who may answer a tool, says what each does, and what an impossible one lacks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from simulator.base.frozen_value import Value
from simulator.environment.recordings.recorded_calls import ObservedCall
from simulator.facts import EVERY, AgentPlayer, ToolPlayer

AGENT_PLAYERS: dict[AgentPlayer, str] = {
    "model": "Its own model",
    "held": "Its model, held for approval",
    "person": "You",
}
assert set(AGENT_PLAYERS) == set(get_args(AgentPlayer))  # noqa: S101 - a new player must get a name here


class PlayerWords(Value):
    """What a player is called, in a word for a list and in one for a button, and what it does."""

    name: str
    short: str
    does: str


PLAYERS: dict[ToolPlayer, PlayerWords] = {
    "person": PlayerWords(name="You", short="You", does="Each call waits for your answer, with drafts."),
    "auto": PlayerWords(
        name="By itself, until it needs you",
        short="By itself",
        does="A recording, the model or a draft answers; a rule that asks, a contradiction or a mere guess stops it for you.",
    ),
    "offline": PlayerWords(
        name="Drafts, without a model", short="Drafts", does="Each call gets its offline draft at once."
    ),
    "model": PlayerWords(
        name="A model makes up answers",
        short="Model",
        does="The environment's model makes each answer; where it fails, the offline draft stands.",
    ),
    "recorded": PlayerWords(
        name="Recorded answers",
        short="Recorded",
        does="The same call gets its recorded answer; any other call waits for you.",
    ),
    "real": PlayerWords(
        name="The real tool",
        short="Real",
        does="The tool's own code runs at each call, with its side effects.",
    ),
    "refuse": PlayerWords(
        name="Nobody: refused",
        short="Refuse",
        does="Each call is answered with an error: not available here.",
    ),
}
assert set(PLAYERS) == set(get_args(ToolPlayer))  # noqa: S101 - a new player must get a name here

NO_MODEL = "No model is set yet: choose one under Environment, Sources."
NOTHING_RECORDED = "Nothing is recorded of it yet: give a recording under Environment, Sources."
NO_RECORDING = "Nothing is recorded yet: give a recording under Environment, Sources."


def lacks(player: ToolPlayer, tool_name: str, model: str, recorded: Sequence[ObservedCall]) -> str:
    """Return what a player lacks to answer the calls of a tool (or of `EVERY` tool), and where to set it; empty for nothing.

    Args:
        player: Who would play.
        tool_name: The tool.
        model: The environment's model; empty for none.
        recorded: The calls that were given to answer from.
    """
    if player == "model" and not model:
        return NO_MODEL
    if player == "recorded" and not any(tool_name in {EVERY, call.tool_name} for call in recorded):
        return NO_RECORDING if tool_name == EVERY else NOTHING_RECORDED
    return ""


def not_possible(player: ToolPlayer, missing: str) -> str:
    """Say that a player cannot sit down, and what it lacks."""
    return f"{PLAYERS[player].name}: not possible. {missing}"


def not_at_first(player: ToolPlayer) -> str:
    """Return why a player cannot answer the tools of a session that is only to be opened; empty where it can.

    A new session has neither a model nor a recording: both are given once it is open.
    """
    missing = lacks(player, EVERY, model="", recorded=())
    return (
        f"{not_possible(player, missing)} Start with another one, and change the seat then."
        if missing
        else ""
    )
