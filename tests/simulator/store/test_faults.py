"""Whatever happens to the database: a clear word, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import event

from simulator.store import (
    BrokenJournalError,
    HeadMovedError,
    JournalStore,
    StoreError,
)
from tests.harness.postgres import Postgres, postgres
from tests.harness.processes import wait_until
from tests.simulator.session.making import answered_turn, asked
from tests.simulator.store.databases import ME, Kept, append, begun, facts_of, keep, raising, seat


def test_a_locked_database_is_named_and_waited_for(kept: Kept) -> None:
    """`keep` says that it is locked, also at the end of a store; when the lock is gone, all is stored without anybody's doing."""
    store, closed = kept.store(patience=0.2), kept.store(patience=0.1)
    journal, lost = begun(store), begun(closed, "lost")
    assert (journal.trouble, store.trouble) == (None, None)
    with kept.locked():
        journal.append(asked())
        said = raising(journal.keep)
        assert "locked" in said
        assert store.name in said
        assert journal.trouble == said
        journal.append(seat("a"))
        assert "locked" in raising(lambda: store.rename("session", "x"))
        store.put_drafts("session", {"a": "text"})
        store.put_unsaved(ME, "orders.evalset.json", "work")
        assert "locked" in raising(store.keep_drafts)
        assert "locked" in str(store.trouble)
        lost.append(asked())
        with pytest.raises(StoreError, match=r"session 'lost': .*locked"):
            closed.close()
    wait_until(lambda: (journal.trouble, store.trouble) == (None, None), what="the trouble to be over")
    again = kept.store()
    assert again.load("session").to_json() == journal.to_json()
    assert again.drafts("session") == {"a": "text"}
    assert again.unsaved(ME, "orders.evalset.json") == ("work", b"", None, 1000.0)


def _fill(kept: Kept, store: JournalStore) -> None:
    """Let the database have no room any more."""
    if kept.is_sqlite:
        pages = kept.run("PRAGMA page_count")[0][0]
        engine = store._database._engine
        engine.dispose()
        event.listen(
            engine, "connect", lambda dbapi, _: dbapi.execute(f"PRAGMA max_page_count = {pages}"), named=False
        )
    else:
        kept.run(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$"
        )
        kept.run("CREATE TRIGGER full_disk BEFORE INSERT ON studio_facts EXECUTE FUNCTION full_disk()")


def test_a_full_disk_is_named_and_nothing_is_lost(kept: Kept) -> None:
    """What has no room stays in memory; it is stored when there is room, by another store from an export of the journal too."""
    store, journal = kept.begun()
    _fill(kept, store)
    for turn in range(40):
        append(journal, answered_turn(turn))
    assert "disk is full" in raising(journal.keep)
    assert "disk is full" in str(journal.trouble)
    stored = kept.store().load("session").path()
    assert stored == journal.path()[: len(stored)] != journal.path()
    if kept.is_sqlite:
        event.listen(store._database._engine, "begin", _make_room)
    else:
        kept.run("DROP TRIGGER full_disk ON studio_facts")
    journal.keep()
    assert kept.store().load("session").to_json() == journal.to_json()


def _make_room(connection: Any) -> None:
    connection.exec_driver_sql("PRAGMA max_page_count = 1000000")


def test_a_file_that_is_gone_is_noticed(tmp_path: Path) -> None:
    """SQLite itself would go on writing to a file without a name; when the file is back, all is stored."""
    path = tmp_path / "sessions.db"
    store = JournalStore.open(path)
    journal = begun(store)
    kept_files = [each.rename(each.with_name(f"moved-{each.name}")) for each in sorted(tmp_path.iterdir())]
    journal.append(asked())
    assert f"{path}: the file" in raising(journal.keep)
    assert f"{path}: the file" in raising(lambda: store.load("session"))
    path.write_bytes(b"")
    assert f"{path}: the file" in raising(journal.keep)
    path.unlink()
    for each in kept_files:
        each.rename(each.with_name(each.name.removeprefix("moved-")))
    journal.keep()
    store.close()
    assert JournalStore.open(path).load("session").to_json() == journal.to_json()


