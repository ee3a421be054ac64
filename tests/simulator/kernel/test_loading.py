"""Where kernels load everything, this process imports no agent's code: agents of folders, files of configs, and the demos."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator.agents import DEMOS, AgentCatalogue, AgentSettings
from simulator.agents.agent_directory import UnfitMessageError
from simulator.agents.agent_fingerprint import under_earlier_name
from simulator.kernel import agent_kernels, kernel_agent
from simulator.kernel.kernel_agent import KernelAgentConfig, KernelLoader, model_problem
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.seats.answers import said
from tests.harness.processes import wait_until
from tests.harness.talking_agent import write_talking_agent
from tests.simulator.kernel.projects import DESK, PATIENCE, PERSON, begun, config_of, greeted, project

pytestmark = pytest.mark.process

_FILE = """
from google.adk.agents import LlmAgent

from simulator.agent_config import SimulatedAgentConfig

AGENTS = [
    SimulatedAgentConfig(name, LlmAgent(name=name, model="gemini-2.5-flash", description=f"Is {name}."), "sets/x.evalset.json")
    for name in ("first", "desk")
]
"""


def catalogue_of(**settings: object) -> AgentCatalogue:
    """Make one whose agents are all loaded in kernels."""
    given = AgentSettings(**{"demos": False, **settings})  # type: ignore[arg-type] # what each test gives
    return AgentCatalogue(given, KernelLoader(everything=True))


@pytest.fixture
def ended() -> Iterator[list[AgentCatalogue]]:
    """Catalogues whose kernels are ended after a test."""
    made: list[AgentCatalogue] = []
    yield made
    for entry in (entry for each in made for entry in each.entries()):
        if isinstance(entry.config, KernelAgentConfig):
            entry.config.kernels.end()


def of_kernel(agents: AgentCatalogue, name: str) -> KernelAgentConfig:
    """Return an agent that is in a kernel."""
    config = agents.config(name)
    assert isinstance(config, KernelAgentConfig)
    return config


def test_a_file_that_fails_says_what_it_says_here_and_is_run_again(
    tmp_path: Path, ended: list[AgentCatalogue]
) -> None:
    """With the line, and once it is mended its agents are there."""
    file = tmp_path / "mended.py"
    file.write_text("AGENTS = [nobody]\n")
    here = AgentCatalogue(AgentSettings(agents_file=str(file), demos=False)).load_all()
    ended.append(agents := catalogue_of(agents_file=str(file)))
    assert agents.load_all() == here
    assert "NameError" in str(here[0].error)
    file.write_text(_FILE)
    agents.refresh()
    assert [entry.state for entry in agents.load_all()] == ["ready", "ready"]


@pytest.mark.parametrize("imports", ["from .orders import find_order", "from orders import find_order"])
def test_an_agent_in_a_folder_named_agent_loads(tmp_path: Path, imports: str) -> None:
    """The kernel works in that folder, where Python finds its `agent.py` by the folder's name: that is no other package."""
    home = project(tmp_path, f"{imports}\n{DESK.replace('def find_order', 'def other')}", "agent")
    (home / "agent" / "orders.py").write_text('def find_order(order_id: str) -> dict:\n    """Find."""\n')
    config = config_of(home / "agent", "agent")
    assert config.root_agent.name == "desk"
    config.kernels.end()


def test_the_demos_play_with_their_data(ended: list[AgentCatalogue]) -> None:
    """As they do in this process. An input schema is held to by the agent's own code: the approver's takes words too."""
    ended.append(agents := catalogue_of(demos=True))
    assert [entry.state for entry in agents.load_all()] == ["ready"] * len(DEMOS)
    simulation = begun(of_kernel(agents, "order_desk"))
    assert simulation.environment.world().given.tables
    simulation.close()
    approver = of_kernel(agents, "expense_approver")
    approver.check_message("E-7 of engineering: hotel 180 EUR and dinner 75 EUR")
    with pytest.raises(UnfitMessageError, match="employee_id"):
        approver.check_message('{"department": "engineering"}')


def test_a_model_is_looked_for_where_the_agent_is(tmp_path: Path, ended: list[AgentCatalogue]) -> None:
    """The agent's module knows `talker-1`, which this process does not; a name that nobody knows is told."""
    write_talking_agent(tmp_path / "agents")
    ended.append(agents := catalogue_of(agents_dir=tmp_path / "agents"))
    config = of_kernel(agents, "talking")
    assert model_problem("talker-1", config) is None
    assert "nobody-knows-me" in (model_problem("nobody-knows-me", config) or "")


def test_a_file_that_is_still_read_keeps_nothing_else_waiting(
    tmp_path: Path, ended: list[AgentCatalogue]
) -> None:
    """Where agents lie is known without it, and those of the folder are loaded."""
    told = tmp_path / "told"
    file = tmp_path / "waits.py"
    file.write_text(
        f"from pathlib import Path\nfrom time import sleep\nwhile not Path({str(told)!r}).exists():\n    sleep(0.02)\n{_FILE}"
    )
    home = project(tmp_path / "agents")
    ended.append(agents := catalogue_of(agents_dir=home, agents_file=str(file), demos=True))
    with ThreadPoolExecutor() as executor:
        asked = executor.submit(
            lambda: (
                [agents.place(name) for name in ("desk", str(file), "order_desk")],
                agents.load("desk").state,
                agents.config("desk").app_name,
                agents.config("order_desk", as_listed=True).app_name,
            )
        )
        try:
            assert asked.result(PATIENCE) == ([home / "desk", file, None], "ready", "desk", "order_desk")
            assert str(file) in [entry.name for entry in agents.entries()]
        finally:
            told.touch()
    assert "first" in [entry.name for entry in agents.load_all()]


