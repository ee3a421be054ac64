"""What comes with the user beside words - state, files, and earlier artifacts and memory - is recorded, exported, replayed and imported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from evalset.cli.main import main
from evalset.golden_trace.builder import warnings
from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.replay.hermetic_environment import HermeticEnvironment
from simulator import SimulationError, earlier_data
from simulator.journal import Journal
from simulator.runtime.adk.codec import jsonable
from simulator.scripts import script_of, write_script
from simulator.session.history import file_of, file_part, files_in
from tests.evalset.verify.small_agents import HEAD, agent, played, verified
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, resumed, say

SHOP = """
from google.genai import types


def closed(callback_context):
    if callback_context.state.get("closed"):
        return types.Content(role="model", parts=[types.Part(text=f"Closed for {callback_context.state['temp:who']}.")])


root_agent = LlmAgent(
    name="small", model="gemini-2.5-flash", instruction="Help a {plan} customer.", before_agent_callback=closed
)
"""
TURNS = (
    {"say": "Hello", "state_delta": {"plan": "pro"}, "moves": [{"text": "Hi."}]},
    {"say": "And now?", "state_delta": {"closed": True, "temp:who": "Ann"}},
)


def case_in(path: Path) -> dict[str, Any]:
    """Return the only case of an eval set."""
    (case,) = json.loads(path.read_text())["eval_cases"]
    found: dict[str, Any] = case
    return found


def played_again(kept: Path, agent: Path) -> Path:
    """Play the case of an eval set as a script, and return the eval set that it wrote."""
    again = kept.with_name("again.evalset.json")
    words = ["--script", str(kept), "--case", "one", "--out", str(again), "--eval-id", "two"]
    assert main(["run", str(agent), *words]) == 0
    return again


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """An eval set of a session in which each message sets state."""
    return played(agent(tmp_path / "agents", SHOP), *TURNS)


@pytest.mark.long
def test_a_replay_sets_what_the_messages_set(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the first one sets is the initial state of the case; what a later one sets is recorded with its turn.

    The recorded case plays again as a session that starts from that state. One that is edited there counts: it is not set back.
    """
    assert "warning" not in capsys.readouterr().err
    case, recorded = case_in(kept), read_environment(sidecar_of(kept)).cases["one"]
    assert case["session_input"]["state"] == recorded.state == {"plan": "pro"}
    assert [turn.state_delta for turn in recorded.turns] == [{}, {"closed": True, "temp:who": "Ann"}]
    assert case["conversation"][1]["final_response"]["parts"] == [{"text": "Closed for Ann."}]
    again = played_again(kept, tmp_path / "agents" / "small")
    for path in (kept, again):
        assert case_in(path)["final_session_state"] == {"plan": "pro", "closed": True}
        assert verified(path, tmp_path / "agents") == 0
    kept.write_text(kept.read_text().replace('"plan": "pro"', '"plan": "free"'))
    assert case_in(kept)["session_input"]["state"] == {"plan": "free"}
    assert verified(kept, tmp_path / "agents") == 0


PLUGIN = """
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin


class Notes(BasePlugin):
    async def on_user_message_callback(self, *, invocation_context, user_message):
        state = invocation_context.session.state
        state["said"] = state.get("said", 0) + 1
        state["temp:who"] = "Ann"


app = App(name="small", root_agent=root_agent, plugins=[Notes("notes")])
"""


def test_state_that_a_plugin_sets_as_the_user_speaks_is_set_again(tmp_path: Path) -> None:
    """The plugin runs in the replay, and what the message set is there before it."""
    turns = ({**TURNS[0]}, {"say": "And now?", "state_delta": {"closed": True}})
    kept = played(agent(tmp_path / "agents", SHOP + PLUGIN), *turns)
    assert case_in(kept)["conversation"][1]["final_response"]["parts"] == [{"text": "Closed for Ann."}]
    assert verified(kept, tmp_path / "agents") == 0


@pytest.mark.long
def test_a_hermetic_eval_sets_that_state(kept: Path, tmp_path: Path) -> None:
    """The agent says what its callback makes of it."""
    assert main(["eval", str(tmp_path / "agents" / "small"), str(kept), "--models", "recorded"]) == 0


def said(author: str, text: str = "", **delta: Any) -> dict[str, Any]:
    """Write an event of a session as ADK's server gives it; one without a text only sets state."""
    role = "user" if author == "user" else "model"
    content = {"content": {"role": role, "parts": [{"text": text}]}} if text else {}
    return {"author": author, "invocationId": "i", **content, "actions": {"stateDelta": delta}}


