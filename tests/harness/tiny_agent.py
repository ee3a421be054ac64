"""Writes agents in folders, as ADK has them; the smallest real one that calls a tool, and an eval set that it fulfils."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import rmtree
from typing import Any

_SOURCE = '''
"""Adds numbers: asks its tool once, then says what the tool said."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types


class Adder(BaseLlm):
    model: str = "adder"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        if last.function_response is None:
            first, second = (int(word) for word in last.text.split() if word.isdigit())
            part = types.Part.from_function_call(name="add", args={"first": first, "second": second})
        else:
            part = types.Part(text=f"The sum is {last.function_response.response['result']}.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


root_agent = LlmAgent(name="adder", model=Adder(), instruction="Add what you are given.", tools=[add])
'''


def write_agent(folder: Path, source: str) -> Path:
    """Write a folder of ADK's convention for an agent with this source, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text("from . import agent\n")
    (folder / "agent.py").write_text(source)
    # Python takes a compiled file for the same where size and second are.
    rmtree(folder / "__pycache__", ignore_errors=True)
    return folder


def write_tiny_agent(agents_dir: Path, name: str = "adder") -> Path:
    """Write the agent's folder in ADK's convention and return its path."""
    return write_agent(agents_dir / name, _SOURCE)


def write_tiny_eval_set(path: Path, *, second: int = 3) -> Path:
    """Write a set with one case, "add 2 and 3"; it holds only if it expects `second` to be 3."""
    turn: dict[str, Any] = {
        "invocation_id": "turn-1",
        "user_content": {"role": "user", "parts": [{"text": "add 2 and 3"}]},
        "final_response": {"role": "model", "parts": [{"text": "The sum is 5."}]},
        "intermediate_data": {
            "tool_uses": [{"name": "add", "args": {"first": 2, "second": second}}],
            "tool_responses": [],
            "intermediate_responses": [],
        },
    }
    case = {
        "eval_id": "adds",
        "conversation": [turn],
        "session_input": {"app_name": "adder", "user_id": "user", "state": {}},
    }
    path.write_text(json.dumps({"eval_set_id": path.name.split(".")[0], "eval_cases": [case]}, indent=2))
    return path
