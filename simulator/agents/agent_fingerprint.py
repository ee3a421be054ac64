"""Tells what of an agent has changed since a stored session began: its name, its prompts, its model, its tools and their code.

A fingerprint is of the agent as its author declared it. Sessions put seats on its models, so each seat keeps the declaration
that it replaced, and a fingerprint taken before the first session equals one taken after the last.
"""

from __future__ import annotations

import inspect
import json
import re
import tokenize
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from simulator.agent_config import AgentConfigError, SimulatedAgentConfig
from simulator.base.json_values import canonical, digest
from simulator.base.secret_masking import without_addresses
from simulator.environment.world.tool_settings import STEERING

_WORDS = {
    "description": "its description",
    "instruction": "its instruction",
    "global_instruction": "its global instruction",
    "mode": "its mode",
    "declared_model": "its model",
    "kind": "its class",
    "nodes": "its nodes",
}
_TEXTS = ("description", "instruction", "global_instruction", "mode")
_OF_TOOLS = {"arguments": "its arguments", "code": "its code"}
_LENGTH = 12
_FORM = "form"
"""Under this key a fingerprint says its form; those without were taken of agents with and without seats, and knew no graphs."""
_DECLARED = "_declared_model"


def agent_fingerprint(agent: Any, package: tuple[str, str] | None = None) -> str:
    """Write down what an ADK agent, those below it and their tools are made of, each part as a short digest, in JSON.

    No address of memory is in it, so that it is the same in another process.

    Args:
        agent: The agent.
        package: The name of the agent's package and the one that it had earlier, to write the fingerprint as of then: what a tool
            takes may be of a class in it.
    """
    parts: dict[str, dict[str, str]] = {_FORM: {"number": "2"}}
    for name, said in _parts(agent, set()):
        if package is not None and "arguments" in said:
            said["arguments"] = re.sub(
                rf"(?<![\w.]){re.escape(package[0])}(?=\.)", lambda _: package[1], said["arguments"]
            )
        parts.setdefault(name, {}).update({word: digest(text)[:_LENGTH] for word, text in said.items()})
    return canonical(parts)


def loaded_fingerprint(agent: Any) -> str:
    """Return an agent's fingerprint as it was when this was first called for it.

    The catalogue calls it on loading: later the file of the agent may hold other code than the agent that runs.
    """
    if id(agent) not in _loaded:
        remember_fingerprint(agent, agent_fingerprint(agent))
    return _loaded[id(agent)]


def remember_fingerprint(agent: Any, fingerprint: str) -> None:
    """Let `loaded_fingerprint` return this for an agent that stands for one that another process has loaded."""
    _loaded[id(agent)] = fingerprint
    weakref.finalize(agent, _loaded.pop, id(agent), None)


_loaded: dict[int, str] = {}


def keep_declared_model(seated: Any, declared: Any) -> None:
    """Note on a seated model what its agent declared in its place: a name, a model, or nothing where it inherits one."""
    object.__setattr__(seated, _DECLARED, _text(declared))


def changes(before: str, now: str) -> tuple[str, ...]:
    """Say in phrases what differs between two fingerprints: `the tool refund_order was added`. Equal ones differ in nothing."""
    if before == now:
        return ()
    old, new = _read(before), _read(now)
    if old is None or new is None:
        return ("its prompts, tools or code have changed",)
    knows_graphs = _FORM in old or not any("nodes" in said for said in new.values())
    old.pop(_FORM, None)
    new.pop(_FORM, None)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for part in sorted(old.keys() | new.keys()):
        if part not in old and not knows_graphs:
            continue
        if part not in old:
            found["new"].append(f"the {part} was added")
        elif part not in new:
            found["gone"].append(f"the {part} was removed")
        elif words := _differing(old[part], new[part]):
            found["changed"].append(f"the {part} has changed ({', '.join(words)})")
    return (*found["gone"], *found["new"], *found["changed"])


def fingerprint_parts(text: str) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield each agent and each tool of a fingerprint: `agent` or `tool`, its name, and its digests by what they are of."""
    for part, said in (_read(text) or {}).items():
        kind, space, name = part.partition(" ")
        if space:
            yield kind, name, said


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Name what differs, of what both fingerprints know; another form of them may know more or less."""
    words = _WORDS | _OF_TOOLS
    both = [word for word in dict.fromkeys((*words, *new)) if word in old and word in new]
    return [words.get(word, word) for word in both if old[word] != new[word]]


def _read(text: str) -> dict[str, dict[str, str]] | None:
    try:
        parts = json.loads(text)
    except ValueError:
        return None
    whole = isinstance(parts, dict) and all(isinstance(each, dict) for each in parts.values())
    return parts if whole else None


