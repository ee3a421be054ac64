"""The small agent of the sessions that are beside a plain model: it follows the plan of what the user asked last."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from simulator import SimulatedAgentConfig
from tests.simulator.store.plain_session import PLANS


class Planned(BaseLlm):
    """Follows the plan of what the user asked last."""

    model: str = "planned"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the next tools of the plan, or say that all is done."""
        contents = [(content, content.parts or []) for content in llm_request.contents]
        said_at = max(
            n for n, (content, parts) in enumerate(contents) if content.role == "user" and parts[0].text
        )
        made = sum(part.function_call is not None for _, parts in contents[said_at:] for part in parts)
        query = contents[said_at][1][0].text or ""
        calls = PLANS[query].get(made, ())
        parts = [types.Part.from_function_call(name=tool, args={}) for tool in calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts or [types.Part(text="Done.")]))


def find() -> dict[str, str]:
    """Find something."""
    raise AssertionError


def ship() -> dict[str, str]:
    """Ship something."""
    raise AssertionError


def order() -> dict[str, str]:
    """Order something, which takes its time."""
    raise AssertionError


def planned_config() -> SimulatedAgentConfig:
    """Return the agent; its tools are never to run."""
    tools: list[Any] = [find, ship, LongRunningFunctionTool(order)]
    agent = LlmAgent(name="clerk", model=Planned(), instruction="Help.", tools=tools)
    return SimulatedAgentConfig("clerk", agent, "clerk.evalset.json")
