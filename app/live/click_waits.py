"""Waits a moment after a click: for the next pause, so that it is seen at once, and until what has happened is stored.

Where storing takes too long, the page goes on from memory and says what is not stored.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from app.live.session_store import store_if_open
from simulator.runtime.commanding import Commanding

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

AT_ONCE = 0.0
"""Lets a command return before the next pause; `settle` waits for it."""

FAST_PATH_SECONDS = 0.3
"""How long a click waits for the next pause; what takes longer is shown as it comes."""

REAL_WORK_SECONDS = 0.1
"""How long it waits where a model or a real tool is at work, so that its progress is on the page within half a second."""

_SLICE_SECONDS = 0.05


def settle(simulation: Commanding) -> None:
    """Wait a moment for the next pause; less where something real is at work."""
    began = time.monotonic()
    while not simulation.wait(_SLICE_SECONDS):
        waited = time.monotonic() - began
        if waited >= FAST_PATH_SECONDS or (waited >= REAL_WORK_SECONDS and simulation.view().running):
            return


# ---------------------------------------------------------------- until it is stored


KEEP_SECONDS = 2.0
"""How long a click or a page waits for the database; what takes longer is stored behind it."""


def keep_facts(simulation: Commanding) -> None:
    """Wait until all that has happened up to now is stored; call it between looking and drawing.

    Nobody waits where storing is known to fail or to be late.
    """
    journal = simulation.journal
    if journal.trouble is None and journal.first_unstored is not None:
        with suppress(
            ValueError
        ):  # a StoreError: the page says what is not stored, or that somebody else went on
            journal.keep(KEEP_SECONDS)


def keep_drafts() -> str | None:
    """Wait until all that was typed and handed over up to now is stored, as `keep_facts` does; return why it is not, if so."""
    store = store_if_open().store
    if store is None or not store.has_unwritten_drafts:
        return None
    if store.trouble is not None:
        return store.trouble
    try:
        store.keep_drafts(KEEP_SECONDS)
    except ValueError as error:  # a StoreError, as above
        return str(error)
    return None


def what_waits_to_be_stored(simulation: Commanding, view: SimulationView, drafts: str | None) -> str:
    """Name what of a session is not stored yet; empty where all is. `drafts` is what `keep_drafts` returned."""
    first = simulation.journal.first_unstored
    facts = "" if first is None else _steps(first, view)
    return " and ".join([*([facts] if facts else []), *(["your last input"] if drafts else [])])


def _steps(first: int, view: SimulationView) -> str:
    count = sum(entry.fact >= first for entry in view.session.history)
    if not count:
        return "your last change"
    return "the last step" if count == 1 else f"the last {count} steps"
