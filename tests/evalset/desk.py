"""Writes an agent's folder whose model takes its steps from the user's words, so that one agent plays any trace."""

from __future__ import annotations

from pathlib import Path

_SOURCE = '''
"""Follows the user's words: a JSON list with one step per model turn, each a text or a list of calls."""

import json
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from google.genai import types

# ADK's question whether a tool may run holds the id of the call; a model that gives ids makes it repeatable.
IDS = {"pay": "pay-1"}


class Obedient(BaseLlm):
    model: str = "obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        steps, taken = [], 0
        for content in llm_request.contents:
            asked = [part.text for part in content.parts if (part.text or "").startswith("[[") or part.text == "[]"]
            steps, taken = (json.loads(asked[0]), 0) if asked else (steps, taken + (content.role == "model"))
        step = steps[taken] if taken < len(steps) else "done"
        parts = [types.Part(text=step)] if isinstance(step, str) else [
            types.Part(function_call=types.FunctionCall(id=IDS.get(name), name=name, args=args))
            for name, args in step
        ]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class Helper(BaseLlm):
    model: str = "helper"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answered = llm_request.contents[-1].parts[-1].function_response
        part = types.Part(text="Three.") if answered else types.Part.from_function_call(
            name="add", args={"first": 1, "second": 2}
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


def find(key: str) -> dict:
    """Find a record."""
    return {"error_code": 404, "error_message": f"no {key}"} if key == "nothing" else {"key": key, "none": None}


def pay(amount: int) -> dict:
    """Pay money."""
    return {"paid": amount}


def order(amount: int) -> dict:
    """Order goods."""
    return {"status": "pending"}


root_agent = LlmAgent(
    name="desk",
    model=Obedient(),
    tools=[
        add,
        find,
        FunctionTool(pay, require_confirmation=True),
        LongRunningFunctionTool(order),
        AgentTool(LlmAgent(name="expert", description="Adds.", model=Helper(), tools=[add])),
    ],
    sub_agents=[LlmAgent(name="colleague", description="Adds.", model=Helper(), tools=[add])],
)
'''


def write_desk(agents_dir: Path) -> Path:
    """Write the agent's folder in ADK's convention and return its path."""
    folder = agents_dir / "desk"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import agent\n", encoding="utf-8")
    (folder / "agent.py").write_text(_SOURCE, encoding="utf-8")
    return folder
