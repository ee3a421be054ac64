"""Calls inside of an agent tool are compared with the recorded ones, though the golden does not contain them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evalset.verify.small_agents import agent, played, verified

WORDS = '''
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

INNER = [("count", {"text": "a b"})]


def count(text: str) -> dict:
    """Count the words of a text."""
    raise SystemExit("a real tool ran")


class Moves(BaseLlm):
    def moves(self):
        return INNER if self.model == "inner" else [("inner", {"request": "Count: a b"})]

    async def generate_content_async(self, llm_request, stream=False):
        done = sum(bool(part.function_response) for content in llm_request.contents for part in content.parts)
        part = types.Part(text="Two.")
        if done < len(self.moves()):
            name, args = self.moves()[done]
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


inner = LlmAgent(name="inner", model=Moves(model="inner"), description="Counts.", instruction="Count.", tools=[count])
root_agent = LlmAgent(name="small", model=Moves(model="outer"), instruction="Ask.", tools=[AgentTool(inner)])
'''
ASK = {"agent": "small", "calls": [{"name": "inner", "args": {"request": "Count: a b"}}]}
MOVES = [
    ASK,
    {"agent": "inner", "calls": [{"name": "count", "args": {"text": "a b"}}]},
    {"tool": "count", "returns": {"result": 2}},
    {"agent": "inner", "text": "Two."},
    {"agent": "small", "text": "Two."},
]


def recorded(tmp_path: Path) -> Path:
    """Play a case in which the inner agent calls its tool once, and return its eval set."""
    return played(agent(tmp_path / "agents", WORDS), {"say": "How many words are in a b?", "moves": MOVES})


def changed(tmp_path: Path, calls: str) -> Path:
    """Write the agent with other calls of its inner agent, and return the folder of agents."""
    agent(tmp_path / "changed" / "agents", WORDS.replace('[("count", {"text": "a b"})]', calls))
    return tmp_path / "changed" / "agents"


def divergence(
    kept: Path, agents: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[dict[str, Any], str]:
    """Verify with the agents' own models, which fails; return the divergence, and the text of the result."""
    assert verified(kept, agents, "--models", "real", *more) == 1
    told = capsys.readouterr().out
    assert verified(kept, agents, "--models", "real", "--json", *more) == 1
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    found: dict[str, Any] = case["runs"][0]["divergence"]
    return found, told


def test_the_same_inner_calls_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With recorded models and with real ones."""
    kept = recorded(tmp_path)
    assert verified(kept, tmp_path / "agents") == 0
    capsys.readouterr()
    assert verified(kept, tmp_path / "agents", "--models", "real", "--json") == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert [
        check["status"] for check in case["runs"][0]["checks"] if check["name"] == "inner_tool_calls"
    ] == ["passed"]


@pytest.mark.parametrize(
    ("calls", "what", "told"),
    [
        ("[]", "call", "does not call count inside inner"),
        ('[("count", {"text": "b a"})]', "arguments", "calls count inside inner with different arguments"),
        ('[("count", {"text": "a b"})] * 2', "call", "calls count inside inner, unlike the golden"),
    ],
    ids=["left out", "other arguments", "one more"],
)
def test_another_inner_call_is_a_divergence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], calls: str, what: str, told: str
) -> None:
    """It is at the call of the agent tool, and names that and the inner call."""
    kept = recorded(tmp_path)
    found, text = divergence(kept, changed(tmp_path, calls), capsys)
    (pair,) = found["pairs"]
    assert (found["verdict"], found["what"], found["turn"], found["step"]) == ("agent_changed", what, 0, 1)
    assert {tuple(step["within"]) for step in (pair["golden"], pair["actual"]) if step} == {("inner",)}
    assert told in text
    assert "inner_tool_calls" in text


def test_more_inner_calls_pass_where_the_recorded_ones_alone_count(
    tmp_path: Path,
) -> None:
    """As for the agent's own calls; one that is left out does not pass."""
    kept = recorded(tmp_path)
    agents = changed(tmp_path, '[("count", {"text": "a b"}), ("count", {"text": "c"})]')
    more = ("--match", "in_order", "--unrecorded", "generate", "--models", "real")
    assert verified(kept, agents, *more) == 0
    assert verified(kept, changed(tmp_path, "[]"), *more) == 1
