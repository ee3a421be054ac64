"""Makes a script of a case up to one of its steps, so that somebody plays it again and goes on from there another way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.case_script import CaseScript, script_of_case
from evalset.editing.confirmed import with_confirmations
from evalset.editing.graphs import with_graph
from evalset.editing.parts import Step, steps_of, turns_of
from evalset.editing.places import ABSENT, Case, EditError, at, put
from evalset.recorded.model import RecordedCall, RecordedCase
from evalset.recorded.playing import with_recording
from evalset.replay.following import only_asked
from simulator.facts import Deferred, Failed, Raised, Returned
from simulator.jsonvalue import same
from simulator.scripts import Script, ScriptTurn
from simulator.scripts.entries import Entry, Fails, ToolMove


def script_with_recording(
    case: EvalCase, recorded: RecordedCase | None, nested: Mapping[str, str] | None = None
) -> CaseScript:
    """Make the script of a case, with what only its recording knows: what a person had said to confirmations, and what a graph did.

    Arguments and errors are those of `script_of_case`; `recorded` is None where nothing is recorded of the case.
    """
    if recorded is None:
        return script_of_case(case, nested)
    made = script_of_case(with_confirmations(case, recorded), nested)
    return made._replace(script=with_graph(made.script, recorded))


def case_until(case: Case, turn: int, steps: int) -> Case:
    """Give the beginning of a case: the turns before `turn` (counted from 0), and the first `steps` steps of that one.

    The query is the first step of a turn, so `steps` is at least 1.

    Raises:
        EditError: The case has no such turn.
    """
    if not 0 <= turn < len(turns_of(case)):
        raise EditError(f"there is no turn {turn + 1}")
    made = put(case, ("conversation",), turns_of(case)[: turn + 1])
    gone = steps_of(case, turn)[max(1, steps) :]
    for step in sorted(gone, key=_place, reverse=True):
        made = _without(made, step)
    return made


def _place(step: Step) -> list[str]:
    return [f"{each:09d}" if isinstance(each, int) else each for each in step.where]


def _without(case: Case, step: Step) -> Case:
    """Take away a step: of a list its entry, of an event its part, and the event where nothing is left in it."""
    where = step.where
    if where[-1] in {"function_call", "function_response"}:
        where = where[:-1]
    if "intermediate_responses" in where:
        return put(case, where[:-1], ABSENT)
    made = put(case, where, ABSENT)
    if "content" in where and not at(made, where[:-1]):
        return put(made, where[: where.index("content")], ABSENT)
    return made


def script_until(
    case: Case,
    turn: int,
    steps: int,
    recorded: RecordedCase | None = None,
    nested: Mapping[str, str] | None = None,
) -> CaseScript:
    """Make the script in which a case is played up to a step; from there whoever is asked goes on.

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
    try:
        beginning = EvalCase.model_validate(case_until(case, turn, steps))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise EditError(f"ADK does not read the case: {first['msg']}") from None
    if recorded is None or len(recorded.turns) != len(turns_of(case)):
        return script_of_case(beginning, nested)
    made = script_of_case(with_confirmations(beginning, recorded), nested)
    script = with_graph(_as_recorded(made.script, recorded), recorded)
    return made._replace(script=with_recording(script, recorded))


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
    """Give the calls of a turn; of one whose tool first asked for itself whether it may run, only what came of it."""
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
    line: dict[str, Any] = {"tool": move.tool, "args": move.args, "agent": move.agent}
    if call.effects.state_delta:
        line["state_delta"] = call.effects.state_delta
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
