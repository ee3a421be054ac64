"""Opens the store in which this server keeps its sessions, once."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING

from app.attending import Attendant
from app.followed import FOLLOWED

if TYPE_CHECKING:
    from simulator.store import JournalStore

STORE_VARIABLE = "GOLDEN_TRACE_STORE"
"""Names the database: a path of a file, a URL of SQLite or PostgreSQL, or `none` for no store at all."""

_HOLDER = "golden_trace_studio_shelf"
_LOG = logging.getLogger(__name__)
_lock = Lock()


@dataclass(frozen=True)
class Shelf:
    """Where sessions are kept; without a store they live as long as the server, and `problem` says why."""

    store: JournalStore | None = None
    problem: str = ""


def shelf() -> Shelf:
    """Give the one shelf of this process; the first call opens the store."""
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    with _lock:
        found: Shelf | None = holder.__dict__.get("shelf")
        if found is None:
            found = holder.__dict__["shelf"] = opened(os.environ)
            if found.store is not None:
                holder.__dict__["attendant"] = Attendant(found.store)
    return found


def shelf_if_open() -> Shelf:
    """Give the shelf where it is open; one without a store before."""
    holder = sys.modules.get(_HOLDER)
    found: Shelf | None = holder.__dict__.get("shelf") if holder else None
    return found or Shelf()


def opened(environ: Mapping[str, str]) -> Shelf:
    """Open the store that the environment names, by default a file among the user's data."""
    named = environ.get(STORE_VARIABLE, "").strip()
    if named == "none":
        return Shelf()
    from simulator.store import JournalStore, StoreError, default_path  # noqa: PLC0415 - takes half a second

    try:
        return Shelf(JournalStore.open(named or default_path(environ)))
    except StoreError as error:
        _LOG.exception("Sessions are not kept")
        return Shelf(problem=str(error))


def close_shelf() -> None:
    """Store what is left, and let go of the store; a later `shelf` opens it anew.

    Raises:
        simulator.store.StoreError: Something could not be stored.
    """
    holder = sys.modules.get(_HOLDER)
    with _lock:
        found: Shelf | None = holder.__dict__.pop("shelf", None) if holder else None
        attendant: Attendant | None = holder.__dict__.pop("attendant", None) if holder else None
    if attendant is not None:
        attendant.stop()
    FOLLOWED.clear()
    if found is not None and found.store is not None:
        found.store.close()
