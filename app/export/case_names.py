"""Proposes eval ids that say what a case is about."""

from __future__ import annotations

import re

from evalset import eval_id_for, snake_case
from simulator.base.json_values import JsonObject
from simulator.environment.conventions.tool_roles import role_of
from simulator.session import SimulationSession
from simulator.session.history import ToolCall, UserQuery

LONGEST = 48
"""In characters: a longer id hides the others in a list."""
_LONGEST_VALUE = 20
_WORDS_OF_MESSAGE = 6
_FROM_ADK = ("transfer_to_agent", "adk_")
_LETTERS = re.compile(r"[^A-Za-z0-9]+")


def proposed_eval_id(session: SimulationSession) -> str:
    """Return an id in words: `cancel_order_a1001`.

    It is the first tool call that changes something, or else the first one, with the first short value among its arguments; without
    calls it is the start of the first user message. Where no letter of it can be written in ASCII, it is the agent's name and the time.
    """
    calls = [
        entry
        for entry in session.history
        if isinstance(entry, ToolCall) and not entry.tool_name.startswith(_FROM_ADK)
    ]
    changing = (call for call in calls if role_of(call.tool_name).use != "reads")
    if calls:
        call = next(changing, calls[0])
        named = f"{snake_case(call.tool_name)}_{_value(call.arguments)}"
    else:
        said = next((entry.content for entry in session.history if isinstance(entry, UserQuery)), "")
        named = "_".join(_LETTERS.sub(" ", said).lower().split()[:_WORDS_OF_MESSAGE])
    fitting = named[:LONGEST].strip("_")
    return fitting or eval_id_for(session.agent_name, session.start_timestamp)


def _value(arguments: JsonObject) -> str:
    """Return the first argument that is a short text or a number, as one word; empty where there is none."""
    for value in arguments.values():
        word = _LETTERS.sub("", str(value)).lower()
        if isinstance(value, (str, int)) and not isinstance(value, bool) and 0 < len(word) <= _LONGEST_VALUE:
            return word
    return ""
