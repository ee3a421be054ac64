"""Answers one call in place of a tool, as `answering.pipeline` says, where nobody can be asked and the agent is to go on whatever happens."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from simulator.base.secret_masking import error_words
from simulator.environment.plugin_config import StandInPlayer
from simulator.facts import Deferred, Failed, Raised, Returned
from simulator.runtime.adk.codec import tool_value, written_error
from simulator.runtime.answering.pipeline import OFFLINE, AuthoredAnswer, Pipeline, refused
from simulator.runtime.plugin.model_player import Modelled
from simulator.runtime.plugin.session_play import AnsweredCall, EnvironmentCall, SessionPlay
from simulator.runtime.turns.outcomes import as_response

_LOG = logging.getLogger(__name__)

BROKEN = "simulation_failed"
"""The error code of an answer that there is none, as something is wrong with the environment itself."""

LEFT: Any = object()
"""What stands for the answer of a real tool that somebody else is to run."""


class PluginAnswering(Pipeline[EnvironmentCall]):
    """Answers the calls of one session.

    Args:
        play: What the session's environment knows.
        modelled: The environment's model, if it has one.
        clock: Gives the time, in seconds since the epoch.
    """

    def __init__(self, play: SessionPlay, modelled: Modelled | None, clock: Callable[[], float]) -> None:
        super().__init__(play, play)
        self._play, self._modelled, self._clock = play, modelled, clock

    async def answer(
        self, question: EnvironmentCall, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> tuple[AnsweredCall, AuthoredAnswer]:
        """Answer a call, and learn from it.

        Args:
            question: The call.
            player: Who answers where no rule does.
            real: Runs the real tool.

        Returns:
            The call as it was answered, and what was made before the rules changed it.
        """
        started = self._clock()
        try:
            made = await self._begun(question, player, real)
            if broken := self.breach(question, made.outcome, made.source):
                made = made._replace(notes=(*made.notes, broken))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on; what it gets says so
            _LOG.exception("the environment could not answer %s", question.name)
            made = self._after(error, question, player)
        call = self._learnt(question, made, started)
        for what in call.contradicts:
            _LOG.warning("the response of %s contradicts the world: %s", question.name, what)
        return call, made

    async def _begun(
        self, question: EnvironmentCall, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> AuthoredAnswer:
        self._play.declaration(question)
        self._play.judge(question)
        rule = question.firing.rule
        try:
            made = await self.by_rule(question)
        except ValueError as error:
            if rule is None:
                raise
            _LOG.warning("the rule %s cannot answer %s: %s", rule.rule_id, question.name, error)
            note = f"{rule.rule_id} cannot answer: {error}"
            return (await self._played(question, player, real)).noted(note)
        made = made or await self._played(question, player, real)
        if rule is not None and rule.effect.kind == "ask":
            return made.noted(
                f"{rule.rule_id} asks a person to answer the call, but no one can be asked here"
            )
        return made

    def _after(self, error: Exception, question: EnvironmentCall, player: StandInPlayer) -> AuthoredAnswer:
        """Return what there is after an error of the environment's own: an offline draft, where one may answer at all."""
        note = f"the environment failed: {error_words(error)}"
        if player not in {"real", "refuse"}:
            try:
                return self.offline(question).noted(note)
            except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
                _LOG.exception("no draft can be generated for %s", question.name)
        return AuthoredAnswer(Failed(error_code=BROKEN, error_message=note), "refused")

    def _learnt(self, question: EnvironmentCall, made: AuthoredAnswer, started: float) -> AnsweredCall:
        """Change an answer as the rules that fired say, and learn what happened and what was told."""
        firing = question.firing
        notes: tuple[str, ...]
        try:
            outcome, beneath, notes = self._play.told(question, made.outcome)
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the response of %s is passed on unchanged", question.name)
            outcome, beneath, notes = made.outcome, None, (f"not changed by rules: {error}",)
        now = self._clock()
        provenance = firing.provenance(made.source, made.by, (*made.notes, *notes), made.unsure)
        seconds = max(0.0, now - started)
        return self._play.take(
            lambda number: question.answered(
                number,
                outcome,
                provenance,
                at=now,
                beneath=beneath,
                seconds=seconds,
                effects=made.effects,
            )
        )

    # ------------------------------------------------------------ who answers

    async def _played(
        self, question: EnvironmentCall, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> AuthoredAnswer:
        match player:
            case "real" if real is not None:
                return await _run(question, real)
            case "refuse":
                return refused(question.refusal)
            case "model":
                return await self._by_model(question)
            case "recorded":
                made, why = self._usable(question)
                return made or self.offline(question).noted(why or "no recorded call matches")
            case "auto":
                made, why = self._usable(question)
                made = made or await self._by_model(question)
                return made.noted(why) if why else made
            case _:
                return self.offline(question)

    def _usable(self, question: EnvironmentCall) -> tuple[AuthoredAnswer | None, str]:
        """Return the recorded answer; without it, why one that is there cannot be used."""
        made = self.recorded(question)
        if made is not None and (broken := self.breach(question, made.outcome, made.source)):
            return None, f"the response recorded in {made.by} {broken}"
        return made, ""

    async def _by_model(self, question: EnvironmentCall) -> AuthoredAnswer:
        """Let the model answer; where there is none, or it contradicts the world, the offline draft stands."""
        if self._modelled is None:
            return self.offline(question)
        made = await self.by_model(question, functools.partial(self._modelled.draft, self._play))
        against = made.by != OFFLINE and self._play.against(question, as_response(made.outcome))
        if not against:
            return made
        offline = self.offline(question)
        if self._play.against(question, as_response(offline.outcome)):
            return made
        what = "; ".join(each.what for each in against)
        return offline.noted(f"the model's response was discarded: {what}", *made.notes)


async def _run(question: EnvironmentCall, real: Callable[[], Awaitable[Any]]) -> AuthoredAnswer:
    try:
        own = await real()
    except Exception as error:  # noqa: BLE001 - a real tool may raise anything; the agent gets just that
        return AuthoredAnswer(Raised(error=written_error(error)), "real", own=error)
    if own is LEFT or (own is None and question.tool.is_long_running):
        return AuthoredAnswer(Deferred(), "real", own=own)
    return AuthoredAnswer(Returned(value=tool_value(own)), "real", own=own)
