"""Tells which of an agent's tools are agents themselves, wherever in its tree they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.adk.agents import BaseAgent

from simulator.runtime.adk.adk_private import children_of, node_of


def agents_as_tools(root: Any) -> dict[str, str]:
    """Return the tools that run an agent: the agent's name by the tool's.

    Args:
        root: The root agent or workflow.
    """
    return {
        tool.name: inner.name for tool in _tools(root, set()) if isinstance(inner := node_of(tool), BaseAgent)
    }


def _tools(node: Any, seen: set[int]) -> Iterator[Any]:
    if id(node) in seen:
        return
    seen.add(id(node))
    own = [tool for tool in getattr(node, "tools", None) or () if node_of(tool) is not None]
    yield from own
    for inner in (*map(node_of, own), *children_of(node)):
        yield from _tools(inner, seen)
