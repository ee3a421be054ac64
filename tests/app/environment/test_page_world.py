"""The page of the environment: the way there and back; the world with its things, its invariants, and the data it begins with."""

from __future__ import annotations

import json
import re

import pytest
import streamlit

from simulator.facts import Returned
from simulator.runtime.knowledge.world_view import WorldTable
from simulator.seats.answers import ToolAnswer
from simulator.session.history import ToolOutput
from tests.app.environment.shaped import CANCEL, PATIENCE, Shaped
from tests.app.fakes import paused, tool_request
from tests.app.page_driver import HOSTILE, Tab

ORDERS = [
    {"order_id": "A-1001", "customer_id": "C-1", "status": "processing", "total": 59.9, "items": ["x"]},
    {"order_id": "A-2", "customer_id": "C-1", "status": "shipped", "total": 5.5, "items": []},
]
DATA = json.dumps({"customers": [{"customer_id": "C-1", "name": "Ada"}], "orders": ORDERS})


@pytest.fixture
def shaped() -> Shaped:
    """A session whose first call waits, with data."""
    shaped = Shaped(CANCEL)
    shaped.environment.give_data(DATA)
    shaped.open("World")
    return shaped


def _order(shaped: Shaped, key: str) -> dict[str, object]:
    table = _table(shaped, "order")
    return dict(table.rows[table.ids.index(key)])


def _table(shaped: Shaped, kind: str) -> WorldTable:
    found: list[WorldTable] = [each for each in shaped.environment.world().tables if each.kind == kind]
    (table,) = found
    return table


def test_data_is_checked_before_it_counts() -> None:
    """An empty world, and a template to begin with; a mistake names its place; sound data is shown, given, and taken away; names, ids and values are letters."""
    shaped = Shaped(brings=False)
    assert not shaped.open("World").app.data_editor
    tab = shaped.open("World", world_part="Data").click("data_template")
    assert "orders" in str(shaped.tab.app.text_area(key=tab.key("data_json")).value)
    shaped.write("data_json", '{"orders": [{"order_id": "A-1"}, {"order_id": "A-1"}]}')
    tab.click("data_give")
    assert "table 'orders', row 2, field 'order_id'" in tab.literal
    assert shaped.environment.now.data == ""
    shaped.write("data_json", DATA)
    assert "Loaded: 2 tables" in tab.click("data_give").words
    assert shaped.environment.now.data == DATA
    tab.click("data_drop")
    assert shaped.environment.now.data == ""
    shaped.environment.give_data(json.dumps({HOSTILE: [{"id": HOSTILE, HOSTILE: HOSTILE}]}))
    for part in ("Entities", "Invariants", "Data"):
        assert shaped.open("World", world_part=part).live_marks() == []
    shaped.write("data_json", DATA)
    tab.click("data_give")
    assert shaped.environment.now.data == DATA


def test_the_data_that_an_agent_brings_is_there_to_be_edited() -> None:
    """It is shown as what is in force, and what a person gives instead counts for the session."""
    shaped = Shaped()
    tab = shaped.open("World", world_part="Data")
    assert shaped.environment.now.is_data_brought
    brought = tab.app.caption[0].value
    assert "Loaded: 3 tables" in tab.words
    shaped.write("data_json", DATA)
    assert brought not in tab.click("data_give").words
    assert shaped.environment.now.data == DATA


