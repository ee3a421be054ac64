"""The store of sessions: journals, drafts and a library, in SQLite or PostgreSQL.

`journal_store` is the way in. What it calls durable is on the disk. A change of the tables is a step in `database`.
"""

from simulator.store.database import Place
from simulator.store.errors import (
    BrokenJournalError,
    HeadMovedError,
    SessionHeldError,
    StoreError,
    UnknownSessionError,
    default_path,
    file_of,
)
from simulator.store.journal_store import JournalStore, StoredJournal
from simulator.store.leases import LEASE_SECONDS, RENEW_SECONDS, Standing
from simulator.store.library import read_session
from simulator.store.session_rows import SessionRecord

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
