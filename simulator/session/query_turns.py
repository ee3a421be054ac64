"""Knows what the turns of a query are: its own, and those that answered what it left open. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.base.adk_names import lasting
from simulator.base.json_values import JsonObject
from simulator.session.adk_event_fields import final_output, function_calls, message_responses
from simulator.session.model import SimulationSession, Turn


def turns_by_query(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Put each turn that answers an open call behind the turns of the query that made the call."""
    groups: list[list[Turn]] = []
    makers: dict[str, list[Turn]] = {}
    for turn in turns:
        if turn.purpose == "query":
            group: list[Turn] = []
            groups.append(group)
        else:
            answered = [response.get("id") for response in message_responses(turn.message)]
            group = next((makers[call_id] for call_id in answered if call_id in makers), groups[-1])
        group.append(turn)
        for event in turn.events:
            makers.update({call["id"]: group for call in function_calls(event) if call.get("id")})
    return groups


def first_state(session: SimulationSession, groups: Sequence[Sequence[Turn]]) -> JsonObject:
    """Return the state with which the agent begins the first of some queries: the session's, and what its message set."""
    given = groups[0][0].state_delta if groups else {}
    return {**session.initial_state, **lasting(given)}


def came_to_nothing(turns: Sequence[Turn]) -> bool:
    """Return whether the turns of one query ended without a final response: a trace has nothing to compare there."""
    last = turns[-1]
    answered = last.final_event is not None or final_output(last.events) is not None
    return not answered or any(turn.stopped or turn.error is not None for turn in turns)
