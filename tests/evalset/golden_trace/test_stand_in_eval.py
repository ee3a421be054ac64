"""Proves the environment without the page under the real `adk eval`, which runs its cases four at a time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.runners import InMemoryRunner

from tests.harness.adk_process import run_adk_eval

pytestmark = [pytest.mark.process, pytest.mark.long]

_SOURCE = '''
"""Asks a flaky tool until it has answered three times; the tool itself must never run."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

from simulator import create_plugin


class Patient(BaseLlm):
    model: str = "patient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        answers = [part.function_response.response for part in parts if part.function_response]
        good = sum("error_code" not in answer for answer in answers)
        if good < 3:
            part = types.Part.from_function_call(name="ask", args={"attempt": len(answers)})
        else:
            part = types.Part(text="done")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def ask(attempt: int) -> dict:
    """Ask."""
    raise SystemExit("the real tool ran")


down = {"kind": "error", "error_code": 503, "error_message": "down"}
flaky = {"rule_id": "flaky", "tool_name": "ask", "effect": down, "probability": 0.6, "latency_seconds": 0.02}
environment = create_plugin({"rules": [flaky], "listed": "offline", "seed": "SEED"})
root_agent = LlmAgent(name="patient", model=Patient(), tools=[ask])
app = App(name="patient", root_agent=root_agent, plugins=[environment])
'''


def write_agent(folder: Path, seed: str) -> Path:
    """Write the agent's folder."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import agent\n")
    (folder / "agent.py").write_text(_SOURCE.replace("SEED", seed))
    return folder


def write_eval_set(path: Path, attempts: int, cases: int = 6) -> Path:
    """Write a set whose cases each expect so many calls of the tool."""
    uses = [{"name": "ask", "args": {"attempt": number}} for number in range(attempts)]
    turn: dict[str, Any] = {
        "invocation_id": "turn-1",
        "user_content": {"role": "user", "parts": [{"text": "go"}]},
        "final_response": {"role": "model", "parts": [{"text": "done"}]},
        "intermediate_data": {"tool_uses": uses, "tool_responses": [], "intermediate_responses": []},
    }
    case = {
        "conversation": [turn],
        "session_input": {"app_name": "patient", "user_id": "user", "state": {}},
    }
    made = [{"eval_id": f"case-{number}", **case} for number in range(cases)]
    path.write_text(json.dumps({"eval_set_id": "flaky", "eval_cases": made}))
    return path


def attempts_with(folder: Path) -> int:
    """Say how many calls one session takes, in a run of its own."""
    names: dict[str, Any] = {"__name__": "agent"}
    exec(compile((folder / "agent.py").read_text(), "agent.py", "exec"), names)  # noqa: S102 - it was written above
    asyncio.run(InMemoryRunner(app=names["app"]).run_debug("go", quiet=True))
    return len(names["environment"].calls())


def test_each_case_of_adk_eval_has_the_pattern_of_a_run_alone(tmp_path: Path) -> None:
    """Six cases, four at a time: each takes as many calls as one session alone, and no real tool runs."""
    folder = write_agent(tmp_path / "patient", "a seed")
    attempts = attempts_with(folder)
    assert attempts > 3
    outcome = run_adk_eval(folder, write_eval_set(tmp_path / "flaky.evalset.json", attempts))
    assert (outcome.passed, outcome.failed) == (6, 0), outcome.output
    wrong = run_adk_eval(folder, write_eval_set(tmp_path / "wrong.evalset.json", attempts + 1))
    assert (wrong.passed, wrong.failed) == (0, 6), wrong.output
