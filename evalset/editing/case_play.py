"""Makes a script of a case up to one of its steps, so that somebody plays it again and goes on from there another way.

A case that lists its calls does not say who made them, and which were made at once; nor what a person had said to confirmations, what tools did
besides their answers, and what a graph did by itself. Its recording does: so the makers of the calls come from there, the questions whether a call may
run are put back into the case, and the lines of the script are completed with what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
)
from google.genai import types
from pydantic import ValidationError

from evalset.editing.case_parts import (
    Case,
    CaseStep,
    EditError,
    Where,
    put,
    step_order,
    steps_of,
    turns_of,
    without_steps,
)
from evalset.golden_trace.case_script import CallMaker, CaseScript, TurnMakers, named_script_of_case
from evalset.golden_trace.golden_steps import asked_about
from evalset.recorded.recorded_script import answer_line, with_earlier, with_recording
from evalset.recorded.recorded_turns import inputs_of, is_of_graph, only_asked
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedInput, RecordedTurn, RejectedCall
from simulator.base.json_values import JsonObject, copied, same
from simulator.facts import Deferred, Failed, Raised, Returned
from simulator.scripts import Script, ScriptTurn
from simulator.scripts.script import AgentMove, Entry, Fails, ToolMove
from simulator.session.adk_event_fields import calls_in
from simulator.session.model import CONFIRMATION, REQUEST_INPUT


def makers_of(case: EvalCase, recorded: RecordedCase) -> tuple[TurnMakers, ...]:
    """Return who made the calls of each turn that was recorded, and who spoke last there."""
    turns = zip(case.conversation or (), recorded.turns, strict=False)
    return tuple(_makers(turn.intermediate_data, kept) for turn, kept in turns)


def made_with(calls: Sequence[types.FunctionCall], recorded: RecordedTurn) -> Iterator[CallMaker | None]:
    """Yield who made each call of a turn; a question whether a call may run stands with the call before it."""
    left = list(_recorded_calls(recorded))
    maker: CallMaker | None = None
    for call in calls:
        if call.name != CONFIRMATION:
            found = _recorded_place(call, [each for _, each in left])
            maker = None if found is None else left.pop(found)[0]
        yield maker


def _makers(data: object, recorded: RecordedTurn) -> TurnMakers:
    calls = made_with(data.tool_uses, recorded) if isinstance(data, IntermediateData) else ()
    spoke = [model.agent for model in recorded.models if not model.within and model.responses]
    return TurnMakers(tuple(calls), spoke[-1] if spoke else "")


def _recorded_calls(recorded: RecordedTurn) -> Iterator[tuple[CallMaker, JsonObject]]:
    for number, model in enumerate(recorded.models):
        if not model.within:
            yield from ((CallMaker(model.agent, number), call) for call in calls_in(model.responses))


def _recorded_place(call: types.FunctionCall, left: Sequence[JsonObject]) -> int | None:
    """Return the place of a call among those that are recorded: by its id, else the first with its tool and arguments."""
    named = [place for place, each in enumerate(left) if each.get("name") == call.name]
    by_id = (place for place in named if call.id and left[place].get("id") == call.id)
    alike = (place for place in named if same(left[place].get("args") or {}, dict(call.args or {})))
    return next(by_id, next(alike, None))


def script_with_recording(
    case: EvalCase, recorded: RecordedCase | None, nested: Mapping[str, str] | None = None
) -> CaseScript:
    """Make the script of a case, with what only its recording knows: what a person had said to confirmations, what tools did besides, and what a graph did.

    Each move names its agent, as far as that is known: `without_names` leaves that out where there is only one.

    Arguments and errors are those of `script_of_case`; `recorded` is None where nothing is recorded of the case.
    """
    if recorded is None:
        return named_script_of_case(case, nested)
    asked = with_confirmations(case, recorded)
    if not _is_turn_by_turn(case, recorded):
        made = named_script_of_case(asked, nested)
        return made._replace(script=with_graph(with_earlier(made.script, recorded), recorded))
    made = named_script_of_case(asked, nested, makers_of(asked, recorded))
    script = _as_recorded(made.script, recorded)
    return made._replace(script=with_graph(with_earlier(script, recorded), recorded))


def _is_turn_by_turn(case: EvalCase, recorded: RecordedCase) -> bool:
    return len(recorded.turns) == len(case.conversation or ())


def case_until(case: Case, turn: int, steps: int, recorded: RecordedCase | None = None) -> Case:
    """Return the beginning of a case: the turns before `turn` (counted from 0), and the first `steps` steps of that one.

    The query is the first step of a turn, so `steps` is at least 1. Calls that were made at once with one of them stay, as far as
    the case tells, or what is recorded of it.

    Raises:
        EditError: The case has no such turn.
    """
    if not 0 <= turn < len(turns_of(case)):
        raise EditError(f"turn {turn + 1} does not exist")
    made = put(case, ("conversation",), turns_of(case)[: turn + 1])
    known = {} if recorded is None else _at_once(case, turn, recorded)
    kept, gone = steps_of(case, turn)[: max(1, steps)], steps_of(case, turn)[max(1, steps) :]
    begun = {known.get(step.where, _event_of(step)) for step in kept if step.kind == "call"} - {None}
    gone = [
        step for step in gone if step.kind != "call" or known.get(step.where, _event_of(step)) not in begun
    ]
    return without_steps(made, gone)


def _event_of(step: CaseStep) -> object:
    """Return the place of the event that a step is of; None where the case has lists."""
    return step.where[: step.where.index("content")] if "content" in step.where else None


def _at_once(case: Case, turn: int, recorded: RecordedCase) -> dict[Where, object]:
    """Return what tells which calls of a turn were made at once, by the places of the calls in its lists."""
    steps = [step for step in steps_of(case, turn) if step.kind == "call" and "tool_uses" in step.where]
    in_order = sorted(steps, key=step_order)
    calls = [types.FunctionCall(name=step.name, id=step.call_id, args=_arguments(step)) for step in in_order]
    makers = made_with(calls, recorded.turns[turn])
    return {step.where: maker for step, maker in zip(in_order, makers, strict=True)}


def _arguments(step: CaseStep) -> dict[str, Any]:
    args = step.value.get("args") if isinstance(step.value, dict) else None
    return args if isinstance(args, dict) else {}


def script_until(
    case: Case,
    turn: int,
    steps: int,
    recorded: RecordedCase | None = None,
    nested: Mapping[str, str] | None = None,
) -> CaseScript:
    """Make the script in which a case is played up to a step; from there each player continues.

    Each move names its agent, as far as that is known: `without_names` leaves that out where there is only one.

    Args:
        case: The case as raw JSON.
        turn: The turn in which it ends, counted from 0.
        steps: How many steps of that turn are played; the query is the first.
        recorded: What is recorded of the case: its tools then answer as they did, with their changes of the state, a person
            says again whether they may run, and the recorded calls are given to the session for what comes after.
        nested: As for `script_of_case`.

    Raises:
        EditError: There is no such turn, or ADK does not read the case.
        evalset.ScenarioError: The case cannot be played.
    """
    kept = recorded if recorded is not None and len(recorded.turns) == len(turns_of(case)) else None
    try:
        beginning = EvalCase.model_validate(case_until(case, turn, steps, kept))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise EditError(f"ADK cannot load the case: {first['msg']}") from None
    if kept is None:
        return named_script_of_case(beginning, nested)
    asked = with_confirmations(beginning, kept)
    made = named_script_of_case(asked, nested, makers_of(asked, kept))
    script = with_graph(_as_recorded(made.script, kept), kept)
    return made._replace(script=with_recording(script, kept))


def _as_recorded(script: Script, recorded: RecordedCase) -> Script:
    turns: list[ScriptTurn] = []
    left: list[RecordedCall] = []
    number = -1
    for turn in script.turns:
        if turn.speaks == "say":
            number += 1
            left = _final_calls(recorded, number)
        turns.append(turn.model_copy(update={"moves": tuple(_lines(turn.moves, left))}))
    return script.model_copy(update={"turns": tuple(turns)})


def _final_calls(recorded: RecordedCase, number: int) -> list[RecordedCall]:
    """Return the calls of a turn; of one whose tool first asked for itself whether it may run, only what came of it."""
    calls = recorded.turns[number].calls if number < len(recorded.turns) else ()
    return [call for place, call in enumerate(calls) if not only_asked(calls, place)]


def _lines(moves: Iterable[Entry], left: list[RecordedCall]) -> Iterable[Entry]:
    for move in moves:
        call = _recorded(move, left) if isinstance(move, ToolMove) else None
        if call is not None:
            left.remove(call)
        yield move if call is None or not isinstance(move, ToolMove) else _answered(move, call)


def _recorded(move: ToolMove, left: Iterable[RecordedCall]) -> RecordedCall | None:
    fitting = (
        call
        for call in left
        if not call.within and call.tool == move.tool and same(call.arguments, move.args)
    )
    return next(fitting, None)


def _answered(move: ToolMove, call: RecordedCall) -> ToolMove:
    line: dict[str, Any] = {"tool": move.tool, "args": move.args, "agent": move.agent, **call.effects.written}
    line |= call.author.unsure.written
    match call.outcome:
        case Returned(value=value):
            return ToolMove(**line, returns=value)
        case Failed() as failed:
            more = {"details": failed.details} if failed.details else {}
            fails = Fails(error_code=failed.error_code, error_message=failed.error_message, **more)
            return ToolMove(**line, fails=fails)
        case Raised(error=error):
            return ToolMove(**line, raises=error)
        case Deferred():
            return move


# Completes the script of a case with what a graph did by itself: no model called it, so only the recorded environment holds it.


def with_graph(script: Script, recorded: RecordedCase) -> Script:
    """Return a script with the answers to tools in a graph and the state that messages set, and without final responses that no agent says.

    The turns are those that were recorded, or their beginning.
    """
    typed: list[RecordedInput] = []
    lines = [answer_line(call) for turn in recorded.turns for call in _graph_calls(turn)]
    turns: list[ScriptTurn] = []
    kept: RecordedTurn | None = None
    left = list(recorded.turns)
    for turn in script.turns:
        if turn.speaks == "say":
            kept = left.pop(0) if left else None
            typed = list(inputs_of(kept)) if kept else []
            given = kept.state_delta if kept else {}
            turn = turn.model_copy(update={"state_delta": given})  # noqa: PLW2901 - the turn as it was recorded
        made = _without_speech(turn) if kept is not None and _is_of_graph(kept) else turn
        if turn.tool == REQUEST_INPUT and kept is not None and typed:
            made = _of_one_question(made, typed.pop(0), kept)
        turns.append(made)
    changed: dict[str, Any] = {"turns": tuple(turns), "environment": (*script.environment, *lines)}
    return script.model_copy(update=changed)


def _of_one_question(turn: ScriptTurn, typed: RecordedInput, recorded: RecordedTurn) -> ScriptTurn:
    """Name the question that a reply answers by its node, where others have the same words."""
    words = [(each.arguments or {}).get("message") for each in inputs_of(recorded)]
    if words.count((typed.arguments or {}).get("message")) == 1:
        return turn
    return turn.model_copy(update={"node": typed.path, "question": ""})


def _graph_calls(turn: RecordedTurn) -> Iterator[RecordedCall]:
    for place, call in enumerate(turn.calls):
        if is_of_graph(call, turn) and not only_asked(turn.calls, place):
            yield call


def _is_of_graph(turn: RecordedTurn) -> bool:
    """Recognise a turn in which a graph ran and no agent spoke."""
    return not turn.models and (bool(turn.inputs) or any(is_of_graph(call, turn) for call in turn.calls))


def _without_speech(turn: ScriptTurn) -> ScriptTurn:
    return turn.model_copy(
        update={"moves": tuple(move for move in turn.moves if not isinstance(move, AgentMove))}
    )


# Puts the questions whether a tool may run back into a case, where only its recorded environment keeps what a person had said.


_USER = "user"


class _Asked(NamedTuple):
    """A call of a case that a person had allowed or rejected, and what they had said."""

    call: types.FunctionCall
    said: JsonObject

    @property
    def question(self) -> types.FunctionCall:
        about = {"originalFunctionCall": {"id": self.call.id, "name": self.call.name}}
        return types.FunctionCall(id=f"asked-{self.call.id}", name=CONFIRMATION, args=about)

    @property
    def waits(self) -> types.FunctionResponse:
        """What stands for the call's answer until a person has said whether it may run."""
        return types.FunctionResponse(id=self.call.id, name=self.call.name, response={})

    @property
    def reply(self) -> types.FunctionResponse:
        return types.FunctionResponse(
            id=self.question.id, name=CONFIRMATION, response=dict(copied(self.said))
        )


