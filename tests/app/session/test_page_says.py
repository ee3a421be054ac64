"""What the middle pane says of a turn: problems of the agent's parts, an end without an answer, what is expected."""

from __future__ import annotations

import json

import pytest

from app.live.live_sessions import registry
from simulator.agents import demo_agent
from simulator.agents.agent_directory import directory_of
from simulator.facts import TurnEnded
from simulator.runtime import Simulation
from tests.app.fakes import AT, FakeSimulation, put_live, tool_request
from tests.app.page_driver import HOSTILE, Tab

ID = "session-0041-abcdef"
NO_ANSWER = "The agent ended this turn without a reply."


def test_a_problem_of_a_part_stands_where_decisions_are_made() -> None:
    """While a turn runs the newest problems are in the pane, letter for letter, and all of them in the notes."""
    simulation = FakeSimulation(ID).ask("Where is it?").call("c1")
    simulation.pending = (tool_request("c1"),)
    simulation.problems = ("first", "second", "third", f"McpToolset: no connection {HOSTILE}")
    put_live(simulation)
    tab = Tab(ID)
    assert tab.keys("reports") == ["reports"]
    shown = [each.value for each in tab.app.code]
    assert shown[:3] == [f"McpToolset: no connection {HOSTILE}", "third", "second"]
    assert [each.value for each in tab.app.text if each.value in simulation.problems] == list(
        simulation.problems
    )
    assert tab.live_marks() == []


def test_a_problem_leaves_the_pane_with_its_turn() -> None:
    """After the turn the pane is for the next query, and the problem is in the notes alone."""
    simulation = FakeSimulation(ID).ask("Where is it?").say("There.").end("There.")
    simulation.problems = ("no connection",)
    put_live(simulation)
    tab = Tab(ID)
    assert tab.keys("reports") == []
    assert "no connection" in tab.literal


def test_a_turn_without_an_answer_says_so() -> None:
    """Where the agent ended its turn silently, the pane says it above the next query, and asks for one."""
    simulation = FakeSimulation(ID).ask("Where is it?")
    simulation.add(TurnEnded(at=AT + 2, turn=0, events=(), state={}))
    put_live(simulation)
    tab = Tab(ID)
    assert NO_ANSWER in tab.words
    assert tab.has("query_send")


@pytest.mark.parametrize("ends", ["answer", "new"])
def test_other_ends_are_told_otherwise(ends: str) -> None:
    """An answered turn, and a session without a turn, do not say that an answer is missing."""
    simulation = FakeSimulation(ID)
    if ends == "answer":
        simulation.ask("Where?").say("There.").end("There.")
    put_live(simulation)
    assert NO_ANSWER not in Tab(ID).words


def expenses() -> tuple[Simulation, Tab]:
    """A session of an agent with an input schema, before its first query."""
    config = demo_agent("expense_approver")
    simulation = Simulation.open(config)
    registry().add(simulation, config, directory_of(config.root_agent))
    return simulation, Tab(simulation.session.session_id)


def test_an_agent_with_an_input_schema_shows_its_form() -> None:
    """The pane says that JSON is expected, shows the schema, and sends what the form holds as JSON."""
    simulation, tab = expenses()
    assert "must be a JSON object" in tab.words
    assert "employee_id" in tab.literal
    tab.click("query_send")
    assert not simulation.session.turns
    tab.app.toggle(key=tab.key("query_form:as")).set_value(True)
    tab.run()
    report = {
        "employee_id": "E-7",
        "department": "engineering",
        "lines": [{"category": "meals", "description": "Lunch", "amount": 12.0}],
    }
    tab.app.text_area(key=tab.key("json:query_form")).input(json.dumps(report))
    tab.click("query_send")
    (turn,) = simulation.session.turns
    assert turn.error is None
    assert simulation.pending


def test_a_message_that_does_not_fit_is_not_sent() -> None:
    """What ADK would end the turn for is refused before, with the place, and the text stays to be mended."""
    simulation, tab = expenses()
    tab.choose("query_form_by_schema", "Text")
    tab.app.text_area(key="query_text_query").input('{"employee_id": "7"}')
    tab.click("query_send")
    assert "The message was not sent" in tab.words
    assert "employee_id: " in tab.literal
    assert "department: Field required" in tab.literal
    assert simulation.session.turns == ()
    assert tab.app.text_area(key="query_text_query").value == '{"employee_id": "7"}'
