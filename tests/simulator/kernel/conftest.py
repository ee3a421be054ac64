"""Gives each test of kernels an agent with a kernel of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.kernel.kernel_agent import KernelAgentConfig
from tests.simulator.kernel.projects import config_of, project


@pytest.fixture
def config(tmp_path: Path) -> Iterator[KernelAgentConfig]:
    """An agent in a kernel of its own."""
    found = config_of(project(tmp_path))
    yield found
    found.kernels.end()
