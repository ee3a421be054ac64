"""Tells when everything that a turn has been set going on has come to rest: callbacks, timers and worker threads."""

from __future__ import annotations

import asyncio
from typing import Any

from simulator.runtime.adk.event_loop import StudioLoop

_UNMOVED_TICKS = 40
_LONGEST_SETTLING = 2.0
_LOOK_AT_THREADS = 1e-3
_SHORTEST_SLEEP = 1e-4


class Settling:
    """What a turn is doing by itself; times in seconds.

    The loop notes the turn's own `timers` until they fire, and its futures `in_threads` until they are done. The turn
    counts in `activity` what it does.
    """

    def __init__(self, loop: StudioLoop) -> None:
        self.timers: set[asyncio.TimerHandle] = set()
        self.in_threads: set[asyncio.Future[Any]] = set()
        self.activity = 0
        self._loop, self._settled_at = loop, -1

    async def settle(self) -> None:
        """Wait until everything that the last answer set going has run."""
        if self._settled_at == self.activity and not self.timers and not self.in_threads:
            return  # nothing has been set going since
        until = self._loop.time() + _LONGEST_SETTLING
        while True:
            settled_at = await self._callbacks_settled()
            is_late = self._loop.time() >= until
            if settled_at != self.activity and not is_late:
                continue  # another who waited for the same moment was woken first, and has set something going
            wait = self._next_wake()
            if wait is None or is_late:
                self._settled_at = settled_at
                return
            await asyncio.sleep(min(wait, max(0.0, until - self._loop.time())))

    def is_under_way(self) -> bool:
        """Return whether a timer or a worker thread of the turn's own code is still to end."""
        return any(not timer.cancelled() for timer in self.timers) or bool(self.in_threads)

    def _callbacks_settled(self) -> asyncio.Future[int]:
        """Return a future of the activity at which nothing was left to run.

        It watches by callbacks: a task would cost more.
        """
        settled: asyncio.Future[int] = self._loop.create_future()

        def look(scheduled: int, activity: int, unmoved: int) -> None:
            # Everything that was ready has run by now. If our own look is the only callback that was scheduled
            # meanwhile, nothing is left. Other sessions may keep the loop busy, so standing still counts too.
            unmoved = unmoved + 1 if self.activity == activity else 0
            if settled.done():
                return
            if self._loop.scheduled == scheduled + 1 or unmoved >= _UNMOVED_TICKS:
                settled.set_result(self.activity)
            else:
                self._loop.call_soon(look, self._loop.scheduled, self.activity, unmoved)

        self._loop.call_soon(look, self._loop.scheduled, self.activity, 0)
        return settled

    def _next_wake(self) -> float | None:
        """Say how long the turn's own code sleeps at least; None if it does not, or for longer than anyone waits."""
        now = self._loop.time()
        self.timers = {timer for timer in self.timers if not timer.cancelled()}
        soonest = min((timer.when() - now for timer in self.timers), default=None)
        if self.in_threads:
            return (
                _LOOK_AT_THREADS if soonest is None else max(_SHORTEST_SLEEP, min(soonest, _LOOK_AT_THREADS))
            )
        return None if soonest is None or soonest > _LONGEST_SETTLING else max(_SHORTEST_SLEEP, soonest)
