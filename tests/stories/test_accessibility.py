"""Everyone can read the pages and use them: axe-core finds nothing on them, in light and in dark."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.harness.accessibility import violations
from tests.harness.browser import ALL_LOADED_MS, Studio
from tests.stories.pictures import CANCEL, edited_set

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("stories sets")]


def test_no_page_breaks_a_rule_of_accessibility(studio: Studio, tmp_path: Path) -> None:
    """From the start page over a session, its environment and export to a set, its case and its verification."""
    expect(studio.like("agent_unread_")).to_have_count(0, timeout=ALL_LOADED_MS)
    studio.pick_agent("order_desk")
    assert violations(studio) == []
    _session(studio)
    _eval_set(studio, edited_set(tmp_path / "orders.evalset.json"))


def _session(studio: Studio) -> None:
    """Play the agent and its tool, look at the environment, and export what became of it."""
    studio.start(CANCEL, agents="You")
    studio.wait_for_pause("next turn")
    studio.choose("kind_", "Call tools")
    studio.click("chip_find_order")
    studio.rest()
    expect(studio.decision.get_by_label("order_id", exact=True)).to_have_value("A-1001")
    assert violations(studio) == []
    studio.accept_draft()
    studio.wait_for_pause("find_order")
    assert violations(studio) == []
    studio.click("open_environment")
    studio.keyed("environment_tab").wait_for()
    assert violations(studio) == []
    for tab in ("World", "Sources"):
        studio.choose("environment_tab", tab)
        assert violations(studio) == []
    studio.click("environment_back")
    studio.wait_for_pause("find_order").accept_draft()
    studio.wait_for_pause("next turn")
    studio.choose("kind_", "Reply")
    studio.like("say_").get_by_role("textbox").fill("It was cancelled.")
    studio.accept_draft()
    studio.wait_for_status("Completed")
    assert violations(studio) == []
    studio.click("open_export")
    studio.keyed("head_export_ways").wait_for()
    assert violations(studio) == []


def _eval_set(studio: Studio, path: Path) -> None:
    """Look at the list of sets, and at a set, its case and its verification."""
    studio.open(f"{studio.url}/?page=sets")
    assert violations(studio) == []
    studio.open(f"{studio.url}/?page=sets&set={quote(str(path))}")
    expect(studio.keyed("cases_count")).to_contain_text("2 cases")
    assert violations(studio) == []
    studio.like("cases_table_").get_by_test_id("stDataFrameResizable").click(position={"x": 16, "y": 52})
    expect(studio.keyed("case_title")).to_have_text("cancel_and_refund")
    studio.rest()
    studio.unfold("case_step_cancel_and_refund_0_2")
    assert violations(studio) == []
    studio.click("case_back")
    studio.choose("set_tab", "Run")
    studio.click("verify_go")
    studio.keyed("divergence").wait_for()
    assert violations(studio) == []
    studio.click("verify_keep")
    studio.choose("set_tab", "Runs")
    studio.like("runs_folder").first.wait_for()
    assert violations(studio) == []
