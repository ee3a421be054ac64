"""The environment data that an agent brings along: a file beside `agent.py`, or what its configuration says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.agent_config import AgentConfigError
from simulator.agents import AgentCatalogue, AgentSettings, demo_agent
from simulator.agents.agent_source import EnvironmentDataError, environment_data_of, source_digest
from simulator.agents.demos.expense_approver import tools as expense_tools
from simulator.agents.demos.order_desk import tools as order_tools
from simulator.agents.demos.travel_planner import tools
from simulator.environment.world.entities import read_tables
from simulator.facts import AgentSelected
from simulator.journal import Journal
from simulator.runtime import SimulationError
from simulator.runtime.errors import ContradictionError
from simulator.seats.requests import ToolRequest
from tests.simulator.runtime.stage import agent_of

AGENT = """
from google.adk.agents import LlmAgent

root_agent = LlmAgent(name="desk", model="gemini-2.5-flash")
"""
ORDERS = '{"orders": [{"order_id": "A-1", "status": "shipped"}]}'


def brought(folder: Path, name: str = "desk") -> str:
    """Return what a session of an agent in a folder of agents begins with."""
    config = AgentCatalogue(AgentSettings(agents_dir=folder, demos=False)).config(name)
    with Simulation.open(config) as session:
        return session.environment.now.data


def agents(folder: Path, **files: str) -> Path:
    """Write an agent with these files beside it, by their names' ends."""
    (folder / "desk").mkdir()
    (folder / "desk" / "agent.py").write_text(AGENT)
    for end, text in files.items():
        (folder / "desk" / f"environment_data.{end}").write_text(text)
    return folder


@pytest.mark.parametrize(
    "files", [{"json": ORDERS}, {"yaml": "orders:\n- order_id: A-1\n  status: shipped\n"}]
)
def test_a_file_beside_the_agent_is_the_data_of_its_sessions(tmp_path: Path, files: dict[str, str]) -> None:
    """It is read when a session begins, so that an edit of it counts for the next one; it is no source of the agent."""
    folder = agents(tmp_path, **files)
    digest = source_digest(folder / "desk")
    assert json.loads(brought(folder)) == json.loads(ORDERS)
    (folder / "desk" / f"environment_data.{next(iter(files))}").unlink()
    assert brought(folder) == ""
    assert source_digest(folder / "desk") == digest


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"json": '{"orders": [{"id": 1}, {"id": 1}]}'}, "row 2"),
        ({"json": '{"orders": '}, "line 1"),
        ({"yaml": "orders: [\n"}, "environment_data.yaml"),
    ],
)
def test_data_that_cannot_be_used_is_refused_by_its_file(
    tmp_path: Path, files: dict[str, str], words: str
) -> None:
    """The error names the file, and what is wrong where."""
    with pytest.raises(SimulationError, match=words) as refused:
        brought(agents(tmp_path, **files))
    assert str(tmp_path / "desk" / "environment_data.") in str(refused.value)


def test_a_configuration_says_its_data_itself(tmp_path: Path) -> None:
    """A text is the data; a path names a file of it, which has to be there."""
    agent: Any = agent_of([])
    assert environment_data_of(SimulatedAgentConfig("a", agent, "a.json", environment_data=ORDERS)) == ORDERS
    file = tmp_path / "shop.json"
    config = SimulatedAgentConfig("a", agent, "a.json", environment_data=file)
    with pytest.raises(EnvironmentDataError, match=r"shop\.json.*No such file"):
        environment_data_of(config)
    file.write_text(ORDERS)
    assert environment_data_of(config) == ORDERS
    unusable: Any = {"orders": []}
    with pytest.raises(AgentConfigError, match=r"environment_data\b.*\bdict"):
        SimulatedAgentConfig("a", agent, "a.json", environment_data=unusable)


def test_a_session_keeps_the_data_that_it_began_with() -> None:
    """Its journal holds it; what a person gives instead is a step that an undo takes back."""
    with Simulation.open(demo_agent("order_desk")) as session:
        data = session.environment.now.data
        assert session.view().undoes is None
        session.environment.give_data(ORDERS)
        assert session.environment.now.data == ORDERS
        session.undo()
        assert session.environment.now.data == data
        facts = [fact for _, fact in session.journal.path()]
    selected = next(fact for fact in facts if isinstance(fact, AgentSelected))
    assert selected.environment_data == data
    assert Journal(facts).session().environment.data == data


def tables(name: str) -> dict[str, list[Any]]:
    """Return the tables of a demo's data, which are read without a problem."""
    data = environment_data_of(demo_agent(name))
    assert read_tables(data).problems == ()
    found: dict[str, list[Any]] = json.loads(data)
    return found


def test_the_demos_data_says_what_their_tools_say() -> None:
    """The tools really run on the same orders, prices, budgets and cities."""
    desk, expenses, trips = map(tables, ("order_desk", "expense_approver", "travel_planner"))
    assert desk["orders"] == [*order_tools.ORDERS.values()]
    assert {one["sku"]: one["unit_price"] for one in desk["products"]} == order_tools.PRICES
    assert {one["customer_id"]: one["email"] for one in desk["customers"]} == order_tools.CUSTOMERS
    budgets = {one["department"]: one["remaining"] for one in expenses["departments"]}
    assert budgets == {department.value: left for department, left in expense_tools.BUDGETS.items()}
    limits = {one["category"]: one["limit"] for one in expenses["limits"]}
    assert limits == {category.value: most for category, most in expense_tools.LIMITS.items()}
    assert {one["city"]: one["code"] for one in trips["airports"]} == tools.AIRPORTS
    assert {one["city"]: one["country"] for one in trips["airports"]} == tools.COUNTRIES
    assert set(trips["visa_free_bloc"]) == tools._VISA_FREE_BLOC


def test_a_person_may_answer_other_than_the_data_that_the_agent_brings() -> None:
    """It is only a beginning: what is answered counts from then on, and nothing holds it up."""
    seats = Seats(agents={"*": "model"})
    with Simulation.open(demo_agent("order_desk"), seats=seats) as session:
        session.query("Where is order A-1001?")
        missing = {"error_code": 404, "error_message": "No order A-1001 exists."}
        session.answer(session.pending[0], missing)
        session.query("Where is order A-1001?")
        request = session.pending[0]
        assert isinstance(request, ToolRequest)
        assert request.draft == missing
        session.answer(request, {"order_id": "A-1001", "status": "shipped", "total": 12.5, "currency": "USD"})
        session.environment.give_data(session.environment.now.data)
        session.query("Where is order A-1002?")
        with pytest.raises(ContradictionError, match="the environment's data"):
            session.answer(session.pending[0], missing)
