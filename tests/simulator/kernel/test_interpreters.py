"""The interpreter of a project is that of its own environment, and never one far above it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simulator.kernel.interpreters import line_for_project, project_python


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


def test_a_package_that_is_missing_in_another_interpreter_is_installed_there(tmp_path: Path) -> None:
    """Of a project with a `pyproject.toml` the project itself is installed; where nothing says what it needs, nothing is told."""
    agent, python = tmp_path / "app" / "desk", tmp_path / "python"
    agent.mkdir(parents=True)
    (tmp_path / "app" / "pyproject.toml").touch()
    line = line_for_project(agent, python)
    assert "pyproject.toml" in line
    assert line.endswith(f"{python} -m pip install {agent.parent}")
    (tmp_path / "app" / "pyproject.toml").unlink()
    (tmp_path / "app" / ".git").mkdir()
    assert line_for_project(agent, python) == ""


def test_the_studios_own_environment_needs_no_kernel(tmp_path: Path) -> None:
    """An agent that lies in the checkout of the studio, say."""
    agent = Path(sys.prefix).parent / "agents" / "desk"
    assert project_python(agent) is None
    assert project_python(tmp_path) is None
