"""What the middle pane says of a turn: problems of the agent's parts, an end without an answer, what is expected."""

from __future__ import annotations

import json

from app.live.live_sessions import registry
from simulator.agents import demo_agent
from simulator.agents.agent_directory import directory_of
from simulator.facts import TurnEnded
from simulator.runtime import Simulation
from tests.app.fakes import AT, FakeSimulation, put_live, tool_request
from tests.app.page_driver import HOSTILE, Tab

ID = "session-0041-abcdef"


def test_a_problem_of_a_part_stands_where_decisions_are_made() -> None:
    """While a turn runs the newest problems are in the pane, letter for letter, and all of them in the notes; then there alone."""
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
    simulation.pending = ()
    simulation.give("c1").say("There.").end("There.")
    assert tab.run().keys("reports") == []
    assert "no connection" in tab.literal


def test_a_turn_without_an_answer_says_so() -> None:
    """Where the agent ended its turn silently, the pane says it above the next query; an answered turn, and none, do not."""
    simulation = FakeSimulation(ID)
    put_live(simulation)
    tab = Tab(ID)
    assert not tab.app.info
    simulation.ask("Where is it?").add(TurnEnded(at=AT + 2, turn=0, events=(), state={}))
    tab.run()
    assert tab.app.info
    assert tab.has("query_send")
    simulation.ask("Where?").say("There.").end("There.")
    assert not tab.run().app.info


def expenses() -> tuple[Simulation, Tab]:
    """A session of an agent with an input schema, before its first query."""
    config = demo_agent("expense_approver")
    simulation = Simulation.open(config)
    registry().add(simulation, config, directory_of(config.root_agent))
    return simulation, Tab(simulation.session.session_id)


def test_an_agent_with_an_input_schema_shows_its_form() -> None:
    """A text that ADK would end the turn for is refused with its place, and stays; the pane sends what the form holds as JSON."""
    simulation, tab = expenses()
    assert "employee_id" in tab.literal
    tab.choose("query_form_by_schema", "Text")
    wrong = '{"employee_id": "7"}'
    tab.fill("query_text_query", wrong).click("query_send")
    assert tab.app.error
    assert {"employee_id: ", "department: "} <= {
        line[: line.find(" ") + 1] for line in tab.literal.splitlines()
    }
    assert tab.app.text_area(key="query_text_query").value == wrong
    tab.choose("query_form_by_schema", "Form").click("query_send")
    assert [*simulation.session.turns] == []
    tab.fill("query_form:as", True).run()
    report = {
        "employee_id": "E-7",
        "department": "engineering",
        "lines": [{"category": "meals", "description": "Lunch", "amount": 12.0}],
    }
    tab.fill("json:query_form", json.dumps(report)).click("query_send")
    assert [turn.error for turn in simulation.session.turns] == [None]
    assert simulation.pending
