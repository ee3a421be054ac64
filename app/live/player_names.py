"""Names who may play an agent and who may answer a tool, says what each does, and what an impossible one lacks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from simulator.base.frozen_value import Value
from simulator.environment.recordings import ObservedCall
from simulator.facts import EVERY, AgentPlayer, ToolPlayer

AGENT_PLAYERS: dict[AgentPlayer, str] = {
    "model": "Its model",
    "held": "Its model, you approve",
    "person": "You",
}
assert set(AGENT_PLAYERS) == set(get_args(AgentPlayer))  # noqa: S101 - a new player must get a name here


class PlayerWords(Value):
    """What a player is called, in a word for a list and in one for a button, and what it does."""

    name: str
    short: str
    does: str


PLAYERS: dict[ToolPlayer, PlayerWords] = {
    "person": PlayerWords(name="You", short="You", does="Each call waits for your response, with drafts."),
    "auto": PlayerWords(
        name="Automatic, asks when unsure",
        short="Auto",
        does="A recording, the model or a draft responds. You are asked if a rule says so, on a contradiction, or if there is only a guess.",
    ),
    "offline": PlayerWords(
        name="Generated draft",
        short="Generator",
        does="Each call gets its generated draft at once, without a model.",
    ),
    "model": PlayerWords(
        name="Model",
        short="Model",
        does="The environment model writes each response. If it fails, the generated draft is used.",
    ),
    "recorded": PlayerWords(
        name="Recording",
        short="Recording",
        does="The same call gets its recorded response. Any other call waits for you.",
    ),
    "real": PlayerWords(
        name="Real tool",
        short="Real",
        does="The tool's code runs on each call, with its side effects.",
    ),
    "refuse": PlayerWords(
        name="Refuse the call",
        short="Refuse",
        does="Each call fails: the tool is not available here.",
    ),
}
assert set(PLAYERS) == set(get_args(ToolPlayer))  # noqa: S101 - a new player must get a name here

NO_MODEL = "No model is set. Choose one under Environment > Sources."
NOTHING_RECORDED = "No recorded calls of this tool. Add a recording under Environment > Sources."
NO_RECORDING = "No recordings yet. Add one under Environment > Sources."


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
    return f"{PLAYERS[player].name} is not available. {missing}"


def not_at_first(player: ToolPlayer) -> str:
    """Return why a player cannot answer the tools of a session that is only to be opened; empty where it can.

    A new session has neither a model nor a recording: both are given once it is open.
    """
    missing = lacks(player, EVERY, model="", recorded=())
    return (
        f"{not_possible(player, missing)} Start with another player and change it later." if missing else ""
    )
