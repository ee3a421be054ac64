"""Waits a moment after a click, so that the next pause is seen at once and progress soon."""

from __future__ import annotations

import time

from simulator.runtime.commanding import Commanding

AT_ONCE = 0.0
"""Lets a command return before the next pause; `settle` waits for it."""

FAST_PATH_SECONDS = 0.3
"""How long a click waits for the next pause; what takes longer is shown as it comes."""

REAL_WORK_SECONDS = 0.1
"""How long it waits where a model or a real tool is at work, so that its progress is on the page within half a second."""

_SLICE_SECONDS = 0.05


def settle(simulation: Commanding) -> None:
    """Wait a moment for the next pause; less where something real is at work."""
    began = time.monotonic()
    while not simulation.wait(_SLICE_SECONDS):
        waited = time.monotonic() - began
        if waited >= FAST_PATH_SECONDS or (waited >= REAL_WORK_SECONDS and simulation.view().running):
            return
