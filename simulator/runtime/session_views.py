"""What there is to see of a session while a turn is in progress: what waits for a person, with its drafts, what is at work, and who speaks for the user.

A request is described once, when it is first looked at, and stays as it is until something about it changes. Its draft and its other ready
answers are made when somebody looks at them, in any thread, and follow from what was known when the request was shown (`KnowledgeSnapshot`):
two hundred calls may wait, and few are looked at. This is also where a person has another draft drawn or a model asked for one, and
where an answer is held against what is known.
"""

from __future__ import annotations

import asyncio
import contextvars
from dataclasses import replace
from functools import partial
from typing import Any

from simulator.base.json_values import copied
from simulator.base.secret_masking import error_words
from simulator.environment.drafts.draft import Blank, Draft, DraftCall, Sources
from simulator.environment.drafts.evidence_drafts import GUESS
from simulator.environment.world.entities import Contradiction
from simulator.facts import DraftDrawn, Outcome, ToolProposed
from simulator.runtime import user_player
from simulator.runtime.adk.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.codec import whole, whole_text
from simulator.runtime.adk.event_loop import LoopThread
from simulator.runtime.answering.call_environment import (
    Inside,
    LiveEnvironment,
    attempted,
    offline_draft,
    offline_question,
)
from simulator.runtime.answering.pipeline import NOT_ASKED
from simulator.runtime.commanding import UserView
from simulator.runtime.errors import SimulationError, ends_the_work
from simulator.runtime.models.environment_model import Generation, begin_if_due, words_of
from simulator.runtime.session_engine import AgentBehind, Engine
from simulator.runtime.turns.outcomes import as_response, breach_of
from simulator.runtime.turns.turn import TurnRun
from simulator.runtime.turns.waiting_request import WaitingRequest, declared_tools, held_to, model_request
from simulator.seats.requests import CodeRequest, Makers, ModelRequest, Request, RunningCall, ToolRequest
from simulator.session import SimulationSession


def session_of(engine: Engine) -> SimulationSession:
    """Return the session, with what ADK has done in the running turn."""
    events = tuple(engine.run.events) if engine.run else ()
    return engine.journal.session(events).given_by(AgentBehind(engine.config, events))


def pending_of(engine: Engine) -> tuple[Request, ...]:
    """Return the requests that wait for a person, oldest first."""
    run = engine.run
    if run is None:
        return ()
    waiting = run.waiting.values()
    return tuple(shown(engine, each) for each in waiting if each.for_person and not each.future.done())


def running_of(engine: Engine) -> tuple[RunningCall, ...]:
    """Return what is at work right now, and what waits for it to end."""
    run = engine.run
    if run is None:
        return ()
    real = engine.answering.real_call if engine.answering else None
    return tuple(
        RunningCall(
            kind=_kind(each),
            key=each.key,
            name=each.name,
            by=each.running_by,
            delay=each.delay,
            since=each.since,
            text=each.running_text,
            waits_for=real.name if real is not None and each.is_behind else "",
        )
        for each in run.waiting.values()
        if (each.running or each.is_behind) and not each.future.done()
    )


def last_model_request(engine: Engine) -> ModelRequest | None:
    """Return what a model was last shown."""
    call = engine.last_model_call()
    return None if call is None else model_request(call, key="", turn=-1)


def _kind(waiting: WaitingRequest[Any]) -> Any:
    if isinstance(waiting.call, ModelCall):
        return "model"
    return "code" if isinstance(waiting.call, CodeCall) else "tool"


def shown(engine: Engine, waiting: WaitingRequest[Any]) -> Request:
    """Return a request as a person reads it, with drafts that know of the latest answer: what is shown follows from the journal alone."""
    answers = engine.journal.fold.tool_answers
    if waiting.shown is None:
        waiting.shown = _described(engine, waiting)
    elif isinstance(waiting.shown, ToolRequest) and waiting.drafted_at != answers:
        waiting.shown = waiting.shown.drafted_anew(_makers(engine, waiting))
    waiting.drafted_at = answers
    return waiting.shown


def _described(engine: Engine, waiting: WaitingRequest[Any]) -> Request:
    turn = engine.run.number if engine.run else 0
    call = waiting.call
    if isinstance(call, ModelCall):
        seen = model_request(call, waiting.key, turn)
        failure = waiting.failure
        words = None if failure is None else f"{failure.short_type}: {failure.message}"
        return seen.model_copy(
            update={"proposal": waiting.proposal, "failure": words, "would_answer": waiting.would_answer}
        )
    if isinstance(call, CodeCall):
        return CodeRequest(
            key=waiting.key,
            turn=turn,
            agent=waiting.agent,
            code=call.code,
            may_have_run=waiting.may_have_run,
            would_answer=waiting.would_answer,
        )
    return _tool_request(engine, waiting, turn)


# ---------------------------------------------------------------- tool calls, and their drafts


