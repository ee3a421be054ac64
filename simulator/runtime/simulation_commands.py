"""What a person can see and do while a turn is in progress, on the loop's thread."""

from __future__ import annotations

import logging
from typing import Any, assert_never

from google.genai import types
from pydantic import ValidationError

from simulator.base.json_values import JsonObject, NotJsonError, same, taken
from simulator.environment.drafts.blanks import SURE, Unsure, unsure_of
from simulator.environment.injection.rule_effects import OF_A_RESPONSE, OF_ONE_CALL
from simulator.environment.schema.schema_checks import misfit_calls
from simulator.facts import Answered, Deferred, Returned, SeatChanged, ToolEffects
from simulator.runtime.adk.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.codec import whole
from simulator.runtime.errors import SimulationError
from simulator.runtime.session_engine import AgentBehind, Engine
from simulator.runtime.tool_requests import KnowledgeSnapshot, refuse_contradictions, tool_request, up_to_date
from simulator.runtime.turns.agent_turn_checks import check_final_text, check_not_blank, checked_parts
from simulator.runtime.turns.tool_effects import as_response, checked_actions, outcome_of
from simulator.runtime.turns.waiting_request import WaitingRequest, declared_tools, model_request
from simulator.seats.answers import Answer, CodeAnswer, ModelAnswer, ToolAnswer, returned, said
from simulator.seats.requests import CodeRequest, ModelRequest, Request, RunningCall, ToolRequest
from simulator.session import OpenCall, SimulationSession
from simulator.session.commands import FailCall
from simulator.session.fact_entries import message_responses

_LOG = logging.getLogger(__name__)

# ---------------------------------------------------------------- what there is to see


def session_of(engine: Engine) -> SimulationSession:
    """Return the session, with what ADK has done in the running turn."""
    events = tuple(engine.run.events) if engine.run else ()
    return engine.journal.session(events).given_by(AgentBehind(engine.config, events))


def pending_of(engine: Engine) -> tuple[Request, ...]:
    """Return the requests that wait for a person, oldest first."""
    run = engine.run
    if run is None:
        return ()
    waiting = [w for w in run.waiting.values() if w.for_person and not w.future.done()]
    moment = KnowledgeSnapshot(engine)
    return tuple(_shown(moment, each) for each in waiting)


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


def _shown(moment: KnowledgeSnapshot, waiting: WaitingRequest[Any]) -> Request:
    if waiting.shown is None:
        waiting.shown = _described(moment, waiting)
    elif isinstance(waiting.shown, ToolRequest):
        waiting.shown = up_to_date(moment, waiting, waiting.shown)
    waiting.drafted_at = moment.learned
    return waiting.shown


def _described(moment: KnowledgeSnapshot, waiting: WaitingRequest[Any]) -> Request:
    turn = moment.engine.run.number if moment.engine.run else 0
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
    return tool_request(moment, waiting, turn)


# ---------------------------------------------------------------- what a person can do


def _open_request(engine: Engine, key: str) -> WaitingRequest[Any]:
    run = engine.run
    if run is None:
        raise SimulationError(f"no turn is running, so {key} cannot be answered")
    waiting = run.unanswered(key)
    if waiting is None:
        known = any(isinstance(fact, Answered) and fact.key == key for _, fact in engine.journal.path())
        raise SimulationError(f"{key} is already answered" if known else f"no request {key} is waiting")
    if not waiting.for_person:
        raise SimulationError(f"{waiting.name} is already being answered; stop that first")
    return waiting


async def answer(engine: Engine, key: str, given: Answer | Any) -> None:
    """Answer a pending request.

    Raises:
        SimulationError: The request is unknown or answered, or the answer does not fit its kind.
    """
    waiting = _open_request(engine, key)
    if engine.answering is None:
        raise SimulationError("no turn is running")
    call = waiting.call
    try:
        if isinstance(call, ToolBoundaryCall):
            released = await _answer_tool(engine, waiting, given)
        elif isinstance(call, ModelCall):
            released = await _answer_model(engine, waiting, given)
        elif isinstance(call, CodeCall):
            released = await _answer_code(engine, waiting, given)
        else:
            assert_never(call)
    except NotJsonError as error:
        raise SimulationError(f"the answer to {waiting.name} is {error}") from error
    if not released:
        raise SimulationError(f"{waiting.name} is already answered")


