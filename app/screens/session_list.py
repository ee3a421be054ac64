"""The sessions that the sidebar lists: those that are live, and those that are kept. Pure, but for asking the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from app.export.export_case import PLAYED
from app.live.live_sessions import LiveSession, registry
from app.scripts.script_play import without_places
from app.server.owners import LOCAL
from app.server.viewer_time import short_time
from simulator.base.frozen_value import Value
from simulator.session.model import SessionState

if TYPE_CHECKING:
    from simulator.store import JournalStore, SessionRecord


_OVER = SessionState.COMPLETED.value
_KEEP_SECONDS = 2.0
"""How long a copy waits for what was done and typed last to be stored."""


class SessionLine(Value):
    """A session in the list; `is_kept` tells one that outlives the server, `link` leads to one that is shared.

    Its words may come from outside. `changed_at` is when something last happened in a kept one, in seconds since the epoch; `is_over` tells that the
    agent has given its final response.
    """

    session_id: str
    title: str
    agent: str
    is_live: bool
    is_kept: bool = False
    archived: bool = False
    deleted: bool = False
    tags: tuple[str, ...] = ()
    notes: str = ""
    query: str = ""
    link: str = ""
    changed_at: float = 0.0
    is_over: bool = False

    @property
    def about(self) -> str:
        """The agent, when something last happened, and how the session ended."""
        when = short_time(self.changed_at) if self.changed_at else "" if self.is_kept else "not stored"
        return " \u00b7 ".join(filter(None, (self.agent, when, "completed" if self.is_over else "")))

    def holds(self, words: Iterable[str]) -> bool:
        """Return whether all words, in lower case, stand somewhere in what is said of the session."""
        said = " ".join((self.title, self.agent, *self.tags, self.notes, self.query)).casefold()
        return all(word in said for word in words)


class DescribeSession(Value):
    """Say of a kept session what it is called, with which words it is found, and what is to be known of it."""

    kind: Literal["describe_session"] = "describe_session"
    session_id: str
    name: str
    tags: tuple[str, ...] = ()
    notes: str = ""


class ImportSession(Value):
    """Take in a session that was exported as a file; `text` may be anything."""

    text: str


class DuplicateSession(Value):
    """Make another session with the same facts."""

    kind: Literal["duplicate_session"] = "duplicate_session"
    session_id: str


class ArchiveSession(Value):
    """Put a kept session out of the way, or back."""

    kind: Literal["archive_session"] = "archive_session"
    session_id: str
    archived: bool = True


class DeleteSession(Value):
    """Delete a kept session, so that it can be restored; or restore it."""

    kind: Literal["delete_session"] = "delete_session"
    session_id: str
    deleted: bool = True


class PurgeSession(Value):
    """Delete a session for good that was deleted before: nothing brings it back."""

    session_id: str


class ShareSession(Value):
    """Let anyone with its link look at a kept session, or no one any longer."""

    kind: Literal["share_session"] = "share_session"
    session_id: str
    shared: bool = True


KeptCommand: TypeAlias = (
    DescribeSession
    | ImportSession
    | DuplicateSession
    | ArchiveSession
    | DeleteSession
    | PurgeSession
    | ShareSession
)
"""What is asked for of the sessions that are kept."""


def lines(
    live: Sequence[LiveSession], records: Iterable[SessionRecord], link: Callable[[str], str] = str
) -> list[SessionLine]:
    """List sessions: the live ones, newest first, then those that are only kept, as they come.

    `link` gives the address of what is shared under a token.
    """
    kept = {record.session_id: record for record in records}
    playing = [_of_live(each, kept.get(each.session_id), link) for each in live]
    names = {line.session_id for line in playing}
    resting = [record for record in kept.values() if record.session_id not in names]
    return [*playing, *(_of_record(record, link) for record in resting)]


def _of_live(live: LiveSession, record: SessionRecord | None, link: Callable[[str], str]) -> SessionLine:
    return SessionLine(
        session_id=live.session_id,
        title=(record.name if record else "") or live.title or live.config.name,
        agent=live.agent_key or live.config.name,
        is_live=True,
        is_kept=live.simulation.journal.outlives,
        archived=bool(record and record.archived),
        tags=record.tags if record else (),
        notes=record.notes if record else "",
        query=record.query if record else live.title,
        link=link(record.shared_token) if record and record.shared_token else "",
        changed_at=record.changed_at if record else 0.0,
        is_over=live.simulation.session.state is SessionState.COMPLETED,
    )


def _of_record(record: SessionRecord, link: Callable[[str], str]) -> SessionLine:
    return SessionLine(
        session_id=record.session_id,
        title=record.name or record.query or record.agent_key,
        agent=record.agent_key,
        is_live=False,
        is_kept=True,
        archived=record.archived,
        deleted=record.deleted_at is not None,
        tags=record.tags,
        notes=record.notes,
        query=record.query,
        link=link(record.shared_token) if record.shared_token else "",
        changed_at=record.changed_at,
        is_over=record.status == _OVER,
    )


def of_owner(store: JournalStore, session_id: str, owner: str) -> str:
    """Return the id of a kept session, deleted or not, if it is the owner's.

    Raises:
        simulator.store.UnknownSessionError: They have none with this id, whether somebody else has or not.
    """
    from simulator.store import UnknownSessionError  # noqa: PLC0415 - takes half a second

    if store.record(session_id).owner != owner:
        raise UnknownSessionError(f"the store has no session {session_id!r}")
    return session_id


def carry_out(store: JournalStore, asked: KeptCommand, owner: str) -> str | None:
    """Do what was asked of the kept sessions of an owner; return the id of one that was made.

    Raises:
        simulator.store.StoreError: They have no such session, or not any more, or the store does not answer.
    """
    if isinstance(asked, ImportSession):
        made = store.import_(asked.text, owner, keeps_id=owner == LOCAL).session_id
        store.put_drafts(made, {**without_places(store.drafts(made)), PLAYED: None})
        return made
    session_id = of_owner(store, asked.session_id, owner)
    match asked:
        case DescribeSession():
            store.rename(session_id, asked.name)
            store.tag(session_id, asked.tags)
            store.note(session_id, asked.notes)
        case DuplicateSession():
            _wait_until_stored(store, session_id)
            return store.duplicate(session_id).session_id
        case ArchiveSession():
            store.archive(session_id, asked.archived)
        case ShareSession(shared=True):
            store.share(session_id)
        case ShareSession():
            store.unshare(session_id)
        case DeleteSession(deleted=True):
            store.delete(session_id)
        case DeleteSession():
            store.restore(session_id)
        case PurgeSession():
            _purge(store, session_id)
    return None


def _wait_until_stored(store: JournalStore, session_id: str) -> None:
    """Let a copy have all that was done and typed up to now.

    Raises:
        simulator.store.StoreError: It cannot be stored, or not so soon.
    """
    live = registry().get(session_id)
    if live is not None:
        live.simulation.journal.keep(_KEEP_SECONDS)
    store.keep_drafts(_KEEP_SECONDS)


def _purge(store: JournalStore, session_id: str) -> None:
    """Delete for good what was deleted before; what was restored elsewhere meanwhile stays."""
    if store.record(session_id).deleted_at is not None:
        store.purge(session_id)
