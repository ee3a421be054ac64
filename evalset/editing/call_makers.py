"""Tells who made the calls of a case, and which were made at once: only its recording knows, where the case lists its calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from google.adk.evaluation.eval_case import EvalCase, IntermediateData
from google.genai import types

from evalset.golden_trace.case_script import CallMaker, TurnMakers
from evalset.recorded.recording import RecordedCase, RecordedTurn
from simulator.base.json_values import JsonObject, same
from simulator.session.fact_entries import calls_in
from simulator.session.model import CONFIRMATION


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
            found = _found(call, [each for _, each in left])
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


def _found(call: types.FunctionCall, left: Sequence[JsonObject]) -> int | None:
    """Return the place of a call among those that are recorded: by its id, else the first with its tool and arguments."""
    named = [place for place, each in enumerate(left) if each.get("name") == call.name]
    by_id = (place for place in named if call.id and left[place].get("id") == call.id)
    alike = (place for place in named if same(left[place].get("args") or {}, dict(call.args or {})))
    return next(by_id, next(alike, None))
