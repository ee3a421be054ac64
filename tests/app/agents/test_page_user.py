"""The user's seat on the page: who sits down, what is held, and what a person makes of it. The start page says which processes of agents run."""

from __future__ import annotations

import copy
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import evalset
from app.screens import start_page
from app.session.timeline_view import step_words
from simulator.facts import UserSeated
from simulator.kernel.kernel import KernelError
from simulator.kernel.kernel_processes import AgentProcess
from simulator.runtime import Simulation
from tests.app.page_driver import HOSTILE, Tab
from tests.evalset.files.examples import AGENT, a_case
from tests.harness.loopback import HANGS, loopback
from tests.simulator.runtime.models.model_servers import gemini_at
from tests.simulator.runtime.speaking import SCENARIO, held, said, speaker, until
from tests.simulator.runtime.stage import PATIENCE

# google-genai's own client does so.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")


PERSONA = {
    "id": "SHY",
    "description": "Says little.",
    "behaviors": [
        {
            "name": "Quiet",
            "description": "Few words.",
            "behavior_instructions": ["Say at most three words."],
            "violation_rubrics": ["Speaks a whole sentence."],
        }
    ],
}


def seats(session: Simulation, player: str) -> Tab:
    """Open the seats and choose a player for the user."""
    tab = Tab(session.session.session_id)
    tab.choose("context_view", "Seats")
    tab.fill("seat_user", player)
    return tab.run()


@pytest.mark.long
def test_a_script_sits_down_and_its_messages_are_accepted_edited_and_replaced(session: Simulation) -> None:
    """Each is held in the query pane; who said it stands in the timeline."""
    tab = seats(session, "script")
    tab.fill("script_", "first\nsecond\nthird")
    tab.click("seat_user_sit")
    assert tab.typed("query_text_") == "first"
    assert "3 of 3" in tab.words
    tab.click("query_send")
    assert tab.typed("query_text_") == "second"
    tab.fill("query_text_", "second, but better")
    tab.click("query_send")
    tab.click("held_another")
    assert tab.typed("query_text_") == ""
    tab.fill("query_text_", "my own")
    tab.click("query_send")
    assert said(session) == ["first", "second, but better", "my own"]
    turns = [turn for _, turn in session.journal.path() if turn.kind == "turn_started"]
    assert [each.provenance and each.provenance.source for each in turns] == ["written", "edited", "written"]
    assert "(3 of 3)" in tab.literal


def test_a_scenario_is_written_plays_and_is_taken_over(session: Simulation) -> None:
    """The form makes ADK's scenario and configuration; a refresh keeps the held message and what was made of it."""
    session._engine.user.models["speaker"] = speaker("one", "two")
    tab = seats(session, "scenario")
    tab.click("seat_user_sit")
    assert "Starting prompt: " in tab.literal
    tab.fill("starting_prompt_", "Where is it?")
    tab.fill("conversation_plan_", "Ask twice.")
    tab.fill("model_user", "speaker")
    tab.fill("limit_", 4)
    tab.fill("persona_", "NOVICE").run().click("seat_user_sit")
    seat = session.view().user.seat
    assert seat.scenario == {
        "starting_prompt": "Where is it?",
        "conversation_plan": "Ask twice.",
        "user_persona": "NOVICE",
    }
    assert seat.config == {"model": "speaker", "max_allowed_invocations": 4}
    tab.click("query_send")
    assert session.wait(PATIENCE)
    tab.run()
    assert tab.typed("query_text_") == "one"
    tab.fill("query_text_", "one, edited")
    tab.run()
    again = Tab(session.session.session_id)
    assert again.typed("query_text_") == "one, edited"
    again.click("user_take_over")
    assert session.view().user.seat.player == "person"
    assert again.typed("query_text_") == ""
    taken = step_words(session.journal.fact(session.journal.head))
    assert taken in again.app.button(key="undo_step").help
    again.choose("context_view", "Seats")
    assert again.app.selectbox(key="seat_user").value == "person"
    again.click("open_export")
    assert any("`adk eval`" in each.value for each in again.app.info)


