"""ADK's own remote agent: with any google-adk that is supported it is asked only where somebody chose so."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.adk.agents import LlmAgent

from simulator import Seats, SimulatedAgentConfig, Simulation, said, transferred
from tests.simulator.runtime.stage import PATIENCE

PERSONS = {"*": "person"}


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """Another machine, which has no agent: its address, and the paths that were asked of it."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/card.json", paths
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("player", ["person", "model"])
def test_it_is_asked_where_somebody_chose_so(asked: tuple[str, list[str]], player: str) -> None:
    """Else a person answers in its place, and nothing is sent."""
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent  # noqa: PLC0415 - it warns that it is an experiment

    address, paths = asked
    remote = RemoteA2aAgent(name="prices", agent_card=address, description="Knows prices.")
    root = LlmAgent(name="shop", model="gemini-2.5-flash", sub_agents=[remote])
    config = SimulatedAgentConfig(name="shop", agent=root, eval_set_path="shop.evalset.json")
    seats = Seats(agents={**PERSONS, "prices": player}, tools=PERSONS)
    with Simulation.open(config, seats=seats) as simulation:
        simulation.query("What is A?", wait=PATIENCE)
        simulation.answer(simulation.pending[0], transferred("prices"), wait=PATIENCE)
        for request in simulation.pending:
            simulation.answer(request, said("It is 5."), wait=PATIENCE)
        assert simulation.session.turns[-1].ended
        authors = [event["author"] for event in simulation.session.turns[-1].events]
    assert authors[-1] == "prices"
    assert bool(paths) == (player == "model")
