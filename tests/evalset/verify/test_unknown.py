"""What the source of a golden does not tell is compared with nothing, and named."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from evalset.cli.main import main
from evalset.recorded.recording_files import read_environment, recording_of, sidecar_of
from tests.evalset.ending import Ends
from tests.evalset.verify.small_agents import agent, played, verified

NOTES = '''
def note(text: str) -> dict:
    """Note a text."""
    raise SystemExit("a real tool ran")


root_agent = LlmAgent(
    name="keeper", model="gemini-2.5-flash", instruction="Note all.", tools=[note], output_key="answer"
)
'''
CALL = {"name": "note", "args": {"text": "tea"}}
TOLD = {"tool_uses": [CALL], "tool_responses": [{"name": "note", "response": {"noted": True}}]}
MOVES = [{"calls": [CALL]}, {"tool": "note", "returns": {"noted": True}}, {"text": "Noted."}]


def said(text: str, role: str = "model") -> dict[str, Any]:
    """Write a content."""
    return {"role": role, "parts": [{"text": text}]}


def imported(tmp_path: Path, *turns: dict[str, Any]) -> Path:
    """Import an eval set with one case, and return where it is."""
    given, written = tmp_path / "given.evalset.json", tmp_path / "set.evalset.json"
    conversation = [{"user_content": said("Note tea.", "user"), **turn} for turn in turns]
    start = {"app_name": "small", "user_id": "u", "state": {}}
    case = {"eval_id": "one", "conversation": conversation, "session_input": start}
    given.write_text(json.dumps({"eval_set_id": "given", "eval_cases": [case]}))
    assert main(["import", str(given), "--out", str(written)]) == 0
    agent(tmp_path / "agents", NOTES)
    return written


@pytest.mark.long
def test_a_tool_that_the_agent_does_not_have_is_no_change_of_the_agent(
    tmp_path: Path, verifies: Ends
) -> None:
    """An import does not say what was declared: nobody knows whether the tools changed, or a model had made the tool up."""
    call = {"name": "note_down", "args": {"text": "tea"}, "id": "c"}
    event = {"author": "keeper", "content": {"role": "model", "parts": [{"function_call": call}]}}
    failed = "Invoking `note_down()` failed as no tool with that name is available."
    for name, response, words in (
        ("declared", {"noted": True}, "tools do not accept this call"),
        ("made_up", {"error": failed}, "may be unchanged"),
    ):
        part = {"function_response": {"name": "note_down", "id": "c", "response": response}}
        answer = {"author": "keeper", "content": {"role": "user", "parts": [part]}}
        home = tmp_path / name
        home.mkdir()
        steps = {"invocation_events": [event, answer]}
        written = imported(home, {"intermediate_data": steps, "final_response": said("Noted.")})
        told = verifies(1, written, home / "agents").out
        assert "The agent and the trace differ" in told
        assert words in told


def test_a_call_that_never_fitted_is_no_change_of_the_tools(
    tmp_path: Path, verifies: Ends, ends: Ends
) -> None:
    """ADK itself had answered it, as it does again. Another response to it does not fit, and nobody knows since when."""
    missing = "Invoking `note()` failed as the following mandatory input parameters are not present:\ntext\nYou could retry"
    retried = {"tool_uses": [{"name": "note", "args": {}}, CALL]}
    for name, response, code in (("refused", {"error": missing}, 0), ("taken", {"noted": False}, 1)):
        home = tmp_path / name
        home.mkdir()
        responses = [{"name": "note", "response": response}, *TOLD["tool_responses"]]
        data = {**retried, "tool_responses": responses}
        written = imported(home, {"final_response": said("Noted."), "intermediate_data": data})
        told = verifies(code, written, home / "agents").out
        assert "changed" not in told.replace("not known whether they changed", "")
        assert ("does not accept" in told) is bool(code)
        found = ends(code, "doctor", written, "--agents-dir", home / "agents").out
        assert ("refused-arguments" in found) is bool(code)


@pytest.mark.parametrize(
    ("declared", "fits"),
    [("text: str, tone: str = 'dry', size: int = 1", True), ("text: bool", False)],
    ids=["optional arguments more", "the argument itself"],
)
def test_what_did_not_fit_when_it_was_recorded_is_no_change_of_the_tools(
    tmp_path: Path, verifies: Ends, ends: Ends, *, declared: str, fits: bool
) -> None:
    """Where the declaration of what the call gives is the same; the doctor says so too."""
    call = {"name": "note", "args": {"text": 5}}
    written = played(
        agent(tmp_path / "agents", NOTES), {"say": "Note.", "moves": [{"calls": [call]}, *MOVES[1:]]}
    )
    agent(tmp_path / "now", NOTES.replace("text: str", declared))
    assert ("tools changed" in verifies(int(not fits), written, tmp_path / "now").out) is not fits
    found = ends(int(not fits), "doctor", written, "--agents-dir", tmp_path / "now").out
    assert ("declared as they were" in found) is fits


SEARCHES = """
from google.adk.tools import google_search

root_agent = LlmAgent(name="keeper", model="gemini-2.5-flash", instruction="Find.", tools=[google_search])
"""


def test_a_call_that_no_tool_answered_is_replayed_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model's own search is no tool that somebody calls: ADK says so, then and in each replay."""
    moves = [{"calls": [{"name": "google_search", "args": {"query": "tea"}}]}, {"text": "Found."}]
    written = played(agent(tmp_path / "agents", SEARCHES), {"say": "Find tea.", "moves": moves})
    assert "failed as no tool" in written.read_text()
    capsys.readouterr()
    assert verified(written, tmp_path / "agents") == 0, capsys.readouterr().out


def test_final_responses_alone_are_no_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verifies: Ends
) -> None:
    """The import says so, and a verification names what to do, without a word about the agent."""
    written = imported(tmp_path, {"final_response": said("Noted.")})
    told = capsys.readouterr()
    assert "1 turn" in told.out
    assert "recorded" not in told.out
    assert "tells no tool calls" in told.err
    assert not sidecar_of(written).exists()
    shown = verifies(2, written, tmp_path / "agents")
    assert f"golden-trace run AGENT --script {written} --case one --out" in shown.out
    assert "agent changed" not in shown.out
    shown = verifies(2, written, tmp_path / "agents", "--agent", tmp_path / "agents" / "small")
    assert f"golden-trace run {tmp_path / 'agents' / 'small'} --script" in shown.out


@pytest.mark.parametrize("responses", [TOLD["tool_responses"], []], ids=["all", "none"])
def test_a_set_that_has_all_responses_is_to_be_imported(
    tmp_path: Path, verifies: Ends, responses: list[Any]
) -> None:
    """Before the import nothing is recorded beside it; then it passes. Without the responses it has to be played."""
    held = {**TOLD, "tool_responses": responses}
    written = imported(tmp_path, {"final_response": said("Noted."), "intermediate_data": held})
    given = tmp_path / "given.evalset.json"
    shown = verifies(2, given, tmp_path / "agents").out
    assert (f"golden-trace import {given}" in shown) is bool(responses)
    assert ("golden-trace run" in shown) is not bool(responses)
    told = verifies(
        0 if responses else 2, written, tmp_path / "agents", "--agent", tmp_path / "agents" / "small"
    ).out
    assert "renamed" not in told  # nobody named an agent


