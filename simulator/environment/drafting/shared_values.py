"""Finds what the tools that share a state said last, or what its beginning says in words, for the fields of a draft."""

from __future__ import annotations

import re
from collections.abc import Callable

from pydantic import JsonValue

from simulator.environment.conventions.names import words_of
from simulator.environment.things.shared_state import SharedState
from simulator.jsonvalue import JsonObject

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_BETWEEN = r"\s*(?:is|are|of|at|:|=|->)?\s*(?:now|set to|about)?\s*"


def with_shared_values(
    draft: JsonValue,
    arguments: JsonObject,
    state: SharedState,
    fits: Callable[[JsonValue], bool],
) -> JsonValue:
    """Give a made-up answer with what is known under its state key.

    A field has the value that a call of the group asked for or answered last; else, for a number, what the beginning
    says of it ("humidity 45%"). The call's own arguments stand, and no value is taken that the answer could not have.

    Args:
        draft: The answer.
        arguments: What the call was asked.
        state: What is known under the tool's state key.
        fits: Tells whether an answer fits the tool's schema.
    """
    if not isinstance(draft, dict):
        return draft
    for name, value in draft.items():
        if name in arguments or isinstance(value, (dict, list)):
            continue
        known = _said(name, state)
        if known is None and isinstance(value, (int, float)) and not isinstance(value, bool):
            known = _told(name, state["initial_state"] or "")
        if known is not None and fits(changed := {**draft, name: known}):
            draft = changed
    return draft


def _said(name: str, state: SharedState) -> JsonValue:
    """Give the last plain value of this name: of an answer, or else of what the same call asked for."""
    for call in reversed(state["previous_calls"]):
        for said in (call["response"], call["parameters"]):
            value = said.get(name) if isinstance(said, dict) else None
            if value is not None and not isinstance(value, (dict, list)):
                return value
    return None


def _told(name: str, beginning: str) -> JsonValue:
    """Give the number that stands behind a field's name in a description."""
    words = r"[\s_-]+".join(map(re.escape, words_of(name)))
    found = re.search(rf"\b{words}\b{_BETWEEN}{_NUMBER}", beginning, re.IGNORECASE) if words else None
    if found is None:
        return None
    number = float(found.group(1))
    return int(number) if number.is_integer() else number
