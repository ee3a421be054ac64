"""Proves how a person shapes the environment of a running session: data, edits, settings, declared tools; all of it facts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typing_extensions import TypedDict

from simulator.environment.injection.rule_effects import ResponseEffect
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.world.connections import ConnectionEdits, Connections, ParameterUse, ToolRole
from simulator.environment.world.entities import EntityChange, TablesError
from simulator.environment.world.tool_settings import DeclaredTool, ToolSettings
from simulator.facts import ConnectionsAnalysed
from simulator.runtime import Simulation, SimulationError
from tests.harness.processes import wait_until
from tests.simulator.runtime.answering.test_generating_players import told
from tests.simulator.runtime.desk import asked, response_of, waits
from tests.simulator.runtime.stage import PATIENCE, agent_of, call, entries, opened, resumed, tool_facts


class Product(TypedDict):
    """A product."""

    product_id: str
    name: str
    stock: int


class Made(TypedDict):
    """An order that was made."""

    order_id: str
    sku: str


def find_product(product_id: str) -> Product:
    """Find a product."""
    raise AssertionError("the real tool ran")


DATA = json.dumps({"products": [{"product_id": "P-1", "name": "Mug", "stock": 12}]})
ASKS = [call("find_product", product_id="P-1")]


def shop(*turns: Any) -> Any:
    """Make an agent with the tool of a shop."""
    return agent_of(*turns or (ASKS, ASKS), tools=[find_product])


def put(key: str, **fields: Any) -> EntityChange:
    """Make the change of a product."""
    return EntityChange(op="put", kind="product", id=key, fields=fields)


def table(sim: Simulation) -> dict[str, Any]:
    """Return the products of the world by id."""
    tables = {each.name: each for each in sim.environment.world().tables}
    found = tables.get("products")
    return dict(zip(found.ids, found.rows, strict=True)) if found else {}


# ---------------------------------------------------------------- data and edits


@pytest.mark.parametrize("text", ['{"products": [{"id": 1}, 2]}', '{"products": [', '[{"id": 1}, {"id": 1}]'])
def test_data_that_cannot_be_used_is_refused_and_changes_nothing(text: str) -> None:
    """The error names the place; what was given before stays."""
    with opened(shop()) as sim:
        sim.environment.give_data(DATA)
        with pytest.raises(SimulationError) as refused:
            sim.environment.give_data(text)
        assert isinstance(refused.value.__cause__, TablesError)
        assert sim.environment.now.data == DATA


@pytest.mark.long
def test_an_edit_is_a_fact_that_the_waiting_draft_follows_and_an_undo_takes_back() -> None:
    """A changed cell counts at once, also for a call that waits; undo brings back the world and the draft."""
    with opened(shop()) as sim:
        sim.environment.give_data(DATA)
        request = asked(sim)
        sim.environment.edit(put("P-1", stock=0))
        assert waits(sim).draft["stock"] == 0
        assert sim.undo()
        assert table(sim)["P-1"]["stock"] == 12
        assert waits(sim).draft["stock"] == 12
        assert waits(sim).key == request.key


def test_a_thing_is_renamed_wherever_it_is_named() -> None:
    """An id that is taken is refused; a mapping is taken for a change, and what is wrong with one is told with its place."""
    with opened(shop()) as sim:
        sim.environment.give_data(DATA)
        sim.environment.edit(put("P-2", name="Lamp"))
        sim.environment.rename("product", "P-1", "P-9")
        assert set(table(sim)) == {"P-9", "P-2"}
        with pytest.raises(SimulationError):
            sim.environment.rename("product", "P-9", "P-2")
        with pytest.raises(SimulationError, match="no change"):
            sim.environment.edit()
        sim.environment.edit({"op": "put", "kind": "product", "id": "P-2", "fields": {"stock": 3}})
        with pytest.raises(SimulationError, match=r"change\.2\.kind"):
            sim.environment.edit(put("P-2", stock=1), {"op": "put"})
        with pytest.raises(SimulationError, match=r"change\.1: .* 5"):
            sim.environment.edit(5)  # type: ignore[arg-type] # what a person without a type checker may give
        with pytest.raises(SimulationError, match="NoneType"):
            sim.environment.use_model(None)  # type: ignore[arg-type] # as above
        assert table(sim)["P-2"]["stock"] == 3


def test_what_is_set_for_tools_that_there_are_not_is_told() -> None:
    """The world's problems name data that makes no table, and connections of unknown tools."""
    role = ToolRole(tool_name="get_prodct", use="reads", kind="product")
    with opened(shop()) as sim:
        sim.environment.give_data('{"orders": [1, 2]}')
        sim.environment.change(connections=ConnectionEdits(roles=(role,)))
        asked(sim)
        table_, connection = sim.environment.world().problems
        assert "'orders'" in table_
        assert "'get_prodct'" in connection


