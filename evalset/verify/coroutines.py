"""Runs coroutines from anywhere: in a thread without an event loop, and in one whose loop runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")

PATIENCE = 300.0
"""Seconds that one replay may take."""


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in this thread; in one of its own where this one has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
