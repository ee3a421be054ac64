"""A session's golden trace says what the agent was asked, called, saw and said, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import ParallelAgent
from google.adk.evaluation.eval_case import (
    InvocationEvents,
)
from google.adk.tools.agent_tool import AgentTool
from pydantic import BaseModel, JsonValue

from evalset import GoldenTraceBuilder, GoldenTraceError, warnings
from simulator import Simulation
from simulator.seats.answers import called, raised, returned, said
from simulator.session import Seats, SimulationSession
from tests.evalset.golden_trace.traces import answers, built, calls, data, roles, text, traced, turns
from tests.evalset.sessions import PATIENCE, agent, answer, ask, call, find_order, opened, refund, say
from tests.evalset.there import there

# ADK warns of agents that many people still have.
pytestmark = pytest.mark.filterwarnings("ignore:(Sequential|Parallel)Agent is deprecated:DeprecationWarning")


def test_one_tool_call() -> None:
    """Query, call, response and final response stand in the case with roles and the state before and after.

    A picture in the query is in the case as the agent got it.
    """
    picture: JsonValue = {"inline_data": {"mime_type": "image/png", "data": "_--A"}}
    asked: Any = {"role": "user", "parts": [{"text": "Where is this?"}, picture]}
    of = agent([call("find_order", order_id="A-1")], [say("It is late.")], tools=[find_order])
    with opened(of, initial_state={"tier": "gold", "none": None}, user_id="ada") as sim:
        ask(sim, asked, returned({"status": "late"}, state_delta={"seen": ["A-1"], "temp:x": 1}))
        case = built(sim)
    (turn,) = turns(case)
    assert roles(turn) == ("user", "model")
    assert data(turn).intermediate_responses == []
    blobs = [part.inline_data and part.inline_data.data for part in turn.user_content.parts or ()]
    assert blobs == [None, b"\xff\xef\x80"]
    assert there(case.session_input).model_dump(exclude_none=True) == {
        "app_name": "order_desk",
        "user_id": "ada",
        "state": {"tier": "gold", "none": None},
    }
    assert case.final_session_state == {"tier": "gold", "none": None, "seen": ["A-1"]}


@pytest.mark.parametrize("value", ["text", 7, None, True, [1, {"a": None}], {"result": 3}, {}])
def test_what_a_tool_returned_is_kept_as_the_agent_saw_it(value: Any) -> None:
    """A dict stays as it is, anything else is `{"result": value}`."""
    turn = traced(agent([call("find_order", order_id="A-1")], tools=[find_order]), "go", returned(value))
    assert answers(turn) == [("find_order", value if isinstance(value, dict) else {"result": value})]


def test_an_error_that_ended_the_turn_makes_no_trace_and_spoils_none() -> None:
    """Where nothing caught the error there is no final response to compare; a later query is exported without it."""
    with opened(agent([call("find_order", order_id="A-1")], tools=[find_order])) as sim:
        ask(sim, "go", raised("TimeoutError", "too slow"))
        with pytest.raises(GoldenTraceError, match=r"turn 1 .* failed with TimeoutError"):
            GoldenTraceBuilder(sim.session).build()
        ask(sim, "and now?")
        (turn,) = turns(GoldenTraceBuilder(sim.session).build())
        assert text(turn.user_content) == "and now?"
        assert "leaves out turn 1, which failed" in left_out(sim)


def test_a_call_that_was_stopped_never_stands_in_a_trace() -> None:
    """A stopped turn is left out, with a word about it, and the turns around it are exported."""
    with opened(agent([call("find_order", order_id="A-1")], tools=[find_order])) as sim:
        assert sim.query("go", wait=PATIENCE)
        sim.stop()
        with pytest.raises(GoldenTraceError, match=r"turn 1 \('go'\) was stopped; undo"):
            GoldenTraceBuilder(sim.session).build()
        assert sim.query("and now?", wait=PATIENCE)
        if sim.pending:
            answer(sim, {"ok": True})
        (turn,) = turns(GoldenTraceBuilder(sim.session).build())
        assert text(turn.user_content) == "and now?"
        assert "leaves out turn 1" in left_out(sim)


def left_out(sim: Simulation) -> str:
    """Return the caveat about turns that came to nothing."""
    return next((words for words in warnings(sim.session) if "leaves out" in words), "")


def test_parallel_calls_stand_in_the_order_of_the_calls() -> None:
    """However they were answered, calls and responses are in the agent's order."""
    at_once = [say("Both."), call("find_order", order_id="A-1"), call("find_order", order_id="A-2")]
    with opened(agent(at_once, [say("ok")], tools=[find_order])) as sim:
        assert sim.query("both", wait=PATIENCE)
        first, second = sim.pending
        assert sim.answer(second, {"n": 2}, wait=PATIENCE)
        assert sim.answer(first, {"n": 1}, wait=PATIENCE)
        (turn,) = turns(built(sim))
    assert answers(turn) == [("find_order", {"n": 1}), ("find_order", {"n": 2})]
    assert [made.id for made in data(turn).tool_uses] == [seen.id for seen in data(turn).tool_responses]
    assert [(who, said_[0].text) for who, said_ in data(turn).intermediate_responses] == [
        ("order_desk", "Both.")
    ]


