"""The database fails while somebody plays: the page says so, goes on, loses nothing, and says when it is over."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest
from sqlalchemy import event

from app.live import session_store as shelves
from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession, registry
from app.live.session_opening import StartForm, open_session
from app.live.session_store import STORE_VARIABLE, StoreOfServer, close_store, server_store
from simulator.store import JournalStore
from tests.app.page_driver import Tab
from tests.harness.postgres import postgres
from tests.harness.processes import wait_until

SLOW_SECONDS = 0.4
"""A slow disk takes so long for each commit."""

NOT_STORED = "Not everything is stored"
"""Begins the words over a page of which something is in memory alone."""
STORED_AGAIN = "Everything is stored"

CANCEL = "Please cancel order A-1001 and refund me."


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a store that does not wait long for a lock. Patched, as the page opens it with more patience."""
    found = tmp_path / "sessions.db"
    monkeypatch.setenv(STORE_VARIABLE, str(found))
    monkeypatch.setattr("sys.argv", ["app"])
    monkeypatch.setattr(shelves, "opened", lambda _: StoreOfServer(JournalStore.open(found, patience=0.1)))
    close_store()
    assert server_store().store is not None
    yield found
    registry().close_all()
    close_store()


def test_a_locked_database_is_said_and_goes_by(path: Path) -> None:
    """The step that was taken meanwhile counts; when the lock is gone it is stored, and the page says that all is."""
    live = _begun()
    tab = Tab(live.session_id)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    tab.click(tab.key("accept_"))
    assert NOT_STORED in tab.words
    assert "locked" in tab.literal
    assert str(path) in tab.literal
    tab.click(tab.key("accept_"))
    assert [str(getattr(each, "tool_name", "")) for each in live.simulation.view().pending] == [
        "refund_order"
    ]
    other.execute("ROLLBACK")
    other.close()
    wait_until(lambda: live.simulation.journal.trouble is None, what="the trouble to be over")
    tab.run()
    assert STORED_AGAIN in tab.words
    assert NOT_STORED not in tab.words
    store = server_store().store
    assert store is not None
    assert store.load(live.session_id).to_json() == live.simulation.journal.to_json()
    tab.click("undo_step")
    assert STORED_AGAIN not in tab.words


def test_a_step_that_is_not_stored_is_not_shown_as_if_it_were(path: Path) -> None:
    """What the engine did by itself is marked in the timeline, and named above it, until it is stored."""
    live = _begun()
    tab = Tab(live.session_id)
    assert "not stored yet" not in tab.words
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    live.simulation.answer(live.simulation.view().pending[0], {"status": "shipped"})
    tab.run()
    assert NOT_STORED in tab.words
    assert tab.steps_marked("not stored yet") == 2
    other.execute("ROLLBACK")
    other.close()
    _is_stored_again(live, tab)
    assert tab.steps_marked("not stored yet") == 0


def test_what_was_typed_is_stored_when_the_page_has_been_drawn(path: Path) -> None:
    """The run that takes a draft in ends when it is in the file, however slow that is."""
    live = _begun()
    store = server_store().store
    assert store is not None
    tab = Tab(live.session_id)
    event.listen(store._database._engine, "commit", lambda _: sleep(SLOW_SECONDS))
    tab.type("response_", '{"typed": 1}')
    with sqlite3.connect(path) as other:
        found = [text for (text,) in other.execute("SELECT text FROM studio_drafts")]
    other.close()
    assert any("typed" in text for text in found)


def test_typed_text_that_is_not_stored_is_named(path: Path) -> None:
    """A draft that the database does not take is told of, and taken once it can be."""
    live = _begun()
    store = server_store().store
    assert store is not None
    tab = Tab(live.session_id)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    tab.type("response_", '{"typed": 2}')
    assert NOT_STORED in tab.words
    other.execute("ROLLBACK")
    other.close()
    store.keep_drafts()
    tab.run()
    assert STORED_AGAIN in tab.words
    again = JournalStore.open(path)
    assert any("typed" in text for text in again.drafts(live.session_id).values())
    again.close()


