"""Proves each player of the agent's seat through a whole session: a person, its own model, its model held for approval."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.agents import ParallelAgent
from pydantic import BaseModel

from simulator.base.json_values import JsonObject
from simulator.runtime import SimulationError
from simulator.seats.answers import ModelAnswer, called
from simulator.seats.requests import ModelRequest
from simulator.session import SessionState
from tests.simulator.runtime.desk import FIND, asked, find
from tests.simulator.runtime.stage import (
    PATIENCE,
    agent_of,
    entries,
    opened,
    say,
    tool_requests,
)

# The agents that steer others are deprecated in ADK, and in use all the same.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated in favor of Workflow:DeprecationWarning")


# ---------------------------------------------------------------- the agent's seat


def test_a_person_plays_the_agent_from_what_the_model_would_see() -> None:
    """The request shows instruction, contents and declarations; the person calls a tool, then says the final text."""
    agent = agent_of(tools=[find], instruction="You are a clerk.")
    with opened(agent, agents="person") as sim:
        request = asked(sim, "where is A-1?")
        assert isinstance(request, ModelRequest)
        assert "You are a clerk." in request.system_instruction
        assert request.contents[-1]["parts"] == [{"text": "where is A-1?"}]
        assert [tool.name for tool in request.tools] == ["find"]
        assert sim.answer(request, called(("find", {"order_id": "A-1"}), text="Let me look."), wait=PATIENCE)
        (tool,) = tool_requests(sim)
        assert tool.arguments == {"order_id": "A-1"}
        assert sim.answer(tool, {"status": "open"}, wait=PATIENCE)
        assert sim.answer(sim.pending[0], "It is open.", wait=PATIENCE)
        assert entries(sim, "final_response")[0].content == "It is open."
        assert [entry.content for entry in entries(sim, "agent_message")] == ["Let me look."]
        assert agent.model.asked == []  # type: ignore[union-attr] # the scripted model was never asked


class Guest(BaseModel):
    """Who travels; the note may be empty."""

    name: str
    note: str = ""


def book(guest: Guest, others: list[Guest]) -> dict[str, Any]:
    """Book a trip."""
    return {}


def test_a_call_that_its_tool_does_not_accept_is_sent_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A model may make one; who answers for it from Python is told."""
    with opened(agent_of(tools=[find, book]), agents="person") as sim:
        request = asked(sim, "where is A-1?")
        wrong: tuple[str, JsonObject] = ("find", {"order": "A-1"})
        fine: tuple[str, JsonObject] = ("find", {"order_id": "A-1"})
        empty: tuple[str, JsonObject] = ("find", {"order_id": ""})
        guest: tuple[str, JsonObject] = (
            "book",
            {"guest": {"name": ""}, "others": [{"name": "Ada"}, {"name": ""}]},
        )
        calls = (wrong, fine, empty, guest)
        assert sim.answer(request, called(*calls, ("nosuch", {})), wait=PATIENCE)
        assert [tool.arguments for tool in tool_requests(sim)] == [call[1] for call in calls]
        told = [each.getMessage() for each in caplog.records if "does not fit" in each.getMessage()]
        within = ("'book'", "$.guest.name: is empty", "$.others[1].name: is empty")
        named = (("'find'", "order_id"), ("'find'", "order_id: is empty"), within, ("'nosuch'",))
        for words, names in zip(told, named, strict=True):
            assert all(name in words for name in names)


def test_held_turns_are_proposed_then_accepted_edited_or_replaced() -> None:
    """With approval each turn of the model waits: it can be taken as it is, changed, or written anew."""
    agent = agent_of(FIND, FIND, [say("model's end")], tools=[find])
    with opened(agent, agents="held", tools="real") as sim:
        first = asked(sim)
        assert isinstance(first, ModelRequest)
        assert first.proposal is not None
        parts: Any = first.proposal[-1]["content"]
        assert parts["parts"][0]["function_call"]["args"] == {"order_id": "A-1"}
        assert sim.answer(first, ModelAnswer(parts=tuple(parts["parts"]), source="generated"), wait=PATIENCE)
        edited = ModelAnswer(
            parts=({"function_call": {"name": "find", "args": {"order_id": "Z-9"}}},), source="edited"
        )
        assert sim.answer(sim.pending[0], edited, wait=PATIENCE)
        assert entries(sim, "tool_output")[-1].result["order_id"] == "Z-9"
        assert sim.answer(sim.pending[0], "my own end", wait=PATIENCE)
        assert entries(sim, "final_response")[0].content == "my own end"
        assert len(agent.model.asked) == 3  # type: ignore[union-attr] # each turn was asked once


def test_a_model_that_raises_while_held_leaves_the_turn_to_the_person() -> None:
    """A held model's error is shown with the request, and the person may speak instead or ask it again."""
    with opened(agent_of(RuntimeError("quota"), tools=[find]), agents="held") as sim:
        request = asked(sim)
        assert request.failure == "RuntimeError: quota"
        assert sim.run_real(request, wait=PATIENCE)
        again = sim.pending[0]
        assert isinstance(again, ModelRequest)
        assert again.failure is None
        assert sim.answer(again, "instead", wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED


def test_the_agents_seat_is_swapped_in_the_middle_of_a_turn() -> None:
    """A pending turn goes to the model when it sits down, to be held when asked, and back to the person."""
    agent = agent_of(FIND, [say("done by model")], tools=[find])
    with opened(agent, agents="person", tools="real") as sim:
        asked(sim)
        assert sim.set_player("agent", "held", wait=PATIENCE)
        (held,) = sim.pending
        assert isinstance(held, ModelRequest)
        assert held.proposal is not None
        assert sim.set_player("agent", "model", wait=PATIENCE)
        assert entries(sim, "final_response")[0].content == "done by model"


def test_the_seats_of_two_agents_are_apart() -> None:
    """A person plays one agent by name while the other's own model goes on."""
    two = [agent_of([say(f"{name} spoke")], name=name) for name in ("one", "two")]
    with opened(ParallelAgent(name="both", sub_agents=list(two)), agents={"two": "person"}) as sim:
        request = asked(sim)
        assert request.agent == "two"
        assert sim.answer(request, "a person spoke", wait=PATIENCE)
        assert "one spoke" in str(sim.session.turns[0].events)
        assert "two spoke" not in str(sim.session.turns[0].events)


class Verdict(BaseModel):
    """A structured answer."""

    approved: bool


@pytest.mark.parametrize("tools", [[], [find]], ids=["alone", "with tools"])
def test_a_final_answer_that_breaks_the_output_schema_is_refused(tools: list[Any]) -> None:
    """A person's final text is checked before ADK raises over it; the turn waits on."""
    agent = agent_of(tools=tools, output_schema=Verdict)
    with opened(agent, agents="person") as sim:
        request = asked(sim)
        assert (request.response_schema is None) is bool(tools)
        for wrong in ("not json", '{"approved": "maybe?"}', "{}"):
            with pytest.raises(SimulationError, match="output schema"):
                sim.answer(request, wrong)
        assert sim.answer(request, '{"approved": true}', wait=PATIENCE)
        assert sim.session.state is SessionState.COMPLETED