@pytest.mark.long
def test_a_case_of_unknown_author_and_end_passes_and_names_the_state(tmp_path: Path, verifies: Ends) -> None:
    """Whatever the agent is called, it makes the case's moves; the state that it writes is compared with nothing."""
    written = imported(tmp_path, {"final_response": said("Noted."), "intermediate_data": TOLD})
    recorded = read_environment(sidecar_of(written)).cases["one"]
    assert [model.agent for model in recorded.turns[0].models] == ["", ""]
    assert (recorded.turns[0].calls[0].agent, recorded.final_state) == ("", None)
    assert "    unknown, so not compared: the final state\n" in verifies(0, written, tmp_path / "agents").out
    (case,) = json.loads(verifies(0, written, tmp_path / "agents", "--json").out)["cases"]
    assert case["unknown"] == ["the final state"]


def test_calls_and_final_responses_that_a_turn_does_not_tell_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the recording does not tell them either; the other turns are: a change of one of them is found."""
    turns = [{"say": say, "moves": MOVES} for say in ("Note tea.", "Again.", "Once more.")]
    written = played(agent(tmp_path / "agents", NOTES), *turns)
    document = json.loads(written.read_text())
    conversation = document["eval_cases"][0]["conversation"]
    del conversation[0]["intermediate_data"], conversation[1]["final_response"]
    written.write_text(json.dumps(document))
    recording = recording_of(written)
    noted = json.loads(recording.read_text())
    for turn in next(iter(noted["cases"].values()))["turns"]:
        del turn["golden"]
    recording.write_text(json.dumps(noted))
    capsys.readouterr()
    junit, table = tmp_path / "results.xml", tmp_path / "results.csv"
    assert verified(written, tmp_path / "agents", "--junit", str(junit), "--csv", str(table)) == 0
    unknown = "the tool calls of turn 1, the final response of turn 2"
    assert f"not compared: {unknown}\n" in capsys.readouterr().out
    assert str(ET.fromstring(junit.read_text()).findtext(".//testcase/system-out")).endswith(unknown)  # noqa: S314 - it was written here
    assert next(csv.DictReader(table.open()))["unknown"] == unknown
    conversation[2]["final_response"] = said("Something else entirely")
    written.write_text(json.dumps(document))
    assert verified(written, tmp_path / "agents") == 1


@pytest.mark.parametrize("form", ["listed", "events"])
@pytest.mark.parametrize("tools", ["[note]", "[]"], ids=["declared", "gone"])
def test_a_response_that_the_source_does_not_tell_blames_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verifies: Ends, form: str, tools: str
) -> None:
    """The case could not run, and says which response is missing and what to do. A draft in its place may be asked for."""
    asked = event("keeper", function_call={**CALL, "id": "c"})
    data = {"listed": {"tool_uses": [CALL]}, "events": {"invocation_events": [asked]}}[form]
    turn = {"final_response": said("Noted."), "intermediate_data": data}
    written = imported(tmp_path, {"final_response": said("Noted."), "intermediate_data": TOLD}, turn)
    module = agent(tmp_path / "agents", NOTES.replace("[note]", tools)) / "agent.py"
    missing = "the response of note in turn 2"
    assert "one: 2 turns, recorded, 1 of its responses unknown\n" in capsys.readouterr().out
    (case,) = json.loads(verifies(2, written, tmp_path / "agents", "--json").out)["cases"]
    assert case["unknown"] == [missing, "the final state"]
    assert "turn 2: the response of note is unknown. To record it" in case["error"]
    if tools == "[note]":
        drafted = verifies(0, written, tmp_path / "agents", "--unrecorded", "generate").out
        assert f"not compared: {missing}, the final state" in drafted
    capsys.readouterr()
    assert main(["eval", str(module.parent), str(written), "--models", "recorded"]) == 2
    assert f"{missing} is unknown" in capsys.readouterr().err


@pytest.mark.parametrize(("models", "more"), [("recorded", []), ("auto", []), ("recorded", ["Again."])])
def test_a_recording_without_model_turns_does_not_blame_the_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verifies: Ends, *, models: str, more: list[str]
) -> None:
    """Without a key nothing can answer for the model: the case cannot be checked, and what to do is named; also where another turn has them."""
    turns = [{"say": say, "moves": MOVES} for say in ("Note tea.", *more)]
    written = played(agent(tmp_path / "agents", NOTES), *turns)
    sidecar = sidecar_of(written)
    document = json.loads(sidecar.read_text())
    del document["cases"]["one"]["turns"][0]["models"]
    sidecar.write_text(json.dumps(document))
    told = verifies(2, written, tmp_path / "agents", "--models", models).out
    assert "no model turns are recorded" in told
    assert "--models real" in told
    assert ("turn 1: no model" in told) is bool(more)
    assert "agent changed" not in told
    words = ["eval", str(tmp_path / "agents" / "small"), str(written), "--models", "recorded"]
    assert more or main(words) == 2
    assert more or "one: no model turns are recorded" in capsys.readouterr().err


POLISHED = """
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin


def polish(callback_context, llm_response):
    for part in llm_response.content.parts:
        part.text = part.text and part.text + MARK
    return llm_response


def wrap(tool, args, tool_context, tool_response):
    return {"wrapped": tool_response}


class Polish(BasePlugin):
    async def after_model_callback(self, *, callback_context, llm_response):
        return polish(callback_context, llm_response)


