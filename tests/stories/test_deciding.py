"""A person answers tool calls: by a key, in text and form side by side, and against the world."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.harness.browser import Studio, first_code

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

CANCEL = "Please cancel order A-1001 and refund me."


def test_an_answer_is_chosen_changed_held_and_given_all_the_same(studio: Studio) -> None:
    """A key puts an answer into the editor, text and form follow each other, and what breaks an invariant takes a second step; another key gives one at once."""
    studio.pick_agent("order_desk").start(CANCEL)
    studio.wait_for_pause("find_order")
    editor, form = _editor(studio), studio.keyed("side_form")
    draft = editor.input_value()
    _press(studio, "4")
    expect(studio.keyed("ready_line_edge").locator(".st-key-ready_words_shown")).to_have_count(1)
    expect(studio.like("diff_offer").locator("code")).to_contain_text("+ ")
    assert editor.input_value() != draft
    _press(studio, "1")
    expect(editor).to_have_value(draft)

    _leave(form.get_by_label("customer_id", exact=True), "C-99")
    expect(editor).to_have_value(re.compile('"customer_id": "C-99"'))
    studio.rest()
    editor.fill(editor.input_value().replace("C-99", "C-100"))
    editor.blur()
    expect(form.get_by_label("customer_id", exact=True)).to_have_value("C-100")
    studio.rest()
    _press(studio, "2")
    studio.click("bring_back")
    expect(editor).to_have_value(re.compile('"customer_id": "C-100"'))

    _add_invariant(studio, "order.total >= 0")
    _leave(studio.keyed("side_form").get_by_label("total", exact=True), "-5")
    expect(studio.keyed("contradictions")).to_contain_text("breaks 'order.total >= 0'")
    studio.rest()
    studio.page.keyboard.press("Control+Enter")
    expect(studio.keyed("contradictions")).to_contain_text("Not sent")
    studio.rest()
    studio.act(studio.button("insist"))
    studio.wait_for_pause("cancel_order")
    assert json.loads(_last_answer(studio))["customer_id"] == "C-100"
    _press(studio, "Shift+1")
    studio.wait_for_status("Completed")


def _editor(studio: Studio) -> Locator:
    return studio.like("response_").get_by_role("textbox")


def _press(studio: Studio, key: str) -> None:
    """Press a key while no input has the cursor."""
    studio.rest()
    studio.page.evaluate("document.activeElement.blur()")
    studio.page.keyboard.press(key)
    studio.rest()


def _leave(field: Locator, text: str) -> None:
    """Fill an input of the form, and leave it."""
    field.fill(text)
    field.press("Tab")


def _add_invariant(studio: Studio, line: str) -> None:
    studio.rest()
    studio.click("open_environment")
    studio.keyed("environment_head").wait_for()
    studio.choose("environment_tab", "World")
    studio.choose("world_part", "Invariants")
    field = studio.like("invariant_json_invariant-new").get_by_role("textbox")
    field.fill(line)
    field.press("Enter")
    studio.rest()
    studio.click("invariant_add")
    expect(studio.keyed("invariant_row_0")).to_be_visible()
    studio.rest()
    studio.click("environment_back")
    studio.keyed("session_header").wait_for()
    studio.rest()


def _last_answer(studio: Studio) -> str:
    """Read the last answer of find_order in the timeline."""
    return first_code(studio.open_step("find_order returned"))


SLOW_LINE = """
const slow = 1500;
const add = WebSocket.prototype.addEventListener;
const later = (handler) => (event) => setTimeout(() => handler(event), slow);
WebSocket.prototype.addEventListener = function (kind, handler, ...rest) {
  return add.call(this, kind, kind === "message" ? later(handler) : handler, ...rest);
};
Object.defineProperty(WebSocket.prototype, "onmessage", {
  set(handler) { add.call(this, "message", later(handler)); },
});
"""
"""Lets whatever the server says reach the page one and a half seconds later."""


def test_a_click_right_after_typing_gives_what_was_typed(studio: Studio) -> None:
    """On a slow line the click leaves before text and form agree in the browser: what was typed last is given all the same."""
    studio.page.add_init_script(SLOW_LINE)
    studio.page.reload()
    studio.pick_agent("order_desk").start(CANCEL)
    studio.wait_for_pause("find_order")
    expect(_editor(studio)).to_have_value(re.compile("A-1001"))
    typed = json.loads(_editor(studio).input_value()) | {"customer_id": "C-100"}
    _editor(studio).fill(json.dumps(typed))
    _give_before_it_is_drawn(studio, _editor(studio))
    studio.wait_for_pause("cancel_order")
    expect(studio.like("step_").locator("summary").filter(has_text="edited")).to_have_count(1)
    assert json.loads(_last_answer(studio))["customer_id"] == "C-100"
    reason = studio.keyed("side_form").get_by_label("reason", exact=True)
    expect(reason).not_to_have_value("")
    reason.fill("as you wish")
    _give_before_it_is_drawn(studio, reason)
    studio.wait_for_pause("refund_order")
    expect(studio.like("step_").locator("summary").filter(has_text="edited")).to_have_count(2)


def _give_before_it_is_drawn(studio: Studio, left: Locator) -> None:
    """Leave an input, and click when the server has changed the other ones, which the page has not heard yet."""
    studio.rest()
    left.blur()
    studio.heard()
    studio.press(studio.like("accept_").get_by_role("button").last)
