"""Sessions outlive the server: it is killed in the middle of a turn, comes back, and everybody goes on where they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.harness.browser import Studio, studio_server
from tests.harness.processes import kill

pytestmark = [pytest.mark.browser, pytest.mark.process]

CANCEL = "Please cancel order A-1001 and refund me."


def test_a_killed_server_comes_back_with_everything(context: BrowserContext, tmp_path: Path) -> None:
    """Two tabs on one session: after the kill both show the call that waits, with what was typed, and one goes on."""
    kept = {"GOLDEN_TRACE_STORE": str(tmp_path / "sessions.db")}
    with studio_server(environment=kept) as served:
        first, second = Studio(context, served.url), Studio(context, served.url)
        first.open()
        first.pick_agent("order_desk").start(CANCEL)
        first.wait_for_pause("find_order").run_real()
        first.wait_for_pause("cancel_order")
        first.like("response_").get_by_role("textbox").fill('{"order_id": "A-1001", "status": "cancelled"}')
        first.like("response_").get_by_role("textbox").blur()
        address = first.page.url.removeprefix(served.url)
        second.open(first.page.url)
        second.wait_for_pause("cancel_order")
        steps = second.steps
        expect(second.like("response_").get_by_role("textbox")).to_have_value(
            '{"order_id": "A-1001", "status": "cancelled"}'
        )
        kill(served.process)
    with studio_server(environment=kept) as served:
        again, other = Studio(context, served.url), Studio(context, served.url)
        again.open(served.url + address)
        again.wait_for_pause("cancel_order")
        assert again.steps == steps
        expect(again.like("response_").get_by_role("textbox")).to_have_value(
            '{"order_id": "A-1001", "status": "cancelled"}'
        )
        other.open(served.url + address)
        other.wait_for_pause("cancel_order")
        again.accept_draft()
        other.wait_for_pause("refund_order")
        other.accept_draft()
        again.wait_for_status("Completed")
        assert sum("find_order returned" in step for step in again.steps) == 1
        again.click("new_session")
        expect(again.page.get_by_role("button", name="Please cancel order")).to_be_visible()
