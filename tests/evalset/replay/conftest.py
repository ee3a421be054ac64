"""Gives the tests of replays the agent that they replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evalset.replay.desk_agent import write_desk
from tests.evalset.replay.test_hermetic import loaded


@pytest.fixture
def real(tmp_path: Path) -> Any:
    """The agent that is replayed: its tools must not run."""
    return loaded(write_desk(tmp_path / "real"))


@pytest.fixture
def module(real: Any) -> Any:
    """The same, which lets errors out."""
    real.root_agent.on_tool_error_callback = None
    return real
