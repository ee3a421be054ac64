"""Runs work beside the turn in progress, which nobody has to wait for who does not want to any more."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any, TypeVar

from simulator.base.secret_masking import error_words

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
