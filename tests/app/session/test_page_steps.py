"""Steps are taken back and brought back on the page, and each entry of the timeline begins another way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from app.decision.decision_panel import decision_panel
from app.live.player_names import PLAYERS
from app.screens import session_page
from app.session import timeline_panel
from app.session.header_panel import header
from app.session.timeline_view import another_way_from, step_words, taken_back
from simulator.facts import Deferred, Failed, Returned, ToolAnswered
from simulator.runtime import Simulation
from simulator.seats.answers import ModelAnswer, ToolAnswer, raised
from simulator.session.commands import GoOn, Redo
from simulator.session.history import ToolError
from tests.app.desk_sessions import taken_in
from tests.app.fakes import paused, tool_request
from tests.app.page_driver import Tab
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, say

STEPS = ["undo_step", "redo_step"]
QUERY = "Where are my orders?"


def find(order_id: str) -> dict[str, str]:
    """Find an order for real."""
    raise AssertionError("the real tool ran")


@pytest.fixture
def session() -> Simulation:
    """A session in which two orders are looked for, the first of them found by a person."""
    agent = agent_of([call("find", order_id="A")], [call("find", order_id="B")], [say("done")], tools=[find])
    simulation = opened(agent)
    taken_in(simulation)
    simulation.query(QUERY, wait=PATIENCE)
    simulation.answer(simulation.pending[0], {"status": "first"}, wait=PATIENCE)
    return simulation


def _history(session: Simulation) -> list[str]:
    return [entry.type for entry in session.session.history]


@pytest.mark.long
def test_undo_and_redo_say_what_they_would_do(session: Simulation) -> None:
    """Each names its step; what cannot be done is greyed out; a query that was taken back stands in the input."""
    tab = Tab(session.session.session_id)
    undo, redo = (tab.app.button(key=key) for key in STEPS)
    (answered,) = [fact for _, fact in session.journal.path() if fact.kind == "tool_answered"]
    assert step_words(answered) in undo.help
    assert redo.disabled
    before = _history(session)
    tab.click("undo_step")
    assert len(_history(session)) < len(before)
    assert step_words(answered) in tab.app.button(key="redo_step").help
    tab.click("redo_step")
    assert _history(session) == before
    assert tab.app.button(key="redo_step").disabled
    tab.click("undo_step").click("undo_step")
    assert tab.app.text_area(key=tab.key("query_text_")).value == QUERY
    assert tab.app.button(key="undo_step").disabled


@pytest.mark.long
def test_a_click_draws_the_page_once(session: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is answered, and a step undone once, before anything is drawn: a second run would draw all of it again."""
    tab = Tab(session.session.session_id)
    drawn: list[int] = []

    def draw(*args: Any, **more: Any) -> Any:
        drawn.append(len(session.session.history))
        return decision_panel(*args, **more)

    monkeypatch.setattr(session_page, "decision_panel", draw)
    tab.click("undo_step")
    (undone,) = drawn
    tab.click(tab.key("accept_"))
    assert len(drawn) == 2
    assert drawn[1] > undone
    assert [request.kind for request in session.pending] == ["tool"]


def test_an_answer_that_the_page_has_to_speak_of_is_drawn_first(session: Simulation) -> None:
    """One that is no JSON is not sent; the click that comes after it was corrected sends it once."""
    tab = Tab(session.session.session_id)
    tab.type("response_", "{").click(tab.key("accept_"))
    assert [request.kind for request in session.pending] == ["tool"]
    assert "not valid JSON" in tab.words + tab.literal
    tab.type("response_", '{"status": "found"}').click(tab.key("accept_"))
    assert session.session.history[-1].type == "final_response"


