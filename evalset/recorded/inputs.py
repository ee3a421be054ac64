"""Reads the questions that graphs and agents ask the user (`RequestInput`), and what was answered to them, out of events and recordings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalset.recorded.model import RecordedInput, RecordedTurn
from simulator.jsonvalue import JsonObject, copied
from simulator.session.entries import message_responses
from simulator.session.events import function_calls

REQUEST_INPUT = "adk_request_input"
"""ADK's name of the function call by which a node, or the tool `request_input`, asks the user."""

INTERRUPT_ID = "interruptId"
"""Where the question of a graph holds its id once more; a call of the tool `request_input` has none."""


def question_of(arguments: Mapping[str, Any]) -> JsonObject:
    """Return what a question asks: its arguments without its id, and without those that are not given."""
    return {
        name: copied(value) for name, value in arguments.items() if name != INTERRUPT_ID and value is not None
    }


class UserReply(NamedTuple):
    """A message of the user after the query, and how many models and calls had been answered by then."""

    message: JsonObject
    models_before: int = 0
    calls_before: int = 0


def recorded_inputs(events: Iterable[JsonObject], replies: Iterable[UserReply]) -> Iterator[RecordedInput]:
    """Record the questions of a turn that the user answered, in the order of the answers.

    Args:
        events: The events of the turn, in JSON.
        replies: The user's messages after the query.
    """
    asked: dict[str, list[tuple[Any, Any]]] = {}
    for event in events:
        for call in function_calls(event):
            if call.get("name") == REQUEST_INPUT and call.get("id"):
                asked.setdefault(str(call["id"]), []).append((event, call.get("args") or {}))
    for reply in replies:
        for said in message_responses(reply.message):
            if questions := asked.get(str(said.get("id"))):
                event, arguments = questions.pop(0) if len(questions) > 1 else questions[0]
                yield RecordedInput(
                    id=str(said.get("id")),
                    agent=str(event.get("author") or ""),
                    path=str((event.get("nodeInfo") or {}).get("path") or ""),
                    arguments=question_of(arguments),
                    response=copied(said.get("response") or {}),
                    models_before=reply.models_before,
                    calls_before=reply.calls_before,
                )


def inputs_of(turn: RecordedTurn) -> Sequence[RecordedInput]:
    """Return a turn's inputs; those of a file of versions 1 to 3 from the user's replies, without the questions."""
    if turn.inputs:
        return turn.inputs
    return [
        RecordedInput(id=str(said.get("id") or ""), response=copied(said.get("response") or {}))
        for message in turn.replies
        for said in message_responses(message)
        if said.get("name") == REQUEST_INPUT
    ]
