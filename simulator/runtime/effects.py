"""Takes down what a real tool did beside its answer, and does it again from the journal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from google.adk.events.event_actions import EventActions
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator.facts import Outcome, Raised, Returned, SavedArtifact, ToolEffects
from simulator.jsonvalue import canonical, copied
from simulator.runtime.adk_private import invocation_of, own_actions
from simulator.runtime.context import ARTIFACT_SINK, INSIDE_REAL_CALL
from simulator.runtime.encoding import jsonable, survives_json, tool_value, written_error

# These two are taken down apart: state by its keys, artifacts with their bytes.
_APART = frozenset({"state_delta", "artifact_delta"})
_OTHER_ACTIONS = tuple(name for name in EventActions.model_fields if name not in _APART)


async def watched(
    real: Callable[[], Awaitable[Any]], context: ToolContext, note_problem: Callable[[str], None]
) -> tuple[Outcome, ToolEffects]:
    """Run a real tool and give its outcome and its effects, which stand in the context already.

    A state value that JSON cannot hold is replaced by what JSON makes of it, at once and with a word to the
    person: otherwise this run and its re-execution would differ.
    """
    before = context.actions
    state = {key: canonical(jsonable(value)) for key, value in before.state_delta.items()}
    others = {name: canonical(jsonable(getattr(before, name))) for name in _OTHER_ACTIONS}
    saved: list[SavedArtifact] = []
    inside, sink = INSIDE_REAL_CALL.set(True), ARTIFACT_SINK.set(saved.append)
    try:
        outcome: Outcome = Returned(value=tool_value(await real()))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is its answer
        outcome = Raised(error=written_error(error))
    finally:
        INSIDE_REAL_CALL.reset(inside)
        ARTIFACT_SINK.reset(sink)
    after = context.actions  # reading it flushes what the tool wrote into lists and dicts of the state
    delta = {
        key: jsonable(value)
        for key, value in after.state_delta.items()
        if state.get(key) != canonical(jsonable(value))
    }
    for key, value in delta.items():
        if not survives_json(after.state_delta[key]):
            note_problem(f"state {key!r} holds a value that JSON cannot hold; it was kept as JSON")
            context.state[key] = copied(value)
    changed = {
        name: value
        for name in _OTHER_ACTIONS
        if canonical(value := jsonable(getattr(after, name))) != others[name]
    }
    return outcome, ToolEffects(
        state_delta=delta,
        artifacts=tuple(saved),
        actions=changed,
        end_invocation=bool(invocation_of(context).end_invocation),
    )


async def repeated(effects: ToolEffects, context: ToolContext) -> None:
    """Do again, in a tool's context, what the journal says a tool did."""
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
