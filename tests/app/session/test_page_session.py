"""The page of a session: what is shown, what is asked of the simulation, and what survives."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from app.live.live_sessions import registry
from app.session.timeline_panel import PAGE_STEPS
from simulator.facts import Failed, Provenance, Returned
from simulator.seats.answers import ToolAnswer
from simulator.seats.requests import RunningCall
from tests.app.fakes import FakeSimulation, model_request, paused, put_live, rule, tool_request
from tests.app.page_driver import HOSTILE, Tab, live_marks


def running() -> FakeSimulation:
    """A session in which a real tool runs."""
    simulation = FakeSimulation("session-0002-abcdef").ask("Where is order A-1?").call("c1", order_id="A-1")
    simulation.busy = True
    simulation.running = (RunningCall(kind="tool", key="tool-c1", name="find_order", since=time.time()),)
    put_live(simulation)
    return simulation


def test_accepting_the_draft_answers_the_call() -> None:
    """One click hands the draft to the simulation, marked as a draft that was taken as it is."""
    simulation = paused()
    tab = Tab("session-0001-abcdef")
    tab.click(tab.key("accept_"))
    (asked,) = simulation.asked
    assert asked[0] == "answer"
    key, answer = asked[1]
    assert key == "tool-c1"
    assert isinstance(answer, ToolAnswer)
    assert answer.outcome == Returned(value={"status": "shipped"})
    assert answer.source == "generated"


def test_a_refresh_shows_the_same_session_with_what_was_typed() -> None:
    """A second page with the same address finds the session and the unsent text."""
    paused()
    tab = Tab("session-0001-abcdef")
    editor = next(each for each in tab.app.text_area if each.key and each.key.startswith("response"))
    editor.input('{"status": "lost"')
    tab.run()
    refreshed = Tab("session-0001-abcdef")
    assert refreshed.session_id == "session-0001-abcdef"
    assert '{"status": "lost"' in [each.value for each in refreshed.app.text_area]


def test_a_query_that_was_typed_stays_with_its_session() -> None:
    """In one tab, another session's query is empty, and the way back finds the text where it was typed."""
    for name in ("session-0021-aaaaaa", "session-0022-bbbbbb"):
        put_live(FakeSimulation(name))
    tab = Tab("session-0021-aaaaaa")
    tab.app.text_area(key=tab.key("query_text_")).input("for the first alone")
    tab.click("recent_session-0022-bbbbbb")
    assert tab.app.text_area(key=tab.key("query_text_")).value == ""
    tab.app.text_area(key=tab.key("query_text_")).input("for the second")
    tab.click("recent_session-0021-aaaaaa")
    assert tab.app.text_area(key=tab.key("query_text_")).value == "for the first alone"
    tab = Tab("session-0022-bbbbbb")
    assert tab.app.text_area(key=tab.key("query_text_")).value == "for the second"


def test_the_list_of_sessions_names_a_session_by_its_query_at_once() -> None:
    """The first page that shows a query has it in the list of sessions too."""
    simulation = FakeSimulation("session-0023-abcdef")
    put_live(simulation)
    tab = Tab("session-0023-abcdef")
    assert tab.app.button(key="recent_session-0023-abcdef").label == "Order desk"
    simulation.ask("Where is it?")
    assert "Where is it" in tab.run().app.button(key="recent_session-0023-abcdef").label


def test_of_several_drafts_the_page_says_which_were_not_taken() -> None:
    """Where one of the calls was answered meanwhile, the others are, and the page does not say that nothing was."""
    simulation = paused("session-0024-abcdef")
    simulation.pending = (tool_request("c1"), tool_request("c2"), tool_request("c3"))
    simulation.refuses = {"tool-c2": HOSTILE}
    tab = Tab("session-0024-abcdef").click("accept_all")
    assert [key for name, (key, _) in simulation.asked if name == "answer"] == [
        "tool-c1",
        "tool-c2",
        "tool-c3",
    ]
    assert "Nothing was changed" not in tab.words
    assert "Some calls were not answered." in tab.words
    assert "2 of 3 calls were answered." in tab.literal
    assert f"Call 2 was not answered: {HOSTILE}" in tab.literal
    assert tab.live_marks() == []