BREAKS = {
    "no JSON": ("UPDATE studio_facts SET body = '{\"kind' WHERE number = 4", "not JSON"),
    "no fact": ('UPDATE studio_facts SET body = \'{"kind": "guessed"}\' WHERE number = 4', "guessed"),
    "no object": ("UPDATE studio_facts SET body = '7' WHERE number = 4", "dictionary"),
    "missing": ("DELETE FROM studio_facts WHERE number = 4", "missing"),
    "later parent": ("UPDATE studio_facts SET parent = 6 WHERE number = 4", "parent, fact 6,"),
    "itself": ("UPDATE studio_facts SET parent = 4 WHERE number = 4", "parent, fact 4,"),
    "below the root": ("UPDATE studio_facts SET parent = -7 WHERE number = 4", "parent, fact -7,"),
    "cannot follow": ("UPDATE studio_facts SET parent = 0 WHERE number = 4", "tool_answered"),
}


@pytest.mark.parametrize("damage", BREAKS)
def test_a_broken_row_hides_no_other_row(kept: Kept, damage: str) -> None:
    """The error names session, fact and reason; what is whole can be read and gone on with, and that is kept."""
    statement, reason = BREAKS[damage]
    store, journal = kept.begun(*answered_turn())
    journal.move_head(2)
    beside = journal.append(seat("beside"))
    journal.move_head(6)
    journal.keep()
    kept.run(statement)
    with pytest.raises(BrokenJournalError, match="'session': fact 4 ") as caught:
        store.load("session")
    assert reason in caught.value.reason
    assert (caught.value.session_id, caught.value.number) == ("session", 4)
    with pytest.raises(BrokenJournalError):
        store.export("session")
    whole = store.load("session", up_to_damage=True)
    assert str(whole.damage) == str(caught.value)
    # A row that says it follows fact 0 is believed.
    last = 0 if damage == "cannot follow" else 3
    assert (whole.head, len(whole)) == (last, 5)
    assert whole.path() == journal.path(last)
    assert whole.fact(4) == journal.fact(beside)
    whole.move_head(3)
    keep(whole, seat("after"))
    again = store.load("session", up_to_damage=True)
    assert again.path() == whole.path()
    assert not again.refresh()
    keep(whole, seat("more"))
    assert again.refresh()
    assert again.path() == whole.path()
    assert store.records(ME)[0].length == 10


def test_a_head_that_is_not_there_is_damage(kept: Kept) -> None:
    """The facts are whole, so all of them are given."""
    store, journal = kept.begun(*answered_turn())
    kept.run("UPDATE studio_sessions SET head = 50")
    with pytest.raises(BrokenJournalError, match=r"fact 50 .*missing.*head"):
        store.load("session")
    assert store.load("session", up_to_damage=True).path() == journal.path()


def test_refresh_names_what_is_broken(kept: Kept) -> None:
    """A journal that is open stays as it is."""
    mine = begun(kept.store())
    theirs = kept.store().load("session")
    keep(theirs, *answered_turn())
    kept.run("UPDATE studio_facts SET body = '7' WHERE number = 4")
    text = mine.to_json()
    with pytest.raises(BrokenJournalError, match="fact 4 is broken"):
        mine.refresh()
    assert mine.to_json() == text


def test_a_clock_that_goes_backwards_changes_no_order(kept: Kept) -> None:
    """What was changed is never older than it was; all facts are kept in the order in which they came."""
    store = kept.store()
    kept.clock.now = 5000.0
    journal = begun(store)
    begun(store, "other")
    kept.clock.now = 10.0
    for turn in range(3):
        for fact in answered_turn(turn):
            journal.append(fact.model_copy(update={"at": 100.0 - turn}))
    journal.keep()
    record = store.record("session")
    assert (record.created_at, record.changed_at) == (5000.0, 5000.0)
    assert kept.store().load("session").to_json() == journal.to_json()


class _Cut:
    """Lets a commit be done, and its confirmation be lost, as when the network fails at the wrong moment."""

    def __init__(self, store: JournalStore) -> None:
        self.active = True
        self._connection_of = store._database._writers
        event.listen(store._database._engine, "commit", self._commit)

    def _commit(self, connection: Any) -> None:
        if self.active:
            connection.connection.dbapi_connection.commit()
            if connection.dialect.name == "sqlite":
                connection.connection.dbapi_connection.execute("BEGIN")
            raise StoreError("line cut")


