"""Knows which keys of a session's state the instructions of an agent need, and what may set them before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent

from simulator.agents.agent_directory import StateNeeds
from simulator.runtime.adk.adk_private import all_below, children_of, instruction_keys

_PLAIN = (SequentialAgent, LoopAgent, ParallelAgent)
"""The agents that only let others speak."""


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
    asked = _asked(root, frozenset()).agents
    first = tuple(str(each.node.name) for each in asked if each.is_first)
    shared = getattr(root, "global_instruction", "")
    is_open = bool(callbacks) or not all(
        hasattr(node, "instruction") or isinstance(node, _PLAIN) for node in nodes
    )
    all_keys = {
        str(node.name): tuple(dict.fromkeys((*_keys(shared), *_keys(node.instruction))))
        for node in nodes
        if hasattr(node, "instruction")
    }
    then = {
        str(each.node.name): tuple(key for key in all_keys[each.node.name] if key not in each.kept)
        for each in asked
        if not each.is_first
    }
    keys = {name: needed for name, needed in all_keys.items() if name in first or not is_open}
    return StateNeeds(keys=keys, first=first, then=then, kept=tuple(sorted(_kept_below(root))))


def _kept_below(root: Any) -> frozenset[str]:
    kept = (getattr(node, "output_key", None) for node in all_below(root))
    return frozenset(key for key in kept if isinstance(key, str))


def _callbacks(node: Any) -> Iterator[str]:
    named = (name for name in type(node).model_fields if name.endswith("_callback"))
    return (name for name in named if getattr(node, name, None))


def _keys(instruction: Any) -> tuple[str, ...]:
    return instruction_keys(instruction) if isinstance(instruction, str) else ()


class _Asked(NamedTuple):
    """An agent whose model is certainly asked, and under which keys replies may have been kept by then."""

    node: Any
    kept: frozenset[str]
    is_first: bool


class _Way(NamedTuple):
    """Which agents are certainly asked, in order; `goes_on` says whether what comes behind them is too, with only replies kept meanwhile."""

    agents: tuple[_Asked, ...]
    goes_on: bool


def _asked(node: Any, kept: frozenset[str], *, is_first: bool = True) -> _Way:
    """Follow who is certainly asked; nobody of a workflow, whose graph decides it."""
    children = list(children_of(node))
    if hasattr(node, "instruction"):
        return _Way((_Asked(node, kept, is_first),), _only_replies(node))
    if isinstance(node, ParallelAgent):
        beside = kept | _kept_below(node)
        ways = [_asked(child, kept, is_first=is_first) for child in children]
        found = (
            each if each.is_first else each._replace(kept=each.kept | beside)
            for way in ways
            for each in way.agents
        )
        return _Way(tuple(found), all(way.goes_on for way in ways))
    if not isinstance(node, _PLAIN):
        return _Way((), goes_on=False)
    agents: tuple[_Asked, ...] = ()
    for child in children:
        way = _asked(child, kept, is_first=is_first and not agents)
        agents += way.agents
        if not way.goes_on:
            return _Way(agents, goes_on=False)
        kept |= _kept_below(child)
    return _Way(agents, not isinstance(node, LoopAgent) or bool(node.max_iterations))


def _only_replies(node: Any) -> bool:
    """Return whether an agent does no more than say something: it has no tools, agents or code that may set a key or end the run."""
    does_more = any(getattr(node, name, None) for name in ("tools", "code_executor", "planner"))
    is_written = isinstance(node.instruction, str) and not any(_callbacks(node))
    return is_written and not does_more and not any(True for _ in children_of(node))
