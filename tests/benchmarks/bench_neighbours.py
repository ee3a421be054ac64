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

ALONE, STEPS, STARTS = 8, 10, 2
MOST, MOST_LATE = 2.0, 2.5
"""So many times longer a step may take from the click to the next pause: in the middle, and the slowest but two.

On two cores, one of which spins, an agent that ended its process is started anew meanwhile: a step that falls into that waits two or three times as long,
and whether one or two do is chance, so they are printed alone. The one that spins takes what the step leaves of its core: 1.2 to 1.4 times in the middle, and up to 1.7
where both processors are threads of one core. All others are held to
bars that only steps which wait for a neighbour itself break: the sleeper sleeps 12 s, the spinner has no end, and each step would wait for them.
"""


@pytest.mark.browser
@pytest.mark.process
def test_a_step_takes_no_longer_beside_agents_that_misbehave(tmp_path: Path) -> None:
    """The same steps of the same session, before the others begin and while they are at work."""
    with bad_server(tmp_path) as server, chromium() as browser:
        context: BrowserContext = browser.new_context()
        desk = begun(Studio(context, server.url), "order_desk", "Please cancel order A-1001 and refund me.")
        desk.wait_for_pause("find_order")
        steps(desk, 5)
        alone = steps(desk, ALONE)
        with bad_sessions(browser, server):
            steps(desk, 2)
            beside = steps(desk, STEPS)
        context.close()
    ratio, late = median(beside) / median(alone), sorted(beside)[-1 - STARTS] / max(alone)
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\na step alone {words(alone)}, beside five bad agents {words(beside)}: "
        f"{ratio:.2f} times (at most {MOST}), p95 {p95(beside) / p95(alone):.2f} times, but for the slowest {STARTS} {late:.2f} times (at most {MOST_LATE})"
    )
    assert ratio <= MOST
    assert late <= MOST_LATE
