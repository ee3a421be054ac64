"""Finds the interpreter of an agent: the one that a person has chosen for it, or that of its project's own environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

from simulator.base.atomic_files import lock_path, system_lock, write_whole
from simulator.base.user_data import data_folder, made_folder

_ENVIRONMENTS = (".venv", "venv")
_PYTHONS = (Path("bin", "python"), Path("Scripts", "python.exe"))
_ROOT_MARKS = ("pyproject.toml", ".git", "uv.lock", "requirements.txt")
_ADK_NEEDED = "'google-adk>=2.11'"
_ADK = re.compile(r"google_adk-(\d+)\.(\d+)")
_OLDEST_ADK = (2, 11)
_PATIENCE_SECONDS = 10.0
_HIGHEST = 3
"""How many folders above an agent's its project may begin."""


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
    for folder in (agent, *agent.parents[:_HIGHEST]):
        if (python := _in(folder)) is not None:
            is_own = python.parents[1] == Path(sys.prefix)
            return None if is_own or not _has_adk(python.parents[1]) else python
        if any((folder / mark).exists() for mark in _ROOT_MARKS):
            return None
    return None


def line_for_adk(python: Path) -> str:
    """Return the line to paste that installs google-adk for an interpreter."""
    return f"{shlex.quote(str(python))} -m pip install {_ADK_NEEDED}"


def line_for_project(agent: Path, python: Path) -> str:
    """Return the line to paste that installs what an agent's project says it needs, with words on what it does.

    Where the interpreter is this process's own, the line creates an environment for the project, in which it runs from then on. Empty where
    no `requirements.txt` or `pyproject.toml` of the project says what it needs: the name of a module does not tell that of its package.

    Args:
        agent: The agent's folder or file.
        python: The interpreter that lacks something.
    """
    for folder in (agent, *agent.parents[:_HIGHEST]):
        listed, project = folder / "requirements.txt", folder / "pyproject.toml"
        if listed.is_file() or project.is_file():
            needed = f"-r {shlex.quote(str(listed))}" if listed.is_file() else shlex.quote(str(folder))
            named = f"If {(listed if listed.is_file() else project).name} lists the missing package, "
            if str(python) != sys.executable:
                return f"{named}install it: {shlex.quote(str(python))} -m pip install {needed}"
            environment = folder / _ENVIRONMENTS[0]
            own = shlex.quote(str(environment / _PYTHONS[0]))
            return (
                f"{named}create an environment for the project: "
                f"{shlex.quote(str(python))} -m venv {shlex.quote(str(environment))} && {own} -m pip install {_ADK_NEEDED} {needed}"
            )
        if any((folder / mark).exists() for mark in _ROOT_MARKS):
            return ""
    return ""


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
    return any((int(found[1]), int(found[2])) >= _OLDEST_ADK for found in versions if found)
