"""Brings a database to the schema of this version, step by step and all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, inspect, select, text, update

from simulator.store.database_tables import METADATA
from simulator.store.errors import StoreError
from simulator.store.postgresql import UPGRADE_SECONDS, be_patient

Step: TypeAlias = Callable[[Connection], None]


def _add_leases(connection: Connection) -> None:
    connection.execute(
        text(
            "CREATE TABLE studio_leases (session_id VARCHAR NOT NULL PRIMARY KEY "
            "REFERENCES studio_sessions (session_id) ON DELETE CASCADE, token VARCHAR NOT NULL, "
            "holder VARCHAR NOT NULL, place TEXT NOT NULL, until DOUBLE PRECISION NOT NULL)"
        )
    )


def _add_unsaved(connection: Connection) -> None:
    binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    connection.execute(
        text(
            "CREATE TABLE studio_unsaved (owner VARCHAR NOT NULL, path TEXT NOT NULL, body TEXT NOT NULL, "
            f"at DOUBLE PRECISION NOT NULL, mark VARCHAR NOT NULL, base {binary} NOT NULL, beside {binary}, "
            "PRIMARY KEY (owner, path))"
        )
    )


STEPS: tuple[Step, ...] = (_add_leases, _add_unsaved)
"""The n-th brings a database from version n to n + 1, counted from 1. A step is never changed once it was released."""

_VERSION = Table("studio_schema", MetaData(), Column("version", Integer, nullable=False))
_ONE_AT_A_TIME = 0x601DE17  # any number that nobody else takes for their advisory lock


def migrate(connection: Connection, steps: Sequence[Step] = STEPS, tables: MetaData = METADATA) -> int | None:
    """Make the tables in a database that has none, or take the steps that it lacks; return the version that it had then.

    Args:
        connection: In a transaction that is for writing; another process waits, and then finds all done.
        steps: See `STEPS`.
        tables: What there is after the last step.

    Raises:
        StoreError: The database was made by a newer version of the studio.
    """
    latest = len(steps) + 1
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ONE_AT_A_TIME})
    if not inspect(connection).has_table(_VERSION.name):
        _VERSION.create(connection)
        tables.create_all(connection)
        connection.execute(insert(_VERSION).values(version=latest))
        return None
    version = connection.scalar(select(_VERSION.c.version))
    if not isinstance(version, int) or version < 1:
        raise StoreError(
            f"the session database is damaged: its schema version is {version!r}. Use a copy of it, or another database"
        )
    if version > latest:
        raise StoreError(
            f"the session database has schema version {version}, but this studio supports up to {latest}. "
            "Start the newer studio that created it, or use another database"
        )
    if version < latest:
        be_patient(connection, UPGRADE_SECONDS)
    for step in steps[version - 1 :]:
        step(connection)
    if version < latest:
        connection.execute(update(_VERSION).values(version=latest))
        return int(version)
    return None