@pytest.mark.parametrize("other", ["nobody", "goes on", "is beside"])
def test_a_commit_whose_end_is_not_known_is_not_done_twice(kept: Kept, other: str) -> None:
    """Facts that were stored after all are found again, whatever others did since; none is there twice."""
    store, journal = kept.begun(asked())
    aside = kept.store().load("session")
    cut = _Cut(store)
    journal.append(seat("a"))
    journal.append(seat("b"))
    assert raising(journal.keep) == "line cut"
    if other == "goes on":
        theirs = kept.store().load("session")
        keep(theirs, seat("theirs"))
    elif other == "is beside":
        aside.append(seat("beside"))
        raising(aside.keep)
    journal.append(seat("c"))
    cut.active = False
    if other == "goes on":
        with pytest.raises(HeadMovedError):
            journal.keep()
    else:
        journal.keep()
    stored = kept.store().load("session")
    mine = facts_of(stored, len(stored) - 1)[3:]
    assert mine == [seat("a"), seat("b"), seat("c")]
    assert len(stored) == 6 + (other != "nobody")
    assert journal.superseded is (other == "goes on")


def test_a_moved_head_whose_end_is_not_known_is_found(kept: Kept) -> None:
    """A head that was moved after all is no one else's doing."""
    store, journal = kept.begun(*answered_turn())
    cut = _Cut(store)
    journal.move_head(3)
    raising(journal.keep)
    cut.active = False
    journal.keep()
    assert (journal.superseded, store.place("session").head) == (False, 3)


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """Run a server that a test may stop."""
    with postgres() as server:
        yield server


@pytest.fixture
def on_server(own_server: Postgres) -> Iterator[Kept]:
    """Return an empty database of it."""
    databases = Kept(own_server.new_database())
    yield databases
    databases.drop_all()


@pytest.mark.long
def test_a_server_that_is_restarted_loses_nothing(own_server: Postgres, on_server: Kept) -> None:
    """While PostgreSQL is down there is a clear word; after it is up, all goes on, in stores that were open before."""
    store, journal = on_server.begun(asked())
    keep(journal, seat("before"))
    own_server.stop()
    journal.append(seat("while"))
    said = raising(journal.keep)
    assert "not responding" in said
    assert [journal.trouble] == [said]
    assert "not responding" in raising(lambda: store.load("session"))
    assert "not responding" in raising(on_server.store)
    own_server.start()
    keep(journal, seat("after"))
    assert journal.trouble is None
    assert store.load("session").to_json() == journal.to_json()
    own_server.stop()
    own_server.start()
    assert store.place("session") == journal.place
    keep(journal, seat("again"))
    assert on_server.store().load("session").to_json() == journal.to_json()


@pytest.mark.long
def test_a_server_that_says_nothing_is_given_up_once(own_server: Postgres, on_server: Kept) -> None:
    """Its silence ends the first call; nobody waits again until it answers, and then what waited is stored by itself."""
    store, journal = on_server.begun(asked(), patience=1.0)
    with own_server.frozen():
        journal.append(seat("while"))
        assert "is not responding" in raising(lambda: store.load("session"))
        line = store._database._line
        assert line is not None
        assert line.is_lost
        began = monotonic()
        for _ in range(50):
            assert "is not responding" in raising(lambda: store.records(ME))
        assert monotonic() - began < 25.0  # fifty that wait a second each take longer
        journal.append(seat("after"))
        assert journal.first_unstored == 3
        assert "not responding" in raising(lambda: journal.keep(2.0))
    wait_until(lambda: journal.first_unstored is None, what="what waited to be stored")
    assert store.load("session").to_json() == journal.to_json()


@pytest.mark.long
def test_who_waited_in_vain_for_storing_is_the_last_to_wait(own_server: Postgres, on_server: Kept) -> None:
    """What is read after that is refused at once, though the connection that stores has not given up yet."""
    store, journal = on_server.begun(asked(), patience=20.0)
    with own_server.frozen():
        journal.append(seat("while"))
        raising(lambda: journal.keep(0.2))
        began = monotonic()
        assert "is not responding" in raising(lambda: store.records(ME))
        assert monotonic() - began < 20.0  # the connection's own patience
    wait_until(lambda: journal.first_unstored is None, what="what waited to be stored")
    wait_until(lambda: _is_readable(store), what="the list")


