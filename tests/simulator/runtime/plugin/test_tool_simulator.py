"""Proves what simulated tools do beyond Strands' documented examples, which `tests/conformance` proves: in a plain runner and in a session."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from enum import StrEnum
from typing import Any

import jsonschema
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from pydantic import BaseModel, Field

from simulator.environment.plugin_config import SimulatedEnvironmentConfig
from simulator.environment.world.shared_state import StateRegistry
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.errors import ContradictionError
from simulator.runtime.plugin import ToolSimulator, create_plugin
from tests.simulator.runtime.plugin.standing import BUSY, Oracle, Stage, responses, rule
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, opened, tool_facts


class WeatherResponse(BaseModel):
    """The weather."""

    temperature: float = Field(..., description="Temperature in Fahrenheit")
    conditions: str = Field(..., description="Weather conditions")


class HVACMode(StrEnum):
    """What the heating does."""

    HEAT = "heat"
    COOL = "cool"
    AUTO = "auto"
    OFF = "off"


class HVACResponse(BaseModel):
    """What the heating was set to."""

    temperature: float = Field(..., description="Target temperature in Fahrenheit")
    mode: HVACMode = Field(..., description="HVAC mode")
    status: str = Field(default="success", description="Operation status")


class SensorResponse(BaseModel):
    """What the sensor reads."""

    temperature: float = Field(..., description="Current temperature in Fahrenheit")
    humidity: float = Field(..., description="Current humidity percentage")


ROOM = "Room environment: temperature 68F, humidity 45%, HVAC off"
TWO_WAYS = pytest.mark.parametrize("way", ["offline", "model"])


def simulator_of(way: str, *answers: Any, **more: Any) -> tuple[ToolSimulator, Oracle]:
    """Make a simulator, with a model that gives these answers in turn or without one."""
    left = list(answers)
    connections: dict[str, Any] = {"uses": [], "produces": [], "roles": []}
    oracle = Oracle(say=lambda prompt: connections if '"produces"' in prompt else left.pop(0))
    return ToolSimulator(model=oracle if way == "model" else None, **more), oracle


def run(simulator: ToolSimulator, *turns: Any, session: str = "s") -> list[Any]:
    """Let a plain ADK agent with all tools of a simulator call them; return what it saw."""
    tools: list[Any] = [simulator.get_tool(name) for name in simulator.list_tools()]
    agent = agent_of(*turns, tools=tools)
    runner = InMemoryRunner(agent=agent, app_name="stage")
    stage = Stage(runner, create_plugin({}))  # of the plugin nothing is used: the runner has none
    return responses(asyncio.run(stage.turn(session)))


def hvac(simulator: ToolSimulator) -> None:
    """Register the two tools of a room."""

    @simulator.tool(
        share_state_id="room_environment", initial_state_description=ROOM, output_schema=HVACResponse
    )
    def hvac_controller(temperature: float, mode: str) -> dict[str, Any]:  # type: ignore[empty-body] # it is never run
        """Control heating/cooling system that affects room temperature and humidity."""

    @simulator.tool(share_state_id="room_environment", output_schema=SensorResponse)
    def room_sensor() -> dict[str, Any]:  # type: ignore[empty-body] # as above
        """Read current room temperature and humidity."""


# ---------------------------------------------------------------- in a plain runner


@pytest.mark.long
def test_a_body_is_never_run_and_the_model_is_told_what_its_fields_mean() -> None:
    """The answer is the model's; what the output schema says of each field stands in the prompt."""
    simulator, oracle = simulator_of("model", {"temperature": 55.5, "conditions": "rain"})

    @simulator.tool(output_schema=WeatherResponse)
    def get_weather(city: str) -> dict[str, Any]:
        """Get current weather for a city."""
        pytest.fail("the body is never run")

    assert run(simulator, [call("get_weather", city="Seattle")]) == [
        {"temperature": 55.5, "conditions": "rain"}
    ]
    assert "Temperature in Fahrenheit" in oracle.prompts[-1]


def test_what_is_remembered_and_logged_of_a_call() -> None:
    """Each record has the tool, the parameters, the response and the time; the log says who answered."""
    simulator, _ = simulator_of("offline", clock=lambda: 1234.5)
    hvac(simulator)
    (seen,) = run(simulator, [call("hvac_controller", temperature=65.0, mode="cool")])
    (record,) = simulator.get_state("room_environment")["previous_calls"]
    assert record == {
        "tool_name": "hvac_controller",
        "parameters": {"temperature": 65.0, "mode": "cool"},
        "response": seen,
        "timestamp": 1234.5,
    }
    (logged,) = simulator.calls("s")
    assert (logged.response, logged.provenance.by) == (seen, "offline")


