"""The library of sessions: finds them, and changes what people say about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, literal, select, update

from simulator.facts import SessionOpened
from simulator.store import session_rows
from simulator.store.database import Database
from simulator.store.database_tables import DRAFTS, FACTS, SESSIONS
from simulator.store.errors import BrokenJournalError, UnknownSessionError
from simulator.store.session_rows import SessionRecord, is_id, plain, record_of_row, row_of_record, words


class Library:
    """What a store knows of its sessions, beside their facts.

    Whose a session is, is said in its record: the server has to compare the asking person with it.
    Everything here waits for the database, and raises a `StoreError` where it does not answer.

    Args:
        database: Where the sessions are.
        clock: Says when something is changed, in seconds since the epoch.
        new_id: Makes ids and tokens that nobody can guess.
    """

    def __init__(self, database: Database, clock: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._database, self._clock, self._new_id = database, clock, new_id

    def records(
        self,
        owner: str,
        *,
        search: str = "",
        tag: str | None = None,
        archived: bool = False,
        deleted: bool = False,
    ) -> list[SessionRecord]:
        """Return the sessions of an owner, the one that was changed last first.

        Args:
            owner: Whose.
            search: Words that all stand in the name, the first query, the tags, the notes or the agent's name.
            tag: Only those with this tag.
            archived: Those in the archive instead of those that are not.
            deleted: Those that were deleted and can be restored, in the archive or not, instead of those that were not.
        """
        if not is_id(owner):
            return []
        mine = select(SESSIONS).where(SESSIONS.c.owner == owner)
        records = self._records(mine, search, archived=archived, deleted=deleted)
        return [record for record in records if tag is None or tag in record.tags]

    def records_of_all(self, *, search: str = "", archived: bool = False) -> list[SessionRecord]:
        """Return the sessions of everybody, as `records`: only for the operator of the studio, not for its users."""
        return self._records(select(SESSIONS), search, archived=archived, deleted=False)

    def _records(
        self, query: Select[Any], search: str, *, archived: bool, deleted: bool
    ) -> list[SessionRecord]:
        if deleted:
            query = query.where(SESSIONS.c.deleted_at.is_not(None))
        else:
            query = query.where(SESSIONS.c.deleted_at.is_(None), SESSIONS.c.archived.is_(archived))
        for word in plain(search).casefold().split():
            query = query.where(SESSIONS.c.words.contains(word, autoescape=True))
        newest_first = SESSIONS.c.changed_at.desc(), SESSIONS.c.created_at.desc(), SESSIONS.c.session_id
        with self._database.reading() as connection:
            found = connection.execute(query.order_by(*newest_first)).mappings()
            return [record_of_row(dict(row)) for row in found]

    def record(self, session_id: str) -> SessionRecord:
        """Return what the library says of a session, deleted ones too.

        Raises:
            UnknownSessionError: There is none with this id.
        """
        with self._database.reading() as connection:
            return record_of_row(row_in(connection, session_id, to_change=False))

    def shared(self, token: str) -> SessionRecord:
        """Return the session that is shared under a token.

        Raises:
            UnknownSessionError: There is none, or it was deleted.
        """
        query = select(SESSIONS).where(SESSIONS.c.shared_token == token, SESSIONS.c.deleted_at.is_(None))
        with self._database.reading() as connection:
            row = connection.execute(query).mappings().first() if is_id(token) else None
        if row is None:
            raise UnknownSessionError("no session is shared at this address")
        return record_of_row(dict(row))

    def rename(self, session_id: str, name: str) -> SessionRecord:
        """Call a session something; an empty name is none."""
        return self._change(session_id, name=plain(name).strip())

    def rename_agent(self, session_id: str, agent_key: str) -> SessionRecord:
        """Name the agent that a session goes on with, where it was renamed; the journal keeps the name that it began with."""
        return self._change(session_id, agent_key=plain(agent_key))

    def tag(self, session_id: str, tags: Iterable[str]) -> SessionRecord:
        """Return a session these tags instead of those it had, each once."""
        kept = dict.fromkeys(text for tag in tags if (text := plain(tag).strip()))
        return self._change(session_id, tags=json.dumps(list(kept), ensure_ascii=False))

    def note(self, session_id: str, notes: str) -> SessionRecord:
        """Write notes about a session, instead of those it had."""
        return self._change(session_id, notes=plain(notes))

    def archive(self, session_id: str, archived: bool = True) -> SessionRecord:
        """Put a session into the archive, or take it out."""
        return self._change(session_id, archived=archived)

    def delete(self, session_id: str) -> SessionRecord:
        """Delete a session so that it can be restored; nobody it is shared with sees it meanwhile."""
        return self._change(session_id, deleted_at=self._clock())

    def restore(self, session_id: str) -> SessionRecord:
        """Take back that a session was deleted."""
        return self._change(session_id, deleted_at=None)

    def share(self, session_id: str) -> str:
        """Share a session, read only; return the token under which it is found, the same one until `unshare`."""
        with self._database.writing() as connection:
            token = row_in(connection, session_id)["shared_token"] or self._new_id()
            _update(connection, session_id, {"shared_token": token})
        return str(token)

    def unshare(self, session_id: str) -> SessionRecord:
        """Share a session no longer; its token is worth nothing then."""
        return self._change(session_id, shared_token=None)

    def purge(self, session_id: str) -> None:
        """Delete a session for good, with its facts and drafts; one that is not there is no error."""
        with self._database.writing() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.session_id == session_id))

    def duplicate(self, session_id: str, owner: str | None = None) -> SessionRecord:
        """Make a session of one's own with the same facts, as far as they are durable.

        What its owner typed and did not send, tags and notes go along to a copy of their own only.

        Args:
            session_id: The session; it stays as it is.
            owner: Whose the new one is; by default its owner's.

        Raises:
            UnknownSessionError: There is none with this id.
            BrokenJournalError: It cannot be read how the session began.
        """
        new_id = self._new_id()
        with self._database.writing() as connection:
            record, now = record_of_row(row_in(connection, session_id)), self._clock()
            is_own = owner in {None, record.owner}
            changes = {
                "session_id": new_id,
                "owner": record.owner if owner is None else owner,
                "tags": record.tags if is_own else (),
                "notes": record.notes if is_own else "",
                "name": f"{record.name or record.query} (copy)".strip(),
                "created_at": now,
                "changed_at": now,
                "archived": False,
                "deleted_at": None,
                "shared_token": None,
            }
            row = row_of_record(record.model_copy(update=changes))
            connection.execute(insert(SESSIONS), row)
            for table in (FACTS, DRAFTS) if is_own else (FACTS,):
                columns = [column for column in table.c if column.name != "session_id"]
                old = select(literal(new_id), *columns).where(table.c.session_id == session_id)
                connection.execute(insert(table).from_select(["session_id", *(c.name for c in columns)], old))
            _open_as(connection, new_id)
        return record_of_row(row)

    def _change(self, session_id: str, **changes: Any) -> SessionRecord:
        with self._database.writing() as connection:
            return record_of_row(_update(connection, session_id, changes))


def row_in(connection: Connection, session_id: str, *, to_change: bool = True) -> dict[str, Any]:
    """Return the row of a session; where it is to be changed, others that want to change it wait.

    Raises:
        UnknownSessionError: There is none with this id.
    """
    query = select(SESSIONS).where(SESSIONS.c.session_id == session_id)
    query = query.with_for_update() if to_change else query
    row = connection.execute(query).mappings().first() if is_id(session_id) else None
    if row is None:
        raise UnknownSessionError(f"the store has no session {session_id!r}")
    return dict(row)


def _update(connection: Connection, session_id: str, changes: dict[str, Any]) -> dict[str, Any]:
    row = {**row_in(connection, session_id), **changes}
    changes = {**changes, "words": words(row)}
    connection.execute(update(SESSIONS).where(SESSIONS.c.session_id == session_id).values(**changes))
    return row


def _open_as(connection: Connection, session_id: str) -> None:
    """Let the facts that open the session say its own id."""
    opened = (FACTS.c.session_id == session_id) & (FACTS.c.kind == "session_opened")
    for number, body in connection.execute(select(FACTS.c.number, FACTS.c.body).where(opened)).all():
        try:
            fact = session_rows.read(body)
        except ValueError as error:
            raise BrokenJournalError(session_id, number, str(error)) from error
        if isinstance(fact, SessionOpened):
            text = session_rows.written(fact.model_copy(update={"session_id": session_id}))
            connection.execute(update(FACTS).where(opened, FACTS.c.number == number).values(body=text))