def with_confirmations(case: EvalCase, recorded: RecordedCase) -> EvalCase:
    """Return a case with the questions that were left out of it, each before its call's answer, or last where that is to come.

    Questions that the case holds stay as they are. A tool that asked for itself gets none: where it does not run, it
    cannot ask. The turns are those that were recorded, or their beginning.
    """
    turns = list(case.conversation or ())
    for place, (turn, kept) in enumerate(zip(turns, recorded.turns, strict=False)):
        turns[place] = _with(turn, kept)
    return case.model_copy(update={"conversation": turns}) if turns else case


def _with(turn: Invocation, recorded: RecordedTurn) -> Invocation:
    match turn.intermediate_data:
        case InvocationEvents(invocation_events=events):
            calls = [part.function_call for event in events for part in _parts(event) if part.function_call]
            made = list(_events(events, _left_out(calls, recorded)))
            return turn.model_copy(update={"intermediate_data": InvocationEvents(invocation_events=made)})
        case IntermediateData() as data:
            listed = _lists(data, _left_out(data.tool_uses, recorded))
            return turn.model_copy(update={"intermediate_data": listed})
        case _:
            return turn


def _left_out(calls: Sequence[types.FunctionCall], recorded: RecordedTurn) -> dict[str, _Asked]:
    """Find the calls whose questions the case does not hold, by their ids."""
    known = {asked_about(call) for call in calls if call.name == CONFIRMATION}
    asked_itself = {call.id for place, call in enumerate(recorded.calls) if only_asked(recorded.calls, place)}
    both: list[RecordedCall | RejectedCall] = [*recorded.calls, *recorded.rejected]
    left = [
        call
        for call in both
        if call.confirmed is not None and not call.within and call.id not in asked_itself
    ]
    found: dict[str, _Asked] = {}
    for call in calls:
        kept = _kept(call, left)
        if kept is None or kept.confirmed is None:
            continue
        left.remove(kept)
        if call.id and call.id not in known:
            found[call.id] = _Asked(call, kept.confirmed)
    return found


