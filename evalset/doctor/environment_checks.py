"""Checks a recorded environment: by itself, against its eval set, and against the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from evalset.doctor.agents import Agents, KnownAgent
from evalset.doctor.answer_checks import Answered, note_answers
from evalset.doctor.calls import ASKS_A_PERSON, ToolPlace, in_turn
from evalset.doctor.nodes import Node
from evalset.doctor.notes import Notes
from evalset.doctor.recorded_evidence import called_tools, calls_of_models, is_of_a_node, undeclared_tools
from evalset.doctor.recording_repairs import Repair, repairs_of
from evalset.doctor.shown import listed, short
from evalset.recorded.files import RecordedEnvironmentError, parsed, validated
from evalset.recorded.model import VERSION, RecordedEnvironment
from simulator.environment.declared_tools import STEERING
from simulator.jsonvalue import NotJsonError, canonical, same

_Call: TypeAlias = tuple[str, Any]
"""A tool's name and the arguments."""


def note_form(
    file: Path, document: Node, text: bytes, eval_set: Node | None, notes: Notes
) -> RecordedEnvironment | None:
    """Check that a file is a recorded environment; give it where it can be used. Damaged calls are repaired from `eval_set`, where one is given."""
    version = document.members.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        words = f"The recorded environment is of version {version}, and this release reads up to {VERSION}."
        notes.add("newer-environment", ("version",), words, "Use the release that wrote it, or a newer one.")
        return None
    try:
        if any(note.code == "no-json-number" for note in notes.all) or not isinstance(document.value, dict):
            return parsed(file, text)
        return validated(file, document.value)
    except RecordedEnvironmentError as error:
        reason = str(error).removeprefix(f"{file}: ")
        words = f"The recorded environment cannot be used: {reason}."
        _note_broken(words, repairs_of(document, eval_set) if eval_set is not None else [], notes)
    return None


def _note_broken(words: str, repairs: list[Repair], notes: Notes) -> None:
    if not repairs:
        remedy = "Fix this place, take an older copy, or record the case again."
        notes.add("broken-environment", (), words, remedy)
        return
    calls = "the damaged call" if len(repairs) == 1 else f"the {len(repairs)} damaged calls"
    notes.add(
        "broken-environment", (), words, mend=f"takes the response of {calls} from the eval set, which holds it",
        edits=[each.edit for each in repairs], loses="; ".join(each.loses for each in repairs), count=len(repairs),
    )  # fmt: skip


def cases_of(document: Node) -> dict[str, Node]:
    """Give the recorded cases by their ids."""
    cases = document.field("cases") or Node(None)
    return {eval_id: Node(case, (*cases.path, eval_id)) for eval_id, case in cases.members.items()}


def note_fit(
    eval_set: Node, environment: Node, kept: RecordedEnvironment, agents: Agents, notes: Notes
) -> None:
    """Check that a recorded environment fits its eval set; the notes are those of the environment, which was read as `kept`."""
    recorded = cases_of(environment)
    held: dict[str, Node] = {}
    for case in eval_set.items("eval_cases"):
        held.setdefault(case.text("eval_id"), case)
    for eval_id, case in held.items():
        if eval_id in recorded:
            places = [list(in_turn(turn)) for turn in case.items("conversation")]
            _note_case(eval_id, case, recorded[eval_id], places, notes)
            agent = agents.of(notes.file, recorded[eval_id].text("app_name"))
            if agent is None or not agent.rewrites:
                note_answers(Answered(eval_id, case, places), recorded[eval_id], kept.cases[eval_id], notes)
        elif recorded and case.field("conversation") is not None:
            words = f"The case {eval_id!r} of the eval set was not recorded, so it cannot be replayed without its real tools."
            notes.add(
                "environment-lacks-case",
                (),
                words,
                "Record it: play it once more and export it.",
                eval_id=eval_id,
            )
    for eval_id, node in recorded.items():
        if eval_id not in held:
            words = f"The eval set holds no case {eval_id!r}, so what was recorded for it is never used."
            notes.add(
                "environment-extra-case",
                node.path,
                words,
                "Take it out, or bring the case back.",
                eval_id=eval_id,
            )


