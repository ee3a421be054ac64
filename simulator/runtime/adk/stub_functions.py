"""Knows the tools that have nothing real to run: functions without a body, tools that only are declared, and those that answer themselves."""

from __future__ import annotations

import dis
import functools
from collections.abc import Sequence
from types import CodeType
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator.base.json_values import JsonObject, copied
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.world.tool_settings import ToolSettings
from simulator.facts import ToolAnswered
from simulator.runtime.errors import SimulationError


class AnswersItself:
    """A tool that has an environment of its own, in place of anything real."""

    def own_settings(self) -> ToolSettings:
        """Return its output schema, its beginning and the state that it shares."""
        raise NotImplementedError

    async def answer_after(
        self, earlier: Sequence[ToolAnswered], arguments: JsonObject, context: ToolContext
    ) -> Any:
        """Answer a call in a session that is played, after the calls that were answered in it before; raise where a rule says so."""
        raise NotImplementedError


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
        raise SimulationError(f"the tool {self.name} is only declared; it has no code to run")


_KNOWN = "_simulation_is_only_declared"
_NOT_COUNTED = frozenset({"NOP", "RESUME", "COPY_FREE_VARS", "MAKE_CELL", "CACHE"})


def has_body(tool: BaseTool) -> bool:
    """Return whether a tool has anything real to run: all have, but for functions whose body is `...`, `pass` or a docstring."""
    function = getattr(tool, "func", None)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    # Hardly any function that does something names nothing: the others are looked at step by step.
    return not isinstance(code, CodeType) or bool(code.co_names) or _does_something(code)


def is_only_declared(tool: BaseTool) -> bool:
    """Return whether a tool has nothing real to run, in a session that is played.

    A long-running tool without a body is none of those: to say nothing is its answer, and the answer comes later.
    """
    own = tool.__dict__
    known: bool | None = own.get(_KNOWN)
    if known is None:  # kept with the tool, as it is asked on the way of every real call
        has_something = has_body(tool) or tool.is_long_running or isinstance(tool, AnswersItself)
        known = own[_KNOWN] = isinstance(tool, PlayedTool) or not has_something
    return known


@functools.lru_cache(maxsize=1024)
def _does_something(code: CodeType) -> bool:
    return _steps(code) not in _EMPTY


def _steps(code: CodeType) -> tuple[tuple[str, Any], ...]:
    """Return what a function does, step by step; without its docstring and the places in its source."""
    return tuple(
        (step.opname, step.argval if step.opname in {"LOAD_CONST", "RETURN_CONST"} else None)
        for step in dis.get_instructions(code)
        if step.opname not in _NOT_COUNTED
    )


def _declared() -> None:
    """Stand for a function that only is declared."""


async def _declared_async() -> None:
    """Stand for one that is awaited."""


_EMPTY = frozenset({_steps(_declared.__code__), _steps(_declared_async.__code__)})
