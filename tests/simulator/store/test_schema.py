"""A database is made, brought up to this version, or refused with clear words; its file is one user's alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from simulator.store import JournalStore, StoreError, database, default_path
from simulator.store.database import STEPS, Database
from simulator.store.errors import network_file_system
from tests.simulator.base.rows import for_each
from tests.simulator.store.databases import ME, Kept, begun, raising

OLDER = (
    "CREATE TABLE studio_schema (version INTEGER NOT NULL)",
    "INSERT INTO studio_schema VALUES (1)",
    "CREATE TABLE studio_sessions (session_id VARCHAR PRIMARY KEY, title VARCHAR NOT NULL)",
    "INSERT INTO studio_sessions VALUES ('s', 'Late')",
)
"""What a made-up version before would have left: a session has a title and no name."""


def _rename(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE studio_sessions RENAME COLUMN title TO name"))


def _fail(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE studio_sessions ADD COLUMN half VARCHAR"))
    connection.execute(text("SELECT * FROM absent"))


def test_a_step_that_fails_leaves_all_as_it_was(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps are one transaction. Patched, as no released step fails."""
    if isinstance(kept.url, Path):
        kept.url.parent.mkdir()
    for statement in OLDER:
        kept.run(statement)
    monkeypatch.setattr("simulator.store.database.migrate.__defaults__", ((_rename, _fail), None))
    assert "absent" in raising(lambda: Database(kept.url, patience=1))
    assert kept.run("SELECT title FROM studio_sessions") == [("Late",)]
    assert kept.run("SELECT version FROM studio_schema") == [(1,)]
    engine = kept.engine()
    columns = inspect(engine).get_columns("studio_sessions")
    assert {column["name"] for column in columns} == {"session_id", "title"}
    engine.dispose()


def test_a_newer_database_is_refused(kept: Kept) -> None:
    """What a newer studio made is not touched, and the words say what to do."""
    begun(kept.store())
    kept.run("UPDATE studio_schema SET version = :version", version=len(STEPS) + 2)
    said = raising(kept.store)
    assert re.findall(r"\d+", said) == [str(len(STEPS) + 2), str(len(STEPS) + 1)]


def test_a_database_may_hold_other_tables(kept: Kept) -> None:
    """Tables of others stay as they are, also one that is called `sessions`, as ADK's is."""
    begun(kept.store())
    kept.run("CREATE TABLE sessions (id INTEGER)")
    kept.run("INSERT INTO sessions VALUES (1)")
    assert kept.store().record("session").length == 2
    assert kept.run("SELECT id FROM sessions") == [(1,)]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("mysql://host/db", "mysql"),
        ("sqlite://", "sqlite:///sessions.db"),
        ("sqlite:///:memory:", "sqlite:///sessions.db"),
        ("sqlite:///x.db?mode=ro", "sqlite:///sessions.db"),
        ("://", "database URL"),
        ("postgresql://host:port/db", "database URL"),
        ("postgresql://me:secret@127.0.0.1:1/db", "not responding"),
        ("/dev/null/sessions.db", "/dev/null/sessions.db"),
        ("/dev/null", "database /dev/null"),
    ],
)
def test_a_place_that_holds_no_sessions_is_refused(place: str, reason: str) -> None:
    """The words say what is wrong, and never a password."""
    said = raising(lambda: JournalStore.open(place))
    assert reason in said
    assert "secret" not in said


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """It is named and left as it is."""
    path = tmp_path / "sessions.db"
    path.write_text("my diary\n" * 250)
    said = raising(lambda: JournalStore.open(path))
    assert f"{path}: " in said
    assert "not a database" in said
    assert path.read_text().startswith("my diary")


