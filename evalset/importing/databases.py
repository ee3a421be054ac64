"""Reads sessions from databases: those of `adk web` and of the studio, in SQLite files. Nothing is written to them."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from pydantic import ValidationError

from evalset.errors import first_flaw
from evalset.importing.adk_events import AdkSession
from evalset.importing.found import Harvest, ImportProblemError
from evalset.importing.sessions import case_of_facts, case_of_session
from simulator.jsontext import JsonTextError, read_json

MAGIC = b"SQLite format 3\x00"
_OURS, _ADKS = "studio_sessions", "sessions"
_OLD = (
    "its sessions are in ADK's older form, which holds pickled objects: bring it up with `adk migrate session`, and import "
    "the new one"
)


def take_database(path: Path, place: str, harvest: Harvest) -> None:
    """Take in the sessions of a database.

    Raises:
        ImportProblemError: It is damaged, or holds no sessions that are known here.
    """
    try:
        with _copied(path) as copy, contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.row_factory = sqlite3.Row
            tables = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master")}
            if _ADKS in tables and "events" in tables:
                _take_adks(connection, place, harvest)
            if _OURS in tables:
                _take_ours(copy, place, harvest)
            if not tables & {_ADKS, _OURS}:
                raise ImportProblemError("it holds sessions neither of ADK nor of the studio")
    except sqlite3.Error as error:
        raise ImportProblemError(f"it is no database that can be read: {error}") from error


@contextlib.contextmanager
def _copied(path: Path) -> Iterator[Path]:
    """Copy a database as it is at this moment, whoever writes to it."""
    with tempfile.TemporaryDirectory(prefix="sessions-") as folder:
        copy = Path(folder, "copy.db")
        source = f"{path.resolve().as_uri()}?mode=ro"
        with (
            contextlib.closing(sqlite3.connect(source, uri=True)) as there,
            contextlib.closing(sqlite3.connect(copy)) as here,
        ):
            there.backup(here)
        yield copy


def _take_adks(connection: sqlite3.Connection, place: str, harvest: Harvest) -> None:
    columns = {row["name"] for row in connection.execute("PRAGMA table_info(events)")}
    if "event_data" not in columns:
        raise ImportProblemError(_OLD)
    for row in connection.execute(
        "SELECT app_name, user_id, id, state FROM sessions ORDER BY app_name, user_id, update_time, id"
    ):
        here = f"{place}, session {row['id']}"
        with _told(harvest, here):
            session = AdkSession(
                session_id=row["id"],
                app_name=row["app_name"],
                user_id=row["user_id"],
                state=_state(connection, row),
                events=[_event(data) for data in _events(connection, row)],
            )
            harvest.take(here, [case_of_session(session, _teller(harvest, here))])


def _events(connection: sqlite3.Connection, session: sqlite3.Row) -> Iterator[Any]:
    found = connection.execute(
        "SELECT event_data, id, invocation_id, timestamp FROM events WHERE app_name = ? AND user_id = ? AND session_id = ? "
        "ORDER BY timestamp, rowid",
        (session["app_name"], session["user_id"], session["id"]),
    )
    for row in found:
        written = _read(row["event_data"], "an event in it")
        if not isinstance(written, dict):
            raise ImportProblemError("an event in it is no object")
        yield {"id": row["id"], "invocation_id": row["invocation_id"], **written}


def _event(data: Any) -> Event:
    try:
        return Event.model_validate(data)
    except ValidationError as error:
        raise ImportProblemError(f"an event in it cannot be read: {first_flaw(error)}") from error


def _state(connection: sqlite3.Connection, session: sqlite3.Row) -> dict[str, Any]:
    """Give a session's state with what it shares with others, under ADK's prefixes."""
    names = (session["app_name"], session["user_id"])
    shared = {
        "app:": connection.execute("SELECT state FROM app_states WHERE app_name = ?", names[:1]),
        "user:": connection.execute(
            "SELECT state FROM user_states WHERE app_name = ? AND user_id = ?", names
        ),
    }
    state = _object(session["state"])
    for prefix, rows in shared.items():
        for row in rows:
            state |= {f"{prefix}{name}": value for name, value in _object(row["state"]).items()}
    return state


def _read(text: Any, what: str) -> Any:
    try:
        return read_json(str(text), constants=True)
    except JsonTextError as error:
        raise ImportProblemError(f"{what} is no JSON: {error}") from error


def _object(text: Any) -> dict[str, Any]:
    found = _read(text, "its state") if text else {}
    if not isinstance(found, dict):
        raise ImportProblemError("its state is no object")
    return found


def _take_ours(copy: Path, place: str, harvest: Harvest) -> None:
    from simulator.store import JournalStore, StoreError  # noqa: PLC0415 - SQLAlchemy takes half a second

    try:
        with contextlib.closing(JournalStore.open(copy)) as store:
            for record in [*store.records_of_all(), *store.records_of_all(archived=True)]:
                here = f"{place}, session {record.session_id}"
                with _told(harvest, here):
                    facts = [fact for _, fact in store.load(record.session_id).path()]
                    name = record.name or record.session_id
                    harvest.take(here, [case_of_facts(facts, name, _teller(harvest, here))])
    except StoreError as error:
        raise ImportProblemError(str(error)) from error


@contextlib.contextmanager
def _told(harvest: Harvest, place: str) -> Iterator[None]:
    """Go on with the next session where one cannot be taken."""
    try:
        yield
    except ValueError as error:
        harvest.tell(place, str(error))


def _teller(harvest: Harvest, place: str) -> Callable[[str], None]:
    return lambda words: harvest.tell(place, words)
