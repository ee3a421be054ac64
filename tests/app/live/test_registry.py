"""Live sessions are shared, bounded, waited for, and closed; nobody reads or writes a file of the server through the path of an eval set."""

from __future__ import annotations

import logging
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from app import lifespan
from app.live import click_waits
from app.live.click_waits import FAST_PATH_SECONDS, REAL_WORK_SECONDS, settle
from app.live.destinations import check_destination
from app.live.live_sessions import LiveSession, Registry, RegistryFullError, UnsentTexts, registry
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_directory import AgentDirectory
from simulator.journal import Journal
from simulator.kernel import kernel_processes
from simulator.seats.requests import RunningCall
from simulator.session import SimulationSession
from tests.app.fakes import FakeAgent, FakeSimulation


class Simulation:
    """Counts how often it was closed; fails at it where told to."""

    def __init__(self, session_id: str, *, fails: bool = False) -> None:
        self.session = SimulationSession(session_id=session_id)
        self.closed = 0
        self.journal = Journal()
        self._fails = fails

    def close(self) -> None:
        """End it."""
        self.closed += 1
        if self._fails:
            raise RuntimeError("does not close")


CONFIG: Any = SimulatedAgentConfig.__new__(SimulatedAgentConfig)


def test_the_number_of_sessions_is_bounded_and_each_is_taken_in_once() -> None:
    """Beyond the limit the registry says what to do, and nothing of the sessions of others; closing one makes room.

    A second simulation under the same id is refused, and the first stays.
    """
    sessions = Registry(limit=2)
    simulations: list[Any] = [Simulation(name) for name in "abc"]
    for simulation in simulations[:2]:
        sessions.add(simulation, CONFIG, AgentDirectory())
    with pytest.raises(RegistryFullError, match="close one"):
        sessions.add(simulations[2], CONFIG, AgentDirectory())
    sessions.close("a")
    second: Any = Simulation("b")
    with pytest.raises(ValueError, match="'b'"):
        sessions.add(second, CONFIG, AgentDirectory())
    sessions.add(simulations[2], CONFIG, AgentDirectory())
    assert [live.simulation for live in sessions.newest_first()] == [simulations[2], simulations[1]]
    assert simulations[0].closed == 1


def test_a_session_that_comes_back_needs_room_before_it_is_made() -> None:
    """Where there is none, nothing is made; one that is live is given as it is."""
    sessions = Registry(limit=1)
    held: Any = Simulation("a")
    sessions.add(held, CONFIG, AgentDirectory())
    make = Mock()
    with pytest.raises(RegistryFullError):
        sessions.get_or_take_in("b", make)
    live = sessions.get_or_take_in("a", make)
    assert not make.called
    assert live is not None
    assert live.simulation is held


def test_the_end_closes_all_that_can_be_closed() -> None:
    """One simulation that fails to close keeps no other open, and its error is reported."""
    sessions = Registry()
    simulations: list[Any] = [Simulation("a"), Simulation("b", fails=True), Simulation("c")]
    for simulation in simulations:
        sessions.add(simulation, CONFIG, AgentDirectory())
    errors = sessions.close_all()
    assert [str(error) for error in errors] == ["does not close"]
    assert [simulation.closed for simulation in simulations] == [1, 1, 1]
    assert sessions.newest_first() == []


def test_the_registry_outlives_a_reload_of_its_code() -> None:
    """There is one registry, on a module that has no file and so is never reloaded."""
    holder = sys.modules["golden_trace_studio_live"] if registry() else ModuleType("none")
    assert registry() is registry() is holder.__dict__["registry"]
    assert getattr(holder, "__file__", None) is None


def test_the_oldest_draft_goes_first() -> None:
    """The number of drafts is bounded; a draft that was changed lately stays."""
    drafts = UnsentTexts(limit=2)
    drafts["a"] = "1"
    drafts["b"] = "2"
    drafts["a"] = "3"
    drafts["c"] = "4"
    assert dict(drafts) == {"a": "3", "c": "4"}
    assert len(drafts) == 2