def test_another_way_begins_at_an_entry_and_waits_for_a_person(session: Simulation) -> None:
    """The answer can be given otherwise; the page says who would give it, and lets them on a click; a turn as well as a call."""
    session.set_player("tool", "offline", wait=PATIENCE)
    before = _history(session)
    session.set_rules([])
    tab = Tab(session.session.session_id)
    place = next(
        n for n, entry in reversed(list(enumerate(session.session.history))) if entry.type == "tool_output"
    )
    tab.unfold(f"step_{place}")
    gone = taken_back(another_way_from(session.session.history[place], session.journal), session.journal)
    assert gone in tab.app.button(key=f"another_way_{place}").help
    assert {"1 tool response", "1 rule change"} <= set(gone.split(", "))
    tab.click(f"another_way_{place}")
    assert gone in tab.words
    assert tab.keys("taken_back")
    sheet = (Path(session_page.__file__).parents[1] / "styles.css").read_text()
    assert ".stMain:has(.st-key-taken_back) { --pane-height:" in sheet
    assert len(session.pending) == 1
    assert PLAYERS["offline"].name in tab.literal
    tab.click("go_on")
    assert gone not in tab.words
    assert _history(session) == before
    assert not tab.has("go_on")
    place = len(session.session.history) - 1
    assert session.session.history[place].type == "final_response"
    tab.unfold(f"step_{place}").click(f"another_way_{place}")
    assert [request.kind for request in session.pending] == ["model"]
    assert tab.has("go_on")


def test_the_state_is_shown_as_it_is_now_in_a_turn_that_runs() -> None:
    """What a callback has written counts before the turn ends, and is named as what the turn has changed."""

    def count(callback_context: CallbackContext, **_: Any) -> None:
        callback_context.state["looked"] = callback_context.state.get("looked", 0) + 1

    turns = [call("find", order_id="A")], [call("find", order_id="B")], [say("done")]
    simulation = opened(agent_of(*turns, tools=[find], before_model_callback=count))
    taken_in(simulation)
    simulation.query(QUERY, wait=PATIENCE)
    simulation.answer(simulation.pending[0], {"status": "first"}, wait=PATIENCE)
    tab = Tab(simulation.session.session_id).choose("context_view", "State")
    assert '"looked": 2' in tab.literal
    assert "changed: looked" in tab.literal
    assert simulation.session.adk_session.state == {"looked": 2}


@pytest.mark.parametrize(
    "given",
    [
        ToolAnswer(outcome=Returned(value={"status": "mine"}), state_delta={"seen": 1}),
        ToolAnswer(outcome=Failed(error_code=503, error_message="Too busy")),
        raised("KeyError", "B"),
    ],
)
def test_the_answer_that_is_corrected_is_in_the_editor(session: Simulation, given: ToolAnswer) -> None:
    """It was not typed on the page, as that of a script or rule: sent without a change, it is the answer again."""
    session.answer(session.pending[0], given, wait=PATIENCE)
    history = session.session.history
    place = max(n for n, entry in enumerate(history) if entry.type in {"tool_output", "tool_error"})
    before = session.journal.fact(history[place].fact)
    tab = Tab(session.session.session_id).unfold(f"step_{place}").click(f"another_way_{place}")
    tab.click(tab.key("accept_"))
    again = next(fact for _, fact in session.journal.backwards() if isinstance(fact, ToolAnswered))
    assert isinstance(before, ToolAnswered)
    assert again is not before
    assert (again.outcome, again.effects) == (before.outcome, before.effects)


def test_what_was_typed_for_a_call_is_there_whenever_it_waits(session: Simulation) -> None:
    """Also after another call had its id, as where the agent's turn was taken back and another one made in its place."""
    tab = Tab(session.session.session_id).type("response_", '{"status": "B"}')
    first = session.journal.head
    session.move_head(another_way_from(session.session.history[-1], session.journal) - 1, wait=PATIENCE)
    session.set_player("agent", "person", wait=PATIENCE)
    turn = ModelAnswer(parts=({"function_call": {"name": "find", "args": {"order_id": "C"}}},))
    session.answer(session.pending[0], turn, wait=PATIENCE)
    tab.run().type("response_", '{"status": "C"}')
    second = session.journal.head
    for tip, typed in ((first, "B"), (second, "C")):
        session.move_head(tip, wait=PATIENCE)
        assert tab.run().typed("response_") == f'{{"status": "{typed}"}}'


