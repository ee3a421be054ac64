"""The order desk in a browser, alone and beside agents that hang, sleep, spin, eat memory and end their process.

`tests/stories/test_bad_neighbours.py` goes the same way.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import BrowserContext

from tests.harness.browser import Studio, chromium
from tests.harness.neighbours import bad_server, bad_sessions, begun, p95, steps, words

STEPS, STARTS = 20, 1
MOST, MOST_LATE = 1.4, 1.6
"""So many times longer a step may take from the click to the next pause: in the middle, and the slowest but one.

The pages of the others are closed, as each person has a browser of their own: drawn by the same processors, five of them take more than the agents do,
which come behind the page. An agent that ended its process is started anew meanwhile, which a step in twenty may wait for. In the middle a step took 0.98 to 1.28
times as long, and one in twenty took longer than 0.95 to 1.11 times what it takes alone.
"""


@pytest.mark.browser
@pytest.mark.process
def test_a_step_takes_no_longer_beside_agents_that_misbehave(tmp_path: Path) -> None:
    """The same steps of the same session, before the others begin and while they are at work, with nobody looking at them."""
    with bad_server(tmp_path) as server, chromium() as browser:
        context: BrowserContext = browser.new_context()
        desk = begun(Studio(context, server.url), "order_desk", "Please cancel order A-1001 and refund me.")
        desk.wait_for_pause("find_order")
        steps(desk, 5)
        alone = steps(desk, STEPS)
        with bad_sessions(browser, server) as pages:
            for studio in pages.values():
                studio.page.goto("about:blank")
            steps(desk, 2)
            beside = steps(desk, STEPS)
        context.close()
    ratio, late = median(beside) / median(alone), sorted(beside)[-1 - STARTS] / sorted(alone)[-1 - STARTS]
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\na step alone {words(alone)}, beside five bad agents {words(beside)}: "
        f"{ratio:.2f} times (at most {MOST}), p95 {p95(beside) / p95(alone):.2f} times, but for the slowest {late:.2f} times (at most {MOST_LATE})"
    )
    assert ratio <= MOST
    assert late <= MOST_LATE