def _is_readable(store: JournalStore) -> bool:
    with suppress(StoreError):
        return bool(store.records(ME))
    return False


def test_what_takes_long_to_store_is_told_of(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing has failed yet: facts are taken at once, and `keep` gives up after its time. Patched, so that nobody waits for two seconds."""
    monkeypatch.setattr("simulator.store.durability.LATE_SECONDS", 0.05)
    store = kept.store(patience=20)
    journal = begun(store)
    assert journal.trouble is None
    with kept.locked():
        journal.append(asked())
        wait_until(lambda: journal.trouble is not None, what="the word")
        assert "0.05 s" in str(journal.trouble)
        assert journal.first_unstored == 2
        append(journal, answered_turn()[1:])
        journal.move_head(4)
        taken = journal.path()
        with pytest.raises(StoreError, match=r"'session' .* 0\.05 s$"):
            journal.keep(0.05)
    # Who waited in vain is the last to wait: the server is asked first, which takes its time.
    wait_until(lambda: _is_readable(store), what="the database")
    journal.keep()
    assert (journal.trouble or "", journal.has_unwritten) == ("", False)
    assert kept.store().load("session").path() == taken


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE studio_facts SET body = substr(body, 1, 20)",
        "UPDATE studio_facts SET body = x'ff00fe'",
        "UPDATE studio_facts SET parent = 'x'",
        "UPDATE studio_sessions SET tags = '[\"a'",
        "UPDATE studio_sessions SET tags = '[1]'",
        "UPDATE studio_sessions SET turns = 'many', changed_at = 'late', name = x'fffe'",
        "UPDATE studio_sessions SET head = 'x'",
        "UPDATE studio_sessions SET length = 'x'",
        "UPDATE studio_drafts SET text = x'ff'",
    ],
)
def test_the_damage_of_one_session_leaves_all_others_and_what_is_whole_of_it(
    tmp_path: Path, damage: str
) -> None:
    """It is listed, named, opened up to the damage and deleted; the rest is as it was."""
    kept = Kept(tmp_path / "sessions.db")
    store = kept.store()
    for name in ("one", "two"):
        begun(store, name)
        store.put_drafts(name, {"a": "text"})
    store.keep_drafts()
    kept.run(f"{damage} WHERE session_id = 'two'".replace(":", "\\:"))
    listed = store.records_of_all()
    assert {record.session_id for record in listed} == {"one", "two"}
    assert len(store.load("one")) == 2
    assert store.drafts("one") == {"a": "text"}
    assert store.record("two").session_id == "two"
    for work in (store.load, store.export, store.duplicate, lambda name: store.rename(name, "named")):
        with suppress(StoreError):  # and nothing else
            work("two")
    assert len(store.load("two", up_to_damage=True)) in {0, 1, 2}
    assert set(store.drafts("two")) <= {"a"}
    store.purge("two")
    kept.drop_all()


@pytest.mark.parametrize("version", [None, "abc", 0, -4])
def test_a_schema_version_that_cannot_be_is_damage(tmp_path: Path, version: object) -> None:
    """Nothing is changed in such a file."""
    kept = Kept(tmp_path / "sessions.db")
    begun(kept.store())
    kept.drop_all()
    kept.run("DROP TABLE studio_schema")
    kept.run("CREATE TABLE studio_schema (version)")
    kept.run("INSERT INTO studio_schema VALUES (:version)", version=version)
    assert "schema version" in raising(kept.store)
    assert kept.run("SELECT count(*) FROM studio_facts") == [(2,)]


def test_an_emptied_file_does_not_take_its_log_along(tmp_path: Path) -> None:
    """SQLite would remove it, with the newest steps."""
    path = tmp_path / "sessions.db"
    path.touch()
    log = tmp_path / "sessions.db-wal"
    log.write_bytes(b"steps")
    assert str(log) in raising(lambda: JournalStore.open(path))
    assert log.read_bytes() == b"steps"
