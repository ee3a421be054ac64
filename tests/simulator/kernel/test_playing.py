"""A session that a kernel plays is the same as one that is played here: facts, requests, drafts, views and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import Journal, Simulation, earlier_data
from simulator.agents.agent_folder import AgentFolder
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import ErrorEffect, InjectionRule
from simulator.kernel.kernel_agent import KernelAgentConfig
from simulator.kernel.remote_simulation import RemoteSimulation
from simulator.runtime.errors import ContradictionError, SimulationError
from simulator.seats.answers import called, failed, said
from simulator.seats.requests import ModelRequest, ToolRequest
from tests.simulator.kernel.projects import PATIENCE, PERSON, begun, config_of, project

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of an agent."""
    return project(tmp_path_factory.mktemp("agents"), name="kernel_desk")


@pytest.fixture(scope="module")
def config(home: Path) -> Iterator[KernelAgentConfig]:
    """The agent, in a kernel that all tests here share."""
    found = config_of(home, "kernel_desk")
    yield found
    found.kernels.end()


@pytest.fixture
def remote(config: KernelAgentConfig) -> Iterator[RemoteSimulation]:
    """A session that the kernel plays."""
    simulation = begun(config)
    yield simulation
    simulation.close()


def tool_request(simulation: RemoteSimulation | Simulation) -> ToolRequest:
    """Return the one tool call that waits."""
    (request,) = simulation.pending
    assert isinstance(request, ToolRequest)
    return request


def look_for(simulation: RemoteSimulation | Simulation, order: str) -> None:
    """Let the user ask for an order, and the agent look for it."""
    assert simulation.query(f"Where is {order}?", wait=PATIENCE)
    call_tool(simulation, order)


def call_tool(simulation: RemoteSimulation | Simulation, order: str) -> None:
    """Let the agent look for an order."""
    looks = called(("find_order", {"order_id": order}))
    assert simulation.answer(simulation.pending[0], looks, wait=PATIENCE)


def play(simulation: RemoteSimulation | Simulation) -> None:
    """Play one turn in which an order is looked for."""
    look_for(simulation, "A1")
    request = tool_request(simulation)
    assert simulation.answer(request, request.draft, wait=PATIENCE)
    assert simulation.answer(simulation.pending[0], said("It is shipped."), wait=PATIENCE)


@pytest.mark.long
def test_the_same_turn_gives_the_same_facts_here_and_there(home: Path, remote: RemoteSimulation) -> None:
    """But for the times and the ids of the session, all that the journals hold is equal."""
    (home / "kernel_desk" / "ran.txt").unlink(missing_ok=True)  # another test may have run the real tool
    with Simulation.open(AgentFolder(home).load("kernel_desk"), seats=PERSON, seed="seed") as here:
        play(here)
        play(remote)
        mine, theirs = (
            [
                fact.model_dump(mode="json", exclude={"at", "session_id", "events", "elapsed_ms"})
                for _, fact in each.journal.path()
            ]
            for each in (here, remote)
        )
        assert theirs == mine
        assert remote.view().session.state == here.view().session.state
        undoes, its = here.view().undoes, remote.view().undoes
        assert undoes is not None
        assert its is not None
        assert its.kind == undoes.kind
    assert not (home / "kernel_desk" / "ran.txt").exists()


def test_drafts_come_when_they_are_looked_at(remote: RemoteSimulation) -> None:
    """Each with its source in the agent's code; what nobody looks at is not made."""
    look_for(remote, "A2")
    request = tool_request(remote)
    assert not request.is_made("draft")
    assert request.draft == {"status": "success", "order": {"id": "A2", "state": "packed"}}
    assert "kernel_desk/agent.py, line" in request.draft_from[0]
    assert not request.draft_blanks
    assert len(request.candidates) > 1


def test_rules_the_world_and_the_settings_are_reached(remote: RemoteSimulation) -> None:
    """And a switch counts from the next call on."""
    down = ErrorEffect(error_code=503, error_message="Down.")
    remote.set_rules([InjectionRule(rule_id="down", tool_name="find_order", effect=down)])
    look_for(remote, "A1")
    assert isinstance(remote.pending[0], ModelRequest)
    remote.switch_rule("down", False)
    call_tool(remote, "A1")
    request = tool_request(remote)
    assert remote.environment.try_rules(remote.session.rules, request)
    remote.environment.give_data('{"orders": [{"id": "A1", "state": "lost"}]}')
    assert remote.environment.world().given.tables
    remote.environment.change(invariants=("stock >= 0",))
    assert remote.environment.settings.invariants == ("stock >= 0",)
    assert remote.environment.sources_for_model().keys() == {"find_order"}
    assert remote.environment.late_result("none") is None


def refusals(simulation: RemoteSimulation | Simulation) -> list[str]:
    """Return what is said to a stop of nothing, an answer of another kind, and a change of what is only looked at."""
    said = []
    for work in (
        simulation.stop,
        lambda: simulation.answer(simulation.pending[0], failed(1, "no")),
    ):
        with pytest.raises(SimulationError) as refused:
            work()
        said.append(str(refused.value))
        if not simulation.pending:
            simulation.query("Where is A1?", wait=PATIENCE)
    return said


