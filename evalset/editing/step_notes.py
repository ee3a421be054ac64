"""Tells what the recording knows of a case's steps and the form of a case has no field for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from evalset.editing.case_parts import CallSeen, Case, Where, calls_of, field, steps_of, text_of, turns_of
from evalset.recorded.recording import RecordedCall, RecordedCase, RecordedTurn, RejectedCall


class StepNote(NamedTuple):
    """What a step of a case does not tell of itself: `words` is a sentence with texts from outside."""

    kind: Literal["rejected", "late", "said_before"]
    words: str


def step_notes(case: Case, recorded: RecordedCase | None, number: int) -> Mapping[Where, StepNote]:
    """Return what the recording knows of a turn's steps, by their places: none where it has other turns."""
    if recorded is None or len(recorded.turns) != len(turns_of(case)):
        return {}
    turn = recorded.turns[number]
    found: dict[Where, StepNote] = {}
    for seen in (each for each in calls_of(case, number) if each.answers):
        where, name = seen.answers[-1].where, seen.call.name
        if _among(seen, turn.rejected):
            found[where] = StepNote("rejected", f"The user rejected the call of {name}.")
        elif _among(seen, [call for call in turn.calls if call.later is not None]):
            found[where] = StepNote(
                "late", f"The result of {name} came in a later message, after the turn had ended."
            )
    before = _said_before(turn)
    final = next((step.where for step in steps_of(case, number) if step.kind == "final"), None)
    if before and final is not None:
        words = f"Before the late result, the agent ended the turn with: {before}"
        found[final] = StepNote("said_before", words)
    return found


def _among(seen: CallSeen, calls: Iterable[RecordedCall | RejectedCall]) -> bool:
    arguments = field(seen.call.value, "args", {})
    return any(
        call.id == seen.call.call_id
        if call.id and seen.call.call_id
        else (call.tool, call.arguments) == (seen.call.name, arguments)
        for call in calls
    )


def _said_before(turn: RecordedTurn) -> str:
    """Return what the agent said at first, when a late result was still to come."""
    contents = (field(each, "content") for model in turn.models if model.put_off for each in model.responses)
    return "\n".join(text for content in contents if (text := text_of(content)))