def _kept(
    call: types.FunctionCall, left: Iterable[RecordedCall | RejectedCall]
) -> RecordedCall | RejectedCall | None:
    """Find what is recorded of a call: by its id, else the first with its tool and arguments."""
    mine = [each for each in left if each.tool == call.name]
    by_id = next((each for each in mine if each.id and each.id == call.id), None)
    return by_id or next((each for each in mine if same(each.arguments, dict(call.args or {}))), None)


def _lists(data: IntermediateData, asked: dict[str, _Asked]) -> IntermediateData:
    """Put each question behind the calls that were made at once with its call, which were answered before it."""
    answers: list[types.FunctionResponse] = []
    before: dict[str, set[str]] = {}
    for answer in data.tool_responses:
        if (each := asked.get(answer.id or "")) is not None and each.call.id not in before:
            before[answer.id or ""] = {known.id or "" for known in answers}
            answers += [each.waits, each.reply]
        answers.append(answer)
    answered = {answer.id or "" for answer in answers}
    for call_id, each in asked.items():
        if call_id not in before:
            before[call_id] = answered
            answers += [each.waits, each.reply]
    uses = list(data.tool_uses)
    for call_id, each in asked.items():
        with_it = [
            place for place, call in enumerate(uses) if call.id == call_id or call.id in before[call_id]
        ]
        uses.insert(max(with_it) + 1, each.question)
    return data.model_copy(update={"tool_uses": uses, "tool_responses": answers})


def _events(events: Sequence[InvocationEvent], asked: dict[str, _Asked]) -> Iterator[InvocationEvent]:
    left = dict(asked)
    for event in events:
        parts: list[types.Part] = []
        for part in _parts(event):
            answer = part.function_response
            each = left.pop(answer.id or "", None) if answer else None
            if each is not None:
                if parts:
                    yield _of_parts(event.author, parts)
                    parts = []
                yield from _round(event.author, each)
            parts.append(part)
        yield event if len(parts) == len(_parts(event)) else _of_parts(event.author, parts)
    for each in left.values():
        yield from _round("", each)


def _round(author: str, asked: _Asked) -> Iterator[InvocationEvent]:
    yield _of_parts(author, [types.Part(function_response=asked.waits)])
    yield _of_parts(author, [types.Part(function_call=asked.question)])
    yield _of_parts(_USER, [types.Part(function_response=asked.reply)])


def _of_parts(author: str, parts: list[types.Part]) -> InvocationEvent:
    return InvocationEvent(author=author, content=types.Content(parts=parts))


def _parts(event: InvocationEvent) -> Sequence[types.Part]:
    return (event.content.parts if event.content else None) or ()
