"""Finds the tools that an agent is known to have, each with its declaration, before and after it was run; and those that are agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.world.connections import ToolShape
from simulator.environment.world.tool_settings import DeclaredTool
from simulator.runtime.adk.adk_private import children_of, is_steering, node_of, runs_agents
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.adk.tool_guards import AnswersItself
from simulator.runtime.turns.waiting_request import describe_tool
from simulator.seats.requests import ToolDeclaration

_OF_FUNCTIONS = (FunctionTool, LongRunningFunctionTool)
"""ADK's own tools of functions, which declare what the function says."""


class ToolShapes:
    """The tools of an agent tree: those that stand in it, and those of tool sets once a model was shown them."""

    def __init__(self, agent: Any) -> None:
        tools = list(_tools(agent, set()))
        self.own_settings = {
            settings.name: settings
            for tool in tools
            if isinstance(tool, AnswersItself) and (settings := tool.own_settings())
        }
        """What the tools bring along that have an environment of their own, by name."""
        self._tools = {tool.name: tool for tool in tools}
        self._codes: dict[str, FunctionSource | None] = {}
        self._functions: dict[str, tuple[FunctionTool, ToolDeclaration]] = {}
        self._own = {shape.name: shape for tool in tools if (shape := self._seen(tool))}
        self.shown: dict[str, ToolShape] = {}
        """The tools that models were shown and that do not stand in the agent, by name."""
        self._last_shown: Any = None
        self._all: Mapping[str, ToolShape] = self._own
        self._declared: tuple[DeclaredTool, ...] = ()

    def known(
        self, shown: Mapping[str, BaseTool], declared: tuple[DeclaredTool, ...]
    ) -> Mapping[str, ToolShape]:
        """Return all that are known, by name; the same object as before where nothing is new.

        Args:
            shown: What a model was shown last, as ADK's `LlmRequest.tools_dict`.
            declared: The tools that only are declared.
        """
        if shown is self._last_shown and declared == self._declared:
            return self._all
        new = {name: tool for name, tool in shown.items() if name not in self._own and name not in self.shown}
        self._tools.update(new)
        self.shown.update((name, shape) for name, tool in new.items() if (shape := self._seen(tool)))
        self._last_shown, self._declared = shown, declared
        everything = {**self._own, **self.shown, **{tool.name: tool.shape() for tool in declared}}
        if everything != self._all:
            self._all = everything
        return self._all

    def _seen(self, tool: BaseTool) -> ToolShape | None:
        """Describe a tool as `shape_of` does; the declaration of a function is kept, as it stays the same."""
        if is_steering(tool) or runs_agents(tool) or (found := _declared(tool)) is None:
            return None
        if isinstance(tool, FunctionTool) and type(tool) in _OF_FUNCTIONS:
            self._functions[tool.name] = tool, found
        return shape_as_declared(found, tool.name)

    def declaration(self, tool: BaseTool) -> ToolDeclaration:
        """Return a tool's own declaration; that of a function which is known is not made again: ADK makes its tool anew for each request."""
        known = self._functions.get(tool.name)
        if (
            known is not None
            and isinstance(tool, FunctionTool)
            and type(tool) is type(known[0])
            and tool.func == known[0].func
        ):
            return known[1]
        return describe_tool(tool)

    def codes(self) -> Mapping[str, FunctionSource]:
        """Return where the tools that are known are written, by name; each is looked for once."""
        for name, tool in self._tools.items():
            if name not in self._codes:
                self._codes[name] = code_of(tool).code
        return {name: code for name, code in self._codes.items() if code is not None}


def agents_as_tools(root: Any) -> dict[str, str]:
    """Return the tools that run an agent: the agent's name by the tool's.

    Args:
        root: The root agent or workflow.
    """
    return {
        tool.name: inner.name for tool in _tools(root, set()) if isinstance(inner := node_of(tool), BaseAgent)
    }


def shapes_of_agents(root: Any) -> dict[str, ToolShape]:
    """Return how the tools that run agents are declared, by name; the agents are asked, and the world is not.

    Args:
        root: The root agent or workflow.
    """
    shapes = (described(tool) for tool in _tools(root, set()) if runs_agents(tool))
    return {shape.name: shape for shape in shapes if shape is not None}


def _tools(node: Any, seen: set[int]) -> Iterator[BaseTool]:
    if id(node) in seen:
        return
    seen.add(id(node))
    for tool in (*(getattr(node, "tools", None) or ()), getattr(node, "tool", None)):
        if isinstance(tool, BaseTool):
            yield tool
            if (inner := node_of(tool)) is not None:
                yield from _tools(inner, seen)
        elif callable(tool):
            yield FunctionTool(tool)
    for child in children_of(node):
        yield from _tools(child, seen)


def shape_of(tool: BaseTool) -> ToolShape | None:
    """Describe a tool that asks the world; nothing for one that steers the flow, or that cannot be described."""
    return None if is_steering(tool) or runs_agents(tool) else described(tool)


def described(tool: BaseTool) -> ToolShape | None:
    """Describe a tool, also one that runs an agent; nothing for one that cannot be described."""
    found = _declared(tool)
    return None if found is None else shape_as_declared(found, tool.name)


def _declared(tool: BaseTool) -> ToolDeclaration | None:
    try:
        return describe_tool(tool)
    except Exception:  # noqa: BLE001 - a declaration is made by somebody's code; ADK says so when it is used
        return None


def shape_as_declared(declared: ToolDeclaration, name: str) -> ToolShape:
    """Return a tool as the search for connections takes it; `name` is its own, where it declares none."""
    return ToolShape(
        name=declared.name or name,
        description=declared.description,
        parameters=declared.parameters,
        response_schema=declared.response,
        dropped=declared.dropped,
    )
