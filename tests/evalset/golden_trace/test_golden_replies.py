"""What the user answered to open calls belongs, in a golden trace, to the query that opened them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.evaluation.eval_case import get_all_tool_calls, get_all_tool_responses
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.workflow import RetryConfig, Workflow
from google.genai import types

from app.export.export_case import outline
from evalset import GoldenTraceBuilder, GoldenTraceError, warnings
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.golden_steps import without_confirmations
from evalset.recorded.recorder import recorded_for
from evalset.recorded.recording import RecordedCase
from evalset.verify import verify
from simulator import SimulatedAgentConfig, Simulation
from simulator.environment.injection.rules import Effect, ErrorEffect, InjectionRule, ResponseEffect
from simulator.facts import Deferred
from simulator.seats.answers import ToolAnswer, called, failed, raised, returned, said
from simulator.session import Seats
from tests.evalset.golden_trace.traces import answers, built, calls, data, text, turns
from tests.evalset.replay.desk_agent import keep
from tests.evalset.sessions import PATIENCE, agent, answer, ask, call, find_order, opened, refund, say
from tests.simulator.runtime.stage import agent_of


def confirmed() -> LlmAgent:
    """Make an agent whose refunds a person must approve."""
    tool = FunctionTool(refund, require_confirmation=True)
    return agent([call("refund", order_id="A-1", amount=3)], [say("I asked.")], [say("Bye.")], tools=[tool])


def recording_of(sim: Simulation) -> RecordedCase:
    """Record a session as its export does."""
    return recorded_for(sim.session, [fact for _, fact in sim.journal.path()], sim.config.root_agent)


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
        (told,) = outline(case, recording_of(sim))
    assert [("rejected" in note, "refund" in note) for note in told.notes] == [(True, True)] * (not approved)
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
        told = outline(case, recording_of(sim))
        (caveat,) = [each for each in warnings(sim.session) if "after turn" in each]
    assert all(each in caveat for each in ("refund", "after turn 2", "turn 1", "arrived", "on its way"))
    assert [len(turn.notes) for turn in told] == [1, 0]
    assert all(words in told[0].notes[0] for words in ("refund", "It is on its way."))
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


ASKED = [call("find_order", order_id="A-1")]
REAL = Seats(tools={"*": "real"})


def is_about(warning: str, counted: str, *data: str) -> bool:
    """Return whether a warning begins with what it counts, and holds these words and names."""
    return warning.startswith(counted) and all(each in warning for each in data)


def test_a_real_session_has_no_caveat() -> None:
    """Where the agent's own model and the real tools made everything, there is nothing to warn of; nor where its code replied, whoever has the seat."""
    with opened(agent(ASKED, [say("ok")], tools=[find_order]), seats=REAL) as sim:
        ask(sim, "go")
        assert warnings(sim.session) == ()
    replied = types.Content(role="model", parts=[types.Part(text="We are closed.")])
    of = agent(tools=[find_order], before_agent_callback=lambda **_: replied)
    with opened(of, seats=Seats(agents={"*": "person"})) as sim:
        ask(sim, "go")
        assert warnings(sim.session) == ()


def test_authored_answers_are_counted_and_named() -> None:
    """Answers of a person are counted, each tool is named once; nothing says who gave them, as a recording can, too."""
    of = agent([*ASKED, *ASKED], [call("refund", order_id="A-1", amount=1)], tools=[find_order, refund])
    with opened(of) as sim:
        ask(sim, "go", {"n": 1}, {"n": 2}, returned("paid"))
        first, *rest = warnings(sim.session)
    assert is_about(first, "3 tool responses ", "not from the real tools", "(find_order, refund)")
    assert "written" not in first
    assert len(rest) == 1
    assert is_about(rest[0], "", "parallel", "(find_order)")


@pytest.mark.parametrize("answer", [failed(404, "gone"), raised("TimeoutError", "slow")])
def test_errors_are_told_apart_from_answers(answer: object) -> None:
    """A call that was made to fail is told as such, as an error dict and as an exception."""
    of = agent(
        ASKED, [say("Sorry.")], tools=[find_order], on_tool_error_callback=lambda **_: {"error": "caught"}
    )
    with opened(of) as sim:
        ask(sim, "go", answer)
        (only,) = warnings(sim.session)
    assert is_about(only, "1 tool call ", "fail", "(find_order)")