def test_where_no_draft_was_taken_nothing_was_changed() -> None:
    """The page says so, with the reason for each call."""
    simulation = paused("session-0025-abcdef")
    simulation.pending = (tool_request("c1"), tool_request("c2"))
    simulation.fails_with = "no turn is running"
    tab = Tab("session-0025-abcdef").click("accept_all")
    assert "Nothing was changed" in tab.words
    assert "Call 2 was not answered: no turn is running" in tab.literal


def test_a_real_call_that_ran_before_is_warned_of_for_either_reason() -> None:
    """The words hold for an answer that never arrived, and for a step that was undone."""
    simulation = paused("session-0027-abcdef")
    simulation.pending = (tool_request("c1", may_have_run=True),)
    words = Tab("session-0027-abcdef").words
    assert "it never arrived, or the step was undone" in words
    assert "only if running it twice is harmless" in words


def test_what_runs_is_shown_and_can_be_stopped() -> None:
    """While a real tool runs its name is on the page, and Stop reaches the simulation."""
    simulation = running()
    tab = Tab("session-0002-abcdef")
    assert "Running" in tab.words
    assert "find_order" in tab.words
    tab.click("stop_turn")
    assert simulation.asked == [("stop", None)]


def test_a_paused_turn_can_be_stopped_too() -> None:
    """Stop is there as long as a turn has not ended, also while a person is asked."""
    simulation = paused()
    Tab("session-0001-abcdef").click("stop_turn")
    assert simulation.asked == [("stop", None)]


def test_undo_reaches_the_simulation() -> None:
    """Undo takes back the last step."""
    simulation = paused()
    Tab("session-0001-abcdef").click("undo_step")
    assert simulation.asked == [("undo", None)]


def test_a_command_that_fails_says_why_and_loses_nothing() -> None:
    """The reason stands on the page as it is, and the typed text stays in its editor."""
    simulation = paused()
    simulation.fails_with = HOSTILE
    tab = Tab("session-0001-abcdef")
    editor = next(each for each in tab.app.text_area if each.key and each.key.startswith("response"))
    editor.input('{"status": "mine"}')
    tab.click(tab.key("accept_"))
    assert "Nothing was changed" in tab.words
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    assert '{"status": "mine"}' in [each.value for each in tab.app.text_area]


def test_no_text_from_outside_comes_alive() -> None:
    """Queries, arguments, answers, errors, rules, names and notes are all shown letter for letter."""
    simulation = FakeSimulation("session-0003-abcdef").ask(HOSTILE).call("c1", tool=HOSTILE, value=HOSTILE)
    simulation.give("c1", Returned(value=HOSTILE), tool=HOSTILE)
    simulation.call("c2").give("c2", Failed(error_code=HOSTILE, error_message=HOSTILE))
    simulation.call("c3", tool=HOSTILE, value=HOSTILE)
    simulation.set_rules([rule(HOSTILE, tool_name=HOSTILE)])
    simulation.problems = (HOSTILE,)
    simulation.pending = (tool_request("c3", HOSTILE, description=HOSTILE, draft={"a": HOSTILE}),)
    simulation.seen = model_request(response_schema={"description": HOSTILE})
    put_live(simulation)
    tab = Tab("session-0003-abcdef")
    for view in ("Rules", "State", "Model", "Seats"):
        tab.choose("context_view", view)
        assert tab.live_marks() == [], view
        assert HOSTILE in tab.literal


@pytest.mark.parametrize("element", ["markdown", "caption", "error", "button", "expander", "badge", "toggle"])
def test_the_check_itself_finds_live_text(element: str) -> None:
    """Text that was put into Markdown or a label without care is found by the check of the test before."""
    app = AppTest.from_string(f"import streamlit as st\nst.{element}({HOSTILE!r})").run()
    assert live_marks(node for node in app._tree if node is not app._tree)


