"""Opens the store in which this server keeps its sessions, once."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock, Thread
from types import ModuleType
from typing import TYPE_CHECKING

from app.live.lease_keeper import FOLLOWED, Attendant
from simulator.base.secret_masking import error_words

if TYPE_CHECKING:
    from simulator.store import JournalStore

STORE_VARIABLE = "GOLDEN_TRACE_STORE"
"""Names the database: a path of a file, a URL of SQLite or PostgreSQL, or `none` for no store at all."""

_NONE = "none"
NOTHING_KEPT = (
    f"{STORE_VARIABLE}=none: sessions and typed text are kept in memory only. They end with the server."
)

PATIENCE_SECONDS = 2.0
"""How long a click waits for a database that is locked or says nothing."""

_HOLDER = "golden_trace_studio_shelf"
_LOG = logging.getLogger(__name__)
_lock = Lock()
_begins = Lock()


@dataclass(frozen=True)
class StoreOfServer:
    """Where sessions are kept; without a store they live as long as the server, and `problem` says why.

    While `is_opening` nobody knows yet what is kept.
    """

    store: JournalStore | None = None
    problem: str = ""
    is_opening: bool = False
    is_off: bool = False
    """Nobody wants one."""

    @property
    def caution(self) -> str:
        """What is not durable, in a sentence; empty where all is, or `problem` says it."""
        if self.store is not None:
            return self.store.caution
        return NOTHING_KEPT if self.is_off else ""


def server_store() -> StoreOfServer:
    """Return the one store of this process; the first call opens the store."""
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    with _lock:
        found: StoreOfServer | None = holder.__dict__.get("store")
        if found is None:
            found = holder.__dict__["store"] = opened(os.environ)
            if found.store is not None:
                holder.__dict__["attendant"] = Attendant(found.store)
    return found


def store_if_open() -> StoreOfServer:
    """Return the store where it is open; before that one without a store, which `is_opening` where sessions are to be kept."""
    holder = sys.modules.get(_HOLDER)
    found: StoreOfServer | None = holder.__dict__.get("store") if holder else None
    is_off = _named(os.environ) == _NONE
    return found or StoreOfServer(is_opening=not is_off, is_off=is_off)


def open_in_background() -> Thread | None:
    """Begin to open the store; return the thread that does, or None where it is open."""
    if not store_if_open().is_opening:
        return None
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    with _begins:
        thread: Thread | None = holder.__dict__.get("opens")
        if thread is None or not thread.is_alive():
            thread = holder.__dict__["opens"] = Thread(target=server_store, name="open-store", daemon=True)
            thread.start()
    return thread


def opened(environ: Mapping[str, str]) -> StoreOfServer:
    """Open the store that the environment names, by default a file among the user's data."""
    named = _named(environ)
    if named == _NONE:
        return StoreOfServer(is_off=True)
    from simulator.store import JournalStore, StoreError, default_path  # noqa: PLC0415 - takes half a second

    try:
        return StoreOfServer(JournalStore.open(named or default_path(environ), patience=PATIENCE_SECONDS))
    except StoreError as error:
        _LOG.error("Sessions are not stored: %s", error)
        return StoreOfServer(problem=str(error))
    except Exception as error:  # noqa: BLE001 - else every page would try again, and wait for good
        _LOG.exception("Sessions are not stored")
        return StoreOfServer(problem=error_words(error))


def _named(environ: Mapping[str, str]) -> str:
    return environ.get(STORE_VARIABLE, "").strip()


def close_store() -> None:
    """Store what is left, and let go of the store; a later `server_store` opens it anew.

    Raises:
        simulator.store.StoreError: Something could not be stored.
    """
    holder = sys.modules.get(_HOLDER)
    with _lock:
        found: StoreOfServer | None = holder.__dict__.pop("store", None) if holder else None
        attendant: Attendant | None = holder.__dict__.pop("attendant", None) if holder else None
    if attendant is not None:
        attendant.stop()
    FOLLOWED.clear()
    if found is not None and found.store is not None:
        found.store.close()