async def _answer_tool(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], given: Any) -> bool:
    answering = engine.answering
    if isinstance(given, (ModelAnswer, CodeAnswer)) or answering is None:
        raise SimulationError(f"{waiting.name} is a tool; it cannot take an answer of kind {given.kind!r}")
    answer_ = given if isinstance(given, ToolAnswer) else _plain_answer(engine, waiting, taken(given))
    if answer_ is given:
        taken(getattr(given.outcome, "value", None))
    effects = _checked(answer_)
    if isinstance(answer_.outcome, Deferred) and not waiting.call.tool.is_long_running:
        raise SimulationError(f"{waiting.name} is not long-running, so its response cannot come later")
    outcome = answer_.outcome
    if answer_.source == "generated" and isinstance(outcome, Returned):
        outcome = outcome_of(outcome.value)  # a draft that is an error stays one
    if not answer_.despite_contradictions:
        refuse_contradictions(engine, waiting, outcome)
    unsure = _unsure_of(engine, waiting, answer_)
    waiting.for_person = False
    provenance = waiting.firing.provenance(answer_.source, answer_.by, answer_.notes, unsure)
    return await answering.release_tool(waiting, outcome, effects, provenance)


def _unsure_of(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], given: ToolAnswer) -> Unsure:
    """Return the places of an answer that had no source in the draft that it was made of, and are as they were."""
    if given.is_sure:
        return SURE
    if given.source not in {"generated", "edited"}:
        return Unsure(given.blanks, given.uncertain)
    shown = _shown(KnowledgeSnapshot(engine), waiting)
    if not isinstance(shown, ToolRequest):
        return SURE
    return unsure_of(shown.draft_blanks, shown.draft, as_response(given.outcome))


def _plain_answer(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], value: Any) -> ToolAnswer:
    """Take a plain value as what the tool returns; the draft itself is known again as what was generated."""
    shown = _shown(KnowledgeSnapshot(engine), waiting)
    if not isinstance(shown, ToolRequest) or not same(value, shown.draft):
        return returned(value)
    return ToolAnswer(
        outcome=outcome_of(value),
        state_delta=shown.draft_effects.state_delta,
        actions=shown.draft_effects.actions,
        source="generated",
        notes=shown.draft_from,
    )


async def _answer_model(engine: Engine, waiting: WaitingRequest[ModelCall], given: Any) -> bool:
    answering = engine.answering
    if isinstance(given, str):
        given = said(given)
    if not isinstance(given, ModelAnswer) or answering is None:
        raise SimulationError(f"the turn of {waiting.agent} must be a text or a ModelAnswer")
    parts = checked_parts(given.parts)
    if not _is_proposal(waiting, parts):
        check_not_blank(parts)
        check_final_text(parts, waiting.call.request)
    if given.by is None:  # who answers for others, as a script does, says it there
        for misfit in misfit_calls(parts, declared_tools(waiting.call.request)):
            _LOG.warning("%s calls what does not fit: %s", waiting.agent, misfit.words)
    waiting.for_person = False
    response: JsonObject = {"content": {"role": "model", "parts": parts}}
    provenance = waiting.firing.provenance(given.source, given.by)
    return await answering.release_model(waiting, (response,), provenance)


def _is_proposal(waiting: WaitingRequest[ModelCall], parts: list[Any]) -> bool:
    """Return whether a turn is what the agent's own model proposed: that may break the output schema as it pleases."""
    contents: Any = [
        response.get("content") for response in waiting.proposal or () if not response.get("partial")
    ]
    return any(content and same(content.get("parts") or [], parts) for content in contents)


async def _answer_code(engine: Engine, waiting: WaitingRequest[CodeCall], given: Any) -> bool:
    answering = engine.answering
    if isinstance(given, str):
        given = CodeAnswer(stdout=given)
    if not isinstance(given, CodeAnswer) or answering is None:
        raise SimulationError("the answer to code must be its output: a text or a CodeAnswer")
    waiting.for_person = False
    result: JsonObject = {"stdout": given.stdout, "stderr": given.stderr}
    return await answering.release_code(waiting, result, waiting.firing.provenance(given.source, given.by))


async def run_real(engine: Engine, key: str) -> None:
    """Start the real tool, the real code or the agent's own model for one pending request."""
    waiting = _open_request(engine, key)
    answering = engine.answering
    if answering is None:
        raise SimulationError("no turn is running")
    waiting.for_person = False
    if isinstance(waiting.call, ModelCall):
        waiting.proposal = waiting.failure = None
        hold = engine.journal.fold.seats.of_agent(waiting.agent) == "held"
        answering.start(waiting, answering.ask_own_model(waiting, hold=hold))
    else:
        answering.start(waiting, answering.run_real(waiting))
    engine.changed()


