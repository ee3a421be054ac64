"""Tells from a tool's name whether it reads, makes or removes, and from its answer whether it went well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject
from simulator.environment.conventions.entity_kinds import words_of

_GOOD = frozenset({"success", "ok", "succeeded"})
_ERRORS = frozenset({"error", "error_code", "error_message", "errorMessage", "error_type", "exception"})
_WELL = ("ok", "success")
_BAD = frozenset({"error", "failed", "failure", "not_found", "not found"})


_DONE = {
    "cancel": "cancelled", "ship": "shipped", "close": "closed", "approve": "approved", "reject": "rejected",
    "refund": "refunded", "pay": "paid", "complete": "completed", "deliver": "delivered", "archive": "archived",
    "resolve": "resolved", "reopen": "open", "open": "open", "activate": "active", "deactivate": "inactive",
    "suspend": "suspended", "confirm": "confirmed", "return": "returned", "reserve": "reserved", "finish": "finished",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """A tool call of this session that was answered, or that may be answered so: `response` is what the agent sees.

    `fact` is its number in the journal, and `turn` that of its turn. `doubted` are the fields of it whose values nobody said, by
    name and value, and `uncertain` the paths at which it says what may be something else. `injected` says that a rule answered: what
    it says holds, but does not tell what the tool's answers usually are. `state_delta` is what the call wrote into the session's
    state. `is_guess` says that nobody knows whether the tool would have answered so: it was said, and is not to be repeated as known.
    """

    tool_name: str
    arguments: JsonObject
    response: JsonValue
    fact: int = 0
    turn: int = 0
    doubted: tuple[tuple[str, JsonValue], ...] = ()
    injected: bool = False
    state_delta: Mapping[str, JsonValue] = field(default_factory=dict)
    is_guess: bool = False
    uncertain: tuple[str, ...] = ()


def done_state(tool_name: str) -> str | None:
    """Return the state in which a tool leaves what it changes, by its verb; None where that cannot be told."""
    verb = words_of(tool_name)[:1]
    return _DONE.get(verb[0]) if verb else None


def is_error(response: JsonValue) -> bool:
    """Return whether a response reports an error, as tools commonly do; an object or the JSON text of one.

    ADK puts a text into an object as its `result`.
    """
    if isinstance(response, dict) and response.keys() == {"result"} and isinstance(response["result"], str):
        response = response["result"]
    if isinstance(response, str):
        response = _object_in(response)
    if not isinstance(response, dict):
        return False
    status = response.get("status")
    if isinstance(status, str) and status.lower() in _BAD:
        return True
    said = [response[key] for key in _WELL if isinstance(response.get(key), bool)]
    if said and all(said):  # a code of an appliance's error, beside the word that the call went well
        return bool(response.get("error"))
    return any(response.get(key) for key in _ERRORS) or any(response.get(key) is False for key in _WELL)


def _object_in(text: str) -> JsonValue:
    """Return what a text that begins as a JSON object holds; None where it is no JSON."""
    try:
        return read_json(text) if text.lstrip().startswith("{") else None
    except JsonTextError:
        return None


def is_envelope(name: str, value: JsonValue) -> bool:
    """Return whether a field only says that the call went well, and nothing about the thing that it was about."""
    return name in {"status", "result", "success", "ok"} and (
        isinstance(value, bool) or (isinstance(value, str) and value.lower() in _GOOD)
    )
