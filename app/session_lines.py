"""The sessions that the sidebar lists: those that are live, and those that are kept. Pure, but for asking the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from app.commands import (
    ArchiveSession,
    DeleteSession,
    DescribeSession,
    DuplicateSession,
    ImportSession,
    KeptCommand,
)
from app.registry import LiveSession
from simulator.facts import Value

if TYPE_CHECKING:
    from simulator.store import JournalStore, SessionRecord


class SessionLine(Value):
    """A session in the list; `is_kept` tells one that outlives the server. Its words may come from outside."""

    session_id: str
    title: str
    agent: str
    is_live: bool
    is_kept: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()
    notes: str = ""

    def holds(self, words: Iterable[str]) -> bool:
        """Tell whether all words, in lower case, stand somewhere in what is said of the session."""
        said = " ".join((self.title, self.agent, *self.tags, self.notes)).casefold()
        return all(word in said for word in words)


def lines(live: Sequence[LiveSession], records: Iterable[SessionRecord]) -> list[SessionLine]:
    """List sessions: the live ones, newest first, then those that are only kept, as they come."""
    kept = {record.session_id: record for record in records}
    playing = [_of_live(each, kept.get(each.session_id)) for each in live]
    names = {line.session_id for line in playing}
    return [*playing, *(_of_record(record) for record in kept.values() if record.session_id not in names)]


def _of_live(live: LiveSession, record: SessionRecord | None) -> SessionLine:
    return SessionLine(
        session_id=live.session_id,
        title=(record.name if record else "") or live.title or live.config.name,
        agent=live.config.name,
        is_live=True,
        is_kept=live.simulation.journal.outlives,
        archived=bool(record and record.archived),
        tags=record.tags if record else (),
        notes=record.notes if record else "",
    )


def _of_record(record: SessionRecord) -> SessionLine:
    return SessionLine(
        session_id=record.session_id,
        title=record.name or record.query or record.agent_key,
        agent=record.agent_key,
        is_live=False,
        is_kept=True,
        archived=record.archived,
        tags=record.tags,
        notes=record.notes,
    )


def carry_out(store: JournalStore, asked: KeptCommand, owner: str) -> str | None:
    """Do what was asked of the kept sessions of an owner; give the id of one that was made.

    Raises:
        simulator.store.StoreError: It is not there any more, or the store does not answer.
    """
    match asked:
        case DescribeSession():
            store.rename(asked.session_id, asked.name)
            store.tag(asked.session_id, asked.tags)
            store.note(asked.session_id, asked.notes)
        case ImportSession():
            return store.import_(asked.text, owner).session_id
        case DuplicateSession():
            return store.duplicate(asked.session_id).session_id
        case ArchiveSession():
            store.archive(asked.session_id, asked.archived)
        case DeleteSession(deleted=True):
            store.delete(asked.session_id)
        case DeleteSession():
            store.restore(asked.session_id)
    return None
