"""Describes what waits at a boundary as a request that a person can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

from simulator.base.json_values import JsonObject
from simulator.environment.declared_tools import DeclaredTool
from simulator.runtime.adk.boundaries import ModelCall
from simulator.runtime.adk.codec import jsonable, whole, whole_text
from simulator.runtime.adk.declarations import (
    declaration_json,
    dropped_places,
    response_schema_of,
    schema_json,
)
from simulator.runtime.adk.declared_responses import Described, described_response, examples_of
from simulator.runtime.errors import SimulationError
from simulator.seats.requests import ModelRequest, ToolDeclaration

_TRANSFER = "transfer_to_agent"
_SHOWN_APART = frozenset(
    {"system_instruction", "tools", "response_schema", "response_json_schema", "http_options", "labels"}
)


def model_request(call: ModelCall, key: str, turn: int) -> ModelRequest:
    """Describe exactly what the model would see."""
    request = call.request
    tools = declared_tools(request)
    config = request.config
    schema = config.response_schema if config.response_schema is not None else config.response_json_schema
    other = {
        name: jsonable(value)
        for name in sorted(config.model_fields_set)
        if name not in _SHOWN_APART and (value := getattr(config, name)) is not None
    }
    return ModelRequest(
        key=key,
        turn=turn,
        agent=call.agent,
        model_name=request.model or call.model.model,
        system_instruction=whole_text(_as_text(config.system_instruction)),
        contents=tuple(
            whole(content.model_dump(mode="json", exclude_none=True)) for content in request.contents
        ),
        tools=tools,
        response_schema=None if schema is None else schema_json(schema),
        transfer_targets=_targets(tools),
        other_config=other,
    )


def declared_tools(request: LlmRequest) -> tuple[ToolDeclaration, ...]:
    """Return the declarations of a request's tools, as the model sees them."""
    declared: list[ToolDeclaration] = []
    for tool in request.config.tools or ():
        for declaration in getattr(tool, "function_declarations", None) or ():
            described = declaration_json(declaration)
            known = request.tools_dict.get(described.name)
            if known is not None:
                response = described.response or response_schema_of(known)
                described = described.model_copy(
                    update={"response": response, "dropped": dropped_places(known)}
                )
            declared.append(described)
    return tuple(declared)


def describe_tool(tool: BaseTool) -> ToolDeclaration:
    """Return a tool's own declaration, with what else it says of its responses; a tool without one has its name and description."""
    declaration = tool._get_declaration()  # noqa: SLF001 - ADK's own flow reads declarations by this name only
    if declaration is None:
        return ToolDeclaration(name=tool.name, description=tool.description or "")
    described = declaration_json(declaration)
    response = described.response or response_schema_of(tool)
    if response is None and isinstance(tool, AgentTool):
        output = getattr(tool.agent, "output_schema", None)
        response = {"type": "string"} if output is None else schema_json(output)  # what an agent says is text
    api = described_response(tool)
    if response is None and api.schema is not None:
        response = schema_json(api.schema) or None
    examples = examples_of(api, response)
    more = {"response": response, "response_examples": examples, "dropped": dropped_places(tool)}
    return described.model_copy(update=more)


def held_to(tool: ToolDeclaration, schema: JsonObject | None) -> ToolDeclaration:
    """Return a tool's declaration with the output schema that a person has set, and the examples in it; None for none."""
    if schema is None:
        return tool
    examples = examples_of(Described(), schema) or tool.response_examples
    return tool.model_copy(update={"response": schema, "response_examples": examples})


def _as_text(instruction: Any) -> str:
    if instruction is None or isinstance(instruction, str):
        return instruction or ""
    parts = getattr(instruction, "parts", None)
    if parts is not None:
        return "\n".join(part.text for part in parts if part.text)
    return str(jsonable(instruction))


def _targets(tools: tuple[ToolDeclaration, ...]) -> tuple[str, ...]:
    for tool in tools:
        if tool.name == _TRANSFER:
            properties: Any = tool.parameters.get("properties") or {}
            return tuple((properties.get("agent_name") or {}).get("enum") or ())
    return ()


def declared_from(tool: DeclaredTool | Callable[..., Any]) -> DeclaredTool:
    """Return a declared tool as it is, or one of a function's signature and docstring; its body is never run.

    Raises:
        SimulationError: The function cannot be declared, as when a parameter has a type that no schema can tell.
    """
    if isinstance(tool, DeclaredTool):
        return tool
    try:
        found = describe_tool(FunctionTool(tool))
        return DeclaredTool(
            name=found.name,
            description=found.description,
            parameters=found.parameters,
            output_schema=found.response,
        )
    except Exception as error:
        name = getattr(tool, "__name__", repr(tool))
        raise SimulationError(f"{name} cannot be declared as a tool: {error}") from error
