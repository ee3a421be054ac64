"""The decision pane as a whole: what is at work, what comes first, and what is handed to the simulation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from streamlit.testing.v1 import AppTest

from app.decision.decision_commands import (
    AnswerCode,
    AnswerModel,
    AnswerOpenCall,
    AnswerTool,
    AnswerTools,
    Confirm,
    OvertakenError,
    PartlyAnsweredError,
    RunReal,
    SubmitQuery,
)
from app.session.commands import Command, GoTo, StopTurn, hand
from simulator.base.json_values import JsonObject
from simulator.runtime import SimulationError
from simulator.seats.answers import CodeAnswer, returned, said
from simulator.session import SessionState
from tests.app.decision.deciding import Deciding, asked
from tests.app.fakes import FakeSimulation
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened


async def slow(word: str) -> JsonObject:
    """Never end by itself."""
    await asyncio.Event().wait()
    return {"word": word}


def ship(order_id: str) -> None:
    """Ship an order, some day."""


def asked_for(*calls: Any) -> Any:
    """Open a session whose agent makes these calls at once, and ask it."""
    return asked(list(calls), tools=[slow, LongRunningFunctionTool(ship)])


@pytest.mark.long
def test_what_runs_is_shown_beside_what_waits_and_can_be_stopped() -> None:
    """One call runs for real, the other waits: both are on the screen, and Stop ends the turn."""
    with asked_for(call("slow", word="a"), call("slow", word="b")) as simulation:
        simulation.run_real(simulation.pending[0], wait=0)
        page = Deciding(simulation)
        shown = [str(one.value) for one in page.tab.markdown]
        assert [each for each in shown if "progress_activity" in each and "**slow**" in each]
        assert any(name.startswith("response_") for name in page.names())
        page.press("stop_running")
        assert simulation.session.turns[-1].stopped


@pytest.mark.long
def test_nothing_to_decide_is_an_empty_pane() -> None:
    """Before the first query nothing waits: there is a word on it, and nothing to press."""
    with opened(agent_of()) as simulation:
        page = Deciding(simulation)
        assert page.shown()
        assert page.names() == []


def test_a_call_that_was_answered_once_does_not_stand_in_the_way_of_the_next_query() -> None:
    """A late result may be given again; what comes first is the answer of the agent and the next query."""
    with asked_for(call("ship", order_id="A")) as simulation:
        simulation.answer(simulation.pending[0], {"status": "pending"}, wait=PATIENCE)
        assert simulation.session.state is SessionState.COMPLETED
        page = Deciding(simulation)
        assert "done" in page.shown()
        late = f"open {simulation.session.open_calls[0].call_id}"
        page.choose("waiting_", late).press("accept_")
        assert simulation.session.turns[-1].purpose == "reply"


def test_after_an_undo_the_text_is_still_there() -> None:
    """A call that is asked again after an undo shows what was typed for it."""
    with asked_for(call("slow", word="a")) as simulation:
        page = Deciding(simulation).type("response_", '{"typed": 1}').press("accept_")
        simulation.undo()
        assert page.run().text("response_") == '{"typed": 1}'


_TOOL = AnswerTool(key="k", answer=returned({"a": 1}))

_CASES: list[tuple[Command, list[tuple[str, Any]]]] = [
    (_TOOL, [("answer", ("k", _TOOL.answer))]),
    (AnswerTools(answers=(_TOOL, _TOOL)), [("answer", ("k", _TOOL.answer))] * 2),
    (AnswerModel(key="m", answer=said("hi")), [("answer", ("m", said("hi")))]),
    (AnswerCode(key="c", answer=CodeAnswer(stdout="1")), [("answer", ("c", CodeAnswer(stdout="1")))]),
    (RunReal(key="k"), [("run_real", "k")]),
    (Confirm(call_id="i", confirmed=False, payload=1), [("confirm", ("i", False, 1))]),
    (AnswerOpenCall(call_id="i", response=[1]), [("reply", ("i", [1]))]),
    (SubmitQuery(message="hi"), [("query", "hi")]),
    (StopTurn(), [("stop", None)]),
]


def test_each_decision_is_handed_to_the_simulation() -> None:
    """Each is one command, or one for each answer, with nothing added; what the simulation refuses is raised as it said it."""
    for decision, noted in _CASES:
        simulation = FakeSimulation()
        hand(simulation, decision)
        assert simulation.asked == noted, decision
    simulation = FakeSimulation()
    simulation.fails_with = "k: no"
    with pytest.raises(SimulationError, match="k: no"):
        hand(simulation, _TOOL)


def _interrupted(simulation: "Any", asked_for: "list[Any]") -> None:  # noqa: UP037 - the script has no imports
    from app.decision.query_panel import query  # noqa: PLC0415 - the function's text is the page's script
    from app.live.unsent_texts import UnsentTexts  # noqa: PLC0415 - as above

    ended = {"problems": ("the agent's process ended",), "pending": (), "busy": False}
    asked_for.append(query(simulation.view().model_copy(update=ended), UnsentTexts(), None))


def test_a_turn_that_cannot_go_on_is_tried_again_from_where_it_stands() -> None:
    """As where the agent's process ended twice."""
    with asked_for(call("slow", word="a")) as simulation:
        given: list[Any] = []
        tab = AppTest.from_function(
            _interrupted, kwargs={"simulation": simulation, "asked_for": given}, default_timeout=PATIENCE
        ).run()
        tab.button(key="play_again").click().run()
        assert given == [None, GoTo(fact=simulation.view().head)]
        hand(simulation, given[1])
        simulation.wait(PATIENCE)
        assert [each.kind for each in simulation.pending] == ["tool"]


def test_an_answer_that_another_tab_overtook_is_kept_as_text() -> None:
    """Alone and among several; where the request still waits the page has it, so that the error alone is told."""
    with asked_for(call("slow", word="a"), call("slow", word="b")) as simulation:
        first, second = (request.key for request in simulation.pending)
        typed = returned({"word": "typed för long"})
        simulation.answer(first, returned({"word": "other"}), wait=0)
        with pytest.raises(OvertakenError, match='"typed för long"'):
            hand(simulation, AnswerTool(key=first, answer=typed))
        with pytest.raises(PartlyAnsweredError, match='"typed för long"'):
            hand(
                simulation,
                AnswerTools(
                    answers=(AnswerTool(key=first, answer=typed), AnswerTool(key=second, answer=returned({})))
                ),
            )
