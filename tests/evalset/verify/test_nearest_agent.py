"""The agent of an eval set is found where projects keep the two, and the nearest one above the set counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalset.verify import verify
from tests.evalset.replay.desk_agent import write_desk
from tests.evalset.verify.desks import copied_set

OTHER = """
from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="other", model="gemini-2.5-flash", instruction="Help.")
"""


@pytest.mark.parametrize(
    ("agents", "sets"),
    [
        ("agents", "tests/eval/evalsets"),
        ("agents", "agents"),
        ("src", "eval"),
        (".", "tests/eval/evalsets"),
        (".", "desk/tests/eval/evalsets"),
        ("agents", "agents/desk/eval/data/deep"),
    ],
)
def test_a_set_finds_its_agent_in_its_project(kept: Path, tmp_path: Path, agents: str, sets: str) -> None:
    """Without an option, as far as its project goes."""
    project = tmp_path / "project"
    write_desk(project / agents)
    (project / "pyproject.toml").touch()
    path = copied_set(kept, project / sets)
    assert [case.status for case in verify(path, models="recorded").cases] == ["passed"]


def test_the_nearest_agent_above_a_set_counts(kept: Path, tmp_path: Path) -> None:
    """Where the folder that is given is another agent, the one beside the set is verified, and the other is not blamed."""
    outer = tmp_path / "outer"
    write_desk(outer)
    (outer / "agent.py").write_text(OTHER)
    path = copied_set(kept, outer / "desk" / "evals")
    assert [case.status for case in verify(path, agents_dir=outer, models="recorded").cases] == ["passed"]


def test_beyond_its_project_no_agent_is_looked_for(kept: Path, tmp_path: Path) -> None:
    """The error says where it was looked for, and what helps."""
    write_desk(tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".git").mkdir()
    path = copied_set(kept, tmp_path / "project" / "sets" / "deep")
    (case,) = verify(path, models="recorded").cases
    assert case.status == "error"
    assert "Name the folder of the agents" in case.error
