"""A person shapes the environment while the session runs: its data, and a cell of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.harness.browser import Studio

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

CANCEL = "Please cancel order A-1001 and refund me."
ORDER: dict[str, Any] = {
    "order_id": "A-1001",
    "customer_id": "C-1",
    "status": "processing",
    "total": 25.0,
    "currency": "EUR",
    "items": [{"sku": "S-1", "name": "Lamp", "quantity": 1, "unit_price": 25.0}],
    "placed_on": "2026-03-02",
}
DATA = {"customers": [{"customer_id": "C-1", "name": "Ada Lovelace"}], "orders": [ORDER]}


def test_a_person_shapes_the_world_while_a_call_waits(studio: Studio) -> None:
    """Data given on the page, in place of the agent's own, fills the draft of the call that waits; an edited cell changes it."""
    studio.pick_agent("order_desk").start(CANCEL)
    studio.wait_for_pause("find_order")
    studio.rest()
    studio.click("open_environment")
    studio.keyed("environment_tab").wait_for()
    studio.choose("environment_tab", "World")
    expect(studio.keyed("world_kind")).to_contain_text("orders")  # the agent brings its own
    _give_data(studio)
    studio.choose("world_part", "Entities")
    studio.keyed("world_kind").get_by_text("orders").click()
    studio.rest()
    _edit_cell(studio, right=2, text="shipped")
    studio.unfold("world_record")  # the table itself is painted, and has no words for a test to read
    expect(studio.like("thing_json").get_by_role("textbox")).to_have_value(re.compile('"status": "shipped"'))
    studio.rest()
    studio.click("environment_back")
    studio.wait_for_pause("find_order")
    draft = studio.draft()
    assert {name: draft[name] for name in ORDER} == {**ORDER, "status": "shipped"}
    studio.accept_draft()
    studio.wait_for_status("Completed")
    expect(studio.decision).to_contain_text("shipped")


def _give_data(studio: Studio) -> None:
    studio.choose("world_part", "Data")
    text = studio.like("data_json").get_by_role("textbox")
    text.fill(json.dumps(DATA))
    text.press("Control+Enter")
    expect(studio.page.get_by_text("Preview: 2 tables")).to_be_visible()
    studio.rest()
    studio.click("data_give")
    expect(studio.page.get_by_text("Loaded: 2 tables")).to_be_visible()


def _edit_cell(studio: Studio, *, right: int, text: str) -> None:
    """Write into a cell of the first row, so many columns right of the id, as with a keyboard."""
    table = studio.like("world_order_").locator(".dvn-scroller").first
    table.click(position={"x": 60, "y": 50})
    for _ in range(right):
        studio.page.keyboard.press("ArrowRight")
    studio.page.keyboard.press("Enter")
    cell = studio.page.locator("#portal textarea, #portal input")
    cell.fill(text)
    cell.press("Enter")
    studio.rest()
