"""The store of sessions: journals, drafts and a library, in SQLite or PostgreSQL."""

from simulator.store.errors import (
    BrokenJournalError,
    HeadMovedError,
    SessionHeldError,
    StoreError,
    UnknownSessionError,
)
from simulator.store.files import read_session
from simulator.store.leases import LEASE_SECONDS, RENEW_SECONDS, Standing
from simulator.store.places import default_path, file_of
from simulator.store.sessions import SessionRecord
from simulator.store.store import JournalStore
from simulator.store.stored import StoredJournal
from simulator.store.tables import Place

__all__ = [
    "LEASE_SECONDS",
    "RENEW_SECONDS",
    "BrokenJournalError",
    "HeadMovedError",
    "JournalStore",
    "Place",
    "SessionHeldError",
    "SessionRecord",
    "Standing",
    "StoreError",
    "StoredJournal",
    "UnknownSessionError",
    "default_path",
    "file_of",
    "read_session",
]
