"""Adds answers to a case that was recorded before: what was asked for the first time, and answered by a person or a policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from evalset.recorded.golden_digests import changed_turn
from evalset.recorded.recorded_turns import inputs_of
from evalset.recorded.recording import (
    RecordedCall,
    RecordedCase,
    RecordedEnvironment,
    RecordedInput,
    RecordedTurn,
    RejectedCall,
)
from evalset.recorded.recording_files import RecordedEnvironmentError, change_environment
from simulator.base.json_values import canonical
from simulator.session.model import REQUEST_INPUT

Asked = TypeVar("Asked", RecordedCall, RejectedCall, RecordedInput)


class NewAnswers(NamedTuple):
    """What a session of a recorded case holds and the case does not: by the number of the turn, from 0."""

    calls: dict[int, tuple[RecordedCall, ...]]
    rejected: dict[int, tuple[RejectedCall, ...]]
    inputs: Mapping[int, tuple[RecordedInput, ...]] = MappingProxyType({})

    @property
    def total(self) -> int:
        """How many they are."""
        found: list[Sequence[Any]] = [*self.calls.values(), *self.rejected.values(), *self.inputs.values()]
        return sum(map(len, found))


def new_answers(recorded: RecordedCase, played: RecordedCase) -> NewAnswers:
    """Find what was answered in a session that replays a case, and was not recorded there.

    The same call, asked more often than it was recorded, counts as often as it is more. Turns that the case does not have are
    left out: they are a case of their own.

    Args:
        recorded: The case.
        played: What its session recorded, as `recorded_case` gives it.
    """
    calls, rejected, inputs = {}, {}, {}
    for number, (before, now) in enumerate(zip(recorded.turns, played.turns, strict=False)):
        if found := tuple(_more(before.calls, now.calls)):
            calls[number] = found
        if refused := tuple(_more(before.rejected, now.rejected)):
            rejected[number] = refused
        if typed := tuple(_more(_asked_of(before, now), now.inputs)):
            inputs[number] = typed
    return NewAnswers(calls, rejected, inputs)


def _more(before: Iterable[Asked], now: Iterable[Asked]) -> Iterable[Asked]:
    left = [_question(call) for call in before]
    for call in now:
        if (question := _question(call)) in left:
            left.remove(question)
        else:
            yield call


def _asked_of(before: RecordedTurn, now: RecordedTurn) -> Sequence[RecordedInput]:
    """Return a turn's inputs, as many as there are; one whose question was not kept stands for the one that is asked in its place."""
    pairs = zip_longest(inputs_of(before), now.inputs)
    return [
        now_asked if kept.arguments is None and now_asked is not None else kept
        for kept, now_asked in pairs
        if kept is not None
    ]


def _question(call: RecordedCall | RejectedCall | RecordedInput) -> tuple[str, tuple[str, ...], str]:
    if isinstance(call, RecordedInput):
        return REQUEST_INPUT, (), canonical(call.arguments)
    return call.tool, call.within, canonical(call.arguments)


def add_played(path: Path | str, eval_id: str, played: RecordedCase) -> NewAnswers:
    """Add what `new_answers` finds to a case of a recorded environment; what is there stays as it is. Twice is as good as once.

    Args:
        path: The recorded environment.
        eval_id: The case.
        played: What a session of it recorded.

    Raises:
        RecordedEnvironmentError: The file cannot be used, or has no such case; nothing was changed.
        OSError: The disk or the folder refused; the file is as it was.
    """
    added = NewAnswers({}, {})

    def change(before: RecordedEnvironment) -> RecordedEnvironment:
        nonlocal added
        case = _case(Path(path), before, eval_id)
        added = new_answers(case, played)
        turns = [
            _with(
                turn,
                added.calls.get(number, ()),
                added.rejected.get(number, ()),
                added.inputs.get(number, ()),
            )
            for number, turn in enumerate(case.turns)
        ]
        return _with_case(before, eval_id, turns)

    change_environment(path, change)
    return added


def _case(path: Path, environment: RecordedEnvironment, eval_id: str) -> RecordedCase:
    if eval_id not in environment.cases:
        raise RecordedEnvironmentError(path, f"no case {eval_id!r}")
    return environment.cases[eval_id]


def _with(
    turn: RecordedTurn,
    calls: Iterable[RecordedCall],
    rejected: Iterable[RejectedCall] = (),
    inputs: Iterable[RecordedInput] = (),
) -> RecordedTurn:
    more: dict[str, Any] = {
        "calls": (*turn.calls, *calls),
        "rejected": (*turn.rejected, *rejected),
    }
    if new := tuple(inputs):
        more["inputs"] = (*inputs_of(turn), *new)
    return changed_turn(turn, more)


def _with_case(
    environment: RecordedEnvironment, eval_id: str, turns: Sequence[RecordedTurn]
) -> RecordedEnvironment:
    case = environment.cases[eval_id].model_copy(update={"turns": tuple(turns)})
    return environment.model_copy(update={"cases": {**environment.cases, eval_id: case}})
