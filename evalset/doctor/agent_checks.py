"""Checks calls against the agent: tools that it no longer has, and arguments that their schemas refuse."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from evalset.doctor.case_checks import RecordedEvidence, ToolPlace, in_content
from evalset.doctor.findings import Notes, listed
from evalset.doctor.model import Severity
from evalset.files.byte_edits import JsonNode
from evalset.recorded.known_agents import KnownAgent, migration_of, misfit
from simulator.environment.declared_tools import steers
from simulator.environment.schema.schema_checks import refusal
from simulator.environment.world.connections import ToolShape

MIGRATE = "Migrate them: "
"""How the remedy begins that goes on with the options of a migration; what is not known in these is `NEW` or `VALUE`."""


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
        elif (tool := agent.tools.get(place.name) or agent.agent_tools.get(place.name)) and (
            words := refusal(_arguments(place), tool) or _undeclared_now(place, tool, known)
        ):
            if known is not None and known.never_fitted(place.name, _arguments(place)):
                continue
            _note_refused(place, words, eval_id, notes, tool=tool, known=known)


def _undeclared_now(place: ToolPlace, tool: ToolShape, known: RecordedEvidence | None) -> str:
    """Say which arguments a tool of a class of its own does not declare any more; empty where nothing tells how it was declared."""
    then = known.digest(tool.name) if known is not None else None
    return misfit(tool.name, _arguments(place), then, tool) if then else ""


def _was_so(place: ToolPlace, tool: ToolShape, known: RecordedEvidence | None) -> str | None:
    """Say why a model may have made a call that its tool does not accept; None where nothing says so."""
    then = known.digest(tool.name) if known is not None else None
    if misfit(tool.name, _arguments(place), then, tool):
        return None
    return "These arguments are declared as they were in the recording." if then else ""


def _arguments(place: ToolPlace) -> Any:
    return place.arguments.value if place.arguments else {}


def _note_refused(
    place: ToolPlace,
    words: str,
    eval_id: str,
    notes: Notes,
    *,
    tool: ToolShape,
    known: RecordedEvidence | None,
) -> None:
    """Note a call that its tool does not accept: an agent's model may make one, which is what the golden says then."""
    path, words = (place.arguments or place.at).path, f"{words[:1].upper()}{words[1:]}."
    if (was_so := _was_so(place, tool, known)) is not None:
        words = f"{words} {was_so}".strip()
        remedy = "Keep it if the agent's model made this call. Otherwise correct the arguments."
        notes.add("refused-arguments", path, words, remedy, severity="warning", eval_id=eval_id)
    else:
        options = migration_of(place.name, _arguments(place), tool, ())
        remedy = f"{MIGRATE}{options or 'rename, remove or set arguments.'}"
        notes.add("refused-arguments", path, words, remedy, eval_id=eval_id)


def _note_gone(place: ToolPlace, agent: KnownAgent, eval_id: str, notes: Notes) -> None:
    node = place.tool or place.at
    known = [*agent.tools, *agent.others]
    near = difflib.get_close_matches(place.name, known, 1)
    remedy = (
        f"If the tool was renamed, migrate the call: rename {place.name!r} to {near[0]!r}."
        if near
        else "Migrate it to the tool that replaced it, or remove the case."
    )
    words = f"The agent {agent.name!r} has no tool {place.name!r}, so it can never make this call."
    if agent.brings_more:
        words = (
            f"The agent {agent.name!r} does not declare the tool {place.name!r}. Whether {listed(agent.brings_more)} provides it is "
            "only known at run time."
        )
    severity: Severity | None = "note" if agent.brings_more else None
    notes.add("unknown-tool", node.path, words, remedy, severity=severity, eval_id=eval_id)


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


def note_state(
    case: JsonNode, agent: KnownAgent, eval_id: str, notes: Notes, known: RecordedEvidence
) -> None:
    """Check that the state has the keys without which the instructions of the agents that speak cannot be made.

    Only keys count that nothing can have set before: neither a reply that an agent keeps, nor a tool.
    """
    needs, session = agent.needs, case.field("session_input") or JsonNode({}, case.path)
    if (
        needs is None or not (needs.keys or needs.then) or "events" in session.members
    ):  # earlier events may have set any key
        return
    state = {*(session.field("state") or JsonNode({})).members, *known.first_state}
    lacks = {name: [key for key in needs.keys.get(name, ()) if key not in state] for name in needs.first}
    state |= known.later_state
    lacks |= {name: [key for key in keys if key not in state] for name, keys in needs.then.items()}
    state |= {*needs.kept}
    for author in _speakers(case, agent, known):
        lacks.setdefault(author, [key for key in needs.keys.get(author, ()) if key not in state])
    for name, keys in lacks.items():
        if keys:
            words = f"The instruction of the agent {name!r} needs {listed(map(repr, keys))} in the state, and the case does not give it. ADK fails before it asks the model."
            remedy = f"Add it to 'session_input.state', or write {{{keys[0]}?}} in the instruction."
            notes.add("missing-state", session.path, words, remedy, eval_id=eval_id)


def _speakers(case: JsonNode, agent: KnownAgent, known: RecordedEvidence) -> Iterator[str]:
    """Yield the agents that speak, those that are used as tools too, up to a tool of which nobody recorded what it changes in the state.

    ADK begins the session of an agent that is used as a tool with the state of the session that calls it.
    """
    for turn in case.items("conversation"):
        data = turn.field("intermediate_data") or JsonNode(None)
        if not known.is_there and any(True for _ in data.items("tool_uses")):
            return
        for event in data.items("invocation_events"):
            yield event.text("author")
            calls = [place.name for place in in_content(event.field("content")) if place.role == "call"]
            if known.is_there:
                continue
            if any(name not in agent.agents and not steers(name) for name in calls):
                return
            yield from calls
    yield from known.inside