root_agent = root_agent.clone(update=dict(CALLBACKS))
app = App(name="small", root_agent=root_agent, plugins=PLUGINS)
"""


@pytest.mark.parametrize(
    ("callbacks", "plugins", "named"),
    [
        ("after_model_callback=polish", "[]", "the after_model_callback of keeper (polish)"),
        ("after_tool_callback=[wrap]", "[]", "the after_tool_callback of keeper (wrap)"),
        ("", "[Polish('polish')]", "the after_model_callback of keeper (plugin polish)"),
    ],
)
def test_what_callbacks_made_of_a_session_is_not_held_against_the_agent(
    tmp_path: Path, verifies: Ends, callbacks: str, plugins: str, named: str
) -> None:
    """A session that ADK kept has what they made, and they get it again. Where they change nothing of it, it is compared."""
    response = {"wrapped": {"noted": True}} if "wrap" in callbacks else {"noted": True}
    parts: list[tuple[str, dict[str, Any]]] = [
        ("user", {"text": "Note tea."}),
        ("keeper", {"functionCall": {**CALL, "id": "c"}}),
        ("keeper", {"functionResponse": {"id": "c", "name": "note", "response": response}}),
        ("keeper", {"text": "Noted." if "wrap" in callbacks else "Noted. (checked)"}),
    ]
    events = [
        {"id": f"e{at}", "invocationId": "i", "timestamp": 1.0 + at, **event(author, **part)}
        for at, (author, part) in enumerate(parts)
    ]
    given, written = tmp_path / "session.json", tmp_path / "set.evalset.json"
    session = {"id": "s", "appName": "small", "userId": "u", "state": {}, "lastUpdateTime": 9.0}
    given.write_text(json.dumps({**session, "events": events}))
    assert main(["import", str(given), "--out", str(written)]) == 0
    source = NOTES.replace(', output_key="answer"', "") + POLISHED
    source = source.replace("CALLBACKS", callbacks).replace("PLUGINS", plugins)
    agent(tmp_path / "agents", source.replace("MARK", "' (checked)'"))
    told = verifies(2, written, tmp_path / "agents").out
    assert f"turn 1: {named} changed" in told
    other = source.replace("MARK", "''").replace("callback=[wrap]", "callback=None")
    verifies(0, written, agent(tmp_path / "same", other).parent)


def test_a_trace_of_a_generated_dataset_verifies_with_its_agent(tmp_path: Path, ends: Ends) -> None:
    """Next to the project that it was made in; it keeps no state, so that is unknown."""
    (tmp_path / "pyproject.toml").write_text('[tool.agents-cli]\nagent_directory = "app"\n')
    agent(tmp_path, NOTES, name="app")
    call = {"id": "c1", "name": "note", "args": {"text": "tea"}}
    answer = {"id": "c1", "name": "note", "response": {"noted": True}}
    events = [
        event("user", text="Note tea."),
        event("keeper", function_call=call),
        event("keeper", function_response=answer),
        event("keeper", text="Noted."),
    ]
    agents = {"keeper": {"agent_id": "keeper", "instruction": "Note all."}}
    turns = [{"turn_index": 0, "turn_id": "turn_0", "events": events}]
    case = {"eval_case_id": "tea", "agent_data": {"agents": agents, "turns": turns}}
    traces = tmp_path / "artifacts" / "traces" / "generated_traces.json"
    traces.parent.mkdir(parents=True)
    traces.write_text(json.dumps({"eval_cases": [case]}))
    assert (
        "unknown, so not compared: the final state"
        in ends(0, "verify", traces, "--models", "recorded", "--quiet").out
    )
    written = tmp_path / "tests" / "eval" / "traces.evalset.json"
    written.parent.mkdir(parents=True)
    assert main(["import", str(traces), "--out", str(written)]) == 0
    assert main(["verify", str(written), "--models", "recorded", "--quiet"]) == 0


SERVED = '''
from pathlib import Path

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types
from google.adk.tools.function_tool import FunctionTool


def note(text: str) -> dict:
    """Note a text."""
    raise SystemExit("a real tool ran")


class Speaks(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        said = "Noted." if "note" in llm_request.tools_dict else "I cannot note anything."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=said)]))


class Served(BaseToolset):
    async def get_tools(self, readonly_context=None):
        if not Path(__file__).with_name("server").exists():
            raise ConnectionError("no server")
        return [FunctionTool(note)]


root_agent = LlmAgent(name="keeper", model="gemini-2.5-flash", instruction="Note all.", tools=[Served()])
'''


def test_the_tools_of_a_set_that_cannot_be_listed_answer_as_recorded(
    tmp_path: Path, verifies: Ends, ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be listed, or not in time, is said, by `golden-trace eval` too. A model that is really asked has to know what is declared: then the case could not run."""
    folder = agent(tmp_path / "agents", SERVED)
    server = folder / "server"
    server.touch()
    monkeypatch.setattr("simulator.runtime.adk.outside_work.LISTING_SECONDS", 1.0)

    written = played(folder, {"say": "Note tea.", "moves": MOVES})
    assert verified(written, tmp_path / "agents") == 0
    server.unlink()
    told = verifies(0, written, tmp_path / "agents").out
    unlisted = "unknown, so not compared: the tools of Served could not be listed: ConnectionError: no server"
    assert unlisted in told
    evaluated = ends(0, "eval", folder, written, "--models", "recorded").out
    assert evaluated.splitlines().count(unlisted) == 1
    agent(tmp_path / "speaking", SERVED.replace('"gemini-2.5-flash"', 'Speaks(model="own")'))
    told = verifies(2, written, tmp_path / "speaking", "--models", "real").out
    assert "the tools of Served could not be listed: " in told
    assert "agent changed" not in told

    hangs = SERVED.replace('raise ConnectionError("no server")', "await asyncio.sleep(600)")
    told = verifies(0, written, agent(tmp_path / "hanging", f"import asyncio\n{hangs}").parent).out
    assert "not compared: the tools of Served could not be listed: TimeoutError: it took longer than " in told


KEPT = (
    SERVED.replace("root_agent =", "keeper =")
    + """
from google.adk.agents import SequentialAgent

closer = LlmAgent(name="closer", model="gemini-2.5-flash", instruction="Close.")
root_agent = SequentialAgent(name="small", sub_agents=[keeper, closer])
"""
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("text: str", "words: str"), "'text' is unknown, 'words' is required"),
        (("text: str", "text: int"), "'tea' is not of type 'integer'"),
        (("[FunctionTool(note)]", "[]"), "the tool 'note' is no longer declared"),
        (("tools=[Served()]", "tools=[]"), "the tool 'note' is no longer declared"),
        (("[keeper, closer]", "[keeper]"), "the agent 'closer', which took turns in the recording, is no longer there"),
        (("text: str", "text: str, more: int = 1"), ""),
        (("text: str", ""), "the tool 'note' does not accept these arguments: $: 'text' is unknown"),
    ],
    ids=["argument", "type", "tool", "set", "agent beside a set", "optional argument", "argument that is gone"],
)  # fmt: skip
def test_what_changed_in_a_tool_set_is_named(
    tmp_path: Path, verifies: Ends, *, change: tuple[str, str], words: str
) -> None:
    """Recorded calls are held against what it lists now. Older recordings do not tell how its tools were declared: what is dropped now may have been then."""
    folder = agent(tmp_path / "agents", KEPT)
    (folder / "server").touch()
    written = played(folder, {"say": "Note tea.", "moves": [*MOVES, {"text": "Bye."}]})
    assert change[0] in KEPT
    now = agent(tmp_path / "now", KEPT.replace(*change))
    (now / "server").touch()
    told = verifies(1 if words else 0, written, now.parent).out
    assert ("The agent's tools changed" in told) is bool(words)
    assert words in told
    assert ("the agent's tools changed after the recording" in told) is bool(words and "closer" not in words)
    assert "the tool declarations did not change" not in told
    assert "not known whether it changed" not in told
    recording = written.with_name("set.environment.json")
    recording.write_text(re.sub(r',\s*"declared": "\w+"', "", recording.read_text()))
    told = verifies(1 if words and change[1] else 0, written, now.parent).out
    assert ("not known whether it changed" in told) is bool(change[1] and ("tea" in words or "text" in words))


DESK = """
from google.adk.events.request_input import RequestInput
from google.adk.workflow import START, Workflow, node
from google.genai import types

review = LlmAgent(name="review", model="gemini-2.5-flash", instruction="Review it.")


def ask() -> RequestInput:
    return RequestInput(interrupt_id="decision", message="Approve?")


def close(node_input: object) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=f"Done: {node_input}")])


def quiet(node_input: object) -> None:
    pass


root_agent = Workflow(name="small", edges=[(START, EDGES)])
"""
QUESTION = {"interruptId": "decision", "message": "Approve?", "payload": None, "response_schema": None}
ASKED = {"id": "decision", "name": "adk_request_input", "args": QUESTION}
UNTOLD: dict[str, Any] = {"author": "ask", "content": {"role": "model", "parts": [{"text": ""}]}}


def event(author: str, **part: Any) -> dict[str, Any]:
    """Write an event of a trace."""
    return {"author": author, "content": {"role": "user" if author == "user" else "model", "parts": [part]}}


def traced(folder: Path, *events: dict[str, Any], **more: Any) -> Path:
    """Import a trace of these events, and return the eval set."""
    case = {"id": "one", "agent_data": {"turns": [{"turn_index": 0, "events": [*events]}]}, **more}
    given, written = folder / "generated_traces.json", folder / "set.evalset.json"
    given.write_text(json.dumps({"eval_cases": [case]}))
    assert main(["import", str(given), "--out", str(written)]) == 0
    return written


def graph(folder: Path, edges: str) -> Path:
    """Write a graph with these nodes in a row; return the folder of agents."""
    return agent(folder / "agents", DESK.replace("EDGES", edges)).parent


