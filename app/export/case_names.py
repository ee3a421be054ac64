"""Proposes eval ids that say what a case is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping

from evalset import eval_id_for, snake_case
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.conventions.tool_roles import UNSURE, role_of
from simulator.session import SimulationSession
from simulator.session.history import ToolCall, UserQuery

PLAYED = "the case that is played"
"""The name among the texts of a session of the case that it plays; a session that comes from a file names none of this machine."""
LONGEST = 48
"""In characters: a longer id hides the others in a list."""
_LONGEST_VALUE = 20
_WORDS_OF_MESSAGE = 6
_FROM_ADK = ("transfer_to_agent", "adk_")
_LETTERS = re.compile(r"[^A-Za-z0-9]+")


class PlayedCase(Value):
    """The case that a session began with, or was written to, and the eval set that it is in.

    `session_id` is that of the session that was written: a copy of it is another case. `losses` says in sentences what was not
    played as it is in the case.
    """

    path: str
    eval_id: str
    session_id: str = ""
    losses: tuple[str, ...] = ()


def remember_played(texts: MutableMapping[str, str], played: PlayedCase) -> None:
    """Keep which case a session plays, so that the session is proposed in its place."""
    texts[PLAYED] = played.model_dump_json()


def played_case(texts: Mapping[str, str]) -> PlayedCase | None:
    """Return the case that a session plays; None where it plays none."""
    try:
        return PlayedCase.model_validate_json(texts.get(PLAYED, ""))
    except ValueError:  # none, or a session of a file has what its file says
        return None


def proposed_eval_id(session: SimulationSession) -> str:
    """Return an id in words: `cancel_order_a1001`.

    It is the last tool call that changes something, or else the root agent's first one, with the first short value among its arguments. A tool
    of which nothing says that it changes something counts as one that reads. Without calls it is the start of the first user message. Where no letter of it can be written in ASCII, it is the agent's name and the time.
    """
    every = [entry for entry in session.history if isinstance(entry, ToolCall)]
    calls = [call for call in every if not call.tool_name.startswith(_FROM_ADK)]
    if calls:
        of_root = (call for call in calls if call.agent == every[0].agent)
        call = next(filter(_changes, reversed(calls)), next(of_root, calls[0]))
        named = f"{snake_case(call.tool_name)}_{_value(call.arguments)}"
    else:
        said = next((entry.content for entry in session.history if isinstance(entry, UserQuery)), "")
        named = "_".join(_LETTERS.sub(" ", said).lower().split()[:_WORDS_OF_MESSAGE])
    fitting = named[:LONGEST].strip("_")
    return fitting or eval_id_for(session.agent_name, session.start_timestamp)


def _changes(call: ToolCall) -> bool:
    role = role_of(call.tool_name)
    return role.use != "reads" and role.why != UNSURE


def _value(arguments: JsonObject) -> str:
    """Return the first argument that is a short text or a number, as one word; empty where there is none."""
    for value in arguments.values():
        word = _LETTERS.sub("", str(value)).lower()
        if isinstance(value, (str, int)) and not isinstance(value, bool) and 0 < len(word) <= _LONGEST_VALUE:
            return word
    return ""
