"""The library: the sessions that are kept, with what is known of each without playing it, and files of them.

`Library` finds and changes what is said of sessions: names, tags, whose they are, links to them. A session as a file is its journal with that metadata and the texts that were not sent
(`written`, `read`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Literal

from pydantic import Field, ValidationError
from sqlalchemy import Connection, Select, delete, exists, func, insert, literal, select, update

from simulator.base.documents import LIMITS
from simulator.base.frozen_value import Value
from simulator.base.json_text import JsonTextError, plain_parts, read_json
from simulator.base.json_values import WrittenObject
from simulator.base.validation_words import flaws, validated
from simulator.facts import SessionOpened
from simulator.journal import Journal, JournalError
from simulator.store import session_rows
from simulator.store.database import DRAFTS, FACTS, SESSIONS, Database
from simulator.store.errors import BrokenJournalError, StoreError, UnknownSessionError
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

    def saying(self, owner: str, words: Iterable[str]) -> frozenset[str]:
        """Return the ids of an owner's sessions that may say each of these words, in small letters: their facts have all letters and digits of it."""
        query = select(SESSIONS.c.session_id).where(SESSIONS.c.owner == owner)
        for part in {part for word in words for part in plain_parts(word)}:
            says = func.lower(FACTS.c.body).contains(part)
            query = query.where(exists().where(FACTS.c.session_id == SESSIONS.c.session_id, says))
        with self._database.reading() as connection:
            return frozenset(connection.scalars(query)) if is_id(owner) else frozenset()

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


FORMAT = "golden-trace-studio/session"
VERSION = 1


class SessionMetadata(Value):
    """The metadata of a session in its file: what does not follow from the journal, and is no secret."""

    agent_key: str
    agent_digest: str = ""
    name: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""
    created_at: float = Field(allow_inf_nan=False)
    changed_at: float = Field(allow_inf_nan=False)


class _Document(Value):
    format: Literal["golden-trace-studio/session"]
    version: Literal[1]
    record: SessionMetadata
    journal: WrittenObject
    drafts: dict[str, str] = Field(default_factory=dict)


def written(record: SessionRecord, journal: Journal, drafts: dict[str, str]) -> str:
    """Write a session."""
    kept = SessionMetadata.model_validate(record.model_dump(include=set(SessionMetadata.model_fields)))
    document = {
        "format": FORMAT,
        "version": VERSION,
        "record": kept.model_dump(mode="json"),
        "journal": json.loads(journal.to_json()),
        "drafts": drafts,
    }
    # ASCII, as a model may have written half of a surrogate pair, which no file takes.
    return json.dumps(document, indent=1)


def read(text: str) -> tuple[SessionMetadata, Journal, dict[str, str]]:
    """Read what `written` wrote.

    Raises:
        StoreError: It is something else, or of a version that is not known; the error says what is wrong and where.
    """
    try:
        data: Any = read_json(text, most=LIMITS["session"])
    except JsonTextError as error:
        raise StoreError(f"not a session file: not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StoreError(f"not a session file: its format is not {FORMAT!r}")
    if data.get("version") != VERSION:
        raise StoreError(
            f"session file version {data.get('version')!r:.40} is not supported; this studio reads version {VERSION}"
        )
    try:
        document: _Document = validated(_Document, data)
        journal = Journal.from_json(json.dumps(document.journal))
    except ValidationError as error:
        raise StoreError("\n".join(f"not a session file: {each}" for each in flaws(error))) from error
    except JournalError as error:
        raise StoreError(f"the file's journal cannot be read: {error}") from error
    return document.record, journal, document.drafts


def read_session(text: str) -> Journal:
    """Return the journal of a session that was exported as a file.

    Raises:
        StoreError: As `read`.
    """
    return read(text)[1]


def opened_as(journal: Journal, session_id: str) -> Journal:
    """Return the same journal for a session with another id."""
    document = json.loads(journal.to_json())
    for node in document["nodes"]:
        if node["fact"]["kind"] == SessionOpened.model_fields["kind"].default:
            node["fact"]["session_id"] = session_id
    return Journal.from_json(json.dumps(document))
