"""Calls inside of an agent tool are compared with the recorded ones, though the golden does not contain them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.evalset.ending import Ends
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


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The eval set of a case in which the inner agent calls its tool once."""
    folder = agent(tmp_path_factory.mktemp("kept") / "agents", WORDS)
    return played(folder, {"say": "How many words are in a b?", "moves": MOVES})


def changed(tmp_path: Path, calls: str) -> Path:
    """Write the agent with other calls of its inner agent, and return the folder of agents."""
    agent(tmp_path / "changed" / "agents", WORDS.replace('[("count", {"text": "a b"})]', calls))
    return tmp_path / "changed" / "agents"


def test_the_same_inner_calls_pass(kept: Path, verifies: Ends) -> None:
    """With recorded models and with real ones."""
    assert verified(kept, kept.parent / "agents") == 0
    (case,) = json.loads(verifies(0, kept, kept.parent / "agents", "--models", "real", "--json").out)["cases"]
    statuses = {check["name"]: check["status"] for check in case["runs"][0]["checks"]}
    assert statuses["inner_tool_calls"] == "passed"


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
    kept: Path, tmp_path: Path, ends: Ends, *, calls: str, what: str, told: str
) -> None:
    """It is at the call of the agent tool, and names that and the inner call."""
    words = ("verify", kept, "--agents-dir", changed(tmp_path, calls), "--models", "real", "--json")
    (case,) = json.loads(ends(1, *words).out)["cases"]
    found, checks = case["runs"][0]["divergence"], case["runs"][0]["checks"]
    (pair,) = found["pairs"]
    assert (found["verdict"], found["what"], found["turn"], found["step"]) == ("agent_changed", what, 0, 1)
    assert {tuple(step["within"]) for step in (pair["golden"], pair["actual"]) if step} == {("inner",)}
    assert told in found["sentence"]
    assert "inner_tool_calls" in {check["name"] for check in checks if check["status"] == "failed"}


def test_more_inner_calls_pass_where_the_recorded_ones_alone_count(kept: Path, tmp_path: Path) -> None:
    """As for the agent's own calls; one that is left out does not pass."""
    agents = changed(tmp_path, '[("count", {"text": "a b"}), ("count", {"text": "c"})]')
    more = ("--match", "in_order", "--unrecorded", "generate", "--models", "real")
    assert verified(kept, agents, *more) == 0
    assert verified(kept, changed(tmp_path, "[]"), *more) == 1
