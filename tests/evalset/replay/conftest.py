"""Gives the tests of replays the agent that they replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evalset.replay.desk_agent import write_desk
from tests.evalset.replay.test_hermetic import loaded


@pytest.fixture
def module(tmp_path: Path) -> Any:
    """The agent, whose tools must not run and which lets errors out."""
    found = loaded(write_desk(tmp_path / "real"))
    found.root_agent.on_tool_error_callback = None
    return found