def test_a_long_history_is_drawn_in_pages() -> None:
    """Only the newest steps are drawn; a click shows as many more."""
    simulation = FakeSimulation("session-0004-abcdef").ask("A long one")
    for number in range(150):
        simulation.call(f"c{number}", order_id=str(number)).give(f"c{number}")
    assert len(simulation.session.history) == 301
    put_live(simulation)
    tab = Tab("session-0004-abcdef")
    before = len(tab.nodes())
    assert _steps(tab) == PAGE_STEPS
    tab.click("show_earlier")
    assert _steps(tab) == 2 * PAGE_STEPS
    assert len(tab.nodes()) > before


def _steps(tab: Tab) -> int:
    return sum("find_order" in each.label for each in tab.app.expander if "\u00b7" in each.label)


def test_the_page_does_not_grow_with_the_history() -> None:
    """A thousand entries make a page of as many elements as a hundred do."""
    sizes = []
    for name, calls in (("session-0005-aaaaaa", 50), ("session-0006-bbbbbb", 500)):
        simulation = FakeSimulation(name).ask("A long one")
        for number in range(calls):
            simulation.call(f"c{number}").give(f"c{number}")
        put_live(simulation.say("done").end())
        sizes.append(len(Tab(name).nodes()))
        registry().close(name)
    assert sizes[0] == sizes[1]


def test_the_filter_keeps_what_it_says() -> None:
    """Errors shows the failed call alone."""
    simulation = FakeSimulation("session-0007-abcdef").ask("Refund me").call("c1").give("c1")
    simulation.call("c2", "refund_order")
    failed = Failed(error_code=503, error_message="busy")
    simulation.give("c2", failed, "refund_order", Provenance(source="injected", by="busy-rule"))
    put_live(simulation)
    tab = Tab("session-0007-abcdef").choose("timeline_filter", "Errors")
    (label,) = [each.label for each in tab.app.expander if "failed" in each.label]
    assert "refund_order" in label
    assert "injected by busy" in label.replace("\u2060", "")
    assert not any("returned" in each.label for each in tab.app.expander)


def test_the_sidebar_leads_from_session_to_session() -> None:
    """Another session opens, a new one begins on the start page, and a closed one is gone."""
    paused("session-0008-aaaaaa")
    other = paused("session-0009-bbbbbb")
    tab = Tab("session-0008-aaaaaa").click("recent_session-0009-bbbbbb")
    assert tab.session_id == "session-0009-bbbbbb"
    tab.in_menu("close", "session-0009-bbbbbb")
    assert "session" not in tab.app.query_params
    assert other.closed
    assert registry().get("session-0009-bbbbbb") is None
    assert registry().get("session-0008-aaaaaa") is not None


def test_state_and_what_the_model_sees_are_shown() -> None:
    """The context pane holds the session's state, and the system instruction of the last request."""
    simulation = FakeSimulation("session-0010-abcdef").ask("Where?").say("There.").end("There.")
    simulation.seen = model_request()
    put_live(simulation)
    tab = Tab("session-0010-abcdef").choose("context_view", "State")
    assert '"seen": 1' in tab.literal
    tab.choose("context_view", "Model")
    assert "You are the order desk." in tab.literal


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("seat_agent_order_desk", "person", ("agent", "person", "order_desk")),
        ("seat_tool_refund_order", "real", ("tool", "real", "refund_order")),
    ],
)
def test_a_seat_is_changed(key: str, value: str, expected: tuple[str, str, str]) -> None:
    """A choice in the seats view reaches the simulation once, and the page shows it from then on."""
    simulation = paused()
    tab = Tab("session-0001-abcdef").choose("context_view", "Seats")
    tab.app.selectbox(key=key).set_value(value)
    tab.run().run()
    assert simulation.asked == [("set_player", expected)]
    assert tab.app.selectbox(key=key).value == value
    assert ("Each call runs the real tool" in tab.words) is (value == "real")
