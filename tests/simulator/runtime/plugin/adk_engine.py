"""ADK's own environment simulation beside ours: one configuration, one agent, one scripted model that both find by its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from google.adk.models.llm_request import LlmRequest
from google.adk.models.registry import LLMRegistry
from google.adk.tools.environment_simulation.environment_simulation_config import EnvironmentSimulationConfig
from google.adk.tools.environment_simulation.environment_simulation_factory import (
    EnvironmentSimulationFactory,
)

from simulator.runtime.plugin import create_plugin
from tests.simulator.runtime.plugin.standing import Stage, prompt_in, responses, runner_of, spoken
from tests.simulator.runtime.stage import StandIn

MODEL = "spoken-by-heart"
ADKS_CONNECTIONS = {
    "stateful_parameters": [
        {"parameter_name": "order_id", "creating_tools": ["create_order"], "consuming_tools": ["find_order"]}
    ]
}
OUR_CONNECTIONS: dict[str, Any] = {"uses": [], "produces": [], "roles": []}


class ByHeart(StandIn):
    """A model that answers from a script: a value is written as JSON, a text stands, an exception is raised."""

    script: ClassVar[Callable[[str], Any]]
    prompts: ClassVar[list[str]]
    requests: ClassVar[list[LlmRequest]]

    @classmethod
    def supported_models(cls) -> list[str]:
        """Return the model's name."""
        return [MODEL]

    async def respond(self, request: LlmRequest) -> str:
        """Answer; as with every model, others go on meanwhile."""
        prompt = prompt_in(request)
        ByHeart.prompts.append(prompt)
        ByHeart.requests.append(request)
        await asyncio.sleep(0)
        return spoken(ByHeart.script(prompt))


LLMRegistry.register(ByHeart)


def is_analysis(prompt: str) -> bool:
    """Tell ADK's question, and ours, how tools hang together."""
    return "Analyze the following tool schemas" in prompt or '"produces"' in prompt


def scripted_by(answer: Callable[[str], Any], analysis: Any = None) -> None:
    """Let the model answer calls so, and questions about connections with `analysis`, or as is right."""

    def script(prompt: str) -> Any:
        if not is_analysis(prompt):
            return answer(prompt)
        if analysis is not None:
            return analysis
        return ADKS_CONNECTIONS if "stateful_parameters" in prompt else OUR_CONNECTIONS

    ByHeart.script, ByHeart.prompts, ByHeart.requests = script, [], []


def configured(*tools: dict[str, Any], **more: Any) -> EnvironmentSimulationConfig:
    """Make ADK's configuration; a tool without injections is mocked."""
    entries = [tool if "injection_configs" in tool else {"mock_strategy_type": 1, **tool} for tool in tools]
    return EnvironmentSimulationConfig.model_validate(
        {"tool_simulation_configs": entries, "simulation_model": MODEL, **more}
    )


def busy(**more: Any) -> dict[str, Any]:
    """Return an injection that says the tool is busy."""
    return {"injected_error": {"injected_http_error_code": 503, "error_message": "busy"}, **more}


def stage_of(whose: str, agent: Any, config: EnvironmentSimulationConfig, **ours: Any) -> Stage:
    """Return an agent ADK's plugin ("adk"), or ours."""
    plugin = create_plugin(config, **ours)
    used: Any = plugin if whose == "ours" else EnvironmentSimulationFactory.create_plugin(config)
    return Stage(runner_of(agent, used), plugin)


def seen_by(whose: str, agent: Any, config: EnvironmentSimulationConfig, **ours: Any) -> list[Any]:
    """Run one turn; return what the agent saw of its tools."""
    return responses(asyncio.run(stage_of(whose, agent, config, **ours).turn()))
