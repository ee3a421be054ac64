"""Proves that Strands' documented examples of simulated tools work here, in a plain runner: offline, and with a model."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import replace
from enum import StrEnum
from typing import Any

import jsonschema
import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from pydantic import BaseModel, Field

from simulator.environment.plugin_config import SimulatedEnvironmentConfig
from simulator.environment.world.shared_state import SharedState, StateRegistry
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


class OrderStatus(BaseModel):
    """An order's status."""

    order_id: str = Field(..., description="Order identifier")
    status: str = Field(..., description="Current order status")
    estimated_delivery: str = Field(..., description="Estimated delivery date")


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


# ---------------------------------------------------------------- the documented examples


@TWO_WAYS
def test_the_weather(way: str) -> None:
    """A tool with an output schema answers in a plain agent; the answer fits the schema."""
    simulator, oracle = simulator_of(way, {"temperature": 55.5, "conditions": "rain"})

    @simulator.tool(output_schema=WeatherResponse)
    def get_weather(city: str) -> dict[str, Any]:
        """Get current weather for a city."""
        pytest.fail("the body is never run")

    (seen,) = run(simulator, [call("get_weather", city="Seattle")])
    WeatherResponse.model_validate(seen)
    if way == "model":
        assert seen == {"temperature": 55.5, "conditions": "rain"}
        assert "Seattle" in oracle.prompts[-1]
        assert "Temperature in Fahrenheit" in oracle.prompts[-1]


@TWO_WAYS
def test_the_order_status(way: str) -> None:
    """The status of the order that was asked for."""
    simulator, _ = simulator_of(
        way, {"order_id": "12345", "status": "shipped", "estimated_delivery": "2031-05-06"}
    )

    @simulator.tool(output_schema=OrderStatus)
    def check_order(order_id: str) -> dict[str, Any]:  # type: ignore[empty-body] # it is never run
        """Check the current status of a customer order."""

    (seen,) = run(simulator, [call("check_order", order_id="12345")])
    assert OrderStatus.model_validate(seen).order_id == "12345"


def test_a_renamed_tool() -> None:
    """It is known, declared and called by its own name."""
    simulator, _ = simulator_of("offline")

    @simulator.tool(name="lookup_order", output_schema=OrderStatus)
    def check_order(order_id: str) -> dict[str, Any]:  # type: ignore[empty-body] # it is never run
        """Check the current status of a customer order."""

    assert simulator.list_tools() == ["lookup_order"]
    assert simulator.get_tool("check_order") is None
    tool = simulator.get_tool("lookup_order")
    assert tool is not None
    assert isinstance(tool, FunctionTool)
    declaration = tool._get_declaration()
    assert declaration is not None
    assert (declaration.name, declaration.description) == ("lookup_order", check_order.__doc__)
    (seen,) = run(simulator, [call("lookup_order", order_id="A-1")])
    assert seen["order_id"] == "A-1"


@TWO_WAYS
def test_a_room_with_a_shared_state(way: str) -> None:
    """The sensor knows what the controller did, and the beginning; the model is told of both, and the calls are kept."""
    set_to = {"temperature": 72.0, "mode": "heat", "status": "success"}
    simulator, oracle = simulator_of(way, set_to, {"temperature": 72.0, "humidity": 45.0})
    hvac(simulator)
    turns = [[call("hvac_controller", temperature=72.0, mode="heat")], [call("room_sensor")]]
    controlled, sensed = run(simulator, *turns)
    assert HVACResponse.model_validate(controlled).mode is HVACMode.HEAT
    assert controlled["temperature"] == 72
    assert sensed == {"temperature": 72, "humidity": 45}
    state = simulator.get_state("room_environment")
    assert state["initial_state"] == ROOM
    assert [each["tool_name"] for each in state["previous_calls"]] == ["hvac_controller", "room_sensor"]
    if way == "model":
        assert ROOM in oracle.prompts[-1]
        assert "hvac_controller" in oracle.prompts[-1]


@TWO_WAYS
def test_a_beginning_in_words(way: str) -> None:
    """The description is the state's beginning, before any call, and in every prompt."""
    simulator, oracle = simulator_of(way, {"username": "alice", "role": "admin"})
    users = "Database contains users: alice (admin), bob (viewer). No pending invitations."

    class UserLookupResponse(BaseModel):
        username: str
        role: str

    @simulator.tool(initial_state_description=users, output_schema=UserLookupResponse)
    def lookup_user(username: str) -> dict[str, Any]:  # type: ignore[empty-body] # it is never run
        """Look up a user in the system."""

    assert simulator.get_state("lookup_user") == SharedState(initial_state=users, previous_calls=[])
    (seen,) = run(simulator, [call("lookup_user", username="alice")])
    assert UserLookupResponse.model_validate(seen).username == "alice"
    if way == "model":
        assert users in oracle.prompts[-1]


def test_what_is_remembered_of_a_call() -> None:
    """Each record has the tool, the parameters, the response and the time."""
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


