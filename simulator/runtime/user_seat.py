"""The seat of a simulation's user: what there is to see of it, and how somebody sits down there."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from simulator.base.json_values import JsonObject
from simulator.runtime import simulation_commands, user_player
from simulator.runtime.commanding import UserView
from simulator.runtime.errors import SimulationError
from simulator.session.commands import SetUser

if TYPE_CHECKING:
    from simulator.runtime.session_engine import Engine

_BY_HAND = "No model is set for the scenario, so a person writes the next message."


def user_view(engine: Engine) -> UserView:
    """Return what there is to see now."""
    fold, work = engine.journal.fold, engine.user
    seat = fold.user
    if seat.player == "person":
        return UserView(seat=seat)
    if seat.ended:
        return UserView(seat=seat, words="The conversation has ended.")
    if work.speaks:
        return UserView(seat=seat, running=True, progress=work.progress, since=work.since)
    if fold.is_running:
        return UserView(seat=seat)
    if fold.asks_the_user:
        return UserView(seat=seat, words="The agent asks for something that only a person can answer.")
    held_back = _BY_HAND if seat.is_by_hand else user_player.holds_back(engine)
    proposed = seat.proposed
    again = proposed is not None and proposed.status in {"failed", "stopped"}
    waits = proposed is None or again or (user_player.is_sent(proposed) and not seat.hold)
    words = proposed.reason if proposed is not None and proposed.reason else held_back
    return UserView(seat=seat, words=words, may_go_on=waits and not seat.is_by_hand)


async def sit(engine: Engine, asked: SetUser) -> None:
    """Let somebody else speak for the user, from the next message on.

    Raises:
        SimulationError: The scenario, its configuration or a message is not as ADK wants it, or one is missing.
    """
    fields = _fields(asked)
    if "config" in fields:
        engine.user.given.forget(fields["config"])
        fields["config"] = engine.user.given.kept(fields["config"])
    await user_player.sit(engine, asked.player, hold=asked.hold, **fields)


def _fields(asked: SetUser) -> dict[str, Any]:
    """Check what a player speaks from, and return the fields of the fact."""
    if asked.player in {"script", "recording"}:
        said = tuple(_messages(asked.player, asked.script))
        if not said:
            raise SimulationError(f"the {asked.player} has no messages")
        return {"script": said}
    if asked.player != "scenario":
        return {}
    if asked.scenario is None:
        raise SimulationError("no scenario was given")
    adk = importlib.import_module(".adk.user_simulator", __package__)
    given = simulation_commands.plain(asked.config or {}, "user simulator's configuration")
    return {
        "scenario": adk.written_scenario(simulation_commands.plain(asked.scenario, "scenario")),
        "config": adk.written_config(given),
    }


def _messages(player: str, script: Iterable[Any]) -> Iterable[JsonObject]:
    for number, message in enumerate(script, start=1):
        try:
            yield simulation_commands.content_of(message)
        except SimulationError as error:
            raise SimulationError(f"message {number} of the {player}: {error}") from error
