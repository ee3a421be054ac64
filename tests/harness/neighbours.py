"""Agents that hang, sleep, spin, eat memory or end their process; and the order desk's steps in a browser beside them, timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.harness.browser import Studio, studio_server, visitor
from tests.harness.processes import Served
from tests.simulator.kernel.projects import DESK, project

BAD = {"sleeper": "sleep 12", "spinner": "spin", "leaver": "exit", "eater": "eat"}
EATS = """
    if words[0] == "eat":
        held = [bytearray(10**8) for _ in range(8)]
        time.sleep(60)
    while words[0] == "spin":
"""


@contextmanager
def bad_server(folder: Path) -> Iterator[Served]:
    """Run the studio with a folder of such agents; one of them never ends its import."""
    home = folder / "agents"
    for name in BAD:
        project(home, DESK.replace('    while words[0] == "spin":\n', EATS.lstrip("\n")), name)
    project(home, "import time\ntime.sleep(3600)\n", "stuck")
    with studio_server(home, environment={"GOLDEN_TRACE_STORE": str(folder / "kept.db")}) as served:
        yield served


@contextmanager
def bad_sessions(browser: Browser, server: Served) -> Iterator[dict[str, Studio]]:
    """Begin a session with each of them, in pages of their own."""
    others = visitor(browser)
    yield {name: begun(Studio(others, server.url), name, query) for name, query in BAD.items()}
    others.close()


def begun(studio: Studio, agent: str, query: str) -> Studio:
    """Begin a session, though another agent is still being loaded."""
    studio.open()
    chosen = studio.keyed(f"choose_{agent}").get_by_role("button")
    expect(chosen).to_be_enabled()
    studio.rest()
    chosen.click()
    expect(studio.keyed(f"agent_chosen_{agent}")).to_be_visible()
    studio.rest()
    studio.like("start_query").get_by_role("textbox").fill(query)
    studio.press(studio.button("start_session"))
    studio.keyed("session_header").wait_for()
    return studio


def steps(studio: Studio, number: int) -> list[float]:
    """Return how many seconds each answer took from the click to the next pause; each is taken back."""
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


def p95(seconds: list[float]) -> float:
    """Return the time that one in twenty takes longer than."""
    return statistics.quantiles(seconds, n=20)[-1]


def words(seconds: list[float]) -> str:
    """Write times down: `381 ms (p95 582)`."""
    return f"{statistics.median(seconds) * 1000:.0f} ms (p95 {p95(seconds) * 1000:.0f})"
