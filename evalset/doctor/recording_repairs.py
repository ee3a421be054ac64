"""Repairs a damaged recording from its eval set: the response to a call is taken from there, where the case holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from evalset.doctor.calls import ToolPlace, in_turn
from evalset.doctor.edits import Edit, Replace
from evalset.doctor.nodes import Node
from evalset.doctor.shown import short
from evalset.recorded.model import RecordedCall, RecordedCase, lean
from simulator.facts import Returned

_CALL_DEPTH = 4
"""`turns`, the turn's number, `calls`, the call's number."""


class Repair(NamedTuple):
    """What puts a damaged call right, and what it takes the place of."""

    edit: Edit
    loses: str


def repairs_of(environment: Node, eval_set: Node) -> list[Repair]:
    """Give what puts a recording right that cannot be read; nothing where the eval set does not hold all that is damaged."""
    held = {case.text("eval_id"): case for case in eval_set.items("eval_cases")}
    found: list[Repair] = []
    cases = environment.field("cases") or Node(None)
    for eval_id, value in cases.members.items():
        damaged = _damaged_calls(value)
        if damaged is None or (damaged and eval_id not in held):
            return []
        for turn, number in damaged:
            node = Node(
                value["turns"][turn]["calls"][number], (*cases.path, eval_id, "turns", turn, "calls", number)
            )
            repair = _repaired(node, held[eval_id], turn)
            if repair is None:
                return []
            found.append(repair)
    return found


def _damaged_calls(case: Any) -> list[tuple[int, int]] | None:
    """Give the places of the calls that cannot be read; None where something else is damaged too."""
    try:
        RecordedCase.model_validate(case)
    except ValidationError as error:
        places = [each["loc"][:_CALL_DEPTH] for each in error.errors(include_url=False, include_input=False)]
    else:
        return []
    found: list[tuple[int, int]] = []
    for place in places:
        match place:
            case ("turns", int() as turn, "calls", int() as number):
                found.append((turn, number))
            case _:
                return None
    return list(dict.fromkeys(found))


def _repaired(call: Node, case: Node, number: int) -> Repair | None:
    """Put a call right: what can be read of it stays; the rest comes from the call of its id in the case."""
    turns = list(case.items("conversation"))
    call_id = call.text("id")
    if number >= len(turns) or not call_id:
        return None
    places = [place for place in in_turn(turns[number]) if place.call_id == call_id]
    asked = next((place for place in places if place.role == "call"), None)
    answers = [place for place in places if place.role == "answer"]
    if asked is None or len(answers) != 1 or call.text("tool") not in {"", asked.name}:
        return None
    made = _made(call, asked, answers[0].at.members.get("response"))
    return Repair(Replace(call.path, lean(made)), f"{asked.name}: {short(call.value)}") if made else None


def _made(call: Node, asked: ToolPlace, response: Any) -> RecordedCall | None:
    if not isinstance(response, dict):
        return None
    known: dict[str, Any] = {
        "id": call.text("id"),
        "tool": asked.name,
        "arguments": asked.arguments.value if asked.arguments else {},
        "outcome": Returned(value=response),
        "author": {"source": "recorded", "notes": ("the response was taken from the eval set",)},
    }
    known |= dict(_readable(call, known))
    try:
        return RecordedCall.model_validate(known)
    except ValidationError:
        return None


def _readable(call: Node, known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the members of a damaged call that are well by themselves."""
    for name, value in call.members.items():
        if name not in RecordedCall.model_fields or name == "outcome":
            continue
        try:
            RecordedCall.model_validate({**known, name: value})
        except ValidationError:
            continue
        yield name, value
