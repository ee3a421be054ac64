"""ADK is told once that A2A is not installed, in the place of looking for it in each turn."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys

import pytest

from simulator.runtime.adk import adk_private
from tests.simulator.runtime.stage import agent_of, by_adk

HOME = "google.adk.agents.remote_a2a_agent"
INSIDE = "google.adk.a2a.agent._remote_a2a_agent"


class Looking:
    """Notes which modules are looked for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, name: str, *_: object) -> None:
        """Note a name, and leave finding it to the others."""
        self.names.append(name)


def run_once() -> int:
    """Let ADK take one turn; return how many events came of it."""
    return len(asyncio.run(by_adk(agent_of())))


@pytest.mark.skipif(importlib.util.find_spec("a2a") is not None, reason="A2A is installed here")
def test_adk_looks_for_it_in_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it does in each; and who wants A2A afterwards is told as ever that it is not there."""
    looking = Looking()
    others = [each for each in sys.meta_path if type(each) is not adk_private._MissingA2A]
    monkeypatch.setattr(sys, "meta_path", [looking, *others])
    assert run_once() == 1
    assert INSIDE in looking.names
    adk_private.let_missing_a2a_be_known()
    adk_private.let_missing_a2a_be_known()
    assert len(sys.meta_path) == len(others) + 2
    looking.names.clear()
    assert run_once() == 1
    assert INSIDE not in looking.names
    with pytest.raises(ModuleNotFoundError) as missing:
        importlib.import_module(HOME)
    assert missing.value.name == "a2a"
