"""A person plays the agent itself, where no model can be reached, and exports what became of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.harness.browser import Studio
from tests.stories.reading import answer_of, calls_of, case_of

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories session")]

PARCEL = {"address": {"street": "Main street", "number": 7}, "size": "large"}


def test_a_person_plays_an_agent_without_a_key(studio: Studio, tmp_path: Path) -> None:
    """The page says why no model plays; a call is made through a form, its answer given, the last word said."""
    studio.pick_agent("keyless")
    expect(studio.keyed("start_form")).to_contain_text("so you play these agents")
    studio.start("Send a large parcel to Main street 7.")
    studio.wait_for_pause("next turn")
    studio.choose("view_", "Model sees")
    expect(studio.decision).to_contain_text("You send parcels.")
    expect(studio.decision).to_contain_text("Send a large parcel to Main street 7.")
    studio.choose("view_", "Turn")

    _call_by_form(studio)
    studio.wait_for_pause("send_parcel")
    expect(studio.decision).to_contain_text("Main street")
    studio.write_response({"parcel": "P-1", "size": "large"})

    studio.wait_for_pause("next turn")
    expect(studio.decision).to_contain_text("P-1")
    studio.like("say_").get_by_role("textbox").fill("Parcel P-1 is on its way.")
    studio.accept_draft()
    studio.wait_for_status("Completed")

    case = case_of(studio.export_to(tmp_path / "parcels.evalset.json", "parcel"), "parcel")
    assert calls_of(case) == [("send_parcel", PARCEL, {"parcel": "P-1", "size": "large"})]
    assert answer_of(case) == "Parcel P-1 is on its way."


def _call_by_form(studio: Studio) -> None:
    """Make the turn that calls the tool, field by field; what is not required stays out."""
    studio.choose("kind_", "Call tools")
    studio.decision.get_by_label("street", exact=True).fill("Main street")
    studio.decision.get_by_label("number", exact=True).fill("7")
    studio.decision.get_by_role("combobox", name="size").click()
    studio.page.get_by_role("option", name="large").click()
    studio.accept_draft()
