"""Gives each test agents of its own: what another test imported by an agent's name is not what is loaded by that name here."""

from __future__ import annotations

import sys

import pytest

from tests.harness.imported import forget_written


@pytest.fixture(autouse=True)
def _no_agent_is_known_by_its_name(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The agents that tests write lie in pytest's folder: neither their modules nor their folders are of use in another test."""
    forget_written(sys.modules, sys.path, tmp_path_factory.getbasetemp())
