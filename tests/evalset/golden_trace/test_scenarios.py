"""Scenario files and scenario cases are those of ADK: its own commands read them, and make the same of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import evalset
from simulator import Simulation
from simulator.agents import find_agents
from simulator.base.json_values import JsonObject
from tests.evalset.files.examples import AGENT, a_case
from tests.evalset.sessions import PATIENCE
from tests.evalset.there import there
from tests.harness.adk_process import ADK, run_adk_eval
from tests.harness.processes import quiet_environment
from tests.harness.talking_agent import write_counting_metric, write_talking_agent

SCENARIO: JsonObject = {
    "starting_prompt": "Hello there.",
    "conversation_plan": "Talk until you have had three answers.",
    "user_persona": "EXPERT",
}
CAMEL = {"startingPrompt": "Hi", "conversationPlan": "Talk."}


def case_of(scenario: JsonObject, **more: Any) -> Any:
    """Make the case of a scenario."""
    return evalset.scenario_case(scenario, app_name="talking", user_id="user", at=1.0, **more)


def test_a_scenario_file_is_read_in_either_spelling_and_written_in_snake_case() -> None:
    """What was written reads back as it was; one scenario alone counts as a file of one."""
    text = evalset.scenarios_text([SCENARIO])
    assert evalset.read_scenarios(text) == (SCENARIO,)
    (camel,) = evalset.read_scenarios("\ufeff" + json.dumps(CAMEL))
    assert camel == {"starting_prompt": "Hi", "conversation_plan": "Talk."}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", 'list "scenarios"'),
        ('{"scenarios": []}', "has no scenarios"),
        ('{"scenarios": [1]}', "scenario 1 "),
        (json.dumps({"scenarios": [SCENARIO, {"starting_prompt": "x"}]}), "scenario 2: .*onversation"),
        (json.dumps({**SCENARIO, "user_persona": "KING"}), "no persona 'KING'"),
    ],
)
def test_a_file_that_is_none_says_where(text: str, words: str) -> None:
    """The number of the scenario and the field."""
    with pytest.raises(evalset.ScenarioError, match=words):
        evalset.read_scenarios(text)


def test_a_scenario_is_added_once_with_its_session_input(tmp_path: Path) -> None:
    """ADK's own loader reads it back equal; adding it again changes nothing."""
    path = tmp_path / "talk.evalset.json"
    writer = evalset.EvalSetWriter(path, "talking")
    case = case_of(SCENARIO, state={"tier": "gold"})
    added = evalset.add_scenario(writer, case)
    assert there(added.written).created
    evalset.read_back(path, case)
    before = path.read_bytes()
    assert evalset.add_scenario(writer, case) == (added.eval_id, None)
    assert path.read_bytes() == before


def test_what_the_user_said_is_read_from_an_eval_set() -> None:
    """Of each case its messages in order; answers to calls and cases of scenarios are left out."""
    document = json.loads(evalset.case_document(AGENT, a_case("both", turns=2), at=1.0))
    reply = {"role": "user", "parts": [{"function_response": {"id": "1", "name": "x", "response": {}}}]}
    document["eval_cases"][0]["conversation"][1]["user_content"] = reply
    document["eval_cases"].append(json.loads(evalset.case_json(case_of(SCENARIO))))
    turns = evalset.user_turns(json.dumps(document))
    assert list(turns) == ["both"]
    assert [message["role"] for message in turns["both"]] == ["user"]
    for text in ("{", json.dumps({**document, "eval_cases": document["eval_cases"][1:]})):
        with pytest.raises(evalset.ScenarioError):
            evalset.user_turns(text)


@pytest.mark.long
@pytest.mark.process
def test_adks_command_makes_the_same_case_of_the_same_file(tmp_path: Path) -> None:
    """`adk eval_set add_eval_case` reads our scenario file, and skips what we have added: its id is the same."""
    folder = write_talking_agent(tmp_path)
    path = folder / "talk.evalset.json"
    added = evalset.add_scenario(evalset.EvalSetWriter(path, "talking"), case_of(SCENARIO))
    scenarios, session = tmp_path / "scenarios.json", tmp_path / "session.json"
    other: JsonObject = {**SCENARIO, "starting_prompt": "Another one."}
    scenarios.write_text(evalset.scenarios_text([SCENARIO, other]))
    session.write_text('{"app_name": "talking", "user_id": "user"}')
    command: list[str | Path] = [ADK, "eval_set", "add_eval_case", folder, "talk"]
    done = subprocess.run(
        [*command, "--scenarios_file", scenarios, "--session_input_file", session],
        env=quiet_environment(),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"Eval case '{added.eval_id}' already exists" in done.stdout
    cases = {case["eval_id"]: case for case in json.loads(path.read_text())["eval_cases"]}
    assert set(cases) == {added.eval_id, case_of(other).eval_id}
    ours, theirs = (cases[case_of(each).eval_id] for each in (SCENARIO, other))
    for field in ("session_input", "conversation_scenario"):
        assert ours[field].keys() <= theirs[field].keys()


@pytest.mark.long
@pytest.mark.process
def test_adk_eval_plays_a_scenario_case(tmp_path: Path) -> None:
    """The real program plays the conversation by the plan, with the persona's instructions."""
    folder = write_talking_agent(tmp_path / "agents")
    path = tmp_path / "talk.evalset.json"
    added = evalset.add_scenario(evalset.EvalSetWriter(path, "talking"), case_of(SCENARIO))
    metric = write_counting_metric(folder)
    outcome = run_adk_eval(
        folder,
        path,
        criteria={"messages": 1.0},
        config={
            "custom_metrics": {"messages": {"code_config": {"name": metric}}},
            "user_simulator_config": {"model": "talker-1", "model_configuration": {}},
        },
    )
    scores = {case.eval_id: case.scores["messages"] for case in outcome.cases}
    assert scores == {added.eval_id: 3.0}, outcome.output[:6000]


@pytest.mark.long
@pytest.mark.process
def test_a_frozen_scenario_passes_adk_eval_without_its_user(tmp_path: Path) -> None:
    """Played by itself to the model's stop signal, whoever the user is like; then `adk eval` gives the same words again."""
    folder = write_talking_agent(tmp_path / "agents")
    (entry,) = find_agents(folder.parent, demos=False)
    assert entry.config, entry.error
    path = tmp_path / "talk.evalset.json"
    for persona in ("EXPERT", "NOVICE", "EVALUATOR"):
        with Simulation.open(entry.config) as simulation:
            scenario = {**SCENARIO, "user_persona": persona}
            assert simulation.set_user(
                "scenario", scenario=scenario, config={"model": "talker-1"}, hold=False, wait=PATIENCE
            )
            assert there(simulation.view().user.seat.proposed).status == "stop_signal_detected"
            case = evalset.GoldenTraceBuilder(simulation.session, eval_id=persona).build()
        assert len(case.conversation or ()) == 3
        evalset.EvalSetWriter(path, "talking").write_eval_case(case)
    outcome = run_adk_eval(folder, path, criteria={"response_match_score": 1.0})
    scores = {each.eval_id: each.scores["response_match_score"] for each in outcome.cases}
    assert scores == {"EXPERT": 1.0, "NOVICE": 1.0, "EVALUATOR": 1.0}, outcome.output[-3000:]
