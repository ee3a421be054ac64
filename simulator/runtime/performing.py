"""Carries out the commands of a session, and answers the questions that are asked of it; of one that nobody plays here, from its journal alone.

`perform` finds in `_DOES` what carries a command out, and `look` in `_KNOWS` what answers a question. All of it runs on the loop's thread. A
command that does not fit raises before anything is changed. Answers to what waits go to `answering.dispatcher`, changes of the
environment to `environment_changes`, what the user's player does to `user_player`, and what is shown comes from `session_views`.
"""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Literal, TypeAlias

from google.genai import types
from pydantic import TypeAdapter, ValidationError

from simulator.base.json_values import JsonObject, NotJsonError, same, taken
from simulator.environment.drafts.draft import SURE, Unsure, unsure_of
from simulator.environment.injection.rule_effects import OF_A_RESPONSE, OF_ONE_CALL
from simulator.environment.injection.rules import Trial
from simulator.environment.recordings import NO_EFFECTS
from simulator.environment.schema.schema_checks import misfit_calls
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.entities import Contradiction
from simulator.environment.world.invariants import InvariantStatus, check_invariant, standing
from simulator.facts import (
    Answered,
    Deferred,
    Provenance,
    Returned,
    RulesChanged,
    SeatChanged,
    ToolEffects,
    TurnStarted,
)
from simulator.journal import Journal
from simulator.runtime import environment_changes, session_views, user_player
from simulator.runtime.adk.boundaries import CodeCall, ModelCall, ToolBoundaryCall
from simulator.runtime.adk.codec import whole
from simulator.runtime.answering.dispatcher import SessionAnswering
from simulator.runtime.errors import ContradictionError, SimulationError
from simulator.runtime.knowledge.knowledge import LiveKnowledge, ToolShapes
from simulator.runtime.knowledge.world_view import WorldView, world_view
from simulator.runtime.models import environment_model
from simulator.runtime.models.environment_model import source_for_model
from simulator.runtime.session_engine import Engine
from simulator.runtime.turns.agent_turn_checks import check_final_text, check_not_blank, checked_parts
from simulator.runtime.turns.outcomes import as_response, checked_actions, outcome_of
from simulator.runtime.turns.undo_targets import redo_target, undo_target
from simulator.runtime.turns.waiting_request import WaitingRequest, declared_tools
from simulator.seats.answers import CodeAnswer, ModelAnswer, ToolAnswer, returned, said
from simulator.seats.requests import ModelRequest, ToolRequest
from simulator.session import OpenCall, SimulationSession, commands
from simulator.session.adk_event_fields import message_responses
from simulator.session.commands import Command, Question

_LOG = logging.getLogger(__name__)


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
        journal, LiveKnowledge(journal, lambda: shapes, tools.own_settings), _Modelling(), tools
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
    tools: ToolShapes


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
    delta = plain(asked.state_delta, "state delta") if asked.state_delta else {}
    await _begin_turn(
        engine,
        "query",
        content_of(asked.message),
        state_delta=delta,
        streaming=asked.streaming,
        max_llm_calls=asked.max_llm_calls,
        **user_player.said_by(asked.by),
    )


async def _accept(engine: Engine, asked: commands.Accept) -> None:
    held = session_views.user_view(engine).held
    if held is None:
        raise SimulationError("no user message is held for approval")
    said = content_of(held if asked.message is None else asked.message)
    more = {} if same(said, held) else {"provenance": Provenance(source="edited")}
    await _begin_turn(engine, "query", said, **more)


async def _reply(engine: Engine, asked: commands.Reply) -> None:
    call = open_call(session_views.session_of(engine), asked.call_id)
    message = reply_content(call, plain(asked.response, "reply"))
    await _begin_turn(engine, "reply", message, **user_player.said_by(asked.by))


async def _confirm(engine: Engine, asked: commands.Confirm) -> None:
    more = {} if asked.payload is None else {"payload": asked.payload}
    response = {"confirmed": asked.confirmed, **more}
    await _reply(engine, commands.Reply(call_id=asked.call_id, response=response, by=asked.by))


async def _begin_turn(
    engine: Engine, purpose: Literal["query", "reply"], message: JsonObject, **more: Any
) -> None:
    check_responses(engine, message)
    more.setdefault("provenance", user_player.author_of(engine, message))
    turn = engine.journal.fold.turns_so_far
    await engine.start_turn(TurnStarted(at=engine.now(), turn=turn, purpose=purpose, message=message, **more))


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
    rules = session_views.session_of(engine).rules
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