def test_the_file_is_its_users_alone(tmp_path: Path) -> None:
    """Nobody else on the machine reads sessions: the folder is 0700 and each file in it 0600. A path, a text and a URL open them."""
    path = tmp_path / "made" / "here" / "sessions.db"
    store = JournalStore.open(f"sqlite:///{path}")
    journal = begun(store)
    assert [oct(folder.stat().st_mode & 0o777) for folder in path.parents[:2]] == ["0o700", "0o755"]
    assert {oct(each.stat().st_mode & 0o777) for each in path.parent.iterdir()} == {"0o600"}
    names = {each.name for each in path.parent.iterdir()}
    assert names == {"sessions.db", "sessions.db-wal", "sessions.db-shm"}
    store.close()
    for place in (path, str(path)):
        store = JournalStore.open(place)
        assert store.load("session").to_json() == journal.to_json()
        store.close()


def test_the_file_has_a_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable first, then where the platform keeps a user's data; nothing is made by asking."""
    home = {"HOME": str(tmp_path)}
    usual = tmp_path / ".local" / "share" / "golden-trace-studio" / "sessions.db"
    assert default_path(home) == default_path({**home, "XDG_DATA_HOME": ""}) == usual
    assert default_path({**home, "XDG_DATA_HOME": "relative"}) == usual
    assert default_path({**home, "XDG_DATA_HOME": "/data"}) == Path("/data/golden-trace-studio/sessions.db")
    assert default_path({**home, "XDG_DATA_HOME": "/data", "GOLDEN_TRACE_DATA_DIR": "/mine"}) == Path(
        "/mine/sessions.db"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path({}) == usual
    assert list(tmp_path.iterdir()) == []


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words say what to install. Patched, as the tests themselves need the driver."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'golden-trace-studio\[postgres\]'"):
        JournalStore.open("postgresql://127.0.0.1:1/db")


@for_each(("version", "lacks"), [(1, ("studio_leases", "studio_unsaved")), (2, ("studio_unsaved",))])
def test_an_older_database_is_brought_up_and_that_is_said(
    kept: Kept, caplog: pytest.LogCaptureFixture, version: int, lacks: Sequence[str]
) -> None:
    """The tables come, each step once and in order, and the sessions stay; nothing is said of one that is up to date."""
    store = kept.store()
    store.purge("session")
    journal = begun(store)
    store.close()
    for table in lacks:
        kept.run(f"DROP TABLE {table}")
    kept.run("UPDATE studio_schema SET version = :version", version=version)
    caplog.clear()
    again = kept.store()
    (said,) = [record.getMessage() for record in caplog.records]
    assert f"version {version} to {len(STEPS) + 1}" in said
    assert again.name in said
    assert again.load("session").to_json() == journal.to_json()
    again.leases.claim("session")
    again.put_unsaved(ME, "orders.evalset.json", "work")
    again.keep_drafts()
    assert kept.run("SELECT version FROM studio_schema") == [(len(STEPS) + 1,)]
    caplog.clear()
    kept.store()
    assert caplog.records == []


MOUNTS = """\
/dev/sda / ext4 rw 0 0
server:/home /net/home nfs4 rw 0 0
/dev/sdb /net/home/local xfs rw 0 0
me@there: /with\\040blank fuse.sshfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/sessions.db", ""),
        ("/net/home/me/sessions.db", "nfs4"),
        ("/net/home/local/sessions.db", ""),
        ("/with blank/sessions.db", "fuse.sshfs"),
    ],
)
def test_a_file_on_a_network_is_known(path: str, kind: str, tmp_path: Path) -> None:
    """The mount point that is nearest counts."""
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert network_file_system(Path(path), mounts) == kind
    assert network_file_system(Path(path), tmp_path / "none") == ""


def test_a_store_on_a_network_says_what_is_not_certain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on a disk says nothing. Patched, as no test can mount a file system."""
    store = JournalStore.open(tmp_path / "sessions.db")
    assert store.caution == ""
    store.close()
    monkeypatch.setattr(database, "network_file_system", lambda _: "nfs4")
    store = JournalStore.open(tmp_path / "sessions.db")
    assert "network file system (nfs4)" in store.caution
    store.close()


def test_each_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """SQLite loses nothing that was acknowledged, also where the power goes."""
    database = Database(tmp_path / "sessions.db", patience=1.0)
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    database.close()
