"""Eval sets that the tests of the pages share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.evalsets.open_sets import edited_sets
from app.live.agent_catalogue import catalogue
from tests.evalset.editing.editing_sets import record_case, write_set
from tests.harness.tiny_agent import write_tiny_agent, write_tiny_eval_set


@pytest.fixture
def eval_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set with one case in the folder of its agent; the studio is started with it and with another agent."""
    folder = write_tiny_agent(tmp_path / "agents")
    write_tiny_agent(tmp_path / "agents", "abacus")
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path / "agents"), "--no-demos"])
    catalogue().refresh()
    return write_tiny_eval_set(folder / "sums.evalset.json")


_DESK = (
    "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='desk', model='gemini-2.5-flash')\n"
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A set of three cases in an agent's folder; of the first the environment is recorded."""
    folder = tmp_path / "agents" / "desk"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(_DESK)
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(folder.parent), "--no-demos"])
    path = write_set(folder / "orders.evalset.json")
    record_case(path, "one")
    yield path
    edited_sets().clear()
