"""A case is played again and takes the place of the one before, with all that nobody plays: notes, rubrics, tolerances, the order of the cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

from evalset import write_golden_trace
from evalset.recorded.recording import CaseNote
from evalset.recorded.recording_files import put_all, read_environment, sidecar_of
from evalset.recorded.tolerances import Ignore
from simulator import Simulation
from tests.evalset.ending import Ends
from tests.evalset.replay.desk_agent import config, played, write_desk

RUBRIC = {"rubric_id": "polite", "rubric_content": {"text_property": "It is polite."}}
TOLERANCE = Ignore(of="response", tool="check", path="at")
LOST = """
format: golden-trace-studio/script
version: 1
otherwise: fail
agent: model
environment:
- tool: check
  returns: {status: lost}
turns:
- say: check A
"""
NOTE = CaseNote(text="From the ticket.", tags=("smoke",))


def desk(tmp_path: Path, status: str) -> Simulation:
    """Play the desk, whose one call gets this status."""
    return played(config(tmp_path / "agents"), ["check A"], {"check": {"status": status}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A set of two goldens; the first has rubrics, a note and a tolerance that people gave it."""
    write_desk(tmp_path / "agents")
    path = tmp_path / "agents" / "desk" / "desk.evalset.json"
    for eval_id in ("one", "two"):
        write_golden_trace(desk(tmp_path, "shipped"), path, eval_id=eval_id)
    document = json.loads(path.read_text())
    document["eval_cases"][0]["rubrics"] = [RUBRIC]
    document["eval_cases"][0]["conversation"][0]["rubrics"] = [RUBRIC]
    path.write_text(json.dumps(document))
    recorded = read_environment(sidecar_of(path)).cases["one"]
    put_all(
        sidecar_of(path),
        {"one": recorded.model_copy(update={"tolerances": (TOLERANCE,)})},
        {"one": NOTE},
    )
    return path


def test_a_scenario_becomes_the_case_that_was_played(path: Path, tmp_path: Path) -> None:
    """ADK takes a conversation or a scenario, and not both."""
    document = json.loads(path.read_text())
    scenario = {"starting_prompt": "check A", "conversation_plan": "Ask once."}
    document["eval_cases"][0] = {"eval_id": "one", "conversation_scenario": scenario}
    path.write_text(json.dumps(document))
    write_golden_trace(desk(tmp_path, "lost"), path, eval_id="one", replace=True)
    one, _ = load_eval_set_from_file(str(path), "desk").eval_cases
    assert one.conversation
    assert one.conversation_scenario is None
    with pytest.raises(TypeError, match="needs eval_id"):
        write_golden_trace(desk(tmp_path, "lost"), path, replace=True)


def test_the_command_replaces_a_case(path: Path, tmp_path: Path, ends: Ends) -> None:
    """It names the option where the id is taken, and the cases that there are where it is not; verify passes on it.

    The first case is what was played now, with what people gave it, and the second as before.
    """
    before = path.read_bytes()
    second = json.dumps(json.loads(before)["eval_cases"][1])
    script = tmp_path / "lost.yaml"
    script.write_text(LOST)
    run = ("run", path.parent, "--script", script, "--out", path, "--no-replay", "--eval-id")
    told = [ends(2, *run, *words).err for words in (["one"], ["thre", "--replace"])]
    assert path.read_bytes() == before
    assert "--replace" in told[0]
    assert "has no case 'thre'" in told[1]
    ends(0, *run, "one", "--replace")
    one, two = json.loads(path.read_text())["eval_cases"]
    assert (one["eval_id"], two["eval_id"]) == ("one", "two")
    assert "lost" in json.dumps(one["conversation"])
    assert json.dumps(two) == second
    assert one["rubrics"] == one["conversation"][0]["rubrics"] == [RUBRIC]
    kept = read_environment(sidecar_of(path))
    assert "lost" in kept.cases["one"].model_dump_json()
    assert (kept.cases["one"].tolerances, kept.notes["one"]) == ((TOLERANCE,), NOTE)
    ends(0, "verify", path, "--models", "recorded")
