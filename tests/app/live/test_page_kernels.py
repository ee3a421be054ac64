"""An agent whose project has an environment of its own plays, exports and verifies on the page as any other does."""

from __future__ import annotations

import shutil
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.evalsets.workspace import workspaces
from app.live import agent_catalogue
from app.live.agent_catalogue import catalogue, take_new_code
from app.live.live_sessions import LiveSession
from app.screens import start_page
from app.server.owners import LOCAL, Visitor
from evalset.verify.results import VERDICTS
from simulator.agents.agent_settings import chosen_python, project_python
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.seats.answers import called
from tests.app.desk_sessions import live_of
from tests.app.evalsets.set_tabs import SetTab
from tests.app.page_driver import Tab
from tests.harness.tiny_agent import write_tiny_eval_set
from tests.simulator.kernel.projects import PATIENCE, project, until

pytestmark = pytest.mark.process


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tab]:
    """The start page with one agent, in a project that is called `app` as Google's own are."""
    home = project(tmp_path / "agents", name="app")
    monkeypatch.setattr(
        "sys.argv", ["main.py", "--agents-dir", str(home), "--no-demos", "--python", sys.executable]
    )
    catalogue().load_all()
    yield Tab()
    config = catalogue().config("app")
    assert isinstance(config, KernelAgentConfig)
    config.kernels.end()


def _started(start: Tab, query: str = "") -> LiveSession:
    """Start a session of the agent; return it once its query has come to something."""
    live = live_of(start.fill("start_query", query).click("start_session").session_id)
    view = live.simulation.view
    until(live.simulation, lambda: bool(not query or view().pending or view().problems) and not view().busy)
    start.run()
    return live


@pytest.mark.long
@pytest.mark.usefixtures("no_key")
def test_models_are_looked_for_where_the_agent_asks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in the agent's `.env` makes a model usable for its user, its environment and its criteria; what it lacks is named."""
    home = project(tmp_path / "agents")
    (home / "desk" / ".env").write_text("GOOGLE_API_KEY=nobody-has-this-one\n")
    monkeypatch.setattr(
        "sys.argv", ["main.py", "--agents-dir", str(home), "--no-demos", "--python", sys.executable]
    )
    catalogue().load_all()
    config = catalogue().config("desk")
    assert isinstance(config, KernelAgentConfig)
    try:
        tab = Tab().choose("start_from", "Scenario")
        _asks_its_own(tab, "model_start")
        live = _started(tab.choose("start_from", "Message"))
        tab.choose("context_view", "Seats").fill("seat_user", "scenario").run()
        _asks_its_own(tab, "model_user")
        tab.click("open_environment").choose("environment_tab", "Sources").choose("sources_part", "Model")
        _asks_its_own(tab, "model_name")
        live.simulation.environment.change(simulation_model="gemini-2.5-flash")
        tab.choose("environment_tab", "Connections")
        assert tab.has("analysis_ask")
        assert "cannot be used" not in tab.literal
        criteria = _criteria(write_tiny_eval_set(home / "desk" / "sums.evalset.json"), "gemini-2.5-flash")
        assert not [each for each in criteria.app.warning if "Unavailable" in each.value]
        criteria = _criteria(criteria.path, "claude-sonnet-4")
        assert any("the agent's process" in each.value for each in criteria.app.warning)
        assert "the model claude-sonnet-4" in criteria.literal
    finally:
        config.kernels.end()


def _criteria(eval_set: Path, judge: str) -> SetTab:
    workspace = workspaces().of(LOCAL, eval_set)
    workspace.options["agent"] = "desk"
    judged: Any = {"threshold": 0.5, "judge_model_options": {"judge_model": judge}}
    workspace.criteria.take({"criteria": {"safety_v1": 0.5, "hallucinations_v1": judged}})
    return SetTab("run.adk_eval_tab", eval_set)


def _asks_its_own(tab: Tab, field: str) -> None:
    tab.fill(field, "gemini-2.5-flash").run()
    assert "needs a key" not in tab.literal
    tab.fill(field, "claude-sonnet-4").run()
    assert "the model claude-sonnet-4" in tab.literal


