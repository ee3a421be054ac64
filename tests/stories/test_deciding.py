"""A person answers tool calls: by a key, in text and form side by side, against the world, and by nobody until a rule asks."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.harness.browser import Studio, first_code

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

CANCEL = "Please cancel order A-1001 and refund me."


def test_an_answer_is_chosen_changed_held_and_given_all_the_same(studio: Studio) -> None:
    """A key puts an answer into the editor, text and form follow each other, and what breaks an invariant takes a second step."""
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


def test_a_session_goes_on_by_itself_until_a_rule_asks(studio: Studio) -> None:
    """With one switch the tools answer by themselves; a rule stops it with its words, one key goes on to the end."""
    studio.pick_agent("order_desk").start(CANCEL)
    studio.wait_for_pause("find_order")
    _add_asking_rule(studio, "refund_order", "Look at the money")
    studio.wait_for_pause("find_order")
    studio.keyed("auto_switch").locator("label").first.click()
    studio.wait_for_pause("refund_order")
    expect(studio.keyed("why_mine")).to_contain_text("Auto stopped here")
    expect(studio.keyed("why_mine")).to_contain_text("Look at the money")
    expect(studio.keyed("pane_timeline")).to_contain_text("draft, automatic")
    studio.like("players_").get_by_test_id("stPopoverButton").click()
    expect(studio.like("play_model")).to_be_visible()
    studio.page.keyboard.press("Escape")
    _press(studio, "Shift+1")
    studio.wait_for_status("Completed")


def test_a_guess_is_marked_drawn_anew_and_replaced_by_an_example(studio: Studio) -> None:
    """What is not known stands by its path; another draw outlives a reload and is undone; an example becomes the draft."""
    studio.pick_agent("seeker").start("Find her.")
    studio.wait_for_pause("find_customer")
    guess = studio.keyed("draft_guess")
    expect(guess).to_contain_text("points (integer)")
    expect(studio.button("ask_model")).to_be_disabled()
    first = studio.draft()
    studio.press(studio.button("draw_again"))
    expect(_editor(studio)).not_to_have_value(re.compile(re.escape(first["email"])))
    second = studio.draft()
    studio.page.reload()
    studio.wait_for_pause("find_customer")
    assert studio.draft() == second
    studio.press(studio.button("undo_step"))
    expect(_editor(studio)).to_have_value(re.compile(re.escape(first["email"])))
    studio.rest()
    studio.press(studio.button("paste_example"))
    field = studio.like("example_text_").get_by_role("textbox")
    field.fill('{"email": "ada@example.com", "points": "many"}')
    studio.click("use_example")
    studio.rest()
    expect(field).to_be_visible()
    expect(_editor(studio)).not_to_have_value(re.compile("many"))
    field.fill('{"email": "ada@example.com", "points": 12}')
    studio.press(studio.button("use_example"))
    expect(_editor(studio)).to_have_value(re.compile('"points": 12'))
    expect(guess).to_have_count(0)
    studio.accept_draft()
    studio.wait_for_pause("greet")
    expect(studio.keyed("draft_source")).to_contain_text("seeker/agent.py")
    expect(studio.keyed("ready_answers")).to_contain_text("Nobody is there.")  # the tool's own words


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
    _back(studio)


def _add_asking_rule(studio: Studio, tool: str, note: str) -> None:
    studio.click("open_environment")
    studio.keyed("environment_head").wait_for()
    studio.rest()
    studio.click("rule_add")
    studio.rest()
    for key, option in (("tool_rule", tool), ("e-kind_", "Ask me")):
        studio.like(key).get_by_role("combobox").click()
        studio.page.get_by_role("option", name=option, exact=True).click()
        studio.rest()
    _leave(studio.like("ask-note_").get_by_role("textbox"), note)
    studio.rest()
    studio.click("rule_save")
    expect(studio.like("rule_on_")).to_be_visible()
    _back(studio)


def _back(studio: Studio) -> None:
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
