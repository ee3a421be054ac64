"""Answers a tool call: the one way for a session that is played, for a plugin on an unmodified agent, and for a replay.

1. The rules are asked in their order (`CallEnvironment.judge`). Those that fire may take time, answer the call, hang, or leave it
   to a person; others only say what becomes of the answer. What a rule drew or counted moves for this call alone.
2. Where no rule answers, the tool's player does: a person, the real tool, a recording, a model, an offline draft
   (`CallEnvironment.offline`), or nobody, which is refused.
3. The rules that fired distort the answer or lose it (`CallEnvironment.told`), each with chance of its own.
4. The answer, what really happened beneath it, and who made it become one entry. A note says where it breaks the
   tool's output schema.

Each use supplies four things:

| | a session that is played | the plugin | a hermetic replay |
|---|---|---|---|
| what is known and counted | the journal (`LiveEnvironment`) | `SessionPlay`, under its lock | `SessionPlay` of the case |
| players | seats; a person looks where a generator would guess | the configuration; nobody can be asked | none, or drafts |
| time | shown as at work, ends with the turn | slept | none: rules are made to take none |
| the entry | `ToolAnswered`, in the journal's order | `AnsweredCall` | `RecordedCall`, beside the recorded ones |

`dispatcher` has the first use, `plugin.call_claims` the second, `evalset.replay.session_replay` the third:
what was recorded is the player of a replay, so only other calls come here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Literal, NamedTuple

from simulator.environment.drafts.draft import SURE, Blank, Draft, Unsure, unsure_of
from simulator.environment.injection.rule_effects import HangEffect
from simulator.environment.recordings import NO_EFFECTS, ToolEffects
from simulator.facts import Failed, Outcome
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.answering.call_environment import CallEnvironment, LiveEnvironment
from simulator.runtime.models.environment_model import Generation, Modelling, begin_if_due, words_of
from simulator.runtime.models.json_client import RequestProgress
from simulator.runtime.turns.outcomes import as_response, breach_of, outcome_of
from simulator.runtime.turns.turn import SessionPort
from simulator.runtime.turns.waiting_request import C, WaitingRequest
from simulator.seats.answers import raised

NOT_ASKED = "the world has no such entity, so the model was not asked"
"""Why no model makes an answer where the world knows it."""

OFFLINE = "offline"
"""Who authors a draft that no model made."""

_REFUSED = "refused"

Source = Literal["injected", "generated", "recorded", "real", "refused"]


class AuthoredAnswer(NamedTuple):
    """An answer, who authored it, and where it comes from, in words.

    `unsure` names the places of it of which nobody said what belongs there.
    `own` is what a real tool gave or raised, which an agent without a session of ours gets as it is where no rule changes it.
    `effects` are what is done besides; a real tool has done them itself. `failure` says why who was to answer gave nothing, where this is there instead.
    """

    outcome: Outcome
    source: Source
    by: str | None = None
    notes: tuple[str, ...] = ()
    own: Any = None
    unsure: Unsure = SURE
    effects: ToolEffects = NO_EFFECTS
    failure: str = ""

    def noted(self, *notes: str) -> AuthoredAnswer:
        """Return the same answer with words before its own."""
        return self._replace(notes=(*notes, *self.notes))


class Pipeline(Generic[C]):
    """Answers the tool calls of one session, but for what a person or a real tool answers.

    Args:
        environment: What is known, asks the rules, and makes the drafts.
    """

    def __init__(self, environment: CallEnvironment[C]) -> None:
        self.environment = environment

    async def wait(self, call: C, seconds: float | None) -> None:  # noqa: ARG002 - a session that is played shows whose time it is
        """Let the time pass that a rule takes for a call; None is until the run ends."""
        if seconds is None:
            await asyncio.Event().wait()
        else:
            await asyncio.sleep(seconds)

    # ------------------------------------------------------------ rules

    async def by_rule(self, call: C) -> AuthoredAnswer | None:
        """Let the rules that fired for a call take their time, and return what one of them answers.

        None says that the tool's player is to answer, or a person where the rule asks one.

        Raises:
            ValueError: A template of the rule cannot be filled in.
        """
        if seconds := call.firing.latency():
            await self.wait(call, seconds)
        rule = call.firing.rule
        if rule is None or rule.effect.kind == "ask":
            return None
        if isinstance(rule.effect, HangEffect):
            await self.wait(call, rule.effect.timeout_seconds)
            outcome = raised("TimeoutError", rule.effect.message).outcome
        else:
            outcome = self.environment.answered(call)
        return AuthoredAnswer(outcome, "injected", rule.rule_id)

    # ------------------------------------------------------------ players

    def offline(self, call: C) -> AuthoredAnswer:
        """Return the offline draft as an answer."""
        return authored(self.environment.offline(call))

    def recorded(self, call: C) -> AuthoredAnswer | None:
        """Return the answer of the recorded call that is the same, if there is one."""
        near = self.environment.nearest_recorded(call)
        if near is None or near.differs:
            return None
        place = near.call.place
        effects = self.environment.effects_of_recorded(call, near.call)
        notes = (f"recorded in {place}",)
        unsure, outcome = Unsure(near.call.blanks, near.call.uncertain), outcome_of(near.call.response)
        return AuthoredAnswer(outcome, "recorded", place, notes, unsure=unsure, effects=effects)

    async def by_model(self, call: C, ask: Callable[[C], Awaitable[Generation]]) -> AuthoredAnswer:
        """Return what a model answers when it is asked; where it gives nothing usable, the offline draft, with the reason."""
        if self.environment.is_about_nothing(call):
            return self.offline(call).noted(NOT_ASKED)
        said = await ask(call)
        if said.reason:
            instead = self.offline(call).noted(f"a generated draft: {said.reason}", *words_of(said))
            return instead._replace(failure=f"{said.model} gave no response: {said.reason}")
        effects = self.environment.effects_of(call, said.value)
        return AuthoredAnswer(
            outcome_of(said.value), "generated", said.model, words_of(said), effects=effects
        )

    # ------------------------------------------------------------ what becomes of an answer

    def breach(self, call: C, outcome: Outcome, source: str) -> str:
        """Return where an answer that is given breaks the tool's output schema; empty where it does not.

        What a real tool says of which no rule spoke is held against a schema that a person has set only: nothing is
        to slow it down.
        """
        if source == "real" and call.firing.is_empty and self.environment.set_schema(call) is None:
            return ""
        return breach_of(outcome, self.environment.declaration(call).response)


def authored(draft: Draft) -> AuthoredAnswer:
    """Return an offline draft as an answer."""
    return AuthoredAnswer(
        outcome_of(draft.value),
        "generated",
        OFFLINE,
        draft.sources,
        unsure=unsure_of(draft.blanks, draft.value, draft.value),
        effects=draft.effects,
        failure=draft.failure,
    )


def refused(message: str) -> AuthoredAnswer:
    """Return the answer of a tool that nobody may answer."""
    return AuthoredAnswer(Failed(error_code=_REFUSED, error_message=message), "refused")


GENERATORS = frozenset({"offline", "model", "recorded", "auto"})
"""The players of tools that are generators."""

_MOST_NAMED = 5


class LivePipeline(Pipeline[WaitingRequest[ToolBoundaryCall]]):
    """Answers by rule or generator, and leaves to a person what would be a guess, or wrong.

    Args:
        session: The session.
        environment: Asks the rules, and makes the drafts.
        modelling: Asks the environment's model.
    """

    def __init__(self, session: SessionPort, environment: LiveEnvironment, modelling: Modelling) -> None:
        super().__init__(environment)
        self._session, self._modelling = session, modelling

    async def wait(self, call: WaitingRequest[ToolBoundaryCall], seconds: float | None) -> None:
        """Let the time of a rule pass, and show meanwhile whose it is."""
        who = ", ".join(rule.label or rule.rule_id for rule in call.firing.rules)
        self._at_work(call, who, seconds)
        await super().wait(call, seconds)

    def _at_work(self, call: WaitingRequest[ToolBoundaryCall], who: str, delay: float | None = 0) -> None:
        call.running, call.since, call.running_by, call.delay = True, self._session.now(), who, delay
        self._session.changed()

    def asks_a_model(self, player: str) -> bool:
        """Return whether a player waits for a model's word."""
        return player == "model" or (player == "auto" and bool(self._modelling.name))

    async def _ask_model(self, call: WaitingRequest[ToolBoundaryCall]) -> Generation:
        """Ask the environment's model, and show meanwhile what it is at."""

        def told(progress: RequestProgress) -> None:
            call.running_text = progress.text
            self._session.changed()

        begin_if_due(self._modelling, self._session)
        self._at_work(call, self._modelling.name)
        return await self._modelling.draft(self.environment.asked_of_model(call), told)

    async def played(self, call: WaitingRequest[ToolBoundaryCall], player: str) -> AuthoredAnswer | None:
        """Let a generator answer; None where a person has to look, and then `call.note` says why."""
        match player:
            case "recorded":
                made = self.recorded(call)
                if made is None:
                    call.note = self._unrecorded(call)
            case "model":
                made = await self.by_model(call, self._ask_model)
            case "auto":
                made = self.recorded(call) or await self._by_itself(call)
            case _:
                made = self.offline(call)
        return self._unless_wrong(call, made) if made else None

    def _unrecorded(self, call: WaitingRequest[ToolBoundaryCall]) -> str:
        near = self.environment.nearest_recorded(call)
        if near is None:
            return "No recorded calls of this tool."
        return f"No recorded call matches. Closest: {near.call.place}: {'; '.join(near.differs)}"

    async def _by_itself(self, call: WaitingRequest[ToolBoundaryCall]) -> AuthoredAnswer | None:
        """Answer by model or draft, unless it would be a guess."""
        if self._modelling.name:
            return await self.by_model(call, self._ask_model)
        draft = self.environment.offline(call)
        if draft.is_guess:
            call.note = _guessed(draft.blanks)
            return None
        return authored(draft)

    def _unless_wrong(
        self, call: WaitingRequest[ToolBoundaryCall], made: AuthoredAnswer
    ) -> AuthoredAnswer | None:
        """Hold what contradicts the world or breaks the tool's output schema, and what stands for an answer that could not be made."""
        response = as_response(made.outcome)
        found = [each.what for each in self.environment.against(call, response)]
        if broken := self.breach(call, made.outcome, made.source):
            found.append(f"it {broken}")
        if not (found or made.failure):
            return made
        call.note = "The response was held: " + "; ".join(found)
        if made.failure:
            call.fails(made.failure)
        call.held, call.held_by, call.held_from = response, made.by or "", made.notes
        call.held_effects = made.effects
        return None


def _guessed(blanks: Sequence[Blank]) -> str:
    """Return why a draft is a guess."""
    unknown = [blank.path for blank in blanks if not blank.drawn]
    places = ", ".join(unknown[:_MOST_NAMED])
    more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
    return f"The draft is a guess: nothing is known about {places or 'this response'}{more}."