def test_a_refusal_says_what_it_says_here(home: Path, remote: RemoteSimulation) -> None:
    """Its kind too: a contradiction can be given all the same."""
    with Simulation.open(AgentFolder(home).load("kernel_desk"), seats=PERSON, seed="seed") as here:
        told = refusals(remote)
        assert told == refusals(here)
        assert len(set(told)) == 2
    remote.environment.change(invariants=("order.total >= 0",))
    call_tool(remote, "A1")
    remote.environment.change(
        tools={"find_order": {"name": "find_order", "output_schema": {"type": "object"}}}
    )
    with pytest.raises(ContradictionError) as found:
        remote.answer(tool_request(remote), "a text")
    assert found.value.contradictions


@pytest.mark.parametrize("field", ["base_url", "headers", "extra_body", "client_args"])
def test_what_only_the_server_sets_of_a_model_reaches_no_kernel(remote: RemoteSimulation, field: str) -> None:
    """The environment's model and the user's; the settings as a whole, too. Nothing of it is in the journal."""
    configuration: JsonObject = {"http_options": {field: {"x": "of-a-visitor"}, "timeout": 5_000}}
    settings = remote.environment.settings.model_copy(
        update={"simulation_model_configuration": configuration}
    )
    scenario: JsonObject = {"starting_prompt": "Hello?", "conversation_plan": "Say hello."}
    user: JsonObject = {"model": "gemini-2.5-flash", "model_configuration": configuration}
    for refused in (
        lambda: remote.environment.change(simulation_model_configuration=configuration),
        lambda: remote.environment.change(settings),
        lambda: remote.set_user("scenario", scenario=scenario, config=user),
    ):
        with pytest.raises(SimulationError, match=rf"http_options\.{field} is set on the server"):
            refused()
    assert "of-a-visitor" not in remote.journal.to_json()
    allowed: JsonObject = {"http_options": {"timeout": 5_000}}
    remote.environment.change(simulation_model_configuration=allowed)
    assert remote.environment.settings.simulation_model_configuration == allowed


def test_a_page_does_not_choose_what_a_kernel_imports(remote: RemoteSimulation) -> None:
    """A user simulator is one that the agent's own code has imported; ADK's own needs none."""
    scenario: JsonObject = {"starting_prompt": "Hi.", "conversation_plan": "Ask for A-1."}
    for path in ("antigravity.Simulator", "this:Simulator"):
        with pytest.raises(SimulationError, match="not imported by the agent's code"):
            remote.set_user("scenario", scenario=scenario, config={"type": path})
    remote.set_user("scenario", scenario=scenario, config={"type": "llm_backed"})


def test_undo_redo_and_another_way(remote: RemoteSimulation) -> None:
    """The studio's journal follows each move of the head."""
    play(remote)
    length = len(remote.journal)
    remote.undo(wait=PATIENCE)
    assert isinstance(remote.pending[0], ModelRequest)
    remote.redo(wait=PATIENCE)
    assert not remote.pending
    assert len(remote.journal) == length
    remote.undo(wait=PATIENCE)
    remote.answer(remote.pending[0], said("Another way."), wait=PATIENCE)
    assert len(remote.journal.tips()) == 2


def test_a_session_goes_on_from_its_journal(remote: RemoteSimulation, config: KernelAgentConfig) -> None:
    """As after a restart of the studio; nothing is asked again."""
    look_for(remote, "A1")
    journal = Journal.from_json(remote.journal.to_json())
    remote.close()
    again = RemoteSimulation.resume(journal, config, wait=PATIENCE)
    assert tool_request(again).arguments == {"order_id": "A1"}
    assert [turn.ended for turn in again.view().session.turns] == [False]
    again.close()


def test_a_real_tool_runs_where_it_was_chosen(home: Path, remote: RemoteSimulation) -> None:
    """In the kernel, once the studio has kept that it was started."""
    remote.set_player("tool", "real", wait=PATIENCE)
    look_for(remote, "A2")
    assert (home / "kernel_desk" / "ran.txt").read_text() == "A2"
    assert isinstance(remote.pending[0], ModelRequest)


def test_half_a_surrogate_pair_comes_through(remote: RemoteSimulation) -> None:
    """JSON can write one, and what a person pastes may hold it; the turn goes on as it does here."""
    remote.query("half \ud83d of one", wait=PATIENCE)
    assert isinstance(remote.pending[0], ModelRequest)


def test_a_session_begins_with_artifacts_and_memory_in_a_kernel(config: KernelAgentConfig) -> None:
    """They are facts of the studio's journal; what ADK would not take is refused by name."""
    earlier = earlier_data({"plan.txt": "Sail on."}, ["The colour is red."])
    simulation = RemoteSimulation.open(config, seats=PERSON, earlier=earlier)
    kept = simulation.journal.session().earlier
    simulation.close()
    assert kept.artifacts == earlier.artifacts
    assert [entry["author"] for entry in kept.memory] == ["user"]
    with pytest.raises(SimulationError, match="plan"):
        RemoteSimulation.open(config, seats=PERSON, earlier=earlier_data({"plan": {"nothing": 1}}))
