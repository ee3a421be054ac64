"""Agents that hang, sleep, spin, eat memory or end their process hold up nobody else's session."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.harness.browser import Studio
from tests.harness.neighbours import bad_server, bad_sessions, begun, steps, words

pytestmark = [pytest.mark.browser, pytest.mark.process]

STEPS = 5
MOST_SLOWER = 3.0
"""How many times longer a step may take at most beside all of them: two cores are shared with one that spins, with five pages, and
with whatever the machine does meanwhile."""


def test_the_order_desk_goes_on_beside_them(
    tmp_path: Path, context: BrowserContext, browser: Browser
) -> None:
    """Its steps take about as long as alone, and the one that spins can be stopped."""
    with bad_server(tmp_path) as server:
        desk = begun(Studio(context, server.url), "order_desk", "Please cancel order A-1001 and refund me.")
        desk.wait_for_pause("find_order")
        steps(desk, 2)
        alone = steps(desk, STEPS)
        with bad_sessions(browser, server) as pages:
            beside = steps(desk, STEPS)
            print(f"a step alone {words(alone)}, beside {words(beside)}")  # noqa: T201 - a figure for whoever runs it
            assert statistics.median(beside) < MOST_SLOWER * statistics.median(alone)

            pages["spinner"].press(pages["spinner"].button("stop_turn"))
            expect(pages["spinner"].header).to_contain_text("Stopped")
            expect(pages["leaver"].decision).to_contain_text("The turn cannot continue")
