"""What a tool gave, as an outcome, and what the real one did beside it: taken down, and done again from the journal."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import ValidationError

from simulator.base.json_values import Json, JsonObject, canonical, copied
from simulator.environment.schema.schema_plans import breach
from simulator.facts import Failed, Outcome, Raised, Returned, SavedArtifact, ToolEffects
from simulator.runtime.adk.adk_private import invocation_of, let_events_be_heard, own_actions, send_event
from simulator.runtime.adk.cancellation import OwnSteps
from simulator.runtime.adk.codec import (
    event_json,
    jsonable,
    made_error,
    survives_json,
    tool_result,
    tool_value,
    whole_text,
    written_error,
    written_traceback,
)
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL, RealCall
from simulator.runtime.errors import SimulationError, ends_the_work

_CODE, _MESSAGE = "error_code", "error_message"


def outcome_of(value: Json) -> Outcome:
    """Return what a value that was made for a tool is: an error where it has ADK's form, else what the tool returns."""
    code, message = (value.get(_CODE), value.get(_MESSAGE)) if isinstance(value, dict) else (None, None)
    if not isinstance(value, dict) or not isinstance(message, str):
        return Returned(value=value)
    if isinstance(code, bool) or not isinstance(code, (int, str)):
        return Returned(value=value)
    details = {name: inner for name, inner in value.items() if name not in {_CODE, _MESSAGE}}
    return Failed(error_code=code, error_message=message, details=details)


def as_response(outcome: Outcome) -> Any:
    """Return what a tool's outcome is for those who read answers: its value, or its error dict; None where it raised."""
    match outcome.kind:
        case "returned":
            return outcome.value
        case "failed":
            return outcome.response()
        case _:
            return None


def breach_of(outcome: Outcome, schema: JsonObject | None) -> str:
    """Return where what a tool returns breaks a schema, as `breach`; an error and an exception break none."""
    return breach(outcome.value, schema) if isinstance(outcome, Returned) else ""


def as_tools_give(outcome: Outcome) -> Any:
    """Return ADK an outcome as its tools do: a value, None where there is none yet, or an exception that is raised."""
    match outcome.kind:
        case "raised":
            raise made_error(outcome.error)
        case "failed":
            return outcome.response()
        case "deferred":
            return None
        case _:
            return tool_result(outcome.value)


# These two are taken down apart: state by its keys, artifacts with their bytes.
_APART = frozenset({"state_delta", "artifact_delta"})
_UNKNOWN = RealCall("real call")
_NO_EFFECTS = ToolEffects()
_CANCELLED_ITSELF = Failed(
    error_code="cancelled", error_message="The tool cancelled its own task, so it gave no response."
)
_NONE: dict[str, str] = {}
_OTHER_ACTIONS = tuple(name for name in EventActions.model_fields if name not in _APART)
_their_values = operator.itemgetter(*_OTHER_ACTIONS)


class _Heard(NamedTuple):
    """Takes down what a real tool does while it runs: the artifacts that it saves, the events that it sends, and what it raises."""

    saved: list[SavedArtifact]
    sent: list[JsonObject]
    note_traceback: Callable[[str], None]
    note_steps: Callable[[OwnSteps], None]


async def watched(
    key: str,
    real: Callable[[], Awaitable[Any]],
    context: ToolContext,
    note_problem: Callable[[str], None],
    note_traceback: Callable[[str], None] = lambda _: None,
    *,
    note_steps: Callable[[OwnSteps], None] = lambda _: None,
) -> tuple[Outcome, ToolEffects]:
    """Run a real tool for the request with this key, and return its outcome and its effects, which stand in the context already.

    A state value that JSON cannot hold is replaced by what JSON makes of it, at once and with a word to the
    person: otherwise this run and its re-execution would differ. Where the tool raises, `note_traceback` gets the text;
    `note_steps` gets its steps when it begins.
    """
    before = context.actions
    written = before.state_delta
    state = {name: canonical(jsonable(value)) for name, value in written.items()} if written else {}
    others = _other_actions(before)
    saved: list[SavedArtifact] = []
    sent: list[JsonObject] = []
    outcome = await _outcome(key, real, context, _Heard(saved, sent, note_traceback, note_steps))
    after = context.actions  # reading it flushes what the tool wrote into lists and dicts of the state
    ends = bool(invocation_of(context).end_invocation)
    now = _other_actions(after)
    if not (after.state_delta or others or now or saved or sent or ends):
        return outcome, _NO_EFFECTS
    delta = _state_since(state, after, context, note_problem)
    names = [] if now == others else [name for name in _OTHER_ACTIONS if now.get(name) != others.get(name)]
    changed = {name: jsonable(getattr(after, name)) for name in names}
    if not (delta or saved or changed or sent or ends):
        return outcome, _NO_EFFECTS
    return outcome, ToolEffects(
        state_delta=delta,
        artifacts=tuple(saved),
        actions=changed,
        events=tuple(sent),
        end_invocation=ends,
    )


