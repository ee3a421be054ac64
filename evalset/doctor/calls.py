"""Finds every place in eval data where a tool is named: calls with their arguments, answers, and questions about calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from evalset.doctor.nodes import Node

CONFIRMATION = "adk_request_confirmation"
ASKS_A_PERSON = "adk_request_"


class ToolPlace(NamedTuple):
    """A place where a tool is named.

    Attributes:
        at: The call or the answer.
        tool: The tool's name, and where it stands; None where none is named.
        arguments: The arguments of a call, where it has some.
        call_id: The id of the call; empty where there is none.
        role: `call`, `answer`, or `quoted` for a call that another one asks about.
    """

    at: Node
    tool: Node | None
    arguments: Node | None
    call_id: str
    role: Literal["call", "answer", "quoted"]

    @property
    def name(self) -> str:
        """The tool's name; empty where none is given."""
        return self.tool.value if self.tool and isinstance(self.tool.value, str) else ""


def in_turn(turn: Node) -> Iterator[ToolPlace]:
    """Give the places of one invocation in the form of today, in their order."""
    data = turn.field("intermediate_data") or Node(None)
    for call in data.items("tool_uses"):
        yield from _call(call)
    for answer in data.items("tool_responses"):
        yield _answer(answer)
    for said in data.items("intermediate_responses"):
        for each in said.items():
            yield from _parts(each)
    for event in data.items("invocation_events"):
        yield from in_content(event.field("content"))
    for name in ("user_content", "final_response"):
        yield from in_content(turn.field(name))


def in_content(content: Node | None) -> Iterator[ToolPlace]:
    """Give the places among the parts of a content."""
    if content is not None and (parts := content.field("parts")) is not None:
        yield from _parts(parts)


def in_old_turn(turn: Node) -> Iterator[ToolPlace]:
    """Give the places of one turn in the old form."""
    for use in turn.items("expected_tool_use"):
        yield ToolPlace(use, use.field("tool_name"), use.field("tool_input"), "", "call")


def calls_in_recorded_turn(turn: Node) -> Iterator[ToolPlace]:
    """Give the calls of one turn of a recorded environment that tools answered, or that were rejected."""
    for name in ("calls", "rejected"):
        for call in turn.items(name):
            yield ToolPlace(call, call.field("tool"), call.field("arguments"), call.text("id"), "call")


def in_recorded_turn(turn: Node) -> Iterator[ToolPlace]:
    """Give the places of one turn of a recorded environment."""
    yield from calls_in_recorded_turn(turn)
    for model in turn.items("models"):
        for response in model.items("responses"):
            yield from in_content(response.field("content"))
    yield from in_content(turn.field("query"))
    for reply in turn.items("replies"):
        yield from in_content(reply)


def _parts(parts: Node) -> Iterator[ToolPlace]:
    for part in parts.items():
        if (call := part.field("function_call")) is not None:
            yield from _call(call)
        if (answer := part.field("function_response")) is not None:
            yield _answer(answer)


def _call(call: Node) -> Iterator[ToolPlace]:
    arguments = call.field("args")
    yield ToolPlace(call, call.field("name"), arguments, call.text("id"), "call")
    asked = arguments.field("original_function_call") if arguments else None
    if asked is not None and call.text("name") == CONFIRMATION:
        yield ToolPlace(asked, asked.field("name"), asked.field("args"), asked.text("id"), "quoted")


def _answer(answer: Node) -> ToolPlace:
    return ToolPlace(answer, answer.field("name"), None, answer.text("id"), "answer")
