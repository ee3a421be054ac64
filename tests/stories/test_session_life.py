"""What people do to a page beside filling it in: stop it, open it twice, go back and take another way."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.harness.browser import NewTab, Studio
from tests.harness.processes import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

CANCEL = "Please cancel order A-1001 and refund me."
EDITED = '{"order_id": "A-1001", "status": "shipped"}'


def test_a_slow_real_tool_is_stopped(studio: Studio) -> None:
    """While a real tool works the page says so and counts its seconds, and ends the turn when it is told to; the next one is played."""
    studio.pick_agent("slow").start("Dig.")
    studio.wait_for_pause("dig").begin_real()
    running = studio.keyed("running")
    expect(running).to_contain_text("dig")
    expect(studio.header).to_contain_text("Running")
    expect(running).to_contain_text("2 s")
    studio.press(running.get_by_role("button", name="Stop turn"))
    studio.wait_for_status("Stopped")
    expect(running).to_have_count(0)
    assert any("Stopped" in step for step in studio.steps)
    studio.ask("Dig again.")
    studio.wait_for_pause("dig").write_response({"depth": 1})
    studio.wait_for_status("Completed")


def test_what_is_being_typed_is_kept_before_the_editor_is_left(studio: Studio, new_tab: NewTab) -> None:
    """A browser that crashes right after a pause in the typing loses nothing; whoever types on is not disturbed."""
    other = new_tab().open()
    studio.pick_agent("order_desk").start(CANCEL)
    studio.wait_for_pause("find_order")
    editor = studio.like("response_").get_by_role("textbox")
    editor.fill(EDITED)

    def is_kept() -> bool:
        other.open(studio.page.url).wait_for_pause("find_order")
        return bool(other.draft() == json.loads(EDITED))

    wait_until(is_kept, what="what was typed to be kept")
    expect(editor).to_be_focused()
    studio.page.keyboard.press("End")
    studio.page.keyboard.type(" ")
    expect(editor).to_have_value(f"{EDITED} ")


def test_a_step_is_taken_another_way_and_both_ways_are_compared_and_walked(studio: Studio) -> None:
    """An answer in the middle is given otherwise; undo leads back, and redo along the way that was taken last.

    Both ways are drawn and listed, stand side by side, and the first one is gone back to as it was.
    """
    studio.pick_agent("order_desk").start(CANCEL)
    order = studio.wait_for_pause("find_order").draft()
    studio.run_real()
    studio.wait_for_pause("cancel_order")
    first = studio.steps
    expect(studio.like("open_branches")).to_have_count(0)
    studio.open_step("find_order returned")
    studio.act(studio.button("another_way_"))
    studio.wait_for_pause("find_order")
    expect(studio.decision).to_contain_text("already started")
    studio.write_response({**order, "status": "shipped"})
    studio.wait_for_status("Completed")
    second = studio.steps
    studio.act(studio.button("undo_step"))
    studio.wait_for_pause("find_order")
    studio.act(studio.button("undo_step"))
    expect(studio.like("query_text").get_by_role("textbox")).to_have_value(CANCEL)
    for _ in range(2):
        studio.act(studio.button("redo_step"))
    assert studio.steps == second != first
    studio.click("open_branches")
    expect(studio.keyed("branches_tree")).to_contain_text("you are here")
    expect(studio.keyed("branch_1")).to_contain_text('There: find_order answered: status: "processing"')
    expect(studio.keyed("branch_1")).to_contain_text('Here: find_order answered: status: "shipped"')
    studio.rest()
    studio.click("branch_compare_1")
    expect(studio.like("compared_left_changed").first).to_contain_text('result.status: "shipped"')
    expect(studio.like("compared_right_changed").first).to_contain_text('result.status: "processing"')
    studio.rest()
    studio.choose("branches_view", "Tree")
    studio.click("branch_go_1")
    studio.keyed("session_header").wait_for()
    studio.wait_for_pause("cancel_order")
    assert studio.steps == first
