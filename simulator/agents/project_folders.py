"""Tells which folders belong to the project of an agent: where its environment, its modules and its list of packages may be."""

from __future__ import annotations

import stat
from pathlib import Path

MARKS = ("pyproject.toml", ".git", "uv.lock", "requirements.txt")
"""What lies at the root of a project, or of a part of one."""
_REPOSITORY, _WORKSPACE, _HIGHEST = ".git", "[tool.uv.workspace]", 3


def project_folders(agent: Path) -> tuple[Path, ...]:
    """Return the folders of an agent's project, from its own up to the root.

    The root is the nearest folder with a `.git` or with a workspace of uv, else the nearest one with another mark, else it may be three folders above. Nothing above a folder that
    everybody may write to, or above the home folder, is looked at: what lies there need not be this project's.

    Args:
        agent: The agent's folder or file.
    """
    above = [agent]
    for folder in agent.parents:
        if folder == Path.home() or folder == Path(folder.anchor) or is_everybodys(folder):
            break
        above.append(folder)
        if (folder / _REPOSITORY).exists() or is_workspace(folder):
            return tuple(above)
    marked = (place for place, folder in enumerate(above) if any((folder / mark).exists() for mark in MARKS))
    return tuple(above[: next(marked, _HIGHEST) + 1])


def is_workspace(folder: Path) -> bool:
    """Return whether a folder is the root of several projects that share one environment, as uv has it."""
    settings = folder / "pyproject.toml"
    return settings.is_file() and _WORKSPACE in settings.read_text(encoding="utf-8", errors="replace")


def is_everybodys(folder: Path) -> bool:
    """Return whether everybody may write to a folder: what lies there need not be the project's."""
    try:
        return bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True
