"""The face of a simulation's user: who speaks for the user, and how a person takes, changes or takes over what is said."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from google.adk.models.base_llm import BaseLlm
from google.genai import types

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject, same
from simulator.facts import Provenance, UserPlayer
from simulator.runtime import simulation_commands, user_player
from simulator.runtime.errors import SimulationError
from simulator.session.user_fold import UserSeat

if TYPE_CHECKING:
    from simulator.runtime.session_engine import Engine


class UserView(Value):
    """What there is to see of the user's seat.

    `running` says that a message is being made, `progress` what goes on and `since` when it began. `words` say why
    nobody but a person speaks next; empty where the player does, or has spoken. `may_go_on` says that `go_on` would let
    the player speak.
    """

    seat: UserSeat = UserSeat()
    running: bool = False
    progress: str = ""
    since: float = 0.0
    words: str = ""
    may_go_on: bool = False

    @property
    def held(self) -> JsonObject | None:
        """The message that waits for a person."""
        return self.seat.proposed.message if self.seat.proposed is not None and not self.running else None


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
    held_back = user_player.holds_back(engine)
    proposed = seat.proposed
    again = proposed is not None and proposed.status in {"failed", "stopped"}
    waits = proposed is None or again or (user_player.is_sent(proposed) and not seat.hold)
    words = proposed.reason if proposed is not None and proposed.reason else held_back
    return UserView(seat=seat, words=words, may_go_on=waits)


class UserCommands(ABC):
    """What a simulation offers for its user's seat."""

    _engine: Engine

    @abstractmethod
    def _command_and_wait(self, work: Callable[[], Any], patience: float | None) -> bool: ...

    @abstractmethod
    def query(self, message: str | JsonObject | types.Content, *, wait: float | None = None) -> bool:
        """Let the user say something."""

    @abstractmethod
    def read(self, work: Callable[[Engine], Any]) -> Any:
        """Return what some work reads from the engine."""

    def set_user(
        self,
        player: UserPlayer,
        *,
        script: Iterable[str | JsonObject | types.Content] = (),
        scenario: JsonObject | None = None,
        config: JsonObject | None = None,
        model: BaseLlm | None = None,
        hold: bool = True,
        wait: float | None = None,
    ) -> bool:
        """Let somebody else speak for the user, from the next message on. True if the session came to rest.

        Args:
            player: Who: a person, a script, a recording or a scenario.
            script: The messages of a script or recording: texts, or google-genai's `Content`, also in JSON.
            scenario: ADK's `ConversationScenario` in JSON; its persona is an object, or the id of one of ADK's own.
            config: ADK's `LlmBackedUserSimulatorConfig` in JSON. An empty `model` is none: after the starting prompt, a
                person is asked. A `max_allowed_invocations` of -1 is no limit. An address, headers and keys in it hold in this
                simulation alone: a session that is resumed has to be given them again.
            model: A model object in place of a name; a session that is resumed has to be given it again.
            hold: Keep each message until a person has accepted it; else they go out by themselves, until the end or
                a failure.
            wait: How many seconds to wait at most.

        Raises:
            SimulationError: The scenario, its configuration or a message is not as ADK wants it, or one is missing.
        """
        fields = _fields(player, script, scenario, config, model)

        async def sit() -> None:
            work = self._engine.user
            if model is not None:
                work.models[model.model] = model
            if "config" in fields:
                work.given.forget(fields["config"])
                fields["config"] = work.given.kept(fields["config"])
            await user_player.sit(self._engine, player, hold=hold, **fields)

        return self._command_and_wait(sit, wait)

    def accept(
        self, message: str | JsonObject | types.Content | None = None, *, wait: float | None = None
    ) -> bool:
        """Let the user say the message that is held, or what a person has made of it.

        Raises:
            SimulationError: None is held.
        """
        held = self.read(lambda engine: user_view(engine).held)
        if held is None:
            raise SimulationError("no user message is held for approval")
        said = simulation_commands.content_of(held if message is None else message)
        if message is None or same(said, held):
            return self.query(said, wait=wait)
        return self._turn("query", said, wait, provenance=Provenance(source="edited"))

    def complete(self, over: bool = True, *, wait: float | None = None) -> bool:
        """Say that the conversation is over after the agent's answer, so that nobody speaks for the user; or that it goes on.

        Saying something goes on, too.

        Raises:
            SimulationError: The agent has given no final response, or it has been said before.
        """
        return self._command_and_wait(lambda: user_player.end(self._engine, over=over), wait)

    @abstractmethod
    def _turn(self, purpose: Any, message: JsonObject, wait: float | None, **more: Any) -> bool: ...


def _fields(
    player: UserPlayer,
    script: Iterable[str | JsonObject | types.Content],
    scenario: JsonObject | None,
    config: JsonObject | None,
    model: BaseLlm | None,
) -> dict[str, Any]:
    """Check what a player speaks from, and return the fields of the fact."""
    if player in {"script", "recording"}:
        said = tuple(_messages(player, script))
        if not said:
            raise SimulationError(f"the {player} has no messages")
        return {"script": said}
    if player != "scenario":
        return {}
    if scenario is None:
        raise SimulationError("no scenario was given")
    adk = importlib.import_module(".adk.user_simulator", __package__)
    named = {"model": model.model} if model is not None else {}
    given = simulation_commands.plain({**(config or {}), **named}, "user simulator's configuration")
    return {
        "scenario": adk.written_scenario(simulation_commands.plain(scenario, "scenario")),
        "config": adk.written_config(given),
    }


def _messages(player: str, script: Iterable[str | JsonObject | types.Content]) -> Iterable[JsonObject]:
    for number, message in enumerate(script, start=1):
        try:
            yield simulation_commands.content_of(message)
        except SimulationError as error:
            raise SimulationError(f"message {number} of the {player}: {error}") from error
