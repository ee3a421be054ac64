"""What an agent's own code does outside of ADK's tools is noted in the session."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import agent_of, call, going, say

SECRET = "sk-ant-" + "x1Y2z3" * 6


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def work(port: int) -> None:
    """Start a process, and connect."""
    subprocess.run([sys.executable, "-c", "", f"--token={SECRET}"], check=True)
    socket.create_connection(("127.0.0.1", port)).close()


def test_processes_and_connections_of_the_agents_code_are_noted(port: int) -> None:
    """Each is named once, without secrets, also where the same happens again after an undo."""

    def before(**_: Any) -> None:
        work(port)

    agent = agent_of([say("hello")], before_model_callback=before)
    with going(agent) as sim:
        wait_until(lambda: len(sim.view().problems) == 2, what="the notes")
        process, connection = sim.view().problems
        assert "process" in process
        assert sys.executable in process
        assert SECRET not in process
        assert f"127.0.0.1:{port}" in connection


def test_what_was_chosen_to_be_real_is_not_noted(port: int) -> None:
    """A real tool, and the model, may start and reach what they like."""

    def reach() -> str:
        """Do something real."""
        work(port)
        return "done"

    def model_turn(_request: Any) -> list[Any]:
        work(port)
        return [call("reach")]

    agent = agent_of(model_turn, tools=[reach])
    with going(agent, tools="real") as sim:
        assert sim.session.state.value == "completed"
        assert sim.view().problems == ()
