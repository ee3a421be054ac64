"""Knows which keys of a session's state the instructions of an agent need, and what may set them before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from pydantic import Field

from simulator.base.frozen_value import Value
from simulator.runtime.adk.adk_private import all_below, children_of, instruction_keys

_PLAIN = (SequentialAgent, LoopAgent, ParallelAgent)
"""The agents that only let others speak."""


class StateNeeds(Value):
    """What the instructions of an agent need of the state.

    Attributes:
        keys: The keys without which an agent's model cannot be asked, by the agent's name; those that code may set are left out.
        first: The agents whose models are asked before anything else of the agent runs.
        kept: The keys under which agents keep their replies.
    """

    keys: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    first: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def state_needs(agent: Any, own_code: bool) -> StateNeeds:
    """Return what the instructions of an agent need.

    Args:
        agent: The root agent, or its app.
        own_code: Whether nodes run code of the agent's own.
    """
    root = getattr(agent, "root_agent", None) or agent
    nodes = list(all_below(root))
    callbacks = {name for node in nodes for name in _callbacks(node)}
    if own_code or getattr(agent, "plugins", None) or "before_agent_callback" in callbacks:
        return StateNeeds()
    first = tuple(str(node.name) for node in _first(root))
    shared = getattr(root, "global_instruction", "")
    is_open = bool(callbacks) or not all(
        hasattr(node, "instruction") or isinstance(node, _PLAIN) for node in nodes
    )
    keys = {
        str(node.name): tuple(dict.fromkeys((*_keys(shared), *_keys(node.instruction))))
        for node in nodes
        if hasattr(node, "instruction") and (node.name in first or not is_open)
    }
    kept = (getattr(node, "output_key", None) for node in nodes)
    return StateNeeds(keys=keys, first=first, kept=tuple(key for key in kept if isinstance(key, str)))


def _callbacks(node: Any) -> Iterator[str]:
    named = (name for name in type(node).model_fields if name.endswith("_callback"))
    return (name for name in named if getattr(node, name, None))


def _keys(instruction: Any) -> tuple[str, ...]:
    return instruction_keys(instruction) if isinstance(instruction, str) else ()


def _first(node: Any) -> Iterator[Any]:
    """Yield the agents that speak first; none of a workflow, whose graph decides it."""
    children = list(children_of(node))
    if hasattr(node, "instruction"):
        yield node
    elif isinstance(node, ParallelAgent):
        for child in children:
            yield from _first(child)
    elif isinstance(node, _PLAIN) and children:
        yield from _first(children[0])