def _note_case(
    eval_id: str, case: Node, recorded: Node, places: Sequence[Sequence[ToolPlace]], notes: Notes
) -> None:
    turns, recorded_turns = list(case.items("conversation")), list(recorded.items("turns"))
    if len(turns) != len(recorded_turns):
        words = f"The case {eval_id!r} has {len(turns)} turns, and {len(recorded_turns)} were recorded."
        notes.add("environment-turns-differ", recorded.path, words, "Record the case again.", eval_id=eval_id)
        return
    for number, (turn, recorded_turn) in enumerate(zip(places, recorded_turns, strict=True), 1):
        new, lost = _apart(turn, recorded_turn)
        if new or lost:
            tool, arguments = (new or lost)[0]
            what = "was recorded, and is not in the case" if new else "is in the case, and was not recorded"
            words = f"In turn {number} of {eval_id!r} a call {what}: {tool} {short(arguments)}."
            notes.add(
                "environment-calls-differ", recorded_turn.path, words, "Record the case again, or migrate both files.",
                eval_id=eval_id, count=len(new) + len(lost),
            )  # fmt: skip
    expected, final = case.field("final_session_state"), recorded.field("final_state")
    # An empty state is left out of a recording, and is compared with nothing where the case expects it.
    if expected and expected.value and not same(expected.value, final.value if final else {}):
        words = f"The final state that was recorded for {eval_id!r} is not the one that the case expects."
        where = final.path if final else recorded.path
        notes.add("environment-state-differs", where, words, "Record the case again.", eval_id=eval_id)


def _apart(turn: Sequence[ToolPlace], recorded: Node) -> tuple[list[_Call], list[_Call]]:
    """Give the recorded calls that a turn does not hold, and those of its own that were not recorded.

    A callback may have changed the arguments on their way to the tool: then the case holds what the model asked, or what the
    tool got.
    """
    wanted, of_models = _asked(turn), calls_of_models(recorded)
    has_models = recorded.field("models") is not None
    new: list[_Call] = []
    found: set[str] = set()
    tools: set[str] = set()
    for call in _recorded(recorded):
        name = call.text("tool")
        tools.add(name)
        asked = of_models.get(call.text("id"))
        ways = [call.members.get("arguments"), *([asked.members.get("args")] if asked else [])]
        keys = {_key(name, arguments or {}) for arguments in ways}
        found |= keys
        if keys.isdisjoint(wanted) and not is_of_a_node(call, of_models, has_models=has_models):
            new.append((name, call.members.get("arguments") or {}))
    lost = [call for key, call in wanted.items() if key not in found and call[0] in tools]
    return new, lost


def _asked(turn: Sequence[ToolPlace]) -> dict[str, _Call]:
    """Give the calls of a turn that tools answered, by what tells them apart."""
    places = (place for place in turn if place.role == "call")
    calls = (
        (place.name, place.arguments.value if place.arguments else {})
        for place in places
        if place.name not in STEERING and not place.name.startswith(ASKS_A_PERSON)
    )
    return {_key(name, arguments): (name, arguments) for name, arguments in calls}


def _recorded(turn: Node) -> Iterator[Node]:
    """Give the recorded calls of a turn, save those inside of agents that are tools."""
    return (call for name in ("calls", "rejected") for call in turn.items(name) if not call.field("within"))


def _key(name: str, arguments: Any) -> str:
    """Give what tells calls apart."""
    try:
        return f"{name} {canonical(arguments)}"
    except NotJsonError:
        return f"{name} {arguments!r}"


def note_tools(eval_id: str, recorded: Node, agent: KnownAgent, notes: Notes) -> None:
    """Check the tools of a recorded case against those that the agent has."""
    tools = recorded.field("tools") or Node(None)
    called = called_tools(recorded)
    changed: list[str] = []
    for name, kept in tools.members.items():
        digest = agent.digest(name)
        wanted = kept.get("schema_digest") if isinstance(kept, Mapping) else None
        if digest is not None and isinstance(wanted, str) and digest != wanted:
            changed.append(name)
    for name in sorted(called - undeclared_tools(recorded, called)):
        if name and not agent.can_call(name) and not agent.brings_more:
            words = f"The tool {name!r} answered in {eval_id!r}, and the agent {agent.name!r} does not have it any more."
            remedy = f"If it was renamed, migrate it; the agent has {listed(agent.tools) or 'no tools'}."
            notes.add("environment-tool-gone", recorded.path, words, remedy, eval_id=eval_id)
    if changed:
        words = f"The parameters or answers of {listed(changed)} were declared otherwise when {eval_id!r} was recorded."
        remedy = "Verify the case, and record it again where its calls changed."
        notes.add(
            "environment-schema-changed", tools.path, words, remedy, eval_id=eval_id, count=len(changed)
        )