def _state_since(
    before: dict[str, str], after: EventActions, context: ToolContext, note_problem: Callable[[str], None]
) -> JsonObject:
    """Return what a tool wrote into the state; what JSON cannot hold is replaced there by what JSON makes of it."""
    delta: JsonObject = {
        whole_text(name): jsonable(value)
        for name, value in after.state_delta.items()
        if before.get(name) != canonical(jsonable(value))
    }
    # Names are made whole here too, as they will be from the journal; the state's are written below.
    for name in [name for name in after.state_delta if whole_text(name) != name]:
        del after.state_delta[name]
    for name in [name for name in after.artifact_delta if whole_text(name) != name]:
        after.artifact_delta[whole_text(name)] = after.artifact_delta.pop(name)
    for name, value in delta.items():
        if name not in after.state_delta or not survives_json(after.state_delta[name]):
            note_problem(f"state {name!r} has a value that JSON cannot represent; it was converted to JSON")
            context.state[name] = copied(value)
    return delta


async def _outcome(
    key: str,
    real: Callable[[], Awaitable[Any]],
    context: ToolContext,
    heard: _Heard,
) -> Outcome:
    turn = CURRENT_TURN.get()

    def hear(event: Event) -> None:
        if turn is not None and not event.partial:
            turn.note_effect(event)
            heard.sent.append(event_json(event))

    let_events_be_heard(context)
    inside = INSIDE_REAL_CALL.set(RealCall(key, heard.saved.append, hear))
    steps = OwnSteps(real())
    heard.note_steps(steps)
    try:
        value = await steps
        if steps.own and await steps.take_back_cancellation():
            return _CANCELLED_ITSELF
        return Returned.known(value=tool_value(value))
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and await steps.take_back_cancellation():
            return _CANCELLED_ITSELF
        if ends_the_work(error) and not steps.exits:
            raise
        heard.note_traceback(written_traceback(error))
        return Raised(error=written_error(error))
    finally:
        INSIDE_REAL_CALL.reset(inside)


def _other_actions(actions: EventActions) -> dict[str, str]:
    """Write the actions that are set; most tools set none."""
    held = actions.__dict__
    if not any(_their_values(held)):
        return _NONE
    return {name: canonical(jsonable(value)) for name in _OTHER_ACTIONS if (value := held[name])}


def checked_actions(actions: JsonObject) -> JsonObject:
    """Return actions that a person or a script has written for a call.

    Raises:
        SimulationError: Naming the one that ADK does not have, or whose value it does not take.
    """
    if unknown := sorted(actions.keys() - set(_OTHER_ACTIONS)):
        raise SimulationError(f"ADK has no action {unknown[0]!r} of a tool; state changes are written apart")
    try:
        EventActions.model_validate(copied(actions))
    except ValidationError as error:
        place = error.errors()[0]
        raise SimulationError(f"the action {place['loc'][0]!r}: {place['msg']}") from error
    return actions


async def repeated(effects: ToolEffects, context: ToolContext) -> None:
    """Do again, in a tool's context, what the journal says a tool did."""
    inside = INSIDE_REAL_CALL.set(INSIDE_REAL_CALL.get() or _UNKNOWN)
    try:
        turn = CURRENT_TURN.get()
        for written in effects.events:
            event = Event.model_validate(copied(written))
            if turn is not None:
                turn.note_effect(event)
            await send_event(context, event)
        if effects.state_delta:
            context.state.update(copied(effects.state_delta))
        if effects.actions:
            actions = EventActions.model_validate(copied(effects.actions))
            for name in effects.actions:
                setattr(own_actions(context), name, getattr(actions, name))
        if effects.end_invocation:
            invocation_of(context).end_invocation = True
        for artifact in effects.artifacts:
            part = types.Part.model_validate(copied(artifact.part))
            await context.save_artifact(artifact.filename, part, artifact.custom_metadata)
    finally:
        INSIDE_REAL_CALL.reset(inside)
