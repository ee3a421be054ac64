"""The order desk in a browser, alone and beside agents that hang, sleep, spin, eat memory and end their process."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext

from tests.harness.browser import Studio, chromium
from tests.harness.neighbours import bad_server, bad_sessions, begun, p95, steps, words

STEPS = 40
AIM, MOST = 1.3, 1.5
"""So much longer shall, and may at most, the slowest of twenty steps take from the click to the next pause; two cores are shared with one that spins."""


def test_a_step_takes_no_longer_beside_agents_that_misbehave(tmp_path: Path) -> None:
    """The same steps of the same session, before the others begin and while they are at work."""
    with bad_server(tmp_path) as server, chromium() as browser:
        context: BrowserContext = browser.new_context()
        desk = begun(Studio(context, server.url), "order_desk", "Please cancel order A-1001 and refund me.")
        desk.wait_for_pause("find_order")
        steps(desk, 5)
        alone = steps(desk, STEPS)
        with bad_sessions(browser, server):
            steps(desk, 2)
            beside = steps(desk, STEPS)
        context.close()
    ratio = p95(beside) / p95(alone)
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\na step alone {words(alone)}, beside five bad agents {words(beside)}: p95 {ratio:.2f} times (aim {AIM})"
    )
    assert ratio <= MOST
