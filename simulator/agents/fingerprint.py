"""Tells whether an agent is still the one that a stored session was played with: its prompts, its tools, their code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from simulator.jsonvalue import canonical, digest

_WORDS = ("name", "description", "instruction", "global_instruction", "mode")


def agent_fingerprint(agent: Any) -> str:
    """Give a word that changes when an ADK agent, one below it, or a tool of theirs is changed; no address of memory is in it."""
    return digest(canonical(sorted(_lines(agent, set()))))


def _lines(node: Any, seen: set[int]) -> Iterator[str]:
    if id(node) in seen:
        return
    seen.add(id(node))
    yield canonical([type(node).__qualname__, *(_text(getattr(node, word, None)) for word in _WORDS)])
    for tool in _several(getattr(node, "tools", None)):
        body = getattr(tool, "func", None) or (tool if inspect.isfunction(tool) else type(tool))
        yield canonical(
            ["tool", str(getattr(tool, "name", "") or getattr(tool, "__name__", "")), _text(body)]
        )
        if inner := getattr(tool, "agent", None):
            yield from _lines(inner, seen)
    for child in _several(getattr(node, "sub_agents", None)):
        yield from _lines(child, seen)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    """Write a value down: a text as it is, code as its source."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
