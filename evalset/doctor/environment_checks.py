"""Checks a recorded environment: by itself, against its eval set, and against the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalset.doctor.agents import Agents, KnownAgent
from evalset.doctor.answer_checks import note_answers
from evalset.doctor.calls import ASKS_A_PERSON, in_recorded_turn, in_turn
from evalset.doctor.nodes import Node
from evalset.doctor.notes import Notes
from evalset.doctor.shown import listed, short
from evalset.recorded.files import RecordedEnvironmentError, parsed
from evalset.recorded.model import VERSION
from simulator.environment.declared_tools import STEERING
from simulator.jsonvalue import NotJsonError, canonical, same


def note_form(file: Path, document: Node, text: bytes, notes: Notes) -> bool:
    """Check that a file is a recorded environment; tell whether it can be used."""
    version = document.members.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        words = f"The recorded environment is of version {version}, and this release reads up to {VERSION}."
        notes.add("newer-environment", ("version",), words, "Use the release that wrote it, or a newer one.")
        return False
    try:
        parsed(file, text)
    except RecordedEnvironmentError as error:
        reason = str(error).removeprefix(f"{file}: ")
        words = f"The recorded environment cannot be used: {reason}."
        notes.add(
            "broken-environment", (), words, "Mend this place, take an older copy, or record the case again."
        )
        return False
    return True


def cases_of(document: Node) -> dict[str, Node]:
    """Give the recorded cases by their ids."""
    cases = document.field("cases") or Node(None)
    return {eval_id: Node(case, (*cases.path, eval_id)) for eval_id, case in cases.members.items()}


def note_fit(eval_set: Node, environment: Node, agents: Agents, notes: Notes) -> None:
    """Check that a recorded environment fits its eval set; the notes are those of the environment."""
    recorded = cases_of(environment)
    held: dict[str, Node] = {}
    for case in eval_set.items("eval_cases"):
        held.setdefault(case.text("eval_id"), case)
    for eval_id, case in held.items():
        if eval_id in recorded:
            _note_case(eval_id, case, recorded[eval_id], notes)
            agent = agents.of(notes.file, recorded[eval_id].text("app_name"))
            if agent is None or not agent.rewrites:
                note_answers(eval_id, case, recorded[eval_id], notes)
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


def _note_case(eval_id: str, case: Node, recorded: Node, notes: Notes) -> None:
    turns, recorded_turns = list(case.items("conversation")), list(recorded.items("turns"))
    if len(turns) != len(recorded_turns):
        words = f"The case {eval_id!r} has {len(turns)} turns, and {len(recorded_turns)} were recorded."
        notes.add("environment-turns-differ", recorded.path, words, "Record the case again.", eval_id=eval_id)
        return
    for number, (turn, recorded_turn) in enumerate(zip(turns, recorded_turns, strict=True), 1):
        wanted, found = _asked(turn), _recorded(recorded_turn)
        tools = {tool for tool, _ in found.values()}
        new = [call for key, call in found.items() if key not in wanted]
        lost = [call for key, call in wanted.items() if key not in found and call[0] in tools]
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


def _asked(turn: Node) -> dict[str, tuple[str, Any]]:
    """Give the calls of a turn that tools answered, by what tells them apart."""
    places = (place for place in in_turn(turn) if place.role == "call")
    return _keyed(
        (place.name, place.arguments.value if place.arguments else {})
        for place in places
        if place.name not in STEERING and not place.name.startswith(ASKS_A_PERSON)
    )


def _recorded(turn: Node) -> dict[str, tuple[str, Any]]:
    """Give the recorded calls of a turn, save those inside of agents that are tools."""
    calls = (call for name in ("calls", "rejected") for call in turn.items(name) if not call.field("within"))
    return _keyed((call.text("tool"), call.members.get("arguments") or {}) for call in calls)


def _keyed(calls: Iterator[tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for name, arguments in calls:
        try:
            found[f"{name} {canonical(arguments)}"] = (name, arguments)
        except NotJsonError:
            found[f"{name} {arguments!r}"] = (name, arguments)
    return found


def note_tools(eval_id: str, recorded: Node, agent: KnownAgent, notes: Notes) -> None:
    """Check the tools of a recorded case against those that the agent has."""
    tools = recorded.field("tools") or Node(None)
    called = {
        place.name
        for turn in recorded.items("turns")
        for place in in_recorded_turn(turn)
        if place.role == "call"
    }
    changed: list[str] = []
    for name, kept in tools.members.items():
        digest = agent.digest(name)
        wanted = kept.get("schema_digest") if isinstance(kept, Mapping) else None
        if digest is not None and isinstance(wanted, str) and digest != wanted:
            changed.append(name)
    for name in sorted(called):
        if name and not agent.can_call(name) and not agent.tool_sets:
            words = f"The tool {name!r} answered in {eval_id!r}, and the agent {agent.name!r} does not have it any more."
            remedy = f"If it was renamed, migrate it; the agent has {listed(agent.tools) or 'no tools'}."
            notes.add("environment-tool-gone", recorded.path, words, remedy, eval_id=eval_id)
    if changed:
        words = f"The parameters or answers of {listed(changed)} were declared otherwise when {eval_id!r} was recorded."
        remedy = "Verify the case, and record it again where its calls changed."
        notes.add(
            "environment-schema-changed", tools.path, words, remedy, eval_id=eval_id, count=len(changed)
        )
