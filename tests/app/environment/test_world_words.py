"""The world in words: where a contradiction stands, where fields come from, what invariants could be asked."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.environment.invariant_lines import MOST_EXAMPLES, examples, verdict_of
from app.environment.world_labels import field_rows, flag_lines, template
from simulator.environment.world.entities import EntityChange
from simulator.environment.world.invariants import check_invariant, standing
from simulator.environment.world.seed_tables import read_tables
from simulator.environment.world.world import World
from simulator.runtime.knowledge.world_view import WorldFlag, WorldTable
from simulator.session.history import UserQuery

ORDERS = WorldTable(
    kind="order",
    name="orders",
    columns=("order_id", "customer_id", "status", "total"),
    ids=("A-1",),
    rows=({"order_id": "A-1", "customer_id": "C-1", "status": "it's", "total": 5},),
    origins={"A-1": {"total": "find_order in turn 2"}},
)
CUSTOMERS = WorldTable(
    kind="customer", name="customers", columns=("customer_id",), ids=("C-1",), rows=({"customer_id": "C-1"},)
)


def test_a_contradiction_has_its_step() -> None:
    """The newest comes first, with the number of its step; one whose step is not shown has none."""
    history = [UserQuery(fact=n, turn=0, timestamp=datetime.now(UTC), content="x") for n in (1, 4)]
    flags = [
        WorldFlag(fact=4, tool_name="a", what=("one.", "two.")),
        WorldFlag(fact=9, tool_name="b", what=("three.",)),
    ]
    assert flag_lines(flags, history) == ["b: three.", "Step 2, a: one.", "Step 2, a: two."]


def test_each_field_says_where_it_comes_from() -> None:
    """A field has its value, and its origin where that is known."""
    rows = {row["field"]: row for row in field_rows(ORDERS, "A-1")}
    assert rows["total"] == {"field": "total", "from": "find_order in turn 2", "value": "5"}
    assert rows["status"]["from"] == ""


def test_a_template_is_data_that_can_be_given() -> None:
    """What is known is written so that it is read back; where nothing is known there is an example."""
    known = read_tables(template([ORDERS, CUSTOMERS]))
    assert {table.name: list(table.rows) for table in known.tables} == {
        "orders": list(ORDERS.rows),
        "customers": list(CUSTOMERS.rows),
    }
    assert len(read_tables(template([])).tables) == 2


def test_examples_are_of_what_is_known() -> None:
    """A reference and a number are offered, words that hold a quote are not, and nothing that is in force already."""
    assert examples([ORDERS, CUSTOMERS]) == ["order.customer_id in customers", "order.total >= 0"]
    assert examples([ORDERS, CUSTOMERS], ["order.total >= 0"]) == ["order.customer_id in customers"]
    assert examples([])


_NAMES = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["status", "total", "b_id"])


@given(
    rows=st.lists(st.dictionaries(_NAMES, st.text(max_size=6) | st.integers(), max_size=4), max_size=3),
    kind=_NAMES,
)
@settings(max_examples=30, deadline=None)
@example(rows=[{"status": "open"}], kind="_")
def test_every_example_is_an_invariant(rows: list[dict[str, object]], kind: str) -> None:
    """Whatever things are called, what is offered can be added."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    ids = tuple(str(n) for n in range(len(rows)))
    table = WorldTable.model_validate(
        {"kind": kind or "x", "name": f"{kind}s", "columns": columns, "ids": ids, "rows": tuple(rows)}
    )
    other = WorldTable(kind="b", name="bs", columns=(), ids=(), rows=())
    found = examples([table, other])
    assert len(found) <= MOST_EXAMPLES
    for line in found:
        check_invariant(line)


def test_a_verdict_says_what_breaks_a_line() -> None:
    """A line holds, is broken by certain things, or cannot be judged yet."""
    world = World()
    changes = [
        EntityChange(op="put", kind="order", id=f"A-{n}", fields={"order_id": f"A-{n}", "total": n})
        for n in range(3)
    ]
    world.edit(changes, fact=1, turn=0)
    lines = ["order.total >= 0", "order.total > 0", "parcel.weight > 0"]
    good, broken, unknown = (verdict_of(found) for found in standing(world, lines))
    assert (good.state, good.said) == ("holds", "Holds for 3")
    assert (broken.state, broken.said, len(broken.broken)) == ("broken", "Broken by 1, holds for 2", 1)
    assert json.dumps(broken.broken[0]).count("A-0") == 1
    assert unknown.state == "unknown"
