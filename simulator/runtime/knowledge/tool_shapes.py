"""Finds the tools that an agent is known to have, each with its declaration, before and after it was run; and those that are agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool

from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.evidence.sketch import FunctionSource
from simulator.environment.world.connections import ToolShape
from simulator.runtime.adk.adk_private import children_of, is_steering, node_of, runs_agents
from simulator.runtime.adk.tool_code import code_of
from simulator.runtime.adk.tool_guards import AnswersItself
from simulator.runtime.turns.waiting_request import describe_tool


class ToolShapes:
    """The tools of an agent tree: those that stand in it, and those of tool sets once a model was shown them."""

    def __init__(self, agent: Any) -> None:
        self.own_settings = {
            settings.name: settings
            for tool in _tools(agent, set())
            if isinstance(tool, AnswersItself) and (settings := tool.own_settings())
        }
        """What the tools bring along that have an environment of their own, by name."""
        self._tools = {tool.name: tool for tool in _tools(agent, set())}
        self._codes: dict[str, FunctionSource | None] = {}
        self._own = {shape.name: shape for tool in _tools(agent, set()) if (shape := shape_of(tool))}
        self._shown: dict[str, ToolShape] = {}
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
        new = {
            name: tool for name, tool in shown.items() if name not in self._own and name not in self._shown
        }
        self._tools.update(new)
        self._shown.update((name, shape) for name, tool in new.items() if (shape := shape_of(tool)))
        self._last_shown, self._declared = shown, declared
        everything = {**self._own, **self._shown, **{tool.name: tool.shape() for tool in declared}}
        if everything != self._all:
            self._all = everything
        return self._all

    def shown(self, name: str) -> ToolShape | None:
        """Return a tool that a model was shown and that does not stand in the agent; None where there is none of that name."""
        return self._shown.get(name)

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
    try:
        declared = describe_tool(tool)
    except Exception:  # noqa: BLE001 - a declaration is made by somebody's code; ADK says so when it is used
        return None
    return ToolShape(
        name=declared.name or tool.name,
        description=declared.description,
        parameters=declared.parameters,
        response_schema=declared.response,
        dropped=declared.dropped,
    )