def test_the_log_names_the_agent(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A process that nobody uses any more, and one that computes without a pause."""
    monkeypatch.setattr(kernel_processes, "end_idle", lambda: ["desk"])
    monkeypatch.setattr(kernel_processes, "let_endless_come_last", lambda: ["planner"])
    with caplog.at_level(logging.INFO):
        lifespan._end_idle()
        lifespan._come_last()
    assert [each.getMessage().partition(",")[0] for each in caplog.records] == [
        "The process of desk was unused and has been stopped",
        "The process of planner uses the CPU without a pause",
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an agent, with a link that leads out of it."""
    made = tmp_path / "agents" / "desk"
    made.mkdir(parents=True)
    (tmp_path / "secret.json").write_text("{}")
    (made / "out").symlink_to(tmp_path)
    return made


def live_in(folder: Path, owner: str) -> LiveSession:
    """A session of an owner with that agent."""
    agent: Any = FakeAgent()
    config = SimulatedAgentConfig(name="desk", agent=agent, eval_set_path=folder / "desk.evalset.json")
    return LiveSession("a", FakeSimulation(), config, owner=owner)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{0}/../../secret.json",
        "{0}/out/secret.json",
        "{0}/agent.py",
        "~/x.evalset.json",
        "~nobody-here/x.evalset.json",
        "x.evalset.json",
    ],
)
def test_another_place_is_refused(folder: Path, path: str) -> None:
    """Beside the folder, by a link out of it, and code in it; whose machine it is may write eval sets anywhere."""
    with pytest.raises(ValueError, match=r"path|folder"):
        check_destination(path.format(folder), live_in(folder, "browser-1"))
    if path.endswith(".evalset.json") and not path.startswith("~nobody"):  # is a path for nobody
        check_destination(path.format(folder), live_in(folder, "local"))


OTHERS = [
    "environment_data.json",
    "test_config.json",
    "root_agent.json",
    "agent.json",
    "new/x.json",
    "a.environment.json",
]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("content", [None, "[]", "{}", '{"orders": []}', "", "not JSON"])
@pytest.mark.parametrize("owner", ["local", "browser-1"])
def test_a_file_that_is_no_eval_set_is_neither_made_nor_overwritten(
    folder: Path, name: str, content: str | None, owner: str
) -> None:
    """What an agent is made of is no place for cases, whoever names it; the error names the file."""
    path = folder / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(path.name)):
        check_destination(str(path), live_in(folder, owner))
    assert path.exists() == (content is not None)
    assert content is None or path.read_text() == content


def test_an_eval_set_of_another_name_gets_more_cases_and_an_agents_own_file_too(folder: Path) -> None:
    """It is one by what it holds; and a developer may have named the agent's file otherwise."""
    there = folder / "goldens.json"
    there.write_text('{"eval_set_id": "goldens", "eval_cases": []}')
    check_destination(str(there), live_in(folder, "browser-1"))
    own = live_in(folder, "browser-1")
    own.config = replace(own.config, eval_set_path=folder / "mine.json")
    check_destination(str(folder / "mine.json"), own)
    assert sorted(each.name for each in folder.iterdir()) == ["goldens.json", "out"]


def test_a_dataset_has_its_ending_or_its_folder(folder: Path) -> None:
    """As the export of datasets offers it, also in a project of agents-cli."""
    check_destination(str(folder / "case-dataset.json"), live_in(folder, "browser-1"))
    (folder / "agents-cli-manifest.yaml").write_text("agent_directory: app\n")
    check_destination(str(folder / "tests" / "eval" / "datasets" / "any.json"), live_in(folder, "browser-1"))
    with pytest.raises(ValueError, match=r"any\.json"):
        check_destination(str(folder / "tests" / "any.json"), live_in(folder, "browser-1"))


@pytest.mark.parametrize("path", ["{0}/desk.evalset.json", " {0}/sets/more.test.json", ""])
def test_the_folder_of_the_agent_is_everybodys(folder: Path, path: str) -> None:
    """There its eval set is, and others may stand beside it."""
    check_destination(path.format(folder), live_in(folder, "login-1"))
    check_destination(path.format(folder), live_in(folder, "local"))
    assert folder.is_dir()


SLICE = 0.06


class Waiting(FakeSimulation):
    """Comes to rest after so many seconds of a clock that only waiting moves."""

    def __init__(self, left: float) -> None:
        super().__init__()
        self.left, self.waited = left, 0.0

    def wait(self, timeout: float | None = None) -> bool:
        """Come to rest when the time has passed."""
        assert timeout is not None
        waited = min(timeout, self.left)
        self.waited += waited
        self.left -= waited
        return self.left <= 0


@pytest.mark.parametrize(
    ("left", "runs", "least", "most"),
    [
        (0.0, False, 0.0, 0.0),
        (0.1, False, 0.1, 0.1 + SLICE),
        (60.0, False, FAST_PATH_SECONDS, FAST_PATH_SECONDS + SLICE),
        (60.0, True, REAL_WORK_SECONDS, FAST_PATH_SECONDS - SLICE),
    ],
    ids=["at rest", "soon", "long", "a real tool"],
)
def test_a_pause_is_waited_for(
    left: float, runs: bool, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at rest; as long as it takes where it comes soon; for a moment where it does not, and less where a real tool runs.

    Patched, so that no test takes as long.
    """
    simulation = Waiting(left)
    if runs:
        simulation.running = (RunningCall(kind="tool", key="k", name="slow", since=0.0),)
    monkeypatch.setattr(click_waits, "time", SimpleNamespace(monotonic=lambda: simulation.waited))
    settle(simulation)
    assert least <= simulation.waited <= most
