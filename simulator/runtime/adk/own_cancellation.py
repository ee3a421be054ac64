"""Checks whether code that runs in a task has cancelled that task itself, or somebody outside has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context
from typing import Any

_PRIMITIVES = ("/asyncio/locks.py", "/asyncio/queues.py")


class _Awaited:
    """A future as a task waits for it, which does not tell the task that it has failed with `GeneratorExit`.

    The task would throw that into its coroutine, as whoever closes one does, and all that is awaited there would be closed. Resumed without it, the code
    that awaits the future finds it there. This is what asyncio asks of whatever can be awaited in a task: `asyncio.isfuture` is true of it.
    """

    _asyncio_future_blocking = False

    def __init__(self, future: Any) -> None:
        self._future = future
        # The one that is yielded says that a task may wait for it now.
        self._asyncio_future_blocking, future._asyncio_future_blocking = True, False  # noqa: SLF001 - as `asyncio.Task` does

    def __getattr__(self, name: str) -> Any:
        return getattr(self._future, name)

    def add_done_callback(self, callback: Callable[[Any], object], *, context: Context | None = None) -> None:
        self._future.add_done_callback(lambda _: callback(self), context=context)

    def result(self) -> Any:
        if not self._future.cancelled() and isinstance(self._future.exception(), GeneratorExit):
            return None
        return self._future.result()


def _awaited(waits_for: Any, task: asyncio.Task[Any]) -> Any:
    """Return what a task shall wait for; a future that is not there to be awaited, and the task itself, are asyncio's to refuse."""
    is_awaited = waits_for is not task and getattr(waits_for, "_asyncio_future_blocking", False)
    return _Awaited(waits_for) if is_awaited else waits_for


class OwnSteps:
    """Awaits something in the task of the one who asks, and counts the cancellations of that task that come from inside.

    A cancellation that is asked for while a step of the code runs comes from that code: nothing else runs meanwhile.
    `own` is how many there are that were not taken back. `exits` says that the code itself has raised `GeneratorExit`: nobody has closed it.
    """

    __slots__ = ("_work", "exits", "own")

    def __init__(self, work: Awaitable[Any]) -> None:
        self._work = work
        self.own = 0
        self.exits = False

    def __await__(self) -> Generator[Any, Any, Any]:
        """Take the steps of the work as `await` does."""
        steps = self._work.__await__()
        if (task := asyncio.current_task()) is None:
            return (yield from steps)
        step: Callable[..., Any] = steps.__next__
        given: tuple[Any, ...] = ()
        while True:
            before = task.cancelling()
            try:
                waits_for = step(*given)
            except StopIteration as end:
                return end.value
            except GeneratorExit:
                self.exits = not any(isinstance(one, GeneratorExit) for one in given)
                raise
            finally:
                if (now := task.cancelling()) > before:
                    self.own += now - before
            try:
                yield _awaited(waits_for, task)
                step, given = steps.__next__, ()
            except BaseException as error:
                throw: Any = getattr(steps, "throw", None)
                if throw is None:
                    raise
                step, given = throw, (error,)

    def waits_for_other_code(self) -> bool:
        """Return whether the work waits for an event, a lock or a queue: for what other code in this process has to do."""
        inner: Any = self._work
        name = ""
        while True:
            frame = getattr(inner, "cr_code", None) or getattr(inner, "gi_code", None)
            if frame is None:
                return name.replace("\\", "/").endswith(_PRIMITIVES)
            name = frame.co_filename
            inner = getattr(inner, "cr_await", None) or getattr(inner, "gi_yieldfrom", None)

    async def take_back_cancellation(self) -> bool:
        """Take back the cancellations that came from inside, if there are no others; return whether there were any."""
        task = asyncio.current_task()
        if task is None or not self.own or task.cancelling() > self.own:
            return False
        try:
            # One that was asked for and has not arrived yet arrives here.
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if task.cancelling() > self.own:
                raise
        while self.own:
            task.uncancel()
            self.own -= 1
        return True
