"""Reads out of a session's events where its agents spoke, and which of their calls run long. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from simulator.jsonvalue import JsonObject
from simulator.session.entries import calls_in
from simulator.session.events import USER_AUTHOR, function_calls, function_responses, parts_of

Spoken: TypeAlias = Mapping[str, list[JsonObject]]
"""The events in which something was said, by who said it, those that no model's answer is known of."""


def long_running_ids(event: JsonObject) -> Iterable[str]:
    """Give the ids of an event's calls whose tools may be answered later."""
    ids: Any = event.get("longRunningToolIds") or ()
    return [str(each) for each in ids]


def spoken_events(events: Iterable[JsonObject]) -> Spoken:
    """Give the events in which an agent said something, by the agent's name, in their order."""
    found: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for event in events:
        author = str(event.get("author") or "")
        if author != USER_AUTHOR and not event.get("partial") and not function_responses(event):
            found[author].append(event)
    return found


def taken_path(spoken: Spoken, agent: str, response: JsonObject) -> str:
    """Take the first event that says what a model answered, and give the path of its node; empty where there is none.

    Args:
        spoken: The events; the one that is found is taken out.
        agent: Whose model it was.
        response: ADK's `LlmResponse` in JSON.
    """
    names = [str(call.get("name")) for call in calls_in([response])]
    texts = _texts(response)
    left = spoken.get(agent) or []
    for place, event in enumerate(left):
        if [str(call.get("name")) for call in function_calls(event)] == names and _texts(event) == texts:
            del left[place]
            node: Any = event.get("nodeInfo")
            return str(node.get("path") or "") if isinstance(node, dict) else ""
    return ""


def _texts(said: JsonObject) -> list[Any]:
    return [part["text"] for part in parts_of(said.get("content")) if part.get("text")]
