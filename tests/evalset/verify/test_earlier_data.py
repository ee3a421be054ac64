"""Artifacts and memory that a session begins with are found by the agent, recorded, and given to each replay."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from evalset.cli.main import main
from evalset.golden_trace.caveats import warnings
from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.replay.hermetic_environment import HermeticEnvironment
from simulator import SimulationError, earlier_data
from simulator.journal import Journal
from simulator.runtime.adk.codec import jsonable
from simulator.scripts import script_of, write_script
from simulator.session.attached_files import file_of
from tests.evalset.verify.small_agents import HEAD, agent, played, verified
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, resumed, say

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
TURNS: tuple[dict[str, Any], ...] = (
    {"say": "Hello", "moves": [{"text": "Hi."}]},
    {"say": "And?", "moves": [{"text": "Fine."}]},
)


def final_state(path: Path) -> Any:
    """Return what the only case of an eval set has as its final state."""
    (case,) = json.loads(path.read_text())["eval_cases"]
    return case["final_session_state"]


def test_a_replay_begins_with_what_the_session_began_with(tmp_path: Path) -> None:
    """The recording has it, in a version of its own, and gives it when the case plays again, and in any runner; without it the replay fails."""
    agents = tmp_path / "agents"
    kept = played(agent(agents, SOURCE), *TURNS, earlier=EARLIER)
    sidecar, again = sidecar_of(kept), tmp_path / "again.evalset.json"
    assert read_environment(sidecar).version == 7
    assert verified(kept, agents) == 0
    words = ["--script", str(kept), "--case", "one", "--out", str(again), "--eval-id", "two"]
    assert main(["run", str(agents / "small"), *words]) == 0
    assert final_state(kept) == final_state(again) == FOUND
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
