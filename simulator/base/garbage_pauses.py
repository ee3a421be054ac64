"""Keeps Python's search for garbage away from large documents: each search looks at everything that was read so far."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_reading = 0
_holding = 0
_was_on = False


@contextmanager
def reading_large() -> Iterator[None]:
    """Search for no garbage within this block; for a second or two of reading, in any number of threads at once."""
    global _reading, _was_on  # noqa: PLW0603 - the collector is the process's own
    with _lock:
        if _reading == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _reading += 1
    try:
        yield
    finally:
        with _lock:
            _reading -= 1
            if _holding:
                gc.freeze()
            if _reading == 0 and _was_on:
                gc.enable()


@contextmanager
def holding_large() -> Iterator[None]:
    """Leave out of the search, within this block, what was read in it; with the end of the last such block all is searched again."""
    global _holding  # noqa: PLW0603 - as above
    with _lock:
        _holding += 1
    try:
        yield
    finally:
        with _lock:
            _holding -= 1
            if _holding == 0:
                gc.unfreeze()


_SELDOM = (50_000, 20, 100)
_working = 0
_thresholds = gc.get_threshold()


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Search seldom within this block: for work that leaves little garbage, while each search looks at all that ADK has imported."""
    global _working, _thresholds  # noqa: PLW0603 - as above
    with _lock:
        if _working == 0:
            _thresholds = gc.get_threshold()
            gc.set_threshold(*_SELDOM)
        _working += 1
    try:
        yield
    finally:
        with _lock:
            _working -= 1
            if _working == 0:
                gc.set_threshold(*_thresholds)