def test_a_transfer_is_a_call_and_the_helper_speaks() -> None:
    """The transfer stands among the calls, and the helper's last text is the final response."""
    helper = agent(
        [call("refund", order_id="A-1", amount=2.5)], [say("Paid.")], name="helper", tools=[refund]
    )
    root = agent([say("I hand over."), call("transfer_to_agent", agent_name="helper")], sub_agents=[helper])
    turn = traced(root, "refund", {"paid": True})
    assert calls(turn) == [
        ("transfer_to_agent", {"agent_name": "helper"}),
        ("refund", {"order_id": "A-1", "amount": 2.5}),
    ]
    assert text(turn.final_response) == "Paid."
    assert [who for who, _ in data(turn).intermediate_responses] == ["order_desk"]


def test_agents_side_by_side_keep_their_calls() -> None:
    """Calls of agents that ran at the same time are those that ADK recorded, in its order."""
    both = ParallelAgent(
        name="both",
        sub_agents=[
            agent([call("find_order", order_id=name)], [say(name)], name=name, tools=[find_order])
            for name in ("one", "two")
        ],
    )
    turn = traced(both, "go", {"n": 1}, {"n": 2})
    assert sorted(str(args) for _, args in calls(turn)) == ["{'order_id': 'one'}", "{'order_id': 'two'}"]


def test_an_agent_tool_is_one_call() -> None:
    """What a nested agent did inside of its tool is not part of the trajectory; its answer is."""
    inner = agent(
        [call("refund", order_id="A-1", amount=1.0)], [say("Paid 1.")], name="cashier", tools=[refund]
    )
    turn = traced(
        agent([call("cashier", request="pay")], [say("ok")], tools=[AgentTool(inner)]), "pay", {"paid": True}
    )
    assert calls(turn) == [("cashier", {"request": "pay"})]
    assert answers(turn) == [("cashier", {"result": "Paid 1."})]


class Verdict(BaseModel):
    """An answer in fields."""

    paid: bool


def test_a_structured_answer() -> None:
    """With an output schema the final response is its JSON; ADK's own answering call stands among the calls."""
    plain = traced(agent([say('{"paid": true}')], output_schema=Verdict), "paid?")
    assert (text(plain.final_response), calls(plain)) == ('{"paid": true}', [])
    asked = [call("find_order", order_id="A-1")]
    of = agent(asked, [call("set_model_response", paid=True)], output_schema=Verdict, tools=[find_order])
    turn = traced(of, "paid?", {"paid": True})
    assert [name for name, _ in calls(turn)] == ["find_order", "set_model_response"]
    assert text(turn.final_response) == '{"paid": true}'


