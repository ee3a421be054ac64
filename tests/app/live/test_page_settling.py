"""After a click the page waits for the next pause, but never so long that it looks dead."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.live import pause_wait
from app.live.pause_wait import FAST_PATH_SECONDS, REAL_WORK_SECONDS, settle
from simulator.seats.requests import RunningCall
from tests.app.fakes import FakeSimulation

SLICE = 0.06


class Waiting(FakeSimulation):
    """Comes to rest after so many seconds of a clock that only waiting moves."""

    def __init__(self, left: float) -> None:
        super().__init__()
        self.left, self.waited = left, 0.0

    def wait(self, timeout: float | None = None) -> bool:
        """Come to rest when the time has passed."""
        assert timeout is not None
        waited = min(timeout, self.left)
        self.waited += waited
        self.left -= waited
        return self.left <= 0


@pytest.mark.parametrize(
    ("left", "runs", "least", "most"),
    [
        (0.0, False, 0.0, 0.0),
        (0.1, False, 0.1, 0.1 + SLICE),
        (60.0, False, FAST_PATH_SECONDS, FAST_PATH_SECONDS + SLICE),
        (60.0, True, REAL_WORK_SECONDS, FAST_PATH_SECONDS - SLICE),
    ],
    ids=["at rest", "soon", "long", "a real tool"],
)
def test_a_pause_is_waited_for(
    left: float, runs: bool, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at rest; as long as it takes where it comes soon; for a moment where it does not, and less where a real tool runs.

    Patched, so that no test takes as long.
    """
    simulation = Waiting(left)
    if runs:
        simulation.running = (RunningCall(kind="tool", key="k", name="slow", since=0.0),)
    monkeypatch.setattr(pause_wait, "time", SimpleNamespace(monotonic=lambda: simulation.waited))
    settle(simulation)
    assert least <= simulation.waited <= most