def test_a_message_that_was_typed_beside_a_late_result_stays() -> None:
    """Where somebody else gives the result meanwhile, as in another tab, the message stands where the next one is written."""
    config = agent_of(
        [call("find", order_id="A")],
        [say("Wait.")],
        [say("It is there.")],
        tools=[LongRunningFunctionTool(find)],
    )
    simulation = opened(config)
    taken_in(simulation)
    simulation.query(QUERY, wait=PATIENCE)
    simulation.answer(simulation.pending[0], ToolAnswer(outcome=Deferred()), wait=PATIENCE)
    (late,) = simulation.session.open_calls
    tab = Tab(simulation.session.session_id)
    next(each for each in tab.app.button_group if str(each.key).startswith("waiting_")).set_value(
        "query 1"
    ).run()
    tab.type("again_text", "What was typed.")
    simulation.reply(late.call_id, {"status": "found"}, wait=PATIENCE)
    assert tab.run().typed("query_text_") == "What was typed."


def test_what_was_written_after_a_corrected_answer_is_offered_again() -> None:
    """At the agent's seat, to send or to edit; what was typed for a later call is in its editor. It is gone from a turn with another message."""
    simulation = opened(agent_of(tools=[find]), agents="person")
    taken_in(simulation)
    simulation.query(QUERY, wait=PATIENCE)
    for order_id in "AB":
        made = ModelAnswer(parts=({"function_call": {"name": "find", "args": {"order_id": order_id}}},))
        simulation.answer(simulation.pending[0], made, wait=PATIENCE)
        tab = Tab(simulation.session.session_id).type("response_", f'{{"status": "{order_id}"}}')
        tab.click(tab.key("accept_"))
    tab.type("say_", "Both are found.").click(tab.key("accept_"))
    assert not simulation.pending
    (place, _) = [n for n, entry in enumerate(simulation.session.history) if entry.type == "tool_output"]
    tab.unfold(f"step_{place}").click(f"another_way_{place}")
    tab.type("response_", '{"status": "lost"}').click(tab.key("accept_"))
    assert '"order_id": "B"' in tab.literal
    assert tab.keys("last_message")
    sheet = (Path(session_page.__file__).parents[1] / "styles.css").read_text()
    assert (
        ".st-key-last_message { max-height:" in sheet
    )  # else a long one pushes what is chosen off the screen
    tab.click(tab.key("before_use_"))
    assert tab.typed("response_") == '{"status": "B"}'
    tab.click(tab.key("accept_"))
    assert "Both are found." in tab.literal
    tab.click(tab.key("before_edit_"))
    assert tab.typed("say_") == "Both are found."
    assert not tab.keys("before_use_")
    (asked,) = [entry.fact for entry in simulation.session.history if entry.type == "user_query"]
    simulation.move_head(simulation.journal.parent(asked), wait=PATIENCE)
    simulation.query("Good morning", wait=PATIENCE)
    assert not tab.run().keys("before_use_")


