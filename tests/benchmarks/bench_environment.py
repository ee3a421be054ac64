"""What the environment costs: a draft for a large schema beside a turn of ADK's model, and the memory of a long session."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.base.json_values import JsonObject
from simulator.environment.drafts.candidates import candidates, drafted
from simulator.environment.drafts.draft import DraftCall
from tests.benchmarks.bench_turns import Caller, find_order

FIELDS, ROUNDS, CALLS, EACH = 50, 60, 1_000, 50
MOST_KB_PER_CALL = 40.0
SMALLEST = {"ROUNDS": 1, "CALLS": 5, "EACH": 5}

_NAMES = (
    "order_id", "customer_name", "email", "street", "city", "country", "phone", "quantity", "unit_price", "total",
    "currency", "status", "placed_on", "shipped_at", "is_express", "note", "sku", "warehouse", "tracking_number",
    "discount_percent", "tax_rate", "company", "language", "rating", "description",
)  # fmt: skip
_TYPES = {
    "quantity": "integer",
    "unit_price": "number",
    "total": "number",
    "is_express": "boolean",
    "tax_rate": "number",
}


def large_schema() -> JsonObject:
    """Return an object of 50 required fields: texts, numbers, truth values, and a list of objects."""
    fields: JsonObject = {}
    for place in range(FIELDS - 1):
        name = _NAMES[place % len(_NAMES)]
        fields[name if place < len(_NAMES) else f"billing_{name}"] = {"type": _TYPES.get(name, "string")}
    line: JsonObject = {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer"}},
        "required": ["sku", "quantity"],
    }
    fields["lines"] = {"type": "array", "items": line}
    return {"type": "object", "properties": fields, "required": [*fields]}


async def beside_adks_turns(work: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds that a turn of ADK's runner takes, with a model that takes no time of its own, and those that some work takes after each: a machine is not one speed."""
    agent = LlmAgent(name="desk", model=Caller(calls=0), instruction="Help.", tools=[find_order])
    runner = InMemoryRunner(agent, app_name="bench")
    turns, works = [], []
    for number in range(ROUNDS):
        session = await runner.session_service.create_session(
            app_name="bench", user_id="u", session_id=f"s{number}"
        )
        message = types.Content(role="user", parts=[types.Part(text="Hello")])
        start = perf_counter()
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass
        turns.append(perf_counter() - start)
        start = perf_counter()
        work()
        works.append(perf_counter() - start)
    return median(turns) * 1000, median(works) * 1000


def test_a_draft_of_50_fields_costs_less_than_a_turn_of_adks_model(measured: bool) -> None:
    """Each draft is for another call, so nothing is only remembered; five candidates are given as a figure too."""
    schema = large_schema()
    calls = iter(
        DraftCall(
            tool_name="find_order",
            response_schema=schema,
            arguments={"order_id": f"A-{number}"},
            seed=f"seed {number}",
        )
        for number in range(ROUNDS + 2)
    )
    first = next(calls)
    assert not drafted(first).problems
    turn, draft = asyncio.run(beside_adks_turns(lambda: drafted(next(calls))))
    start = perf_counter()
    ready = candidates(next(calls))
    five = (perf_counter() - start) * 1000
    ratio = draft / turn
    print(  # noqa: T201 - the figure is what a benchmark is run for
        f"\na draft of {FIELDS} fields: {draft:.2f} ms, {ratio:.2f} of a turn of ADK's model "
        f"({turn:.2f} ms), at most 1; {len(ready)} candidates {five:.1f} ms"
    )
    assert len(ready) > 1
    assert ratio < 1 or not measured


def test_a_session_of_1000_calls_stays_small(measured: bool) -> None:
    """What a session of 1,000 calls keeps: its journal, ADK's session, the world and all that the environment knows."""
    config = SimulatedAgentConfig(
        "desk",
        LlmAgent(name="desk", model=Caller(calls=EACH), instruction="Help.", tools=[find_order]),
        "bench.evalset.json",
    )
    with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as warm:
        warm.query("go")
        warm.environment.world()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as sim:
        for _ in range(CALLS // EACH):
            assert sim.query("go")
        assert len(sim.environment.world().tables[0].ids) >= 1
        gc.collect()
        kept = (tracemalloc.get_traced_memory()[0] - before) / 1024
        tracemalloc.stop()
        calls = sum(fact.kind == "tool_answered" for _, fact in sim.journal.path())
        assert calls == CALLS
    print(  # noqa: T201 - the figure is what a benchmark is run for
        f"\na session of {calls} calls keeps {kept / 1024:.1f} MB, {kept / calls:.1f} KB a call, at most {MOST_KB_PER_CALL}"
    )
    assert kept / calls <= MOST_KB_PER_CALL or not measured
