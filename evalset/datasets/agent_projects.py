"""Recognises the projects that `agents-cli` makes, and the folder in which it looks for datasets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from simulator.agents.agent_source import MARKS, project_folders
from simulator.base.documents import read_document, read_file

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
