"""The tables: sessions, their facts, texts that were typed and not sent, who plays, and unsaved work on files. Version 3 of the schema."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()

# The names say whose they are: a PostgreSQL database may be shared, and ADK has a table `sessions` too.
SESSIONS = Table(
    "studio_sessions",
    METADATA,
    Column("session_id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("app_name", String, nullable=False),
    Column("agent_name", String, nullable=False),
    Column("agent_key", String, nullable=False),
    Column("agent_digest", String, nullable=False),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("tags", Text, nullable=False),  # a JSON list
    Column("notes", Text, nullable=False),
    Column("words", Text, nullable=False),  # what a search looks in, without upper case
    Column("status", String, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("deleted_at", Double),
    Column("shared_token", String, unique=True),
    Column("head", Integer, nullable=False),
    Column("length", Integer, nullable=False),
    Index("studio_sessions_of_owner", "owner", "changed_at"),
)

FACTS = Table(
    "studio_facts",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("parent", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),  # the fact as JSON; text, as PostgreSQL's own JSON knows no NUL
)

DRAFTS = Table(
    "studio_drafts",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id, ondelete="CASCADE"), primary_key=True),
    # Both are JSON strings in ASCII: a model's text may hold what a database cannot.
    Column("name", Text, primary_key=True),
    Column("text", Text, nullable=False),
)


LEASES = Table(
    "studio_leases",
    METADATA,
    Column("session_id", ForeignKey(SESSIONS.c.session_id, ondelete="CASCADE"), primary_key=True),
    Column("token", String, nullable=False),  # of this one claim
    Column("holder", String, nullable=False),
    Column("place", Text, nullable=False),  # in words for people
    Column("until", Double, nullable=False),
)


UNSAVED = Table(
    "studio_unsaved",
    METADATA,
    Column("owner", String, primary_key=True),
    Column(
        "path", Text, primary_key=True
    ),  # a JSON string in ASCII, as the next one: a path need not be text
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("mark", String, nullable=False),  # tells what the work was made on from something else
    Column("base", LargeBinary, nullable=False),  # compressed, as the next one
    Column("beside", LargeBinary),
)


class Place(NamedTuple):
    """Where a stored session is: the number of its head's fact, and how many facts it has."""

    head: int
    length: int