# ---------------------------------------------------------------- answers to what waits


def _open_request(engine: Engine, key: str) -> tuple[SessionAnswering, WaitingRequest[Any]]:
    run, answering = engine.run, engine.answering
    if run is None or answering is None:
        raise SimulationError(f"no turn is running, so {key} cannot be answered")
    waiting = run.unanswered(key)
    if waiting is None:
        known = any(isinstance(fact, Answered) and fact.key == key for _, fact in engine.journal.path())
        raise SimulationError(f"{key} is already answered" if known else f"no request {key} is waiting")
    if not waiting.for_person:
        raise SimulationError(f"{waiting.name} is already being answered; stop that first")
    return answering, waiting


async def _answer(engine: Engine, asked: commands.AnswerRequest) -> None:
    given = asked.answer.value if isinstance(asked.answer, commands.PlainAnswer) else asked.answer
    answering, waiting = _open_request(engine, asked.key)
    call = waiting.call
    try:
        if isinstance(call, ToolBoundaryCall):
            released = await _answer_tool(engine, answering, waiting, given)
        elif isinstance(call, ModelCall):
            released = await _answer_model(answering, waiting, given)
        else:
            released = await _answer_code(answering, waiting, given)
    except NotJsonError as error:
        raise SimulationError(f"the answer to {waiting.name} is {error}") from error
    if not released:
        raise SimulationError(f"{waiting.name} is already answered")


async def _answer_tool(
    engine: Engine, answering: SessionAnswering, waiting: WaitingRequest[ToolBoundaryCall], given: Any
) -> bool:
    if isinstance(given, (ModelAnswer, CodeAnswer)):
        raise SimulationError(f"{waiting.name} is a tool; it cannot take an answer of kind {given.kind!r}")
    if isinstance(given, ToolAnswer):
        taken(getattr(given.outcome, "value", None))
    else:
        given = _plain_answer(engine, waiting, taken(given))
    effects = _checked(given)
    if isinstance(given.outcome, Deferred) and not waiting.call.tool.is_long_running:
        raise SimulationError(f"{waiting.name} is not long-running, so its response cannot come later")
    outcome = given.outcome
    if given.source == "generated" and isinstance(outcome, Returned):
        outcome = outcome_of(outcome.value)  # a draft that is an error stays one
    against = () if given.despite_contradictions else session_views.contradicted(engine, waiting, outcome)
    if against:
        raise ContradictionError(waiting.name, against)
    unsure = _unsure_of(engine, waiting, given)
    waiting.for_person = False
    provenance = waiting.firing.provenance(given.source, given.by, given.notes, unsure)
    return await answering.release_tool(waiting, outcome, effects, provenance)


def _unsure_of(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], given: ToolAnswer) -> Unsure:
    """Return the places of an answer that had no source in the draft that it was made of, and are as they were."""
    if given.is_sure:
        return SURE
    if given.source not in {"generated", "edited"}:
        return Unsure(given.blanks, given.uncertain)
    shown: Any = session_views.shown(engine, waiting)
    return unsure_of(shown.draft_blanks, shown.draft, as_response(given.outcome))


def _plain_answer(engine: Engine, waiting: WaitingRequest[ToolBoundaryCall], value: Any) -> ToolAnswer:
    """Take a plain value as what the tool returns; the draft itself is known again as what was generated."""
    shown: Any = session_views.shown(engine, waiting)
    if not same(value, shown.draft):
        return returned(value)
    return ToolAnswer(
        outcome=outcome_of(value),
        state_delta=shown.draft_effects.state_delta,
        actions=shown.draft_effects.actions,
        source="generated",
        notes=shown.draft_from,
    )


async def _answer_model(answering: SessionAnswering, waiting: WaitingRequest[ModelCall], given: Any) -> bool:
    if isinstance(given, str):
        given = said(given)
    if not isinstance(given, ModelAnswer):
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


async def _answer_code(answering: SessionAnswering, waiting: WaitingRequest[CodeCall], given: Any) -> bool:
    if isinstance(given, str):
        given = CodeAnswer(stdout=given)
    if not isinstance(given, CodeAnswer):
        raise SimulationError("the answer to code must be its output: a text or a CodeAnswer")
    waiting.for_person = False
    result: JsonObject = {"stdout": given.stdout, "stderr": given.stderr}
    return await answering.release_code(waiting, result, waiting.firing.provenance(given.source, given.by))