def test_rows_come_and_go(shaped: Shaped, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new row, a deleted one, and one with another id, also where it is named, are all carried out; what is gone is named. No number is guessed."""
    shaped.edit("world_customer_", edited_rows={0: {"customer_id": "C-7"}})
    assert _order(shaped, "A-2")["customer_id"] == "C-7"
    shaped.tab.fill("world_kind", "order").run()
    monkeypatch.setattr(type(streamlit.context), "locale", property(lambda _: "de-DE"))
    for wrong in ("1.250", "much"):
        assert (
            "A-3, field total: "
            in shaped.edit("world_order_", added_rows=[{"order_id": "A-3", "total": wrong}]).literal
        )
    shaped.edit("world_order_", added_rows=[{"order_id": "A-3", "total": "7.25"}])
    assert _order(shaped, "A-3")["total"] == 7.25
    shaped.edit("world_order_", deleted_rows=[1])
    assert "Deleted: A-2" in shaped.tab.literal
    shaped.edit("world_order_", edited_rows={0: {"order_id": "A-9"}})
    assert _order(shaped, "A-9")["order_id"] == "A-9"


def test_search_goes_over_all_kinds(shaped: Shaped) -> None:
    """Only kinds in which the words are found stay, with their count, and only those rows."""
    tab = shaped.write("world_search", "shipped")
    assert list(tab.app.pills(key="world_kind").options) == ["orders \u00b7 1"]
    assert "A-1001" not in tab.app.data_editor[0].value.to_csv()
    assert not shaped.write("world_search", "nowhere").app.data_editor


@pytest.mark.long
def test_a_thing_is_edited_as_json_and_its_kind_is_closed_or_open(shaped: Shaped) -> None:
    """A mistake is said with its place; a person decides what an unknown id means; what cannot be carried out is tried once."""
    shaped.tab.fill("world_thing_customer", "C-1").run()
    shaped.write("thing_json", '{"customer_id": "C-1", ')
    assert "Line 1" in shaped.tab.click("thing_save").literal
    shaped.write("thing_json", '{"customer_id": "C-1", "vip": true}')
    shaped.tab.click("thing_save")
    assert _table(shaped, "customer").rows == ({"customer_id": "C-1", "vip": True},)
    assert _table(shaped, "customer").is_closed
    closed = shaped.tab.words
    shaped.tab.fill("world_authority_customer", "open").run()
    assert shaped.environment.settings.authority == {"customer": "open"}
    assert not _table(shaped, "customer").is_closed
    assert shaped.tab.words != closed
    shaped.environment.change(authority={})  # from another tab
    shaped.tab.run()
    assert shaped.tab.app.selectbox(key="world_authority_customer").value == "auto"
    assert shaped.environment.settings.authority == {}
    shaped.simulation.close()
    tab = shaped.edit("world_customer_", edited_rows={0: {"vip": False}})
    assert tab.app.error
    assert _table(shaped, "customer").rows == ({"customer_id": "C-1", "vip": True},)


def test_an_invariant_is_added_checked_edited_and_deleted(shaped: Shaped) -> None:
    """Each line says whether it holds now and for which things it does not; one that is none is refused; an example fills the line."""
    tab = shaped.open("World", world_part="Invariants")
    shaped.write("invariant_json_invariant-new", "order.total >= ")
    assert not tab.click("invariant_add").keys("invariant_row_0")
    shaped.write("invariant_json_invariant-new", "order.total > 10")
    assert "order 'A-2'" in tab.literal
    tab.click("invariant_add")
    assert shaped.environment.settings.invariants == ("order.total > 10",)
    shaped.write("invariant_json_invariant-0", "order.total > 1")
    assert shaped.environment.settings.invariants == ("order.total > 1",)
    assert "Holds for 2" in tab.literal
    tab.click("invariant_delete_0")
    assert shaped.environment.settings.invariants == ()
    tab.click("invariant_add")
    assert shaped.environment.settings.invariants == ("order.total > 1",)
    labels = [each.label for each in tab.app.button if str(each.key).startswith("invariant_example_")]
    assert "order.customer_id in customers" in labels
    tab.click("invariant_example_0").click("invariant_add")
    assert len(shaped.environment.settings.invariants) == 2


def test_an_answer_that_contradicts_is_flagged_with_its_step(shaped: Shaped) -> None:
    """An accepted answer that breaks an invariant is said with its place in the timeline."""
    shaped.environment.change(invariants=("order.total > 0",))
    (waiting,) = shaped.simulation.view().pending
    answer = Returned(value={**waiting.draft, "total": -1})  # type: ignore[union-attr, dict-item]  # a tool's request
    shaped.simulation.answer(waiting, ToolAnswer(outcome=answer, despite_contradictions=True), wait=PATIENCE)
    tab = shaped.open("World")
    history = shaped.simulation.session.history
    (step,) = [number for number, entry in enumerate(history, start=1) if isinstance(entry, ToolOutput)]
    assert f"Step {step}, find_order: order 'A-1001'" in tab.literal


SESSION = "session-0001-abcdef"


def test_the_header_leads_there_and_back_and_what_waits_is_said() -> None:
    """A button in the header opens the page, whose address a refresh keeps, on the tab of last time; the one at the rules opens those.

    While a call waits, the page names it letter for letter and leads to it; nothing else is said when none waits.
    """
    simulation = paused(SESSION)
    simulation.pending = (tool_request("c1", HOSTILE), tool_request("c2"))
    tab = Tab(SESSION).click("open_environment")
    assert tab.has("environment_tab")
    assert not tab.keys("pane_timeline")
    assert tab.app.query_params["view"] in ("environment", ["environment"])
    (line,) = [each.value for each in tab.app.markdown if "hourglass_top" in each.value]
    assert "evil" in line
    assert re.search(r"\b1\b", line)
    assert tab.live_marks() == []
    tab.choose("environment_tab", "Connections")
    assert tab.click("environment_answer").keys("pane_timeline")
    assert "view" not in tab.app.query_params
    simulation.pending = ()
    assert not tab.run().click("open_environment").has("environment_answer")
    assert tab.app.segmented_control(key="environment_tab").value == "Connections"
    assert tab.click("environment_back").keys("pane_timeline")
    assert "view" not in tab.app.query_params
    tab.click("rules_open")
    assert tab.app.segmented_control(key="environment_tab").value == "Rules"