def test_what_a_function_returns_or_a_json_schema_is_an_output_schema() -> None:
    """Both hold for the answers, as a class does."""
    simulator, _ = simulator_of("offline")

    @simulator.tool()
    def typed(param: str) -> SensorResponse:  # type: ignore[empty-body] # it is never run
        """Read the sensor."""

    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}, "required": ["n"]}

    @simulator.tool(output_schema=schema)
    def counted(param: str) -> dict[str, Any]:  # type: ignore[empty-body] # as above
        """Count."""

    sensed, number = run(simulator, [call("typed", param="x"), call("counted", param="x")])
    assert SensorResponse.model_validate(sensed)
    jsonschema.validate(number, schema)


def test_a_state_outlives_its_tools() -> None:
    """Tools that were cleared can be registered again, with a warning at that line that the state has its beginning already."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    run(simulator, [call("room_sensor")])
    simulator.clear_tools()
    assert len(simulator.get_state("room_environment")["previous_calls"]) == 1
    with pytest.warns(UserWarning, match="already been initialized") as caught:
        hvac(simulator)
    assert caught[0].filename == __file__
    assert simulator.list_tools() == ["hvac_controller", "room_sensor"]


def test_a_registry_of_ones_own() -> None:
    """All sessions remember there, to its own size; what is in it is known to the tools."""
    registry = StateRegistry(max_tool_call_cache_size=2)
    simulator, _ = simulator_of("offline", state_registry=registry)
    hvac(simulator)
    for session in ("one", "two", "three"):
        run(simulator, [call("hvac_controller", temperature=70.0, mode="heat")], session=session)
    assert len(registry.get_state("room_environment")["previous_calls"]) == 2
    assert simulator.get_state("room_environment") == registry.get_state("room_environment")
    registry.clear_state("room_environment")
    assert simulator.get_state("room_environment", "two")["previous_calls"] == []


def test_a_schema_that_is_none_is_refused() -> None:
    """It is named, and nothing is registered."""
    simulator, _ = simulator_of("offline")
    with pytest.raises(ValueError, match=r"schema.*nothing"):
        simulator.tool(output_schema={"type": "nothing"})(lambda: None)
    assert simulator.list_tools() == []


# ---------------------------------------------------------------- beyond them


def test_sessions_do_not_share_a_state() -> None:
    """Unless they are given one registry, each session begins anew."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    run(simulator, [call("hvac_controller", temperature=80.0, mode="heat")], session="one")
    (sensed,) = run(simulator, [call("room_sensor")], session="two")
    assert sensed == {"temperature": 68, "humidity": 45}


def test_rules_speak_for_simulated_tools_too() -> None:
    """The simulator takes rules, data and settings as a plugin does."""
    simulator = ToolSimulator(SimulatedEnvironmentConfig(rules=(rule("busy", "room_sensor"),)))
    hvac(simulator)
    assert run(simulator, [call("room_sensor")]) == [BUSY]


