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

`dispatcher` has the first use, `plugin.call_claims` the second, `evalset.replay.session_replay` the third:
what was recorded is the player of a replay, so only other calls come here.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, Literal, NamedTuple

from simulator.base.json_values import JsonObject
from simulator.environment.call_effects import NO_EFFECTS, ToolEffects
from simulator.environment.drafts.blanks import SURE, Blank, Unsure, unsure_of
from simulator.environment.drafts.draft_request import Draft
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.expressions.expressions import variables_of
from simulator.environment.injection.rule_call import CallContext, DrawStreams, Tally
from simulator.environment.injection.rule_effects import HangEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Failed, Outcome
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.answering.draft_maker import Drafting
from simulator.runtime.knowledge.knowledge import Knowledge, LiveKnowledge
from simulator.runtime.knowledge.tool_shapes import ToolShapes
from simulator.runtime.models.environment_model import Generation, Modelling, begin_if_due, words_of
from simulator.runtime.models.json_client import RequestProgress
from simulator.runtime.turns.fired_rules import judged
from simulator.runtime.turns.tool_effects import as_response, breach_of, outcome_of
from simulator.runtime.turns.turn import SessionPort, TurnRun
from simulator.runtime.turns.waiting_request import C, WaitingRequest, held_to
from simulator.seats.answers import raised
from simulator.seats.requests import ToolDeclaration


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
        return authored(self.drafting.offline(call))

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
        if source == "real" and call.firing.is_empty and self.drafting.set_schema(call) is None:
            return ""
        return breach_of(outcome, self.drafting.declaration(call).response)


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


class LiveDrafting(Drafting[WaitingRequest[ToolBoundaryCall]]):
    """Makes drafts for the calls of a session that is played, on the loop's thread.

    Args:
        seed: Where the session's chance comes from.
        knowledge: What its environment knows.
        tools: The agent's tools.
    """

    def __init__(self, seed: str, knowledge: LiveKnowledge, tools: ToolShapes) -> None:
        self._seed, self._knowledge, self._tools = seed, knowledge, tools

    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the journal's facts add up to."""
        return nullcontext(self._knowledge.up_to_date())

    def declaration(self, call: WaitingRequest[ToolBoundaryCall]) -> ToolDeclaration:
        """Return a tool as it is declared, with the output schema that a person has set for it."""
        if call.declared is None:
            call.declared = self._tools.declaration(call.tool)
        return held_to(call.declared, self._knowledge.output_schema(call.name))

    def set_schema(self, call: WaitingRequest[ToolBoundaryCall]) -> JsonObject | None:
        """Return the schema that a person has set for the tool's answers."""
        return self._knowledge.output_schema(call.name)

    def now(self, call: WaitingRequest[ToolBoundaryCall]) -> float:  # noqa: ARG002 - the calls of one turn of the agent have one time
        """Return when the agent last made calls."""
        return self._knowledge.up_to_date().asked_at

    def draft_seed(self, call: WaitingRequest[ToolBoundaryCall]) -> str:
        """Return a seed that the request's key makes its own."""
        return f"{self._seed}/{call.key}"

    def codes(self, call: WaitingRequest[ToolBoundaryCall]) -> Mapping[str, FunctionSource]:  # noqa: ARG002 - the agent's tools are the same for each call
        """Return where the agent's tools are written, by name."""
        return self._tools.codes()


class LiveRules(RuleGate[WaitingRequest[ToolBoundaryCall]]):
    """Lets the rules speak about the tool calls of a turn. What they count and draw is folded from the facts.

    Args:
        session: The session.
        run: The turn.
        streams: The rules' streams of draws.
        knowledge: What the environment knows.
    """

    def __init__(
        self, session: SessionPort, run: TurnRun, streams: DrawStreams, knowledge: LiveKnowledge
    ) -> None:
        self._session, self._run, self._knowledge = session, run, knowledge
        self.seed, self.streams = session.seed, streams

    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the journal's facts add up to."""
        return nullcontext(self._knowledge.up_to_date())

    def rules_for(self, call: WaitingRequest[ToolBoundaryCall]) -> tuple[InjectionRule, ...]:
        """Return the rules that were in force when the call was made."""
        return call.rules

    def tally(self, call: WaitingRequest[ToolBoundaryCall]) -> Tally:
        """Count what is a fact, and what calls have taken that were judged before and are not answered yet."""
        counts = self._session.journal.fold.counts
        drawn, counted, fired = Counter(counts.drawn), Counter(counts.counted), Counter(counts.fired)
        calls = Counter(counts.calls)
        for other in self._run.waiting.values():
            is_before = other is not call and other.judged and not other.future.done()
            if is_before and isinstance(other.call, ToolBoundaryCall):
                drawn.update(other.firing.drawn)
                counted.update(other.firing.counted)
                fired.update(other.firing.fired)
                calls[other.name] += 1
        return Tally(
            drawn=drawn,
            counted=counted,
            fired=fired,
            tool_calls=calls[call.name],
            session_calls=calls.total(),
        )

    def count(self, call: WaitingRequest[ToolBoundaryCall]) -> None:
        """Let the call count until its answer is a fact."""
        call.judged = True


class LivePipeline(Pipeline[WaitingRequest[ToolBoundaryCall]]):
    """Answers by rule or generator, and leaves to a person what would be a guess, or wrong.

    Args:
        session: The session.
        rules: Asks the rules.
        drafting: Makes the drafts.
        modelling: Asks the environment's model.
    """

    def __init__(
        self, session: SessionPort, rules: LiveRules, drafting: LiveDrafting, modelling: Modelling
    ) -> None:
        super().__init__(rules, drafting)
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
        return await self._modelling.draft(self.drafting.asked_of_model(call), told)

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
        near = self.drafting.nearest_recorded(call)
        if near is None:
            return "No recorded calls of this tool."
        return f"No recorded call matches. Closest: {near.call.place}: {'; '.join(near.differs)}"

    async def _by_itself(self, call: WaitingRequest[ToolBoundaryCall]) -> AuthoredAnswer | None:
        """Answer by model or draft, unless it would be a guess."""
        if self._modelling.name:
            return await self.by_model(call, self._ask_model)
        draft = self.drafting.offline(call)
        if draft.is_guess:
            call.note = _guessed(draft.blanks)
            return None
        return authored(draft)

    def _unless_wrong(
        self, call: WaitingRequest[ToolBoundaryCall], made: AuthoredAnswer
    ) -> AuthoredAnswer | None:
        """Hold what contradicts the world or breaks the tool's output schema, and what stands for an answer that could not be made."""
        response = as_response(made.outcome)
        found = [each.what for each in self.drafting.against(call, response)]
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
