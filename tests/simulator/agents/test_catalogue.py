"""The agents to choose from, and the demos among them."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from simulator.agents import (
    DEMOS,
    DEMOS_DIR,
    AgentCatalogue,
    AgentLoadError,
    AgentSettings,
    UnknownAgentError,
    catalogue_for,
    demo_agent,
    find_agents,
)
from simulator.agents.agent_directory import directory_of, known_tools, steers, tool_player
from simulator.agents.agent_folder import AgentFolder
from simulator.session import Seats, SimulationSession
from tests.harness.processes import completed

LISTING = """
import json, sys
import simulator.agents
from simulator import demo_agent
entries = simulator.agents.AgentCatalogue(simulator.agents.settings_from(sys.argv[1:], {})).entries()
heavy = sorted(name for name in sys.modules if name.startswith(("google.adk", "google.genai", "streamlit")))
print(json.dumps([[entry.name for entry in entries], heavy]))
"""


def bot(root: Path, name: str, source: str) -> Path:
    """Write an agent's folder; return the folder of agents that it is in."""
    (root / name).mkdir(parents=True)
    (root / name / "agent.py").write_text(source, encoding="utf-8")
    return root


@pytest.fixture
def listing(tmp_path: Path) -> str:
    """A file that lists the order desk."""
    file = tmp_path / "listing.py"
    file.write_text(
        "from simulator.agents import demo_agent\nAGENTS = [demo_agent('order_desk')]\n", encoding="utf-8"
    )
    return str(file)


def test_importing_and_listing_imports_no_adk(tmp_path: Path) -> None:
    """A fresh process imports the package and lists a folder and the demos without google.adk or google.genai."""
    bot(tmp_path, "bot", "import google.adk\n")
    done = completed(sys.executable, "-c", LISTING, "--agents-dir", tmp_path)
    names, heavy = json.loads(done.stdout)
    assert names == ["bot", *DEMOS]
    assert heavy == []


def test_the_demos_are_listed_with_all_that_a_newcomer_needs() -> None:
    """Each demo has a description and three or four examples of what to ask before it is loaded, and the same after.

    Whoever names the demos' folder gets each demo once.
    """
    catalogue = AgentCatalogue()
    for entry in catalogue.entries():
        assert entry.state == "unread"
        assert entry.source == "demo"
        assert entry.description
        assert 3 <= len(entry.example_queries) <= 4
        loaded = catalogue.load(entry.name)
        assert (loaded.description, loaded.example_queries) == (entry.description, entry.example_queries)
    assert [entry.state for entry in catalogue.entries()] == ["ready"] * 3
    assert sorted(AgentCatalogue(AgentSettings(DEMOS_DIR)).names()) == sorted(DEMOS)