def _checked(given: ToolAnswer | ToolEffects) -> ToolEffects:
    """Return what a person lets a call do besides: changes of the state, and actions that ADK knows."""
    return ToolEffects(state_delta=taken(given.state_delta), actions=checked_actions(taken(given.actions)))


async def inject(engine: Engine, asked: FailCall) -> None:
    """Let one rule answer one pending tool call, or change or delay the response that is given.

    Raises:
        SimulationError: The request is unknown, answered or no tool call, or the rule cannot answer a single call.
    """
    rule, waiting, answering = asked.rule, _open_request(engine, asked.key), engine.answering
    if answering is None:
        raise SimulationError("no turn is running")
    if not isinstance(waiting.call, ToolBoundaryCall):
        raise SimulationError(f"{waiting.name} is no tool, so no fault can answer it")
    if rule.effect.kind not in OF_ONE_CALL:
        raise SimulationError(f"{rule.rule_id} does not answer a single call")
    if rule.effect.kind in OF_A_RESPONSE and asked.outcome is None:
        raise SimulationError(f"{rule.rule_id} changes or delays a response: write one first")
    answering.inject(waiting, rule, asked.outcome, _checked(asked.effects))
    engine.changed()


def change_seat(engine: Engine, seat: Any, target: str, player: Any) -> None:
    """Let somebody else sit down; open requests of that seat go to them.

    Raises:
        SimulationError: There is no such seat or player, or the target has no name.
    """
    try:
        fact = SeatChanged(at=engine.after_opening(), seat=seat, target=target, player=player)
    except ValidationError as error:
        raise SimulationError(f"{player!r} cannot play {target!r} in the {seat} seat") from error
    engine.append(fact)
    engine.go_on(seat=seat, target=target)
    run, answering = engine.run, engine.answering
    if run is not None and answering is not None and run.caught_up.is_set():
        for waiting in list(run.waiting.values()):
            if not waiting.is_taken:
                answering.offer(waiting)
    engine.changed()


def plain(value: Any, what: str) -> Any:
    """Copy a JSON value that came from outside.

    Raises:
        SimulationError: Naming `what` is not JSON, and why.
    """
    try:
        return taken(whole(value))
    except NotJsonError as error:
        raise SimulationError(f"the {what} is {error}") from error


def content_of(message: str | JsonObject | types.Content) -> JsonObject:
    """Return what the user says, a text or google-genai's `Content`, as that in JSON.

    Raises:
        SimulationError: The message is empty, no content, or somebody else's.
    """
    if isinstance(message, str):
        if not message.strip():
            raise SimulationError("the user message is empty")
        return {"role": "user", "parts": [{"text": plain(message, "user message")}]}
    if isinstance(message, types.Content):
        message = message.model_dump(mode="json", exclude_none=True)
    if not isinstance(message, dict):
        raise SimulationError(f"the user message is a {type(message).__name__}, not a text or a Content")
    content: JsonObject = plain(message, "user message")
    if unknown := sorted(content.keys() - {"role", "parts"}):
        raise SimulationError(f"the user message has fields that Content does not have: {', '.join(unknown)}")
    if content.get("role") not in {None, "user"}:
        raise SimulationError(f"the role of a user message must be 'user', not {content['role']!r}")
    parts = checked_parts(content.get("parts"))
    check_not_blank(parts)
    return {"role": "user", "parts": parts}


def check_responses(engine: Engine, message: JsonObject) -> None:
    """Check that each function response of a message answers a call that is open.

    Raises:
        SimulationError: Naming the calls that are not; ADK would end the turn with an error.
    """
    responses = message_responses(message)
    if not responses or engine.journal.fold.is_running:
        return
    known = {call.call_id for call in session_of(engine).open_calls}
    unknown = [str(response.get("id")) for response in responses if response.get("id") not in known]
    if unknown:
        raise SimulationError(f"no open call has the id {', '.join(unknown)}")


def open_call(session: SimulationSession, call_id: str) -> OpenCall:
    """Find a call that the user can answer.

    Raises:
        SimulationError: There is none with this id.
    """
    for call in session.open_calls:
        if call.call_id == call_id:
            return call
    raise SimulationError(f"no open call has the id {call_id!r}")


def reply_content(call: OpenCall, response: Any) -> JsonObject:
    """Return the user's answer to an open call as a message."""
    body = response if isinstance(response, dict) else {"result": response}
    part: JsonObject = {"function_response": {"id": call.call_id, "name": call.tool_name, "response": body}}
    return {"role": "user", "parts": [part]}