@pytest.mark.long
def test_an_import_that_takes_long_is_stopped_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says when it is given up; stopped, it stands with its error, and can be loaded again."""
    home = project(tmp_path / "agents", "import threading\nthreading.Event().wait()\n", "hangs")
    monkeypatch.setattr(agent_catalogue, "LOADS_NONE_HERE", True)
    monkeypatch.setattr(start_page, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr("sys.argv", ["main.py", "--agents-dir", str(home), "--no-demos"])
    tab = Tab()
    for _ in range(int(PATIENCE)):
        tab.run()
        if tab.has("stop_loading_hangs"):
            break
    assert any("60 s" in caption.value for caption in tab.app.caption)
    tab.click("stop_loading_hangs")
    agent_catalogue._threads[catalogue(), ""].join(PATIENCE)
    tab.run()
    assert "stopped" in str(catalogue().entries()[0].error)
    assert tab.has("agents_again")


@pytest.mark.long
def test_a_session_whose_process_ends_over_its_first_query_says_so(start: Tab) -> None:
    """The page goes to the session, and says what has ended and what can be done."""
    assert _started(start, "exit").simulation.view().problems
    assert len(start.app.error) == 1
    assert any("exit code 3" in code.value for code in start.app.code)


CHANGES = (
    ("tools=[find_order]", "tools=[find_order, cancel_order]"),
    ("Looks after orders.", "Cancels orders, too."),
    ("def before(", "def cancel_order(order_id: str) -> dict:\n    return {}\n\n\ndef before("),
    ("    words = ", "    return types.Content(role='model', parts=[])\n    words = "),
)
"""Another tool, another description, and an agent that says nothing."""


@pytest.mark.long
def test_new_code_is_taken_and_a_divergence_is_shown(start: Tab, tmp_path: Path) -> None:
    """The offer comes once the files have changed, and goes once they are loaded; new tools stand in the lists, and the session says where it fits no more.

    The studio itself never imports the agent.
    """
    live = _started(start, "Where is A1?")
    assert isinstance(live.config, KernelAgentConfig)
    assert isinstance(live.simulation, RemoteSimulation)
    assert "app.agent" not in sys.modules
    simulation = live.simulation
    (asked,) = simulation.view().pending
    assert simulation.answer(asked, called(("find_order", {"order_id": "A1"})), wait=PATIENCE)
    start.run()
    assert not start.has("restart_with_new_code")
    before = len(simulation.journal.path())
    code = tmp_path / "agents" / "app" / "agent.py"
    text = code.read_text()
    for old, new in CHANGES:
        text = text.replace(old, new)
    code.write_text(f"from google.genai import types\n{text}")
    _looks_again(live)
    start.run()
    first = live.config.kernels.kernel().process_id
    start.click("restart_with_new_code")
    assert live.config.kernels.kernel().process_id != first
    until(simulation, lambda: simulation.view().divergence is not None)
    start.run()
    assert not start.has("restart_with_new_code")
    assert len(start.app.error) == 1
    assert len(simulation.journal.path()) == before
    assert {tool.name for tool in live.directory.tools} == {"find_order", "cancel_order"}
    assert catalogue().entries()[0].description == "Cancels orders, too."


@pytest.mark.parametrize(
    ("named", "file"),
    [
        pytest.param("", "desk/agent.py", marks=pytest.mark.long),
        ("desk", "desk/agent.py"),  # the folder is the agent
        pytest.param("", "desk.py", marks=pytest.mark.long),
    ],
)
def test_a_new_session_begins_with_the_code_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, file: str
) -> None:
    """Sessions that are open keep what their process has loaded; one process serves all that begin with the same code."""
    home = project(tmp_path / "agents")
    if file == "desk.py":
        (home / "desk" / "agent.py").rename(home / file)
        shutil.rmtree(home / "desk")
    monkeypatch.setattr(
        "sys.argv", ["main.py", "--agents-dir", str(home / named), "--no-demos", "--python", sys.executable]
    )
    catalogue().load_all()
    code = home / file
    old = code.read_text()
    first = _started(Tab())
    code.write_text(old.replace("Looks after", "Cancels"))
    second, third = _started(Tab()), _started(Tab())
    code.write_text(old)
    take_new_code(second)
    fourth = _started(Tab())
    code.write_text("root_agent = missing")
    tab = Tab().click("start_session")
    assert "missing" in tab.literal
    kernels = []
    for live in (first, second, third, fourth):
        assert isinstance(live.config, KernelAgentConfig)
        kernels.append(live.config.kernels)
    assert [kernel is kernels[1] for kernel in kernels] == [False, True, True, True]
    described = [str(each.last_outline) for each in kernels[:2]]
    assert ["Looks after orders." in each for each in described] == [True, True]
    code.write_text(old)
    for each in kernels[:2]:
        each.end()


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("order_id", "order", "turn 1: the tool 'find_order' does not accept these arguments: "),
        ("find_order", "look_up", "turn 1: the tool 'find_order' is no longer declared"),
        (
            "order_id: str",
            "order: str = ''",
            "turn 1: the tool 'find_order' does not accept these arguments: $: 'order_id' is unknown: its",
        ),
        ("Find an order", "Find one order", ""),
    ],
)
def test_recorded_calls_that_the_new_tools_do_not_accept_are_named(
    start: Tab, tmp_path: Path, old: str, new: str, says: str
) -> None:
    """The page says it in the words of verify, as long as the session holds the call; another description is no such change."""
    live = _started(start, "Where is A1?")
    simulation = live.simulation
    for answer in (called(("find_order", {"order_id": "A1"})), {"status": "found"}):
        (asked,) = simulation.view().pending
        assert simulation.answer(asked, answer, wait=PATIENCE)
    code = tmp_path / "agents" / "app" / "agent.py"
    code.write_text(code.read_text().replace(old, new))
    _looks_again(live)
    start.run().click("restart_with_new_code")
    until(simulation, lambda: not simulation.view().busy)
    title = VERDICTS["environment_changed"]
    assert (title in start.run().words) == bool(says)
    assert not says or any(each.value.startswith(says) for each in start.app.code)
    if says:
        start.click("before_misfit")
    until(simulation, lambda: not simulation.view().busy)
    assert title not in start.run().words
    assert simulation.view().session.turns, "the message of the user stays"


@pytest.mark.long
@pytest.mark.parametrize("query", ["", "Where is A1?"])
def test_new_code_that_cannot_be_loaded_is_said(start: Tab, tmp_path: Path, query: str) -> None:
    """The offer stays, and a call that waits is not lost: once the code is right, the session goes on with it."""
    live = _started(start, query)
    code = tmp_path / "agents" / "app" / "agent.py"
    loadable = code.read_text()
    for text in ("root_agent = missing", "root_agent = missing_too"):
        code.write_text(text)
        _looks_again(live)
        start.run().click("restart_with_new_code")
        assert any("missing" in each.value for each in start.app.code)
        assert len(start.app.error) == 1
    code.write_text(loadable + "\n")
    _looks_again(live)
    start.run().click("restart_with_new_code")
    view = live.simulation.view
    until(live.simulation, lambda: not view().busy and bool(view().pending) == bool(query))
    assert not start.run().app.error


def _looks_again(live: LiveSession) -> None:
    """Let the last look at the agent's files count no more."""
    assert isinstance(live.config, KernelAgentConfig)
    agent_catalogue._looked.pop(live.config.kernels, None)


