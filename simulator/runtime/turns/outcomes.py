"""Turns what a tool gave into an outcome, and an outcome into what those take who read answers, and ADK."""

from __future__ import annotations

from typing import Any

from simulator.base.json_values import Json, JsonObject
from simulator.environment.prompts.json_extraction import breach
from simulator.facts import Failed, Outcome, Returned
from simulator.runtime.adk.codec import made_error, tool_result

_CODE, _MESSAGE = "error_code", "error_message"


def outcome_of(value: Json) -> Outcome:
    """Return what a value that was made for a tool is: an error where it has ADK's form, else what the tool returns."""
    code, message = (value.get(_CODE), value.get(_MESSAGE)) if isinstance(value, dict) else (None, None)
    if not isinstance(value, dict) or not isinstance(message, str):
        return Returned(value=value)
    if isinstance(code, bool) or not isinstance(code, (int, str)):
        return Returned(value=value)
    details = {name: inner for name, inner in value.items() if name not in {_CODE, _MESSAGE}}
    return Failed(error_code=code, error_message=message, details=details)


def as_response(outcome: Outcome) -> Any:
    """Return what a tool's outcome is for those who read answers: its value, or its error dict; None where it raised."""
    match outcome.kind:
        case "returned":
            return outcome.value
        case "failed":
            return outcome.response()
        case _:
            return None


def breach_of(outcome: Outcome, schema: JsonObject | None) -> str:
    """Return where what a tool returns breaks a schema, as `breach`; an error and an exception break none."""
    return breach(outcome.value, schema) if isinstance(outcome, Returned) else ""


def as_tools_give(outcome: Outcome) -> Any:
    """Return ADK an outcome as its tools do: a value, None where there is none yet, or an exception that is raised."""
    match outcome.kind:
        case "raised":
            raise made_error(outcome.error)
        case "failed":
            return outcome.response()
        case "deferred":
            return None
        case _:
            return tool_result(outcome.value)
