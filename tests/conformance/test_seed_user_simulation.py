"""Guards what the guide "User simulation" says: scenarios, their files, how they end, and the configuration of the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_set import EvalSet

import evalset
from evalset import EvalSetWriter, GoldenTraceBuilder
from evalset.cli.simulator_program import main
from evalset.eval_config.config_checks import check
from simulator import SessionState
from simulator.base.json_values import JsonObject
from tests.harness.talking_agent import write_talking_agent
from tests.simulator.runtime.speaking import desk, said, seat, speaker, status
from tests.simulator.runtime.stage import PATIENCE

ROLL: JsonObject = {
    "starting_prompt": "What can you do for me?",
    "conversation_plan": "Ask the agent to roll a 20-sided die. After you get the result, ask the agent to check if it is prime.",
}
GAME: JsonObject = {
    "starting_prompt": "Hi, I'm running a tabletop RPG in which prime numbers are bad!",
    "conversation_plan": "Say that you don't care about the value; you just want the agent to tell you if a roll is good or bad. Once the agent agrees, ask it to roll a 6-sided die. Finally, ask the agent to do the same with 2 20-sided dice.",
}
SCENARIOS = json.dumps({"scenarios": [ROLL, GAME]})
SESSION_INPUT: Any = {"app_name": "hello_world", "user_id": "user"}
EVAL_CONFIG: JsonObject = {
    "criteria": {
        "hallucinations_v1": {"threshold": 0.5, "evaluate_intermediate_nl_responses": True},
        "safety_v1": {"threshold": 0.8},
    },
    "user_simulator_config": {
        "model": "gemini-2.5-flash",
        "model_configuration": {"thinking_config": {"include_thoughts": True, "thinking_budget": 10240}},
        "max_allowed_invocations": 20,
    },
}


def test_a_scenario_file_is_read() -> None:
    """One scenario alone, and a file of two, as the guide writes them."""
    assert evalset.read_scenarios(json.dumps(ROLL)) == (ROLL,)
    assert evalset.read_scenarios(SCENARIOS) == (ROLL, GAME)
    assert evalset.read_scenarios(evalset.scenarios_text([ROLL, GAME])) == (ROLL, GAME)


def test_scenarios_are_added_to_a_new_or_an_existing_set(tmp_path: Path) -> None:
    """As `adk eval_set add_eval_case` does: a case for each, with the session input; ADK's model reads the file."""
    path = tmp_path / "eval_set_with_scenarios.evalset.json"
    writer = EvalSetWriter(path, "hello_world")
    for scenario in evalset.read_scenarios(SCENARIOS):
        case = evalset.scenario_case(scenario, **SESSION_INPUT, at=1.0)
        assert evalset.add_scenario(writer, case).written is not None
        assert evalset.add_scenario(writer, case).written is None
    cases = EvalSet.model_validate_json(path.read_text()).eval_cases
    plans = [case.conversation_scenario and case.conversation_scenario.conversation_plan for case in cases]
    assert plans == [ROLL["conversation_plan"], GAME["conversation_plan"]]
    assert all(case.session_input and case.session_input.app_name == "hello_world" for case in cases)


def test_the_eval_config_has_no_flaw() -> None:
    """The guide's criteria and its configuration of the user simulator are as ADK wants them."""
    assert [flaw for flaw in check(EVAL_CONFIG) if flaw.severity == "error"] == []


def test_the_conversation_follows_the_plan() -> None:
    """The starting prompt is fixed; a model makes the other messages from the plan and the conversation, until it is complete."""
    model = speaker("Roll a 20-sided die.", "Is it prime?")
    config: Any = EVAL_CONFIG["user_simulator_config"]
    with desk() as simulation:
        seat(simulation, model, scenario=ROLL, config=config, hold=False)
        assert said(simulation) == ["What can you do for me?", "Roll a 20-sided die.", "Is it prime?"]
        assert status(simulation) == "stop_signal_detected"
        assert simulation.session.state is SessionState.COMPLETED
        asked: Any = model.asked[0]
    assert "Ask the agent to roll a 20-sided die." in json.dumps(asked)
    assert asked["config"]["thinking_config"] == {"include_thoughts": True, "thinking_budget": 10240}


@pytest.mark.parametrize("limit", [1, 3])
def test_the_conversation_is_terminated_at_the_limit(limit: int) -> None:
    """`max_allowed_invocations` counts every interaction, the first too."""
    with desk() as simulation:
        config = {"max_allowed_invocations": limit}
        seat(simulation, speaker(*"abcdef"), scenario=ROLL, config=config, hold=False)
        assert len(said(simulation)) == limit
        assert status(simulation) == "turn_limit_reached"


def test_a_message_with_the_stop_signal_ends_as_in_adk() -> None:
    """ADK drops the whole message: the conversation ends with the agent's answer before it."""
    model = speaker("Roll a 20-sided die.", "Thanks! Bye!</finished>", "never said")
    with desk() as simulation:
        seat(simulation, model, scenario=ROLL, hold=False)
        assert said(simulation) == ["What can you do for me?", "Roll a 20-sided die."]
        assert status(simulation) == "stop_signal_detected"
    assert len(model.asked) == 2


def test_a_played_scenario_becomes_a_golden() -> None:
    """Its turns are those of a conversation: `adk eval` needs no user for it."""
    with desk() as simulation:
        seat(simulation, speaker("Roll a 20-sided die."), scenario=ROLL, hold=False)
        case = GoldenTraceBuilder(simulation.session).build()
    assert [
        turn.user_content.parts[0].text for turn in case.conversation or () if turn.user_content.parts
    ] == [
        "What can you do for me?",
        "Roll a 20-sided die.",
    ]
    assert case.conversation_scenario is None


def test_a_scenario_is_run_from_the_command_line(tmp_path: Path) -> None:
    """`run AGENT --scenario FILE --case ID` plays it and writes the golden; `--config` is the guide's `EvalConfig`."""
    folder = write_talking_agent(tmp_path / "agents")
    scenarios, config = tmp_path / "conversation_scenarios.json", tmp_path / "eval_config.json"
    scenarios.write_text(SCENARIOS)
    config.write_text(json.dumps({"user_simulator_config": {"model": "talker-1", "model_configuration": {}}}))
    out = tmp_path / "out.evalset.json"
    chosen = evalset.scenario_case(GAME, **SESSION_INPUT, at=1.0).eval_id
    words = [folder, "--scenario", scenarios, "--case", chosen, "--config", config, "--out", out]
    try:
        code = main(["run", "--verbose", *map(str, words)])
    except SystemExit as error:
        pytest.fail(f"the command ended with {error.code}")
    assert code == 0
    (case,) = EvalSet.model_validate_json(out.read_text()).eval_cases
    messages = [
        turn.user_content.parts[0].text for turn in case.conversation or () if turn.user_content.parts
    ]
    assert messages == [GAME["starting_prompt"], "Message number 2.", "Message number 3."]


def test_a_person_holds_and_takes_over() -> None:
    """What the guide leaves to the model alone, a person may see before it is said, and change."""
    with desk() as simulation:
        seat(simulation, speaker("Roll a 20-sided die."), scenario=ROLL)
        assert simulation.accept(wait=PATIENCE)
        assert simulation.accept("Roll a 6-sided die.", wait=PATIENCE)
        assert said(simulation) == ["What can you do for me?", "Roll a 6-sided die."]
