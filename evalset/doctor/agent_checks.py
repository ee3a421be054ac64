"""Checks calls against the agent: tools that it no longer has, and arguments that their schemas refuse."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from evalset.doctor.case_checks import RecordedEvidence, ToolPlace
from evalset.doctor.findings import Notes
from evalset.doctor.json_nodes import JsonNode
from evalset.doctor.short_values import listed
from evalset.recorded.known_agents import KnownAgent
from simulator.environment.schema.schema_checks import (
    BrokenSchemaError,
    Problem,
    check_normal,
    in_words,
    normalise,
)

_MOST_PROBLEMS = 3
_PLAIN_SCHEMA = frozenset({"type", "properties", "required", "title", "description", "additionalProperties"})
_PLAIN_VALUE = frozenset({"type", "title", "description", "default"})
_PLAIN_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)
}  # fmt: skip


def note_calls(
    places: Iterable[ToolPlace],
    agent: KnownAgent,
    eval_id: str,
    notes: Notes,
    known: RecordedEvidence | None = None,
) -> None:
    """Check calls against the tools that an agent has, save those that need no declaration, as the recording shows."""
    for place in places:
        if place.role == "answer" or not place.name:
            continue
        if not agent.can_call(place.name):
            if known is not None and place.name in (known.called if agent.brings_more else known.undeclared):
                continue  # what a tool set or the agent's own code brings is not seen by looking at the agent
            _note_gone(place, agent, eval_id, notes)
        elif (tool := agent.tools.get(place.name)) is not None:
            given = place.arguments.value if place.arguments else {}
            if not plainly_fits(given, tool.parameters) and (
                problems := _problems(given, json.dumps(tool.parameters))
            ):
                node = place.arguments or place.at
                words = "; ".join(in_words(problems, _MOST_PROBLEMS))
                notes.add(
                    "refused-arguments", node.path, f"The tool {place.name!r} does not accept these arguments: {words}.",
                    "Migrate them: rename, remove or set arguments.", eval_id=eval_id,
                )  # fmt: skip


def _problems(given: object, schema: str) -> tuple[Problem, ...]:
    normal = _normal(schema)
    return () if normal is None else check_normal(given, normal)


def plainly_fits(given: object, schema: Mapping[str, Any]) -> bool:
    """Tell quickly whether arguments surely fit a schema that names types and no more; False where nobody can say so quickly."""
    properties = schema.get("properties")
    if not isinstance(given, dict) or not isinstance(properties, dict) or not schema.keys() <= _PLAIN_SCHEMA:
        return False
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(name in given for name in required):
        return False
    return all(name in properties and _plainly_is(value, properties[name]) for name, value in given.items())


def _plainly_is(value: object, schema: Any) -> bool:
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN_VALUE:
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and type(value) in _PLAIN_TYPES.get(kind, ())


@lru_cache(maxsize=256)
def _normal(schema: str) -> str | None:
    """Bring the schema of a tool, of which there are few, into its normal form; None where it is itself broken."""
    try:
        return json.dumps(normalise(json.loads(schema)))
    except BrokenSchemaError:
        return None


def _note_gone(place: ToolPlace, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    node = place.tool or place.at
    known = [*agent.tools, *agent.others]
    near = difflib.get_close_matches(place.name, known, 1)
    remedy = (
        f"If the tool was renamed, migrate the call: rename {place.name!r} to {near[0]!r}."
        if near
        else "Migrate it to the tool that replaced it, or remove the case."
    )
    if agent.brings_more:
        words = (
            f"The agent {agent.name!r} does not declare the tool {place.name!r}. Whether {listed(agent.brings_more)} provides it is "
            "only known at run time."
        )
        notes.add("unknown-tool", node.path, words, remedy, severity="note", eval_id=eval_id)
    else:
        words = f"The agent {agent.name!r} has no tool {place.name!r}, so it can never make this call."
        notes.add("unknown-tool", node.path, words, remedy, eval_id=eval_id)


def note_authors(
    turn: JsonNode, agent: KnownAgent, eval_id: str, notes: Notes, known: RecordedEvidence
) -> None:
    """Check who speaks in a turn; the agents that spoke in the recording are not doubted where code may make agents."""
    data = turn.field("intermediate_data") or JsonNode(None)
    for event in data.items("invocation_events"):
        author = event.text("author")
        if author and author != "user" and agent.agents and author not in agent.agents:
            if agent.own_code and author in known.agents:
                continue
            words = (
                f"The author {author!r} is not an agent of {agent.name!r}, so this message can never occur."
            )
            notes.add(
                "unknown-agent", event.path, words, "Change it to the agent's current name.", eval_id=eval_id
            )


def note_app(case: JsonNode, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    """Check the app that a case names."""
    app = (case.field("session_input") or JsonNode(None)).field("app_name")
    if app is not None and isinstance(app.value, str) and app.value and app.value != agent.name:
        words = f"The case names the app {app.value!r}, but the agent is {agent.name!r}. Data that its tools store for the app will not be found."
        notes.add(
            "other-app-name", app.path, words, "Change it to the name of the agent's folder.", eval_id=eval_id
        )
