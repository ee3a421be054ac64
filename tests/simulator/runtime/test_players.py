"""Proves each player of the tools' seat through a whole session, and what the user answers in turns of their own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from simulator.facts import Deferred, Returned
from simulator.runtime import SimulationError
from simulator.seats.answers import CodeAnswer, ToolAnswer, failed, raised, returned, said
from simulator.seats.requests import ToolRequest
from simulator.session import SessionState
from tests.simulator.runtime.desk import FIND, asked, find, other, response_of
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    call,
    entries,
    going,
    opened,
    say,
    tool_facts,
    tool_requests,
)

# ---------------------------------------------------------------- a person answers tools


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (returned({"list": [{"deep": 1}], "ä": "ß"}), {"list": [{"deep": 1}], "ä": "ß"}),
        (returned({}), {}),
        (returned([1, "two", None]), {"result": [1, "two", None]}),
        (returned(0), {"result": 0}),
        (returned(None), {"result": None}),
        (returned(""), {"result": ""}),
        (failed(404, "none"), {"error_code": 404, "error_message": "none"}),
        (failed("NOT_FOUND", "none"), {"error_code": "NOT_FOUND", "error_message": "none"}),
    ],
)
def test_the_agent_sees_any_value_or_error_that_a_person_gives(answer: ToolAnswer, seen: Any) -> None:
    """A dict arrives as it is, anything else as `{"result": value}`; the timeline has the value itself, and calls an error one."""
    with opened(agent_of(FIND, tools=[find])) as sim:
        assert sim.answer(asked(sim), answer, wait=PATIENCE)
        assert response_of(sim) == seen
        (entry,) = entries(sim, "tool_output", "tool_error")
        if isinstance(answer.outcome, Returned):
            assert (entry.type, entry.result) == ("tool_output", answer.outcome.value)
        else:
            assert (entry.error_type, entry.error_message) == (str(seen["error_code"]), "none")
        assert entry.provenance.source == "written"
        assert sim.session.state is SessionState.COMPLETED


@pytest.mark.parametrize(
    ("kind", "short", "words", "raises"),
    [
        ("TimeoutError", "TimeoutError", "too slow", "TimeoutError"),
        ("no.such.module:Strange", "Strange", "too slow", "Strange"),
        ("builtins:KeyError", "KeyError", "'too slow'", "KeyError"),
    ],
)
def test_a_person_raises_and_the_session_goes_on(kind: str, short: str, words: str, raises: str) -> None:
    """A raised answer ends the turn with its error in the timeline, in Python's own words; the next query works."""
    with opened(agent_of(FIND, tools=[find])) as sim:
        assert sim.answer(asked(sim), raised(kind, "too slow"), wait=PATIENCE)
        (error,) = entries(sim, "tool_error")
        assert (error.error_type, error.error_message) == (short, words)
        (failure,) = entries(sim, "turn_failed")
        assert failure.error_type == raises
        assert "too slow" in failure.error_message
        assert sim.session.state is not SessionState.ACTIVE
        assert sim.answer(asked(sim, "again"), {"status": "open"}, wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED


def test_the_error_of_a_real_tool_has_its_class_and_no_address() -> None:
    """Its text would differ from run to run, and the agent's code is raised the same class again."""

    def find(order_id: str) -> str:
        """Find it."""
        raise ValueError(object())

    with going(agent_of(FIND, tools=[find]), tools="real") as sim:
        (error,) = entries(sim, "tool_error")
        (failure,) = entries(sim, "turn_failed")
        assert [each.error_type for each in (error, failure)] == ["ValueError"] * 2
        assert [each.error_message for each in (error, failure)] == ["<object object>"] * 2


def test_an_answers_state_delta_reaches_state_events_and_instructions() -> None:
    """A state delta of a person's answer lands in the event and in the session's state, and the next model call sees it."""
    agent = agent_of(FIND, tools=[find], instruction="Order: {found?}")
    with opened(agent) as sim:
        answer = returned({"ok": True}, state_delta={"found": "A-1", "user:seen": [1], "temp:t": 1})
        assert sim.answer(asked(sim), answer, wait=PATIENCE)
        state = sim.session.current_state
        assert (state["found"], state["user:seen"]) == ("A-1", [1])
        assert "temp:t" not in state
        assert entries(sim, "tool_output")[0].state_delta == answer.state_delta
        seen = sim.model_view()
        assert seen is not None
        assert "Order: A-1" in seen.system_instruction


def test_an_answer_that_does_not_fit_or_comes_twice_is_refused_and_the_call_stays() -> None:
    """It raises in words and changes nothing: the same call still waits. Of an unknown call the key is named."""
    with opened(agent_of(FIND, FIND, tools=[find])) as sim:
        request, version = asked(sim), len(sim.journal)
        for answer, words in (
            (said("text"), "is a tool"),
            (CodeAnswer(stdout="hi"), "is a tool"),
            ({"not json": {1, 2}}, "answer to find"),
            (float("nan"), "answer to find"),
            (ToolAnswer(outcome=Deferred()), "not long-running"),
        ):
            with pytest.raises(SimulationError, match=words):
                sim.answer(request, answer)
            assert sim.pending == (request,)
            assert len(sim.journal) == version
        assert sim.answer(request, {"a": 1}, wait=PATIENCE)
        with pytest.raises(SimulationError, match="already answered"):
            sim.answer(request, {"a": 2})
        with pytest.raises(SimulationError, match="nobody"):
            sim.answer("nobody", {"a": 2})
        assert len(sim.pending) == 1


# ---------------------------------------------------------------- real, refuse, and swaps


@pytest.mark.parametrize(("player", "source"), [("real", "real"), ("refuse", "refused")])
def test_a_swap_takes_the_pending_calls_along(player: Any, source: str) -> None:
    """Who sits down in the middle of a session answers what is pending; a target leaves other tools alone."""
    calls = [call("find", order_id="A-1"), call("other", order_id="B-2")]
    with going(agent_of(calls, tools=[find, other])) as sim:
        assert sim.set_player("tool", player, "other", wait=PATIENCE)
        assert [request.tool_name for request in tool_requests(sim)] == ["find"]
        assert [fact.provenance.source for fact in tool_facts(sim)] == [source]
        assert sim.set_player("tool", player, wait=PATIENCE)
        assert not sim.pending
        assert sim.session.state is SessionState.COMPLETED


def test_real_calls_in_parallel_run_one_after_the_other() -> None:
    """No two real tools of a session run at the same time."""
    running, most = [0], [0]

    async def slow(number: int) -> int:
        """Take a moment."""
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.01)
        running[0] -= 1
        return number

    agent = agent_of([call("slow", number=number) for number in range(4)], tools=[slow])
    with going(agent, tools="real") as sim:
        assert len(tool_facts(sim)) == 4
    assert most == [1]