def test_an_address_of_the_users_model_is_not_taken_and_an_earlier_one_is_named(session: Simulation) -> None:
    """The form refuses it with its place; what a session of an earlier version has is named as not used.

    A persona without an id cannot sit down either; its JSON is one click away.
    """
    earlier: Any = {
        "model": "",
        "model_configuration": {"http_options": {"base_url": "http://elsewhere.example"}},
    }
    session.journal.append(UserSeated(at=1e10, player="scenario", scenario=SCENARIO, config=earlier))
    tab = seats(session, "scenario")
    assert "model_configuration.http_options.base_url" in tab.literal
    tab.click("seat_user_sit")
    assert "Model configuration: http_options.base_url" in tab.literal
    assert session.view().user.seat.config == earlier
    tab.fill("model_configuration_", '{"http_options": {"timeout": 5000}}')
    tab.click("seat_user_sit")
    assert session.view().user.seat.config["model_configuration"] == {"http_options": {"timeout": 5_000}}
    tab.fill("persona_", "own").run()
    assert any("id" in each.label for each in tab.app.text_input)
    assert "Persona: " in tab.click("seat_user_sit").literal
    tab.fill("own_persona_as_json", True).run()
    tab.fill("own_persona_user", json.dumps(PERSONA)).run().click("seat_user_sit")
    assert (session.view().user.seat.scenario or {})["user_persona"] == PERSONA


def test_a_recording_speaks_from_an_eval_set(session: Simulation) -> None:
    """The cases are listed, and the chosen one's messages are said; a text that is none is refused."""
    tab = seats(session, "recording")
    tab.fill("set_user", "{}")
    tab.run()
    assert tab.app.error
    assert not tab.has("seat_user_sit")
    tab.fill("set_user", evalset.case_document(AGENT, a_case("two turns", turns=2), at=1.0))
    tab.run().click("seat_user_sit")
    seat = session.view().user.seat
    assert (seat.player, len(seat.script)) == ("recording", 2)
    assert held(session) is not None


def test_a_loaded_scenario_fills_the_form_and_is_added_to_an_eval_set(
    session: Simulation, tmp_path: Path
) -> None:
    """The file's scenario stands in the form, can be saved, and becomes a case with a session input; once.

    A persona of one's own has fields for its rubrics: what is changed goes into the scenario, and all else of it stays.
    """
    tab = seats(session, "scenario")
    file = json.dumps({"scenarios": [{**SCENARIO, "user_persona": PERSONA}]}).encode()
    tab.fill("upload_", ("scenarios.json", file, "application/json"))
    tab.run().click("scenario_use_0")
    assert SCENARIO["starting_prompt"] in [each.value for each in tab.app.text_area]
    (rubric,) = [each for each in tab.app.text_input if each.value == "Speaks a whole sentence."]
    rubric.set_value("Speaks at all.")
    path = tmp_path / "new" / "talk.evalset.json"
    tab.fill("set_path_", str(path)).run()
    for _ in range(2):
        assert tab.click("scenario_add").app.success
    (case,) = json.loads(path.read_text())["eval_cases"]
    persona: Any = copy.deepcopy(PERSONA)
    persona["behaviors"][0]["violation_rubrics"] = ["Speaks at all."]
    assert case["conversation_scenario"]["starting_prompt"] == SCENARIO["starting_prompt"]
    assert case["conversation_scenario"]["user_persona"] == persona
    assert case["session_input"]["app_name"] == "stage"


@pytest.mark.long
def test_what_a_scenario_says_is_never_read_as_markdown(session: Simulation) -> None:
    """Messages, reasons and names come from outside."""
    model = speaker(HOSTILE, ValueError(HOSTILE))
    assert session.set_user(
        "scenario", scenario={**SCENARIO, "starting_prompt": HOSTILE}, model=model, wait=PATIENCE
    )
    tab = Tab(session.session.session_id)
    for _ in range(3):
        assert tab.live_marks() == []
        if held(session) is not None:
            assert session.accept(wait=PATIENCE)
        tab.run()
    assert tab.live_marks() == []


def test_while_a_message_is_made_the_page_says_so_and_can_stop_it(session: Simulation) -> None:
    """What goes on is told, and stopping leaves the person to speak."""
    with loopback(HANGS) as server:
        assert session.set_user("scenario", scenario=SCENARIO, model=gemini_at(server.url), wait=PATIENCE)
        assert not session.accept(wait=0)
        until(lambda: server.asked)
        tab = Tab(session.session.session_id)
        assert "**Scenario**" in tab.words
        assert "gemini-2.5-test" in tab.literal
        tab.click("stop_running")
        assert session.view().user.words in tab.literal
        assert tab.has("user_go_on")
    session.close()


