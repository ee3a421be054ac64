"""Takes the questions whether a tool may run out of a turn, where the recorded environment keeps what a person said to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evalset.doctor.calls import CONFIRMATION, ToolPlace, in_turn
from evalset.doctor.edits import Edit, Remove
from evalset.doctor.model import JsonPath
from evalset.doctor.nodes import Node


def confirmed_calls(recorded: Node) -> frozenset[str]:
    """Give the ids of the calls of a recorded case of which it is known what a person said."""
    return frozenset(
        call.text("id")
        for turn in recorded.items("turns")
        for name in ("calls", "rejected")
        for call in turn.items(name)
        if call.field("confirmed") is not None and call.text("id")
    )


def without_questions(turn: Node, confirmed: frozenset[str]) -> list[Edit]:
    """Take out what `evalset.confirmations` takes out: the questions, what was said to them, and what stood for the answers until then.

    Args:
        turn: The turn.
        confirmed: The calls of which it is known elsewhere what a person said; where a question is about another one, nothing
            is taken out.
    """
    places = [place for place in in_turn(turn) if _is_data(place, turn)]
    asked = [place.call_id for place in places if place.role == "quoted"]
    questions = [place for place in places if place.role == "call" and place.name == CONFIRMATION]
    if not questions or len(asked) != len(questions) or not set(asked) <= confirmed:
        return []
    answers = [place for place in places if place.role == "answer"]
    last = {place.call_id: place for place in answers if place.call_id in asked}
    doomed = [*questions]
    doomed += [
        place
        for place in answers
        if place.name == CONFIRMATION or (place.call_id in last and last[place.call_id] is not place)
    ]
    return [Remove(path) for path in _whole(turn, [_item(place.at.path) for place in doomed])]


def _is_data(place: ToolPlace, turn: Node) -> bool:
    data = turn.field("intermediate_data")
    return data is not None and place.at.path[: len(data.path)] == data.path


def _item(path: JsonPath) -> JsonPath:
    """Give the item of a list that a call or an answer is, or is a part of."""
    return path if isinstance(path[-1], int) else path[:-1]


def _whole(turn: Node, doomed: list[JsonPath]) -> Iterator[JsonPath]:
    """Take an event out as a whole, where none of its parts stays."""
    going = Counter(path[:-1] for path in doomed)
    data = turn.field("intermediate_data") or Node(None)
    emptied: set[JsonPath] = set()
    for event in data.items("invocation_events"):
        parts = (event.field("content") or Node(None)).field("parts")
        if parts is not None and isinstance(parts.value, list) and going[parts.path] == len(parts.value) > 0:
            emptied.add(parts.path)
            yield event.path
    yield from (path for path in doomed if path[:-1] not in emptied)
