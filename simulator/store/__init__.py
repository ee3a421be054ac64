"""The store of sessions: journals, drafts and a library, in SQLite or PostgreSQL."""

from simulator.store.errors import BrokenJournalError, HeadMovedError, StoreError, UnknownSessionError
from simulator.store.places import default_path
from simulator.store.sessions import SessionRecord
from simulator.store.store import JournalStore
from simulator.store.stored import StoredJournal
from simulator.store.tables import Place

__all__ = [
    "BrokenJournalError",
    "HeadMovedError",
    "JournalStore",
    "Place",
    "SessionRecord",
    "StoreError",
    "StoredJournal",
    "UnknownSessionError",
    "default_path",
]
