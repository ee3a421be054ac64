"""The agent of an eval set is found where projects keep the two, and the nearest one above the set counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from evalset import write_golden_trace
from evalset.verify import verify
from tests.evalset.replay.desk_agent import config, played, write_desk

OTHER = """
from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="other", model="gemini-2.5-flash", instruction="Help.")
"""


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden of the desk, with its recording."""
    folder = tmp_path_factory.mktemp("made")
    write_desk(folder)
    path = folder / "kept.evalset.json"
    write_golden_trace(
        played(config(folder), ["check A"], {"check": {"status": "shipped"}}), path, eval_id="one"
    )
    return path


def put(golden: Path, folder: Path) -> Path:
    """Put the golden into a folder; return its eval set."""
    folder.mkdir(parents=True, exist_ok=True)
    for end in ("evalset", "environment"):
        shutil.copy(golden.with_name(f"kept.{end}.json"), folder)
    return folder / "kept.evalset.json"


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
def test_a_set_finds_its_agent_in_its_project(golden: Path, tmp_path: Path, agents: str, sets: str) -> None:
    """Without an option, as far as its project goes."""
    project = tmp_path / "project"
    write_desk(project / agents)
    (project / "pyproject.toml").touch()
    path = put(golden, project / sets)
    assert [case.status for case in verify(path, models="recorded").cases] == ["passed"]


def test_the_nearest_agent_above_a_set_counts(golden: Path, tmp_path: Path) -> None:
    """Where the folder that is given is another agent, the one beside the set is verified, and the other is not blamed."""
    outer = tmp_path / "outer"
    write_desk(outer)
    (outer / "agent.py").write_text(OTHER)
    path = put(golden, outer / "desk" / "evals")
    assert [case.status for case in verify(path, agents_dir=outer, models="recorded").cases] == ["passed"]


def test_beyond_its_project_no_agent_is_looked_for(golden: Path, tmp_path: Path) -> None:
    """The error says where it was looked for, and what helps."""
    write_desk(tmp_path)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".git").mkdir()
    path = put(golden, tmp_path / "project" / "sets" / "deep")
    (case,) = verify(path, models="recorded").cases
    assert case.status == "error"
    assert "Name the folder of the agents" in case.error
