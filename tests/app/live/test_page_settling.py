"""After a click the page waits for the next pause, but never so long that it looks dead."""

from __future__ import annotations

import time

from app.live.pause_wait import FAST_PATH_SECONDS, REAL_WORK_SECONDS, settle
from simulator.seats.requests import RunningCall
from tests.app.fakes import FakeSimulation


class Waiting(FakeSimulation):
    """Notes how long it was waited for, in all, and comes to rest after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def wait(self, timeout: float | None = None) -> bool:
        """Come to rest when the time has passed."""
        assert timeout is not None
        waited = min(timeout, max(self.seconds, 0))
        time.sleep(waited)
        self.seconds -= waited
        return self.seconds <= 0


def test_a_simulation_at_rest_is_not_waited_for() -> None:
    """One question, and the page goes on."""
    simulation = Waiting(0)
    settle(simulation)
    assert simulation.seconds == 0


def test_a_pause_within_the_moment_is_waited_for() -> None:
    """What takes a tenth of a second is on the page that the click draws."""
    simulation = Waiting(0.1)
    settle(simulation)
    assert simulation.seconds <= 0


def test_what_takes_long_is_left_to_itself() -> None:
    """After the moment the page is drawn, though nothing has paused."""
    simulation = Waiting(60)
    settle(simulation)
    assert 60 - simulation.seconds >= FAST_PATH_SECONDS - 0.1
    assert simulation.seconds > 50


def test_real_work_is_shown_sooner() -> None:
    """Where a real tool runs, the page shows it before the moment is over."""
    simulation = Waiting(60)
    simulation.running = (RunningCall(kind="tool", key="k", name="slow", since=0.0),)
    settle(simulation)
    assert REAL_WORK_SECONDS - 0.05 <= 60 - simulation.seconds < FAST_PATH_SECONDS
