"""Waits for a script that plays in a session of the page, or for the replay of a recorded case."""

from __future__ import annotations

from app.live.live_sessions import LiveSession
from simulator.scripts import ScriptProgress
from tests.app.page_driver import Tab
from tests.simulator.runtime.stage import PATIENCE


def until(live: LiveSession, state: str) -> ScriptProgress:
    """Wait until it asks, or is over."""
    assert live.script is not None
    assert live.script.wait(lambda progress: state == "asks" and bool(progress.asks), PATIENCE)
    return live.script.progress


def comes_through(live: LiveSession) -> bool:
    """Wait until it is over; tell whether it did all that it says."""
    played = until(live, "over").played
    return played is not None and played.came_through


def told(tab: Tab) -> str:
    """Return the line on the page that tells how far it is."""
    return str(tab.block("script_words").text[0].value)
