"""Proves that ADK's own configuration behaves here as with ADK's engine: plain functions as tools, called by hand and by a runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.environment_simulation.environment_simulation_config import (
    EnvironmentSimulationConfig,
    InjectionConfig,
    MockStrategy,
    ToolSimulationConfig,
)
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import Field

from simulator import create_callback
from tests.simulator.runtime.plugin.order_tools import RAN, find_order
from tests.simulator.runtime.plugin.standing import Form, Oracle, both, played, responses, staged
from tests.simulator.runtime.stage import agent_of, call

MOCK = MockStrategy.MOCK_STRATEGY_TOOL_SPEC
HIT = {"injected": True}


def configured(*injections: InjectionConfig, mock: bool = False) -> EnvironmentSimulationConfig:
    """Return a configuration of `find_order`."""
    strategy = MOCK if mock else MockStrategy.MOCK_STRATEGY_UNSPECIFIED
    tool = ToolSimulationConfig(
        tool_name="find_order", injection_configs=list(injections), mock_strategy_type=strategy
    )
    return EnvironmentSimulationConfig(tool_simulation_configs=[tool])


def hit(**more: Any) -> InjectionConfig:
    """Make an injection of a fixed response."""
    return InjectionConfig(injected_response=HIT, **more)


def by_hand(callback: Any, *order_ids: str, function: Any = find_order) -> list[Any]:
    """Call a callback for each of these orders; return what it answers."""

    async def all_calls() -> list[Any]:
        return [await callback(FunctionTool(function), {"order_id": each}, None) for each in order_ids]

    RAN.clear()
    return asyncio.run(all_calls())


def test_a_function_without_a_body_is_left_to_itself_too() -> None:
    """ADK would run it; no answer is generated for what its configuration does not mock."""

    def find_order(order_id: str) -> dict[str, Any]:  # type: ignore[empty-body] # that is the point
        """Find an order."""

    callback: Any = create_callback(configured(hit(match_args={"order_id": "A-1"})))
    assert by_hand(callback, "B-2", function=find_order) == [None]


def test_latency_holds_up_no_other_task() -> None:
    """It is awaited: what runs beside it goes on, and may cancel it."""
    callback: Any = create_callback(configured(hit(injected_latency_seconds=120)))

    async def beside() -> bool:
        answer: asyncio.Future[Any] = asyncio.ensure_future(
            callback(FunctionTool(find_order), {"order_id": "A-1"}, None)
        )
        for _ in range(100):
            await asyncio.sleep(0)
        return answer.cancel()

    assert asyncio.run(beside())


@both
def test_chance_without_a_seed_is_fresh_in_every_session(form: Form) -> None:
    """Two sessions of one environment draw other patterns of 64 calls at once."""
    half = configured(hit(injection_probability=0.5))
    calls = [call("find_order", order_id="A-1")] * 64
    stage = staged(form, agent_of(calls, tools=[find_order]), half)
    one, two = (responses(asyncio.run(stage.turn(session))) for session in ("one", "two"))
    assert len(one) == len(two) == 64
    assert HIT in one
    assert one != two


class Asked(Oracle):
    """Keeps what it is asked with."""

    configs: list[Any] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer as an oracle."""
        self.configs.append(llm_request.config)
        async for response in super().generate_content_async(llm_request, stream):
            yield response


@both
def test_adks_thinking_configuration_is_sent(form: Form) -> None:
    """The model gets what ADK's class has by default; an empty configuration, which somebody set, stays empty."""
    given = configured(mock=True)
    empty = EnvironmentSimulationConfig(
        tool_simulation_configs=given.tool_simulation_configs,
        simulation_model_configuration=types.GenerateContentConfig(),
    )
    for config, wanted in ((given, given.simulation_model_configuration.thinking_config), (empty, None)):
        model = Asked(say=lambda _: {"mocked": True})
        agent = agent_of([call("find_order", order_id="A-1")], tools=[find_order])
        seen, _ = played(form, agent, config, model=model)
        assert seen == [{"mocked": True}]
        assert [asked.thinking_config for asked in model.configs] == [wanted]