@pytest.mark.parametrize("name", DEMOS)
def test_a_demo_is_an_agent_folder_like_any_other(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`adk web simulator/agents/demos` has the same agent under the same name; its golden traces go among the user's data."""
    monkeypatch.setenv("GOLDEN_TRACE_DATA_DIR", str(tmp_path))
    assert name in AgentFolder(DEMOS_DIR).names()
    foreign, own = AgentFolder(DEMOS_DIR).load(name), demo_agent(name)
    assert foreign.root_agent.name == own.root_agent.name == name
    assert foreign.app_name == own.app_name == name
    assert Path(own.origin) == DEMOS_DIR / name
    assert own.resolve_eval_set_path() == tmp_path / "eval_sets" / name / f"{name}_evals.evalset.json"
    assert own.resolve_eval_set_path().name == foreign.resolve_eval_set_path().name


def test_sources_come_in_order_and_can_be_left_out(tmp_path: Path, listing: str) -> None:
    """The folder's agents come first, then the file's, then the demos; `demos=False` leaves those out."""
    folder = bot(tmp_path / "bots", "zebra", "raise ValueError('no')\n")
    catalogue = AgentCatalogue(AgentSettings(folder, listing))
    assert [entry.source for entry in catalogue.entries()] == ["folder", "file", "demo", "demo", "demo"]
    assert [entry.name for entry in find_agents(folder, listing, demos=False)] == ["zebra", "order_desk"]


def test_an_unknown_or_failed_agent_is_named(tmp_path: Path) -> None:
    """Asking for an agent that is not there, or could not be loaded, raises with the names or the reason; a folder is blamed as one."""
    catalogue = AgentCatalogue(AgentSettings(bot(tmp_path, "bad", "raise ValueError('no luck')\n")))
    with pytest.raises(UnknownAgentError, match=r"'nobody'.*\bbad, order_desk"):
        catalogue.load("nobody")
    with pytest.raises(AgentLoadError, match=r"'bad'.*ValueError: no luck \(bad/agent.py, line 1\)"):
        catalogue.config("bad")
    with pytest.raises(AgentLoadError, match=r"'nobody'.*\border_desk"):
        demo_agent("nobody")
    nowhere = AgentCatalogue(AgentSettings(agents_dir=tmp_path / "missing", demos=False))
    with pytest.raises(AgentLoadError, match=r"^\D*folder \S*/missing "):
        nowhere.config("missing")


def test_an_agent_is_loaded_once_whoever_asks(tmp_path: Path) -> None:
    """Tabs that ask at the same moment get the same config, and the agent's code runs once."""
    ran = tmp_path / "ran"
    source = (
        "from google.adk.agents import LlmAgent\n"
        f"with open({str(ran)!r}, 'a') as file:\n    file.write('x')\n"
        "root_agent = LlmAgent(name='shared_bot')\n"
    )
    bot(tmp_path, "shared_bot", source)
    catalogue = catalogue_for(AgentSettings(tmp_path, demos=False))
    assert catalogue_for(AgentSettings(tmp_path, demos=False)) is catalogue
    barrier = threading.Barrier(4)

    def ask(_: int) -> int:
        barrier.wait()
        return id(catalogue.config("shared_bot"))

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    assert ran.read_text(encoding="utf-8") == "x"


def test_nobody_waits_for_an_agent_that_somebody_else_loads(tmp_path: Path, listing: str) -> None:
    """While a slow agent is imported, the list and the agents that are loaded already are there at once."""
    started, finish = tmp_path / "started.fifo", tmp_path / "finish.fifo"
    os.mkfifo(started)
    os.mkfifo(finish)
    source = (
        "from pathlib import Path\nfrom google.adk.agents import LlmAgent\n"
        f"Path({str(started)!r}).write_text('x')\nPath({str(finish)!r}).read_text()\n"
        "root_agent = LlmAgent(name='slow_bot')\n"
    )
    agents = bot(tmp_path / "bots", "slow_bot", source)
    catalogue = AgentCatalogue(AgentSettings(agents, listing, demos=False))
    ready = catalogue.config("order_desk")
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(catalogue.config, "slow_bot")
        started.read_text(encoding="utf-8")
        states = pool.submit(lambda: [entry.state for entry in catalogue.entries()])
        try:
            assert states.result(timeout=60) == ["unread", "ready"]
            assert pool.submit(catalogue.config, "order_desk").result(timeout=60) is ready
        finally:
            finish.write_text("x", encoding="utf-8")
        assert slow.result(timeout=60).name == "slow_bot"


def test_a_module_that_ours_hides_is_named(tmp_path: Path) -> None:
    """An agent that imports its project's own `evalset` gets ours; the list says which file to rename."""
    importlib.import_module("evalset")  # as in the process of an agent
    bot(tmp_path, "bot", "from evalset import made_here\n")
    (tmp_path / "evalset.py").write_text("made_here = 1\n", encoding="utf-8")
    (entry,) = AgentCatalogue(AgentSettings(agents_dir=tmp_path / "bot", demos=False)).load_all()
    assert entry.error is not None
    assert str((tmp_path / "evalset.py").resolve()) in entry.error
    assert "package 'evalset'" in entry.error


def finish_task(note: str) -> str:
    """Say that a task is done; a tool of the agent's own, whatever ADK calls one of its."""
    return note


def test_an_agent_tool_is_listed_and_runs_by_itself() -> None:
    """It can have rules and players like any tool; without one its agent runs, whoever answers all other tools.

    Tools that steer cannot be answered. ADK's own are told by name here, but for a tool of the agent's own.
    """
    specialist = LlmAgent(name="specialist", description="Knows.")
    directory = directory_of(LlmAgent(name="desk", tools=[AgentTool(specialist), finish_task]))
    session = SimulationSession(agent_name="desk", seats=Seats(tools={"*": "offline"}))
    assert "specialist" in known_tools(directory, session)
    assert tool_player(directory, session, "specialist") == "real"
    assert tool_player(directory, session, "finish_task") == "offline"
    seated = session.model_copy(update={"seats": Seats(tools={"specialist": "person"})})
    assert tool_player(directory, seated, "specialist") == "person"
    assert [steers(directory, name) for name in ("transfer_to_agent", "finish_task")] == [True, False]