def _run_real(engine: Engine, asked: commands.RunReal) -> None:
    answering, waiting = _open_request(engine, asked.key)
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
    if not (given.state_delta or given.actions):
        return NO_EFFECTS
    return ToolEffects(state_delta=taken(given.state_delta), actions=checked_actions(taken(given.actions)))


def _inject(engine: Engine, asked: commands.FailCall) -> None:
    rule, (answering, waiting) = asked.rule, _open_request(engine, asked.key)
    if not isinstance(waiting.call, ToolBoundaryCall):
        raise SimulationError(f"{waiting.name} is no tool, so no fault can answer it")
    if rule.effect.kind not in OF_ONE_CALL:
        raise SimulationError(f"{rule.rule_id} does not answer a single call")
    if rule.effect.kind in OF_A_RESPONSE and asked.outcome is None:
        raise SimulationError(f"{rule.rule_id} changes or delays a response: write one first")
    answering.inject(waiting, rule, asked.outcome, _checked(asked.effects))
    engine.changed()


def _change_seat(engine: Engine, asked: commands.SetPlayer) -> None:
    """Let somebody else sit down; open requests of that seat go to them."""
    seat, target, player = asked.seat, asked.target, asked.player
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


# ---------------------------------------------------------------- what the user says


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
        raise SimulationError(
            f"the user message is of type {type(message).__name__}, not a text or a Content"
        )
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
    known = {call.call_id for call in session_views.session_of(engine).open_calls}
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


async def _seat_user(engine: Engine, asked: commands.SetUser) -> None:
    """Let somebody else speak for the user, from the next message on.

    Raises:
        SimulationError: The scenario, its configuration or a message is not as ADK wants it, or one is missing.
    """
    fields = _spoken_from(asked)
    if "config" in fields:
        engine.user.given.forget(fields["config"])
        fields["config"] = engine.user.given.kept(fields["config"])
    await user_player.sit(engine, asked.player, hold=asked.hold, **fields)


def _spoken_from(asked: commands.SetUser) -> dict[str, Any]:
    """Check what a player speaks from, and return the fields of the fact."""
    if asked.player in {"script", "recording"}:
        said = tuple(_messages(asked.player, asked.script))
        if not said:
            raise SimulationError(f"the {asked.player} has no messages")
        return {"script": said}
    if asked.player != "scenario":
        return {}
    if asked.scenario is None:
        raise SimulationError("no scenario was given")
    adk = importlib.import_module(".adk.user_simulator", __package__)
    given = plain(asked.config or {}, "user simulator's configuration")
    return {
        "scenario": adk.written_scenario(plain(asked.scenario, "scenario")),
        "config": adk.written_config(given),
    }


def _messages(player: str, script: Iterable[Any]) -> Iterable[JsonObject]:
    for number, message in enumerate(script, start=1):
        try:
            yield content_of(message)
        except SimulationError as error:
            raise SimulationError(f"message {number} of the {player}: {error}") from error


# ---------------------------------------------------------------- which command and which question does what


_DOES: Mapping[type[Command], _Does] = {
    commands.Query: _query,
    commands.Accept: _accept,
    commands.Reply: _reply,
    commands.Confirm: _confirm,
    commands.SetUser: _seat_user,
    commands.Complete: lambda engine, asked: user_player.end(engine, over=asked.over),
    commands.AnswerRequest: _answer,
    commands.RunReal: _run_real,
    commands.FailCall: _inject,
    commands.AskForDraft: lambda engine, asked: session_views.ask_for_draft(engine, asked.key),
    commands.StopDrafting: lambda engine, asked: session_views.stop_drafting(engine, asked.key),
    commands.DrawAgain: lambda engine, asked: session_views.draw_again(engine, asked.key),
    commands.SetPlayer: _change_seat,
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
    codes = engine.tools.codes()
    return {name: source for name, code in codes.items() if (source := source_for_model(code))}


def _judge_invariant(engine: Engine, asked: commands.JudgeInvariant) -> InvariantStatus:
    check_invariant(asked.line)
    return standing(engine.knowledge.up_to_date().world, (asked.line,))[0]


_KNOWS: Mapping[type[Question], tuple[Any, _Does]] = {
    commands.SeenByModel: (
        ModelRequest | None,
        lambda engine, _: session_views.last_model_request(engine),
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
        lambda engine, asked: session_views.late_result(engine, asked.call_id),
    ),
    commands.FindContradictions: (
        tuple[Contradiction, ...],
        lambda engine, asked: session_views.against(engine, asked.key, asked.outcome),
    ),
}
