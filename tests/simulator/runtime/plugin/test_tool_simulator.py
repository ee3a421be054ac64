"""Proves what simulated tools do beyond Strands' documented examples, which `tests/conformance` proves; and that in a played session its seats decide, whatever environment an agent brings along."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from google.adk.tools.agent_tool import AgentTool

from simulator.environment.plugin_config import SimulatedEnvironmentConfig
from simulator.environment.world.tool_settings import StateRegistry
from simulator.facts import Returned
from simulator.journal import Journal
from simulator.runtime import Simulation
from simulator.runtime.errors import ContradictionError
from simulator.runtime.plugin import ToolSimulator, create_callback, create_plugin
from tests.conformance.test_seed_strands_tool_simulation import HVACResponse, SensorResponse, answers, room
from tests.simulator.runtime.answering.going import going
from tests.simulator.runtime.plugin.order_tools import find_order
from tests.simulator.runtime.plugin.standing import BUSY, FIND, Stage, config, responses, rule, runner_of
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, say, tool_facts, tool_requests


def run(simulator: ToolSimulator, *turns: Any, session: str = "s") -> list[Any]:
    """Let a plain ADK agent with all tools of a simulator call them; return what it saw."""
    tools: list[Any] = [simulator.get_tool(name) for name in simulator.list_tools()]
    stage = Stage(
        runner_of(agent_of(*turns, tools=tools)), create_plugin({})
    )  # of the plugin nothing is used: the runner has none
    return responses(asyncio.run(stage.turn(session)))


# ---------------------------------------------------------------- in a plain runner


def test_what_is_remembered_and_logged_of_a_call() -> None:
    """Each record has the tool, the parameters, the response and the time; the log says who answered."""
    simulator = ToolSimulator(clock=lambda: 1234.5)
    room(simulator)
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
    simulator = ToolSimulator()

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
    simulator = ToolSimulator()
    room(simulator)
    run(simulator, [call("room_sensor")])
    simulator.clear_tools()
    assert len(simulator.get_state("room_environment")["previous_calls"]) == 1
    with pytest.warns(UserWarning, match="already been initialized") as caught:
        room(simulator)
    assert caught[0].filename == room.__code__.co_filename
    assert simulator.list_tools() == ["hvac_controller", "room_sensor"]


def test_a_schema_that_is_none_is_refused() -> None:
    """It is named, and nothing is registered."""
    simulator = ToolSimulator()
    with pytest.raises(ValueError, match=r"schema.*nothing"):
        simulator.tool(output_schema={"type": "nothing"})(lambda: None)
    assert simulator.list_tools() == []


# ---------------------------------------------------------------- beyond them


@pytest.mark.long
@pytest.mark.parametrize(
    ("registry", "temperature"), [(None, 68), (StateRegistry(max_tool_call_cache_size=2), 80)]
)
def test_sessions_share_a_state_in_a_registry_of_ones_own_only(
    registry: StateRegistry | None, temperature: int
) -> None:
    """Without one each session begins anew."""
    simulator = ToolSimulator(state_registry=registry)
    room(simulator)
    for session in ("one", "two"):
        run(simulator, [call("hvac_controller", temperature=80.0, mode="heat")], session=session)
    (sensed,) = run(simulator, [call("room_sensor")], session="three")
    assert sensed == {"temperature": temperature, "humidity": 45}
    if registry is not None:
        assert len(registry.get_state("room_environment")["previous_calls"]) == 2
        registry.clear_state("room_environment")
        assert simulator.get_state("room_environment", "two")["previous_calls"] == []


def test_a_plugin_leaves_simulated_tools_to_their_own_environment() -> None:
    """Unless it lists them, or has a rule for every tool."""
    simulator = ToolSimulator()
    room(simulator)
    seen = []
    for rules in ((), (rule("all", "*"),)):
        agent = agent_of([call("room_sensor")], tools=[simulator.get_tool("room_sensor")])
        plugin = create_plugin(SimulatedEnvironmentConfig(rules=rules))
        seen += responses(asyncio.run(Stage(runner_of(agent, plugin), plugin).turn()))
    assert seen == [{"temperature": 68, "humidity": 45}, BUSY]


# ---------------------------------------------------------------- in a session that is played

HEAT = [call("hvac_controller", temperature=72.0, mode="heat")]
READ = [call("room_sensor")]


@pytest.mark.parametrize(
    "player", ["person", "offline", "real", pytest.param("model", marks=pytest.mark.long)]
)
def test_in_a_played_session_its_schema_and_state_hold_whoever_answers(player: str) -> None:
    """For a person's drafts, the generator, and its own environment where the tool is real, with a model too; the turn goes on to its end."""
    set_to = {"temperature": 72.0, "mode": "heat", "status": "success"}
    oracle = answers(set_to, {"temperature": 72.0, "humidity": 45.0})
    simulator = ToolSimulator(model=oracle if player == "model" else None)
    agent = agent_of(HEAT, READ, tools=room(simulator))
    with going(agent, tools="real" if player == "model" else player) as sim:
        while sim.pending:
            request: Any = sim.pending[0]
            assert sim.answer(request, request.draft, wait=PATIENCE)
        controlled, sensed = (fact.outcome for fact in tool_facts(sim))
        assert sim.session.turns[-1].error is None
    assert controlled.kind == sensed.kind == "returned"
    HVACResponse.model_validate(controlled.value)
    assert sensed.value == {"temperature": 72, "humidity": 45}
    if player in {"real", "model"}:
        state = simulator.get_state("room_environment")
        assert [each["tool_name"] for each in state["previous_calls"]] == ["hvac_controller", "room_sensor"]
        assert [
            word for word in ("humidity 45%", "hvac_controller") if word in "".join(oracle.prompts[-1:])
        ] == (["humidity 45%", "hvac_controller"] if player == "model" else [])


