"""Answers one call in place of a tool: the rules first, then who plays the tool, then what the rules make of the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from simulator.environment.injection.rule_effects import HangEffect
from simulator.environment.plugin_config import StandInPlayer
from simulator.facts import Deferred, Failed, Outcome, Raised, Returned
from simulator.runtime.adk.codec import tool_value, written_error
from simulator.runtime.answering.draft_maker import NOT_ASKED
from simulator.runtime.models.environment_model import words_of
from simulator.runtime.plugin.answered_call import AnsweredCall
from simulator.runtime.plugin.model_player import Modelled
from simulator.runtime.plugin.session_play import Question, SessionPlay
from simulator.runtime.turns.outcomes import as_response, breach_of, outcome_of
from simulator.seats.answers import raised

_LOG = logging.getLogger(__name__)
_REFUSED = "refused"

BROKEN = "simulation_failed"
"""The error code of an answer that there is none, as something is wrong with the environment itself."""

LEFT: Any = object()
"""What stands for the answer of a real tool that somebody else is to run."""

Source = Literal["injected", "generated", "recorded", "real", "refused"]


class Made(NamedTuple):
    """An answer, who authored it, and where it comes from, in words.

    `own` is what a real tool gave or raised, which the agent gets as it is where no rule changes it.
    """

    outcome: Outcome
    source: Source
    by: str | None = None
    notes: tuple[str, ...] = ()
    own: Any = None


class Answering:
    """Answers the calls of one session.

    Args:
        play: What the session's environment knows.
        modelled: The environment's model, if it has one.
        clock: Gives the time, in seconds since the epoch.
    """

    def __init__(self, play: SessionPlay, modelled: Modelled | None, clock: Callable[[], float]) -> None:
        self._play, self._modelled, self._clock = play, modelled, clock

    async def answer(
        self, question: Question, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> tuple[AnsweredCall, Made]:
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
            made = self._flagged(question, await self._begun(question, player, real))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on; what it gets says so
            _LOG.exception("the environment is not able to answer %s", question.name)
            made = self._after(error, question, player)
        call = self._learnt(question, made, started)
        for what in call.contradicts:
            _LOG.warning("the answer of %s contradicts the world: %s", question.name, what)
        return call, made

    async def _begun(
        self, question: Question, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> Made:
        self._play.declaration(question.tool)
        self._play.judge(question)
        if seconds := question.firing.latency():
            await asyncio.sleep(seconds)
        return await self._made(question, player, real)

    def _after(self, error: Exception, question: Question, player: StandInPlayer) -> Made:
        """Return what there is after an error of the environment's own: an offline draft, where one may answer at all."""
        note = f"the environment failed: {type(error).__name__}: {error}"
        if player not in {"real", "refuse"}:
            try:
                return _noted(self._offline(question), note)
            except Exception:  # noqa: BLE001 - whatever it is, the agent is to go on
                _LOG.exception("no offline draft can be made for %s", question.name)
        return Made(Failed(error_code=BROKEN, error_message=note), "refused")

    def _learnt(self, question: Question, made: Made, started: float) -> AnsweredCall:
        """Change an answer as the rules that fired say, and learn what happened and what was told."""
        firing = question.firing
        notes: tuple[str, ...]
        try:
            outcome, beneath, notes = firing.told(
                made.outcome, lambda: self._play.known.calls_of(question.name)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent is to go on
            _LOG.exception("the answer of %s is told as it is", question.name)
            outcome, beneath, notes = made.outcome, None, (f"not changed by any rule: {error}",)
        now = self._clock()

        def answered(number: int) -> AnsweredCall:
            return AnsweredCall(
                number=number,
                at=now,
                call_id=question.call_id,
                agent=question.agent,
                tool_name=question.name,
                arguments=question.arguments,
                outcome=outcome,
                beneath=beneath,
                provenance=firing.provenance(made.source, made.by, (*made.notes, *notes)),
                seconds=max(0.0, now - started),
            )

        return self._play.take(answered)

    def _flagged(self, question: Question, made: Made) -> Made:
        """Note where an answer breaks the tool's output schema.

        What a real tool says of which no rule spoke is held against a schema that was set only: nothing is to slow it
        down.
        """
        is_plain = made.source == "real" and question.firing.is_empty
        if is_plain and not self._play.is_schema_set(question):
            return made
        broken = self._breach(question, made.outcome)
        return made._replace(notes=(*made.notes, broken)) if broken else made

    def _breach(self, question: Question, outcome: Outcome) -> str:
        return breach_of(outcome, self._play.declaration(question.tool).response)

    # ------------------------------------------------------------ who answers

    async def _made(
        self, question: Question, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> Made:
        rule = question.firing.rule
        if rule is None:
            return await self._played(question, player, real)
        if rule.effect.kind == "ask":
            note = f"{rule.rule_id} leaves the call to a person, and nobody is here to ask"
            return _noted(await self._played(question, player, real), note)
        if isinstance(rule.effect, HangEffect):
            await _hang(rule.effect.timeout_seconds)
            return Made(raised("TimeoutError", rule.effect.message).outcome, "injected", rule.rule_id)
        try:
            outcome = question.firing.outcome(lambda seed: self._play.variables(question, seed))
        except ValueError as error:
            _LOG.warning("the rule %s cannot answer %s: %s", rule.rule_id, question.name, error)
            note = f"{rule.rule_id} cannot answer: {error}"
            return _noted(await self._played(question, player, real), note)
        return Made(outcome, "injected", rule.rule_id)

    async def _played(
        self, question: Question, player: StandInPlayer, real: Callable[[], Awaitable[Any]] | None
    ) -> Made:
        match player:
            case "real" if real is not None:
                return await _run(question, real)
            case "refuse":
                return Made(Failed(error_code=_REFUSED, error_message=question.refusal), "refused")
            case "model":
                return await self._by_model(question)
            case "recorded":
                made, why = self._recorded(question)
                return made or _noted(self._offline(question), why or "no recorded call is the same")
            case "auto":
                made, why = self._recorded(question)
                made = made or await self._by_model(question)
                return _noted(made, why) if why else made
            case _:
                return self._offline(question)

    def _offline(self, question: Question) -> Made:
        drafts = self._play.offline(question)
        return Made(drafts.given(), "generated", "offline", drafts.sources)

    def _recorded(self, question: Question) -> tuple[Made | None, str]:
        """Return the recorded answer; without it, why one that is there cannot be used."""
        near = self._play.nearest_recorded(question)
        if near is None or near.differs:
            return None, ""
        place, outcome = near.call.place, outcome_of(near.call.response)
        if broken := self._breach(question, outcome):
            return None, f"the answer as recorded in {place} {broken}"
        return Made(outcome, "recorded", place, (f"as recorded in {place}",)), ""

    async def _by_model(self, question: Question) -> Made:
        """Ask the model; where it gives nothing usable, or contradicts the world, the offline draft stands."""
        if self._modelled is None:
            return self._offline(question)
        if self._play.is_about_nothing(question):
            return _noted(self._offline(question), NOT_ASKED)
        said = await self._modelled.draft(self._play, question)
        if said.reason:
            _LOG.warning("%s is answered by an offline draft: %s", question.name, said.reason)
            return _noted(self._offline(question), f"an offline draft: {said.reason}", *words_of(said))
        made = Made(outcome_of(said.value), "generated", said.model, words_of(said))
        against = self._play.against(question, said.value)
        if against:
            offline = self._offline(question)
            if not self._play.against(question, as_response(offline.outcome)):
                note = f"the model's answer was not taken: {'; '.join(against)}"
                return _noted(offline, note, *words_of(said))
        return made


async def _run(question: Question, real: Callable[[], Awaitable[Any]]) -> Made:
    try:
        own = await real()
    except Exception as error:  # noqa: BLE001 - a real tool may raise anything; the agent gets just that
        return Made(Raised(error=written_error(error)), "real", own=error)
    if own is LEFT or (own is None and question.tool.is_long_running):
        return Made(Deferred(), "real", own=own)
    return Made(Returned(value=tool_value(own)), "real", own=own)


def _noted(made: Made, *notes: str) -> Made:
    return made._replace(notes=(*notes, *made.notes))


async def _hang(seconds: float | None) -> None:
    """Wait for a while, or until the run is stopped."""
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)
