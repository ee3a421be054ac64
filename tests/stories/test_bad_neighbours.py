"""Agents that hang, sleep, spin, eat memory or end their process hold up nobody else's session."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.harness.browser import Studio, studio_server
from tests.harness.processes import Served
from tests.kernel.projects import DESK, project

pytestmark = [pytest.mark.browser, pytest.mark.process]

BAD = {"sleeper": "sleep 12", "spinner": "spin", "leaver": "exit", "eater": "eat"}
EATS = """
    if words[0] == "eat":
        held = [bytearray(10**8) for _ in range(8)]
        time.sleep(60)
    while words[0] == "spin":
"""
STEPS = 8
MOST_SLOWER = 3.0
"""How many times longer a step may take at most beside all of them: two cores are shared with one that spins, with five pages, and
with whatever the machine does meanwhile."""


@pytest.fixture
def bad_server(tmp_path: Path) -> Iterator[Served]:
    """The studio with a folder of such agents; one of them never ends its import."""
    home = tmp_path / "agents"
    for name in BAD:
        project(home, DESK.replace('    while words[0] == "spin":\n', EATS.lstrip("\n")), name)
    project(home, "import time\ntime.sleep(3600)\n", "stuck")
    with studio_server(home, environment={"GOLDEN_TRACE_STORE": str(tmp_path / "kept.db")}) as served:
        yield served


def test_the_order_desk_goes_on_beside_them(
    bad_server: Served, context: BrowserContext, browser: Browser
) -> None:
    """Its steps take about as long as alone, and the one that spins can be stopped."""
    desk = _begun(Studio(context, bad_server.url), "order_desk", "Please cancel order A-1001 and refund me.")
    desk.wait_for_pause("find_order")
    _steps(desk, 3)
    alone = _steps(desk, STEPS)
    others = browser.new_context()
    pages = {name: _begun(Studio(others, bad_server.url), name, query) for name, query in BAD.items()}
    beside = _steps(desk, STEPS)
    print(f"a step alone {_words(alone)}, beside {_words(beside)}")  # noqa: T201 - a figure for whoever runs it
    assert statistics.median(beside) < MOST_SLOWER * statistics.median(alone)

    pages["spinner"].press(pages["spinner"].button("stop_turn"))
    expect(pages["spinner"].header).to_contain_text("Stopped")
    expect(pages["leaver"].decision).to_contain_text("The turn cannot go on")
    others.close()


def _begun(studio: Studio, agent: str, query: str) -> Studio:
    """Begin a session, though another agent is still being loaded."""
    studio.open()
    chosen = studio.keyed(f"choose_{agent}").get_by_role("button")
    expect(chosen).to_be_enabled()
    studio.rest()
    chosen.click()
    expect(studio.keyed(f"agent_chosen_{agent}")).to_be_visible()
    studio.rest()
    studio.keyed("start_query").get_by_role("textbox").fill(query)
    studio.press(studio.button("start_session"))
    studio.keyed("session_header").wait_for()
    return studio


def _steps(studio: Studio, number: int) -> list[float]:
    """Give how many seconds each answer took from the click to the next pause; each is taken back."""
    found = []
    for _ in range(number):
        accept = studio.decision.locator('[class*="st-key-accept_"]').get_by_role("button").last
        began = time.perf_counter()
        accept.click()
        expect(studio.keyed("decision_heading")).to_contain_text("cancel_order")
        found.append(time.perf_counter() - began)
        studio.rest()
        studio.act(studio.button("undo_step"))
        studio.wait_for_pause("find_order")
    return found


def _worst(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def _words(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f} ms (p95 {_worst(seconds) * 1000:.0f})"
