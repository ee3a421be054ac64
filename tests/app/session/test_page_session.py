"""The page of a session: what is shown, what is asked of the simulation, and what survives."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from app.live.live_sessions import registry
from app.session.timeline_panel import PAGE_STEPS
from simulator.agents import demo_agent
from simulator.facts import Failed, Provenance, Returned, TurnEnded
from simulator.runtime import Simulation
from simulator.seats.requests import RunningCall
from simulator.session.commands import AnswerRequest, SetPlayer, StopTurn, Undo
from tests.app.desk_sessions import live_of, taken_in
from tests.app.fakes import AT, FakeSimulation, model_request, paused, put_live, rule, tool_request
from tests.app.page_driver import HOSTILE, Tab, live_marks


@pytest.mark.long
def test_a_command_that_fails_says_why_and_loses_nothing() -> None:
    """The reason stands on the page as it is; the typed text stays in its editor, also after a refresh, with the session."""
    simulation = paused()
    simulation.fails_with = HOSTILE
    tab = Tab("session-0001-abcdef")
    tab.fill("response_", '{"status": "mine"}').click(tab.key("accept_"))
    assert tab.app.error
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    refreshed = Tab("session-0001-abcdef")
    assert refreshed.session_id == "session-0001-abcdef"
    for each in (tab, refreshed):
        assert each.app.text_area(key=each.key("response_")).value == '{"status": "mine"}'


def test_of_several_drafts_the_page_says_which_were_not_taken() -> None:
    """Where one of the calls was answered meanwhile, the others are, which is told otherwise than that none was."""
    simulation = paused("session-0024-abcdef")
    simulation.pending = (tool_request("c1"), tool_request("c2"), tool_request("c3"))
    simulation.refuses = {"tool-c2": HOSTILE}
    tab = Tab("session-0024-abcdef").click("accept_all")
    answered = [each.key for each in simulation.asked if isinstance(each, AnswerRequest)]
    assert answered == ["tool-c1", "tool-c2", "tool-c3"]
    (in_part,) = [each.value for each in tab.app.error]
    assert "2 of 3" in tab.literal
    (refused,) = [line for line in tab.literal.splitlines() if line.startswith("Call 2")]
    assert refused.endswith(HOSTILE)
    assert tab.live_marks() == []
    simulation.fails_with = "no turn"
    tab.click("accept_all")
    (not_at_all,) = [each.value for each in tab.app.error]
    assert not_at_all != in_part
    refused_lines = [line for line in tab.literal.splitlines() if line.startswith("Call ")]
    assert [line[:6] for line in refused_lines if line.endswith("no turn")] == ["Call 1", "Call 2", "Call 3"]


def test_what_runs_is_shown_and_can_be_stopped() -> None:
    """While real tools and models run their names are on the page beside what waits, and Stop reaches the simulation; Stop and Undo do also while a person is asked.

    An answer that never arrived, or a step that was undone, may have done its work: the page warns of a second run.
    """
    simulation = FakeSimulation("session-0002-abcdef")
    simulation.busy = True
    put_live(simulation)
    begins = [Tab("session-0002-abcdef").words]
    simulation.ask("Where is order A-1?")
    begins.append(Tab("session-0002-abcdef").words)
    assert [("Ready" in words, "Running" in words) for words in begins] == [(False, True)] * 2
    simulation.call("c1", order_id="A-1")
    simulation.running = (
        RunningCall(kind="tool", key="tool-c1", name="find_order", since=time.time()),
        RunningCall(kind="model", key="model-1", name="helper", since=time.time()),
    )
    tab = Tab("session-0002-abcdef")
    assert "Running" in tab.words
    simulation.pending = (tool_request("c2"),)
    tab.run()
    assert "**find_order** is running" in tab.words
    assert "**helper** is running" in tab.words
    late = RunningCall(kind="tool", key="tool-c1", name="find_order", by="504", delay=10, since=time.time())
    simulation.running = (late, late.model_copy(update={"delay": None, "by": "Hangs", "key": "tool-c3"}))
    tab.run()
    assert "real tool" not in tab.words
    assert "Waiting 10 s: **504**" in tab.words
    assert "Waiting until the turn is stopped: **Hangs**" in tab.words
    assert tab.keys("response_")
    tab.click("stop_turn").click("stop_running")
    assert simulation.asked == [StopTurn()] * 2
    simulation = paused()
    tab = Tab("session-0001-abcdef").click("stop_turn").click("undo_step")
    assert simulation.asked == [StopTurn(), Undo()]
    assert not tab.app.warning
    simulation.pending = (tool_request("c1", may_have_run=True),)
    assert tab.run().app.warning


def test_no_text_from_outside_comes_alive() -> None:
    """Queries, arguments, answers, errors, rules, names and notes are all shown letter for letter, and so is what was searched for."""
    simulation = FakeSimulation("session-0003-abcdef").ask(HOSTILE).call("c1", tool=HOSTILE, value=HOSTILE)
    simulation.give("c1", Returned(value=HOSTILE), tool=HOSTILE)
    simulation.call("c2").give("c2", Failed(error_code=HOSTILE, error_message=HOSTILE))
    simulation.call("c3", tool=HOSTILE, value=HOSTILE)
    simulation.set_rules([rule(HOSTILE, tool_name=HOSTILE)])
    simulation.problems = (HOSTILE,)
    simulation.pending = (
        tool_request("c3", HOSTILE, description=HOSTILE, arguments={HOSTILE: HOSTILE}, draft={"a": HOSTILE}),
        tool_request("c4", HOSTILE, arguments={HOSTILE: HOSTILE}),
    )
    simulation.seen = model_request(response_schema={"description": HOSTILE})
    put_live(simulation)
    tab = Tab("session-0003-abcdef")
    for view in ("Rules", "State", "Model", "Seats"):
        tab.choose("context_view", view)
        assert tab.live_marks() == [], view
        assert HOSTILE in tab.literal
    tab.choose("timeline_view", "Conversation").fill("conversation_search", "bold").run()
    assert tab.keys("said_")
    assert tab.live_marks() == []


@pytest.mark.long
def test_the_check_itself_finds_live_text() -> None:
    """Text that was put into Markdown or a label without care is found by the check of the test before."""
    kinds = ("markdown", "caption", "error", "button", "expander", "badge", "toggle")
    code = "\n".join(["import streamlit as st", *(f"st.{kind}({HOSTILE!r})" for kind in kinds)])
    app = AppTest.from_string(code, default_timeout=60).run()
    found = live_marks(node for node in app._tree if node is not app._tree)
    assert len(found) == len(kinds), found


def test_a_long_history_is_drawn_in_pages() -> None:
    """Only the newest steps are drawn, so that more of them make no more elements; a click shows as many more."""
    sizes = []
    for calls in (30, 90):
        simulation = FakeSimulation("session-0004-abcdef").ask("A long one")
        for number in range(calls):
            simulation.call(f"c{number}", order_id=str(number)).give(f"c{number}")
        assert len(simulation.session.history) == 2 * calls + 1 > PAGE_STEPS
        put_live(simulation)
        tab = Tab("session-0004-abcdef")
        sizes.append(len(tab.nodes()))
        assert _steps(tab) == PAGE_STEPS
    assert sizes[0] == sizes[1]
    tab.click("show_earlier")
    assert _steps(tab) == 2 * PAGE_STEPS
    assert len(tab.nodes()) > sizes[1]


def test_no_button_hides_a_single_step() -> None:
    """It would be as high as the step, in the timeline and in the conversation."""
    simulation = FakeSimulation("session-0005-abcdef").ask("Go")
    for number in range(PAGE_STEPS // 2):
        simulation.call(f"c{number}", order_id=str(number)).give(f"c{number}")
    put_live(simulation)
    tab = Tab("session-0005-abcdef")
    assert (_steps(tab), tab.has("step_0"), tab.has("show_earlier")) == (PAGE_STEPS, True, False)
    tab.choose("timeline_view", "Conversation")
    assert (tab.has("said_0"), tab.has("show_earlier_said")) == (True, False)


def _steps(tab: Tab) -> int:
    return sum("find_order" in each.label for each in tab.app.expander if "\u00b7" in each.label)


def test_the_filter_keeps_what_it_says() -> None:
    """Errors shows the failed call alone; the context pane holds the session's state, and the last request's instruction."""
    simulation = FakeSimulation("session-0007-abcdef").ask("Refund me").call("c1").give("c1")
    simulation.call("c2", "refund_order")
    failed = Failed(error_code=503, error_message="busy")
    simulation.give("c2", failed, "refund_order", Provenance(source="injected", by="busy-rule"))
    simulation.say("There.").end("There.")
    simulation.seen = model_request()
    put_live(simulation)
    tab = Tab("session-0007-abcdef").choose("timeline_filter", "Errors")
    (label,) = [each.label for each in tab.app.expander if "failed" in each.label]
    assert "refund_order" in label
    assert ":red-badge[injected by busy" in label.replace("\u2060", "")
    assert not any("returned" in each.label for each in tab.app.expander)
    assert '"seen": 1' in tab.choose("context_view", "State").literal
    assert simulation.seen.system_instruction in tab.choose("context_view", "Model").literal


def test_the_sidebar_leads_from_session_to_session() -> None:
    """A session is named by its query at once; another one opens, a new one begins on the start page, and a closed one is gone."""
    first = FakeSimulation("session-0008-aaaaaa")
    put_live(first)
    other = paused("session-0009-bbbbbb")
    tab = Tab("session-0008-aaaaaa")
    assert tab.app.button(key="recent_session-0008-aaaaaa").label == "Order desk"
    first.ask("Which way?")
    assert "Which way" in tab.run().app.button(key="recent_session-0008-aaaaaa").label
    tab.click("recent_session-0009-bbbbbb")
    assert tab.session_id == "session-0009-bbbbbb"
    assert not tab.has("close_session-0009-bbbbbb")
    tab.in_menu("close", "session-0009-bbbbbb")
    assert "session" not in tab.app.query_params
    assert other.closed
    assert registry().get("session-0009-bbbbbb") is None
    assert registry().get("session-0008-aaaaaa") is not None


def test_a_seat_is_changed() -> None:
    """A choice in the seats view reaches the simulation once, and the page shows it from then on; real tools come with a warning."""
    simulation = paused()
    tab = Tab("session-0001-abcdef").choose("context_view", "Seats")
    for key, asked in (
        ("seat_agent_order_desk", SetPlayer(seat="agent", player="person", target="order_desk")),
        ("seat_tool_refund_order", SetPlayer(seat="tool", player="real", target="refund_order")),
    ):
        assert not tab.app.warning
        tab.fill(key, asked.player).run().run()
        assert [simulation.asked.pop(), *simulation.asked] == [asked]
        assert tab.app.selectbox(key=key).value == asked.player
    assert tab.app.warning


ID = "session-0071-abcdef"


def _long(calls: int) -> None:
    simulation = FakeSimulation(ID).ask("Check all orders")
    for number in range(calls):
        simulation.call(f"c{number}", order_id=f"A-{number}")
        simulation.give(f"c{number}", Returned(value={"status": "shipped", "carrier": f"Van {number}"}))
    put_live(simulation.say("All are on their way").end())


def test_it_shows_values_and_finds_one_among_many() -> None:
    """The newest entries stand there with arguments and responses; a search draws what contains its words, marked."""
    _long(60)
    tab = Tab(ID).choose("timeline_view", "Conversation")
    assert len(tab.keys("said_")) == 20
    assert {"order_id", "status", "carrier"} <= set(tab.words.split())
    assert "A-59\nshipped\nVan 59\n" in tab.literal
    assert "{" not in tab.literal
    assert "Van 17" not in tab.literal
    tab.fill("conversation_search", "VAN 17").run()
    assert len(tab.keys("said_")) == 1
    assert "Van 17" in tab.literal.split("\n")
    tab.fill("conversation_json", True)
    assert '"carrier": "Van 17"' in tab.run().literal
    assert ":orange-background[**Van 17**]" in tab.words
    assert f"1 of {len(live_of(ID).simulation.session.history)}" in tab.words
    tab.fill("conversation_search", "no such words").run()
    assert tab.keys("said_") == []
    tab.fill("conversation_search", "").run().click("show_earlier_said")
    assert len(tab.keys("said_")) == 40


SAYING = "session-0041-abcdef"


def test_a_problem_of_a_part_stands_where_decisions_are_made() -> None:
    """While a turn runs the newest problems are in the pane, letter for letter, and all of them in the notes; then there alone."""
    simulation = FakeSimulation(SAYING).ask("Where is it?").call("c1")
    simulation.pending = (tool_request("c1"),)
    simulation.problems = ("first", "second", "third", f"McpToolset: no connection {HOSTILE}")
    put_live(simulation)
    tab = Tab(SAYING)
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
    simulation = FakeSimulation(SAYING)
    put_live(simulation)
    tab = Tab(SAYING)
    assert not tab.app.info
    simulation.ask("Where is it?").add(TurnEnded(at=AT + 2, turn=0, events=(), state={}))
    tab.run()
    assert tab.app.info
    assert tab.has("query_send")
    simulation.ask("Where?").say("There.").end("There.")
    assert not tab.run().app.info


def test_an_agent_with_an_input_schema_shows_its_form() -> None:
    """A text that ADK would end the turn for is refused with its place, and stays; the pane sends what the form holds as JSON."""
    config = demo_agent("expense_approver")
    simulation = Simulation.open(config)
    tab = Tab(taken_in(simulation, config).session_id)
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
    shown = [str(getattr(one, "value", "")) for one in tab.block("message_foot") if one.type == "text"]
    assert any("department" in words for words in shown)
    tab.fill("query_form:as", True).run()
    report = {
        "employee_id": "E-7",
        "department": "engineering",
        "lines": [{"category": "meals", "description": "Lunch", "amount": 12.0}],
    }
    tab.fill("json:query_form", json.dumps(report)).click("query_send")
    assert [turn.error for turn in simulation.session.turns] == [None]
    assert simulation.pending
