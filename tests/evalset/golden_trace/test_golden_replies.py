"""What the user answered to open calls belongs, in a golden trace, to the query that opened them."""

from __future__ import annotations

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from evalset import GoldenTraceBuilder, GoldenTraceError
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.confirmations import without_confirmations
from simulator.facts import Deferred
from simulator.seats.answers import ToolAnswer
from tests.evalset.golden_trace.traces import answers, built, calls, data, text, turns
from tests.evalset.sessions import PATIENCE, agent, answer, ask, call, opened, refund, say


def confirmed() -> LlmAgent:
    """Make an agent whose refunds a person must approve."""
    tool = FunctionTool(refund, require_confirmation=True)
    return agent([call("refund", order_id="A-1", amount=3)], [say("I asked.")], [say("Bye.")], tools=[tool])


def taking_long(*said: str) -> LlmAgent:
    """Make an agent whose refund takes long, and what it says in turn."""
    turns = ([say(each)] for each in said)
    return agent([call("refund", order_id="A-1", amount=3)], *turns, tools=[LongRunningFunctionTool(refund)])


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
@pytest.mark.parametrize("approved", [True, False])
def test_a_confirmation_belongs_to_its_query_or_is_kept_beside_the_case(
    form: TraceForm, *, approved: bool
) -> None:
    """The user's yes or no is no invocation of its own: its response and what followed stand behind the query.

    Kept beside, the case holds the call and its last answer alone, as a replay shows them that knows what a person said.
    """
    with opened(confirmed()) as sim:
        ask(sim, "Refund A-1.")
        with pytest.raises(GoldenTraceError, match="not completed"):
            GoldenTraceBuilder(sim.session).build()
        assert sim.confirm(sim.session.open_calls[0].call_id, confirmed=approved, wait=PATIENCE)
        answer(sim, *[{"paid": 3}] * approved)
        whole = built(sim, form=form, eval_id="case")
        case = GoldenTraceBuilder(sim.session, form=form, eval_id="case", confirmations="beside").build()
    (turn,) = turns(whole)
    assert text(turn.user_content) == "Refund A-1."
    assert [name for name, _ in calls(turn)] == ["refund", "adk_request_confirmation"]
    assert ("adk_request_confirmation", {"confirmed": approved}) in answers(turn)
    assert (("refund", {"paid": 3}) in answers(turn)) is approved
    (turn,) = turns(case)
    assert [name for name, _ in calls(turn)] == ["refund"]
    ((name, response),) = answers(turn)
    assert (name, list(response or ())) == ("refund", ["paid" if approved else "error"])
    assert text(turn.final_response) == "I asked."
    assert without_confirmations(whole) == case
    assert without_confirmations(case) is case


def test_an_answer_that_came_only_later() -> None:
    """Where a long-running tool had no answer at first, its one answer is the late one."""
    with opened(taking_long("It has arrived.")) as sim:
        ask(sim, "Refund A-1.", ToolAnswer(outcome=Deferred()))
        (waiting,) = sim.session.open_calls
        with pytest.raises(GoldenTraceError, match=r"\(active\): refund "):
            GoldenTraceBuilder(sim.session).build()
        assert sim.reply(waiting.call_id, "paid", wait=PATIENCE)
        (turn,) = turns(built(sim))
    assert (calls(turn)[0][0], answers(turn)) == ("refund", [("refund", {"result": "paid"})])
    assert text(turn.final_response) == "It has arrived."


def test_a_late_result_belongs_to_the_query_that_asked_for_it() -> None:
    """A result that comes after another query still stands in the invocation of its own query."""
    with opened(taking_long("It is on its way.", "Hello to you.", "It has arrived.")) as sim:
        ask(sim, "Refund A-1.", {"status": "pending"})
        ask(sim, "Hello.")
        (waiting,) = sim.session.open_calls
        assert sim.reply(waiting.call_id, {"status": "paid"}, wait=PATIENCE)
        case = built(sim)
    first, second = turns(case)
    assert answers(first) == [("refund", {"status": "pending"}), ("refund", {"status": "paid"})]
    assert {seen.id for seen in data(first).tool_responses} == {data(first).tool_uses[0].id}
    assert text(first.final_response) == "It has arrived."
    assert [(who, said_[0].text) for who, said_ in data(first).intermediate_responses] == [
        ("order_desk", "It is on its way.")
    ]
    assert (text(second.user_content), text(second.final_response)) == ("Hello.", "Hello to you.")


def test_an_unanswered_confirmation_is_named() -> None:
    """Where the user went on without answering, the session is not completed, and the error names the tool."""
    with opened(confirmed()) as sim:
        ask(sim, "Refund A-1.")
        ask(sim, "Never mind.")
        with pytest.raises(GoldenTraceError, match="confirmation of refund "):
            GoldenTraceBuilder(sim.session).build()
