"""Small agent projects on disk, and sessions with them that a kernel plays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from simulator.agents.agent_folder import AgentFolder
from simulator.kernel.kernel_agent import KernelAgentConfig, KernelLoader
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.runtime.commanding import Commanding
from simulator.session import Seats
from tests.harness.processes import wait_until

PATIENCE = 60.0
PERSON = Seats(agents={"*": "person"}, tools={"*": "person"})

DESK = '''
import os
import time
from pathlib import Path

from google.adk.agents import LlmAgent

def find_order(order_id: str) -> dict:
    """Find an order by its id."""
    state = {"A1": "shipped", "A2": "packed"}.get(order_id)
    Path(__file__).with_name("ran.txt").write_text(order_id)
    if state is None:
        return {"status": "error", "message": f"There is no order {order_id}."}
    return {"status": "success", "order": {"id": order_id, "state": state}}


def before(callback_context):
    """Do what the user's words say; the page shall not notice."""
    words = callback_context.user_content.parts[0].text.split()
    print("the agent prints", words)
    if words[0] == "sleep":
        time.sleep(float(words[1]))
    while words[0] == "hold" and not Path(__file__).with_name("let_go").exists():
        time.sleep(0.02)
    if words[0] == "exit":
        os._exit(3)
    while words[0] == "spin":
        pass


root_agent = LlmAgent(
    name="desk",
    description="Looks after orders.",
    model="gemini-2.5-flash",
    instruction="Help with orders.",
    tools=[find_order],
    before_agent_callback=before,
)
'''


def project(home: Path, source: str = DESK, name: str = "desk") -> Path:
    """Write an agent's project; return the folder of agents that it is in."""
    (home / name).mkdir(parents=True)
    (home / name / "agent.py").write_text(source)
    return home


def config_of(home: Path, name: str = "desk", python: str = sys.executable) -> KernelAgentConfig:
    """Load an agent in a kernel."""
    load = KernelLoader(Path(python)).of_folder(AgentFolder(home), name)
    assert load is not None
    config = load.work(anew=False)
    assert isinstance(config, KernelAgentConfig)
    return config


def begun(config: KernelAgentConfig) -> RemoteSimulation:
    """Open a session in which a person plays everybody."""
    return RemoteSimulation.open(config, seats=PERSON, seed="seed")


def greeted(config: KernelAgentConfig) -> RemoteSimulation:
    """Open such a session in which the user has said hello, and the agent is to speak."""
    simulation = begun(config)
    assert simulation.query("Hello", wait=PATIENCE)
    assert simulation.pending
    return simulation


def let_go(home: Path) -> None:
    """Let the agent's code go on that was asked to hold."""
    (home / "desk" / "let_go").touch()


def until(simulation: Commanding, holds: Callable[[], bool]) -> None:
    """Wait for something to become true in a session."""
    try:
        wait_until(holds, what="the session", seconds=PATIENCE)
    except AssertionError:
        raise AssertionError(simulation.view()) from None


def until_gone(process: int) -> None:
    """Wait for a process to end."""
    wait_until(lambda: not Path(f"/proc/{process}").exists(), what=f"the end of {process}", seconds=PATIENCE)
