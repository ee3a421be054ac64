"""Writes down why a command was refused, and reads it again on the other side of a channel."""

from __future__ import annotations

from pydantic import TypeAdapter

from simulator.base.json_values import JsonObject
from simulator.environment.world.entities import Contradiction
from simulator.runtime.errors import ContradictionError, SimulationError

_FOUND: TypeAdapter[tuple[Contradiction, ...]] = TypeAdapter(tuple[Contradiction, ...])


def written_error(error: ValueError) -> JsonObject:
    """Write down why a command was refused."""
    if isinstance(error, ContradictionError):
        found = _FOUND.dump_python(error.contradictions, mode="json")
        return {"kind": "contradiction", "tool": error.tool_name, "found": found}
    return {"kind": "refused", "text": str(error)}


def read_error(error: JsonObject) -> SimulationError:
    """Return the exception that was written down."""
    if error.get("kind") == "contradiction":
        return ContradictionError(str(error["tool"]), _FOUND.validate_python(error["found"]))
    return SimulationError(str(error.get("text", "")))