def test_the_way_back_is_gone_where_the_page_is_drawn_anew_before_its_turn(
    session: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another part of the page, which looks again in the run of the click, begins a new run: the click holds all the same."""
    place = next(n for n, entry in enumerate(session.session.history) if entry.type == "tool_output")
    tab = Tab(session.session.session_id)
    tab.app.session_state[f"step_{place}"] = True
    tab.run()
    waited = session.pending[0]
    draws = iter([True])

    def looks_again(*args: Any, **kwargs: Any) -> Any:
        if next(draws, False):
            st.rerun()
        return header(*args, **kwargs)

    monkeypatch.setattr("app.screens.session_page.header", looks_again)
    tab.click(f"another_way_{place}")
    assert session.pending[0] != waited


def test_a_rule_that_would_answer_is_named_as_it_is() -> None:
    """Its id may come from outside."""
    simulation = paused("session-0031-abcdef")
    simulation.pending = (tool_request("c1", would_answer="**strong**"),)
    tab = Tab("session-0031-abcdef")
    assert "Rule **strong**" in tab.literal
    assert tab.live_marks() == []
    tab.click("go_on")
    assert simulation.asked == [GoOn()]
    simulation.journal.move_head(simulation.journal.head - 1)
    tab.run().click("redo_step")
    assert simulation.asked[1:] == [Redo()]


def test_every_step_has_words(session: Simulation) -> None:
    """Each kind of step is called by a name of its own, with the tool where it is about one."""
    session.environment.give_data(json.dumps({"orders": [{"id": "A"}]}))
    session.set_rules([])
    session.set_player("tool", "refuse", "find", wait=PATIENCE)
    steps: dict[str, str] = {fact.kind: step_words(fact) for _, fact in session.journal.path()}
    named = ["turn_started", "tool_answered", "environment_data_given", "rules_changed", "seat_changed"]
    assert len({steps[kind] for kind in named}) == len(named)
    assert "seat" in steps["seat_changed"]  # as on the timeline and in the view "Seats"
    assert all("find" in steps[kind] for kind in ("tool_answered", "seat_changed"))


def test_what_ends_the_turn_says_so_and_names_the_way_back(session: Simulation) -> None:
    """What the agent sees as a response comes first; a seat that is the person's already is not given again."""
    (place,) = [index for index, entry in enumerate(session.session.history) if entry.type == "tool_output"]
    tab = Tab(session.session.session_id).unfold(f"step_{place}").unfold(f"fail_step_{place}")
    listed = tab.keys("fail_with_")
    assert [key.partition(f"_step_{place}")[0] for key in listed][:2] == [
        "fail_with_http_504",
        "fail_with_http_408",
    ]
    raises = f"fail_with_raise_timeout_error_step_{place}"
    assert "ends the turn" in tab.app.button(key=raises).label
    assert not [key for key in listed[:6] if "ends the turn" in tab.app.button(key=key).label]
    tab.click(raises)
    assert "The turn ended with an error." in tab.words
    assert "504 Gateway Timeout" in tab.words
    tab.click("answer_yourself")
    assert session.session.turns[-1].error is None
    assert "seat_changed" not in [fact.kind for _, fact in session.journal.path()]


@pytest.mark.parametrize("in_table", [False, True])
def test_a_past_call_is_failed_in_its_place(
    session: Simulation, monkeypatch: pytest.MonkeyPatch, *, in_table: bool
) -> None:
    """The session goes back to it and has the fault as its answer; what followed is a branch, and the call before stays."""
    (place,) = [index for index, entry in enumerate(session.session.history) if entry.type == "tool_output"]
    tab = Tab(session.session.session_id)
    if in_table:
        monkeypatch.setattr(timeline_panel, "PAGE_STEPS", 1)
        tab.app.session_state["timeline_rows"] = {"selection": {"rows": [place], "columns": [], "cells": []}}
        tab.run().app.toggle(key="timeline_table").set_value(True)
    else:
        tab.unfold(f"step_{place}")
    tab.unfold(f"fail_step_{place}")
    tab.fill(f"fail_search_step_{place}", "unavailable").run().click(f"fail_with_http_503_step_{place}")
    (error,) = [entry for entry in session.session.history if isinstance(entry, ToolError)]
    assert error.error_type == "503"
    assert error.provenance is not None
    assert (error.provenance.source, error.provenance.by) == ("injected", None)
    assert len(session.journal.tips()) == 2
    assert "injected" in tab.literal if in_table else tab.steps_marked("injected") == 1
    assert "find" in tab.app.button(key="undo_step").help
