"""The page of a session: what is shown, what is asked of the simulation, and what survives."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from app.live.live_sessions import registry
from app.session.timeline_panel import PAGE_STEPS
from simulator.facts import Failed, Provenance, Returned
from simulator.seats.requests import RunningCall
from tests.app.fakes import FakeSimulation, model_request, paused, put_live, rule, tool_request
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
    answered = [key for name, (key, _) in simulation.asked if name == "answer"]
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
    """While a real tool runs its name is on the page, and Stop reaches the simulation; Stop and Undo do also while a person is asked.

    An answer that never arrived, or a step that was undone, may have done its work: the page warns of a second run.
    """
    simulation = FakeSimulation("session-0002-abcdef").ask("Where is order A-1?").call("c1", order_id="A-1")
    simulation.busy = True
    simulation.running = (RunningCall(kind="tool", key="tool-c1", name="find_order", since=time.time()),)
    put_live(simulation)
    tab = Tab("session-0002-abcdef")
    assert "Running" in tab.words
    assert "find_order" in tab.words
    tab.click("stop_turn")
    assert simulation.asked == [("stop", None)]
    simulation = paused()
    tab = Tab("session-0001-abcdef").click("stop_turn").click("undo_step")
    assert simulation.asked == [("stop", None), ("undo", None)]
    assert not tab.app.warning
    simulation.pending = (tool_request("c1", may_have_run=True),)
    assert tab.run().app.warning


def test_no_text_from_outside_comes_alive() -> None:
    """Queries, arguments, answers, errors, rules, names and notes are all shown letter for letter."""
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
    assert "injected by busy" in label.replace("\u2060", "")
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
        ("seat_agent_order_desk", ("agent", "person", "order_desk")),
        ("seat_tool_refund_order", ("tool", "real", "refund_order")),
    ):
        assert not tab.app.warning
        tab.fill(key, asked[1]).run().run()
        assert [simulation.asked.pop(), *simulation.asked] == [("set_player", asked)]
        assert tab.app.selectbox(key=key).value == asked[1]
    assert tab.app.warning