def test_a_plugin_leaves_simulated_tools_to_their_own_environment() -> None:
    """Unless it lists them, or has a rule for every tool."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    seen = []
    for rules in ((), (rule("all", "*"),)):
        agent = agent_of([call("room_sensor")], tools=[simulator.get_tool("room_sensor")])
        assert isinstance(agent, LlmAgent)
        plugin = create_plugin(SimulatedEnvironmentConfig(rules=rules))
        runner = InMemoryRunner(agent=agent, app_name="stage", plugins=[plugin])
        seen += responses(asyncio.run(Stage(runner, plugin).turn()))
    assert seen == [{"temperature": 68, "humidity": 45}, BUSY]


# ---------------------------------------------------------------- in a session that is played

HEAT_THEN_READ: list[Any] = [
    [call("hvac_controller", temperature=72.0, mode="heat")],
    [call("room_sensor")],
]


def all_tools(simulator: ToolSimulator) -> list[Any]:
    """Return all tools of a simulator."""
    return [simulator.get_tool(name) for name in simulator.list_tools()]


@pytest.mark.long
@TWO_WAYS
def test_in_a_played_session_real_is_its_own_environment(way: str) -> None:
    """The output schema and the shared state hold as in a plain runner, and the turn goes on to its end."""
    set_to = {"temperature": 72.0, "mode": "heat", "status": "success"}
    simulator, oracle = simulator_of(way, set_to, {"temperature": 72.0, "humidity": 45.0})
    hvac(simulator)
    with opened(agent_of(*HEAT_THEN_READ, tools=all_tools(simulator)), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        controlled, sensed = (fact.outcome for fact in tool_facts(sim))
        assert sim.session.turns[-1].error is None
    assert controlled.kind == sensed.kind == "returned"
    HVACResponse.model_validate(controlled.value)
    assert sensed.value == {"temperature": 72, "humidity": 45}
    state = simulator.get_state("room_environment")
    assert [each["tool_name"] for each in state["previous_calls"]] == ["hvac_controller", "room_sensor"]
    if way == "model":
        assert ROOM in oracle.prompts[-1]
        assert "hvac_controller" in oracle.prompts[-1]


def test_in_a_played_session_its_state_is_that_of_the_journal() -> None:
    """After an undo and in another process the environment knows the calls that the journal holds, and no others."""

    def made() -> tuple[ToolSimulator, Any]:
        simulator, _ = simulator_of("offline")
        hvac(simulator)
        return simulator, agent_of(*HEAT_THEN_READ, tools=all_tools(simulator))

    _, agent = made()
    with opened(agent) as sim:
        assert sim.query("go", wait=PATIENCE)
        assert sim.answer(
            sim.pending[0], {"temperature": 60.0, "mode": "cool", "status": "success"}, wait=PATIENCE
        )
        assert sim.undo(wait=PATIENCE)
        assert sim.answer(
            sim.pending[0], {"temperature": 80.0, "mode": "heat", "status": "success"}, wait=PATIENCE
        )
        journal = Journal.from_json(sim.journal.to_json())
        assert sim.run_real(sim.pending[0], wait=PATIENCE)
        assert tool_facts(sim)[-1].outcome.value == {"temperature": 80, "humidity": 45}  # type: ignore[union-attr] # it returned
    simulator, again = made()
    with Simulation.resume(journal, replace(sim.config, agent=again), wait=PATIENCE) as resumed:
        assert resumed.run_real(resumed.pending[0], wait=PATIENCE)
        assert tool_facts(resumed)[-1].outcome.value == {"temperature": 80, "humidity": 45}  # type: ignore[union-attr] # as above
    assert len(simulator.get_state("room_environment")["previous_calls"]) == 2


def test_in_a_played_session_rules_of_its_own_speak_and_count() -> None:
    """An exception of its own rule is the tool's; the second call gets it, as in a plain runner."""
    second = rule("second", "room_sensor", when={"kind": "call_number", "which": "nth", "n": 2})
    simulator = ToolSimulator(SimulatedEnvironmentConfig(rules=(second,)))
    hvac(simulator)
    turns = [[call("room_sensor")], [call("room_sensor")], [call("room_sensor")]]
    with opened(agent_of(*turns, tools=all_tools(simulator)), tools="real") as sim:
        assert sim.query("go", wait=PATIENCE)
        seen = [fact.outcome.value for fact in tool_facts(sim) if fact.outcome.kind == "returned"]
    assert seen == [{"temperature": 68, "humidity": 45}, BUSY, {"temperature": 68, "humidity": 45}]


@pytest.mark.parametrize("player", ["person", "offline"])
def test_in_a_played_session_others_answer_by_its_schema_and_state(player: str) -> None:
    """A person's drafts and the generator's answers hold the output schema, and know of the shared state."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    with opened(agent_of(*HEAT_THEN_READ, tools=all_tools(simulator)), tools=player) as sim:
        assert sim.query("go", wait=PATIENCE)
        while sim.pending:
            request: Any = sim.pending[0]
            assert sim.answer(request, request.draft, wait=PATIENCE)
        controlled, sensed = (fact.outcome for fact in tool_facts(sim))
        assert controlled.kind == sensed.kind == "returned"
        HVACResponse.model_validate(controlled.value)
        assert sensed.value == {"temperature": 72, "humidity": 45}


def test_in_a_played_session_an_answer_that_breaks_its_schema_is_held() -> None:
    """As where a person has set the schema on the page."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    with opened(agent_of([call("room_sensor")], tools=all_tools(simulator))) as sim:
        assert sim.query("go", wait=PATIENCE)
        with pytest.raises(ContradictionError, match="humidity"):
            sim.answer(sim.pending[0], {"temperature": 70}, wait=PATIENCE)
