"""Writes an agent that takes as many steps as it is told: one call of its tool after another, then a last word."""

from __future__ import annotations

from pathlib import Path

from simulator.agent_config import SimulatedAgentConfig
from simulator.agents import AgentSettings, catalogue_for
from tests.harness.tiny_agent import write_agent

NAME = "stepper"

_SOURCE = '''
"""Takes as many steps as the last number in the query says."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Stepper(BaseLlm):
    model: str = "stepper"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        contents = llm_request.contents
        said = max(n for n, content in enumerate(contents) if content.role == "user" and content.parts[0].text)
        made = sum(bool(part.function_call) for content in contents[said:] for part in content.parts)
        if made < int(contents[said].parts[0].text.split()[-1]):
            part = types.Part.from_function_call(name="find_order", args={"order_id": f"A-{made}"})
        else:
            part = types.Part(text="They are on their way. " * 5)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


async def find_order(order_id: str) -> dict[str, object]:
    """Find an order: its status and its lines."""
    return {}


root_agent = LlmAgent(
    name="stepper", model=Stepper(), instruction="Help.", tools=[find_order], include_contents="CONTENTS"
)
'''

ANSWER = {"status": "shipped", "lines": [{"sku": f"S-{number}", "count": number} for number in range(3)]}
"""What a person answers for the tool."""


def write_stepping_agent(agents_dir: Path, *, remembers: bool = True) -> SimulatedAgentConfig:
    """Write the agent's folder in ADK's convention, and load it as the studio does.

    One that does not remember the turns before is played in time that grows with its turns only: ADK puts a whole
    conversation together for each of the model's turns.
    """
    write_agent(agents_dir / NAME, _SOURCE.replace("CONTENTS", "default" if remembers else "none"))
    return catalogue_for(AgentSettings(agents_dir=agents_dir, demos=False)).config(NAME)
