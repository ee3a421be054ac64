"""Finds the interpreter of an agent's project: its own environment, where it has one."""

from __future__ import annotations

import sys
from pathlib import Path

_ENVIRONMENTS = (".venv", "venv")
_PYTHONS = (Path("bin", "python"), Path("Scripts", "python.exe"))
_ROOT_MARKS = ("pyproject.toml", ".git", "uv.lock", "requirements.txt")
_HIGHEST = 3
"""How many folders above an agent's its project may begin."""


def project_python(agent: Path) -> Path | None:
    """Return the interpreter of the environment that lies in an agent's project; None where it has none, or it is this one.

    Args:
        agent: The agent's folder or file.
    """
    for folder in (agent, *agent.parents[:_HIGHEST]):
        if (python := _in(folder)) is not None:
            return None if python.parents[1] == Path(sys.prefix) else python
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
