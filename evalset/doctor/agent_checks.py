"""Checks calls against the agent: tools that it no longer has, and arguments that their schemas refuse."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from functools import lru_cache

from evalset.doctor.agents import KnownAgent
from evalset.doctor.calls import ToolPlace
from evalset.doctor.nodes import Node
from evalset.doctor.notes import Notes
from evalset.doctor.shown import listed
from simulator.environment.schema.schemas import (
    BrokenSchemaError,
    Problem,
    check_normal,
    in_words,
    normalise,
)

_MOST_PROBLEMS = 3


def note_calls(places: Iterable[ToolPlace], agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    """Check calls against the tools that an agent has."""
    for place in places:
        if place.role == "answer" or not place.name:
            continue
        if not agent.can_call(place.name):
            _note_gone(place, agent, eval_id, notes)
        elif (tool := agent.tools.get(place.name)) is not None:
            given = place.arguments.value if place.arguments else {}
            if problems := _problems(given, json.dumps(tool.parameters)):
                node = place.arguments or place.at
                words = "; ".join(in_words(problems, _MOST_PROBLEMS))
                notes.add(
                    "refused-arguments", node.path, f"The tool {place.name!r} does not take these arguments: {words}.",
                    "Migrate them: rename, drop or set arguments.", eval_id=eval_id,
                )  # fmt: skip


def _problems(given: object, schema: str) -> tuple[Problem, ...]:
    normal = _normal(schema)
    return () if normal is None else check_normal(given, normal)


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
        f"If it was renamed, migrate it: rename the tool {place.name!r} to {near[0]!r}."
        if near
        else "Migrate it to the tool that took its place, or take the case out."
    )
    if agent.tool_sets:
        words = (
            f"The agent {agent.name!r} has no tool {place.name!r} of its own; whether {listed(agent.tool_sets)} brings it "
            "is only known when it runs."
        )
        notes.add("unknown-tool", node.path, words, remedy, severity="warning", eval_id=eval_id)
    else:
        words = f"The agent {agent.name!r} has no tool {place.name!r}, so it can never make this call."
        notes.add("unknown-tool", node.path, words, remedy, eval_id=eval_id)


def note_authors(turn: Node, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    """Check who speaks in a turn."""
    data = turn.field("intermediate_data") or Node(None)
    for event in data.items("invocation_events"):
        author = event.text("author")
        if author and author != "user" and agent.agents and author not in agent.agents:
            words = f"The author {author!r} is no agent of {agent.name!r}, so nobody can say this."
            notes.add("unknown-agent", event.path, words, "Write the agent's present name.", eval_id=eval_id)


def note_app(case: Node, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    """Check the app that a case names."""
    app = (case.field("session_input") or Node(None)).field("app_name")
    if app is not None and isinstance(app.value, str) and app.value and app.value != agent.name:
        words = f"The case names the app {app.value!r}, and the agent is {agent.name!r}; what its tools keep lies under another name."
        notes.add("other-app-name", app.path, words, "Write the name of the agent's folder.", eval_id=eval_id)
