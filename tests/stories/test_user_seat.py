"""A scenario speaks for the user, each message held for a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.harness.browser import Studio
from tests.stories.reading import case_of

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]


def _query(studio: Studio) -> Locator:
    return studio.like("query_text").get_by_role("textbox").first


def _fill(studio: Studio, key: str, text: str) -> None:
    studio.like(key).get_by_role("textbox").first.fill(text)
    studio.rest()


def _play_the_user(studio: Studio) -> None:
    """Begin a session whose user is a scenario."""
    studio.pick_agent("talking").start()
    studio.choose("context_view", "Seats")
    studio.select("seat_user", "Scenario")
    _fill(studio, "starting_prompt_", "Hello there.")
    _fill(studio, "conversation_plan_", "Talk until you had three answers.")
    _fill(studio, "model_user", "talker-1")
    studio.click("seat_user_sit")


def test_a_held_scenario_is_accepted_and_changed(studio: Studio, tmp_path: Path) -> None:
    """The golden trace has one turn for each message, in the words that were sent; a refresh, or Back and Forward, lose nothing, also not what was typed last."""
    _play_the_user(studio)
    expect(_query(studio)).to_have_value("Hello there.")
    studio.rest()
    studio.page.keyboard.press("ControlOrMeta+Enter")  # a blind key sends nothing that others may pay for
    studio.rest()
    expect(_query(studio)).to_have_value("Hello there.")
    studio.click("query_send")
    expect(_query(studio)).to_have_value("Message number 2.")
    studio.rest()

    _query(studio).fill("Message number 2, changed.")
    studio.page.reload()  # at once, before the browser has handed over what was typed
    studio.rest()
    expect(_query(studio)).to_have_value("Message number 2, changed.")
    _query(studio).fill("Message number 2, changed again.")
    studio.page.go_back()
    studio.like("start_query").wait_for()
    studio.page.go_forward()
    expect(_query(studio)).to_have_value("Message number 2, changed again.")
    studio.rest()
    studio.click("query_send")
    expect(_query(studio)).to_have_value("Message number 3.")
    studio.rest()

    case = case_of(studio.export_to(tmp_path / "talk.evalset.json", "frozen"), "frozen")
    said = [turn.user_content.parts[0].text for turn in case.conversation or () if turn.user_content.parts]
    assert said == ["Hello there.", "Message number 2, changed again."]
