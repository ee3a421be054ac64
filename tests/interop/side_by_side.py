"""Three agents, each in an environment with another google-adk, are played by one studio at the same time.

Runs in the studio's own environment; the others are those of `make test-interop`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from evalset import GoldenTraceBuilder
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.seats.answers import called, said
from simulator.seats.requests import ModelRequest, ToolRequest
from tests.simulator.kernel.projects import PATIENCE, begun, config_of, project, until

ENVIRONMENTS = Path(__file__).parents[2] / ".venv-interop"
AGENT = '''
from google.adk.agents import LlmAgent
from google.adk.version import __version__

from .helpers import WHO


def which_adk() -> dict:
    """Tell which ADK is here."""
    raise AssertionError("a real tool ran")


root_agent = LlmAgent(
    name="desk", model="gemini-2.5-flash", instruction=f"You are {WHO} and run on {__version__}.", tools=[which_adk]
)
'''


def versions() -> list[str]:
    """Return the versions of google-adk that have an environment here, oldest first."""
    return sorted(ready.parent.name for ready in ENVIRONMENTS.glob("[0-9]*/.ready"))


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, KernelAgentConfig]]:
    """The agents by version: all have the same name, in folders of the same name, with a helper module of the same name."""
    root = tmp_path_factory.mktemp("agents")

    def load(version: str) -> KernelAgentConfig:
        home = project(root / version, source=AGENT)
        (home / "desk" / "helpers.py").write_text(f"WHO = 'the desk of {version}'\n")
        return config_of(home, python=str(ENVIRONMENTS / version / "bin" / "python"))

    with ThreadPoolExecutor() as at_once:
        found = dict(zip(versions(), at_once.map(load, versions()), strict=True))
    yield found
    for config in found.values():
        config.kernels.end()


@pytest.fixture
def sessions(desks: dict[str, KernelAgentConfig]) -> Iterator[dict[str, RemoteSimulation]]:
    """A session with each, all open at once."""
    with ExitStack() as stack:
        yield {version: stack.enter_context(begun(config)) for version, config in desks.items()}


def instruction(simulation: RemoteSimulation) -> str:
    """Return what the model that is asked now is told."""
    (request,) = simulation.pending
    assert isinstance(request, ModelRequest)
    return str(request.system_instruction)


def play(sessions: dict[str, RemoteSimulation]) -> None:
    """Take each step of a turn in every session before the next step in any."""
    for simulation in sessions.values():
        assert simulation.query("Which one are you?", wait=PATIENCE)
    for version, simulation in sessions.items():
        told = instruction(simulation)
        assert f"the desk of {version} and run on {version}" in told
        assert simulation.answer(simulation.pending[0], called(("which_adk", {})), wait=PATIENCE)
    for version, simulation in sessions.items():
        (request,) = simulation.pending
        assert isinstance(request, ToolRequest)
        assert simulation.answer(request, {"adk": version}, wait=PATIENCE)
    for version, simulation in sessions.items():
        assert simulation.answer(simulation.pending[0], said(f"That is {version}."), wait=PATIENCE)


def test_each_is_played_by_its_own_adk(sessions: dict[str, RemoteSimulation]) -> None:
    """One studio, one process for each: what a model is told names the version, and each turn becomes a case."""
    assert len(sessions) > 1
    play(sessions)
    for version, simulation in sessions.items():
        assert simulation.config.kernels.kernel().ready.adk == version
        case = GoldenTraceBuilder(simulation.session, eval_id="which").build()
        assert case.conversation is not None
        assert f"That is {version}." in str(case.conversation[0].final_response)


def test_they_tell_the_same_facts(sessions: dict[str, RemoteSimulation]) -> None:
    """But for the ids, the times and the version: an undo and a redo in each ends where it was."""
    play(sessions)
    kinds = {
        version: [type(fact).__name__ for _, fact in each.journal.path()]
        for version, each in sessions.items()
    }
    assert len({tuple(each) for each in kinds.values()}) == 1, kinds
    for simulation in sessions.values():
        before = simulation.session.turns[-1].events
        simulation.undo(wait=PATIENCE)
        simulation.redo(wait=PATIENCE)
        assert simulation.view().divergence is None
        assert simulation.session.turns[-1].events == before


def test_one_that_is_killed_comes_back_and_the_others_notice_nothing(
    sessions: dict[str, RemoteSimulation],
) -> None:
    """The kernel of one version is killed while all wait; it begins anew with the same interpreter, and all go on."""
    play(sessions)
    processes = {version: each.config.kernels.kernel().process_id for version, each in sessions.items()}
    first = versions()[0]
    os.kill(processes[first], signal.SIGKILL)
    kernels = sessions[first].config.kernels
    until(sessions[first], lambda: kernels.running is None or kernels.running.process_id != processes[first])
    play(sessions)
    now = {version: each.config.kernels.kernel() for version, each in sessions.items()}
    assert now[first].process_id != processes[first]
    assert now[first].ready.adk == first
    assert {version: each.process_id for version, each in now.items() if version != first} == {
        version: process for version, process in processes.items() if version != first
    }
