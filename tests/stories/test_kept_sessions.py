"""Sessions outlive the server: it is killed in the middle of a turn, comes back, and everybody goes on where they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.harness.browser import Studio, studio_server
from tests.harness.processes import kill

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

CANCEL = "Please cancel order A-1001 and refund me."
TYPED = '{"order_id": "A-1001", "status": "cancelled"}'


def test_a_killed_server_comes_back_with_everything(context: BrowserContext, tmp_path: Path) -> None:
    """After the kill the page shows the call that waits, with what was typed for it, and the session goes on to its end."""
    kept = {"GOLDEN_TRACE_STORE": str(tmp_path / "sessions.db")}
    with studio_server(environment=kept) as served:
        first = Studio(context, served.url).open()
        first.pick_agent("order_desk").start(CANCEL)
        first.wait_for_pause("find_order").run_real()
        first.wait_for_pause("cancel_order")
        first.like("response_").get_by_role("textbox").fill(TYPED)
        first.like("response_").get_by_role("textbox").blur()
        first.rest()
        steps, address = first.steps, first.page.url.removeprefix(served.url)
        kill(served.process)
    with studio_server(environment=kept) as served:
        again = Studio(context, served.url).open(served.url + address)
        again.wait_for_pause("cancel_order")
        assert again.steps == steps
        expect(again.like("response_").get_by_role("textbox")).to_have_value(TYPED)
        again.accept_draft()
        again.wait_for_pause("refund_order").accept_draft()
        again.wait_for_status("Completed")
        assert sum("find_order returned" in step for step in again.steps) == 1
        expect(again.keyed(f"recent_line_{again.session_id}")).to_be_visible()
