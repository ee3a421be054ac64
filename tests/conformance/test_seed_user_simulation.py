"""Guards what the guide "User simulation" says: scenarios, their files, how they end, and the configuration of the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_config import get_evaluation_criteria_or_default
from google.adk.evaluation.eval_set import EvalSet

import evalset
from evalset import GoldenTraceBuilder
from evalset.cli.main import main as golden_trace
from evalset.eval_config.config_checks import check
from simulator import SessionState, SimulationError
from simulator.base.json_values import JsonObject
from simulator.runtime.adk.user_simulator import read_config
from tests.simulator.runtime.speaking import desk, said, seat, speaker, status
from tests.simulator.runtime.stage import say

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


@pytest.mark.parametrize("field", ["starting_prompt", "conversation_plan"])
def test_a_scenario_has_a_prompt_and_a_plan(field: str) -> None:
    """Both are texts, and both are required; the one that is missing or wrong is named."""
    for wrong in ({name: text for name, text in ROLL.items() if name != field}, {**ROLL, field: 5}):
        with pytest.raises(evalset.ScenarioError, match=field):
            evalset.read_scenarios(json.dumps({"scenarios": [GAME, wrong]}))


def test_the_guides_files_become_a_set_by_command(tmp_path: Path) -> None:
    """`import` takes the file of scenarios and the session input; the set is made, and others are added to it later."""
    scenarios, given = tmp_path / "conversation_scenarios.json", tmp_path / "session_input.json"
    out = tmp_path / "eval_set_with_scenarios.evalset.json"
    given.write_text(json.dumps(SESSION_INPUT))
    words = ["import", str(scenarios), "--session-input", str(given), "--out", str(out)]
    for each in (ROLL, GAME):
        scenarios.write_text(json.dumps({"scenarios": [each]}))
        assert golden_trace([*words]) == 0
    written = EvalSet.model_validate_json(out.read_text())
    assert written.eval_set_id == "eval_set_with_scenarios"
    prompts = [
        case.conversation_scenario and case.conversation_scenario.starting_prompt
        for case in written.eval_cases
    ]
    assert prompts == [ROLL["starting_prompt"], GAME["starting_prompt"]]
    for case in written.eval_cases:
        assert case.conversation is None
        assert case.session_input is not None
        assert (case.session_input.app_name, case.session_input.user_id) == ("hello_world", "user")


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("criteria.hallucinations_v1.threshold", {"hallucinations_v1": {"threshold": "high"}}),
        (
            "criteria.hallucinations_v1.evaluate_intermediate_nl_responses",
            {"hallucinations_v1": {"threshold": 0.5, "evaluate_intermediate_nl_responses": "often"}},
        ),
        ("criteria.safety_v1.threshold", {"safety_v1": {"threshold": []}}),
    ],
)
def test_the_criteria_of_the_guide_are_checked(place: str, wrong: JsonObject) -> None:
    """Each field that the guide sets has its type; a wrong one is named with its place."""
    flaws = check({**EVAL_CONFIG, "criteria": wrong})
    assert place in {flaw.place for flaw in flaws if flaw.severity == "error"}


def test_adks_metrics_by_default_need_an_expected_response() -> None:
    """They are none of the guide's, and need what a scenario lacks; a conversation that was played has it in each turn."""
    expecting = set(get_evaluation_criteria_or_default(None).criteria)
    criteria: Any = EVAL_CONFIG["criteria"]
    assert expecting == {"tool_trajectory_avg_score", "response_match_score"}
    assert not expecting & set(criteria)
    with desk() as simulation:
        seat(simulation, speaker("Roll a 20-sided die."), scenario=ROLL, hold=False)
        case = GoldenTraceBuilder(simulation.session).build()
    assert [turn.final_response is not None for turn in case.conversation or ()] == [True, True]


def test_the_default_configuration() -> None:
    """Without one, ADK's holds: the model, its thinking, and twenty interactions."""
    default = read_config({})
    assert default.model == "gemini-2.5-flash"
    assert default.max_allowed_invocations == 20
    thinking = default.model_configuration.thinking_config
    assert thinking is not None
    assert (thinking.include_thoughts, thinking.thinking_budget) == (True, 10240)
    given: Any = EVAL_CONFIG["user_simulator_config"]
    assert read_config(given) == default


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("model", 5), ("model_configuration", {"thinking_config": 5}), ("max_allowed_invocations", "many")],
)
def test_a_field_of_the_configuration_has_its_type(field: str, wrong: Any) -> None:
    """What ADK would not take is refused with its place."""
    with pytest.raises(SimulationError, match=field):
        read_config({field: wrong})


def test_a_message_follows_what_the_agent_said() -> None:
    """Each time the model is given the plan and the whole conversation so far, so it can answer one question at a time or two at once."""
    model = speaker("Twelve.", "And a roll of 20.")
    agent = (["First value?"], ["Second value?"], ["Both noted."])
    with desk(*([say(text) for text in turn] for turn in agent)) as simulation:
        seat(simulation, model, scenario=ROLL, hold=False)
        asked: list[Any] = [*model.asked]
        prompts = [json.dumps(each["contents"]) for each in asked]
    assert all("check if it is prime" in prompt for prompt in prompts)
    assert ["Second value?" in prompt for prompt in prompts] == [False, True, True]
    assert ["Twelve." in prompt for prompt in prompts] == [False, True, True]


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