def test_the_world_is_the_same_after_a_resume_and_on_a_branch_as_it_was() -> None:
    """It follows from the journal alone: read again, and at each older head, it is what it was then."""
    agent = shop(ASKS, ASKS, ASKS)
    with opened(agent) as sim:
        sim.environment.give_data(DATA)
        worlds = {}
        assert sim.query("go", wait=PATIENCE)
        for stock in (7, 5):
            worlds[sim.journal.head] = table(sim)
            answer = {"product_id": "P-1", "name": "Mug", "stock": stock}
            assert sim.answer(sim.pending[0], answer, wait=PATIENCE)
        last = table(sim)
        assert last["P-1"]["stock"] == 5
        text = sim.journal.to_json()
        for head, world in worlds.items():
            sim.move_head(head)
            assert table(sim) == world
    with resumed(text, agent) as again:
        assert table(again) == last


# ---------------------------------------------------------------- settings


def test_settings_go_back_one_step_each_and_are_said_in_the_timeline() -> None:
    """What is set is a step of its own, as seats and rules are; the timeline names what changed."""
    with opened(shop()) as sim:
        request = asked(sim)
        assert sim.answer(request, {"product_id": "P-1", "name": "Mug", "stock": 1}, wait=PATIENCE)
        sim.environment.change(invariants=("product.stock >= 0",))
        sim.environment.give_data(DATA)
        sim.environment.give_recording("old", [])
        notes = [note.content for note in entries(sim, "session_note")]
        assert "environment: settings: invariants" in notes
        assert "environment: data loaded" in notes
        assert sim.undo()
        assert "old" not in sim.environment.now.recordings
        assert sim.environment.now.data == DATA
        assert sim.undo()
        assert not sim.environment.now.data
        assert sim.environment.settings.invariants == ("product.stock >= 0",)
        assert sim.undo()
        assert not sim.environment.now.settings.invariants
        assert len(tool_facts(sim)) == 1


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"invariants": ("stock >=",)}, "stock >="),
        ({"simulation_model_configuration": {"temperature": "hot"}}, "temperature"),
        ({"no_such_setting": 1}, "no_such_setting"),
    ],
)
def test_settings_that_do_not_fit_are_refused_with_their_place(fields: Any, match: str) -> None:
    """The error names what is wrong; nothing changes."""
    with opened(shop()) as sim:
        before = sim.environment.settings
        with pytest.raises(SimulationError, match=match):
            sim.environment.change(**fields)
        assert sim.environment.settings == before


def test_an_output_schema_that_is_set_holds_for_the_drafts() -> None:
    """A person's schema for a tool stands over the declared one."""
    schema = {"type": "object", "properties": {"only": {"const": "this"}}, "required": ["only"]}
    with opened(shop()) as sim:
        settings = {"find_product": ToolSettings(name="find_product", output_schema=schema)}
        sim.environment.change(tools=settings)
        request = asked(sim)
        assert request.response_schema == schema
        assert request.draft == {"only": "this"}


def test_tools_share_what_they_remember_and_it_can_be_cleared() -> None:
    """Calls under one state key are remembered up to the bound, and forgotten when it is cleared: a step that an undo takes back."""
    tools = {
        "find_product": ToolSettings(
            name="find_product", share_state_id="shop", initial_state_description="It is Monday."
        )
    }
    with opened(shop(ASKS, ASKS, ASKS), tools="offline") as sim:
        sim.environment.change(tools=tools, max_tool_call_cache_size=2)
        assert sim.query("go", wait=PATIENCE)
        (state,) = sim.environment.world().states
        assert (state.key, state.initial_state, len(state.calls)) == ("shop", "It is Monday.", 2)
        sim.environment.clear_state("shop")
        assert sim.environment.world().states == ()
        assert sim.undo()
        assert len(sim.environment.world().states[0].calls) == 2
        assert len(tool_facts(sim)) == 3


# ---------------------------------------------------------------- connections


