"""Gets another draft of a call that waits for a person: from the environment's model beside the turn, or drawn offline."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from simulator.base.secret_masking import error_words
from simulator.facts import DraftDrawn, ToolProposed
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.adk.codec import whole, whole_text
from simulator.runtime.answering.pipeline import NOT_ASKED
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.runtime.models.connection_analysis import begin_if_due
from simulator.runtime.models.environment_model import words_of
from simulator.runtime.models.model_generator import Generation
from simulator.runtime.session_engine import Engine
from simulator.runtime.turns.turn import TurnRun
from simulator.runtime.turns.waiting_request import WaitingRequest


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
    draw = engine.journal.fold.draw(key)
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