@pytest.mark.long
def test_a_model_turn_that_a_trace_does_not_hold_blames_nobody(tmp_path: Path, verifies: Ends) -> None:
    """The maker kept the last text alone: the case could not run, and what is missing is named."""
    agents = graph(tmp_path, "review, close")
    written = traced(tmp_path, event("user", text="Go."), event("small", text="Done: fine"))
    told = verifies(2, written, agents).out
    assert "the imported trace has no turn of the model of review" in told
    assert f"run {agents / 'small'} --script {written} --case one --out set_recorded.evalset.json" in told
    assert "agent changed" not in told


CART = '''
def add(item: str, tool_context: ToolContext) -> dict:
    """Add to the cart."""
    raise SystemExit("a real tool ran")


def look(tool, args, tool_context):
    return None if tool_context.state.get("cart") or tool.name != "look" else {"error": "the cart is empty"}


def check(q: str) -> dict:
    """Look."""
    raise SystemExit("a real tool ran")


check.__name__ = "look"
sub = LlmAgent(name="sub", model="gemini-2.5-flash", instruction="Cart: {cart}", description="sums up")
root_agent = LlmAgent(
    name="small", model="gemini-2.5-flash", instruction="Sell.", tools=[add, check], sub_agents=[sub], before_tool_callback=look
)
'''


def test_a_state_that_a_trace_does_not_hold_blames_nobody(tmp_path: Path, verifies: Ends, ends: Ends) -> None:
    """A key that an instruction needs may have been set by a tool: the case could not run. Elsewhere the state is told as a reason."""
    agents = agent(tmp_path / "agents", f"from google.adk.tools import ToolContext\n{CART}").parent
    calls = [("add", {"item": "pen"}, {"added": 1}), ("look", {"q": "pen"}, {"n": 1})]
    told = [
        [event("small", function_call={"name": name, "args": args, "id": name}),
         event("small", function_response={"name": name, "response": response, "id": name})]
        for name, args, response in (*calls, ("transfer_to_agent", {"agent_name": "sub"}, {"result": None}))
    ]  # fmt: skip
    first = [event("user", text="Go."), *told[0]]
    written = traced(tmp_path, *first, *told[2], event("sub", text="A pen."))
    shown = ends(2, "verify", written, "--agents-dir", agents, "--models", "recorded")
    assert "needs 'cart' of the state, and the imported trace does not" in shown.out
    assert "1 of 1: ERROR one" in shown.err
    (tmp_path / "read").mkdir()
    written = traced(tmp_path / "read", *first, *told[1], event("small", text="Looked."))
    assert "the state that tools set" in verifies(1, written, agents).out


def test_what_a_trace_holds_is_compared(tmp_path: Path, verifies: Ends) -> None:
    """Another final response is told, with what it may come from, also where an event of which nothing was kept follows."""
    events = [event("user", text="Go."), event("review", text="fine"), event("close", text="Done: fine")]
    written = traced(tmp_path, *events)
    assert verified(written, graph(tmp_path, "review, close")) == 0
    module = graph(tmp_path, "review, close") / "small" / "agent.py"
    code = module.read_text().replace("Done:", "Not at all; nobody looked at")
    module.write_text(
        f"import os\n{code}\nMODE, HOME = os.environ.get('DESK_MODE'), os.environ['HOME']  # no os.getenv('OLD')\n"
    )
    (module.parent / "serve.py").write_text(
        "import os\nMODE = os.environ.get('SERVE_MODE')\n"
    )  # nobody imports it
    told = verifies(1, written, tmp_path / "agents").out
    assert "agent and the trace differ" in told
    assert "not set here: DESK_MODE\n" in told
    assert "the state that tools set" not in told
    six = ", ".join(f"os.getenv('D{number}')" for number in range(6))
    module.write_text(f"{module.read_text()}SIX = {six}\n")
    assert "not set here: D0, D1, D2, D3, D4, and 2 more\n" in verifies(1, written, tmp_path / "agents").out
    assert "agent changed" not in told
    said = {"response": {"role": "model", "parts": [{"text": "Done: fine"}]}}
    (tmp_path / "told").mkdir()
    answered = traced(tmp_path / "told", *events, {"author": "small"}, responses=[said])
    assert "agent and the trace differ" in verifies(1, answered, tmp_path / "agents").out


def test_the_pieces_of_a_streamed_text_are_no_turns_of_their_own(tmp_path: Path, verifies: Ends) -> None:
    """A trace of a streaming run has each piece as an event, and the whole text after them."""
    pieces = [event("review", text=text) for text in ("fi", "", "ne")]
    events = [
        event("user", text="Go."),
        *pieces,
        event("review", text="fine"),
        event("close", text="Done: fine"),
    ]
    verifies(0, traced(tmp_path, *events), graph(tmp_path, "review, close"))


def test_a_decision_that_code_turns_round_is_another_response(tmp_path: Path, verifies: Ends) -> None:
    """One of many words differs, which a response match passes."""
    told = "Expense report 7 was {} by the automatic check and its amount was noted in the books"
    events = [
        event("user", text="Go."),
        event("review", text="fine"),
        event("close", text=told.format("approved")),
    ]
    desk = DESK.replace("EDGES", "review, close").replace("Done: {node_input}", told.format("rejected"))
    agents = agent(tmp_path / "agents", desk).parent
    said = verifies(1, traced(tmp_path, *events), agents).out
    assert 'turn 1: "rejected" instead of "approved"' in said
    assert "gives a different final response" in said
    end = f"[Event] Output: {told.format('rejected').replace('7', '9')}"  # its maker framed it
    (tmp_path / "framed").mkdir()
    framed = traced(tmp_path / "framed", *events[:2], event("close", text=end))
    assert '"7" instead of "9 event output"' in verifies(1, framed, agents).out
    module = agents / "small" / "agent.py"
    code = f"import os, random\n{module.read_text()}"
    module.write_text(code)  # chance alone is no reason
    assert '"7" instead of "9 event output"' in verifies(1, framed, agents).out
    module.write_text(code.replace("report 7", "report {random.randrange(10**9)}"))
    verifies(0, framed, agents)


SORTS = """
from google.adk.events.event import Event


def sort() -> Event:
    return Event(output="small", route="low")


root_agent = Workflow(name="small", edges=[(START, sort), (sort, {"low": close, "high": review})])
"""


OWN = """
from google.adk.models import BaseLlm, LlmResponse


class Own(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="quite fine")]))


review.model = Own(model="own")
root_agent = Workflow(name="small", edges=[(START, review, close)])
"""


@pytest.mark.parametrize(
    ("edges", "who", "more", "said"),
    [
        ("close", "with the recorded models (no model is asked)", "", ()),
        ("review", "own model", SORTS, ()),
        ("review", "own model", OWN, ("review",)),
    ],
    ids=["no model at all", "a model that is not asked", "a model that spoke before"],
)
def test_a_decision_of_code_is_compared_whoever_else_spoke(  # nobody chooses who answers for models
    tmp_path: Path,
    ends: Ends,
    monkeypatch: pytest.MonkeyPatch,
    *,
    edges: str,
    who: str,
    more: str,
    said: tuple[str, ...],
) -> None:
    """A key is there, so that models could be asked: the words of code are its own, and what the recorded models said tells them from a model's."""
    monkeypatch.setenv("GOOGLE_API_KEY", "a-key")
    told = "Expense report 7 was {} by the automatic check and its amount was noted in the books"
    models = [event(name, text="fine") for name in said]
    end = event("close", text=told.format("approved"))
    written = traced(tmp_path, event("user", text="Go."), *models, end)
    desk = DESK.replace("EDGES", edges) + more
    for words, code in (("approved", 0), ("rejected", 1)):
        home = tmp_path / words
        agents = agent(home, desk.replace("Done: {node_input}", told.format(words))).parent
        shown = ends(code, "verify", written, "--agents-dir", agents, "--quiet").out
        assert who in shown
        assert ("network was open" in shown) is bool(more)
        assert ('"rejected" instead of "approved"' in shown) is bool(code)
    if said:  # without them it is not known, and that is told
        (tmp_path / "less").mkdir()
        less = traced(tmp_path / "less", event("user", text="Go."), end)
        shown = ends(0, "verify", less, "--agents-dir", agents, "--quiet").out
        assert "not evaluated: response_words_of_code: " in shown