@pytest.mark.parametrize(
    ("size", "calls", "kept"),
    [(3, 5, 3), *(pytest.param(*row, marks=pytest.mark.long) for row in ((None, 21, 20), (50, 21, 21)))],
)
def test_the_size_of_what_is_remembered(size: int | None, calls: int, kept: int) -> None:
    """Twenty calls for each key by default, else as many as is said; the oldest make room."""
    simulator, _ = simulator_of("offline", max_tool_call_cache_size=size)
    hvac(simulator)
    run(simulator, [call("hvac_controller", temperature=float(n), mode="heat") for n in range(calls)])
    known = simulator.get_state("room_environment")["previous_calls"]
    assert [each["parameters"]["temperature"] for each in known] == [float(n) for n in range(calls)][-kept:]
    assert len(simulator.calls()) == calls


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


def test_without_a_schema_the_answer_is_one_text() -> None:
    """`DefaultToolResponse`, unless the function says what it returns; a JSON schema will do as well."""
    simulator, _ = simulator_of("offline")

    @simulator.tool()
    def my_tool(param: str) -> dict[str, Any]:  # type: ignore[empty-body] # it is never run
        """Tool description."""

    @simulator.tool()
    def typed(param: str) -> SensorResponse:  # type: ignore[empty-body] # as above
        """Read the sensor."""

    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}, "required": ["n"]}

    @simulator.tool(output_schema=schema)
    def counted(param: str) -> dict[str, Any]:  # type: ignore[empty-body] # as above
        """Count."""

    plain, sensed, number = run(
        simulator, [call("my_tool", param="x"), call("typed", param="x"), call("counted", param="x")]
    )
    assert set(plain) == {"response"}
    assert isinstance(plain["response"], str)
    SensorResponse.model_validate(sensed)
    jsonschema.validate(number, schema)


def test_a_second_beginning_warns_and_the_first_stays() -> None:
    """Only the first description of a shared state counts."""
    simulator, _ = simulator_of("offline")

    @simulator.tool(share_state_id="env", initial_state_description="Starting state")
    def tool_a() -> None:
        """Do one thing."""

    def tool_b() -> None:
        """Do another thing."""

    with pytest.warns(UserWarning, match="already been initialized") as caught:
        simulator.tool(share_state_id="env", initial_state_description="Different state")(tool_b)
    assert caught[0].filename == __file__
    assert simulator.get_state("env")["initial_state"] == "Starting state"


def test_names_lists_and_clearing() -> None:
    """An unknown name gives None; a name is taken once; cleared tools are gone, their states are not."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    assert simulator.list_tools() == ["hvac_controller", "room_sensor"]
    assert simulator.get_tool("my_tool") is None
    registered = simulator.registered("room_sensor")
    assert registered is not None
    assert registered.share_state_id == "room_environment"
    with pytest.raises(ValueError, match="already registered"):
        hvac(simulator)
    run(simulator, [call("room_sensor")])
    simulator.clear_tools()
    assert simulator.list_tools() == []
    assert len(simulator.get_state("room_environment")["previous_calls"]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the state has its beginning already, which is what the warning says
        hvac(simulator)
    assert simulator.list_tools() == ["hvac_controller", "room_sensor"]


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


@pytest.mark.parametrize(
    "said", ["no JSON at all", {"temperature": "warm"}, RuntimeError("the model is down"), ""]
)
def test_a_model_that_fails_leaves_the_offline_draft(said: Any) -> None:
    """Prose, another shape or an error never reach the agent: the draft stands, and the log says why."""
    oracle = Oracle(say=lambda _: said)
    simulator = ToolSimulator({"model_retries": 0}, model=oracle)

    @simulator.tool(output_schema=WeatherResponse)
    def get_weather(city: str) -> dict[str, Any]:  # type: ignore[empty-body] # it is never run
        """Get current weather for a city."""

    (seen,) = run(simulator, [call("get_weather", city="Rome")])
    WeatherResponse.model_validate(seen)
    assert "generated draft" in simulator.calls()[0].provenance.notes[0]


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


def test_in_a_session_of_the_studio_the_player_decides() -> None:
    """A person answers the tool there; "real" means its own environment."""
    simulator, _ = simulator_of("offline")
    hvac(simulator)
    with opened(
        agent_of([call("room_sensor")], tools=[simulator.get_tool("room_sensor")]), tools="real"
    ) as sim:
        assert sim.query("go", wait=PATIENCE)
        assert tool_facts(sim)[0].outcome.kind == "returned"
    with opened(agent_of([call("room_sensor")], tools=[simulator.get_tool("room_sensor")])) as sim:
        assert sim.query("go", wait=PATIENCE)
        assert [request.tool_name for request in sim.pending if request.kind == "tool"] == ["room_sensor"]


# ---------------------------------------------------------------- in a session that is played

HEAT_THEN_READ: list[Any] = [
    [call("hvac_controller", temperature=72.0, mode="heat")],
    [call("room_sensor")],
]


def all_tools(simulator: ToolSimulator) -> list[Any]:
    """Return all tools of a simulator."""
    return [simulator.get_tool(name) for name in simulator.list_tools()]


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
