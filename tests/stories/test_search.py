"""Ctrl+K finds what the studio has, and leads there without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.harness.browser import Studio

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]


def look_for(studio: Studio, words: str, first: str) -> None:
    """Open the search by its keys, and type at once, before it is there; wait until this is found first."""
    studio.rest()
    studio.page.keyboard.press("Control+k")
    studio.page.keyboard.type(f"{words}x")
    studio.page.keyboard.press("Backspace")
    expect(studio.keyed("search_words").get_by_role("searchbox")).to_have_value(words)
    expect(studio.keyed("found_0")).to_contain_text(first)


def test_the_search_is_used_by_the_keyboard(studio: Studio) -> None:
    """A step opens in the timeline, a command is carried out, an agent is chosen, and the session is found again."""
    studio.pick_agent("order_desk").start("Where is order A-1002?")
    studio.wait_for_pause("find_order").accept_draft()
    studio.wait_for_status("Completed")
    session = studio.session_id

    look_for(studio, "a-1002 tool", "find_order")
    studio.page.keyboard.press("ArrowDown")
    studio.page.keyboard.press("ArrowDown")
    expect(studio.button("found_1")).to_be_focused()
    studio.page.keyboard.press("ArrowUp")
    studio.page.keyboard.press("Enter")
    expect(studio.page.get_by_role("dialog")).to_have_count(0)
    expect(studio.like("step_").filter(has_text="order_id").first).to_be_visible()
    expect(studio.button("another_way_")).to_be_visible()

    studio.rest()
    studio.page.keyboard.press("Control+k")
    studio.page.keyboard.type("undo")
    studio.page.keyboard.press("Enter")
    studio.wait_for_pause("find_order")
    expect(studio.keyed("pane_decision")).to_be_focused()

    look_for(studio, "travel", "travel_planner")
    studio.page.keyboard.press("Enter")
    expect(studio.keyed("agent_chosen_travel_planner")).to_be_visible()

    look_for(studio, session[-6:], "Where is order A-1002?")
    studio.page.keyboard.press("Enter")
    studio.wait_for_pause("find_order")
    assert studio.session_id == session