PLUGIN = """
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin


class Audit(BasePlugin):
    async def before_agent_callback(self, *, agent, arguments):
        pass


app = App(name="small", root_agent=root_agent, plugins=[Audit("audit")])
"""


def test_a_plugin_that_fails_is_what_is_blamed(tmp_path: Path, verifies: Ends) -> None:
    """Not what the agent would have said: the error ends the turn before that, and is told with the plugin's name."""
    events = [event("user", text="Go."), event("review", text="fine"), event("close", text="Done: fine")]
    agents = graph(tmp_path, "review, close")
    module = agents / "small" / "agent.py"
    module.write_text(module.read_text() + PLUGIN)
    told = verifies(1, traced(tmp_path, *events), agents).out
    assert "The agent ends with an error" in told
    assert "Error in plugin 'audit'" in told


@pytest.mark.parametrize(
    ("fails_in", "words"), [(1, "ends with an error"), (2, "gives a different final response")]
)
def test_an_error_of_the_agents_code_comes_before_what_was_said_until_then(
    tmp_path: Path, verifies: Ends, *, fails_in: int, words: str
) -> None:
    """What a model said in that turn is no final response; another one in an earlier turn is."""
    agents = graph(tmp_path, "review, quiet")
    module = agents / "small" / "agent.py"
    raises = f"TURNS.append(1)\n    if len(TURNS) == {fails_in}:\n        RequestInput('Approve?')"
    module.write_text("TURNS = []\n" + module.read_text().replace("pass", raises))
    turn = (event("review", text="Pending."), event("someone", text="Approved"))
    told = verifies(
        1, traced(tmp_path, event("user", text="Go."), *turn, event("user", text="On."), *turn), agents
    ).out
    assert f"The agent {words}" in told
    assert "TypeError" in told


@pytest.mark.long
def test_a_question_that_a_trace_keeps_as_nothing_blames_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verifies: Ends
) -> None:
    """Its last event has an author and no word: how the turn ended is not told, and not compared."""
    written = traced(tmp_path, event("user", text="Go."), UNTOLD)
    assert "does not contain how the last turn ended" in capsys.readouterr().err
    told = verifies(2, written, graph(tmp_path, "ask, close")).out
    assert "the imported trace has no reply, and tells no more" in told
    assert "agent changed" not in told
    assert "the final response of turn 1" in verifies(0, written, graph(tmp_path / "other", "close")).out


@pytest.mark.parametrize("spelling", ["interruptId", "interrupt_id"])
@pytest.mark.parametrize("answer", ["text", "reply"])
def test_a_text_behind_a_question_is_the_reply_to_it(
    tmp_path: Path, answer: str, spelling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a function response would be, and the import says so; the question's id is found as any ADK has written it."""
    question = {spelling if name == "interruptId" else name: value for name, value in QUESTION.items()}
    asked = {"name": "adk_request_input", "args": question}
    if answer == "reply":
        asked["id"] = "decision"
    reply = {"id": "decision", "name": "adk_request_input", "response": {"result": "yes"}}
    given = event("user", text="yes") if answer == "text" else event("user", function_response=reply)
    end = event("close", text="Done: yes")
    written = traced(tmp_path, event("user", text="Go."), event("ask", function_call=asked), given, end)
    assert ("taken as the reply" in capsys.readouterr().err) is (answer == "text")
    (case,) = json.loads(written.read_text())["eval_cases"]
    assert len(case["conversation"]) == 1
    assert verified(written, graph(tmp_path, "ask, close")) == 0


def test_a_trace_without_the_reply_to_its_question_is_told_so(tmp_path: Path, ends: Ends) -> None:
    """It has the model turns and the final response: what lacks is what the user said between them."""
    events = [event("user", text="Go."), event("ask", function_call=ASKED), event("close", text="Done: yes")]
    told = "no reply of the user to the question 'decision'"
    case = {"id": "one", "agent_data": {"turns": [{"turn_index": 0, "events": events}]}}
    given = tmp_path / "generated_traces.json"
    given.write_text(json.dumps({"eval_cases": [case]}))
    agents = graph(tmp_path, "ask, close")
    said = ends(2, "verify", given, "--agents-dir", agents, "--quiet").out
    assert told in said
    assert "model turns" not in said
    assert told in ends(0, "import", given, "--out", tmp_path / "set.evalset.json").err
    reply = event("user", function_response={"id": "decision", "name": "adk_request_input", **YES})
    case["agent_data"] = {"turns": [{"turn_index": 0, "events": [*events[:2], reply, events[2]]}]}
    given.write_text(json.dumps({"eval_cases": [case]}))
    ends(0, "verify", given, "--agents-dir", agents, "--quiet", "--models", "recorded")


def test_what_a_maker_wrote_behind_a_response_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verifies: Ends
) -> None:
    """The case has the response itself beside its events: that is compared, each word of it. A text that begins otherwise is kept."""
    more = 'Done: fine | output={"decision": "approved", "decided_by": "system", "at": "2026-05-02"}'
    events = [event("user", text="Go."), event("review", text="fine"), event("close", text=more)]
    agents = graph(tmp_path, "review, close")
    for said, code in (("Done: fine", 0), ("Done: fi", 1), ("Not done", 1)):
        home = tmp_path / said.replace(": ", "_")
        home.mkdir()
        responses = [{"response": {"role": "model", "parts": [{"text": said}]}}]
        written = traced(home, *events, responses=responses)
        assert ("words behind the response are left out" in capsys.readouterr().err) is not bool(code)
        verifies(code, written, agents)


@pytest.mark.parametrize(("route", "code"), [("low", 0), ("high", 1)])
def test_a_route_that_a_maker_wrote_as_state_is_none(
    tmp_path: Path, verifies: Ends, route: str, code: int
) -> None:
    """The run leads there, too, and sets no such state. Another route is a difference."""
    sorts = {**event("small", text="small"), "state_delta": {"route": route}}
    written = traced(tmp_path, event("user", text="Go."), sorts, event("close", text="Done: small"))
    verifies(code, written, agent(tmp_path / "agents", DESK.replace("EDGES", "review") + SORTS).parent)


def test_a_question_that_a_trace_lost_blames_nobody(tmp_path: Path, verifies: Ends) -> None:
    """Its maker kept another text in the place of the question. What the trace has is compared, and so is a golden that was made here."""
    agents = graph(tmp_path / "asks", "ask, close")
    go, end, again = (
        event("user", text="Go."),
        event("close", text="Asked: Approve?"),
        "asks the user for input",
    )
    told = verifies(2, traced(tmp_path, go, end), agents).out
    assert "does not contain the question that the agent asks here" in told
    assert again not in told
    call = {"name": "note", "args": {"text": "tea"}, "id": "c"}
    response = event("review", function_response={"name": "note", "id": "c", "response": {"noted": True}})
    (tmp_path / "called").mkdir()
    called = traced(tmp_path / "called", go, event("review", function_call=call), response, end)
    verifies(1, called, agents)
    reply = event("user", function_response={"id": "decision", "name": "adk_request_input", **YES})
    (tmp_path / "asked").mkdir()
    asked = traced(
        tmp_path / "asked", go, event("ask", function_call=ASKED), reply, event("close", text="Done: yes")
    )
    twice = agent(
        tmp_path / "twice", DESK.replace("EDGES", "ask, again, close").replace("def close", AGAIN)
    ).parent
    assert again in verifies(1, asked, twice).out
    own = played(graph(tmp_path / "own", "close") / "small", {"say": "Go.", "moves": []})
    assert again in verifies(1, own, agents).out


