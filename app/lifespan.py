"""What the server does beside serving pages: print the link to it, collect garbage, and close all sessions at the end."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app.evalsets.workspace import workspaces
from app.live.live_sessions import registry
from app.live.session_store import close_store, open_in_background
from app.live.upload_quota import remove_unvisited
from app.server.browser_tabs import end_closed_tabs
from app.server.login import ACCESS, open_link
from app.server.offered_files import follow_deferred
from simulator.base.secret_masking import masked_log

COLLECT_EVERY_SECONDS = 60.0
LOOK_FOR_IDLE_SECONDS = 30.0
LOOK_FOR_ENDLESS_SECONDS = 1.0

SWITCH_SECONDS = 0.001
"""How long a thread at work keeps the others waiting: while an agent is imported or thinks, pages are served all the same."""

_PAGE = "app.screens.page"
_LOG = logging.getLogger(__name__)


async def _collect_garbage() -> None:
    while True:
        await asyncio.sleep(COLLECT_EVERY_SECONDS)
        await asyncio.to_thread(gc.collect)


async def _end_idle_processes() -> None:
    while True:
        await asyncio.sleep(LOOK_FOR_IDLE_SECONDS)
        await asyncio.to_thread(_end_idle)


async def _let_endless_come_last() -> None:
    while True:
        await asyncio.sleep(LOOK_FOR_ENDLESS_SECONDS)
        await asyncio.to_thread(_come_last)


def _come_last() -> None:
    from simulator.kernel.kernel_processes import let_endless_come_last  # noqa: PLC0415 - as below

    for agent in let_endless_come_last():
        _LOG.info("The process of %s uses the CPU without a pause, and now runs after all others", agent)


def _end_idle() -> None:
    from simulator.kernel.kernel_processes import end_idle  # noqa: PLC0415 - the server listens before this is imported

    for agent in end_idle():
        _LOG.info("The process of %s was unused and has been stopped", agent)
    remove_unvisited()


def _get_ready() -> None:
    from app.server.security_headers import send_small_packets_at_once  # noqa: PLC0415 - as below

    send_small_packets_at_once()
    importlib.import_module(_PAGE)
    open_in_background()


def _end_with_the_terminal() -> None:
    """Let the end of the terminal be a SIGTERM, upon which the server closes the sessions in order."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Own the live simulations for as long as the server runs."""
    _end_with_the_terminal()
    with masked_log():
        async with _simulations():
            open_link()
            follow_deferred()
            try:
                yield {"registry": registry()}
            finally:
                ACCESS.close()


@asynccontextmanager
async def _simulations() -> AsyncIterator[None]:
    sys.setswitchinterval(SWITCH_SECONDS)
    # The browser takes a second to begin; the page's own modules can be there by then. ADK comes later, in `app.live.agent_catalogue`.
    ready = asyncio.create_task(asyncio.to_thread(_get_ready))
    tidying = [
        asyncio.create_task(work)
        for work in (_collect_garbage(), end_closed_tabs(), _end_idle_processes(), _let_endless_come_last())
    ]
    try:
        yield
    finally:
        ready.cancel()
        for task in tidying:
            task.cancel()
        await asyncio.to_thread(workspaces().close_all)
        for error in await asyncio.to_thread(registry().close_all):
            _LOG.error("Closing a simulation failed", exc_info=error)
        try:
            await asyncio.to_thread(close_store)
        except ValueError:  # a StoreError
            _LOG.exception("Some data was not stored")
