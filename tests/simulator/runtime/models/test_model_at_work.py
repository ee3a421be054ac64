"""Proves that a session's environment shows its model at work: each retry while it waits, what it cost, and that it can be stopped."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from simulator.environment.injection.rules import InjectionRule
from simulator.facts import Returned
from simulator.runtime import Simulation
from tests.harness.processes import wait_until
from tests.simulator.runtime.stage import PATIENCE, StandIn, agent_of, call, opened, tool_facts, tool_requests


class Order(TypedDict):
    """An order."""

    order_id: str
    status: str


def find_order(order_id: str) -> Order:
    """Find an order."""
    raise AssertionError("the real tool ran")


class BusyError(Exception):
    """What a client raises where its provider asks to come again later."""

    code = 429

    def __init__(self, seconds: float) -> None:
        super().__init__("too many requests")
        self.response = SimpleNamespace(headers={"retry-after": f"{seconds:g}"})


class Busy(StandIn):
    """A model that is busy so often, each time for so many seconds, and then says things in order."""

    model: str = "busy-model"
    waits: list[float] = Field(default_factory=list)
    says: list[str] = Field(default_factory=list)

    def respond(self, request: LlmRequest) -> LlmResponse:
        """Be busy, or say the next thing."""
        if self.waits:
            raise BusyError(self.waits.pop(0))
        counted = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=11, candidates_token_count=7, thoughts_token_count=3
        )
        return LlmResponse(content=types.ModelContent(self.says.pop(0)), usage_metadata=counted)


GOOD = {"order_id": "A-1", "status": "lost at sea"}
FIND = [call("find_order", order_id="A-1")]


def session(*says: Any, waits: list[float] | None = None, **more: Any) -> Simulation:
    """Open a session whose one tool such a model plays, and ask its agent."""
    simulation = opened(agent_of(FIND, tools=[find_order]), **{"tools": "model", **more})
    texts = [said if isinstance(said, str) else json.dumps(said) for said in says]
    simulation.environment.use_model(Busy(waits=waits or [], says=texts))
    return simulation


@pytest.mark.long
def test_a_retry_is_shown_while_it_is_waited_for_and_the_wait_can_be_stopped() -> None:
    """What is at work names the model and not the tool, the error, the wait and the number of the try; Stop ends it at once."""
    with session(GOOD, waits=[25.0] * 3) as sim:
        sim.query("go", wait=0)
        wait_until(lambda: "again" in _text(sim), what="the retry", seconds=PATIENCE)
        (running,) = sim.view().running
        assert (running.kind, running.name, running.by) == ("tool", "find_order", "busy-model")
        assert all(told in running.text for told in ("429", "25 s", "1 of 2"))
        sim.stop()
        assert sim.view().running == ()
        assert not sim.view().busy
        assert sim.session.turns[-1].stopped


def test_the_cost_of_an_answer_counts_all_that_was_asked() -> None:
    """Its answer is the tool's; time, input, output and thinking tokens, and how often it was asked, stand with it."""
    with session(GOOD, waits=[0.0]) as sim:
        assert sim.query("go", wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.outcome == Returned(value=GOOD)
        (cost, *_) = fact.provenance.notes
        told = (
            "busy-model",
            " s,",
            "11 input tokens",
            "7 output tokens",
            "3 thinking tokens",
            "asked 2 times",
        )
        assert [word for word in told if word not in cost] == []


def test_the_cost_of_answers_that_were_of_no_use_is_told_too() -> None:
    """A person is asked, who has the offline draft; the reason comes with what both answers took."""
    with session("no JSON", "again none") as sim:
        assert sim.query("go", wait=PATIENCE)
        (request,) = tool_requests(sim)
        assert request.draft_by == "offline"
        assert request.failure == request.note
        reason, cost, *_ = request.draft_from
        assert reason.startswith("a generated draft: ")
        assert "22 input tokens" in cost
        assert "asked 2 times" in cost


@pytest.mark.parametrize(
    ("more", "delay"), [({"effect": {"kind": "hang"}}, None), ({"latency_seconds": 60.0}, 60.0)]
)
def test_a_rule_or_a_fault_that_holds_a_call_up_is_named_in_place_of_the_tool(
    more: dict[str, Any], delay: float | None
) -> None:
    """Nobody is told that the real tool is at work, which never ran, and how long it takes is known."""
    error = {"kind": "error", "error_code": 503, "error_message": "busy"}
    rule = InjectionRule.model_validate(
        {"rule_id": "slow", "tool_name": "find_order", "effect": error, **more}
    )
    with session(rules=[rule]) as sim:
        sim.query("go", wait=0)
        wait_until(lambda: bool(sim.view().running), what="the rule", seconds=PATIENCE)
        assert (sim.view().running[0].by, sim.view().running[0].delay) == ("slow", delay)
        sim.stop()
        assert sim.session.turns[-1].stopped
        assert not tool_facts(sim)
    fault = rule.model_copy(update={"label": "Very slow"})
    with session() as sim:
        sim.set_player("tool", "person", "find_order")
        assert sim.query("go", wait=PATIENCE)
        sim.inject(tool_requests(sim)[0], fault, wait=0)
        wait_until(lambda: bool(sim.view().running), what="the fault", seconds=PATIENCE)
        assert (sim.view().running[0].by, sim.view().running[0].delay) == ("Very slow", delay)
        sim.stop()


def _text(sim: Simulation) -> str:
    running = sim.view().running
    return running[0].text if running else ""
