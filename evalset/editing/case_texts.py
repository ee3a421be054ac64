"""Says what is said at each step of a case, in its set and in the recording beside it, and at which step words are found. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalset.editing.case_parts import Case, CaseStep, field, listed, steps_of, turns_of

STEP_NAMES = {
    "query": "user message",
    "call": "call",
    "response": "response of",
    "text": "text",
    "final": "final response",
}
"""What a person calls a step; the name of a tool follows."""
_RECORDED = {
    "calls": "recorded response of",
    "rejected": "rejected call of",
    "models": "recorded model turn",
    "code": "recorded code",
    "inputs": "recorded input",
    "replies": "recorded reply",
}
"""What a turn of a recording has beside digests, and what a person calls it."""


class SaidStep(NamedTuple):
    """What is said at a step of a case or a session.

    Attributes:
        turn: The turn, from 0.
        place: Its place in the session, or in `steps_of` of a case's turn; None for what is beside the steps.
        name: What it is, with the tool of a call or a response.
        text: Its texts, each in a line.
    """

    turn: int
    place: int | None
    name: str
    text: str


WHOLE_CASE = SaidStep(0, None, "", "")
"""Stands for a case that is found by its row."""


def said_steps(case: Case, recorded: Any) -> Iterator[SaidStep]:
    """Yield all that is said in a case, step by step, and what `recorded`, the JSON of its recording, knows beside."""
    told = listed(recorded, "turns")
    for number, turn in enumerate(turns_of(case)):
        steps = steps_of(case, number)
        for place, step in enumerate(steps):
            name = f"{STEP_NAMES[step.kind]} {step.name}".strip()
            yield SaidStep(number, place, name, _texts(step.value))
        yield SaidStep(number, None, "rubrics", _texts(listed(turn, "rubrics")))
        for held in told[number : number + 1]:
            yield from _recorded(number, steps, held)
    yield SaidStep(0, None, "scenario", _texts(field(case, "conversation_scenario")))


def _recorded(number: int, steps: Sequence[CaseStep], turn: Any) -> Iterator[SaidStep]:
    for kind, name in _RECORDED.items():
        for held in (each for each in listed(turn, kind) if isinstance(each, dict)):
            tool, call_id = str(field(held, "tool", "")), field(held, "id")
            calls = (place for place, step in enumerate(steps) if step.kind == "call" and step.name == tool)
            own = (place for place, step in enumerate(steps) if call_id and step.call_id == call_id)
            place = next(own, next(calls, len(steps) - 1))
            said = {key: value for key, value in held.items() if key != "author"}
            yield SaidStep(number, place, f"{name} {tool}".strip(), _texts(said))


def _texts(value: Any) -> str:
    """Return all texts and values in a value, each in a line."""
    found: list[str] = []
    left: list[Any] = [value]
    while left:
        held = left.pop()
        if isinstance(held, (dict, list)):
            left += reversed([*held.values()] if isinstance(held, dict) else held)
        elif held is not None:
            found.append(str(held))
    return "\n".join(found)


def found_step(steps: Sequence[SaidStep], words: Sequence[str]) -> SaidStep | None:
    """Return the step that says most of the words, in small letters; None where one of them is said at none."""
    found = [{word for word in words if word in step.text.casefold()} for step in steps]
    if set(words).difference(*found):
        return None
    return max(zip(found, steps, strict=True), key=lambda each: len(each[0]), default=(set(), None))[1]
