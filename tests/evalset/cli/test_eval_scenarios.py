"""`golden-trace eval` on cases that a simulated user plays: what answers the tools, and what is said before anything starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evalset
from evalset import read_cases
from evalset.cli import eval_command
from evalset.recorded.recording import RecordedEnvironment
from evalset.recorded.recording_files import environment_text, sidecar_of
from simulator.agents import AgentSettings, catalogue_for
from tests.evalset.ending import Ends
from tests.evalset.replay.desk_agent import config as desk_config
from tests.evalset.replay.desk_agent import keep, played, write_desk
from tests.harness.loopback import gemini, gemini_call, loopback
from tests.harness.talking_agent import write_counting_metric, write_talking_agent
from tests.simulator.runtime.test_misuse import KEYS

PLAN: Any = {"starting_prompt": "check A", "conversation_plan": "Ask for a check of A."}
KEYLESS = '''
from google.adk.agents import LlmAgent


def get_order(order_id: str):
    """Get an order."""
    raise SystemExit("a real tool ran")


root_agent = LlmAgent(name="desk", model="gemini-2.5-flash", instruction="Help.", tools=[get_order])
'''
Refused = Callable[..., str]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model of a provider can be asked."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, ends: Ends) -> Callable[..., Any]:
    """Runs the command up to the process; returns what it would run, or where it does not begin, what it says."""
    ready: list[Any] = []

    def taken(_given: Any, made: Any, _progress: Any) -> int:
        ready.append(made)
        return 0

    monkeypatch.setattr(eval_command, "_evaluated", taken)

    def run(*words: str | Path, refused: bool = False) -> Any:
        ready.clear()
        said = ends(2 if refused else 0, "eval", *words).err
        assert bool(ready) is not refused
        return said if refused else ready[-1]

    return run


@pytest.fixture
def refused(planned: Callable[..., Any]) -> Refused:
    """Runs the command, which does not begin; returns what it says."""
    return partial(planned, refused=True)


@pytest.fixture
def talking(tmp_path: Path) -> tuple[Path, Path]:
    """An agent, and where its eval set is: one with a scenario."""
    folder, path = write_talking_agent(tmp_path / "agents"), tmp_path / "talk.evalset.json"
    scenario_set(path)
    return folder, path


@pytest.fixture
def desk(tmp_path: Path) -> tuple[Path, Path]:
    """An agent without a key, and where its eval set is: one with a recorded conversation."""
    folder, path = write_desk(tmp_path / "agents"), tmp_path / "desk.evalset.json"
    keep(played(desk_config(folder.parent), ["check A"], {"check": {"status": "open"}}), path, "one")
    return folder, path


def scenario_set(path: Path, app: str = "talking") -> str:
    """Write a set with one scenario; return its id."""
    path.parent.mkdir(exist_ok=True)
    case = evalset.scenario_case(PLAN, app_name=app, user_id="user", at=1.0)
    evalset.add_scenario(evalset.EvalSetWriter(path, app), case)
    return case.eval_id


def criteria(path: Path, *names: str, **user: Any) -> Path:
    """Write an `EvalConfig`."""
    given: Any = {"criteria": dict.fromkeys(names or ("hallucinations_v1",), 0.5)}
    path.write_text(json.dumps({**given, "user_simulator_config": {"model": "talker-1", **user}}))
    return path


def test_what_a_scenario_lacks_is_said_before_anything_starts(
    tmp_path: Path, talking: tuple[Path, Path], refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other: what answers the tools, who plays the user, what the criteria compare with; each with the option that helps."""
    path, config = talking[1], tmp_path / "criteria.json"
    words = (*talking, "--config", config)
    criteria(config)
    said = refused(*words)
    assert all(each in said for each in (str(sidecar_of(path)), "--unrecorded generate", "--real-tools"))
    sidecar_of(path).write_text(environment_text(RecordedEnvironment()))
    assert "--unrecorded generate" in refused(*words)
    assert "--models real" in refused(*words, "--unrecorded", "generate", "--models", "recorded")
    criteria(config, model="gemini-2.5-flash")
    for ways in (("--unrecorded", "generate"), ("--real-tools",)):
        said = refused(*words, *ways)
        named = ("simulated user", "GOOGLE_API_KEY", "user_simulator_config", *read_cases(path.read_text()))
        assert all(each in said for each in named)
    criteria(config, "tool_trajectory_avg_score", "final_response_match_v2")
    said = refused(*words, "--unrecorded", "generate")
    assert "tool_trajectory_avg_score and final_response_match_v2 need" in said
    assert "hallucinations_v1" in said
    assert "--config" in said
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    said = refused(*talking, "--unrecorded", "generate")  # ADK's default criteria stand where no file does
    assert "tool_trajectory_avg_score and response_match_score need" in said