def imported(tmp_path: Path, *events: dict[str, Any], **state: Any) -> Path:
    """Import a session, and return the eval set."""
    written, session = tmp_path / "imported.evalset.json", tmp_path / "session.json"
    document = {"id": "s", "appName": "small", "userId": "user", "state": state, "events": events}
    session.write_text(json.dumps(document))
    assert main(["import", str(session), "--out", str(written)]) == 0
    return written


@pytest.mark.parametrize("apart", ["", "user", "system"])
def test_an_imported_session_keeps_what_no_agent_set(tmp_path: Path, apart: str) -> None:
    """The user with a message, or between two, as the page of `adk web` does; or the program around the agent, by an event in an invocation of its own."""
    delta: dict[str, Any] = {"closed": True, "temp:who": "Ann"}
    between = {**said(apart, **delta), "invocationId": "login" if apart == "system" else "i"}
    asks = [between, said("user", "And now?")] if apart else [said("user", "And now?", **delta)]
    events = [
        said("user", "Hello", plan="pro"),
        said("small", "Hi."),
        *asks,
        said("small", "Closed for Ann."),
    ]
    written = imported(tmp_path, *events, plan="pro", closed=True)
    assert case_in(written)["session_input"]["state"] == {"plan": "pro"}
    assert case_in(written)["final_session_state"] == {"plan": "pro", "closed": True}
    agent(tmp_path / "agents", SHOP)
    assert verified(written, tmp_path / "agents") == 0


def test_what_comes_before_the_first_message_is_in_the_initial_state_or_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is what nobody can replay: state that is set when nothing follows."""
    events = [
        said("small", "Synced.", plan="pro"),
        said("user", "Hello"),
        said("small", "Hi."),
        said("user", rated=5),
        {**said("system", synced=True), "invocationId": "night"},
    ]
    written = imported(tmp_path, *events, tier="gold", plan="pro", rated=5, synced=True)
    told = capsys.readouterr()
    assert case_in(written)["session_input"]["state"] == {"plan": "pro", "tier": "gold"}
    assert case_in(written)["final_session_state"] == {"plan": "pro", "tier": "gold"}
    assert "before the first user message, 1 event is left out" in told.out + told.err
    assert "left out: rated, synced" in told.out + told.err


COUNTS_BYTES = """
def told(callback_context):
    parts = callback_context.user_content.parts
    callback_context.state["bytes"] = sum(len(part.inline_data.data) for part in parts if part.inline_data)