def _begun() -> LiveSession:
    live = open_session(StartForm(agent="order_desk", query=CANCEL), catalogue().config("order_desk"))
    live.simulation.journal.keep()
    return live


def _is_stored_again(live: LiveSession, tab: Tab) -> None:
    """Wait until all is stored by itself, and look that it is, and that the page says so."""
    wait_until(lambda: live.simulation.journal.trouble is None, what="the trouble to be over")
    tab.run()
    assert STORED_AGAIN in tab.words
    store = server_store().store
    assert store is not None
    live.simulation.journal.keep()
    assert store.load(live.session_id).to_json() == live.simulation.journal.to_json()


def test_a_full_disk_is_said_and_goes_by(path: Path) -> None:
    """Steps count while there is no room for them; when there is, they are stored without anybody's doing."""
    live = _begun()
    store = server_store().store
    assert store is not None
    # As in the tests of the store itself: the database may not grow, for which SQLite says what it says of a full disk.
    engine = store._database._engine
    engine.dispose()
    with sqlite3.connect(path) as counted:
        pages = counted.execute("PRAGMA page_count").fetchone()[0]
    event.listen(
        engine, "connect", lambda dbapi, _: dbapi.execute(f"PRAGMA max_page_count = {pages}"), named=False
    )
    tab = Tab(live.session_id)
    for _ in range(12):
        tab.click(tab.key("accept_")).click("undo_step")
        if "disk is full" in tab.literal:
            break
    assert NOT_STORED in tab.words
    assert "disk is full" in tab.literal
    event.listen(
        engine, "begin", lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    )
    _is_stored_again(live, tab)


def test_a_broken_row_hides_nothing_before_it(path: Path) -> None:
    """A session of which a row is damaged comes back up to there, says which, and can be played on; the next time too."""
    live = _begun()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    registry().close_all()
    close_store()
    with sqlite3.connect(path) as other:
        last = other.execute("SELECT max(number) FROM studio_facts").fetchone()[0]
        other.execute("UPDATE studio_facts SET body = '{' WHERE number = ?", [last])
    other.close()
    for _ in range(2):
        tab = Tab(live.session_id)
        assert f"fact {last} is broken" in tab.literal
        assert CANCEL in tab.literal
        tab.click(tab.key("accept_"))
        registry().close_all()
        close_store()


@pytest.mark.long
def test_a_database_server_that_is_restarted_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While PostgreSQL is away, people go on; when it is back, all is there."""
    monkeypatch.setattr("sys.argv", ["app"])
    with postgres() as server:
        monkeypatch.setenv(STORE_VARIABLE, server.new_database())
        close_store()
        live = _begun()
        tab = Tab(live.session_id)
        server.stop()
        tab.click(tab.key("accept_"))
        assert NOT_STORED in tab.words
        assert "not responding" in tab.literal
        tab.click(tab.key("accept_"))
        server.start()
        _is_stored_again(live, tab)
        registry().close_all()
        close_store()
        again = Tab(live.session_id)
        assert again.has(again.key("accept_"))
        registry().close_all()
        close_store()


@pytest.mark.long
def test_a_database_server_that_says_nothing_holds_up_no_click(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While PostgreSQL is stopped the page goes on from memory, and says what is not stored; what was not is stored after."""
    monkeypatch.setattr("sys.argv", ["app"])
    with postgres() as server:
        monkeypatch.setenv(STORE_VARIABLE, server.new_database())
        close_store()
        live = _begun()
        tab = Tab(live.session_id)
        with server.frozen():  # it answers no click before the block ends
            for key in ("accept_", "accept_", "undo_step"):
                tab.click(tab.key(key) if key.endswith("_") else key)
                assert NOT_STORED in tab.words
        _is_stored_again(live, tab)
        registry().close_all()
        close_store()
