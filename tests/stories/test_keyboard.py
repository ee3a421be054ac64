"""A person without a mouse starts a session, answers, fails and undoes a call, and ends the turn: by keys alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.harness.browser import ALL_LOADED_MS, Studio
from tests.stories.pictures import CANCEL

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories session")]

_STOPS = 150
"""More presses of Tab than any page takes to come around."""

_HAS_FOCUS = "part => part === document.activeElement || part.contains(document.activeElement)"


def test_a_turn_is_played_by_the_keyboard_alone(studio: Studio) -> None:
    """Each control on the way is reached by Tab and used by the keys that its kind has."""
    expect(studio.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
    studio.rest()
    press(studio, studio.keyed("choose_keyless").get_by_role("button"), "Enter")
    expect(studio.keyed("agent_chosen_keyless")).to_be_visible()
    studio.rest()
    write(studio, studio.keyed("start_query").get_by_role("textbox"), "Send a large parcel to Main street 7.")
    press(studio, studio.button("start_session"), "Enter")
    studio.keyed("session_header").wait_for()
    studio.wait_for_pause("next turn")

    press(studio, studio.like("kind_").get_by_role("radiogroup"), "ArrowRight")
    press(studio, studio.like("kind_").get_by_role("radiogroup"), " ")
    write(studio, studio.decision.get_by_label("street", exact=True), "Main street")
    write(studio, studio.decision.get_by_label("number", exact=True), "7")
    expect(studio.decision.get_by_text("From the user message")).to_be_visible()
    press(studio, send_button(studio), "Enter")
    studio.wait_for_pause("send_parcel")

    write(studio, studio.keyed("side_form").get_by_label("parcel", exact=True), "P-1")
    write(studio, studio.keyed("side_form").get_by_label("size", exact=True), "large")
    press(studio, send_button(studio), "Enter")
    studio.wait_for_pause("next turn")

    write(studio, studio.like("say_").get_by_role("textbox"), "Parcel P-1 is on its way.")
    press(studio, send_button(studio), "Enter")
    studio.wait_for_status("Completed")
    answered = studio.open_step("send_parcel")
    expect(answered).to_contain_text('"parcel": "P-1"')


def test_the_focus_follows_an_answer_a_fault_and_an_undo(studio: Studio) -> None:
    """The focus goes into the menu that opens, and to what is left where something was answered."""
    expect(studio.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
    press(studio, studio.keyed("choose_order_desk").get_by_role("button"), "Enter")
    write(studio, studio.keyed("start_query").get_by_role("textbox"), CANCEL)
    press(studio, studio.keyed("start_query").get_by_role("textbox"), "Control+Enter")
    studio.wait_for_pause("find_order")
    expect_focus_within(studio, "pane_decision")
    reach(studio, studio.button("choose_expected_"))
    for name in ("give_expected_", "choose_empty_", "choose_error_"):  # no hidden stop between them
        studio.page.keyboard.press("Tab")
        expect(studio.button(name)).to_be_focused()
    press(studio, studio.like("response_").get_by_role("textbox"), "Control+Enter")
    studio.wait_for_pause("cancel_order")
    expect_focus_within(studio, "pane_decision")

    press(studio, studio.button("fail_menu_"), "Enter")
    expect(studio.like("fail_search_menu_").get_by_role("textbox")).to_be_focused()
    press(studio, studio.like("fail_with_http_503_").get_by_role("button"), "Enter")
    expect(studio.keyed("pane_timeline")).to_contain_text("cancel_order failed")
    expect_focus_within(studio, "pane_decision")
    press(studio, studio.button("undo_step"), "Enter")
    expect(studio.keyed("pane_timeline")).not_to_contain_text("cancel_order failed")
    expect(studio.button("undo_step")).to_be_focused()


def expect_focus_within(studio: Studio, key: str) -> None:
    """Wait until a part of the page has the focus, or something in it."""
    expect(studio.page.locator(f".st-key-{key}:focus, .st-key-{key} :focus")).to_have_count(1)


def send_button(studio: Studio) -> Locator:
    """Find the button that sends what is in the decision pane."""
    return studio.decision.locator('[class*="st-key-accept_"]').get_by_role("button").last


def press(studio: Studio, control: Locator, key: str) -> None:
    """Go to a control by Tab, press a key there, and wait until the page rests."""
    reach(studio, control)
    studio.page.keyboard.press(key)
    studio.rest()


def write(studio: Studio, field: Locator, text: str) -> None:
    """Go to a field by Tab, and write something else into it."""
    reach(studio, field)
    studio.page.keyboard.press("Control+a")
    studio.page.keyboard.type(text)


def reach(studio: Studio, control: Locator) -> None:
    """Press Tab until the focus is on a control, or in it."""
    control.wait_for()
    for _ in range(_STOPS):
        if control.evaluate(_HAS_FOCUS):
            studio.rest()
            return
        studio.page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {control}")
