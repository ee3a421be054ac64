"""Finds every place at which a case or its recording names an agent, and gives it the name that the agent has now. Pure.

An agent is named as ADK's app, as the author of events and answers, as the target of a transfer, on the path of a graph's node, and
where it is used as a tool also as a tool. What arguments, responses, states and texts say is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from evalset.recorded.recording import RecordedCase, lean, without_golden

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase

Path: TypeAlias = tuple[str | int, ...]
_Found: TypeAlias = tuple[Path, str, str]
"""A place, what stands there, and what shall."""

APP_NAMES = frozenset({"app_name", "appName"})
_AGENTS = frozenset({"author", "agent"})
_TOOLS = frozenset({"tool", "tool_name"})
_CALLS = frozenset({"function_call", "functionCall", "function_response", "functionResponse"})
_LISTED = frozenset({"tool_uses", "toolUses", "tool_responses", "toolResponses"})
_INSIDE = frozenset(
    {
        *(
            "conversation",
            "intermediate_data",
            "intermediateData",
            "invocation_events",
            "invocationEvents",
            "content",
            "parts",
        ),
        *(
            "session_input",
            "sessionInput",
            "turns",
            "calls",
            "rejected",
            "agents",
            "models",
            "code",
            "inputs",
            "responses",
            "original",
        ),
        *("tolerances", "rules", "final_response", "finalResponse"),
    }
)
_SAID = frozenset({"intermediate_responses", "intermediateResponses"})
_TRANSFER = "transfer_to_agent"
_STEP = re.compile(r"([^/@]+)(?=@|/|$)")


def places_of(value: Any, names: Mapping[str, str], *, apps_only: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield each place of a case, or of what is recorded of one, that names a renamed agent, with what shall stand there.

    Args:
        value: The case in JSON.
        names: The new name of each agent, by its old one.
        apps_only: Only the names of apps: the agents themselves are called as ever.
    """
    for path, held, new in _named(value, (), names):
        if (not apps_only or path[-1] in APP_NAMES) and held != new:
            yield path, new


def keys_of(value: Any, names: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield the recorded schemas of renamed agents that are used as tools: the path of each member, and its new name."""
    tools = value.get("tools") if isinstance(value, dict) else None
    if isinstance(tools, dict):
        yield from (
            (("tools", name), names[name]) for name in tools if name in names and names[name] not in tools
        )


def _named(value: Any, path: Path, names: Mapping[str, str]) -> Iterator[_Found]:
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from _named(each, (*path, place), names)
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _member(key, held, (*path, key), names)
        if value.get("tool") == _TRANSFER:
            yield from _target(value.get("arguments"), (*path, "arguments"), names)


def _member(key: str, held: Any, path: Path, names: Mapping[str, str]) -> Iterator[_Found]:
    if key in _INSIDE:
        yield from _named(held, path, names)
    elif key in _CALLS:
        yield from _call(held, path, names)
    elif isinstance(held, str):
        yield from _text(key, held, path, names)
    elif isinstance(held, list):
        for place, each in enumerate(held):
            yield from _item(key, each, (*path, place), names)


def _text(key: str, held: str, path: Path, names: Mapping[str, str]) -> Iterator[_Found]:
    if key in APP_NAMES | _AGENTS | _TOOLS and held in names:
        yield path, held, names[held]
    elif key == "path" and "@" in held:
        yield path, held, _STEP.sub(lambda step: names.get(step[1], step[1]), held)


def _item(key: str, held: Any, path: Path, names: Mapping[str, str]) -> Iterator[_Found]:
    if key in _LISTED:
        yield from _call(held, path, names)
    elif key == "within" and isinstance(held, str) and held in names:
        yield path, held, names[held]
    elif key in _SAID and isinstance(held, list) and held and isinstance(held[0], str) and held[0] in names:
        yield (*path, 0), held[0], names[held[0]]


def _call(call: Any, path: Path, names: Mapping[str, str]) -> Iterator[_Found]:
    if not isinstance(call, dict):
        return
    name = call.get("name")
    if isinstance(name, str) and name in names:
        yield (*path, "name"), name, names[name]
    if name == _TRANSFER:
        yield from _target(call.get("args"), (*path, "args"), names)


def _target(arguments: Any, path: Path, names: Mapping[str, str]) -> Iterator[_Found]:
    target = arguments.get("agent_name") if isinstance(arguments, dict) else None
    if isinstance(target, str) and target in names:
        yield (*path, "agent_name"), target, names[target]


# ---------------------------------------------------------------- cases in memory


def renamed_case(case: EvalCase, names: Mapping[str, str], *, apps_only: bool = False) -> EvalCase:
    """Return a case in which agents have their new names."""
    document = case.model_dump(mode="json", exclude_none=True)
    return type(case).model_validate(_with(document, names, apps_only=apps_only))


def renamed_recording(
    recorded: RecordedCase, names: Mapping[str, str], *, apps_only: bool = False
) -> RecordedCase:
    """Return what is recorded of a case, with the new names of agents; it says nothing more of what its golden was."""
    document = _with(lean(without_golden(recorded)), names, apps_only=apps_only)
    if not apps_only:
        for path, new in list(keys_of(document, names)):
            document["tools"][new] = document["tools"].pop(path[-1])
    return RecordedCase.model_validate(document)


def _with(document: Any, names: Mapping[str, str], *, apps_only: bool) -> Any:
    for path, new in list(places_of(document, names, apps_only=apps_only)):
        at = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = new
    return document


def renames_from(words: list[str]) -> dict[str, str]:
    """Read `OLD=NEW`, each OLD once.

    Raises:
        ValueError: One of them is something else; the text says which.
    """
    names: dict[str, str] = {}
    for each in words:
        old, equals, new = each.partition("=")
        if not (equals and old and new) or old in names:
            raise ValueError(f"--rename-agent {each}: expected OLD=NEW, with each OLD only once")
        names[old] = new
    return names
