"""It is known before a session which agents have no model to ask."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool

from simulator.runtime.boundaries import install
from simulator.runtime.reachability import unreachable_models


class OwnModel(BaseLlm):
    """A model that needs nothing from outside."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Say nothing."""
        yield LlmResponse()


def team() -> LlmAgent:
    """Agents with a model of their own, with Gemini, and with a model that nobody knows, one of them in a tool."""
    inner = LlmAgent(name="inner", model="no-such-model-1")
    second = LlmAgent(name="second", model="gemini-2.5-flash")
    return LlmAgent(name="first", model=OwnModel(model="own"), tools=[AgentTool(inner)], sub_agents=[second])


def test_each_agent_without_a_model_is_named_with_the_reason() -> None:
    """Without a key Gemini cannot be asked, and an unknown model never; a model of one's own can."""
    found = unreachable_models(team(), {})
    assert set(found) == {"inner", "second"}
    assert "no-such-model-1" in found["inner"]
    assert "GOOGLE_API_KEY" in found["second"]


@pytest.mark.parametrize(
    "environ",
    [{"GOOGLE_API_KEY": "k"}, {"GEMINI_API_KEY": "k"}, {"GOOGLE_GENAI_USE_VERTEXAI": "TRUE"}],
)
def test_credentials_make_gemini_reachable(environ: dict[str, str]) -> None:
    """A key, or the cloud's own credentials, are enough to ask."""
    assert set(unreachable_models(team(), environ)) == {"inner"}


def test_an_agent_that_was_seated_before_is_still_known() -> None:
    """The stand-in for a model that cannot be made keeps the reason for the sessions after the first."""
    agent = team()
    install(agent)
    found = unreachable_models(agent, {})
    assert set(found) == {"inner", "second"}
    assert "no-such-model-1" in found["inner"]
