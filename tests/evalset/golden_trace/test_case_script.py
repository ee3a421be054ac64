"""A golden trace alone can be played again: its case becomes a script that gives the same trace."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.evaluation.eval_case import EvalCase
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from evalset import GoldenTraceBuilder
from evalset.errors import ScenarioError
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.case_script import script_of_case
from simulator import demo_agent
from simulator.agents import DEMOS
from simulator.runtime.knowledge.tool_shapes import agents_as_tools
from simulator.scripts import read_script, write_script
from simulator.scripts.script_lines import ToolMove
from tests.evalset.golden_trace.traces import answers, calls, turns
from tests.evalset.sessions import PATIENCE, agent, answer, ask, call, find_order, opened, refund, say
from tests.simulator.scripts.recording import play, play_with, record_demo


def made(**invocation: Any) -> EvalCase:
    """Make a case of one turn, as people write it by hand."""
    turn = {
        "userContent": {"parts": [{"text": "Where is A-1?"}]},
        "finalResponse": {"parts": [{"text": "On its way."}]},
        **invocation,
    }
    return EvalCase.model_validate({"evalId": "by_hand", "conversation": [turn]})


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_case_gives_the_same_trace_when_it_is_played_again(name: str, form: TraceForm) -> None:
    """Calls, answers and final responses of every turn are the same: transfers, confirmations and agents as tools too."""
    with record_demo(name) as recorded:
        case = GoldenTraceBuilder(recorded.session, form=form, eval_id="case").build()
    config = demo_agent(name)
    script = script_of_case(case, agents_as_tools(config.root_agent)).script
    assert read_script(write_script(script)).script == script
    played = play_with(config, script)
    assert (played.waits, played.refused, played.failure, played.leftovers) == ((), None, "", ())
    again = GoldenTraceBuilder(played.session, form=form, eval_id="case").build()
    for before, after in zip(turns(case), turns(again), strict=True):
        assert [call for call in calls(after) if "adk_" not in str(call[0])] == [
            call for call in calls(before) if "adk_" not in str(call[0])
        ]
        assert answers(after) == answers(before)
        assert after.final_response == before.final_response


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
@pytest.mark.parametrize("approved", [True, False])
def test_what_the_user_answered_is_a_turn_of_the_script(form: TraceForm, *, approved: bool) -> None:
    """A yes or a no is said again; what ADK itself answers to the call needs no line."""
    tool = FunctionTool(refund, require_confirmation=True)
    turn = [call("refund", order_id="A-1", amount=3)], [say("I asked.")], [say("Done.")]
    with opened(agent(*turn, tools=[tool])) as sim:
        ask(sim, "Refund A-1.")
        assert sim.confirm(sim.session.open_calls[0].call_id, confirmed=approved, wait=PATIENCE)
        answer(sim, *[{"paid": 3}] * approved)
        case = GoldenTraceBuilder(sim.session, form=form, eval_id="case").build()
    script = script_of_case(case).script
    assert [turn.speaks for turn in script.turns] == ["say", "confirm"]
    played = play(agent(tools=[tool]), script)
    assert (played.waits, played.refused, played.failure) == ((), None, "")
    again = GoldenTraceBuilder(played.session, form=form, eval_id="case").build()
    assert [answers(turn) for turn in turns(again)] == [answers(turn) for turn in turns(case)]


@pytest.mark.parametrize("form", ["intermediate_data", "invocation_events"])
def test_a_late_result_comes_late_again(form: TraceForm) -> None:
    """Its call is answered with what stood there at first, and the user brings the result."""
    turn = [call("refund", order_id="A-1", amount=3)], [say("It is on its way.")], [say("It has arrived.")]
    tools = [LongRunningFunctionTool(refund)]
    with opened(agent(*turn, tools=tools)) as sim:
        ask(sim, "Refund A-1.", {"status": "pending"})
        assert sim.reply(sim.session.open_calls[0].call_id, {"status": "paid"}, wait=PATIENCE)
        case = GoldenTraceBuilder(sim.session, form=form, eval_id="case").build()
    played = play(agent(tools=tools), script_of_case(case).script)
    again = GoldenTraceBuilder(played.session, form=form, eval_id="case").build()
    assert [answers(turn) for turn in turns(again)] == [answers(turn) for turn in turns(case)]


def test_answers_without_ids_go_to_the_calls_of_their_tools() -> None:
    """People who write cases by hand give no ids: of each tool the first answer goes to the first call."""
    data = {
        "toolUses": [{"name": "find_order", "args": {"order_id": which}} for which in ("A-1", "A-2")],
        "toolResponses": [{"name": "find_order", "response": {"status": how}} for how in ("lost", "sent")],
    }
    made_of = script_of_case(made(intermediateData=data))
    lines = [move for move in made_of.script.turns[0].moves if isinstance(move, ToolMove)]
    assert [(line.args, line.returns) for line in lines] == [
        ({"order_id": "A-1"}, {"status": "lost"}),
        ({"order_id": "A-2"}, {"status": "sent"}),
    ]
    assert made_of.losses == ()


def test_what_a_case_lacks_is_asked_for() -> None:
    """A case of calls alone, as most are: the agent does the same, and its environment is asked."""
    case = made(intermediateData={"toolUses": [{"name": "find_order", "args": {"order_id": "A-1"}}]})
    played = play(agent(tools=[find_order]), script_of_case(case).script)
    assert [waits.words for waits in played.waits] == ["a response of find_order, called by order_desk"]


def test_what_no_line_stands_for_is_said() -> None:
    """Texts that nobody knows the time of, and answers to calls that nobody made, are left out with a word."""
    data = {
        "toolResponses": [{"name": "ghost", "response": {}}],
        "intermediateResponses": [["order_desk", [{"text": "One moment."}]]],
    }
    losses = script_of_case(made(intermediateData=data)).losses
    assert ["'ghost' without its call" in losses[0], "before the final response" in losses[1]] == [
        True,
        True,
    ]


def test_a_case_without_a_conversation_is_refused() -> None:
    """A scenario's case holds what is to be played and not what was; a turn without words is none."""
    scenario = {"startingPrompt": "Hello", "conversationPlan": "Ask."}
    with pytest.raises(ScenarioError, match="'plan' has no conversation"):
        script_of_case(EvalCase.model_validate({"evalId": "plan", "conversationScenario": scenario}))
    with pytest.raises(ScenarioError, match="turn 1 of the case 'by_hand': no user message"):
        script_of_case(made(userContent={"parts": []}))
