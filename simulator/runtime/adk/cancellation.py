"""Ends tasks: however often an agent's code swallows it, saying who has cancelled what, and without waiting for those that nobody wants any more."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar

from simulator.base.secret_masking import error_words

PATIENCE_WITH_CANCELLATION = 1.0
"""Seconds that code is given to end after a cancellation."""

_CANCELLATIONS = 5


async def end_of(task: asyncio.Task[None]) -> BaseException | None:
    """Wait until a task has ended; return what it raised.

    Raises:
        asyncio.CancelledError: The task that waits was cancelled, and so was the other one, whatever came of that.
    """
    raised: BaseException | None = None
    try:
        await OwnSteps(task)  # a task that ends with `GeneratorExit` would close the one that waits for it
    except BaseException as error:  # noqa: BLE001 - whatever an agent's code raises is how its turn ends
        raised = error
    waits = asyncio.current_task()
    if waits is not None and waits.cancelling():
        raise asyncio.CancelledError
    if isinstance(raised, asyncio.CancelledError):
        return asyncio.CancelledError("the agent's code cancelled its own task")
    return raised


async def cancelled(*tasks: asyncio.Task[None] | None) -> None:
    """Cancel tasks until they have ended; one that swallows its cancellation again and again is left alone at last."""
    running = {task for task in tasks if task is not None and not task.done()}
    for _ in range(_CANCELLATIONS):
        if not running:
            break
        for task in running:
            task.cancel()
        # An agent's code that swallows it goes on, to where ADK waits for somebody who has gone: it takes another one.
        _, running = await asyncio.wait(running, timeout=PATIENCE_WITH_CANCELLATION)
    for ended in tasks:
        if ended is not None and ended.done() and not ended.cancelled():
            ended.exception()  # looked at, so that asyncio does not log it as forgotten


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


T = TypeVar("T")

_running: set[asyncio.Task[Any]] = set()


class TimeIsUpError(Exception):
    """Work took longer than it may."""


async def apart(
    work: Coroutine[Any, Any, T], *, seconds: float | None = None, context: contextvars.Context | None = None
) -> T:
    """Run something as a task of its own; leave it behind, cancelled, when time is up or the caller is cancelled.

    Work that swallows its cancellation then keeps nobody waiting.

    Args:
        work: What to run.
        seconds: How long it may take.
        context: Where it runs; a copy of the caller's context by default. In a new one, nothing of a turn in
            progress has a part in it.

    Raises:
        TimeIsUpError: The time is up.
        ConnectionError: The work was cancelled, and not by us.
        RuntimeError: It raised what is no `Exception`, and would end more than itself.
    """
    task = asyncio.get_running_loop().create_task(work, context=context)
    _running.add(task)  # asyncio itself does not keep its tasks
    task.add_done_callback(_forget)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        raise TimeIsUpError(f"no response within {seconds:g} s")
    if task.cancelled():
        raise ConnectionError("the model's client cancelled the request")
    error = task.exception()
    if error is not None and not isinstance(error, Exception):
        raise RuntimeError(f"the model raised {error_words(error)}") from error
    return task.result()


def _forget(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()  # asyncio complains of errors that nobody has looked at
