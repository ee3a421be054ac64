"""Makes the answers of tools that a generator plays, and says when a person has to look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from simulator.base.json_values import JsonObject
from simulator.environment.drafts.blanks import Blank
from simulator.environment.recordings.nearest_calls import Near
from simulator.environment.world.entities import WorldCall
from simulator.facts import Outcome, Provenance
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.answering.draft_maker import NOT_ASKED, Drafting
from simulator.runtime.knowledge.live_knowledge import LiveKnowledge
from simulator.runtime.models.connection_analysis import begin_if_due
from simulator.runtime.models.environment_model import Modelling, words_of
from simulator.runtime.models.json_client import Progress
from simulator.runtime.turns.outcomes import as_response, breach_of, outcome_of
from simulator.runtime.turns.session_port import SessionPort
from simulator.runtime.turns.waiting_request import Waiting

GENERATORS = frozenset({"offline", "model", "recorded", "auto"})
"""The players of tools that are generators."""


_MOST_NAMED = 5


class Made(NamedTuple):
    """An answer that a generator made, who authored it, and where it comes from, in words."""

    outcome: Outcome
    source: Literal["generated", "recorded"]
    by: str
    notes: tuple[str, ...]


class Generating:
    """Answers for the generators that play tools.

    Args:
        table: The session.
        knowledge: What the environment knows.
        drafting: Makes the drafts.
        modelling: Asks the environment's model.
    """

    def __init__(
        self, table: SessionPort, knowledge: LiveKnowledge, drafting: Drafting, modelling: Modelling
    ) -> None:
        self._table, self._knowledge, self._drafting, self._modelling = table, knowledge, drafting, modelling

    def asks_a_model(self, player: str) -> bool:
        """Return whether a player waits for a model's word."""
        has_model = bool(self._modelling.environment.settings.simulation_model)
        return player == "model" or (player == "auto" and has_model)

    async def answer(self, waiting: Waiting[ToolBoundaryCall], player: str) -> Made | None:
        """Make an answer; None where a person has to look, and then `waiting.note` says why."""
        match player:
            case "recorded":
                made = self._recorded(waiting)
            case "model":
                made = await self._by_model(waiting)
            case "auto":
                made = await self._by_itself(waiting)
            case _:
                made = self._offline(waiting)
        return self._unless_wrong(waiting, made) if made else None

    def _used(self, near: Near) -> Made:
        place = near.call.place
        return Made(outcome_of(near.call.response), "recorded", place, (f"as recorded in {place}",))

    def _recorded(self, waiting: Waiting[ToolBoundaryCall]) -> Made | None:
        near = self._drafting.nearest_recorded(waiting)
        if near is not None and not near.differs:
            return self._used(near)
        waiting.note = (
            "No recorded call of this tool is there."
            if near is None
            else f"No recorded call is the same. The nearest, {near.call.place}: {'; '.join(near.differs)}"
        )
        return None

    def _offline(self, waiting: Waiting[ToolBoundaryCall]) -> Made:
        draft = self._drafting.offline(waiting)
        return Made(draft.given(), "generated", "offline", draft.sources)

    async def _by_model(self, waiting: Waiting[ToolBoundaryCall]) -> Made:
        """Ask a model; where it gives nothing usable, the offline draft stands and the reason is noted."""

        def told(progress: Progress) -> None:
            waiting.running_text = progress.text
            self._table.changed()

        if self._drafting.is_about_nothing(waiting):
            return self._noted(waiting, NOT_ASKED)
        begin_if_due(self._modelling, self._table)
        waiting.running, waiting.since = True, self._table.now()
        waiting.running_by = self._modelling.name
        self._table.changed()
        said = await self._drafting.by_model(waiting, told)
        if said.reason:
            return self._noted(waiting, f"an offline draft: {said.reason}", *words_of(said))
        return Made(outcome_of(said.value), "generated", said.model, words_of(said))

    def _noted(self, waiting: Waiting[ToolBoundaryCall], *notes: str) -> Made:
        offline = self._offline(waiting)
        return offline._replace(notes=(*notes, *offline.notes))

    async def _by_itself(self, waiting: Waiting[ToolBoundaryCall]) -> Made | None:
        """Answer by recording, model or draft, unless it would be a guess."""
        near = self._drafting.nearest_recorded(waiting)
        if near is not None and not near.differs:
            return self._used(near)
        if self._knowledge.environment.settings.simulation_model:
            return await self._by_model(waiting)
        draft = self._drafting.offline(waiting)
        if draft.is_guess:
            waiting.note = _guessed(draft.blanks)
            return None
        return Made(draft.given(), "generated", "offline", draft.sources)

    def _unless_wrong(self, waiting: Waiting[ToolBoundaryCall], made: Made) -> Made | None:
        """Hold what contradicts the world or breaks the tool's output schema."""
        response = as_response(made.outcome)
        found = [each.what for each in self._knowledge.up_to_date().against(world_call(waiting, response))]
        if broken := breach_of(made.outcome, self._drafting.declaration(waiting).response):
            found.append(f"it {broken}")
        if not found:
            return made
        waiting.note = "The answer was held: " + "; ".join(found)
        waiting.held, waiting.held_by, waiting.held_from = response, made.by, made.notes
        return None

    def flagged(
        self, waiting: Waiting[ToolBoundaryCall], outcome: Outcome, provenance: Provenance
    ) -> Provenance:
        """Note where an answer that is given breaks the tool's output schema.

        What a real tool says of which no rule spoke is held against a schema that a person has set only: nothing is
        to slow it down.
        """
        is_plain = provenance.source == "real" and waiting.firing.is_empty
        if is_plain and not self._knowledge.is_schema_set(waiting.name):
            return provenance
        broken = breach_of(outcome, self._drafting.declaration(waiting).response)
        if not broken:
            return provenance
        return provenance.model_copy(update={"notes": (*provenance.notes, broken)})


def _guessed(blanks: Sequence[Blank]) -> str:
    """Return why a draft is a guess."""
    unknown = [blank.path for blank in blanks if not blank.drawn]
    places = ", ".join(unknown[:_MOST_NAMED])
    more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
    return f"The draft is a guess: nothing is known about {places or 'this response'}{more}."


def world_call(waiting: Waiting[ToolBoundaryCall], response: object) -> WorldCall:
    """Describe an answer to a call that waits, as the world looks at it."""
    arguments: JsonObject = waiting.arguments
    return WorldCall(waiting.name, arguments, response)  # type: ignore[arg-type] # an answer is JSON
