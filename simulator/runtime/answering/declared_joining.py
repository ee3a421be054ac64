"""Lets tools that only are declared join an agent: its models are shown them, and the environment answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator.base.json_values import copied
from simulator.environment.declared_tools import DeclaredTool
from simulator.runtime.errors import SimulationError
from simulator.runtime.turns.request_views import describe_tool


class PlayedTool(BaseTool):
    """A declared tool as ADK knows tools. There is nothing real behind it."""

    def __init__(self, declared: DeclaredTool) -> None:
        super().__init__(name=declared.name, description=declared.description or declared.name)
        self._declared = declared

    def _get_declaration(self) -> types.FunctionDeclaration:
        declared = self._declared
        return types.FunctionDeclaration(
            name=declared.name,
            description=self.description,
            parameters_json_schema=copied(declared.parameters),
            response_json_schema=copied(declared.output_schema) if declared.output_schema else None,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Say that nothing real is there.

        Raises:
            SimulationError: Always.
        """
        del args, tool_context
        raise SimulationError(f"the tool {self.name} is only declared; there is nothing real to run")


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
