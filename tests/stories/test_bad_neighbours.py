"""Agents that hang, sleep, spin, eat memory or end their process hold up nobody else's session."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.harness.browser import Studio
from tests.harness.neighbours import bad_server, bad_sessions, begun, steps

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.long]

STEPS = 2


def test_the_order_desk_goes_on_beside_them(
    tmp_path: Path, context: BrowserContext, browser: Browser
) -> None:
    """Its calls are answered while one of them spins without an end, which can be stopped."""
    with bad_server(tmp_path) as server:
        desk = begun(Studio(context, server.url), "order_desk", "Please cancel order A-1001 and refund me.")
        desk.wait_for_pause("find_order")
        with bad_sessions(browser, server) as pages:
            assert len(steps(desk, STEPS)) == STEPS
            pages["spinner"].press(pages["spinner"].button("stop_turn"))
            expect(pages["spinner"].header).to_contain_text("Stopped")
            expect(pages["leaver"].decision).to_contain_text("cannot continue")
