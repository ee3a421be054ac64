"""Shapes the environment of a session: each change is checked, and then a fact. On the loop's thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from simulator.base.validation_words import complaint
from simulator.environment.injection.rule_call import CallContext, Tally
from simulator.environment.injection.rules import InjectionRule, Trial, explain
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.entities import EntityChange, TablesError, read_tables
from simulator.environment.world.invariants import InvariantError, check_invariant
from simulator.environment.world.tool_settings import DeclaredTool, EnvironmentSettings
from simulator.facts import (
    EnvironmentChanged,
    EnvironmentDataGiven,
    RecordingGiven,
    StateCleared,
    ToolAnswered,
    ToolsDeclared,
    WorldEdited,
)
from simulator.runtime.adk.boundaries import ToolBoundaryCall
from simulator.runtime.errors import SimulationError
from simulator.runtime.models.environment_model import configuration_of
from simulator.runtime.session_engine import Engine
from simulator.runtime.turns.waiting_request import declared_from


def settings_with(now: EnvironmentSettings, fields: Mapping[str, Any]) -> EnvironmentSettings:
    """Return settings with some fields changed.

    Raises:
        SimulationError: There is no such field, or it may not have this value; the text names it.
    """
    try:
        return EnvironmentSettings.model_validate({**dict(now), **fields})
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        said = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'settings'}: {each['msg']}" for each in found)
        raise SimulationError(f"invalid settings: {said}") from error


def change_settings(engine: Engine, settings: EnvironmentSettings) -> None:
    """Set the environment's settings; what only the server sets of the model's configuration stays in this process.

    Raises:
        SimulationError: A line is no invariant, or the model's configuration cannot be read; the text says why.
    """
    configuration_of(settings.simulation_model_configuration)
    for line in settings.invariants:
        try:
            check_invariant(line)
        except InvariantError as error:
            raise SimulationError(str(error)) from error
    kept = engine.modelling.given.kept(settings.simulation_model_configuration)
    settings = settings.model_copy(update={"simulation_model_configuration": kept})
    _take(engine, EnvironmentChanged(at=engine.now(), settings=settings))


def give_data(engine: Engine, text: str) -> None:
    """Give the environment's data: JSON of tables, or words; an empty text takes it away.

    Raises:
        SimulationError: It is meant as JSON and cannot be read; the text names table, row and field.
    """
    try:
        read_tables(text)
    except TablesError as error:
        raise SimulationError(f"the environment's data cannot be used: {error}") from error
    _take(engine, EnvironmentDataGiven(at=engine.now(), text=text))


def edit_world(engine: Engine, changes: Iterable[EntityChange | Mapping[str, Any]]) -> None:
    """Change things of the world by hand.

    Raises:
        SimulationError: There is no change, or one cannot be read; the text says which, and what is wrong.
    """
    edits = tuple(_change(number, each) for number, each in enumerate(changes, start=1))
    if not edits:
        raise SimulationError("no change of the world was given")
    _take(engine, WorldEdited(at=engine.now(), changes=edits))


def _change(number: int, given: object) -> EntityChange:
    try:
        return EntityChange.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        said = "; ".join(
            f"{'.'.join(('change', str(number), *map(str, each['loc'])))}: {complaint(each, EntityChange.model_fields)}"
            for each in found
        )
        raise SimulationError(f"invalid change of the world: {said}") from error


def rename(engine: Engine, kind: str, old: str, new: str) -> None:
    """Give a thing another id, in it and wherever it is referred to.

    Raises:
        SimulationError: There is no such thing, or another one has the new id.
    """
    try:
        changes = engine.knowledge.up_to_date().world.renaming(kind, old, new)
    except ValueError as error:
        raise SimulationError(str(error)) from error
    edit_world(engine, changes)


def clear_state(engine: Engine, state_key: str) -> None:
    """Forget what is remembered under a state key."""
    _take(engine, StateCleared(at=engine.now(), state_key=state_key))


def give_recording(engine: Engine, name: str, calls: Iterable[ObservedCall]) -> None:
    """Give recorded calls to answer from, under a name; none takes away what the name stood for.

    Raises:
        SimulationError: The name is empty.
    """
    try:
        fact = RecordingGiven(at=engine.now(), name=name, calls=tuple(calls))
    except ValidationError as error:
        raise SimulationError("a recording needs a name") from error
    _take(engine, fact)


def declare(engine: Engine, tools: Iterable[DeclaredTool | Callable[..., Any]]) -> None:
    """Let these tools join the agent from the next turn on, and no others that only are declared.

    Raises:
        SimulationError: Two have one name, the agent has a tool of that name, or one cannot be declared.
    """
    declared = tuple(map(declared_from, tools))
    names = [tool.name for tool in declared]
    if twice := sorted(name for name, number in Counter(names).items() if number > 1):
        raise SimulationError(f"two declared tools have the name {', '.join(twice)}")
    before = {tool.name for tool in engine.journal.fold.environment.declared}
    own = engine.tool_shapes().keys() - before
    if taken := sorted(own & set(names)):
        raise SimulationError(f"the agent already has a tool named {', '.join(taken)}")
    _take(engine, ToolsDeclared(at=engine.now(), tools=declared))


def _take(engine: Engine, fact: Any) -> None:
    engine.append(fact)
    run = engine.run
    for waiting in run.waiting.values() if run is not None else ():
        waiting.shown = None  # its draft may be another now
    engine.changed()


# ---------------------------------------------------------------- trying rules


def try_rules(engine: Engine, rules: Iterable[InjectionRule], call: str | int) -> tuple[Trial, ...]:
    """Say of each rule whether it would have fired for a call, and why not; the nearest first.

    Args:
        engine: The session.
        rules: The rules, which need not be in force.
        call: The key of a call that waits, or the number of the fact that answered one.

    Raises:
        SimulationError: There is no such call.
    """
    asked = _waiting_call(engine, call) if isinstance(call, str) else _past_call(engine, call)
    tally = asked.tally
    return explain(
        tuple(rules),
        asked,
        lambda rule: engine.drafting.streams.value(rule, tally.drawn.get(rule.rule_id, 0)),
    )


def _waiting_call(engine: Engine, key: str) -> CallContext:
    waiting = engine.run.unanswered(key) if engine.run else None
    if waiting is None or engine.answering is None or not isinstance(waiting.call, ToolBoundaryCall):
        raise SimulationError(f"no tool call {key} is waiting")
    return engine.answering.pipeline.environment.asked(waiting)


def _past_call(engine: Engine, number: int) -> CallContext:
    """Describe an answered call as it was: with the world, the counts and the calls before it."""
    path = engine.journal.path()
    place = next((place for place, (each, _) in enumerate(path) if each == number), None)
    fact = path[place][1] if place is not None else None
    if not isinstance(fact, ToolAnswered) or place is None:
        raise SimulationError(f"fact {number} is not the response to a tool call")
    before = engine.journal.branched(path[place - 1][0])
    knowledge = engine.knowledge_along(before)
    counts = before.fold.counts
    return CallContext(
        tool_name=fact.tool_name,
        arguments=fact.arguments,
        agent=fact.agent,
        branch="",
        tally=Tally(
            drawn=counts.drawn,
            counted=counts.counted,
            fired=counts.fired,
            tool_calls=counts.calls[fact.tool_name],
            session_calls=counts.calls.total(),
        ),
        world=knowledge.world.collections,
        state=lambda: before.session().current_state,
        calls=lambda: knowledge.calls_of(fact.tool_name),
    )
