"""Keys pressed once too often do nothing that no undo takes back; and where a model cannot answer, a person can."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession
from app.live.session_opening import StartForm, open_session
from simulator.environment.recordings import ObservedCall
from simulator.seats.requests import ModelRequest
from simulator.session.commands import SetPlayer
from tests.app.decision.deciding import answers
from tests.app.page_driver import Tab

KEYS = "ctrl+enter"
"""As the browser is told."""
FLIGHT = "E-7 of engineering: flight 640 EUR"
FAILING = '''
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


class Failing(BaseLlm):
    model: str = "failing"

    async def generate_content_async(self, llm_request, stream=False):
        if llm_request.contents[-1].parts[-1].function_response:
            raise ValueError("overloaded")
        part = types.Part.from_function_call(name="look_up", args={"name": "Ada"})
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def look_up(name: str) -> dict:
    """Look up a person."""
    raise SystemExit("the real tool ran")


root_agent = LlmAgent(name="failing", model=Failing(), tools=[look_up])
'''
KEYLESS = """
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="keyless", model="gemini-2.5-flash")
"""


@pytest.fixture(autouse=True)
def _agents(no_key: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the studio with two agents and the demos, and without any key."""
    for name, code in (("failing", FAILING), ("keyless", KEYLESS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(code)
    # The command line is an input of the process.
    monkeypatch.setattr(sys, "argv", ["main.py", "--agents-dir", str(tmp_path)])


LINE = {"category": "travel", "amount": 640.0, "description": "flight 640 EUR", "has_receipt": True}
CHECKS = [
    ObservedCall(
        tool_name="check_policy",
        arguments={"department": "engineering", "lines": [LINE]},
        response={
            "lines": [
                {"line": 1, "finding": "ok", "allowed_amount": 640.0, "explanation": "Within the limit."}
            ]
        },
        place="call 1",
    ),
    ObservedCall(
        tool_name="get_budget",
        arguments={"department": "engineering"},
        response={"department": "engineering", "remaining": 5000.0, "currency": "EUR"},
        place="call 2",
    ),
]
"""What the tools said of this report before: with it nothing stands against paying."""


def _opened(agent: str, query: str, **form: Any) -> tuple[LiveSession, Tab]:
    live = open_session(StartForm(agent=agent, query=query, seed="one", **form), catalogue().config(agent))
    return live, Tab(live.session_id)


def _pressed(tab: Tab) -> bool:
    """Press Ctrl+Enter: click the button that listens to it; False where none does."""
    heard = [each for each in tab.app.button if each.proto.shortcut == KEYS and not each.disabled]
    if not heard:
        return False
    heard[0].click()
    tab.run()
    return True


def test_no_number_of_blind_presses_pays() -> None:
    """Each draft is taken, up to the question whether money may be paid: that waits for a click."""
    live, tab = _opened("expense_approver", FLIGHT)
    live.simulation.environment.give_recording("checks", CHECKS)
    presses = sum(_pressed(tab) for _ in range(12))
    assert presses > 0
    (waiting,) = [call for call in live.simulation.session.open_calls if not call.answered]
    assert waiting.is_confirmation
    answered = [fact.tool_name for fact in answers(live.simulation)]
    asked = waiting.arguments["originalFunctionCall"]
    assert isinstance(asked, dict)
    assert asked["name"] not in answered
    for name in ("confirm_", "reject_"):
        assert not tab.app.button(key=tab.key(name)).proto.shortcut
    tab.click(tab.key("confirm_"))
    assert not [call for call in live.simulation.session.open_calls if not call.answered]


@pytest.mark.parametrize(("player", "listens"), [("person", True), ("real", False)])
def test_a_turn_that_lets_real_tools_run_takes_a_click(player: Any, *, listens: bool) -> None:
    """The tools are named; where a person answers them, keys send the turn."""
    _, tab = _opened("failing", "Who is Ada?", agent_player="held", tool_player=player)
    assert bool(tab.app.button(key=tab.key("accept_proposal_")).proto.shortcut) == listens
    assert ("look_up" in [each.value for each in tab.app.text]) != listens


def test_a_model_that_cannot_be_asked_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key the button is there, off, with the reason beside it; a turn that was stopped offers no way back."""
    live, tab = _opened("keyless", "Hello", agent_player="person")
    assert tab.app.button(key=tab.key("own_model_")).disabled
    assert "GOOGLE_API_KEY" in tab.literal
    live.simulation.stop()
    live.simulation.wait(60)
    assert not tab.run().has("answer_yourself")
    assert not tab.has("show_seats")
    live.simulation.send(SetPlayer(seat="agent", player="model", target="keyless"))
    live.simulation.query("Hello again", wait=60)
    assert "No API key" in tab.run().literal
    assert tab.click("show_seats").keys("seat_agent_")
    monkeypatch.setenv("GOOGLE_API_KEY", "some")
    _, tab = _opened("keyless", "Hello", agent_player="person")
    assert not tab.app.button(key=tab.key("own_model_")).disabled
    assert "GOOGLE_API_KEY" not in tab.literal


def test_a_failed_turn_is_taken_back_to_where_the_model_failed() -> None:
    """What was answered before stays answered; the person has the agent's seat, and ends the turn. The seats are a click away."""
    live, tab = _opened("failing", "Who is Ada?", agent_player="model")
    tab.click(tab.key("accept_"))
    assert tab.app.error
    assert "ValueError: overloaded" in tab.literal
    assert tab.click("show_seats").keys("seat_agent_")
    tab.click("answer_yourself")
    (request,) = live.simulation.view().pending
    assert isinstance(request, ModelRequest)
    assert request.would_answer == ""
    assert live.simulation.session.seats.of_agent("failing") == "person"
    assert [fact.tool_name for fact in answers(live.simulation)] == ["look_up"]
    assert tab.run().keys("own_model_")
    live.simulation.answer(request, "She is a mathematician.", wait=60)
    assert live.simulation.session.turns[-1].error is None
