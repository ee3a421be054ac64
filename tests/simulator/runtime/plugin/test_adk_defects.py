"""Shows each known defect of google-adk 2.13's environment simulation, and the same without it here.

A test fails when ADK has mended a defect, too: then its half can go.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from simulator.environment.plugin_config import read_environment_config
from tests.simulator.runtime.plugin.adk_engine import (
    ByHeart,
    busy,
    configured,
    is_analysis,
    scripted_by,
    seen_by,
    stage_of,
)
from tests.simulator.runtime.plugin.order_tools import create_order, find_order
from tests.simulator.runtime.plugin.standing import BUSY, played, responses
from tests.simulator.runtime.stage import agent_of, call

FIND = [call("find_order", order_id="A-1")]
CREATE = [call("create_order", item="lamp")]
TOOLS: list[Any] = [create_order, find_order]
MOCKED = ({"tool_name": "create_order"}, {"tool_name": "find_order"})


def injected(tool: str, *injections: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a tool with injections."""
    return {"tool_name": tool, "injection_configs": list(injections)}


def analyses() -> int:
    """Count how often the model was asked how the tools hang together."""
    return sum(map(is_analysis, ByHeart.prompts))


def test_2_who_pays_for_an_analysis() -> None:
    """A call that an injection answers is analysed in ADK if another tool has a mock; here nothing is asked."""
    mixed = configured({"tool_name": "create_order"}, injected("find_order", busy()))
    for whose, expected in (("adk", 1), ("ours", 0)):
        scripted_by(lambda _: {"status": "open"})
        assert seen_by(whose, agent_of(FIND, tools=TOOLS), mixed) == [BUSY]
        assert analyses() == expected, whose


def test_2_whose_tools_are_analysed() -> None:
    """Five parallel first calls make five analyses in ADK, of the calling agent's tools; here one, of all agents' tools."""

    def pay(order_id: str) -> dict[str, str]:  # type: ignore[empty-body] # it is never run
        """Pay an order."""

    five = [call("find_order", order_id=f"A-{number}") for number in range(5)]
    for whose, expected in (("adk", [False] * 5), ("ours", [True])):
        scripted_by(lambda _: {"status": "open"})
        helper = agent_of(tools=[pay], name="helper")
        seen_by(whose, agent_of(five, tools=TOOLS, sub_agents=[helper]), configured(*MOCKED))
        assert ["pay" in asked for asked in filter(is_analysis, ByHeart.prompts)] == expected, whose


def test_3_sessions_share_their_chance() -> None:
    """A second session goes on in the seeded stream of the first, as in ADK; where somebody chose so, each begins it anew."""
    half = configured(
        injected(
            "find_order", busy(injection_probability=0.5, random_seed=3), {"injected_response": {"ok": 1}}
        )
    )
    turns = [[call("find_order", order_id=f"A-{number}")] for number in range(12)]
    by_session = read_environment_config(half).model_copy(update={"seeded_chance": "by_session"})
    seen: dict[str, list[list[Any]]] = {}
    for whose, chance, same in (("adk", half, False), ("ours", half, False), ("ours", by_session, True)):
        config: Any = chance
        stage = stage_of(whose, agent_of(*turns, tools=TOOLS), config)

        async def two(stage: Any = stage) -> list[list[Any]]:
            return [responses(await stage.turn(name)) for name in ("one", "two")]

        first, second = seen[f"{whose} {same}"] = asyncio.run(two())
        assert (first == second) is same, whose
    assert seen["ours False"] == seen["adk False"]


@pytest.mark.parametrize("broken", ["a list as id", "another shape", "an exception"])
def test_4_what_crashes_a_run(broken: str) -> None:
    """A list for an id, an analysis of another shape and a model that raises end a run in ADK; here it goes on."""
    analysis: Any = {"parameters": "none"} if broken == "another shape" else None
    error = RuntimeError("the model is down")
    answer: Any = error if broken == "an exception" else {"order_id": ["A-1", "A-2"], "status": "open"}
    scripted_by(lambda _: answer, analysis)
    with pytest.raises((TypeError, ValidationError, RuntimeError)):
        seen_by("adk", agent_of(CREATE, tools=TOOLS), configured(*MOCKED))
    scripted_by(lambda _: answer, analysis)
    read = read_environment_config(configured(*MOCKED)).model_copy(update={"model_retries": 0})
    ((seen,), stage) = played("plugin", agent_of(CREATE, tools=TOOLS), read)
    assert isinstance(seen, dict)
    assert stage.ours.calls()[0].provenance.source == "generated"


@pytest.mark.long
def test_9_a_partial_answer_erases_what_was_known() -> None:
    """After a cancellation that says the status only, ADK has forgotten the item; here it is still there."""

    def cancel_order(order_id: str) -> dict[str, str]:  # type: ignore[empty-body] # it is never run
        """Cancel an order."""

    creating = ["create_order", "cancel_order"]
    connections = {
        "stateful_parameters": [
            {"parameter_name": "order_id", "creating_tools": creating, "consuming_tools": ["find_order"]}
        ]
    }
    turns = [CREATE, [call("cancel_order", order_id="A-1")], FIND]
    tools = [*TOOLS, cancel_order]
    mocked = configured(*MOCKED, {"tool_name": "cancel_order"})
    for whose, erased in (("adk", True), ("ours", False)):
        answers = iter(
            [
                {"order_id": "A-1", "item": "a brass lamp", "status": "new"},
                {"order_id": "A-1", "status": "cancelled"},
                {"order_id": "A-1", "status": "cancelled"},
            ]
        )
        scripted_by(lambda _, left=answers: next(left), connections if whose == "adk" else None)  # type: ignore[misc] # mypy reads no default of a lambda
        stage = stage_of(whose, agent_of(*turns, tools=tools), mocked)
        asyncio.run(stage.turn())
        assert ("a brass lamp" not in ByHeart.prompts[-1]) is erased, whose
    assert [each.tool_name for each in stage.ours.calls()] == ["create_order", "cancel_order", "find_order"]


def test_9_no_answer_is_held_against_a_schema() -> None:
    """ADK gives the agent what the model said, whatever the tool declares; here it is mended, or drafted."""

    def total(order_id: str) -> int:  # type: ignore[empty-body] # it is never run
        """Return an order's total."""

    turn = [call("total", order_id="A-1")]
    mocked = configured({"tool_name": "total"})
    scripted_by(lambda _: {"total": "a lot"})
    assert seen_by("adk", agent_of(turn, tools=[total]), mocked) == [{"total": "a lot"}]
    scripted_by(lambda _: {"total": "a lot"})
    (seen,) = seen_by("ours", agent_of(turn, tools=[total]), mocked)
    assert isinstance(seen["result"], int)
