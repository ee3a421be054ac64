"""Carries out the commands of a session, and answers the questions that are asked of it; of one that nobody plays here, from its journal alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from simulator.base.json_values import JsonObject, same
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.injection.rules import Trial
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.entities import Contradiction
from simulator.environment.world.invariants import InvariantStatus, check_invariant, standing
from simulator.facts import Provenance, RulesChanged, TurnStarted
from simulator.journal import Journal
from simulator.runtime import (
    environment_changes,
    simulation_commands,
    tool_requests,
    user_player,
    user_seat,
)
from simulator.runtime.errors import SimulationError
from simulator.runtime.knowledge.knowledge import LiveKnowledge
from simulator.runtime.knowledge.tool_shapes import ToolShapes
from simulator.runtime.knowledge.world_view import WorldView, world_view
from simulator.runtime.models import environment_model
from simulator.runtime.models.environment_model import source_for_model
from simulator.runtime.session_engine import Engine
from simulator.runtime.turns.undo_targets import redo_target, undo_target
from simulator.seats.requests import ModelRequest, ToolRequest
from simulator.session import commands
from simulator.session.commands import Command, Question


def questions_to(journal: Journal, agent: Any) -> Callable[[Question], Any]:
    """Return what answers a question about the environment of a session that is not played here.

    Args:
        journal: The session's; it may grow.
        agent: The ADK agent, for the tools that stand in it.
    """
    tools = ToolShapes(agent)

    def shapes() -> Mapping[str, ToolShape]:
        return tools.known({}, journal.fold.environment.declared)

    known: Any = _Known(
        journal, LiveKnowledge(journal, lambda: shapes, tools.own_settings), _Modelling(), tools.codes
    )
    lock = Lock()

    def asked(question: Question) -> Any:
        with lock:
            return look(known, question)

    return asked


@dataclass(frozen=True)
class _Modelling:
    """No model is at work."""

    progress: str = ""


@dataclass(frozen=True)
class _Known:
    """What of an engine says what is known."""

    journal: Journal
    knowledge: LiveKnowledge
    modelling: _Modelling
    tool_codes: Callable[[], Mapping[str, FunctionSource]]


_Does: TypeAlias = Callable[[Engine, Any], Any]


def check_command(command: object) -> None:
    """Check that a value is a command of a session.

    Raises:
        TypeError: It is none.
    """
    if type(command) not in _DOES:
        raise TypeError(f"expected a command, such as `Query`, not {type(command).__name__}")


def check_question(question: object) -> None:
    """Check that a value is a question about a session.

    Raises:
        TypeError: It is none.
    """
    if type(question) not in _KNOWS:
        raise TypeError(f"expected a question, such as `KnownWorld`, not {type(question).__name__}")


async def perform(engine: Engine, command: Command) -> None:
    """Carry out a command.

    Raises:
        SimulationError: It does not fit what the session is doing; nothing was changed.
    """
    done = _DOES[type(command)](engine, command)
    if inspect.isawaitable(done):
        await done


def look(engine: Engine, question: Question) -> Any:
    """Answer a question.

    Raises:
        SimulationError: What it asks about is not there.
    """
    return _KNOWS[type(question)][1](engine, question)


@cache
def gives(question: type[Question]) -> TypeAdapter[Any]:
    """Return the type of what a question gives."""
    return TypeAdapter(_KNOWS[question][0])


async def _query(engine: Engine, asked: commands.Query) -> None:
    delta = simulation_commands.plain(asked.state_delta, "state delta") if asked.state_delta else {}
    await _begin_turn(
        engine,
        "query",
        simulation_commands.content_of(asked.message),
        state_delta=delta,
        streaming=asked.streaming,
        max_llm_calls=asked.max_llm_calls,
        **user_player.said_by(asked.by),
    )


async def _accept(engine: Engine, asked: commands.Accept) -> None:
    held = user_seat.user_view(engine).held
    if held is None:
        raise SimulationError("no user message is held for approval")
    said = simulation_commands.content_of(held if asked.message is None else asked.message)
    more = {} if same(said, held) else {"provenance": Provenance(source="edited")}
    await _begin_turn(engine, "query", said, **more)


async def _reply(engine: Engine, asked: commands.Reply) -> None:
    call = simulation_commands.open_call(simulation_commands.session_of(engine), asked.call_id)
    message = simulation_commands.reply_content(call, simulation_commands.plain(asked.response, "reply"))
    await _begin_turn(engine, "reply", message, **user_player.said_by(asked.by))


async def _confirm(engine: Engine, asked: commands.Confirm) -> None:
    more = {} if asked.payload is None else {"payload": asked.payload}
    response = {"confirmed": asked.confirmed, **more}
    await _reply(engine, commands.Reply(call_id=asked.call_id, response=response, by=asked.by))


async def _begin_turn(
    engine: Engine, purpose: Literal["query", "reply"], message: JsonObject, **more: Any
) -> None:
    simulation_commands.check_responses(engine, message)
    more.setdefault("provenance", user_player.author_of(engine, message))
    turn = engine.journal.fold.turns_so_far
    await engine.start_turn(TurnStarted(at=engine.now(), turn=turn, purpose=purpose, message=message, **more))


async def _answer(engine: Engine, asked: commands.AnswerRequest) -> None:
    given = asked.answer.value if isinstance(asked.answer, commands.PlainAnswer) else asked.answer
    await simulation_commands.answer(engine, asked.key, given)


async def _move_head(engine: Engine, asked: commands.MoveHead) -> None:
    check_reachable(engine.journal, asked.fact)
    await engine.move(asked.fact)


def step_to(journal: Journal, command: commands.Undo | commands.Redo) -> commands.MoveHead:
    """Return an undo or a redo by its place: given twice, that goes no further.

    Raises:
        SimulationError: There is no such step.
    """
    undoes = isinstance(command, commands.Undo)
    fact = undo_target(journal) if undoes else redo_target(journal)
    if fact is None:
        raise SimulationError(f"there is no step to {'undo' if undoes else 'redo'}")
    return commands.MoveHead(fact=fact)


def check_reachable(journal: Journal, fact: int) -> None:
    """Check that a session can go to a fact.

    Raises:
        SimulationError: It lies before the agent was selected, or there is none.
    """
    if fact < next(number for number, each in journal.path() if each.kind == "agent_selected"):
        raise SimulationError(f"fact {fact} comes before the agent was selected")
    if fact >= (length := len(journal)):
        raise SimulationError(f"the journal has no fact {fact}; its length is {length}")


def _set_rules(engine: Engine, asked: commands.SetRules) -> None:
    engine.append(RulesChanged(at=engine.after_opening(), rules=asked.rules))
    engine.changed()


def _switch_rule(engine: Engine, asked: commands.SwitchRule) -> None:
    rules = simulation_commands.session_of(engine).rules
    if all(rule.rule_id != asked.rule_id for rule in rules):
        raise SimulationError(f"no injection rule has the id {asked.rule_id!r}")
    switched = (
        rule.model_copy(update={"enabled": asked.enabled}) if rule.rule_id == asked.rule_id else rule
        for rule in rules
    )
    _set_rules(engine, commands.SetRules(rules=tuple(switched)))


def _change_settings(engine: Engine, asked: commands.ChangeSettings) -> None:
    now = asked.settings or engine.journal.fold.environment.settings
    wanted = environment_changes.settings_with(now, asked.fields)
    if "simulation_model_configuration" in asked.fields:
        engine.modelling.given.forget(wanted.simulation_model_configuration)
    environment_changes.change_settings(engine, wanted)


def _use_model(engine: Engine, asked: commands.UseModel) -> None:
    now = engine.journal.fold.environment.settings
    if now.simulation_model != asked.model:
        wanted = now.model_copy(update={"simulation_model": asked.model})
        environment_changes.change_settings(engine, wanted)


_DOES: Mapping[type[Command], _Does] = {
    commands.Query: _query,
    commands.Accept: _accept,
    commands.Reply: _reply,
    commands.Confirm: _confirm,
    commands.SetUser: user_seat.sit,
    commands.Complete: lambda engine, asked: user_player.end(engine, over=asked.over),
    commands.AnswerRequest: _answer,
    commands.RunReal: lambda engine, asked: simulation_commands.run_real(engine, asked.key),
    commands.FailCall: simulation_commands.inject,
    commands.AskForDraft: lambda engine, asked: tool_requests.ask_for_draft(engine, asked.key),
    commands.StopDrafting: lambda engine, asked: tool_requests.stop_drafting(engine, asked.key),
    commands.DrawAgain: lambda engine, asked: tool_requests.draw_again(engine, asked.key),
    commands.SetPlayer: lambda engine, asked: simulation_commands.change_seat(
        engine, asked.seat, asked.target, asked.player
    ),
    commands.GoOn: lambda engine, _: engine.go_on(),
    commands.MoveHead: _move_head,
    commands.Undo: lambda engine, asked: _move_head(engine, step_to(engine.journal, asked)),
    commands.Redo: lambda engine, asked: _move_head(engine, step_to(engine.journal, asked)),
    commands.StopTurn: lambda engine, _: engine.stop(),
    commands.SetRules: _set_rules,
    commands.SwitchRule: _switch_rule,
    commands.ChangeSettings: _change_settings,
    commands.GiveData: lambda engine, asked: environment_changes.give_data(engine, asked.text),
    commands.EditWorld: lambda engine, asked: environment_changes.edit_world(engine, asked.changes),
    commands.RenameThing: lambda engine, asked: environment_changes.rename(
        engine, asked.kind, asked.old, asked.new
    ),
    commands.ClearState: lambda engine, asked: environment_changes.clear_state(engine, asked.state_key),
    commands.GiveRecording: lambda engine, asked: environment_changes.give_recording(
        engine, asked.name, asked.calls
    ),
    commands.DeclareTools: lambda engine, asked: environment_changes.declare(engine, asked.tools),
    commands.UseModel: _use_model,
    commands.AnalyseConnections: lambda engine, _: environment_model.begin(engine.modelling, engine),
    commands.StopAnalysing: lambda engine, _: environment_model.stop(engine.modelling),
}


def _sources_for_model(engine: Engine, _: Question) -> dict[str, str]:
    codes = engine.tool_codes()
    return {name: source for name, code in codes.items() if (source := source_for_model(code))}


def _judge_invariant(engine: Engine, asked: commands.JudgeInvariant) -> InvariantStatus:
    check_invariant(asked.line)
    return standing(engine.knowledge.up_to_date().world, (asked.line,))[0]


_KNOWS: Mapping[type[Question], tuple[Any, _Does]] = {
    commands.SeenByModel: (
        ModelRequest | None,
        lambda engine, _: simulation_commands.last_model_request(engine),
    ),
    commands.KnownWorld: (
        WorldView,
        lambda engine, _: world_view(engine.knowledge, engine.modelling.progress),
    ),
    commands.SourcesForModel: (dict[str, str], _sources_for_model),
    commands.JudgeInvariant: (InvariantStatus, _judge_invariant),
    commands.TryRules: (
        tuple[Trial, ...],
        lambda engine, asked: environment_changes.try_rules(engine, asked.rules, asked.call),
    ),
    commands.DraftLateResult: (
        ToolRequest | None,
        lambda engine, asked: tool_requests.late_result(engine, asked.call_id),
    ),
    commands.FindContradictions: (
        tuple[Contradiction, ...],
        lambda engine, asked: tool_requests.against(engine, asked.key, asked.outcome),
    ),
}