@pytest.mark.long
def test_in_a_played_session_its_state_is_that_of_the_journal() -> None:
    """After an undo and in another process the environment knows the calls that the journal holds, and no others."""
    hot = {"temperature": 80.0, "mode": "heat", "status": "success"}
    with going(agent_of(HEAT, READ, tools=room(ToolSimulator()))) as sim:
        assert sim.answer(sim.pending[0], {**hot, "temperature": 60.0}, wait=PATIENCE)
        assert sim.undo(wait=PATIENCE)
        assert sim.answer(sim.pending[0], hot, wait=PATIENCE)
        journal = Journal.from_json(sim.journal.to_json())
        assert sim.run_real(sim.pending[0], wait=PATIENCE)
        simulator = ToolSimulator()
        config = replace(sim.config, agent=agent_of(HEAT, READ, tools=room(simulator)))
        with Simulation.resume(journal, config, wait=PATIENCE) as resumed:
            assert resumed.run_real(resumed.pending[0], wait=PATIENCE)
            for each in (sim, resumed):
                assert tool_facts(each)[-1].outcome == Returned(value={"temperature": 80, "humidity": 45})
    assert len(simulator.get_state("room_environment")["previous_calls"]) == 2


def test_in_a_played_session_rules_of_its_own_speak_and_count() -> None:
    """The simulator takes rules, data and settings as a plugin does: the second call gets its error, as in a plain runner."""
    second = rule("second", "room_sensor", when={"kind": "call_number", "which": "nth", "n": 2})
    sensed = {"temperature": 68, "humidity": 45}
    simulator = ToolSimulator(SimulatedEnvironmentConfig(rules=(second,)))
    tools = room(simulator)
    assert run(simulator, READ, READ, READ) == [sensed, BUSY, sensed]
    with going(agent_of(READ, READ, READ, tools=tools), tools="real") as sim:
        outcomes = [fact.outcome for fact in tool_facts(sim)]
    assert outcomes == [Returned(value=value) for value in (sensed, BUSY, sensed)]


def test_in_a_played_session_an_answer_that_breaks_its_schema_is_held() -> None:
    """As where a person has set the schema on the page."""
    with (
        going(agent_of(READ, tools=room(ToolSimulator()))) as sim,
        pytest.raises(ContradictionError, match="humidity"),
    ):
        sim.answer(sim.pending[0], {"temperature": 70}, wait=PATIENCE)


@pytest.mark.parametrize(("player", "heard"), [("person", 0), ("real", 1)])
def test_the_seat_decides_before_the_agents_own_environment(player: str, heard: int) -> None:
    """A person is asked, as in any session; played by "real", the tool is what the agent makes of it: its own environment answers."""
    callback = create_callback(config(rule("busy")))
    with going(agent_of(FIND, tools=[find_order], before_tool_callback=callback), tools=player) as sim:
        for request in sim.pending:
            assert sim.answer(request, {"by": "person"}, wait=PATIENCE)
        (fact,) = tool_facts(sim)
    assert fact.outcome == Returned(value=BUSY if heard else {"by": "person"})
    assert len(callback.calls()) == heard


def test_agent_tools_are_the_seats_too() -> None:
    """An inner agent's tool waits for the person, though its agent's environment covers it."""
    helper = agent_of(FIND, [say("found")], tools=[find_order], name="helper")
    callback = create_callback(config(rule("busy")))
    agent = agent_of([call("helper", request="?")], tools=[AgentTool(helper)], before_tool_callback=callback)
    with going(agent) as sim:
        (request,) = sim.pending
        assert (request.agent, callback.calls()) == ("helper", ())


# ---------------------------------------------------------------- without a body, in a session that is played


def test_a_function_without_a_body_never_runs_in_a_played_session() -> None:
    """Where "real" plays it, a person is asked, and the draft is there; run by command, it says that there is nothing."""

    def pay(order_id: str) -> dict[str, Any]:  # type: ignore[empty-body] # that is the point
        """Pay an order."""

    turn = [call("pay", order_id="A-1")]
    with going(agent_of(turn, tools=[pay]), tools="real") as sim:
        (request,) = tool_requests(sim)
        assert "pay has no code" in request.failure
        assert sim.answer(request, request.draft, wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.provenance.source == "generated"
    with going(agent_of(turn, tools=[pay])) as sim:
        sim.run_real(sim.pending[0], wait=PATIENCE)
        (fact,) = tool_facts(sim)
        assert fact.outcome.kind == "raised"
        assert "only declared" in fact.outcome.error.message
