"""The database fails while somebody plays: the page says so, goes on, loses nothing, and says when it is over."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep

import pytest
from sqlalchemy import event

from app.live import session_store as shelves
from app.live import storage_wait
from app.live.live_sessions import LiveSession
from app.live.session_store import STORE_VARIABLE, StoreOfServer, close_store, server_store
from app.screens import page
from simulator.store import JournalStore
from tests.app.desk_sessions import CANCEL, begun, server_ends, waits
from tests.app.page_driver import Tab
from tests.harness.postgres import postgres
from tests.harness.processes import wait_until

SLOW_SECONDS = 0.4
"""A slow disk takes so long for each commit."""

NOT_STORED = "Not everything is stored"
"""Begins the words over a page of which something is in memory alone."""
STORED_AGAIN = "Everything is stored"

UNSTORED = "not stored yet"
"""Stands at each step that is in memory alone."""


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
    server_ends()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let another program keep the database from being written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.long
def test_a_locked_database_is_said_and_goes_by(path: Path) -> None:
    """The steps that are taken meanwhile count, and are marked; when the lock is gone they are stored, and the page says that all is."""
    live = _begun()
    tab = Tab(live.session_id)
    assert tab.steps_marked(UNSTORED) == 0
    with locked(path):
        tab.click(tab.key("accept_"))
        assert NOT_STORED in tab.words
        assert "locked" in tab.literal
        assert str(path) in tab.literal
        assert tab.steps_marked(UNSTORED) == 2
        tab.click(tab.key("accept_"))
        assert waits(live.session_id) == ["refund_order"]
    _is_stored_again(live, tab)
    assert NOT_STORED not in tab.words
    assert tab.steps_marked(UNSTORED) == 0
    tab.click("undo_step")
    assert STORED_AGAIN not in tab.words


@pytest.mark.long
def test_what_was_typed_is_stored_when_the_page_has_been_drawn(path: Path) -> None:
    """The run that takes a draft in ends when it is in the file, however slow that is."""
    tab = Tab(_begun().session_id)
    event.listen(_store()._database._engine, "commit", lambda _: sleep(SLOW_SECONDS))
    tab.type("response_", '{"typed": 1}')
    with closing(sqlite3.connect(path)) as other:
        found = [text for (text,) in other.execute("SELECT text FROM studio_drafts")]
    assert any("typed" in text for text in found)


def test_typed_text_that_is_not_stored_is_named(path: Path) -> None:
    """A draft that the database does not take is told of, and taken once it can be."""
    live = _begun()
    tab = Tab(live.session_id)
    with locked(path):
        tab.type("response_", '{"typed": 2}')
        assert NOT_STORED in tab.words
    _store().keep_drafts()
    assert STORED_AGAIN in tab.run().words
    with closing(JournalStore.open(path)) as again:
        assert any("typed" in text for text in again.drafts(live.session_id).values())


def test_what_the_page_did_not_wait_for_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page goes on before a text is stored, also one that came while it was drawn: it says so, and only as long."""
    live = _begun()
    tab = Tab(live.session_id)
    monkeypatch.setattr(storage_wait, "KEEP_SECONDS", 0.0)
    drawn = page._shown
    late = ["while it was drawn"]

    def shown(of: LiveSession | None) -> None:
        drawn(of)
        live.drafts.update({text: text for text in late})

    with locked(path):
        monkeypatch.setattr(page, "_shown", shown)
        assert NOT_STORED in tab.run().words
        assert "your last input" in tab.words
    late.clear()
    _store().keep_drafts()
    assert STORED_AGAIN in tab.run().words


def _store() -> JournalStore:
    store = server_store().store
    assert store is not None
    return store


def _begun() -> LiveSession:
    live = begun()
    live.simulation.journal.keep()
    return live


def _is_stored_again(live: LiveSession, tab: Tab) -> None:
    """Wait until all is stored by itself, and look that it is, and that the page says so."""
    wait_until(lambda: live.simulation.journal.trouble is None, what="the trouble to be over")
    tab.run()
    assert STORED_AGAIN in tab.words
    live.simulation.journal.keep()
    assert _store().load(live.session_id).to_json() == live.simulation.journal.to_json()


def test_a_broken_row_hides_nothing_before_it(path: Path) -> None:
    """A session of which a row is damaged comes back up to there, says which, and can be played on; the next time too."""
    live = _begun()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    server_ends()
    with closing(sqlite3.connect(path)) as other:
        last = other.execute("SELECT max(number) FROM studio_facts").fetchone()[0]
        other.execute("UPDATE studio_facts SET body = '{' WHERE number = ?", [last])
        other.commit()
    for _ in range(2):
        tab = Tab(live.session_id)
        assert f"fact {last} is broken" in tab.literal
        assert CANCEL in tab.literal
        tab.click(tab.key("accept_"))
        server_ends()


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
        server_ends()
