"""Eval sets that the tests of the pages share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.live.agent_catalogue import catalogue
from tests.harness.tiny_agent import write_tiny_agent, write_tiny_eval_set


@pytest.fixture
def eval_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set with one case in the folder of its agent; the studio is started with it and with another agent."""
    folder = write_tiny_agent(tmp_path / "agents")
    write_tiny_agent(tmp_path / "agents", "abacus")
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path / "agents"), "--no-demos"])
    catalogue().refresh()
    return write_tiny_eval_set(folder / "sums.evalset.json")


@pytest.fixture
def path(desk_set: Path) -> Path:
    """A set of three cases in an agent's folder; of the first the environment is recorded."""
    return desk_set
