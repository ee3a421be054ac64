"""A turn that a tool's response ends is written, replayed and evaluated as one that the agent's own words end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import main
from tests.evalset.ending import Ends
from tests.evalset.verify.small_agents import agent, played, verified

SQL = '''
def count(what: str, tool_context) -> dict:
    """Count rows."""
    tool_context.actions.skip_summarization = True
    return {"rows": len(what)}


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Count.", tools=[count])
'''.replace("tool_context)", "tool_context: ToolContext)").replace(
    "\ndef count", "\nfrom google.adk.tools import ToolContext\n\n\ndef count", 1
)
INNER = """
inner = LlmAgent(name="inner", model="gemini-2.5-flash", description="Counts.", instruction="Count.")
root_agent = LlmAgent(
    name="small", model="gemini-2.5-flash", instruction="Ask.", tools=[AgentTool(inner, skip_summarization=True)]
)
"""
COUNTS = {"calls": [{"name": "count", "args": {"what": "abc"}}]}


def counted(folder: Path, *, times: int = 1) -> tuple[Path, dict[str, Any]]:
    """Play the agent whose real tool ends its turn; return the set and its turn."""
    calls = {"calls": COUNTS["calls"] * times}
    turn = {"say": "How many?", "moves": [calls]}
    written = played(agent(folder / "agents", SQL), turn, players={"count": "real"})
    return written, json.loads(written.read_text())["eval_cases"][0]["conversation"][0]


@pytest.mark.parametrize("times", [1, 2])
def test_the_turn_of_a_tool_that_ends_it_replays(
    tmp_path: Path, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The final response is the tool's response as text, once for each of several calls made at once."""
    written, turn = counted(tmp_path, times=times)
    assert "warning" not in capsys.readouterr().err
    assert turn["final_response"]["parts"] == [{"text": "\n".join(['{"rows": 3}'] * times)}]
    assert len(turn["intermediate_data"]["tool_responses"]) == times
    assert verified(written, tmp_path / "agents") == 0


def test_a_golden_that_has_the_response_itself_at_its_end_passes(tmp_path: Path) -> None:
    """ADK's own conversion writes such a turn so; another response there does not pass."""
    written, turn = counted(tmp_path)
    document = json.loads(written.read_text())
    response: dict[str, Any] = {"id": "x", "name": "count", "response": {"rows": 3}}
    turn["final_response"] = {"role": "user", "parts": [{"function_response": response}]}
    document["eval_cases"][0]["conversation"] = [turn]
    written.write_text(json.dumps(document))
    assert verified(written, tmp_path / "agents") == 0
    response["response"]["rows"] = 4
    written.write_text(json.dumps(document))
    assert verified(written, tmp_path / "agents") == 1


def test_the_turn_of_an_agent_tool_that_ends_it_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the inner agent says is the final response."""
    asks = {"agent": "small", "calls": [{"name": "inner", "args": {"request": "Count."}}]}
    moves = [asks, {"agent": "inner", "text": "Three."}]
    written = played(agent(tmp_path / "agents", INNER), {"say": "How many?", "moves": moves})
    assert "warning" not in capsys.readouterr().err
    turn = json.loads(written.read_text())["eval_cases"][0]["conversation"][0]
    assert turn["final_response"]["parts"] == [{"text": "Three."}]
    assert verified(written, tmp_path / "agents") == 0


def test_a_response_that_was_written_without_the_effect_does_not_end_the_turn(tmp_path: Path) -> None:
    """The agent goes on in the session, and so it does in the replay."""
    moves = [COUNTS, {"tool": "count", "returns": {"rows": 3}}, {"text": "Three."}]
    written = played(agent(tmp_path / "agents", SQL), {"say": "How many?", "moves": moves})
    assert verified(written, tmp_path / "agents") == 0


@pytest.mark.long
def test_a_hermetic_eval_passes_a_turn_that_a_tool_ends(tmp_path: Path) -> None:
    """With ADK's default criteria, of which the response match needs text."""
    written, _ = counted(tmp_path)
    assert main(["eval", str(tmp_path / "agents" / "small"), str(written), "--models", "recorded"]) == 0


def test_an_imported_session_whose_turn_a_tool_ended_replays(tmp_path: Path) -> None:
    """The response ends the turn again: no model is asked for more."""
    call = {"functionCall": {"id": "c", "name": "count", "args": {"what": "abc"}}}
    answer = {"functionResponse": {"id": "c", "name": "count", "response": {"rows": 3}}}
    ends = {"actions": {"skipSummarization": True}}
    events: list[dict[str, Any]] = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "How many?"}]}},
        {"author": "small", "content": {"role": "model", "parts": [call]}},
        {"author": "small", "content": {"role": "user", "parts": [answer]}, **ends},
    ]
    session, written = tmp_path / "session.json", tmp_path / "set.evalset.json"
    session.write_text(
        json.dumps({"id": "s", "appName": "small", "userId": "u", "state": {}, "events": events})
    )
    assert main(["import", str(session), "--out", str(written)]) == 0
    agent(tmp_path / "agents", SQL)
    assert verified(written, tmp_path / "agents") == 0


def test_a_question_whether_a_tool_may_run_is_no_final_response(tmp_path: Path, verifies: Ends) -> None:
    """ADK marks the response that stands for the tool's as one that ends the turn, though the user is asked."""
    moves = [COUNTS, {"tool": "count", "returns": {"rows": 3}}, {"text": "Three."}]
    written = played(agent(tmp_path / "agents", SQL), {"say": "How many?", "moves": moves})
    asks = SQL.replace("tools=[count]", "tools=[FunctionTool(count, require_confirmation=True)]")
    agent(tmp_path / "agents", asks.replace("ToolContext\n", "FunctionTool, ToolContext\n", 1))
    (case,) = json.loads(verifies(1, written, tmp_path / "agents", "--json").out)["cases"]
    (turn,) = case["runs"][0]["turns"]
    assert [part for part in turn["invocation"]["final_response"]["parts"] if "text" in part] == []


CUSTOM = '''
from google.adk.agents import BaseAgent
from google.adk.events.event import Event
from google.genai import types


def look(topic: str) -> dict:
    """Look up a topic."""
    raise SystemExit("a real tool ran")


def said(text):
    return types.Content(role="model", parts=[types.Part(text=text)])


class Desk(BaseAgent):
    async def _run_async_impl(self, ctx):
        yield Event(author=self.name, content=said("Asking."))
        async for event in self.sub_agents[0].run_async(ctx):
            yield event
        yield Event(author=self.name, content=said("Closed."))


helper = LlmAgent(name="helper", model="gemini-2.5-flash", instruction="Help.", tools=[look])
root_agent = Desk(name="small", sub_agents=[helper])
'''


def test_events_that_an_agents_code_makes_without_an_invocation_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They belong to the turn in which they come."""
    call = {"agent": "helper", "calls": [{"name": "look", "args": {"topic": "hours"}}]}
    moves = [call, {"tool": "look", "returns": {"open": True}}, {"agent": "helper", "text": "Yes."}]
    written = played(
        agent(tmp_path / "agents", CUSTOM), {"say": "Open?", "moves": moves}, {"say": "Now?", "moves": moves}
    )
    assert "warning" not in capsys.readouterr().err
    turns = json.loads(written.read_text())["eval_cases"][0]["conversation"]
    assert [turn["final_response"]["parts"] for turn in turns] == [[{"text": "Closed."}]] * 2
    assert verified(written, tmp_path / "agents") == 0