AGAIN = """def again(node_input: object) -> RequestInput:
    return RequestInput(interrupt_id="again", message="Sure?")


def close"""
YES: dict[str, Any] = {"response": {"result": "yes"}}
REPLIED = {"name": "request_input", **YES}


@pytest.mark.long
@pytest.mark.parametrize(
    ("author", "reply", "last", "told"),
    [
        ("user", {"id": "decision", **REPLIED}, [], "does not contain how the last turn ended"),
        ("tool", {**REPLIED, "name": "decision"}, [{"author": "close", "content": {}}], "recorded"),
    ],
    ids=["no event", "an event without a word"],
)
def test_a_trace_is_played_as_far_as_it_tells(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    author: str,
    reply: dict[str, Any],
    last: list[Any],
    told: str,
) -> None:
    """What the agent made of the reply is not told, and not compared; all before it is, under whatever name the reply has.

    What a graph puts out is no text: the trace keeps the author of its last event alone, and the reply before it all the same.
    """
    asks = [
        event("user", text="Go."),
        event("ask", function_call=ASKED),
        event(author, function_response=reply),
    ]
    written = traced(tmp_path, *asks, *last)
    assert told in "".join(capsys.readouterr())
    assert verified(written, graph(tmp_path, "ask, close")) == 0
    assert verified(written, graph(tmp_path / "other", "close")) == 1
    assert last or verified(written, graph(tmp_path / "quiet", "ask, quiet")) == 0


def test_a_question_in_the_order_of_a_set_differs_in_each_process(tmp_path: Path, verifies: Ends) -> None:
    """Its words are those of the trace in another order, and the agent's code makes a set: the tolerance that is proposed lets it pass."""
    asked = {**ASKED, "args": {**QUESTION, "message": "It holds 3, 1, 2. Approve?"}}
    reply = event("user", function_response={"id": "decision", **REPLIED})
    events = (event("user", text="Go."), event("ask", function_call=asked), reply)
    desk = DESK.replace("EDGES", "ask, close")
    words = "'It holds ' + ', '.join(map(str, {})) + '. Approve?'"
    listed = agent(tmp_path / "listed", desk.replace('"Approve?"', words.format("(1, 2, 3)"))).parent
    written = traced(tmp_path, *events)
    assert "asks the user something else" in verifies(1, written, listed).out
    ended = tmp_path / "ended"
    ended.mkdir()
    agents = agent(tmp_path / "agents", desk.replace('"Approve?"', words.format("{1, 2, 3}"))).parent
    for each in (written, traced(ended, *events, event("close", text="Done: yes"))):
        said = verifies(1, each, agents, "--keep-tolerances").out
        assert "has its own order for the texts in one" in said
        assert 'question to the user "message" contains the order of a set' in said
    verifies(0, written, agents)


def test_another_question_where_a_trace_tells_no_end_is_a_difference(tmp_path: Path, verifies: Ends) -> None:
    """What differs of two long ones is shown, wherever it stands."""
    long = "Compliance check completed by the desk, all of its risks were looked at, and the amount of 250 dollars was noted. Approve?"
    asked = {**ASKED, "args": {**QUESTION, "message": long}}
    events = (event("user", text="Go."), event("ask", function_call=asked))
    written = traced(tmp_path, *events, event("user", function_response={"id": "decision", **REPLIED}))
    desk = DESK.replace("EDGES", "ask, close").replace("Approve?", long)
    assert verified(written, agent(tmp_path / "same", desk).parent) == 0
    said = verifies(
        1, written, agent(tmp_path / "other", desk.replace("noted. Approve", "noted. Reject")).parent
    ).out
    assert "asks the user something else" in said
    assert re.search(r"was '?\.\.\..*Approve\?' and is now '?\.\.\..*Reject\?'", said), said


def test_a_trace_that_ends_with_a_question_is_compared_with_it(tmp_path: Path, verifies: Ends) -> None:
    """It is no golden of what was said before, whatever the case says that the agent ended with, and nobody replies."""
    filler = {"response": {"role": "model", "parts": [{"text": "done"}]}}
    asks = [event("user", text="Go."), event("review", text="fine"), event("ask", function_call=ASKED)]
    written = traced(tmp_path, *asks, responses=[filler])
    (case,) = json.loads(written.read_text())["eval_cases"]
    assert "final_response" not in case["conversation"][0]
    agents = graph(tmp_path, "review, ask, close")
    assert verified(written, agents) == 0
    (tmp_path / "signed").mkdir()
    asks[1]["content"]["parts"][0]["thought_signature"] = "c2lnbmVk"  # only a model signs what it says
    signed = traced(tmp_path / "signed", *asks, responses=[filler])
    assert verified(signed, agents) == 0
    assert "does not run review any more" in verifies(1, signed, graph(tmp_path / "less", "ask, close")).out
    module = agents / "small" / "agent.py"
    module.write_text(module.read_text().replace("Approve?", "Reject?"))
    assert "asks the user something else" in verifies(1, written, agents).out
    assert (
        "does not ask the user for input"
        in verifies(1, written, graph(tmp_path / "other", "review, close")).out
    )


def test_a_list_of_other_things_with_events_is_no_session(tmp_path: Path, ends: Ends) -> None:
    """Import, doctor and verify say so alike, and name no key that it would need."""
    given = tmp_path / "generated_traces.json"
    given.write_text(json.dumps([{"scenario": "fire", "events": [{"type": "content", "text": "Help"}]}]))
    assert "not an eval set" in ends(1, "import", given, "--out", tmp_path / "set.evalset.json").err
    told = ends(1, "doctor", given).out
    assert "not-an-eval-set" in told
    assert "sessions of ADK, not" not in told
    told = ends(2, "verify", given).err
    assert "neither an eval set nor" in told
    assert "KeyError" not in told
    records = [{"eval_id": "a", "events": [{"author": "desk", "output": {"status": "approved"}}]}]
    given.write_text(json.dumps(records))
    assert "sessions of ADK, not" not in ends(1, "doctor", given).out
    given.write_text(json.dumps({"events": [event("user", text="Go."), event("desk", text="Done")]}))
    assert f"Import it: golden-trace import {given}" in ends(2, "verify", given).err


COUNTS = """
def count(what: str) -> dict:
    \"\"\"Count.\"\"\"
    return {"n": len(what)}


root_agent = LlmAgent(name="NAME", model="gemini-2.5-flash", instruction="Count.", tools=[count])
"""