def test_the_agents_own_model_has_to_be_there(tmp_path: Path, refused: Refused) -> None:
    """Nothing of it is recorded for a scenario."""
    folder = write_desk(tmp_path / "agents")
    (folder / "agent.py").write_text(KEYLESS)
    path = tmp_path / "desk.evalset.json"
    scenario_set(path, "desk")
    said = refused(folder, path, "--config", criteria(tmp_path / "c.json"), "--unrecorded", "generate")
    assert "the agent's own model" in said
    assert "GOOGLE_API_KEY" in said


@pytest.mark.parametrize(
    ("user", "lacks"),
    [
        ({}, "cloud_tts"),
        ({"audio_model": "gemini-2.5-flash-preview-tts"}, "gemini-2.5-flash-preview-tts"),
        ({"audio_model": "talker-2"}, ""),
    ],
)
def test_a_user_who_speaks_is_played_where_the_voice_can_be_asked(
    user: Any, lacks: str, tmp_path: Path, talking: tuple[Path, Path], planned: Callable[..., Any]
) -> None:
    """`llm_audio` is ADK's own: its fields are checked with ADK's class, and both of its models have to be there."""
    config = criteria(tmp_path / "c.json", type="llm_audio", include_text_with_audio=False, **user)
    words = (*talking, "--config", config, "--unrecorded", "generate")
    if lacks:
        assert lacks in planned(*words, refused=True)
    else:
        assert planned(*words).spec.config["user_simulator_config"]["type"] == "llm_audio"


def test_a_voice_that_speaks_a_conversation_has_to_be_there_too(
    tmp_path: Path, desk: tuple[Path, Path], refused: Refused
) -> None:
    """ADK has it speak the messages of every case."""
    config = criteria(tmp_path / "c.json", type="llm_audio", audio_model="gemini-2.5-flash-preview-tts")
    said = refused(*desk, "--config", config)
    assert "gemini-2.5-flash-preview-tts" in said
    assert "talker-1" not in said


def test_a_type_that_adk_does_not_have_is_no_code_to_import(
    tmp_path: Path, talking: tuple[Path, Path], refused: Refused
) -> None:
    """The field is named."""
    config = criteria(tmp_path / "c.json", type="this.module.Simulator")
    assert "user_simulator_config" in refused(*talking, "--config", config)


def test_recorded_calls_answer_a_scenario_and_the_output_says_what_does(
    tmp_path: Path, desk: tuple[Path, Path], planned: Callable[..., Any]
) -> None:
    """A recording next to the set is enough; with `generate` it comes first; without one all is generated, also for a conversation."""
    recording, eval_id = sidecar_of(desk[1]), scenario_set(desk[1], "desk")
    write_talking_agent(tmp_path / "others")  # its module brings the model `talker-1`
    assert catalogue_for(AgentSettings(agents_dir=tmp_path / "others", demos=False)).config("talking")
    words = (*desk, "--config", criteria(tmp_path / "c.json"), "--case", eval_id)
    ready = planned(*words)
    assert (ready.spec.environment, ready.spec.unrecorded, ready.spec.models) == (recording, "fail", "real")
    assert "tool responses from desk.environment.json," in ready.about
    assert "otherwise generated" in planned(*words, "--unrecorded", "generate").about
    recording.unlink()
    assert ": generated tool responses," in planned(*words, "--unrecorded", "generate").about
    ready = planned(*desk, "--case", "one", "--unrecorded", "generate")
    assert (ready.spec.environment, ready.spec.unrecorded) == (recording, "generate")


@pytest.mark.long
@pytest.mark.process
def test_adk_eval_plays_a_scenario_with_generated_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """ADK's user simulator and the agent ask one loopback model in turn; the tool's response comes from the agent's data, and no real tool runs."""
    folder, path = write_desk(tmp_path / "agents"), tmp_path / "desk.evalset.json"
    (folder / "agent.py").write_text(KEYLESS)
    metric = write_counting_metric(folder)
    (folder / "environment_data.json").write_text('{"orders": [{"id": "A", "status": "half way"}]}')
    eval_id, config = scenario_set(path, "desk"), tmp_path / "c.json"
    document: Any = {
        "criteria": {"messages": 1.0},
        "custom_metrics": {"messages": {"code_config": {"name": metric}}},
        "user_simulator_config": {"model": "gemini-2.5-flash", "model_configuration": {}},
    }
    config.write_text(json.dumps(document))
    replies = (
        gemini(gemini_call("get_order", order_id="A")),
        gemini("It is half way."),
        gemini("Thanks. Where is B?"),
        gemini("I do not know."),
        gemini("</finished>"),
    )
    with loopback(*replies) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("GOOGLE_API_KEY", "dummy")
        words = [folder, path, "--config", config, "--unrecorded", "generate", "--json"]
        told = ends(0, "eval", *words)
        asked = json.dumps([each.body for each in server.asked])
    found = json.loads(told.out)
    (case,) = found["results"]["cases"]
    assert (case["eval_id"], found["real_tools"], found["passed"]) == (eval_id, False, 1)
    assert [turn["actual_text"] for turn in case["turns"]] == ["It is half way.", "I do not know."]
    assert '"status": "half way"' in asked
    assert "Thanks. Where is B?" in asked
