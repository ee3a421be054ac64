"""Shows each known defect of google-adk 2.13's environment simulation, and the same without it here.

A test fails when ADK has mended a defect, too: then its half can go.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.models import Gemini
from google.adk.tools.environment_simulation.environment_simulation_config import InjectionConfig
from google.adk.tools.function_tool import FunctionTool
from pydantic import ValidationError

from simulator.environment.injection.adk_injection_config import EnvironmentConfigError
from simulator.environment.plugin_config import read_environment_config
from simulator.environment.prompts.provider_schemas import answer_schema
from simulator.runtime.models.model_requests import RequestFeatures, asking
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
from tests.simulator.runtime.plugin.standing import BUSY, config, played, responses, rule
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


def test_3_sessions_share_a_state() -> None:
    """In ADK the prompt for one session holds what another has made; here it does not."""
    for whose, leaks in (("adk", True), ("ours", False)):
        scripted_by(lambda _: {"order_id": "SECRET-1", "status": "open"})
        stage = stage_of(whose, agent_of(CREATE, tools=TOOLS), configured(*MOCKED))

        async def two(stage: Any = stage) -> None:
            await stage.turn("one")
            ByHeart.prompts.clear()
            await stage.turn("two")

        asyncio.run(two())
        assert any("SECRET-1" in prompt for prompt in ByHeart.prompts) is leaks, whose


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


@pytest.mark.parametrize(
    "said",
    [
        'Here it is: {"status": "open"}. Anything else?',
        '\n```json\n{"status": "open"}\n```',
        "no JSON at all",
    ],
)
def test_5_prose_reaches_the_agent(said: str) -> None:
    """What is around the JSON makes ADK answer the agent with its own failure; here the JSON is found, or drafted."""
    scripted_by(lambda _: said)
    (seen,) = seen_by("adk", agent_of(FIND, tools=TOOLS), configured(*MOCKED))
    assert "JSON" in seen["error_message"]
    scripted_by(lambda _: said)
    (seen,) = seen_by("ours", agent_of(FIND, tools=TOOLS), configured(*MOCKED))
    assert "error_message" not in seen
    assert seen == {"status": "open"} or "{" not in said


def test_5_json_is_never_asked_for() -> None:
    """ADK's requests have no response type; ours do, where the model's client can pass it on."""
    scripted_by(lambda _: {"status": "open"})
    seen_by("adk", agent_of(FIND, tools=TOOLS), configured(*MOCKED))
    assert [request.config.response_mime_type for request in ByHeart.requests] == [None, None]
    asked = asking(
        Gemini(model="gemini-2.5-flash"), "prompt", answer_schema({"type": "object"}), None, RequestFeatures()
    )
    assert asked.request.config.response_mime_type == "application/json"


def test_6_an_answer_is_handed_out_by_reference() -> None:
    """An agent's callback that edits the answer changes every later one in ADK; here each is a copy."""

    def edit(tool: Any, args: Any, tool_context: Any, tool_response: dict[str, Any]) -> None:
        tool_response["edited"] = tool_response.get("edited", 0) + 1

    for whose, second in (("adk", 2), ("ours", 1)):
        fixed = configured(injected("find_order", {"injected_response": {"ok": True}}))
        agent = agent_of(FIND, FIND, tools=TOOLS, after_tool_callback=edit)
        assert seen_by(whose, agent, fixed)[-1] == {"ok": True, "edited": second}, whose


def test_6_what_is_not_checked() -> None:
    """ADK refuses an empty response, and takes impossible numbers and misspelt fields; here it is the other way round."""
    with pytest.raises(ValidationError):
        InjectionConfig(injected_response={})
    empty = {"injection_configs": [{"injected_response": {}}], "tool_name": "t"}
    (empty_rule,) = read_environment_config({"tool_simulation_configs": [empty]}).rules
    assert getattr(empty_rule.effect, "value", None) == {}
    for wrong in (
        {"injection_probability": 7.0},
        {"injection_probability": -1.0},
        {"injection_probability": float("nan")},
        {"injected_latency_seconds": -1.0},
        {"match_arg": {"order_id": "A-1"}},
    ):
        taken = configured(injected("find_order", busy(**wrong)))
        assert taken.tool_simulation_configs[0].injection_configs
        tool = injected("find_order", busy(**wrong))
        with pytest.raises(EnvironmentConfigError, match="find_order"):
            read_environment_config({"tool_simulation_configs": [tool]})


def test_7_how_arguments_match() -> None:
    """In ADK true matches 1, and there is nothing beside equality; here it does not, and there is."""

    def count(n: bool) -> dict[str, str]:
        """Count."""
        return {"real": "yes"}

    one = configured(injected("count", busy(match_args={"n": 1})))
    turn = [call("count", n=True)]
    assert seen_by("adk", agent_of(turn, tools=[count]), one) == [BUSY]
    assert seen_by("ours", agent_of(turn, tools=[count]), one) != [BUSY]
    found = {"kind": "argument", "path": "order_id", "test": {"test": "matches", "pattern": "^A-"}}
    third = {"kind": "call_number", "which": "nth", "n": 3}
    when = {"kind": "all_of", "conditions": [found, third]}
    seen, _ = played("plugin", agent_of(FIND * 4, tools=TOOLS), config(rule("third", when=when)))
    assert [answer == BUSY for answer in seen] == [False, False, True, False]


def test_8_an_injection_bypasses_the_confirmation_gate() -> None:
    """In ADK an unapproved call is answered; here the gate comes first."""
    fixed = configured(injected("find_order", {"injected_response": {"ok": True}}))
    for whose, bypassed in (("adk", True), ("ours", False)):
        tool = FunctionTool(find_order, require_confirmation=True)
        seen = seen_by(whose, agent_of(FIND, tools=[tool]), fixed)
        assert ({"ok": True} in seen) is bypassed, whose
        assert ("requires confirmation" in str(seen)) is not bypassed, whose


def test_8_nothing_is_ever_raised() -> None:
    """An injection is an error dict in ADK, which no `on_tool_error_callback` sees; a rule of ours can raise, as other tests show."""
    heard: list[str] = []

    def hear(tool: Any, args: Any, tool_context: Any, error: Exception) -> dict[str, str]:
        heard.append(str(error))
        return {"heard": str(error)}

    agent = agent_of(FIND, tools=TOOLS, on_tool_error_callback=hear)
    assert seen_by("adk", agent, configured(injected("find_order", busy()))) == [BUSY]
    assert heard == []
    assert {"injected_error", "injected_response"} == {
        name
        for name in InjectionConfig.model_fields
        if name.startswith("injected_") and "latency" not in name
    }


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
