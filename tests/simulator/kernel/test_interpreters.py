"""The interpreter of a project is that of its own environment, and never one far above it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simulator.kernel.interpreters import project_python


def environment(folder: Path, name: str = ".venv", adk: str = "2.12.0") -> Path:
    """Make what looks like a virtual environment with google-adk; return its interpreter."""
    python = folder / name / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    (folder / name / "pyvenv.cfg").touch()
    installed = folder / name / "lib" / "python3.12" / "site-packages"
    (installed / (f"google_adk-{adk}.dist-info" if adk else "requests-2.0.dist-info")).mkdir(parents=True)
    return python


def test_the_nearest_environment_counts(tmp_path: Path) -> None:
    """In the agent's folder, or in the project's, as `agents-cli create` and uv lay it out."""
    agent = tmp_path / "project" / "app"
    agent.mkdir(parents=True)
    assert project_python(agent) is None
    outer = environment(tmp_path / "project")
    assert project_python(agent) == outer
    inner = environment(agent, "venv")
    assert project_python(agent) == inner


def test_a_project_without_one_takes_none_from_above(tmp_path: Path) -> None:
    """What lies above the root of a project belongs to something else."""
    environment(tmp_path)
    agent = tmp_path / "project" / "app"
    agent.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    assert project_python(agent) is None


def test_a_folder_of_that_name_that_is_no_environment_does_not_count(tmp_path: Path) -> None:
    """Without `pyvenv.cfg` it is something else."""
    environment(tmp_path)
    (tmp_path / ".venv" / "pyvenv.cfg").unlink()
    assert project_python(tmp_path) is None


@pytest.mark.parametrize("adk", ["", "1.18.0", "2.10.3"])
def test_an_environment_that_cannot_play_is_left_alone(tmp_path: Path, adk: str) -> None:
    """The agent is loaded with what the studio has, as before."""
    environment(tmp_path, adk=adk)
    assert project_python(tmp_path) is None


def test_the_environment_of_a_workspace_is_that_of_its_projects(tmp_path: Path) -> None:
    """Uv makes one at the workspace's root, however deep a project lies in it; what else lies above a project stays away."""
    agent = tmp_path / "packages" / "desk" / "src" / "app"
    agent.mkdir(parents=True)
    (tmp_path / "packages" / "desk" / "pyproject.toml").touch()
    outer = environment(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.other]")
    assert project_python(agent) is None
    (tmp_path / "pyproject.toml").write_text("[tool.uv.workspace]\nmembers = ['packages/*']\n")
    assert project_python(agent) == outer


def test_the_studios_own_environment_needs_no_kernel(tmp_path: Path) -> None:
    """An agent that lies in the checkout of the studio, say."""
    agent = Path(sys.prefix).parent / "agents" / "desk"
    assert project_python(agent) is None
    assert project_python(tmp_path) is None
