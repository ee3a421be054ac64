"""The eval sets of a project are listed wherever in it they lie, and wherever its agent does."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.evalsets.set_discovery import folders
from simulator.agents import AgentEntry


@pytest.mark.parametrize("agent", ["shop", "agents/shop", "src/agents/shop", "src/company/agents/shop"])
def test_the_folders_of_evals_of_a_project_are_those_of_its_agent(tmp_path: Path, agent: str) -> None:
    """Next to the agent or at the root of the project; of several agents there, none has it alone."""
    project = tmp_path / "project"
    for place in (project / agent, project / "eval", project / "tests/eval"):
        place.mkdir(parents=True)
    (project / "pyproject.toml").touch()
    entries = [AgentEntry(name="shop", source="folder", location=str(project / agent))]
    found = folders(entries)
    assert found[project / "eval"] == found[project / "tests/eval"] == "shop"
    other = project / agent.replace("shop", "bank")
    other.mkdir()
    entries.append(AgentEntry(name="bank", source="folder", location=str(other)))
    assert folders(entries)[project / "eval"] == ""