def _tool_request(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], turn: int) -> ToolRequest:
    call, tool = waiting.call, engine.drafting.declaration(waiting)
    proposed = engine.journal.fold.drafts.get(waiting.key)
    return ToolRequest.later(
        _makers(engine, waiting),
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


def _makers(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall]) -> Makers:
    """Return what makes the drafts of a call as they are now, whenever they are asked for, and in any thread."""
    on_loop = LoopThread.shared().reached
    # With the state of now: once it is answered, what it wrote stands in there too. Two hundred may wait, and few are looked at.
    asked = partial(replace, waiting, then=waiting.state())
    held = (waiting.held, waiting.held_by, waiting.held_from, waiting.held_effects)
    fold, moment = engine.journal.fold, KnowledgeSnapshot(engine)
    proposed, draw = fold.drafts.get(waiting.key), fold.draws.get(waiting.key, 0)

    def draft(drafts: Draft | None = None) -> dict[str, Any]:
        """Return what a generator holds for a person, or what a model drafted, or else one made offline."""
        blanks: tuple[Blank, ...] = ()
        varies, effects = False, None
        if held[0] is not None:
            made, by, made_of, effects = held
        elif proposed is not None and not proposed.reason:
            made, by, made_of = proposed.value, proposed.by, proposed.notes
        else:
            drafts = drafts or on_loop(lambda: moment.drafting().offline(asked(), draw))
            made, by, made_of = drafts.value, "offline", drafts.sources
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
        self.engine, self._head, self._known = engine, engine.journal.head, self._now(engine)

    @staticmethod
    def _now(engine: Engine) -> tuple[Any, ...]:
        fold = engine.journal.fold
        return engine.run, fold.tool_answers, fold.environment

    def drafting(self) -> LiveEnvironment:
        """Return the session's drafting where nothing was learned since, else one that knows no more than was known then."""
        engine = self.engine
        if all(now is then or now == then for now, then in zip(self._now(engine), self._known, strict=True)):
            return engine.drafting
        knowledge = engine.knowledge_along(engine.journal.branched(self._head))
        return LiveEnvironment(engine.seed, engine.journal, knowledge, engine.tools)


def late_result(engine: Engine, call_id: str) -> ToolRequest | None:
    """Describe the late result of a call that was left open, with a draft of it; what the tool gave for the time being says nothing of that."""
    seen = engine.last_model_call()
    call = next((one for one in engine.journal.fold.session().open_calls if one.call_id == call_id), None)
    tools = {} if seen is None else {one.name: one for one in declared_tools(seen.request)}
    if call is None or call.tool_name not in tools:
        return None
    with engine.drafting.knowing() as known:
        tool = held_to(tools[call.tool_name], known.output_schema(call.tool_name))
        inside = Inside(f"{engine.seed}/{call_id}", engine.tools.codes())

        def ask() -> tuple[DraftCall, Sources]:
            asked, sources = offline_question(known, tool, call.arguments, inside)
            others = [
                one for one in asked.earlier if (one.tool_name, one.arguments) != (tool.name, call.arguments)
            ]
            return asked.model_copy(update={"is_long_running": False, "earlier": tuple(others)}), sources

        made = attempted(ask, offline_draft, lambda _: None)
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
        draft=copied(made.value),
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
    return contradicted(engine, waiting, outcome)


def contradicted(
    engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], outcome: Outcome
) -> tuple[Contradiction, ...]:
    """Say what an answer contradicts: an invariant, what was said before, or the output schema that a person has set."""
    if outcome.kind not in {"returned", "failed"}:
        return ()
    found = engine.drafting.against(waiting, as_response(outcome))
    schema = engine.knowledge.output_schema(waiting.name)
    broken = breach_of(outcome, schema) if schema else ""
    return (*found, Contradiction(what=f"the response {broken}")) if broken else found


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


# ---------------------------------------------------------------- the user

_BY_HAND = "No model is set for the scenario, so a person writes the next message."


def user_view(engine: Engine) -> UserView:
    """Return what there is to see now."""
    fold, work = engine.journal.fold, engine.user
    seat = fold.user
    if seat.player == "person":
        return UserView(seat=seat)
    if seat.ended:
        return UserView(seat=seat, words="The conversation has ended.")
    if work.speaks:
        return UserView(seat=seat, running=True, progress=work.progress, since=work.since)
    if fold.is_running:
        return UserView(seat=seat)
    if fold.asks_the_user:
        return UserView(seat=seat, words="The agent asks for something that only a person can answer.")
    held_back = _BY_HAND if seat.is_by_hand else user_player.holds_back(engine)
    proposed = seat.proposed
    again = proposed is not None and proposed.status in {"failed", "stopped"}
    waits = proposed is None or again or (user_player.is_sent(proposed) and not seat.hold)
    words = proposed.reason if proposed is not None and proposed.reason else held_back
    return UserView(seat=seat, words=words, may_go_on=waits and not seat.is_by_hand)
