"""Two servers on one store, or two tabs, or a database that fails: the page says so, one plays a session, the other shows it to read, and nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from unittest import mock

import pytest
from sqlalchemy import event

from app.live import click_waits
from app.live import session_store as shelves
from app.live.agent_catalogue import catalogue
from app.live.lease_keeper import FOLLOWED
from app.live.live_sessions import LiveSession, registry
from app.live.session_store import STORE_VARIABLE, StoreOfServer, close_store, server_store
from app.screens import page
from simulator.facts import SeatChanged
from simulator.runtime import Simulation
from simulator.store import HeadMovedError, JournalStore
from simulator.store.leases import Holder
from tests.app.desk_sessions import CANCEL, TYPED, begun, live_of, server_ends, waits
from tests.app.page_driver import Tab
from tests.harness.postgres import postgres
from tests.harness.processes import wait_until

THERE = "**there**, process 7"
TAKEN = "took over"


@pytest.fixture
def other(store: JournalStore, tmp_path: Path) -> Iterator[JournalStore]:
    """The store of another server, on the same file as this one's."""
    assert store.trouble is None
    there = JournalStore.open(tmp_path / "sessions.db", holder=Holder(where=THERE))
    yield there
    server_ends()
    there.close()


def _begun() -> str:
    """Begin a session, and store it."""
    return _kept_session().session_id


def _there(other: JournalStore, session_id: str) -> Simulation:
    """Let the other server play the session."""
    journal = other.load(session_id)
    journal.claim(by_force=True)
    journal.refresh()
    return Simulation.resume(journal, catalogue().config("order_desk"))


def _resting() -> str:
    """Begin a session that nobody has open on this server any more."""
    session_id = _begun()
    registry().close(session_id)
    return session_id


def test_a_session_that_was_taken_over_is_shown_to_read(other: JournalStore) -> None:
    """The page says where it is played, follows what happens there, and takes it back by a click; nothing is lost."""
    session_id = _begun()
    tab = Tab(session_id)
    tab.fill("response_", TYPED)
    with _there(other, session_id) as simulation:
        wait_until(lambda: registry().peek(session_id) is None, what="this server to notice")
        tab.run()
        assert THERE in tab.literal
        assert TAKEN in tab.literal
        assert tab.live_marks() == []
        simulation.run_real(simulation.pending[0])
        simulation.journal.keep()
        length = len(simulation.journal)

        def is_followed() -> bool:
            followed = FOLLOWED.peek(session_id)
            return followed is not None and len(followed.journal) == length

        wait_until(is_followed, what="this server to follow")
        assert "find_order" in tab.run().literal
        tab.click("take_over")
        assert waits(session_id) == ["cancel_order"]
        simulation.answer(simulation.pending[0], {"status": "too late"})
        with pytest.raises(HeadMovedError):
            simulation.journal.keep()
    assert tab.click("undo_step").typed("response_") == TYPED


def test_a_server_that_dies_leaves_its_session_to_who_looks_at_it(other: JournalStore) -> None:
    """The page that showed it to read plays it as soon as nobody else does."""
    session_id = _resting()
    simulation = _there(other, session_id)
    tab = Tab(session_id)
    assert registry().peek(session_id) is None
    assert tab.has("take_over")
    assert TAKEN not in tab.literal
    simulation.close()
    other._holder.drop()

    def is_free() -> bool:
        followed = FOLLOWED.peek(session_id)
        return followed is not None and followed.is_free

    wait_until(is_free, what="this server to notice")
    tab.run()
    assert waits(session_id) == ["find_order"]


@pytest.mark.long
def test_a_session_that_takes_long_to_restore_stays_claimed(other: JournalStore, tmp_path: Path) -> None:
    """Its lease is renewed before it is live: the start of its agent may take longer than a lease lasts."""
    session_id = _resting()
    here = server_store().store
    assert here is not None
    locks = tmp_path / "another machine"
    locks.mkdir()
    far = JournalStore.open(tmp_path / "sessions.db", holder=Holder(folder=locks))
    try:
        here.leases.claim(session_id)
        with far._database.writing() as connection:
            connection.exec_driver_sql("UPDATE studio_leases SET until = 1")
        assert far.leases.standings([session_id])[session_id].is_free
        wait_until(
            lambda: not far.leases.standings([session_id])[session_id].is_free,
            what="the lease to be renewed",
        )
    finally:
        far.close()


def test_what_a_program_without_a_lease_appends_is_taken_in(other: JournalStore) -> None:
    """It goes on from the new head, and the page shows it."""
    live = _kept_session()
    session_id = live.session_id
    tab = Tab(session_id)
    journal = other.load(session_id)
    journal.append(SeatChanged(at=5.0, seat="tool", target="cancel_order", player="refuse"))
    journal.keep()
    wait_until(lambda: registry().peek(session_id) is not live, what="this server to notice")
    tab.run()
    assert live_of(session_id).simulation.session.seats.tools == {"cancel_order": "refuse"}
    assert waits(session_id) == ["find_order"]