def test_an_agent_of_another_name_is_told_before_it_is_blamed(tmp_path: Path, ends: Ends) -> None:
    """The turns that are recorded for the old name are used by nobody: with the new one the case passes."""
    call = {"id": "c", "name": "count", "args": {"what": "abc"}}
    answer = {"id": "c", "name": "count", "response": {"n": 3}}
    said = (event("old", function_call=call), event("old", function_response=answer))
    written = traced(tmp_path, event("user", text="Go."), *said, event("old", text="Three."))
    folder = agent(tmp_path / "agents", COUNTS.replace("NAME", "fresh"))
    words = ("verify", folder, written, "--models", "recorded", "--quiet")
    told = ends(2, *words).out
    assert (
        "ERROR one\n    unknown, so not compared: the final state\n    There is no agent old, and only fresh "
        in told
    )
    assert "has no turn" not in told
    options = re.findall(r"--rename-agent (old=\w+)", told)
    ends(0, *words, "--rename-agent", options[0])
    session, written = tmp_path / "s.session.json", tmp_path / "s.evalset.json"
    events = [event("user", text="Go."), *said, event("old", text="Three.")]
    session.write_text(json.dumps({"id": "s", "appName": "shop", "userId": "u", "events": events}))
    ends(0, "import", session, "--out", written)
    words = ("verify", folder, written, "--models", "recorded", "--quiet")
    told = ends(1, *words).out
    assert "differ: There is no agent " in told
    assert "gives no final response" not in told
    options = re.findall(r"--rename-agent \S+=\w+", told)
    ends(0, *words, *" ".join(dict.fromkeys(options)).split())


def test_what_a_script_noted_is_no_turn_of_an_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of the author `system` are left out, but for an agent that is called so."""
    notes = [event("system", text=words) for words in ("USER: Go.", "AGENT MESSAGE: None")]
    traced(tmp_path, event("user", text="Go."), *notes, event("close", text="Done."))
    document = read_environment(tmp_path / "set.environment.json").cases["one"]
    assert [model.agent for turn in document.turns for model in turn.models] == ["close"]
    assert "no agent is named so" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("renamed", "option", "words"),
    [
        (
            ("text: str", "words: str"),
            "--rename-argument note.text=words",
            "'text' is unknown, 'words' is required",
        ),
        (("note(", "jot("), "--rename-tool note=jot", "'note' is no longer declared"),
    ],
)
def test_a_renamed_argument_or_tool_is_migrated_by_the_command_that_is_shown(
    tmp_path: Path, verifies: Ends, ends: Ends, *, renamed: tuple[str, str], option: str, words: str
) -> None:
    """What is missing and what is unknown is said in words, with the class of the error and the call, each once."""
    written = played(agent(tmp_path / "agents", NOTES), {"say": "Note tea.", "moves": MOVES})
    source = NOTES.replace(*renamed).replace("[note]", "[jot]" if option.endswith("jot") else "[note]")
    now = agent(tmp_path / "now", source).parent
    told = verifies(1, written, now).out
    assert words in told
    assert "ToolsChangedError" in told
    assert "verified_environment" not in told
    assert '  not accepted: note({"text":"tea"})\n' in told
    assert "golden: " not in told
    assert "`" not in told
    (command,) = [line.strip() for line in told.splitlines() if "golden-trace doctor" in line]
    assert command.endswith(option)
    asked, before = shlex.split(command)[1:], (written.read_bytes(), sidecar_of(written).read_bytes())
    assert "--dry-run" in ends(1, *asked).out  # says how it is written
    assert (written.read_bytes(), sidecar_of(written).read_bytes()) == before
    ends(0, *(word for word in asked if word != "--dry-run"))
    verifies(0, written, now)


def test_a_call_of_a_tool_that_was_removed_is_recorded_again(tmp_path: Path, verifies: Ends) -> None:
    """No tool is new, so no name is proposed for it."""
    written = played(agent(tmp_path / "agents", NOTES), {"say": "Note tea.", "moves": MOVES})
    now = agent(tmp_path / "now", NOTES.replace("[note]", "[]")).parent
    told = verifies(1, written, now).out
    assert "'note' is no longer declared" in told
    assert "re-record" in told
    assert "doctor" not in told


def test_a_call_that_fits_no_more_is_shown_as_the_run_made_it(tmp_path: Path, verifies: Ends) -> None:
    """A tolerance lets it differ from the golden's; what differs is that the agent's tools do not take it. The state is that of the check, though the run ended early."""
    written = played(agent(tmp_path / "agents", NOTES), {"say": "Note tea.", "moves": MOVES})
    recording = sidecar_of(written)
    recorded = json.loads(recording.read_text())
    recorded["cases"]["one"]["tolerances"] = [
        {"kind": "ignore", "of": "arguments", "tool": "note", "path": "text"}
    ]
    recording.write_text(json.dumps(recorded))
    golden = json.loads(written.read_text().replace('"tea"', '"coffee"'))
    golden["eval_cases"][0]["final_session_state"] = {"closed": True}
    written.write_text(json.dumps(golden))
    agent(tmp_path / "agents", NOTES.replace("text: str", "words: str"))
    (case,) = json.loads(verifies(1, written, tmp_path / "agents", "--json").out)["cases"]
    (run,) = case["runs"]
    assert "closed is missing" in [check["detail"] for check in run["checks"]]
    called, *_, state = run["divergence"]["pairs"]
    assert [state[side]["value"] for side in ("golden", "actual")] == [{"closed": True}, {}]
    assert [called[side]["value"] for side in ("golden", "actual")] == [{"text": "coffee"}, {"text": "tea"}]


ORDERS = """
from google.adk.tools import BaseTool
from google.genai import types
from pydantic import BaseModel


class Line(BaseModel):
    sku: str
    qty: int = 1


def find(order_id: str, limit: int = 5) -> dict:
    \"\"\"Find an order.\"\"\"
    return {}


def buy(lines: list[Line]) -> dict:
    \"\"\"Buy lines.\"\"\"
    return {}


class Books(BaseTool):
    def _get_declaration(self):
        text = {"type": "string"}
        schema = {"type": "object", "properties": {"sku": text, "note": text}}
        return types.FunctionDeclaration(name=self.name, parameters_json_schema=schema)


root_agent = LlmAgent(
    name="desk", model="gemini-2.5-flash", instruction="Sell.", tools=[find, buy, Books(name="book", description="Books.")]
)
"""
LIMITED = {"name": "find", "args": {"order_id": "A-1", "limit": 3}}
BOOKED = {"name": "book", "args": {"sku": "X", "note": "tea"}}
LINES = {"name": "buy", "args": {"lines": [{"sku": "X", "qty": 2}]}}


@pytest.mark.parametrize(
    ("call", "change", "words"),
    [
        (LIMITED, ("limit: int = 5", "max_rows: int = 5"), "'limit' is unknown"),
        (LIMITED, (", limit: int = 5", ""), "'limit' is unknown"),
        (LINES, ("qty: int = 1", "quantity: int = 1"), "$.lines[0]: 'qty' is unknown"),
        (LIMITED, (", limit: int = 5", ", **more"), ""),
        (LINES, ("qty: int = 1", "model_config = {'extra': 'allow'}"), ""),
        (LINES, ("qty: int = 1", "quantity: int = Field(1, validation_alias=AliasChoices('quantity', 'qty'))"), ""),
        (LINES, ("class Line(BaseModel):\n    sku: str\n    qty: int", "class Line(TypedDict, total=False):\n    sku: str\n    quantity: int"), ""),
        (LINES, ("list[Line]", "dict[str, Line] | list[dict]"), ""),
        (BOOKED, (', "note": text', ""), "'note' is unknown"),
        (BOOKED, ('"note": text}', '"words": text}, "additionalProperties": True'), ""),
        (BOOKED, ('"note": text', '"note": text, "more": text'), ""),
    ],
    ids=["renamed", "deleted", "nested", "takes all", "keeps more", "alias", "no model", "not converted", "own class", "open", "one more"],
)  # fmt: skip
def test_an_argument_whose_value_would_be_dropped_is_not_accepted(
    tmp_path: Path, verifies: Ends, ends: Ends, *, call: Any, change: tuple[str, str], words: str
) -> None:
    """By verify and the doctor alike; where a tool may take what it does not name, neither says so."""
    head = "from pydantic import AliasChoices, BaseModel, Field\nfrom typing_extensions import TypedDict"
    source = ORDERS.replace("from pydantic import BaseModel", head)
    moves = [{"calls": [call]}, {"tool": call["name"], "returns": {"n": 1}}, {"text": "Done."}]
    written = played(agent(tmp_path / "agents", source), {"say": "Go.", "moves": moves})
    assert change[0] in source
    changed = (
        source.replace(" = 1", "").replace(*change) if "TypedDict, " in change[1] else source.replace(*change)
    )
    now = agent(tmp_path / "now", changed).parent
    told = verifies(1 if words else 0, written, now).out
    found = ends(1 if words else 0, "doctor", written, "--agents-dir", now).out
    assert ("The agent's tools changed" in told) is bool(words)
    assert ("refused-arguments" in found) is bool(words)
    assert words in told
    assert words in found
    assert ("value would be dropped" in told) is bool(words and call is not BOOKED)


TOPICS = """
from google.adk.agents import SequentialAgent
from pydantic import AliasChoices, BaseModel, Field


