"""Datasets of Agent Platform, and the projects of agents-cli that keep them. Pure but for the files of a project.

The names of a dataset's fields, and what the studio adds to a case so that a golden comes back as it was; an `AgentProject`, with the folder of its datasets.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from simulator.agents.agent_source import MARKS, project_folders
from simulator.base.documents import read_document, read_file
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.session.adk_event_fields import parts_of

ENDING = "-dataset.json"
"""What the names of dataset files end with, in projects of agents-cli."""

OWN = "golden_trace"
"""The field of a case that holds what only a golden knows. Other programs keep it and do not look at it."""

OWN_VERSION = 1
"""The newest version of that field."""

FIELDS = ("prompt", "agent_data", "reference", "rubric_groups", "user_scenario", "responses")
"""What a case says in the words of Agent Platform."""

COMPARED = ("query", "history", "state", "reference", "rubric_groups", "user_scenario")
"""The parts of a case of which it is noticed that they were edited since an export."""

_OF_TURN = re.compile(r"(?P<case>.+)_turn(?P<turn>\d+)", re.DOTALL)


def turn_id(eval_id: str, turn: int) -> str:
    """Name the case of one turn of a golden, from 0."""
    return f"{eval_id}_turn{turn}"


def named_turn(case_id: str) -> tuple[str, int] | None:
    """Return the golden and the turn that a case is named after; None where it is not named so."""
    found = _OF_TURN.fullmatch(case_id)
    return (found["case"], int(found["turn"])) if found else None


def is_user_query(event: Mapping[str, Any]) -> bool:
    """Return whether a user says something in an event, and does not only answer a call."""
    parts = parts_of(event.get("content"))
    return (
        event.get("author") == "user"
        and bool(parts)
        and not any("function_response" in part for part in parts)
    )


def is_reply(event: Mapping[str, Any]) -> bool:
    """Return whether a user only answers calls in an event: where it is the last one, what came of it was not kept."""
    parts = parts_of(event.get("content"))
    answers = (part.get("function_response") or part.get("functionResponse") for part in parts)
    return event.get("author") == "user" and bool(parts) and all(answers)


def is_of_agent(event: Mapping[str, Any]) -> bool:
    """Return whether an agent says something in an event."""
    return event.get("author") != "user" and bool(parts_of(event.get("content")))


def group_and_id(rubric_id: str) -> tuple[str, str]:
    """Return the group of a rubric in a dataset, and its id there: an import writes `group/id`. The group is empty where none is named."""
    group, _, inner = rubric_id.partition("/")
    return (group, inner) if group and inner else ("", rubric_id)


def digests(case: Mapping[str, Any]) -> JsonObject:
    """Return the digests of the parts of a case that it has, by the names of `COMPARED`.

    Args:
        case: A case of a dataset in plain JSON, in snake case.

    Raises:
        NotJsonError: It holds what JSON cannot represent.
    """
    return {
        name: digest(canonical(part)) for name, part in compared(case).items() if part not in (None, [], {})
    }


def compared(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a case is compared: its own message apart from the turns before it, and the state that it begins with."""
    turns = (case.get("agent_data") or {}).get("turns") or []
    events = [event for turn in turns for event in turn.get("events") or []]
    begin = next((place for place, event in enumerate(events) if parts_of(event.get("content"))), len(events))
    state: dict[str, Any] = {}
    for event in events[:begin]:
        state |= event.get("state_delta") or {}
    last = events[-1:] if not case.get("prompt") else []
    return {
        "query": case.get("prompt") or (last[0].get("content") if last else None),
        "history": [_told(event) for event in events[begin : len(events) - len(last)]],
        "state": state,
        **{name: case.get(name) for name in ("reference", "rubric_groups", "user_scenario")},
    }


def _told(event: Mapping[str, Any]) -> JsonObject:
    """Return what an event tells, without its time, which other programs write in other ways."""
    return {name: event[name] for name in ("author", "content", "state_delta") if event.get(name)}


_MANIFEST = "agents-cli-manifest.yaml"
_PYPROJECT = "pyproject.toml"
_DATASETS = ("tests/eval/datasets", "eval/datasets")
_AGENT_DIRECTORY = "app"
_EVALS = ("tests/eval", "eval", "eval_data", "evals", "evalsets", "evaluation")


class AgentProject(NamedTuple):
    """A project of agents-cli: its folder, and the folder of its agent."""

    root: Path
    agent: Path

    @property
    def datasets(self) -> Path:
        """The folder of its datasets: that which is there, or else the one that agents-cli looks into first."""
        places = [self.root / place for place in _DATASETS]
        return next((place for place in places if place.is_dir()), places[0])


def project_of(path: Path) -> AgentProject | None:
    """Return the project that a file or folder lies in: the nearest with a manifest, or with `[tool.agents-cli]`; None for none.

    A manifest that cannot be read counts with its defaults: agents-cli says itself what is wrong with it.
    """
    for folder in (path, *path.absolute().parents):
        if (folder / _MANIFEST).is_file():
            return _project(folder, _read_yaml(folder / _MANIFEST))
        settings = _read_toml(folder / _PYPROJECT).get("tool") if (folder / _PYPROJECT).is_file() else None
        if isinstance(settings, dict) and "agents-cli" in settings:
            return _project(folder, settings["agents-cli"])
    return None


def eval_folders(agent: Path) -> list[Path]:
    """Return the folders of evals that lie next to an agent's folder, next to the folder of all agents, or above them in their project."""
    around = dict.fromkeys((agent.parent, agent.parent.parent, *project_folders(agent)[1:]))
    return [place for folder in around for name in _EVALS if (place := folder / name).is_dir()]


def project_root(agent: Path) -> Path | None:
    """Return the folder of an agent's project, else the folder of all agents; None where that need not be of a project."""
    *_, root = inside = project_folders(agent)
    is_marked = any((root / mark).exists() for mark in MARKS)
    return root if is_marked else next(iter(inside[1:]), None)


def _project(root: Path, settings: Any) -> AgentProject:
    named = settings.get("agent_directory") if isinstance(settings, dict) else None
    return AgentProject(root, root / (named if isinstance(named, str) and named else _AGENT_DIRECTORY))


def _read_yaml(path: Path) -> Any:
    try:
        return read_document(read_file(path, "settings").decode())
    except (OSError, ValueError):
        return None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_file(path, "settings").decode())
    except (OSError, ValueError, RecursionError):
        return {}
