"""Runs coroutines from anywhere: in a thread without an event loop, and in one whose loop runs. What an agent began does not keep a loop from its end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

PATIENCE = 300.0
"""Seconds that one replay may take."""

ENDING = 10.0
"""Seconds that what an agent began, such as the server of its tools, may take to end once its replays are done."""

_KILLED = 2.0
"""Seconds that it may take then, when its processes were killed."""

_LOG = logging.getLogger(__name__)
_left: list[Any] = []
"""Loops with tasks that do not end: let go of, each would be complained about."""

_Loop: Any = getattr(
    asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop
)  # the former is of Windows alone


class _WatchedLoop(_Loop):  # type: ignore[misc]  # which class that is depends on the system
    """A loop that knows its worker threads and the processes that were started on it."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = ThreadPoolExecutor(thread_name_prefix="asyncio")
        self.set_default_executor(self.workers)
        self.started: list[asyncio.SubprocessTransport] = []

    async def subprocess_exec(self, *given: Any, **named: Any) -> Any:
        """Start a process, and remember it."""
        found = await super().subprocess_exec(*given, **named)
        self.started.append(found[0])
        return found

    async def subprocess_shell(self, *given: Any, **named: Any) -> Any:
        """Start a shell, and remember it."""
        found = await super().subprocess_shell(*given, **named)
        self.started.append(found[0])
        return found


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in this thread; in one of its own where this one has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_run, work).result()


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    runner = asyncio.Runner(loop_factory=_WatchedLoop)
    try:
        return runner.run(work)
    finally:
        loop: Any = runner.get_loop()
        left = _still_running(loop)
        if left:
            _left.append((runner, loop))
            asyncio.set_event_loop(None)
            _LOG.warning("left running after the replay, as it does not end: %s", ", ".join(left))
        else:
            runner.close()


def _still_running(loop: _WatchedLoop) -> list[str]:
    """End what was begun on a loop, at last by killing its processes; return what does not end."""
    tasks = _cancelled(loop, ENDING)
    if tasks:
        for process in loop.started:
            with suppress(ProcessLookupError):
                process.kill()
        tasks = _cancelled(loop, _KILLED)
    if tasks:
        return [getattr(task.get_coro(), "__qualname__", task.get_name()) for task in tasks]
    waiting = threading.Thread(target=loop.workers.shutdown, name="asyncio-ending", daemon=True)
    waiting.start()
    waiting.join(ENDING)
    return ["a worker thread"] if waiting.is_alive() else []


def _cancelled(loop: _WatchedLoop, seconds: float) -> set[asyncio.Task[Any]]:
    """Cancel all tasks of a loop, and then end its generators; return those that are not done after some seconds."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    pending = _not_done(loop, tasks, seconds) if tasks else set()
    return pending or _not_done(loop, {loop.create_task(loop.shutdown_asyncgens())}, seconds)


def _not_done(loop: _WatchedLoop, tasks: set[asyncio.Task[Any]], seconds: float) -> set[asyncio.Task[Any]]:
    return set(loop.run_until_complete(asyncio.wait(tasks, timeout=seconds))[1])