def test_connections_are_found_edited_and_asked_of_a_model() -> None:
    """What names tell, what a model says (once for all sessions), and a person's word over both."""
    use = ParameterUse(tool_name="find_product", parameter="product_id", kind="article", use="reads")
    with opened(shop()) as sim:
        found = sim.environment.world().connections.uses
        assert [(each.parameter, each.kind, each.use) for each in found] == [
            ("product_id", "product", "reads")
        ]
        told(sim, "no JSON", "again none")
        sim.environment.analyse_connections()
        wait_until(lambda: bool(sim.environment.now.not_analysed), what="the reason", seconds=PATIENCE)
        assert sim.environment.world().connections.uses == found
        sim.environment.change(connections=ConnectionEdits(uses=(use,)))
        (edited,) = sim.environment.world().connections.uses
        assert edited.kind == "article"
        facts = [fact for _, fact in sim.journal.path() if isinstance(fact, ConnectionsAnalysed)]
        assert [fact.connections for fact in facts] == [None]
        assert isinstance(sim.environment.world().connections, Connections)


# ---------------------------------------------------------------- declared tools


def ship(order_id: str, express: bool = False) -> Product:  # type: ignore[empty-body] # a tool that does not exist yet
    """Ship an order."""


def test_a_declared_tool_joins_with_the_next_turn_and_the_environment_answers() -> None:
    """The model is shown it, calls it, and a person answers; a resume brings it back; there is nothing real to run."""
    agent = shop([call("ship", order_id="A-1")])
    with opened(agent) as sim:
        sim.environment.declare(ship)
        request = asked(sim)
        assert (request.tool_name, request.description) == ("ship", "Ship an order.")
        assert set(request.parameters["properties"]) == {"order_id", "express"}
        text = sim.journal.to_json()
        sim.run_real(request, wait=PATIENCE)
        assert "only declared" in entries(sim, "tool_error")[0].error_message
    with resumed(text, agent) as again:
        assert again.view().divergence is None
        assert again.answer(again.pending[0], {"product_id": "A-1", "name": "x", "stock": 1}, wait=PATIENCE)
        assert response_of(again)["name"] == "x"
        assert tool_facts(again)[0].tool_name == "ship"


def test_a_tool_that_is_declared_while_a_turn_runs_waits_for_the_next_one() -> None:
    """What the model was shown in this turn stays so, also when the turn is executed again."""
    with opened(shop(ASKS, ASKS)) as sim:
        request = asked(sim)
        sim.environment.declare(DeclaredTool(name="later", description="Later."))
        assert sim.answer(request, {"product_id": "P-1", "name": "Mug", "stock": 1}, wait=PATIENCE)
        assert sim.undo()
        assert sim.view().divergence is None
        assert "later" in {tool.name for tool in sim.environment.world().tools}


def test_declarations_that_cannot_be_are_refused() -> None:
    """A name that the agent has, and one that is declared twice."""
    with opened(shop()) as sim:
        with pytest.raises(SimulationError, match="find_product"):
            sim.environment.declare(DeclaredTool(name="find_product"))
        with pytest.raises(SimulationError, match="name ship"):
            sim.environment.declare(ship, DeclaredTool(name="ship"))
        sim.environment.declare(ship)
        sim.environment.declare(ship, DeclaredTool(name="pack"))
        sim.environment.declare()
        assert sim.environment.now.declared == ()


# ---------------------------------------------------------------- what several calls have to do with each other


def make_order(sku: str) -> Made:
    """Create an order."""
    raise AssertionError("the real tool ran")


ORDERS = json.dumps({"orders": [{"order_id": "A-1", "sku": "mug"}]})


@pytest.mark.parametrize("player", ["offline", "person"])
def test_parallel_calls_that_make_things_give_them_ids_of_their_own(player: str) -> None:
    """A generator drafts one after the other; what a person has answered changes the drafts that named the same id."""
    calls = [call("make_order", sku=sku) for sku in ("lamp", "mug", "cup")]
    with opened(agent_of(calls, tools=[make_order]), tools=player) as sim:
        sim.environment.give_data(ORDERS)
        assert sim.query("go", wait=PATIENCE)
        while sim.pending:
            request: Any = sim.pending[0]
            assert sim.answer(request, request.draft, wait=PATIENCE)
        (orders,) = sim.environment.world().tables
        assert len(orders.ids) == 4
        assert sim.environment.world().flags == ()


def test_an_answer_by_a_rule_is_flagged_where_it_breaks_an_invariant() -> None:
    """A rule says what it says on purpose, and the world shows all the same that an invariant is broken by it."""
    broken = ResponseEffect(value={"product_id": "P-1", "name": "Mug", "stock": -1})
    rule = InjectionRule(rule_id="broken", tool_name="find_product", effect=broken)
    with opened(shop(ASKS), rules=[rule]) as sim:
        sim.environment.change(invariants=("stock >= 0",))
        assert sim.query("go", wait=PATIENCE)
        (flag,) = sim.environment.world().flags
        assert "stock >= 0" in flag.what[0]
