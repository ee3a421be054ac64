"""A person without a mouse plays, fails, undoes and exports a session, verifies a set and corrects a case in it: by keys alone."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from tests.harness.browser import ALL_LOADED_MS, Studio, first_code
from tests.stories.pictures import CANCEL, edited_set

pytestmark = [pytest.mark.browser, pytest.mark.process]

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
    write(studio, studio.like("start_query").get_by_role("textbox"), "Send a large parcel to Main street 7.")
    press(studio, studio.button("start_session"), "Enter")
    studio.keyed("session_header").wait_for()
    studio.wait_for_pause("next turn")

    for key in ("ArrowLeft", " ", "ArrowRight", " "):
        press(studio, studio.like("kind_").get_by_role("radiogroup"), key)
    write(studio, studio.decision.get_by_label("street", exact=True), "Main street")
    write(studio, studio.decision.get_by_label("number", exact=True), "7")
    expect(studio.decision).to_contain_text("user message")
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


@pytest.mark.long
def test_a_developer_fails_a_call_undoes_and_redoes_it_and_exports(studio: Studio, tmp_path: Path) -> None:
    """The focus goes into the menu that opens, and to what is left where something was answered."""
    expect(studio.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
    press(studio, studio.keyed("choose_order_desk").get_by_role("button"), "Enter")
    write(studio, studio.like("start_query").get_by_role("textbox"), CANCEL)
    press(studio, studio.like("start_query").get_by_role("textbox"), "Control+Enter")
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
    press(studio, studio.button("redo_step"), "Enter")
    expect(studio.keyed("pane_timeline")).to_contain_text("cancel_order failed")
    press(studio, studio.button("undo_step"), "Enter")
    studio.wait_for_pause("cancel_order")
    expect(send_button(studio)).to_be_visible()
    studio.page.keyboard.press("Control+Enter")
    studio.wait_for_pause("refund_order")
    studio.page.keyboard.press("Control+Enter")
    studio.wait_for_status("Completed")
    path = exported(studio, tmp_path / "keys.evalset.json")
    assert called_in(path) == ["find_order", "cancel_order", "refund_order"]


@pytest.mark.long
def test_a_tester_verifies_a_set_and_an_expert_corrects_its_case(studio: Studio, tmp_path: Path) -> None:
    """An editor has the focus when it opens, and its step has it after "Apply", still open."""
    path = edited_set(tmp_path / "keys.evalset.json")
    studio.open(f"{studio.url}/?page=sets&set={quote(str(path))}")
    tabs = studio.keyed("set_tab").get_by_role("radiogroup")
    press(studio, tabs, "ArrowRight")
    press(studio, tabs, "Space")
    press(studio, studio.button("verify_go"), "Enter")
    expect(studio.keyed("divergence")).to_contain_text("amount")
    studio.rest()
    press(studio, tabs, "ArrowLeft")
    press(studio, tabs, "Space")
    reach(studio, studio.like("cases_table_").get_by_test_id("data-grid-canvas"))
    studio.page.keyboard.press("Shift+Space")
    expect(studio.keyed("case_title")).to_have_text("cancel_and_refund")
    studio.rest()
    step = studio.keyed("case_step_cancel_and_refund_0_7")
    press(studio, step.locator("summary"), "Enter")
    press(studio, step.get_by_role("button", name="Edit", exact=True), "Enter")
    expect(studio.like("text_part-").get_by_role("textbox")).to_be_focused()
    write(studio, studio.like("text_part-").get_by_role("textbox"), "It was cancelled today.")
    studio.page.keyboard.press("Control+Enter")
    expect(studio.keyed("part_accept")).to_have_count(0)
    expect(step.get_by_role("button", name="Edit", exact=True)).to_be_visible()
    expect_focus_within(studio, "case_step_cancel_and_refund_0_7")
    press(studio, studio.button("set_save"), "Enter")
    expect(studio.keyed("set_head")).not_to_contain_text("Not saved")
    final = json.loads(path.read_text())["eval_cases"][0]["conversation"][0]["final_response"]
    assert final["parts"][0]["text"] == "It was cancelled today."


def exported(studio: Studio, path: Path) -> Path:
    """Write the session to a set; return the file."""
    press(studio, studio.button("open_export"), "Enter")
    write(studio, studio.like("export_path_").get_by_role("textbox"), str(path))
    press(studio, studio.button("export_write"), "Enter")
    return Path(first_code(studio.keyed("export_done")))


def called_in(path: Path) -> list[str]:
    """Read which tools the first turn of the first case calls."""
    case = json.loads(path.read_text())["eval_cases"][0]
    return [call["name"] for call in case["conversation"][0]["intermediate_data"]["tool_uses"]]


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
