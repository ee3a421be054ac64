"""A person makes an agent's tools misbehave while a session runs: with a fault from the library, which is switched off again."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.harness.browser import Studio

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]


def test_a_fault_from_the_library_reaches_the_agent(studio: Studio) -> None:
    """A fault is found by words, met by the agent from the next call on, and switched off while the session runs."""
    studio.pick_agent("order_desk").start("Where is order A-1002?")
    studio.wait_for_pause("find_order")
    studio.click("open_environment")
    _add_fault(studio, "prompt injection")
    studio.click("rule_save")
    expect(studio.keyed("head_rules_side")).to_be_visible()
    studio.rest()
    studio.click("environment_answer")
    studio.wait_for_pause("find_order").accept_draft()
    studio.wait_for_status("Completed")

    studio.ask("And order A-1002?")
    studio.wait_for_pause("find_order").accept_draft()
    studio.wait_for_status("Completed")
    expect(studio.keyed("pane_context")).to_contain_text("1\u00d7")
    expect(_last_answer(studio)).to_contain_text("hostile text added")

    studio.like("rule_on_").locator("label").first.click()
    expect(studio.like("rule_on_").locator("input").first).not_to_be_checked()
    studio.rest()
    studio.ask("And order A-1002 once more?")
    studio.wait_for_pause("find_order").accept_draft()
    studio.wait_for_status("Completed")
    expect(studio.keyed("pane_timeline")).to_contain_text("switched hostile_")
    expect(studio.keyed("pane_context")).to_contain_text("1\u00d7")


def _add_fault(studio: Studio, words: str) -> None:
    """Find a fault in the library while its words are typed, and give it to the tool that waits."""
    studio.keyed("environment_head").wait_for()
    studio.rest()
    studio.like("search_fault").get_by_role("textbox").fill(words)
    card = studio.like("fault_hostile_").first
    expect(studio.like("fault_http_400")).to_have_count(0)
    expect(card).to_contain_text("Hostile text")
    studio.rest()
    studio.press(card.get_by_role("button", name="Add"))
    expect(studio.keyed("head_rule_editor")).to_contain_text("Edit hostile_")
    studio.rest()


def _last_answer(studio: Studio) -> Locator:
    """Open the last answer of the tool in the timeline."""
    studio.rest()
    return studio.open_step("find_order returned")