def test_a_session_that_rests_is_free_for_others_and_none_rests_at_work(other: JournalStore) -> None:
    """One that nobody looks at goes to rest, also in the middle of a turn, and comes back where it was; what runs is not dropped."""
    session_id = _begun()
    assert not other.leases.standings([session_id])[session_id].is_free
    assert registry().rest(3_600) == []
    # Patched, as no real tool takes as long as a test needs it to.
    with mock.patch.object(type(live_of(session_id).simulation), "wait", return_value=False):
        assert registry().rest(-1) == []
    assert registry().rest(-1) == [session_id]
    assert other.leases.standings([session_id])[session_id].is_free
    Tab(session_id)
    assert waits(session_id) == ["find_order"]


pytestmark = pytest.mark.usefixtures("store")


def _session() -> LiveSession:
    live = begun()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    return live


@pytest.mark.long
def test_an_undo_takes_back_what_the_tab_has_seen_or_nothing() -> None:
    """Another tab was faster: the click does nothing, says so, and counts when it is made again."""
    live = _session()
    first, second = Tab(live.session_id), Tab(live.session_id)
    first.click("undo_step")
    assert waits(live.session_id) == ["find_order"]
    second.click("undo_step")
    assert waits(live.session_id) == ["find_order"]
    assert "before your click" in second.literal
    second.click("undo_step")
    assert waits(live.session_id) == []


def test_a_query_goes_where_the_tab_has_seen_the_session_end() -> None:
    """Two people write at once: what the slower one wrote was not sent, and stands in the input for the next query."""
    live = _session()
    live.simulation.stop()
    turns = len(live.simulation.session.turns)
    first, second = Tab(live.session_id), Tab(live.session_id)
    for tab, text in ((first, "One"), (second, "Two")):
        tab.fill("query_text_query", text)
    first.click("query_send")
    second.click("query_send")
    assert len(live.simulation.session.turns) == turns + 1
    assert second.app.text_area(key="query_text_query").value == "Two"
    second.click("query_send")
    assert len(live.simulation.session.turns) == turns + 2
    assert second.app.text_area(key="query_text_query").value == ""


SLOW_SECONDS = 0.4
"""A slow disk takes so long for each commit."""

NOT_STORED = "Not everything is stored"
"""Begins the words over a page of which something is in memory alone."""
STORED_AGAIN = "Everything is stored"

UNSTORED = "not stored yet"
"""Stands at each step that is in memory alone."""


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
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
def locked(database: Path) -> Iterator[None]:
    """Let another program keep the database from being written."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_locked_database_is_said_and_goes_by(database: Path) -> None:
    """What is taken or typed meanwhile counts, and is marked; when the lock is gone all is stored, and the page says so."""
    live = _kept_session()
    tab = Tab(live.session_id)
    assert tab.steps_marked(UNSTORED) == 0
    with locked(database):
        tab.click(tab.key("accept_"))
        assert NOT_STORED in tab.words
        assert "locked" in tab.literal
        assert str(database) in tab.literal
        assert tab.steps_marked(UNSTORED) == 2
        tab.click(tab.key("accept_"))
        assert waits(live.session_id) == ["refund_order"]
    _is_stored_again(live, tab)
    assert NOT_STORED not in tab.words
    assert tab.steps_marked(UNSTORED) == 0
    with locked(database):
        assert STORED_AGAIN not in tab.type("response_", '{"typed": 2}').words
        assert NOT_STORED in tab.words
    _store().keep_drafts()
    assert STORED_AGAIN in tab.run().words
    with closing(JournalStore.open(database)) as again:
        assert any("typed" in text for text in again.drafts(live.session_id).values())


def test_what_the_page_did_not_wait_for_is_named(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page goes on before a text is stored that came while it was drawn: it says so, and only as long."""
    live = _kept_session()
    tab = Tab(live.session_id)
    monkeypatch.setattr(click_waits, "KEEP_SECONDS", 0.0)
    drawn = page._shown
    late = ["while it was drawn"]

    def shown(of: LiveSession | None) -> None:
        drawn(of)
        live.drafts.update({text: text for text in late})

    monkeypatch.setattr(page, "_shown", shown)
    with locked(database):
        assert NOT_STORED in tab.run().words
        assert "your last input" in tab.words
    late.clear()
    _store().keep_drafts()
    assert STORED_AGAIN in tab.run().words


@pytest.mark.long
def test_what_was_typed_is_stored_when_the_page_has_been_drawn(database: Path) -> None:
    """The run that takes a draft in ends when it is in the file, however slow that is."""
    tab = Tab(_kept_session().session_id)
    event.listen(_store()._database._engine, "commit", lambda _: sleep(SLOW_SECONDS))
    tab.type("response_", '{"typed": 1}')
    with closing(sqlite3.connect(database)) as other:
        found = [text for (text,) in other.execute("SELECT text FROM studio_drafts")]
    assert any("typed" in text for text in found)


def _store() -> JournalStore:
    store = server_store().store
    assert store is not None
    return store


def _kept_session() -> LiveSession:
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


def test_a_broken_row_hides_nothing_before_it(database: Path) -> None:
    """A session of which a row is damaged comes back up to there, says which, and can be played on; the next time too."""
    live = _kept_session()
    tab = Tab(live.session_id)
    tab.click(tab.key("accept_"))
    server_ends()
    with closing(sqlite3.connect(database)) as other:
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
        live = _kept_session()
        tab = Tab(live.session_id)
        with server.frozen():  # it answers no click before the block ends
            for key in ("accept_", "accept_", "undo_step"):
                tab.click(tab.key(key) if key.endswith("_") else key)
                assert NOT_STORED in tab.words
        _is_stored_again(live, tab)
        server_ends()
