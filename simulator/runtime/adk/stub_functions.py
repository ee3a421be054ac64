"""Tells the functions that only are declared: a signature and a docstring, and nothing that could run."""

from __future__ import annotations

import dis
import functools
from collections.abc import Sequence
from types import CodeType
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from simulator.base.json_values import JsonObject
from simulator.environment.world.tool_settings import ToolSettings
from simulator.facts import ToolAnswered


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
        known = own[_KNOWN] = not (has_body(tool) or tool.is_long_running or isinstance(tool, AnswersItself))
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