class Note(BaseModel):
    text: str
    why: str = ""


class Topic(BaseModel):
    depth: int = 1
    notes: list[Note] = []


one = LlmAgent(name="one", model="gemini-2.5-flash", instruction="Know.", input_schema=Topic)
expert = SequentialAgent(name="expert", description="Knows.", sub_agents=[one])
mid = LlmAgent(name="mid", model="gemini-2.5-flash", instruction="Ask.", tools=[AgentTool(expert)])
"""


@pytest.mark.parametrize(
    ("tool", "change", "words"),
    [
        ("AgentTool(expert)", ("depth: int = 1", "level: int = 1"), "'depth' is unknown"),
        ("AgentTool(expert, skip_summarization=True)", ("    depth: int = 1\n", ""), "'depth' is unknown"),
        ("AgentTool(mid)", ("why: str", "reason: str"), "$.notes[0]: 'why' is unknown"),
        ("AgentTool(mid)", ("input_schema=Topic", "input_schema=Topic, output_schema=Topic"), ""),
        ("AgentTool(expert)", ("depth: int = 1", "depth: int = 1\n    more: str = ''"), ""),
        ("AgentTool(expert)", ("depth: int = 1", "model_config = {'extra': 'allow'}"), ""),
        ("AgentTool(expert)", ("depth: int = 1", "level: int = Field(1, validation_alias=AliasChoices('level', 'depth'))"), ""),
    ],
    ids=["renamed", "dropped", "nested", "output", "one more", "keeps more", "alias"],
)  # fmt: skip
def test_what_an_agent_used_as_a_tool_would_not_be_told_is_named(
    tmp_path: Path, verifies: Ends, ends: Ends, *, tool: str, change: tuple[str, str], words: str
) -> None:
    """Where the call is made, by the doctor and by a replay, which does not accept it any more; an older recording does not contain how the agent was declared, so it may have been so."""
    source = f"{TOPICS}root_agent = LlmAgent(name='desk', model='gemini-2.5-flash', instruction='Ask.', tools=[{tool}])\n"
    asked = {"name": "expert", "args": {"depth": 2, "notes": [{"text": "tea", "why": "cold"}]}}
    inner = [{"calls": [asked]}, {"text": '{"depth": 2}'}]
    if "mid" in tool:
        inner = [{"calls": [{"name": "mid", "args": {"request": "Go."}}]}, *inner, {"text": "Known."}]
    turn = {"say": "Go.", "moves": inner if "skip" in tool else [*inner, {"text": "Done."}]}
    assert change[0] in source
    now = agent(tmp_path / "now", source.replace(*change))
    written = played(agent(tmp_path / "agents", source), turn)
    verifies(0, written, tmp_path / "agents")
    verdict = verifies(1 if words else 0, written, now.parent).out
    found = ends(1 if words and "mid" not in tool else 0, "doctor", written, "--agents-dir", now.parent).out
    script, out = tmp_path / "script.json", tmp_path / "again.evalset.json"
    told = ends(0, "run", now, "--script", script, "--out", out).err
    for said in (verdict, told, *([] if "mid" in tool else [found])):
        assert words in said
        assert ("value would be dropped" in said) is bool(words)
    assert ("The agent's tools changed" in verdict) is bool(words)
    beside = written.with_name("set.environment.json")
    older = json.loads(beside.read_text())
    older["cases"]["one"]["tools"] = {}
    beside.write_text(json.dumps(older))
    verifies(0, written, now.parent)


ASK = """from pydantic import BaseModel


class Ask(BaseModel):
    sku: str


"""

TEAM = """
def price(sku: str) -> dict:
    \"\"\"Price of one.\"\"\"
    return {}


inner = LlmAgent(name="inner", model="gemini-2.5-flash", instruction="Price.", description="prices", tools=[price])
sub = LlmAgent(name="sub", model="gemini-2.5-flash", instruction="Notes.", description="notes")
other = LlmAgent(name="other", model="gemini-2.5-flash", instruction="Else.", description="the rest")
root_agent = LlmAgent(
    name="desk", model="gemini-2.5-flash", instruction="Sell.", tools=[AgentTool(inner)], sub_agents=[sub, other]
)
"""


@pytest.mark.parametrize(
    ("change", "words", "name"),
    [
        (("AgentTool(inner)", ""), "the tool 'inner' is no longer declared", "inner"),
        (("[AgentTool(inner)]", "[price]"), "the tool 'inner' is no longer declared", "inner"),
        (("[sub, other]", "[]"), "the agent 'sub', which took turns in the recording, is no longer there", "sub"),
        (("[sub, other]", "[other]"), "the agent 'sub', which took turns in the recording, is no longer there", "sub"),
        (('name="sub"', 'name="notes"'), "the agent 'sub', which took turns in the recording, is no longer there", "sub"),
        (("inner = LlmAgent(", f"{ASK}inner = LlmAgent(input_schema=Ask, "), "'request' is unknown, 'sku' is required", ""),
    ],
    ids=["tool", "tool, not what it calls", "all sub-agents", "one of them", "renamed", "input"],
)  # fmt: skip
def test_an_agent_that_is_gone_is_named(
    tmp_path: Path, verifies: Ends, ends: Ends, *, change: tuple[str, str], words: str, name: str
) -> None:
    """The agent's model still calls it, and is not blamed; the doctor names it, too, and a renamed one can be migrated."""
    moves = [
        {"calls": [{"name": "inner", "args": {"request": "X"}}]},
        {"calls": [{"name": "price", "args": {"sku": "X"}}]},
        {"tool": "price", "returns": {"price": 3}},
        {"text": "X costs 3."},
        {"calls": [{"name": "transfer_to_agent", "args": {"agent_name": "sub"}}]},
        {"text": "Noted."},
    ]
    written = played(agent(tmp_path / "agents", TEAM), {"say": "Go.", "moves": moves})
    verifies(0, written, tmp_path / "agents")
    assert change[0] in TEAM
    now = agent(tmp_path / "now", TEAM.replace(*change)).parent
    told = verifies(1, written, now).out
    assert "The agent's tools changed" in told
    assert words in told
    command = next((line.strip() for line in told.splitlines() if "golden-trace doctor" in line), "")
    assert command.endswith(f"--rename-agent {name}=NEW" if name else "")
    assert (f"{name!r}" if name else "refused-arguments") in ends(
        1, "doctor", written, "--agents-dir", now
    ).out
    if "notes" in change[1]:
        ends(0, *shlex.split(command.replace("NEW", "notes").replace(" --dry-run", ""))[1:])
        verifies(0, written, now)
