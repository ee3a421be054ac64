"""Finds the interpreter of an agent's project: its own environment, where it has one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_ENVIRONMENTS = (".venv", "venv")
_PYTHONS = (Path("bin", "python"), Path("Scripts", "python.exe"))
_ROOT_MARKS = ("pyproject.toml", ".git", "uv.lock", "requirements.txt")
_ADK = re.compile(r"google_adk-(\d+)\.(\d+)")
_OLDEST_ADK = (2, 11)
_HIGHEST = 3
"""How many folders above an agent's its project may begin."""


def project_python(agent: Path) -> Path | None:
    """Return the interpreter of the environment that lies in an agent's project.

    None where it has none, where that is this process's own, and where no google-adk is in it that can play: then the agent is loaded with
    what is installed here.

    Args:
        agent: The agent's folder or file.
    """
    for folder in (agent, *agent.parents[:_HIGHEST]):
        if (python := _in(folder)) is not None:
            is_own = python.parents[1] == Path(sys.prefix)
            return None if is_own or not _has_adk(python.parents[1]) else python
        if any((folder / mark).exists() for mark in _ROOT_MARKS):
            return None
    return None


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