def test_without_a_model_a_person_writes_what_follows_with_the_plan_in_sight(session: Simulation) -> None:
    """Nothing failed, and nothing can be continued."""
    scenario: Any = {"scenario": SCENARIO, "config": {"model": ""}}
    assert session.set_user("scenario", hold=False, **scenario, wait=PATIENCE)
    tab = Tab(session.session.session_id)
    assert str(SCENARIO["conversation_plan"]) in tab.literal
    assert session.view().user.words in tab.literal
    assert not tab.has("user_go_on")
    assert ":red" not in tab.words
    tab.fill("query_text_", "And now?").click("query_send")
    assert said(session) == [SCENARIO["starting_prompt"], "And now?"]
    assert session.view().user.seat.left == 18


def test_a_person_says_that_the_conversation_is_over_and_goes_back_on_it(session: Simulation) -> None:
    """Nothing can be asked meanwhile; the head says how it stands, and Undo names it."""
    tab = Tab(session.session.session_id)
    assert not tab.has("complete")
    assert session.query("hello", wait=PATIENCE)
    tab.run().click("complete")
    (ended,) = tab.app.success
    assert re.search(r"\b1\b", ended.value)
    assert not tab.has("query_send")
    ending = step_words(session.journal.fact(session.journal.head))
    assert ending in tab.app.button(key="undo_step").help
    assert not tab.app.button(key="open_export").disabled
    tab.click("go_on_after_all")
    assert tab.has("query_send")
    tab.click("complete").click("undo_step")
    assert tab.has("query_send")


DESK = AgentProcess(
    key="k1",
    agent="order_desk",
    python="/srv/desk/.venv/bin/python",
    python_version="3.12.1",
    adk="2.12.0",
    process_id=4711,
    sessions=2,
    busy=False,
    idle=185.0,
    new_code=False,
    memory=134_400_000,
)


def test_each_process_is_described_and_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agent, what it does, sessions, memory, Python, ADK and interpreter, letter for letter; new code changes the button.

    One is started anew by its key; where it does not start, the page says why.
    """
    asked: list[str] = []
    processes = (
        DESK,
        replace(DESK, key="k2", agent="planner", sessions=1, busy=True, process_id=4712),
        replace(DESK, key="k3", process_id=4713, new_code=True),
        replace(DESK, key="k4", agent=HOSTILE, python=HOSTILE, adk=HOSTILE, process_id=4714),
    )
    monkeypatch.setattr(start_page, "restart", asked.append)
    monkeypatch.setattr(sys, "argv", ["main.py"])  # the command line is an input of the process
    monkeypatch.setattr(start_page, "agent_processes", lambda: ())
    assert not Tab().keys("restart_process_")
    monkeypatch.setattr(start_page, "agent_processes", lambda: processes)
    tab = Tab().unfold("agent_processes")
    said = [str(one.value).replace("\\", "") for one in tab.app.caption]
    assert any({"3", "2", "134"} <= set(one.split()) for one in said)
    assert any(one.startswith("Busy") and {"1", "134"} <= set(one.split()) for one in said)
    assert any("3.12.1" in one and "2.12.0" in one and "4711" in one for one in said)
    names = {str(one.value).replace("\\", "") for one in tab.app.markdown}
    assert {"**order_desk**", "**planner**"} <= names
    assert [one.value for one in tab.app.code].count(DESK.python) == 3
    plain, new = (tab.app.button(key=f"restart_process_{key}") for key in ("k1", "k3"))
    assert plain.label != new.label
    assert tab.live_marks() == []
    tab.click("restart_process_k1")
    assert asked == ["k1"]
    failed = Mock(side_effect=KernelError("SyntaxError: agent.py, line 3"))
    monkeypatch.setattr(start_page, "restart", failed)
    tab.click("restart_process_k1")
    assert any("agent.py, line 3" in str(one.value) for one in tab.nodes() if hasattr(one, "value"))
