"""Writes an agent that says what it was told, and beside it a model that can play its user; both ask nobody."""

from __future__ import annotations

from pathlib import Path

from tests.harness.tiny_agent import write_agent

_SOURCE = '''
"""Says again what it was told. Its module knows a model by the name talker-1, which plays a user."""

from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LLMRegistry, LlmRequest, LlmResponse
from google.genai import types


class Echo(BaseLlm):
    model: str = "echo"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = types.Part(text=f"You said: {llm_request.contents[-1].parts[-1].text}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Talker(BaseLlm):
    @classmethod
    def supported_models(cls) -> list[str]:
        return ["talker-.*"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = llm_request.contents[0].parts[0].text.count("You said: ")
        text = f"Message number {said + 1}." if said < 3 else "</finished>"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


LLMRegistry.register(Talker)
root_agent = LlmAgent(name="talking", model=Echo(), instruction="Say it again.")
'''

_METRIC = '''
"""Counts what was said."""

from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult


def messages(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
    each = [
        PerInvocationResult(actual_invocation=turn, score=1.0, eval_status=EvalStatus.PASSED)
        for turn in actual_invocations
    ]
    return EvaluationResult(
        overall_score=float(len(each)), overall_eval_status=EvalStatus.PASSED, per_invocation_results=each
    )
'''


def write_talking_agent(agents_dir: Path) -> Path:
    """Write the agent `talking` in ADK's convention and return its folder."""
    return write_agent(agents_dir / "talking", _SOURCE)


def write_counting_metric(folder: Path) -> str:
    """Write a metric of ADK that counts the messages beside an agent; return its path in Python."""
    (folder / "counting.py").write_text(_METRIC)
    # `adk eval` leaves no folder of the agent where Python looks for a metric.
    finds = "import sys\nfrom pathlib import Path\n\nsys.path.append(str(Path(__file__).parent))\n"
    (folder / "__init__.py").write_text(f"{finds}from . import agent\n")
    return "counting.messages"
