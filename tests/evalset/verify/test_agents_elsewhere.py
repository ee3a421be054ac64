"""Agents that another program runs: nobody asks it unless somebody chose so, and a replay never does.

A2A is not installed here: a class of that name stands for ADK's, whose own is met in `tests/interop`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalset.recorded.recorder import record
from evalset.verify import verify
from simulator import Seats, SimulatedAgentConfig, Simulation, called, said, transferred
from simulator.agents import AgentSettings, catalogue_for
from simulator.runtime import default_seats
from simulator.scripts import Script, play_script
from tests.evalset.replay.desk_agent import keep
from tests.evalset.verify.desks import the_run
from tests.harness.tiny_agent import write_agent

SOURCE = '''
from pathlib import Path

from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.events import Event
from google.adk.tools import AgentTool
from google.genai import types


class RemoteA2aAgent(BaseAgent):
    """Asks another machine."""

    __module__ = "google.adk.agents.remote_a2a_agent"

    async def _run_async_impl(self, ctx):
        with Path(MARKS).open("a") as marks:
            marks.write(f"{self.name} was asked\\n")
        said = types.Content(role="model", parts=[types.Part(text="It is 5.")])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=said)


prices = RemoteA2aAgent(name="prices", description="Knows prices.")
'''
WAYS = {
    "sub-agent": 'root_agent = LlmAgent(name="shop", model="gemini-2.5-flash", sub_agents=[prices])',
    "tool": 'root_agent = LlmAgent(name="shop", model="gemini-2.5-flash", tools=[AgentTool(prices)])',
    "step": 'root_agent = SequentialAgent(name="shop", sub_agents=[prices])',
}
PATIENCE = 60.0

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated in favor of Workflow:DeprecationWarning")


def shop(folder: Path, way: str) -> SimulatedAgentConfig:
    """Write a shop that asks for its prices in this way, and load it."""
    source = SOURCE.replace("MARKS", repr(str(folder / "marks")))
    write_agent(folder / "agents" / "shop", f"{source}\n{WAYS[way]}\n")
    return catalogue_for(AgentSettings(agents_dir=folder / "agents", demos=False)).config("shop")


def played(config: SimulatedAgentConfig, way: str, seats: Seats | None = None) -> Simulation:
    """Play a turn in which the shop asks for a price; a person who sits for the remote agent says 7."""
    simulation = Simulation.open(config, seats=seats) if seats else Simulation.open(config)
    assert simulation.query("What is A?", wait=PATIENCE)
    turns = {
        "sub-agent": [transferred("prices")],
        "tool": [called(("prices", {"request": "A?"}))],
        "step": [],
    }[way]
    while simulation.pending:
        (request,) = simulation.pending
        if request.agent == "prices":
            answer = said("It is 7.")
        else:
            answer = turns.pop(0) if turns else said("As they say.")
        assert simulation.answer(request, answer, wait=PATIENCE)
    assert simulation.session.turns[-1].ended
    return simulation


@pytest.mark.parametrize("way", WAYS)
def test_it_is_asked_once_where_somebody_chose_so(tmp_path: Path, way: str) -> None:
    """What it said is a fact: a session that is opened anew does not ask again."""
    config = shop(tmp_path, way)
    seats = Seats(agents={"*": "person", "prices": "model"}, tools={"*": "person"})
    simulation = played(config, way, seats)
    assert "It is 5." in str(simulation.session.turns[-1].events)
    again = Simulation.resume(simulation.journal, config)
    assert again.session.turns[-1].events == simulation.session.turns[-1].events
    assert (tmp_path / "marks").read_text() == "prices was asked\n"


MOVES: dict[str, list[Any]] = {
    "sub-agent": [{"agent": "shop", "transfer": "prices"}],
    "tool": [{"agent": "shop", "calls": [{"name": "prices", "args": {"request": "A?"}}]}],
    "step": [],
}


@pytest.mark.parametrize("otherwise", ["generate", "fail"])
@pytest.mark.parametrize("way", WAYS)
def test_a_script_asks_it_only_where_the_script_chose_so(tmp_path: Path, way: str, otherwise: str) -> None:
    """Where a line for it is missing, the script ends there and names it, whatever else is generated."""
    lines = {"otherwise": otherwise, "agent": "person", "turns": [{"say": "A?", "moves": MOVES[way]}]}
    config = shop(tmp_path, way)
    (waits,) = play_script(config, Script.model_validate(lines)).waits
    assert (waits.place, "prices" in waits.words) == (("turns", 0, "moves"), True)
    assert not (tmp_path / "marks").exists()
    chosen = {"shop": "person", "prices": "model"}
    last = [] if way != "tool" else [{"agent": "shop", "text": "5."}]
    turns = [{"say": "A?", "moves": [*MOVES[way], *last]}]
    assert play_script(config, Script.model_validate({**lines, "agent": chosen, "turns": turns})).came_through
    assert (tmp_path / "marks").read_text() == "prices was asked\n"


@pytest.mark.parametrize("way", WAYS)
def test_a_person_answers_for_it_where_nobody_chose_otherwise_and_then_the_recording(
    tmp_path: Path, way: str
) -> None:
    """Nothing is sent in the session or in a replay, and the events are its own; a replay fails where nothing was recorded of it."""
    config = shop(tmp_path, way)
    assert default_seats(config).of_agent("prices") == "person"
    simulation = played(config, way)
    assert "It is 7." in str(simulation.session.turns[-1].events)
    eval_set, folder = tmp_path / "shop.evalset.json", tmp_path / "agents"
    keep(simulation, eval_set, "one")
    facts = [fact for _, fact in simulation.journal.path()]
    record(eval_set, "one", simulation.session, facts, config.root_agent)
    if way == "step":
        assert verify(eval_set, agents_dir=folder, models="real").status == "passed"
    if way != "sub-agent":
        assert verify(eval_set, agents_dir=folder, models="recorded").status == "passed"
        source = folder / "shop" / "agent.py"
        source.write_text(source.read_text().replace('name="prices"', 'name="costs"'))
        run = the_run(verify(eval_set, agents_dir=folder, models="recorded"))
        assert (run.passed, run.divergence is None) == (False, False)
    assert not (tmp_path / "marks").exists()
