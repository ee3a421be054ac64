"""Reads from a recorded case what its eval case leaves open: who answered, which tools there were, and who made a call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from evalset.doctor.calls import ToolPlace, in_content, in_recorded_turn
from evalset.doctor.confirmation_rounds import confirmed_calls
from evalset.doctor.nodes import Node

_OF_NO_AGENT = "unknown"
"""The agent of a call that a node of a workflow made."""


class RecordedEvidence:
    """What is known of a case from its recording; each part is looked for when it is first asked for.

    Args:
        recorded: The recorded case; None where nothing is recorded.
    """

    def __init__(self, recorded: Node | None = None) -> None:
        self._recorded = recorded or Node(None)

    @cached_property
    def confirmed(self) -> frozenset[str]:
        """The ids of the calls to which a person's yes or no is recorded."""
        return confirmed_calls(self._recorded)

    @cached_property
    def replied(self) -> frozenset[str]:
        """The ids of the calls to which a person's reply is recorded."""
        replies = (reply for turn in self._recorded.items("turns") for reply in turn.items("replies"))
        return frozenset(place.call_id for reply in replies for place in in_content(reply) if place.call_id)

    @cached_property
    def called(self) -> frozenset[str]:
        """The tools that answered, or were rejected."""
        return called_tools(self._recorded)

    @cached_property
    def undeclared(self) -> frozenset[str]:
        """The tools that answered though no agent declared them: of tool sets, of agents made at run time, or made up by a model."""
        return undeclared_tools(self._recorded, self.called)

    @cached_property
    def agents(self) -> frozenset[str]:
        """The agents that spoke."""
        turns = list(self._recorded.items("turns"))
        asked = (
            call for turn in turns for name in ("calls", "rejected", "models") for call in turn.items(name)
        )
        return frozenset(call.text("agent") for call in asked) - {"", _OF_NO_AGENT}


def called_tools(recorded: Node) -> frozenset[str]:
    """Give the names of all tools that are called in a recorded case."""
    places = (place for turn in recorded.items("turns") for place in in_recorded_turn(turn))
    return frozenset(place.name for place in places if place.role == "call")


def undeclared_tools(recorded: Node, called: frozenset[str]) -> frozenset[str]:
    """Give the called tools that were not declared when the case was recorded; none where nobody noted what was declared."""
    declared = (recorded.field("tools") or Node(None)).members
    return called - declared.keys() if declared else frozenset()


def calls_of_models(turn: Node) -> dict[str, Node]:
    """Give the calls that models made in a recorded turn, by their ids; without those inside of agents that are tools."""
    return {place.call_id: place.at for place in _of_models(turn)}


def is_of_a_node(call: Node, of_models: dict[str, Node], *, has_models: bool) -> bool:
    """Tell whether a workflow's node or the agent's own code made a call: ADK has no event for it, so no case holds it."""
    return call.text("id") not in of_models and (has_models or call.text("agent") == _OF_NO_AGENT)


def _of_models(turn: Node) -> Iterator[ToolPlace]:
    for model in turn.items("models"):
        if model.field("within"):
            continue
        for response in model.items("responses"):
            yield from (each for each in in_content(response.field("content")) if each.role == "call")
