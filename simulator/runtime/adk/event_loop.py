"""The one thread that runs every agent, on an event loop that can tell when all that a turn has set going has come to rest."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import functools
import gc
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple

from simulator.runtime.adk.outside_work import watch_outside_work
from simulator.runtime.adk.turn_context import CURRENT_TURN, INSIDE_REAL_CALL

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
        if not self.timers and not self.in_threads:
            return None
        now = self._loop.time()
        self.timers = {timer for timer in self.timers if not timer.cancelled()}
        soonest = min((timer.when() - now for timer in self.timers), default=None)
        if self.in_threads:
            return (
                _LOOK_AT_THREADS if soonest is None else max(_SHORTEST_SLEEP, min(soonest, _LOOK_AT_THREADS))
            )
        return None if soonest is None or soonest > _LONGEST_SETTLING else max(_SHORTEST_SLEEP, soonest)


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# A paused code executor blocks a worker thread for as long as a person thinks, so a few must not use up all.
_WORKER_THREADS = 64

_END_SECONDS = 2

_OLD_PACE, _NEW_PACE = (700, 10, 10), (2000, 10, 10)

_LOG = logging.getLogger(__name__)


class StudioLoop(asyncio.SelectorEventLoop):
    """An event loop that counts what it is asked to do, so that `settle` can wait for the consequences of an answer.

    `scheduled` counts callbacks. For a turn in progress, its `settling` is told what it still waits for:
    code of the agent (callbacks, graph nodes) may sleep or run in a worker thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scheduled = 0

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Count the callback, then schedule it."""
        self.scheduled += 1
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Note whose timer it is until it has fired, then schedule it."""
        turn = CURRENT_TURN.get()
        if turn is None or INSIDE_REAL_CALL.get():
            return super().call_at(when, callback, *args, context=context)

        def fire(*given: *Ts) -> None:
            turn.settling.timers.discard(handle)
            callback(*given)

        handle = super().call_at(when, fire, *args, context=context)
        turn.settling.timers.add(handle)
        return handle

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Note whose worker thread it is, then start it."""
        work: Any = functools.partial(_no_stop_iteration, func)
        future: asyncio.Future[T] = super().run_in_executor(executor, work, *args)
        turn = CURRENT_TURN.get()
        if turn is not None and not INSIDE_REAL_CALL.get():
            turn.settling.in_threads.add(future)
            future.add_done_callback(turn.settling.in_threads.discard)
        return future


def _no_stop_iteration(func: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function; a future cannot hold the `StopIteration` that an empty `next(...)` raises, and would never end."""
    try:
        return func(*args)
    except StopIteration as error:
        raise RuntimeError(f"{getattr(func, '__name__', 'a function')} raised StopIteration") from error


def _collect_less_often() -> None:
    """Take over Python 3.13's pace of collecting garbage on older ones, where nobody has set another.

    An agent's turn makes many small values that live as long as its session; looking at them after every 700 made a
    turn three percent longer.
    """
    if gc.get_threshold() == _OLD_PACE:
        gc.set_threshold(*_NEW_PACE)


class LoopThread:
    """A daemon thread with a `StudioLoop`. One serves all simulations of a process."""

    _shared: LoopThread | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        _collect_less_often()
        watch_outside_work()
        self.loop = StudioLoop()
        self.loop.set_default_executor(
            ThreadPoolExecutor(max_workers=_WORKER_THREADS, thread_name_prefix="simulation-worker")
        )
        self._thread = threading.Thread(target=self._serve, name="simulation-loop", daemon=True)
        self._thread.start()

    @classmethod
    def shared(cls) -> LoopThread:
        """Return the process's loop thread, started on first use."""
        with cls._lock:
            if cls._shared is None:
                cls._shared = cls()
                atexit.register(cls._shared._end)  # noqa: SLF001 - its own class's
            return cls._shared

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
            except (
                SystemExit,
                KeyboardInterrupt,
            ):  # asyncio lets them through, from whatever code of an agent
                _LOG.exception("The code of an agent tried to end the process")
            else:
                return

    def _end(self) -> None:
        """Let what still runs end before Python does: a script that fails with a session open shows its own error alone."""

        async def ended() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_END_SECONDS) if tasks else None

        with contextlib.suppress(Exception):  # code of an agent may hold the loop, or have ended it
            self.start(ended()).result(2 * _END_SECONDS)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop's thread and return its result; to be called from any other thread."""
        return self.start(work).result()

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop's thread without waiting for it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a simulation cannot be controlled from inside its own agent")
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def reached(self, function: Callable[[], T]) -> T:
        """Call a function on the loop's thread and return its result; there at once, and from any other thread."""
        return function() if threading.current_thread() is self._thread else self.call(function)

    def call(self, function: Callable[[*Ts], T], *given: *Ts) -> T:
        """Call a function on the loop's thread and return its result."""

        async def work() -> T:
            return function(*given)

        return self.run(work())
