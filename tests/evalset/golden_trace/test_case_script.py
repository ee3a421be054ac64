"""A golden trace alone can be played again: its case becomes a script that gives the same trace."""

from __future__ import annotations

import pytest
from google.adk.evaluation.eval_case import EvalCase

from evalset import GoldenTraceBuilder
from evalset.golden_trace.builder import TraceForm
from evalset.golden_trace.case_script import script_of_case
from simulator import demo_agent
from simulator.agents import DEMOS
from simulator.runtime.knowledge.tool_shapes import agents_as_tools
from simulator.scripts import read_script, write_script
from tests.evalset.golden_trace.traces import answers, calls, turns
from tests.evalset.sessions import agent, find_order
from tests.simulator.scripts.recording import play, play_with, record_demo

FORMS: tuple[TraceForm, ...] = ("intermediate_data", "invocation_events")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_case_gives_the_same_trace_when_it_is_played_again(name: str) -> None:
    """Calls, answers and final responses of every turn are the same: transfers, confirmations and agents as tools too."""
    config = demo_agent(name)
    with record_demo(name) as recorded:
        cases = [GoldenTraceBuilder(recorded.session, form=form, eval_id="case").build() for form in FORMS]
    for form, case in zip(FORMS, cases, strict=True):
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


def test_what_a_case_lacks_is_asked_for() -> None:
    """A case of calls alone, as most are: the agent does the same, and its environment is asked."""
    turn = {
        "userContent": {"parts": [{"text": "Where is A-1?"}]},
        "finalResponse": {"parts": [{"text": "On its way."}]},
        "intermediateData": {"toolUses": [{"name": "find_order", "args": {"order_id": "A-1"}}]},
    }
    case = EvalCase.model_validate({"evalId": "by_hand", "conversation": [turn]})
    played = play(agent(tools=[find_order]), script_of_case(case).script)
    (waits,) = played.waits
    assert ("find_order" in waits.words, "order_desk" in waits.words) == (True, True)
