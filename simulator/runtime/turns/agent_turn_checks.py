"""Checks what a person lets the agent say before ADK sees it: ADK would raise in the middle of the turn."""

from __future__ import annotations

from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import ValidationError

from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject, taken
from simulator.environment.schema.schema_checks import check, in_words
from simulator.runtime.adk.adk_private import schema_of_final_tool
from simulator.runtime.adk.declarations import schema_json
from simulator.runtime.errors import SimulationError

_MOST_TOLD = 12


def checked_parts(parts: Any) -> list[Any]:
    """Check that parts are google-genai `Part`s in JSON, and return them in its own spelling.

    Raises:
        SimulationError: Naming the part that is wrong.
    """
    if not isinstance(parts, (list, tuple)) or not parts:
        raise SimulationError("a message needs at least one part")
    checked: list[Any] = []
    for number, part in enumerate(parts):
        try:
            read = types.Part.model_validate(taken(part))
        except (ValidationError, ValueError) as error:
            raise SimulationError(f"part {number} is not a valid message part: {_first(error)}") from error
        written = read.model_dump(mode="json", exclude_none=True)
        if not written:
            raise SimulationError(f"part {number} is empty")
        call = written.get("function_call")
        if call is not None and not call.get("name"):
            raise SimulationError(f"part {number} calls a tool without a name")
        checked.append(written)
    return checked


def check_not_blank(parts: list[Any]) -> None:
    """Check that parts hold more than empty text.

    Raises:
        SimulationError: They do not.
    """
    if all(_is_blank(part) for part in parts):
        raise SimulationError("the message is empty; add text or another part")


def _is_blank(part: JsonObject) -> bool:
    says = part.keys() - {"thought", "thought_signature"}
    return says <= {"text"} and not str(part.get("text") or "").strip()


def _first(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
    return str(error)


def check_final_text(parts: list[JsonObject], request: LlmRequest) -> None:
    """Check a final answer against the agent's output schema.

    Raises:
        SimulationError: The text is no JSON, or does not fit the schema; it says where.
    """
    config = request.config
    schema = config.response_schema if config.response_schema is not None else config.response_json_schema
    if schema is None:
        schema = schema_of_final_tool(request)
    if schema is None or any(part.get("function_call") for part in parts):
        return
    text = "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
    value = _parsed(text)
    problems = check(value, schema_json(schema))
    if problems:
        words = "; ".join(in_words(problems, _MOST_TOLD))
        raise SimulationError(f"the final response does not match the agent's output schema: {words}")


def _parsed(text: str) -> Any:
    try:
        return read_json(text, constants=True)
    except JsonTextError as error:
        raise SimulationError(f"the agent's output schema requires JSON: {error}") from error
