"""Answers a tool call: the one way for a session that is played, for a plugin on an unmodified agent, and for a replay.

1. The rules are asked in their order (`RuleGate`). Those that fire may take time, answer the call, hang, or leave it
   to a person; others only say what becomes of the answer. What a rule drew or counted moves for this call alone.
2. Where no rule answers, the tool's player does: a person, the real tool, a recording, a model, an offline draft
   (`Drafting`), or nobody, which is refused.
3. The rules that fired distort the answer or lose it (`RuleGate.told`), each with chance of its own.
4. The answer, what really happened beneath it, and who made it become one entry. A note says where it breaks the
   tool's output schema.

Each use supplies four things:

| | a session that is played | the plugin | a hermetic replay |
|---|---|---|---|
| what is known and counted | the journal (`LiveDrafting`, `LiveRules`) | `SessionPlay`, under its lock | `SessionPlay` of the case |
| players | seats; a person looks where a generator would guess | the configuration; nobody can be asked | none, or drafts |
| time | shown as at work, ends with the turn | slept | none: rules are made to take none |
| the entry | `ToolAnswered`, in the journal's order | `AnsweredCall` | `RecordedCall`, beside the recorded ones |

`dispatcher` has the first use, `plugin.call_claims` the second, `evalset.replay.improvised_answers` the third:
what was recorded is the player of a replay, so only other calls come here.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, Literal, NamedTuple

from simulator.environment.call_effects import NO_EFFECTS, ToolEffects
from simulator.environment.drafts.blanks import SURE, Unsure, unsure_of
from simulator.environment.expressions.templates import variables_of
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rule_effects import HangEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Failed, Outcome
from simulator.runtime.answering.draft_maker import Drafting, OfflineDraft
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.models.environment_model import Generation, words_of
from simulator.runtime.turns.fired_rules import judged
from simulator.runtime.turns.tool_effects import breach_of, outcome_of
from simulator.runtime.turns.waiting_request import C
from simulator.seats.answers import raised


class RuleGate(ABC, Generic[C]):
    """Lets the rules of a session speak about its tool calls. Who uses it says which rules there are, and counts.

    `seed` is where the session's chance comes from, and `streams` are the rules' streams of draws.
    """

    seed: str
    streams: DrawStreams

    @abstractmethod
    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the environment knows, as it is now, while somebody looks at it."""

    @abstractmethod
    def rules_for(self, call: C) -> tuple[InjectionRule, ...]:
        """Return the rules that are in force for a call."""

    @abstractmethod
    def tally(self, call: C) -> Tally:
        """Return what was counted before a call."""

    @abstractmethod
    def count(self, call: C) -> None:
        """Count a call that was judged, and what its rules drew, counted and did."""

    def judge(self, call: C) -> None:
        """Ask the rules about a call, which counts as one from now on."""
        with self.knowing():
            asked = self.asked(call)
            call.firing = judged(self.rules_for(call), asked, self.streams, self.seed)
            call.number = asked.tally.tool_calls + 1
            self.count(call)

    def asked(self, call: C) -> CallContext:
        """Describe a call as the rules look at it."""
        with self.knowing() as known:
            return CallContext(
                tool_name=call.name,
                arguments=call.arguments,
                agent=call.agent,
                branch=call.branch,
                tally=self.tally(call),
                world=known.world.collections,
                state=lambda: call.state() or {},
                calls=lambda: known.calls_of(call.name),
            )

    def answered(self, call: C) -> Outcome:
        """Return what the rule that fired answers.

        Raises:
            ValueError: No rule answers, or a template of the rule cannot be filled in.
        """
        with self.knowing() as known:
            return call.firing.outcome(
                lambda seed: variables_of(
                    args=call.arguments,
                    state=call.state(),
                    world=known.world.collections(),
                    calls=known.calls_of(call.name),
                    answers=known.last_answers(),
                    agent=call.agent,
                    call_number=call.number,
                    seed=seed,
                )
            )

    def told(self, call: C, outcome: Outcome) -> tuple[Outcome, Outcome | None, tuple[str, ...]]:
        """Change an answer as the rules that fired say; as `Firing.told`."""
        with self.knowing() as known:
            return call.firing.told(outcome, lambda: known.calls_of(call.name))


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
        rules: Asks the injection rules.
        drafting: Makes the drafts.
    """

    def __init__(self, rules: RuleGate[C], drafting: Drafting[C]) -> None:
        self.rules, self.drafting = rules, drafting

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
            outcome = self.rules.answered(call)
        return AuthoredAnswer(outcome, "injected", rule.rule_id)

    # ------------------------------------------------------------ players

    def offline(self, call: C) -> AuthoredAnswer:
        """Return the offline draft as an answer."""
        draft = self.drafting.offline(call)
        return authored(draft)

    def recorded(self, call: C) -> AuthoredAnswer | None:
        """Return the answer of the recorded call that is the same, if there is one."""
        near = self.drafting.nearest_recorded(call)
        if near is None or near.differs:
            return None
        place = near.call.place
        effects = self.drafting.effects_of_recorded(call, near.call)
        notes = (f"recorded in {place}",)
        unsure, outcome = Unsure(near.call.blanks, near.call.uncertain), outcome_of(near.call.response)
        return AuthoredAnswer(outcome, "recorded", place, notes, unsure=unsure, effects=effects)

    async def by_model(self, call: C, ask: Callable[[C], Awaitable[Generation]]) -> AuthoredAnswer:
        """Return what a model answers when it is asked; where it gives nothing usable, the offline draft, with the reason."""
        if self.drafting.is_about_nothing(call):
            return self.offline(call).noted(NOT_ASKED)
        said = await ask(call)
        if said.reason:
            instead = self.offline(call).noted(f"a generated draft: {said.reason}", *words_of(said))
            return instead._replace(failure=f"{said.model} gave no response: {said.reason}")
        effects = self.drafting.effects_of(call, said.value)
        return AuthoredAnswer(
            outcome_of(said.value), "generated", said.model, words_of(said), effects=effects
        )

    # ------------------------------------------------------------ what becomes of an answer

    def breach(self, call: C, outcome: Outcome, source: str) -> str:
        """Return where an answer that is given breaks the tool's output schema; empty where it does not.

        What a real tool says of which no rule spoke is held against a schema that a person has set only: nothing is
        to slow it down.
        """
        if source == "real" and call.firing.is_empty and not self.drafting.is_schema_set(call):
            return ""
        return breach_of(outcome, self.drafting.declaration(call).response)


def authored(draft: OfflineDraft) -> AuthoredAnswer:
    """Return an offline draft as an answer."""
    return AuthoredAnswer(
        draft.given(),
        "generated",
        OFFLINE,
        draft.sources,
        unsure=unsure_of(draft.blanks, draft.draft, draft.draft),
        effects=draft.effects,
        failure=draft.failure,
    )


def refused(message: str) -> AuthoredAnswer:
    """Return the answer of a tool that nobody may answer."""
    return AuthoredAnswer(Failed(error_code=_REFUSED, error_message=message), "refused")
