"""Tells from a tool's name whether it reads, makes or removes, and from its answer whether it went well."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from simulator.environment.plausible import words_of
from simulator.jsonvalue import JsonObject

_CREATES = frozenset(
    {
        "create",
        "add",
        "book",
        "new",
        "insert",
        "register",
        "open",
        "place",
        "submit",
        "make",
        "start",
        "order",
        "reserve",
    }
    | {"schedule", "issue", "post", "generate", "upload", "file"}
)
_READS = frozenset(
    {
        "get",
        "find",
        "search",
        "list",
        "look",
        "lookup",
        "fetch",
        "read",
        "check",
        "show",
        "query",
        "describe",
        "retrieve",
    }
    | {
        "is",
        "has",
        "can",
        "count",
        "view",
        "load",
        "track",
        "calculate",
        "compute",
        "convert",
        "estimate",
        "validate",
    }
)
_REMOVES = frozenset({"delete", "remove", "drop", "erase", "purge", "destroy"})
_GOOD = frozenset({"success", "ok", "succeeded"})
_ERRORS = frozenset({"error", "error_code", "error_message", "errorMessage", "error_type", "exception"})
_WELL = ("ok", "success")
_BAD = frozenset({"error", "failed", "failure", "not_found", "not found"})


class EarlierAnswer(BaseModel):
    """A tool call of this session that was answered, and what the agent saw.

    `injected` says that a rule answered: what it says holds, but does not tell what the tool's answers usually are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_name: str
    arguments: JsonObject
    response: JsonValue
    injected: bool = False


def is_read(tool_name: str) -> bool:
    """Tell whether a tool, by its name, changes nothing."""
    return bool(set(words_of(tool_name)[:2]) & _READS) and not is_removal(tool_name)


def is_creation(tool_name: str) -> bool:
    """Tell whether a tool, by its name, makes a new thing."""
    return bool(set(words_of(tool_name)[:1]) & _CREATES)


def is_removal(tool_name: str) -> bool:
    """Tell whether a tool, by its name, takes a thing away for good."""
    return bool(set(words_of(tool_name)[:1]) & _REMOVES)


def is_error(response: JsonValue) -> bool:
    """Tell whether a response reports an error, as tools commonly do."""
    if not isinstance(response, dict):
        return False
    status = response.get("status")
    if isinstance(status, str) and status.lower() in _BAD:
        return True
    return any(response.get(key) for key in _ERRORS) or any(response.get(key) is False for key in _WELL)


def is_envelope(name: str, value: JsonValue) -> bool:
    """Tell whether a field only says that the call went well, and nothing about the thing that it was about."""
    return name in {"status", "result", "success", "ok"} and (
        isinstance(value, bool) or (isinstance(value, str) and value.lower() in _GOOD)
    )