def test_injected_answers_are_told_apart() -> None:
    """What a rule answered is told as injected, and a fault of a rule as a failure."""
    with opened(
        agent(ASKED, [say("ok")], tools=[find_order]), rules=[rule(ResponseEffect(value={"n": 1}))]
    ) as sim:
        ask(sim, "go")
        assert is_about(warnings(sim.session)[0], "1 tool response ", "injected", "(find_order)")
    fault = rule(ErrorEffect(error_code=503, error_message="down"))
    with opened(agent(ASKED, [say("ok")], tools=[find_order]), rules=[fault]) as sim:
        ask(sim, "go")
        assert is_about(warnings(sim.session)[0], "1 tool call ", "fail", "(find_order)")


def rule(effect: Effect) -> InjectionRule:
    """Make a rule that answers every `find_order`."""
    return InjectionRule(rule_id="one", tool_name="find_order", effect=effect)


def test_turns_of_a_person_are_told() -> None:
    """A person in the agent's seat is told by the agent's name, also where only the final response is theirs."""
    person = Seats(agents={"*": "person"}, tools={"*": "real"})
    with opened(agent(tools=[find_order]), seats=person) as sim:
        ask(sim, "Where?", called(("find_order", {"order_id": "A-1"})), said("It is late."))
        assert is_about(warnings(sim.session)[0], "Turns of order_desk ", "not from the agent's own model")
    with opened(agent(), seats=person) as sim:
        ask(sim, "Hello", said("Hi"))
        assert is_about(warnings(sim.session)[0], "Turns of order_desk ", "not from the agent's own model")
    with opened(agent(), seats=person) as sim:  # accepted as the agent's model proposed it
        ask(sim, "Hello", said("Hi").model_copy(update={"source": "generated"}))
        assert warnings(sim.session) == ()


def test_replies_of_the_user_are_told() -> None:
    """A confirmation, and a late result, are what adk eval cannot give."""
    tools = [FunctionTool(find_order, require_confirmation=True), LongRunningFunctionTool(refund)]
    of = agent(ASKED, [call("refund", order_id="A-1", amount=1)], [say("soon")], [say("paid")], tools=tools)
    with opened(of, seats=REAL) as sim:
        ask(sim, "go")
        assert sim.confirm(sim.session.open_calls[0].call_id, confirmed=True, wait=PATIENCE)
        ask(sim, "refund")
        late = [each for each in sim.session.open_calls if each.tool_name == "refund"]
        assert sim.reply(late[0].call_id, "paid", wait=PATIENCE)
        confirmed, later, ended = warnings(sim.session)
    assert is_about(confirmed, "", "confirmation", "cannot")
    assert is_about(later, "", "refund", "does not")
    assert is_about(ended, "", "refund", "turn 2")


def test_state_that_came_with_a_query_is_told() -> None:
    """State that was set with a later query is no initial state."""
    with opened(agent([say("ok"), say("ok")]), seats=REAL) as sim:
        assert sim.query("go", state_delta={"plan": "pro"}, wait=PATIENCE)
        assert sim.query("on", state_delta={"tier": "gold"}, wait=PATIENCE)
        (only,) = warnings(sim.session)
    assert is_about(only, "", "state", "(tier)")


ERROR = {"error": {"type": "TimeoutError", "message": "too late"}}


def charge(amount: float) -> dict[str, Any]:
    """Charge an amount."""
    raise AssertionError(amount)


def retried() -> Workflow:
    """Make a graph whose agent is tried again when its tool raises."""
    again = RetryConfig(max_attempts=3, initial_delay=0.01)
    tried = agent_of([call("charge", amount=5.0)], [say("Done.")], tools=[charge], retry_config=again)
    return Workflow(name="desk", edges=[("START", tried)])


def played_retried() -> Simulation:
    """Let the first call raise and the second succeed."""
    simulation = Simulation.open(SimulatedAgentConfig("desk", retried(), "desk.evalset.json"))
    assert simulation.query("go", wait=PATIENCE)
    answer(simulation, raised("TimeoutError", "too late"), {"paid": 5.0})
    return simulation


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
def test_an_exception_behind_a_retried_node_is_exported(form: TraceForm, tmp_path: Path) -> None:
    """The call that raised has its response right behind it, with the class and the message; a replay raises the same."""
    path = tmp_path / "desk.evalset.json"
    with played_retried() as simulation:
        case = GoldenTraceBuilder(simulation.session, form=form).build()
        keep(simulation, path, "retried", form=form)
    (turn,) = turns(case)
    assert [name for name, _ in calls(turn)] == ["charge", "charge"]
    assert answers(turn) == [("charge", ERROR), ("charge", {"paid": 5.0})]
    made, seen = (ids_of(turn.intermediate_data) for ids_of in (get_all_tool_calls, get_all_tool_responses))
    assert [each.id for each in made] == [each.id for each in seen]
    (result,) = verify(path, agent=SimulatedAgentConfig("desk", retried(), path)).cases
    assert result.status == "passed", result
