"""Checks that an eval set holds the answers that were recorded, as `evalset.verify` reads both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import EvalCase

from evalset.confirmations import without_confirmations
from evalset.doctor.calls import ToolPlace
from evalset.doctor.nodes import Node
from evalset.doctor.notes import Notes
from evalset.doctor.shown import short
from evalset.recorded.model import RecordedCall, RecordedCase, RecordedTurn
from evalset.recorded.tolerances import Tolerance, tolerated
from evalset.verify.differences import value_differences
from evalset.verify.evidence import Asked, recorded_steps
from evalset.verify.results import Step
from evalset.verify.steps import steps_of
from simulator.facts import Returned
from simulator.jsonvalue import JsonObject, same

_REMEDY = (
    "Record the case again, or verify it and repair the golden from the recording; where a callback of the agent "
    "changes what its tools answer, all is well."
)


class _Contradiction(NamedTuple):
    """A call with the answer that the case holds, and the other one that was recorded."""

    tool: str
    held: JsonObject
    recorded: JsonObject


class Answered(NamedTuple):
    """A case, its id, and the places in each of its turns where a tool is named."""

    eval_id: str
    node: Node
    places: Sequence[Sequence[ToolPlace]]


def note_answers(case: Answered, recorded: Node, kept: RecordedCase, notes: Notes) -> None:
    """Check the answers of a case against those that were recorded for the same calls.

    An answer that only one of the two holds contradicts nothing; neither does that to a call which was not allowed, or raised.
    A case that ADK refuses, or of which other turns were recorded, is not looked at: it has a finding of its own.
    """
    if _is_the_same(case, kept):
        return
    try:
        held = without_confirmations(EvalCase.model_validate(case.node.value))
        golden = [steps_of(turn) for turn in held.conversation or ()]
    except (ValueError, RecursionError):
        return
    if len(golden) != len(kept.turns):
        return
    for number, (steps, turn) in enumerate(zip(golden, kept.turns, strict=True), 1):
        found = _contradictions(steps, recorded_steps(turn).calls, kept.tolerances)
        if found:
            words = f"In turn {number} of {case.eval_id!r} {_told(found[0])}."
            path = (*recorded.path, "turns", number - 1)
            notes.add(
                "environment-answers-differ", path, words, _REMEDY, eval_id=case.eval_id, count=len(found)
            )


def _is_the_same(case: Answered, kept: RecordedCase) -> bool:
    """Tell quickly whether each answer of a case is the one that was recorded for the call of its id; most cases are so."""
    return len(case.places) == len(kept.turns) and all(
        _holds_the_same(turn, recorded) for turn, recorded in zip(case.places, kept.turns, strict=True)
    )


def _holds_the_same(turn: Sequence[ToolPlace], recorded: RecordedTurn) -> bool:
    answers: dict[str, Any] = {}
    calls: dict[str, ToolPlace] = {}
    for place in turn:
        if (
            not place.call_id
            or place.call_id in (answers if place.role == "answer" else calls)
            or place.role == "quoted"
        ):
            return False
        if place.role == "answer":
            answers[place.call_id] = place.at.members.get("response")
        else:
            calls[place.call_id] = place
    own = {call.id: call for call in recorded.calls if not call.within}
    return answers.keys() <= calls.keys() and all(
        _agrees(own.get(call_id), calls[call_id], answer) for call_id, answer in answers.items()
    )


def _agrees(call: RecordedCall | None, asked: ToolPlace, answer: Any) -> bool:
    return (
        call is not None
        and isinstance(call.outcome, Returned)
        and call.later is None
        and call.confirmed is None
        and call.tool == asked.name
        and isinstance(answer, dict)
        and same(call.outcome.value, answer)
        and same(call.arguments, asked.arguments.value if asked.arguments else {})
    )


def _told(found: _Contradiction) -> str:
    first = next(value_differences(found.held, found.recorded))
    held = short(first.golden) if first.in_golden else "nothing"
    recorded = short(first.actual) if first.in_actual else "nothing"
    place = f" at {first.path}" if first.path else ""
    return f"{found.tool} answered {recorded}{place} when it was recorded, and the case holds {held}"


def _contradictions(
    golden: Sequence[Step], recorded: Sequence[Asked], tolerances: Sequence[Tolerance]
) -> list[_Contradiction]:
    """Give each answered call of a turn that was recorded with other answers alone; the order of like calls is free."""
    left, open_calls = list(recorded), []
    for call, answer in _answered(golden):
        alike = _alike(call, left, tolerances)
        given = next(
            (each for each in alike if each.response is not None and same(each.response, answer.value)), None
        )
        if given is None:
            open_calls.append((call, answer))
        else:
            left.remove(given)
    found: list[_Contradiction] = []
    for call, answer in open_calls:
        alike = _alike(call, left, tolerances)
        if not alike:
            continue
        other = next((each for each in alike if each.response is None), alike[0])
        left.remove(other)
        if other.response is not None:
            held = answer.value if isinstance(answer.value, dict) else {}
            found.append(_Contradiction(call.tool, held, other.response))
    return found


def _answered(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Give the calls of a turn that have an answer, each with it."""
    return ((one, other) for one, other in pairwise(steps) if one.kind == "call" and other.kind == "response")


def _alike(call: Step, recorded: Sequence[Asked], tolerances: Sequence[Tolerance]) -> list[Asked]:
    """Give the recorded calls that this one may stand for, those with the very same arguments first."""
    asked = call.value if isinstance(call.value, dict) else {}
    found = [
        each
        for each in recorded
        if each.tool == call.tool and tolerated(call.tool, asked, each.arguments, tolerances)
    ]
    return sorted(found, key=lambda each: not same(asked, each.arguments))
