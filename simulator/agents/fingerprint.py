"""Tells what of an agent has changed since a stored session began: its prompts, its model, its tools and their code."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from simulator.jsonvalue import canonical, digest

_WORDS = {
    "description": "its description",
    "instruction": "its instruction",
    "global_instruction": "its global instruction",
    "mode": "its mode",
    "model": "its model",
    "kind": "its class",
}
_OF_TOOLS = {"arguments": "its arguments", "code": "its code"}
_LENGTH = 12


def agent_fingerprint(agent: Any) -> str:
    """Write down what an ADK agent, those below it and their tools are made of, each part as a short digest, in JSON.

    No address of memory is in it, so that it is the same in another process.
    """
    parts: dict[str, dict[str, str]] = {}
    for name, said in _parts(agent, set()):
        parts.setdefault(name, {}).update({word: digest(text)[:_LENGTH] for word, text in said.items()})
    return canonical(parts)


def changes(before: str, now: str) -> tuple[str, ...]:
    """Say in phrases what differs between two fingerprints: `the tool refund_order is new`. Equal ones differ in nothing."""
    if before == now:
        return ()
    old, new = _read(before), _read(now)
    if old is None or new is None:
        return ("its prompts, tools or code have changed",)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for part in sorted(old.keys() | new.keys()):
        if part not in old:
            found["new"].append(f"the {part} is new")
        elif part not in new:
            found["gone"].append(f"the {part} is gone")
        elif words := _differing(old[part], new[part]):
            found["changed"].append(f"the {part} has changed ({', '.join(words)})")
    return (*found["gone"], *found["new"], *found["changed"])


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    words = _WORDS | _OF_TOOLS
    return [words.get(word, word) for word in dict.fromkeys((*old, *new)) if old.get(word) != new.get(word)]


def _read(text: str) -> dict[str, dict[str, str]] | None:
    try:
        parts = json.loads(text)
    except ValueError:
        return None
    whole = isinstance(parts, dict) and all(isinstance(each, dict) for each in parts.values())
    return parts if whole else None


def _parts(node: Any, seen: set[int]) -> Iterator[tuple[str, dict[str, str]]]:
    """Give each agent and each tool by its name, with the texts that say what it is."""
    if id(node) in seen:
        return
    seen.add(id(node))
    said = {word: _text(getattr(node, word, None)) for word in _WORDS if word != "kind"}
    yield f"agent {getattr(node, 'name', '')}", {**said, "kind": type(node).__qualname__}
    for tool in _several(getattr(node, "tools", None)):
        body = getattr(tool, "func", None) or (tool if inspect.isfunction(tool) else type(tool))
        name = str(getattr(tool, "name", "") or getattr(tool, "__name__", "") or type(tool).__name__)
        yield f"tool {name}", {"arguments": _signature(body), "code": _text(body)}
        if inner := getattr(tool, "agent", None):
            yield from _parts(inner, seen)
    for child in _several(getattr(node, "sub_agents", None)):
        yield from _parts(child, seen)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _signature(body: Any) -> str:
    """Write down what a function takes; of a tool of a class of its own, nothing is told."""
    if inspect.isclass(body):
        return ""
    try:
        return str(inspect.signature(body))
    except (TypeError, ValueError):
        return ""


def _text(value: Any) -> str:
    """Write a value down: a text as it is, a model by its name, code as its source."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(model := getattr(value, "model", None), str):
        return f"{type(value).__qualname__} {model}"
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
