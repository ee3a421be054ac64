"""Describes tools that do not exist yet: the agent may call them, and the environment answers."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.tool_settings import OutputSchema, WrittenSchema, schema_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
STEERING = frozenset(
    {
        "adk_request_confirmation", "adk_request_credential", "adk_request_input", "exit_loop", "finish_task",
        "set_model_response", "transfer_to_agent",
    }
)  # fmt: skip
"""The names by which ADK steers its own flow: a declared tool of that name would never be asked, or break the flow."""

TRANSFER = "transfer_to_agent"
_RESULTS_OF_ADK: Mapping[str, tuple[str | None, ...]] = {
    "exit_loop": (None,),
    TRANSFER: (None,),
    "finish_task": (None, "Task completed.", "Task failed."),
}
"""What ADK's own tools of these names return; the others return what they were given."""


def steers(name: str | None, response: Mapping[str, Any] | None = None) -> bool:
    """Return whether ADK answers a call itself, where only its name and its response are known: a call without a name is none of a tool.

    A person's own tool may have the name of one of ADK's. It is a tool like any other, and tells itself by another response.
    """
    if not name or name not in STEERING:
        return not name
    results = _RESULTS_OF_ADK.get(name)
    if not response or results is None or str(response.get("error", "")).startswith("Invoking `"):
        return True
    return list(response) == ["result"] and any(response["result"] == each for each in results)


def adk_refused(name: str, response: object) -> bool:
    """Return whether a response is the error that ADK gives in the place of a tool: no such tool is there, or the arguments do not fit it."""
    told = response.get("error") if isinstance(response, Mapping) else None
    return isinstance(told, str) and told.startswith(f"Invoking `{name}()` failed")


_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


class DeclaredTool(FiniteValue):
    """A tool that is only declared: its name, what it does, and the JSON schemas of its parameters and its answers.

    The name is what a model can call: up to 64 ASCII letters, digits and underscores, no digit first. The parameters are
    an object's schema. No output schema means that an answer may have any shape.
    """

    name: str
    description: str = ""
    parameters: WrittenSchema = Field(default_factory=lambda: dict(_NO_PARAMETERS))
    output_schema: OutputSchema | None = None

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            raise ValueError(
                f"{name!r} is not a valid tool name: use up to 64 ASCII letters, digits and underscores, and do not start with a digit"
            )
        if name in STEERING:
            raise ValueError(f"{name!r} is the name of an ADK tool; choose another name")
        return name

    @field_validator("parameters")
    @classmethod
    def _are_of_an_object(cls, parameters: JsonObject) -> JsonObject:
        if not parameters:
            return dict(_NO_PARAMETERS)
        kind = parameters.get("type", "object")
        if not isinstance(kind, str) or kind.lower() != "object":
            raise ValueError(f"the parameters are of type {kind!r}; they must be the schema of an object")
        _check_properties(parameters.get("properties", {}))
        return schema_of(parameters)

    @model_validator(mode="after")
    def _requires_what_it_has(self) -> Self:
        required = self.parameters.get("required", [])
        named = self.parameters.get("properties", {})
        unknown = (
            [name for name in required if not isinstance(named, dict) or name not in named]
            if isinstance(required, list)
            else [required]
        )
        if unknown:
            raise ValueError(f"required parameters that are not declared: {', '.join(map(str, unknown))}")
        return self

    def shape(self) -> ToolShape:
        """Return the tool as the search for connections takes it."""
        return ToolShape(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            response_schema=self.output_schema,
        )


def _check_properties(named: JsonValue) -> None:
    if not isinstance(named, dict):
        problem = "the properties of the parameters are not an object"
        raise ValueError(problem)  # noqa: TRY004 - pydantic turns a ValueError into a problem of its field
    for name, schema in named.items():
        if not name or not isinstance(schema, (dict, bool)):
            raise ValueError(f"parameter {name!r}: it has {'no schema' if name else 'no name'}")
