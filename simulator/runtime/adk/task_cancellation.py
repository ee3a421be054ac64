"""Waits for tasks of an agent to end, and ends them however often their code swallows it."""

from __future__ import annotations

import asyncio

from simulator.runtime.adk.own_cancellation import OwnSteps

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
