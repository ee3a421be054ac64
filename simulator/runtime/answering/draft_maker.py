"""Drafts answers to tool calls out of all that a session's environment knows: offline, recorded, or by a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from pydantic import JsonValue

from simulator.base.json_values import JsonObject
from simulator.environment.drafts.blanks import Blank
from simulator.environment.drafts.candidates import Candidate, candidates
from simulator.environment.drafts.draft_generator import DraftCall, Sources, drafted
from simulator.environment.evidence.sketch import Code
from simulator.environment.recordings.nearest_calls import Near, nearest
from simulator.facts import Outcome
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.codec import written_state
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.knowledge.knowledge import Knowledge
from simulator.runtime.knowledge.live_knowledge import LiveKnowledge
from simulator.runtime.models.environment_model import Modelling
from simulator.runtime.models.json_client import Progress
from simulator.runtime.models.model_evidence import model_evidence
from simulator.runtime.models.model_generator import Generation
from simulator.runtime.turns.outcomes import outcome_of
from simulator.runtime.turns.request_views import describe_tool, held_to
from simulator.runtime.turns.waiting_request import Waiting
from simulator.seats.requests import ToolDeclaration

_NUMBERS = re.compile(r"([a-z]\w*)[\s:=]{1,3}(-?\d+(?:\.\d+)?)(?![\w.]*\w{3})")
_LONG_RUNNING = "\n\nNOTE: This is a long-running operation."
"""What ADK says below the description of a long-running tool: nothing of what it returns."""

NOT_ASKED = "the world has no such thing, so no model was asked"
"""Why no model makes an answer where the world knows it."""


class Drafts(NamedTuple):
    """What can be offered for a call: the draft, where it comes from in words, and other ready answers.

    `blanks` are the places of the draft for which nothing is known, and `is_guess` says whether there is any. `varies`
    says whether another draw gives another draft.
    """

    tool: ToolDeclaration
    draft: JsonValue
    sources: tuple[str, ...] = ()
    is_guess: bool = False
    blanks: tuple[Blank, ...] = ()
    varies: bool = False

    def given(self) -> Outcome:
        """Return the draft as the outcome of the call."""
        return outcome_of(self.draft)


class Drafting:
    """Makes drafts for the calls of a session.

    Args:
        seed: Where the session's chance comes from.
        knowledge: What its environment knows.
        modelling: Asks the environment's model.
        codes: Gives where the agent's tools are written, by name.
    """

    def __init__(
        self,
        seed: str,
        knowledge: LiveKnowledge,
        modelling: Modelling,
        codes: Callable[[], Mapping[str, Code]] = dict,
    ) -> None:
        self._seed, self._knowledge, self._modelling, self._codes = seed, knowledge, modelling, codes

    def offline(self, waiting: Waiting[ToolBoundaryCall], draw: int = 0) -> Drafts:
        """Draft an answer offline: the same one each time for the same call, world, seed and draw."""
        return offline_drafts(self.declaration(waiting), self._asked(waiting, draw))

    def candidates(self, waiting: Waiting[ToolBoundaryCall], draw: int = 0) -> tuple[Candidate, ...]:
        """Return up to five ready answers, each of another kind, the draft of that draw first."""
        return candidates(*self._asked(waiting, draw))

    def _asked(self, waiting: Waiting[ToolBoundaryCall], draw: int = 0) -> tuple[DraftCall, Sources]:
        knowledge, tool = self._knowledge.up_to_date(), self.declaration(waiting)
        read = Inside(f"{self._seed}/{waiting.key}", self._codes(), written_state(waiting.call.context), draw)
        return offline_question(knowledge, tool, waiting.arguments, read)

    def declaration(self, waiting: Waiting[ToolBoundaryCall]) -> ToolDeclaration:
        """Return a tool as it is declared, with the output schema that a person has set for it."""
        if waiting.declared is None:
            waiting.declared = describe_tool(waiting.call.tool)
        return held_to(waiting.declared, self._knowledge.up_to_date().output_schema(waiting.name))

    async def by_model(
        self, waiting: Waiting[ToolBoundaryCall], told: Callable[[Progress], None]
    ) -> Generation:
        """Ask the environment's model; as `Modelling.draft`.

        Where the world says that a thing does not exist, no model is asked: it could only invent the thing.
        """
        arguments: JsonObject = waiting.arguments
        if self.is_about_nothing(waiting):
            return Generation(model=self._modelling.name, reason=NOT_ASKED)
        offline = self.offline(waiting)
        evidence = model_evidence(
            offline.draft,
            offline.sources,
            self.candidates(waiting),
            code_of(waiting.call.tool).code,
            with_source=self._modelling.environment.settings.source_to_model,
        )
        return await self._modelling.draft(self.declaration(waiting), arguments, told, evidence)

    def is_about_nothing(self, waiting: Waiting[ToolBoundaryCall]) -> bool:
        """Return whether the world says that a thing does not exist that a call is about."""
        return self._knowledge.up_to_date().world.not_found(waiting.name, waiting.arguments) is not None

    def nearest_recorded(self, waiting: Waiting[ToolBoundaryCall]) -> Near | None:
        """Return the recorded call of this tool that is most like this one; the same question gets its answers in order."""
        knowledge = self._knowledge.up_to_date()
        found = nearest(
            knowledge.recorded_calls(), waiting.name, waiting.arguments, n=1, used=knowledge.used_recordings
        )
        return found[0] if found else None


class Inside(NamedTuple):
    """What a draft is made of besides the call and what the environment knows.

    Attributes:
        seed: Where its chance comes from.
        codes: Where the agent's tools are written, by name.
        state: The session's state; None where it is not known.
        draw: Which draft it is of those that may be drawn.
    """

    seed: str
    codes: Mapping[str, Code] = MappingProxyType({})
    state: JsonObject | None = None
    draw: int = 0


def offline_drafts(tool: ToolDeclaration, asked: tuple[DraftCall, Sources]) -> Drafts:
    """Draft an answer to a call offline: the same one each time for what `offline_question` gave."""
    made = drafted(*asked)
    sources = (made.why, *(f"{problem.path}: {problem.message}" for problem in made.problems))
    return Drafts(tool, made.value, sources, made.is_guess, made.blanks, made.varies)


def offline_question(
    known: Knowledge, tool: ToolDeclaration, arguments: JsonObject, inside: Inside
) -> tuple[DraftCall, Sources]:
    """Gather what an offline draft of the answer to a call is made of."""
    # All of it is right for certain, and in a long session there are many earlier answers to look at again.
    call = DraftCall.model_construct(
        tool_name=tool.name,
        description=tool.description.partition(_LONG_RUNNING)[0],
        parameters=tool.parameters,
        response_schema=tool.response,
        examples=tool.response_examples,
        arguments=arguments,
        earlier=tuple(known.answers),
        seed=inside.seed,
        draw=inside.draw,
        is_long_running=_LONG_RUNNING in tool.description,
        code=inside.codes.get(tool.name),
        codes=inside.codes,
        state=inside.state,
        is_held=known.output_schema(tool.name) is not None,
    )
    if (known.output_schema(tool.name) or {}).get("examples"):
        # An example that a person gave says more of the tool's responses than its code.
        call = call.model_copy(update={"code": None})
    return call, Sources(known.world, known.recorded_calls(), _shared(known, tool.name))


def _shared(known: Knowledge, tool_name: str) -> dict[str, JsonValue]:
    """Return what the tools that share a state with this one were asked or answered last, by the names of fields.

    Before that, a number of the state's beginning that stands right behind a word is the value of the field of that name.
    """
    if not known.environment.settings.tool(tool_name).share_state_id:
        return {}
    state = known.registry.get_state(known.registry.state_key(tool_name))
    told = {name: float(value) for name, value in _NUMBERS.findall((state["initial_state"] or "").casefold())}
    said = [said for call in state["previous_calls"] for said in (call["parameters"], call["response"])]
    plain = {
        name: value
        for one in said
        for name, value in (one.items() if isinstance(one, dict) else ())
        if value is not None and not isinstance(value, (dict, list))
    }
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in {**told, **plain}.items()
    }
