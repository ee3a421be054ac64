"""Answers the tool calls of a session that is played: rules and drafts of its journal, and a person where one has to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from simulator.environment.drafts.blanks import Blank
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.injection.rule_call import Tally
from simulator.environment.injection.rule_draws import DrawStreams
from simulator.environment.injection.rules import InjectionRule
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.answering.draft_maker import Drafting
from simulator.runtime.answering.pipeline import AuthoredAnswer, Pipeline, RuleGate, authored
from simulator.runtime.knowledge.knowledge import Knowledge, LiveKnowledge
from simulator.runtime.models.environment_model import Generation, Modelling, begin_if_due
from simulator.runtime.models.json_client import RequestProgress
from simulator.runtime.turns.tool_effects import as_response
from simulator.runtime.turns.turn import SessionPort, TurnRun
from simulator.runtime.turns.waiting_request import WaitingRequest, describe_tool, held_to
from simulator.seats.requests import ToolDeclaration

GENERATORS = frozenset({"offline", "model", "recorded", "auto"})
"""The players of tools that are generators."""

_MOST_NAMED = 5


class LiveDrafting(Drafting[WaitingRequest[ToolBoundaryCall]]):
    """Makes drafts for the calls of a session that is played, on the loop's thread.

    Args:
        seed: Where the session's chance comes from.
        knowledge: What its environment knows.
        codes: Gives where the agent's tools are written, by name.
    """

    def __init__(
        self, seed: str, knowledge: LiveKnowledge, codes: Callable[[], Mapping[str, FunctionSource]] = dict
    ) -> None:
        self._seed, self._knowledge, self._codes = seed, knowledge, codes

    def knowing(self) -> AbstractContextManager[Knowledge]:
        """Hold what the journal's facts add up to."""
        return nullcontext(self._knowledge.up_to_date())

    def declaration(self, call: WaitingRequest[ToolBoundaryCall]) -> ToolDeclaration:
        """Return a tool as it is declared, with the output schema that a person has set for it."""
        if call.declared is None:
            call.declared = describe_tool(call.tool)
        return held_to(call.declared, self._knowledge.up_to_date().output_schema(call.name))

    def is_schema_set(self, call: WaitingRequest[ToolBoundaryCall]) -> bool:
        """Return whether a person has set a schema for the tool's answers."""
        return self._knowledge.is_schema_set(call.name)

    def now(self, call: WaitingRequest[ToolBoundaryCall]) -> float:  # noqa: ARG002 - the calls of one turn of the agent have one time
        """Return when the agent last made calls."""
        return self._knowledge.up_to_date().asked_at

    def draft_seed(self, call: WaitingRequest[ToolBoundaryCall]) -> str:
        """Return a seed that the request's key makes its own."""
        return f"{self._seed}/{call.key}"

    def codes(self, call: WaitingRequest[ToolBoundaryCall]) -> Mapping[str, FunctionSource]:  # noqa: ARG002 - the agent's tools are the same for each call
        """Return where the agent's tools are written, by name."""
        return self._codes()


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
