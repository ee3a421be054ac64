"""Finds the interpreter of an agent: the one that a person has chosen for it, or that of its project's own environment."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from simulator.agents.agent_source import MARKS, is_workspace, project_folders
from simulator.agents.load_advice import OLDEST_ADK
from simulator.base.user_files import data_folder, lock_path, made_folder, system_lock, write_whole

_ENVIRONMENTS = (".venv", "venv")
_PYTHONS = (Path("bin", "python"), Path("Scripts", "python.exe"))
_ADK = re.compile(r"google_adk-(\d+)\.(\d+)")
_PATIENCE_SECONDS = 10.0


def chosen_python(agent: Path) -> Path | None:
    """Return the interpreter that a person has chosen for an agent; None where nobody has, or where it is there no more.

    Args:
        agent: The agent's folder or file.
    """
    chosen = _choices().get(_key(agent))
    return Path(chosen) if chosen and Path(chosen).is_file() else None


def choose_python(agent: Path, python: Path | None) -> None:
    """Keep the choice of an interpreter among the user's data; None for that of the agent's project again.

    Raises:
        OSError: It cannot be kept.
    """
    path = _place()
    made_folder(path.parent)
    with system_lock(
        lock_path(path), _PATIENCE_SECONDS
    ):  # from before it is read: another choice is not lost
        choices = _choices()
        choices.pop(_key(agent), None)
        if python is not None:
            choices[_key(agent)] = str(python)
        write_whole(path, [json.dumps(choices, indent=2).encode()])


def _place() -> Path:
    return data_folder(os.environ) / "interpreters.json"


def _key(agent: Path) -> str:
    return str(agent.expanduser().absolute())


def _choices() -> dict[str, str]:
    try:
        found = json.loads(_place().read_text())
    except (OSError, ValueError):  # nobody has chosen, or the file is damaged: then it is written anew
        return {}
    return {str(agent): str(python) for agent, python in found.items()} if isinstance(found, dict) else {}


def project_python(agent: Path) -> Path | None:
    """Return the interpreter that was chosen for an agent, else that of the environment that lies in its project.

    None where it has none, where that is this process's own, and where no google-adk is in it that can play: then the agent is loaded with
    what is installed here.

    Args:
        agent: The agent's folder or file.
    """
    if (chosen := chosen_python(agent)) is not None:
        return chosen
    for folder in _project(agent):
        if (python := _in(folder)) is not None:
            is_own = python.parents[1] == Path(sys.prefix)
            return None if is_own or not _has_adk(python.parents[1]) else python
    return None


def _project(agent: Path) -> Iterator[Path]:
    """Yield the folders of an agent's project that may hold its environment: up to the nearest mark, and the root of the workspace that it is in."""
    folders = project_folders(agent)
    own = next(
        (place for place, folder in enumerate(folders) if any((folder / mark).exists() for mark in MARKS)),
        len(folders),
    )
    yield from folders[: own + 1]
    yield from filter(is_workspace, folders[own + 1 :])


def _in(folder: Path) -> Path | None:
    for environment in _ENVIRONMENTS:
        for python in _PYTHONS:
            found = folder / environment / python
            if (folder / environment / "pyvenv.cfg").is_file() and found.exists():
                return found
    return None


def _has_adk(environment: Path) -> bool:
    """Tell by the names of what is installed whether google-adk is, in a version that can play."""
    places = (*environment.glob("lib/python*/site-packages"), environment / "Lib" / "site-packages")
    versions = (
        _ADK.match(installed.name) for place in places for installed in place.glob("google_adk-*.dist-info")
    )
    return any((int(found[1]), int(found[2])) >= OLDEST_ADK for found in versions if found)
