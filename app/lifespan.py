"""What the server does beside serving pages: warm up at the start, collect garbage, close all at the end."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from app.registry import registry

COLLECT_EVERY_SECONDS = 60.0
_SLOW_TO_IMPORT = ("simulator.runtime", "evalset", "pandas")
_LOG = logging.getLogger(__name__)


def warm_up(modules: Iterable[str] = _SLOW_TO_IMPORT) -> list[str]:
    """Import what the first session would otherwise wait for; give the names that could not be imported.

    A failure here is only logged: the page imports the same module when it needs it, and shows the error then.
    """
    failed: list[str] = []
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - whatever a foreign module raises at import
            _LOG.exception("Warming up: %s could not be imported", name)
            failed.append(name)
    return failed


async def _collect_garbage() -> None:
    while True:
        await asyncio.sleep(COLLECT_EVERY_SECONDS)
        await asyncio.to_thread(gc.collect)


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Own the live simulations for as long as the server runs."""
    tidying = asyncio.create_task(_collect_garbage())
    warming = asyncio.create_task(asyncio.to_thread(warm_up))
    try:
        yield {"registry": registry()}
    finally:
        tidying.cancel()
        warming.cancel()
        for error in await asyncio.to_thread(registry().close_all):
            _LOG.error("Closing a simulation failed", exc_info=error)
