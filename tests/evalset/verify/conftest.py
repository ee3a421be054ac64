"""Gives the tests what verifies with recorded models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evalset.ending import Ends, Shown


@pytest.fixture
def verifies(ends: Ends) -> Ends:
    """Verifies a set with the agents of a folder, which has to end with an exit code; returns what was written."""

    def run(code: int, eval_set: Path, agents: Path, *more: object) -> Shown:
        words = ("verify", eval_set, "--agents-dir", agents, "--models", "recorded", "--quiet", *more)
        return ends(code, *words)

    return run
