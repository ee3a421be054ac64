"""What a person can see and do while a turn is in progress, on the loop's thread."""

from __future__ import annotations

from typing import Any, assert_never

from pydantic import ValidationError

from simulator.facts import (
    CodeAnswered,
    Deferred,
    ModelAnswered,
    SeatChanged,
    ToolAnswered,
    ToolEffects,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.jsonvalue import JsonObject, NotJsonError, copied
from simulator.runtime.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.checks import check_final_text, checked_parts
from simulator.runtime.encoding import jsonable
from simulator.runtime.engine import Engine
from simulator.runtime.errors import SimulationError
from simulator.runtime.requests import describe_tool, drafted, model_request
from simulator.runtime.waiting import Waiting
from simulator.seats.answers import Answer, CodeAnswer, ModelAnswer, ToolAnswer, returned, said
from simulator.seats.requests import CodeRequest, ModelRequest, Request, RunningCall, ToolRequest
from simulator.session import OpenCall, SimulationSession

_BY_PERSON = frozenset({"written", "edited", "generated"})


# ---------------------------------------------------------------- what there is to see


def session_of(engine: Engine) -> SimulationSession:
    """Give the session, with what ADK has done in the running turn."""
    return engine.journal.session(engine.run.events if engine.run else ())


def pending_of(engine: Engine) -> tuple[Request, ...]:
    """Give the requests that wait for a person, oldest first."""
    run = engine.run
    if run is None:
        return ()
    waiting = [w for w in run.waiting.values() if w.for_person and not w.future.done()]
    return tuple(_shown(engine, each) for each in waiting)


def running_of(engine: Engine) -> tuple[RunningCall, ...]:
    """Give what is at work right now."""
    run = engine.run
    if run is None:
        return ()
    return tuple(
        RunningCall(kind=_kind(each), key=each.key, name=each.name, since=each.since, text=each.running_text)
        for each in run.waiting.values()
        if each.running and not each.future.done()
    )


def last_model_request(engine: Engine) -> ModelRequest | None:
    """Give what a model was last shown."""
    call = engine.last_model_call()
    return None if call is None else model_request(call, key="", turn=-1)


def _kind(waiting: Waiting[Any]) -> Any:
    if isinstance(waiting.call, ModelCall):
        return "model"
    return "code" if isinstance(waiting.call, CodeCall) else "tool"


def _shown(engine: Engine, waiting: Waiting[Any]) -> Request:
    if waiting.shown is None:
        waiting.shown = _described(engine, waiting)
    return waiting.shown


def _described(engine: Engine, waiting: Waiting[Any]) -> Request:
    turn = engine.run.number if engine.run else 0
    call = waiting.call
    if isinstance(call, ModelCall):
        seen = model_request(call, waiting.key, turn)
        failure = waiting.failure
        words = None if failure is None else f"{failure.short_type}: {failure.message}"
        return seen.model_copy(update={"proposal": waiting.proposal, "failure": words})
    if isinstance(call, CodeCall):
        return CodeRequest(
            key=waiting.key, turn=turn, agent=waiting.agent, code=call.code, may_have_run=waiting.may_have_run
        )
    return _tool_request(engine, waiting, turn)


def _tool_request(engine: Engine, waiting: Waiting[ToolBoundaryCall], turn: int) -> ToolRequest:
    call = waiting.call
    tool = describe_tool(call.tool)
    arguments = jsonable(call.arguments)
    seed = f"{engine.seed}/{waiting.key}"
    earlier, memory = engine.recollection.along(engine.journal.path())
    return ToolRequest(
        key=waiting.key,
        turn=turn,
        call_id=str(call.context.function_call_id or waiting.key),
        agent=waiting.agent,
        tool_name=waiting.name,
        arguments=arguments,
        description=tool.description,
        parameters=tool.parameters,
        response_schema=tool.response,
        draft=drafted(tool, arguments, seed, earlier, memory),
        is_long_running=bool(call.tool.is_long_running),
        may_have_run=waiting.may_have_run,
        misses=waiting.misses,
    )


# ---------------------------------------------------------------- what a person can do


def _open_request(engine: Engine, key: str) -> Waiting[Any]:
    run = engine.run
    if run is None:
        raise SimulationError(f"no turn is running, so {key} cannot be answered")
    waiting = run.unanswered(key)
    if waiting is None:
        known = any(
            isinstance(fact, (ModelAnswered, ToolAnswered, CodeAnswered)) and fact.key == key
            for _, fact in engine.journal.path()
        )
        raise SimulationError(f"{key} has been answered already" if known else f"nothing waits under {key}")
    if not waiting.for_person:
        raise SimulationError(f"{waiting.name} is being answered already; stop it first")
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
        raise SimulationError(f"{waiting.name} has been answered in the meantime")


async def _answer_tool(engine: Engine, waiting: Waiting[ToolBoundaryCall], given: Any) -> bool:
    answering = engine.answering
    if isinstance(given, (ModelAnswer, CodeAnswer)) or answering is None:
        raise SimulationError(f"{waiting.name} is a tool; a {given.kind} answer does not fit")
    answer_ = given if isinstance(given, ToolAnswer) else returned(copied(given))
    if isinstance(answer_.outcome, Deferred) and not waiting.call.tool.is_long_running:
        raise SimulationError(f"{waiting.name} is not long-running, so its answer cannot come later")
    waiting.for_person = False
    effects = ToolEffects(state_delta=copied(answer_.state_delta))
    provenance = answering.provenance(waiting, answer_.source)
    return await answering.release_tool(waiting, answer_.outcome, effects, provenance)


async def _answer_model(engine: Engine, waiting: Waiting[ModelCall], given: Any) -> bool:
    answering = engine.answering
    if isinstance(given, str):
        given = said(given)
    if not isinstance(given, ModelAnswer) or answering is None:
        raise SimulationError(f"the turn of {waiting.agent} is a text or a ModelAnswer")
    parts = checked_parts(given.parts)
    check_final_text(parts, waiting.call.request)
    waiting.for_person = False
    response: JsonObject = {"content": {"role": "model", "parts": parts}}
    return await answering.release_model(waiting, (response,), answering.provenance(waiting, given.source))


async def _answer_code(engine: Engine, waiting: Waiting[CodeCall], given: Any) -> bool:
    answering = engine.answering
    if isinstance(given, str):
        given = CodeAnswer(stdout=given)
    if not isinstance(given, CodeAnswer) or answering is None:
        raise SimulationError("code is answered by what it prints: a text or a CodeAnswer")
    waiting.for_person = False
    result: JsonObject = {"stdout": given.stdout, "stderr": given.stderr}
    return await answering.release_code(waiting, result, answering.provenance(waiting, given.source))


async def run_real(engine: Engine, key: str) -> None:
    """Start the real tool, the real code or the agent's own model for one pending request."""
    waiting = _open_request(engine, key)
    answering = engine.answering
    if answering is None:
        raise SimulationError("no turn is running")
    waiting.for_person = False
    if isinstance(waiting.call, ModelCall):
        waiting.proposal = waiting.failure = None
        hold = engine.seats.of_agent(waiting.agent) == "held"
        answering.start(waiting, answering.ask_own_model(waiting, hold=hold))
    else:
        answering.start(waiting, answering.run_real(waiting))
    engine.changed()


def change_seat(engine: Engine, seat: Any, target: str, player: Any) -> None:
    """Let somebody else sit down; open requests of that seat go to them.

    Raises:
        SimulationError: There is no such seat or player, or the target has no name.
    """
    try:
        fact = SeatChanged(at=engine.now(), seat=seat, target=target, player=player)
    except ValidationError as error:
        raise SimulationError(f"{player!r} cannot play {target!r} in the {seat} seat") from error
    engine.append(fact)
    run, answering = engine.run, engine.answering
    if run is not None and answering is not None and run.caught_up.is_set():
        for waiting in list(run.waiting.values()):
            if not waiting.future.done() and waiting.job is None:
                answering.offer(waiting)
    engine.changed()


def plain(value: Any, what: str) -> Any:
    """Copy a JSON value that came from outside.

    Raises:
        SimulationError: Naming `what` is not JSON, and why.
    """
    try:
        return copied(value)
    except NotJsonError as error:
        raise SimulationError(f"the {what} is {error}") from error


def content_of(message: str | JsonObject) -> JsonObject:
    """Give a message as google-genai's `Content` in JSON.

    Raises:
        SimulationError: The message is empty, or no content.
    """
    content: JsonObject = plain(
        message if isinstance(message, dict) else {"parts": [{"text": message}]}, "query"
    )
    if isinstance(message, str) and not message.strip():
        raise SimulationError("the query is empty")
    content.setdefault("role", "user")
    return {**content, "parts": checked_parts(content.get("parts"))}


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
    """Give the user's answer to an open call as a message."""
    body = response if isinstance(response, dict) else {"result": response}
    part: JsonObject = {"function_response": {"id": call.call_id, "name": call.tool_name, "response": body}}
    return {"role": "user", "parts": [part]}


def undo_target(journal: Journal) -> int | None:
    """Find the fact before the last step that a person took; None where there is none."""
    is_next = False
    for number, fact in journal.backwards():
        if is_next:
            return number
        is_next = isinstance(fact, TurnStarted) or (
            isinstance(fact, (ModelAnswered, ToolAnswered, CodeAnswered))
            and fact.provenance.source in _BY_PERSON | {"real"}
        )
    return None
