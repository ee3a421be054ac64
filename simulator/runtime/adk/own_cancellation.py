"""Checks whether code that runs in a task has cancelled that task itself, or somebody outside has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

_PRIMITIVES = ("/asyncio/locks.py", "/asyncio/queues.py")


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
                yield waits_for
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