def test_several_queries_are_several_invocations() -> None:
    """Each query has its own calls and its own final response; the state at the end is the last one's."""
    of = agent(
        [call("find_order", order_id="A-1")],
        [say("Late.")],
        [call("refund", order_id="A-1", amount=3)],
        [say("Paid.")],
        tools=[find_order, refund],
    )
    with opened(of) as sim:
        ask(sim, "Where is it?", returned({"status": "late"}, state_delta={"step": 1}))
        ask(sim, "Refund it.", returned({"paid": 3}, state_delta={"step": 2}))
        case = built(sim)
    first, second = turns(case)
    assert (calls(first)[0][0], calls(second)[0][0]) == ("find_order", "refund")
    assert (text(first.final_response), text(second.final_response)) == ("Late.", "Paid.")
    assert case.final_session_state == {"step": 2}
    assert there(case.session_input).state == {}


def test_turns_of_a_person_count_like_the_models() -> None:
    """A person in the agent's seat leaves the same trace as a model that makes the same turns."""
    with opened(agent(tools=[find_order]), seats=Seats(agents={"*": "person"})) as sim:
        ask(
            sim,
            "Where?",
            called(("find_order", {"order_id": "A-1"})),
            {"status": "late"},
            said("It is late."),
        )
        by_person = built(sim)
    with opened(agent([call("find_order", order_id="A-1")], [say("It is late.")], tools=[find_order])) as sim:
        ask(sim, "Where?", {"status": "late"})
        by_model = built(sim)
    one, other = turns(by_person)[0], turns(by_model)[0]
    assert (calls(one), answers(one), one.final_response) == (
        calls(other),
        answers(other),
        other.final_response,
    )


def test_the_form_with_events() -> None:
    """As events every call and response is kept in place, each event has content, and the final text is not doubled."""
    of = agent([say("Let me see."), call("find_order", order_id="A-1")], [say("Late.")], tools=[find_order])
    with opened(of) as sim:
        ask(sim, "Where?", {"status": "late"})
        (turn,) = turns(built(sim, form="invocation_events"))
    assert isinstance(turn.intermediate_data, InvocationEvents)
    events = turn.intermediate_data.invocation_events
    assert [event.author for event in events] == ["order_desk", "order_desk"]
    contents = [event.content for event in events]
    assert [content.role for content in contents if content] == ["model", "user"]
    assert [text(content) for content in contents] == ["Let me see.", None]
    assert text(turn.final_response) == "Late."


def test_only_a_completed_session_is_exported() -> None:
    """Before the query, and while a tool waits, the error names the session's state."""
    with opened(agent([call("find_order", order_id="A-1")], tools=[find_order])) as sim:
        with pytest.raises(GoldenTraceError, match=r"not completed \(awaiting_query\)"):
            GoldenTraceBuilder(sim.session).build()
        assert sim.query("go", wait=PATIENCE)
        with pytest.raises(
            GoldenTraceError, match=r"not completed \(active\): turn 1 \('go'\) is still running"
        ):
            GoldenTraceBuilder(sim.session).build()
        answer(sim, {"ok": True})
        assert built(sim).eval_id
    with pytest.raises(GoldenTraceError, match=r"not completed \(selecting_agent\)"):
        GoldenTraceBuilder(SimulationSession()).build()


def test_the_case_changes_nothing_and_shares_nothing_with_the_session() -> None:
    """Whoever edits the case does not edit the session; building twice gives the same case."""
    of = agent([call("find_order", order_id="A-1")], tools=[find_order])
    with opened(of, initial_state={"list": [1]}) as sim:
        ask(sim, "go", {"lines": [1]})
        session = sim.session
        before = session.model_dump_json()
        case = GoldenTraceBuilder(session).build()
        there(case.session_input).state["list"].append(2)
        there(case.final_session_state)["list"].append(3)
        (response,) = data(turns(case)[0]).tool_responses
        there(response.response)["lines"].append(4)
        assert session.model_dump_json() == before
        assert GoldenTraceBuilder(session).build() == GoldenTraceBuilder(session).build()


def test_the_id_can_be_chosen_but_not_any() -> None:
    """The id is the agent's name and the session's start, or what the caller wants if ADK can take it."""
    with opened(agent([say("hi")])) as sim:
        ask(sim, "hi")
        assert built(sim).eval_id == "order_desk_2023-11-14T22-13-20.125Z"
        assert built(sim, eval_id="mine").eval_id == "mine"
        with pytest.raises(GoldenTraceError, match="contains ':'"):
            GoldenTraceBuilder(sim.session, eval_id="a:b").build()