@pytest.mark.long
def test_another_python_is_chosen_kept_and_given_up(start: Tab, tmp_path: Path) -> None:
    """The agent is loaded with it, and again with that of its project; a path of nothing is said."""
    home = tmp_path / "elsewhere"
    venv.create(home, with_pip=False)
    (installed,) = home.glob("lib/python*/site-packages")
    (installed / "these.pth").write_text(
        "\n".join(each for each in sys.path if each.endswith("site-packages")) + "\n"
    )
    agent = tmp_path / "agents" / "app"
    start.unfold("python_of_app")
    start.fill("python_path_app", str(tmp_path / "nothing")).run()
    start.click("python_use_app")
    assert any("interpreter not found" in code.value for code in start.app.code)
    start.fill("python_path_app", str(home)).run()
    start.click("python_use_app")
    assert chosen_python(agent) == home / "bin" / "python"
    entry = catalogue().load("app")
    assert isinstance(entry.config, KernelAgentConfig)
    assert entry.config.kernels.python == home / "bin" / "python"
    assert project_python(agent) == home / "bin" / "python"
    start.unfold("python_of_app").click("python_own_app")
    assert chosen_python(agent) is None
    again = catalogue().load("app").config
    assert isinstance(again, KernelAgentConfig)
    assert again.kernels.python == Path(sys.executable)
    for one in (entry.config, again):
        one.kernels.end()


def test_nobody_chooses_a_python_on_a_server_of_several_people(
    start: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be any program of the machine."""
    assert start.keys("python_of_app")
    monkeypatch.setattr(start_page, "visitor", lambda: Visitor(owner="somebody"))
    start.run()
    assert not start.keys("python_of_app")