# ---------------------------------------------------------------- what stays open


def test_a_confirmations_payload_reaches_the_tool() -> None:
    """What the person gives along with a yes is what the real tool finds in its context."""

    def pay(amount: int, tool_context: ToolContext) -> Any:
        """Pay."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="How much?", payload={"limit": 1})
            return {"waiting": True}
        return tool_context.tool_confirmation.payload

    with going(agent_of([call("pay", amount=5)], tools=[pay]), tools="real") as sim:
        (open_call,) = [call for call in sim.session.open_calls if call.is_confirmation]
        assert sim.confirm(open_call.call_id, confirmed=True, payload={"limit": 3}, wait=PATIENCE)
        assert response_of(sim) == {"limit": 3}


@pytest.mark.parametrize(
    "first", [returned({"ticket": 7}), ToolAnswer(outcome=Deferred())], ids=["answered", "left open"]
)
def test_a_long_running_call_gets_its_result_in_a_later_turn(first: ToolAnswer) -> None:
    """A first answer goes to the agent at once, without one the turn ends open; the late reply is what the agent goes on with."""

    def turn(request: LlmRequest) -> list[types.Part]:
        return [say(f"seen: {request.contents[-1].parts}")]

    with opened(agent_of(FIND, turn, turn, tools=[LongRunningFunctionTool(find)])) as sim:
        request = asked(sim)
        assert isinstance(request, ToolRequest)
        assert request.is_long_running
        assert sim.answer(request, first, wait=PATIENCE)
        (open_call,) = sim.session.open_calls
        assert open_call.answered is isinstance(first.outcome, Returned)
        assert sim.reply(open_call.call_id, "shipped", wait=PATIENCE)
        assert entries(sim, "user_reply")[0].response == {"result": "shipped"} == response_of(sim)
        assert "shipped" in entries(sim, "final_response")[-1].content
        assert sim.session.state is SessionState.COMPLETED
