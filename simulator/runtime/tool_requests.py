"""Describes a tool call that waits for a person, with its drafts; and refuses answers that contradict the world."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from simulator.base.json_values import copied
from simulator.environment.drafts.blanks import Blank
from simulator.environment.world.entities import Contradiction
from simulator.facts import Outcome
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.answering.draft_maker import OfflineDraft
from simulator.runtime.answering.live_pipeline import LiveDrafting
from simulator.runtime.errors import ContradictionError
from simulator.runtime.session_engine import Engine
from simulator.runtime.turns.outcomes import as_response, breach_of
from simulator.runtime.turns.waiting_request import WaitingRequest
from simulator.seats.requests import Makers, ToolRequest


def tool_request(
    moment: KnowledgeSnapshot, waiting: WaitingRequest[ToolBoundaryCall], turn: int
) -> ToolRequest:
    """Describe a call as a person reads it.

    Its draft and its other ready answers are made when they are first looked at, out of what is known now.
    """
    call, tool = waiting.call, moment.engine.drafting.declaration(waiting)
    proposed = moment.engine.journal.fold.drafted(waiting.key)
    return ToolRequest.later(
        _makers(moment, waiting),
        key=waiting.key,
        turn=turn,
        call_id=str(call.context.function_call_id or waiting.key),
        agent=waiting.agent,
        tool_name=waiting.name,
        arguments=copied(waiting.arguments),
        description=tool.description,
        parameters=tool.parameters,
        response_schema=tool.response,
        draft_problem=proposed.reason if proposed else "",
        drafting=waiting.progress,
        note=waiting.note,
        failure=waiting.gave_up,
        is_long_running=bool(call.tool.is_long_running),
        may_have_run=waiting.may_have_run,
        would_answer=waiting.would_answer,
        misses=waiting.firing.misses,
        modifiers=tuple(rule.label or rule.rule_id for rule in waiting.firing.modifiers),
    )


def up_to_date(
    moment: KnowledgeSnapshot, waiting: WaitingRequest[ToolBoundaryCall], shown: ToolRequest
) -> ToolRequest:
    """Return the same request with drafts that know of the latest answer: what is shown follows from the journal alone."""
    if waiting.drafted_at == moment.learned:
        return shown
    return shown.drafted_anew(_makers(moment, waiting))


def _makers(moment: KnowledgeSnapshot, waiting: WaitingRequest[ToolBoundaryCall]) -> Makers:
    """Return what makes the drafts of a call as they are now, whenever they are asked for, and in any thread."""
    on_loop = LoopThread.shared().reached
    # With the state of now: once it is answered, what it wrote stands in there too. Two hundred may wait, and few are looked at.
    asked = partial(replace, waiting, then=waiting.state())
    held = (waiting.held, waiting.held_by, waiting.held_from, waiting.held_effects)
    fold = moment.engine.journal.fold
    proposed, draw = fold.drafted(waiting.key), fold.draw(waiting.key)

    def draft(drafts: OfflineDraft | None = None) -> dict[str, Any]:
        """Return what a generator holds for a person, or what a model drafted, or else one made offline."""
        blanks: tuple[Blank, ...] = ()
        varies, effects = False, None
        if held[0] is not None:
            made, by, made_of, effects = held
        elif proposed is not None and not proposed.reason:
            made, by, made_of = proposed.value, proposed.by, proposed.notes
        else:
            drafts = drafts or on_loop(lambda: moment.drafting().offline(asked(), draw))
            made, by, made_of = drafts.draft, "offline", drafts.sources
            blanks, varies, effects = drafts.blanks, drafts.varies, drafts.effects
        if effects is None:
            effects = on_loop(lambda: moment.drafting().effects_of(asked(), made))
        return {
            "draft": copied(made),
            "draft_by": by,
            "draft_from": made_of,
            "draft_blanks": blanks,
            "draft_varies": varies,
            "draft_effects": effects,
        }

    def candidates() -> dict[str, Any]:
        """Return the ready answers, and the draft, which takes next to nothing then."""
        drafts, ready = on_loop(lambda: moment.drafting().offered(asked(), draw))
        return {"candidates": ready, **draft(drafts)}

    return {**dict.fromkeys(_DRAFT, draft), "candidates": candidates}


_DRAFT = ("draft", "draft_by", "draft_from", "draft_blanks", "draft_varies", "draft_effects")


class KnowledgeSnapshot:
    """A snapshot of what a session knew when requests were shown: a draft that is made later still follows from that."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._head = engine, engine.journal.head
        self.learned = engine.knowledge.up_to_date().learned
        self._known = self._now()

    def _now(self) -> tuple[Any, ...]:
        engine = self.engine
        return engine.run, engine.knowledge.up_to_date().learned, engine.journal.fold.environment

    def drafting(self) -> LiveDrafting:
        """Return the session's drafting where nothing was learned since, else one that knows no more than was known then."""
        engine = self.engine
        if all(now is then or now == then for now, then in zip(self._now(), self._known, strict=True)):
            return engine.drafting
        knowledge = engine.knowledge_along(engine.journal.branched(self._head))
        return LiveDrafting(engine.seed, knowledge, engine.tool_codes)


def against(engine: Engine, key: str, outcome: Outcome) -> tuple[Contradiction, ...]:
    """Say what an answer to the call with this key would contradict: the world, or the output schema that a person has set.

    Nothing where it waits no more.
    """
    waiting = engine.run.unanswered(key) if engine.run else None
    if waiting is None or not isinstance(waiting.call, ToolBoundaryCall):
        return ()
    return _contradicted(engine, waiting, outcome)


def _contradicted(
    engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], outcome: Outcome
) -> tuple[Contradiction, ...]:
    if outcome.kind not in {"returned", "failed"}:
        return ()
    found = engine.drafting.against(waiting, as_response(outcome))
    broken = breach_of(outcome, engine.knowledge.output_schema(waiting.name))
    return (*found, Contradiction(what=f"the response {broken}")) if broken else found


def refuse_contradictions(
    engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], outcome: Outcome
) -> None:
    """Hold an answer against the world, and against the output schema that a person has set.

    Raises:
        ContradictionError: It contradicts an invariant, what was said before, or that schema.
    """
    if found := _contradicted(engine, waiting, outcome):
        raise ContradictionError(waiting.name, found)