def _parts(node: Any, seen: set[int]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each agent and each tool by its name, with the texts that say what it is."""
    if id(node) in seen:
        return
    seen.add(id(node))
    said = {word: _text(getattr(node, word, None)) for word in _TEXTS}
    said |= {"declared_model": _declared_model(getattr(node, "model", None)), "kind": type(node).__qualname__}
    nodes = _several(getattr(getattr(node, "graph", None), "nodes", None))
    if nodes:
        said["nodes"] = canonical([str(getattr(each, "name", "")) for each in nodes])
    yield f"agent {getattr(node, 'name', '')}", said
    for tool in (*_several(getattr(node, "tools", None)), *filter(None, (getattr(node, "tool", None),))):
        yield from _tool_parts(tool, seen)
    for child in (*_several(getattr(node, "sub_agents", None)), *nodes):
        yield from _parts(child, seen)


def _tool_parts(tool: Any, seen: set[int]) -> Iterator[tuple[str, dict[str, str]]]:
    body = getattr(tool, "func", None) or (tool if inspect.isfunction(tool) else type(tool))
    name = str(getattr(tool, "name", "") or getattr(tool, "__name__", "") or type(tool).__name__)
    yield f"tool {name}", {"arguments": _signature(body), "code": _text(body)}
    if inner := getattr(tool, "agent", None) or getattr(tool, "node", None):
        yield from _parts(inner, seen)


def _declared_model(model: Any) -> str:
    """Write down the model that an agent's author declared, whether it is seated or not."""
    declared = getattr(model, "__dict__", {}).get(_DECLARED)
    return declared if isinstance(declared, str) else _text(model)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _signature(body: Any) -> str:
    """Write down what a function takes; of a tool of a class of its own, nothing is told."""
    if inspect.isclass(body):
        return ""
    try:
        signature = inspect.signature(body)
    except (TypeError, ValueError):
        return ""
    parameters = [_in_order(each) for each in signature.parameters.values()]
    return without_addresses(str(signature.replace(parameters=parameters)))


def _in_order(parameter: inspect.Parameter) -> inspect.Parameter:
    """Write a default that is a set in an order that every process shares."""
    if isinstance(parameter.default, (set, frozenset)):
        return parameter.replace(default=sorted(map(repr, parameter.default)))
    return parameter


def _text(value: Any) -> str:
    """Write a value down: a text as it is, a model by its name, code as its source."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(model := getattr(value, "model", None), str):
        return f"{type(value).__qualname__} {model}"
    try:
        return inspect.getsource(value)
    except (
        OSError,
        TypeError,
        SyntaxError,
        IndexError,
        tokenize.TokenError,
    ):  # a file that was changed since
        return str(getattr(value, "__qualname__", type(value).__qualname__))


def fitting_configs(
    before: str, app_name: str, called: Collection[str], configs: Iterable[SimulatedAgentConfig]
) -> tuple[SimulatedAgentConfig, ...]:
    """Return the agents that declare every tool as the agent of a session did.

    Args:
        before: The fingerprint of the agent when the session began; where it is empty, the names of the called tools decide.
        app_name: The name that its app had.
        called: The names of the tools that were called. Without a tool no agent fits: nothing speaks for one.
        configs: The agents that are loaded.
    """
    wanted: dict[str, str | None] = _tools(before)
    wanted = wanted or dict.fromkeys(name for name in called if name not in STEERING)
    if not wanted:
        return ()
    return tuple(config for config in configs if _declares(config, app_name, wanted))


def under_earlier_name(
    config: SimulatedAgentConfig, name: str, app_name: str, before: str = "", spoke: Collection[str] = ()
) -> SimulatedAgentConfig:
    """Return a renamed agent under the names that a session's journal has for it, so that all that is recorded fits.

    The agent itself is a copy; other sessions have it under its new name.

    Args:
        config: The agent under its new name.
        name: The name of the agent in the journal.
        app_name: The name of its app in the journal.
        before: The fingerprint of the agent when the session began, which names it and those below it.
        spoke: The names of the agents that made a turn in the session; they count where there is no fingerprint.

    Raises:
        AgentConfigError: Several agents in it were renamed, and which name was the root's is not known.
    """
    now = _agents(loaded_fingerprint(config.root_agent))
    then = _agents(before) or frozenset(spoke)
    gone = then - now
    root: str = config.root_agent.name
    if gone and root not in then:
        root = _earlier_name(gone, (name, app_name))
    return called(config, name, app_name, root)


def called(config: SimulatedAgentConfig, name: str, app_name: str, root: str) -> SimulatedAgentConfig:
    """Return an agent under other names; the agent itself is a copy where its own name is another one."""
    agent, own = config.agent, config.root_agent
    if own.name != root:
        renamed = _named(own, root)
        agent = renamed if agent is own else agent.model_copy(update={"root_agent": renamed})
    return replace(config, name=name, app_name=app_name, agent=agent)


def _earlier_name(gone: Collection[str], likely: Iterable[str]) -> str:
    if len(gone) == 1:
        return next(iter(gone))
    found = next((name for name in likely if name in gone), None)
    if found is None:
        raise AgentConfigError(
            f"several agents were renamed ({', '.join(sorted(gone))}), so the root agent cannot be identified"
        )
    return found


def _named(root: Any, name: str) -> Any:
    # A workflow has no `clone`, and no parents to be kept apart.
    return (getattr(root, "clone", None) or root.model_copy)(update={"name": name})


def _declares(config: SimulatedAgentConfig, app_name: str, wanted: dict[str, str | None]) -> bool:
    tools = _tools(agent_fingerprint(config.root_agent, (config.app_name, app_name)))
    return all(name in tools and digest in {None, tools[name]} for name, digest in wanted.items())


def _tools(fingerprint: str) -> dict[str, str | None]:
    """Return the digest of each tool's arguments by the tool's name."""
    return {
        name: said.get("arguments", "")
        for kind, name, said in fingerprint_parts(fingerprint)
        if kind == "tool"
    }


def _agents(fingerprint: str) -> frozenset[str]:
    return frozenset(name for kind, name, _ in fingerprint_parts(fingerprint) if kind == "agent")