root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Help.", before_agent_callback=told)
"""
PART = file_part("a.png", "image/png", bytes([0xFB, 0xFF, 0xFE, 0x01]))
TURN: dict[str, Any] = {
    "say": {"parts": [{"text": "What is this?"}, PART]},
    "moves": [{"text": "A picture."}],
}


def messages(path: Path) -> list[Any]:
    """Return the user messages of the only case of an eval set."""
    return [turn["user_content"] for turn in case_in(path)["conversation"]]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_file_goes_from_the_script_to_the_case_the_replay_and_the_next_case(
    tmp_path: Path, *, is_recorded: bool
) -> None:
    """The agent finds its bytes each time, also where a case is played that has no recording."""
    folder = agent(tmp_path / "agents", COUNTS_BYTES)
    first = played(folder, TURN)
    assert messages(first) == [{"role": "user", "parts": [{"text": "What is this?"}, PART]}]
    assert verified(first, tmp_path / "agents") == 0
    if not is_recorded:
        sidecar_of(first).unlink()
    again = played_again(first, folder)
    (message,) = messages(again)
    assert [file.size for file in files_in(message)] == [4]
    assert case_in(again)["final_session_state"] == {"bytes": 4}
    assert verified(again, tmp_path / "agents") == 0


SOURCE = '''
from google.genai import types


async def looked(callback_context):
    """Say what there is before the model is asked."""
    names = await callback_context.list_artifacts()
    plan = await callback_context.load_artifact("plan.txt")
    found = await callback_context.search_memory("Which colour?")
    callback_context.state["names"] = names
    callback_context.state["plan"] = plan and plan.text
    callback_context.state["colours"] = [entry.content.parts[0].text for entry in found.memories]


root_agent = LlmAgent(name="small", model="gemini-2.5-flash", instruction="Help.", before_agent_callback=looked)
'''
EARLIER = {
    "artifacts": [
        {"filename": "plan.txt", "part": {"text": "Sail on."}, "version": 0},
        {
            "filename": "user:a.bin",
            "part": {"inline_data": {"mime_type": "x/y", "data": "AQI="}},
            "version": 0,
        },
    ],
    "memory": ["The colour is red."],
}
FOUND = {"names": ["plan.txt", "user:a.bin"], "plan": "Sail on.", "colours": ["The colour is red."]}
EARLIER_TURNS: tuple[dict[str, Any], ...] = (
    {"say": "Hello", "moves": [{"text": "Hi."}]},
    {"say": "And?", "moves": [{"text": "Fine."}]},
)


def test_a_replay_begins_with_what_the_session_began_with(tmp_path: Path) -> None:
    """The recording has it, and gives it when the case plays again, and in any runner; without it the replay fails."""
    agents = tmp_path / "agents"
    kept = played(agent(agents, SOURCE), *EARLIER_TURNS, earlier=EARLIER)
    sidecar = sidecar_of(kept)
    assert read_environment(sidecar).version == 10
    assert verified(kept, agents) == 0
    again = played_again(kept, agents / "small")
    assert [case_in(path)["final_session_state"] for path in (kept, again)] == [FOUND] * 2
    first, second = (read_environment(sidecar_of(path)).cases for path in (kept, again))
    assert first["one"].earlier == second["two"].earlier
    assert asyncio.run(state_of(HermeticEnvironment(sidecar, models="recorded"))) == FOUND
    document = json.loads(sidecar.read_text())
    del document["cases"]["one"]["earlier"]
    sidecar.write_text(json.dumps(document))
    assert verified(kept, agents) != 0


async def state_of(plugin: HermeticEnvironment) -> dict[str, Any]:
    """Run the agent with a plugin, as under `adk eval` and in a test of one's own; return the session's state."""
    namespace: dict[str, Any] = {}
    exec(HEAD + SOURCE, namespace)  # noqa: S102 - the agent of this file
    runner = InMemoryRunner(app=App(name="small", root_agent=namespace["root_agent"], plugins=[plugin]))
    await runner.run_debug("Hello", quiet=True)
    where: Any = {"app_name": "small", "user_id": "debug_user_id", "session_id": "debug_session_id"}
    session = await runner.session_service.get_session(**where)
    return dict(session.state) if session else {}


async def read_all(tool_context: Any) -> dict[str, Any]:
    """Read the file, and what is remembered."""
    part = await tool_context.load_artifact("plan.txt")
    found = await tool_context.search_memory("colour")
    return {"plan": part.inline_data.data.decode(), "found": len(found.memories)}


def test_from_python_a_real_tool_reads_it_also_after_a_resume() -> None:
    """Files of bytes and texts to remember; the journal has them, and what the script of the session begins with."""
    earlier = earlier_data({"plan.txt": b"Sail on."}, ["The colour is red.", "Colour: blue."])
    turns = ([call("read_all")], [say("Done.")], [call("read_all")], [say("Done.")])
    sim = opened(agent_of(*turns, tools=[read_all]), tools="real", earlier=earlier)
    assert sim.query("go", wait=PATIENCE)
    again = resumed(sim.journal.to_json(), agent_of(*turns, tools=[read_all]), wait=PATIENCE)
    assert again.query("go on", wait=PATIENCE)
    answers = [entry.result for entry in again.session.history if entry.type == "tool_output"]
    assert answers == [{"plan": "Sail on.", "found": 2}] * 2
    (file,) = (file_of(saved.part) for saved in again.session.earlier.artifacts)
    assert file is not None
    assert file.mime_type == "text/plain"
    assert [turn.artifacts for turn in again.session.turns] == [(), ()]
    assert "earlier:" in write_script(script_of(Journal.from_json(sim.journal.to_json())))
    assert jsonable(script_of(sim).earlier) == jsonable(again.session.earlier)
    told = " ".join(warnings(again.session))
    assert "plan.txt" in told
    assert "memory" in told


@pytest.mark.parametrize(
    ("artifacts", "memory", "named"),
    [
        ({"a": {"nothing": 1}}, [], "artifact 'a'"),
        ({" ": "x"}, [], "no name"),
        ({}, ["x", {"content": {"parts": []}}], "memory entry 2"),
        ({}, [{"content": 3}], "memory entry 1"),
    ],
)
def test_what_adk_would_not_take_opens_no_session(artifacts: Any, memory: Any, named: str) -> None:
    """The error names the file or the entry."""
    with pytest.raises(SimulationError, match=named):
        opened(agent_of(), earlier=earlier_data(artifacts, memory))
