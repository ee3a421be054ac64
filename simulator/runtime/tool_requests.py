"""Describes a tool call that waits for a person, with its drafts; gets another draft; and refuses answers that contradict the world."""

from __future__ import annotations

import asyncio
import contextvars
from dataclasses import replace
from functools import partial
from typing import Any

from simulator.base.json_values import copied
from simulator.base.secret_masking import error_words
from simulator.environment.drafts.blanks import Blank
from simulator.environment.drafts.draft_request import DraftCall, Sources
from simulator.environment.drafts.evidence_drafts import GUESS
from simulator.environment.world.entities import Contradiction
from simulator.facts import DraftDrawn, Outcome, ToolProposed
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.codec import whole, whole_text
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.answering.draft_maker import (
    Inside,
    OfflineDraft,
    attempted,
    offline_drafts,
    offline_question,
)
from simulator.runtime.answering.live_pipeline import LiveDrafting
from simulator.runtime.answering.pipeline import NOT_ASKED
from simulator.runtime.errors import ContradictionError, SimulationError, ends_the_work
from simulator.runtime.models.environment_model import Generation, begin_if_due, words_of
from simulator.runtime.session_engine import Engine
from simulator.runtime.turns.tool_effects import as_response, breach_of
from simulator.runtime.turns.turn import TurnRun
from simulator.runtime.turns.waiting_request import WaitingRequest, declared_tools, held_to
from simulator.seats.requests import Makers, ToolRequest


def tool_request(
    moment: KnowledgeSnapshot, waiting: WaitingRequest[ToolBoundaryCall], turn: int
) -> ToolRequest:
    """Describe a call as a person reads it.

    Its draft and its other ready answers are made when they are first looked at, out of what is known now.
    """
    call, tool = waiting.call, moment.engine.drafting.declaration(waiting)
    proposed = moment.engine.journal.fold.drafts.get(waiting.key)
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
    proposed, draw = fold.drafts.get(waiting.key), fold.draws.get(waiting.key, 0)

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


def late_result(engine: Engine, call_id: str) -> ToolRequest | None:
    """Describe the late result of a call that was left open, with a draft of it; what the tool gave for the time being says nothing of that."""
    seen = engine.last_model_call()
    call = next((one for one in engine.journal.fold.session().open_calls if one.call_id == call_id), None)
    tools = {} if seen is None else {one.name: one for one in declared_tools(seen.request)}
    if call is None or call.tool_name not in tools:
        return None
    with engine.drafting.knowing() as known:
        tool = held_to(tools[call.tool_name], known.output_schema(call.tool_name))
        inside = Inside(f"{engine.seed}/{call_id}", engine.tool_codes())

        def ask() -> tuple[DraftCall, Sources]:
            asked, sources = offline_question(known, tool, call.arguments, inside)
            others = [
                one for one in asked.earlier if (one.tool_name, one.arguments) != (tool.name, call.arguments)
            ]
            return asked.model_copy(update={"is_long_running": False, "earlier": tuple(others)}), sources

        made = attempted(ask, lambda asked: offline_drafts(tool, asked), lambda _: None)
    if made is None or GUESS in made.sources:
        return None
    return ToolRequest(
        key=call_id,
        turn=-1,
        call_id=call_id,
        agent=call.agent,
        tool_name=tool.name,
        arguments=copied(call.arguments),
        response_schema=tool.response,
        draft=copied(made.draft),
        draft_from=made.sources,
        draft_blanks=made.blanks,
    )


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


def ask_for_draft(engine: Engine, key: str) -> None:
    """Begin to ask the environment's model for a draft of a call that waits; the call can be answered meanwhile.

    Raises:
        SimulationError: No tool call waits for a person under this key, a model is at it, or none is set.
    """
    _, waiting = _for_person(engine, key)
    if waiting.drafting is not None:
        raise SimulationError(f"a model is already drafting a response for {waiting.name}")
    engine.modelling.model()
    if not engine.drafting.is_about_nothing(waiting):
        begin_if_due(engine.modelling, engine)
    _say(engine, waiting, "asking the model")
    work = _draft(engine, waiting)
    waiting.drafting = asyncio.get_running_loop().create_task(work, context=contextvars.Context())


def stop_drafting(engine: Engine, key: str) -> None:
    """End what a model is at that makes a draft.

    Raises:
        SimulationError: No model is at it.
    """
    waiting = engine.run.unanswered(key) if engine.run else None
    if waiting is None or waiting.drafting is None:
        raise SimulationError(f"no model is drafting a response for {key}")
    waiting.drafting.cancel()


def draw_again(engine: Engine, key: str) -> None:
    """Draw another offline draft of a call that waits: a fact, so that it is the same after a restart and can be undone.

    Raises:
        SimulationError: No tool call waits for a person under this key, or its draft does not vary.
    """
    run, waiting = _for_person(engine, key)
    draw = engine.journal.fold.draws.get(key, 0)
    if not engine.drafting.offline(waiting, draw).varies:
        raise SimulationError(f"there is no other draft for {waiting.name}: it has no random values")
    engine.append(DraftDrawn(at=engine.now(), turn=run.number, key=key, draw=draw + 1))
    waiting.shown = None
    engine.changed()


def _for_person(engine: Engine, key: str) -> tuple[TurnRun, WaitingRequest[ToolBoundaryCall]]:
    run = engine.run
    waiting = run.unanswered(key) if run else None
    if (
        run is None
        or waiting is None
        or not waiting.for_person
        or not isinstance(waiting.call, ToolBoundaryCall)
    ):
        raise SimulationError(f"no tool call {key} is waiting for a person")
    return run, waiting


async def _draft(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall]) -> None:
    said = Generation(model="the model", reason="it was stopped")
    try:
        if engine.drafting.is_about_nothing(waiting):
            said = Generation(model=engine.modelling.name, reason=NOT_ASKED)
        else:
            asked = engine.drafting.asked_of_model(waiting)
            said = await engine.modelling.draft(asked, lambda progress: _say(engine, waiting, progress.text))
    except BaseException as error:
        if ends_the_work(error):
            raise
        said = Generation(model="the model", reason=error_words(error))
    finally:
        waiting.drafting = None
        _propose(engine, waiting, said)
        _say(engine, waiting, "")


def _say(engine: Engine, waiting: WaitingRequest[Any], text: str) -> None:
    waiting.progress, waiting.shown = text, None
    engine.changed()


def _propose(engine: Engine, waiting: WaitingRequest[Any], said: Generation) -> None:
    run = engine.run
    if run is None or run.unanswered(waiting.key) is not waiting:
        return  # somebody has answered, or the turn is over
    proposed = ToolProposed(
        at=engine.now(),
        turn=run.number,
        key=waiting.key,
        value=whole(said.value),
        by=said.model,
        reason=whole_text(said.reason),
        notes=words_of(said),
    )
    engine.append(proposed)
