"""A trace keeps what its maker kept of a run: what is missing in it is unknown, and no word about the agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalset.cli.main import main
from tests.evalset.verify.small_agents import agent, verified

DESK = """
from google.adk.events.request_input import RequestInput
from google.adk.workflow import START, Workflow, node
from google.genai import types

review = LlmAgent(name="review", model="gemini-2.5-flash", instruction="Review it.")


def ask() -> RequestInput:
    return RequestInput(interrupt_id="decision", message="Approve?")


def close(node_input: object) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=f"Done: {node_input}")])


root_agent = Workflow(name="small", edges=[(START, EDGES)])
"""
QUESTION = {"interruptId": "decision", "message": "Approve?", "payload": None, "response_schema": None}
ASKED = {"id": "decision", "name": "adk_request_input", "args": QUESTION}
UNTOLD: dict[str, Any] = {"author": "ask", "content": {"role": "model", "parts": [{"text": ""}]}}


def event(author: str, **part: Any) -> dict[str, Any]:
    """Write an event of a trace."""
    return {"author": author, "content": {"role": "user" if author == "user" else "model", "parts": [part]}}


def imported(folder: Path, *events: dict[str, Any]) -> Path:
    """Import a trace of these events, and return the eval set."""
    case = {"eval_case_id": "one", "agent_data": {"turns": [{"turn_index": 0, "events": [*events]}]}}
    given, written = folder / "generated_traces.json", folder / "set.evalset.json"
    given.write_text(json.dumps({"eval_cases": [case]}))
    assert main(["import", str(given), "--out", str(written)]) == 0
    return written


def graph(folder: Path, edges: str) -> Path:
    """Write a graph with these nodes in a row; return the folder of agents."""
    return agent(folder / "agents", DESK.replace("EDGES", edges)).parent


def test_a_model_turn_that_a_trace_does_not_hold_blames_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The maker kept the last text alone: the case could not run, and what is missing is named."""
    agents = graph(tmp_path, "review, close")
    written = imported(tmp_path, event("user", text="Go."), event("small", text="Done: fine"))
    capsys.readouterr()
    assert verified(written, agents) == 2
    told = capsys.readouterr().out
    assert "the imported trace has no turn of the model of review" in told
    assert "agent changed" not in told


def test_what_a_trace_holds_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another final response of an agent that makes the same moves is a change."""
    events = [event("user", text="Go."), event("review", text="fine"), event("close", text="Done: fine")]
    written = imported(tmp_path, *events)
    assert verified(written, graph(tmp_path, "review, close")) == 0
    module = graph(tmp_path, "review, close") / "small" / "agent.py"
    module.write_text(module.read_text().replace("Done:", "Not at all; nobody looked at"))
    assert verified(written, tmp_path / "agents") == 1
    assert "agent changed" in capsys.readouterr().out


PLUGIN = """
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin


class Audit(BasePlugin):
    async def before_agent_callback(self, *, agent, arguments):
        pass


app = App(name="small", root_agent=root_agent, plugins=[Audit("audit")])
"""


def test_a_plugin_that_fails_is_what_is_blamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not what the agent would have said: the error ends the turn before that, and is told with the plugin's name."""
    events = [event("user", text="Go."), event("review", text="fine"), event("close", text="Done: fine")]
    agents = graph(tmp_path, "review, close")
    module = agents / "small" / "agent.py"
    module.write_text(module.read_text() + PLUGIN)
    assert verified(imported(tmp_path, *events), agents) == 1
    told = capsys.readouterr().out
    assert "The agent ends with an error" in told
    assert "Error in plugin 'audit'" in told


def test_a_question_that_a_trace_keeps_as_nothing_blames_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its last event has an author and no word: how the turn ended is not told, and not compared."""
    written = imported(tmp_path, event("user", text="Go."), UNTOLD)
    assert "does not contain how the last turn ended" in capsys.readouterr().err
    assert verified(written, graph(tmp_path, "ask, close")) == 2
    told = capsys.readouterr().out
    assert "the imported trace does not tell how the turn ended" in told
    assert "agent changed" not in told
    assert verified(written, graph(tmp_path / "other", "close")) == 0
    assert "the final response of turn 1" in capsys.readouterr().out


@pytest.mark.parametrize("spelling", ["interruptId", "interrupt_id"])
@pytest.mark.parametrize("answer", ["text", "reply"])
def test_a_text_behind_a_question_is_the_reply_to_it(
    tmp_path: Path, answer: str, spelling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a function response would be, and the import says so; the question's id is found as any ADK has written it."""
    question = {spelling if name == "interruptId" else name: value for name, value in QUESTION.items()}
    asked = {
        "name": "adk_request_input",
        "args": question,
        **({"id": "decision"} if answer == "reply" else {}),
    }
    reply = {"id": "decision", "name": "adk_request_input", "response": {"result": "yes"}}
    given = event("user", text="yes") if answer == "text" else event("user", function_response=reply)
    end = event("close", text="Done: yes")
    written = imported(tmp_path, event("user", text="Go."), event("ask", function_call=asked), given, end)
    assert ("taken as the reply" in capsys.readouterr().err) is (answer == "text")
    (case,) = json.loads(written.read_text())["eval_cases"]
    assert len(case["conversation"]) == 1
    assert verified(written, graph(tmp_path, "ask, close")) == 0


def test_a_trace_that_ends_with_the_reply_is_played_as_far_as_it_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the agent made of the reply is not told, and not compared; all before it is, under whatever name the reply has."""
    reply = {"id": "decision", "name": "request_input", "response": {"result": "yes"}}
    asks = [event("user", text="Go."), event("ask", function_call=ASKED)]
    written = imported(tmp_path, *asks, event("user", function_response=reply))
    assert "does not contain how the last turn ended" in capsys.readouterr().err
    assert verified(written, graph(tmp_path, "ask, close")) == 0
    assert verified(written, graph(tmp_path / "other", "close")) == 1


def test_a_last_event_without_a_word_leaves_the_calls_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a graph puts out is no text: the trace keeps its author alone, and the reply before it all the same."""
    reply = {"id": "decision", "name": "adk_request_input", "response": {"result": "yes"}}
    events = [
        event("user", text="Go."),
        event("ask", function_call=ASKED),
        event("user", function_response=reply),
    ]
    written = imported(tmp_path, *events, {"author": "close", "content": {}})
    assert "recorded" in capsys.readouterr().out
    assert verified(written, graph(tmp_path, "ask, close")) == 0
    assert verified(written, graph(tmp_path / "other", "close")) == 1


def test_a_list_of_other_things_with_events_is_no_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Import, doctor and verify say so alike, and name no key that it would need."""
    given = tmp_path / "generated_traces.json"
    given.write_text(json.dumps([{"scenario": "fire", "events": [{"type": "content", "text": "Help"}]}]))
    assert main(["import", str(given), "--out", str(tmp_path / "set.evalset.json")]) == 1
    assert "not an eval set" in capsys.readouterr().err
    assert main(["doctor", str(given)]) == 1
    told = capsys.readouterr().out
    assert "not-an-eval-set" in told
    assert "sessions of ADK, not" not in told
    assert verified(given, tmp_path) == 2
    told = "".join(capsys.readouterr())
    assert "neither an eval set nor" in told
    assert "KeyError" not in told