def test_an_import_that_hangs_is_stopped_and_begun_again(tmp_path: Path, ended: list[AgentCatalogue]) -> None:
    """Meanwhile the others are loaded; only so many at once."""
    home = project(tmp_path, "import threading\nthreading.Event().wait()\n", "hangs")
    project(tmp_path, DESK)
    ended.append(agents := catalogue_of(agents_dir=home))
    thread = threading.Thread(target=agents.load_all)
    thread.start()
    assert agents.load("desk").state == "ready"
    wait_until(lambda: "hangs" in agents.loading(), what="the import", seconds=PATIENCE)
    assert agents.loading(seconds=3600) == frozenset()
    agents.stop("hangs")
    thread.join(PATIENCE)
    assert not thread.is_alive()
    (failed,) = [entry for entry in agents.entries() if entry.name == "hangs"]
    assert failed.error == agent_kernels._STOPPED
    (home / "hangs" / "agent.py").write_text(DESK)
    agents.refresh()
    assert agents.load("hangs").state == "ready"


@pytest.mark.long
def test_of_many_agents_few_processes_stay(
    tmp_path: Path, ended: list[AgentCatalogue], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that a session is played in stays; the others are started again for theirs."""
    monkeypatch.setattr(kernel_agent, "MOST_RESTING", 1)
    for number in range(3):
        project(tmp_path, DESK, f"desk_{number}")
    ended.append(agents := catalogue_of(agents_dir=tmp_path))
    first = of_kernel(agents, "desk_0")
    simulation = begun(first)
    configs = [entry.config for entry in agents.load_all()]
    alive = [isinstance(each, KernelAgentConfig) and each.kernels.running is not None for each in configs]
    assert alive[0]
    assert sum(alive) == 2
    simulation.query("Hello", wait=PATIENCE)
    assert simulation.pending
    ended_one = configs[alive.index(False)]
    assert isinstance(ended_one, KernelAgentConfig)
    begun(ended_one).close()
    assert ended_one.kernels.running is not None


def test_a_renamed_agent_goes_on_in_its_kernel(tmp_path: Path, ended: list[AgentCatalogue]) -> None:
    """Under the name that the journal has for it."""
    home = project(tmp_path, DESK.replace('name="desk"', 'name="old"'), "old")
    ended.append(agents := catalogue_of(agents_dir=home))
    old = of_kernel(agents, "old")
    simulation = RemoteSimulation.open(old, seats=PERSON)
    simulation.query("Hello", wait=PATIENCE)
    journal = simulation.journal
    simulation.close()
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new" / "agent.py").write_text(DESK.replace('name="desk"', 'name="new"'))
    renamed = under_earlier_name(agents.config("new"), "old", "old", spoke=("old",))
    assert isinstance(renamed, KernelAgentConfig)
    again = RemoteSimulation.resume(journal, renamed, wait=PATIENCE)
    assert [request.agent for request in again.pending if request.kind == "model"] == ["old"]
    again.close()
    old.kernels.end()


def test_an_agent_may_set_handlers_of_signals_when_it_is_imported(
    tmp_path: Path, ended: list[AgentCatalogue]
) -> None:
    """An agent of a folder and one of a file, which have the same name; the handler runs, and one that raises ends nothing.

    Each plays under the name that the list has for it, and nothing of them is imported here.
    """
    sets = """
import os, signal
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, handler)
def before(callback_context):
    os.kill(os.getpid(), signal.SIGUSR1)
"""
    home = project(tmp_path / "agents", DESK.replace("def before(", f"{sets}\n\ndef unused("))
    file = tmp_path / "configs_with_signals.py"
    file.write_text(f"{sets}{_FILE}")
    ended.append(agents := catalogue_of(agents_dir=home, agents_file=str(file)))
    assert {entry.name: entry.error for entry in agents.load_all()} == {
        "desk": None,
        "first": None,
        "desk (file)": None,
    }
    of_file = of_kernel(agents, "desk (file)")
    assert of_file.resolve_eval_set_path() == Path.cwd() / "sets" / "x.evalset.json"
    assert of_file.kernels.running is None
    assert greeted(of_file).session.agent_name == "desk (file)"
    files = [getattr(known, "__file__", None) or "" for known in [*sys.modules.values()]]
    assert not any(str(tmp_path) in file for file in files)
    config = of_kernel(agents, "desk")
    simulation = greeted(config)
    process = config.kernels.kernel().process_id
    simulation.answer(simulation.pending[0], said("Hello!"), wait=PATIENCE)
    assert simulation.session.turns[0].ended
    config.kernels.restart()
    assert config.kernels.kernel().process_id != process
