"""Two servers on one store: one plays a session, the other shows it to read, and takes it over when asked to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import Registry, registry
from app.live.remote_sessions import FOLLOWED
from app.live.session_store import STORE_VARIABLE, close_store, server_store
from simulator.facts import SeatChanged
from simulator.runtime import Simulation
from simulator.store import HeadMovedError, JournalStore
from simulator.store.process_locks import Holder
from tests.app.desk_sessions import TYPED, begun, live_of, server_ends, waits
from tests.app.page_driver import Tab
from tests.harness.processes import wait_until

THERE = "**there**, process 7"
TAKEN = "took over"


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JournalStore]:
    """The store of another server, on the same file as this one's."""
    path = tmp_path / "sessions.db"
    monkeypatch.setenv(STORE_VARIABLE, str(path))
    monkeypatch.setattr("sys.argv", ["app"])
    close_store()
    assert server_store().store is not None
    store = JournalStore.open(path, holder=Holder(where=THERE))
    yield store
    server_ends()
    store.close()


def _begun() -> str:
    """Begin a session, and store it."""
    live = begun()
    live.simulation.journal.keep()
    return live.session_id


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
    live = begun()
    live.simulation.journal.keep()
    session_id = live.session_id
    tab = Tab(session_id)
    journal = other.load(session_id)
    journal.append(SeatChanged(at=5.0, seat="tool", target="cancel_order", player="refuse"))
    journal.keep()
    wait_until(lambda: registry().peek(session_id) is not live, what="this server to notice")
    tab.run()
    assert live_of(session_id).simulation.session.seats.tools == {"cancel_order": "refuse"}
    assert waits(session_id) == ["find_order"]


@pytest.mark.long
def test_a_session_that_is_closed_here_is_free_for_others(other: JournalStore) -> None:
    """Also one that went to rest because nobody looked at it, in the middle of a turn; it comes back where it was."""
    session_id = _begun()
    assert not other.leases.standings([session_id])[session_id].is_free
    assert registry().rest(3_600) == []
    assert registry().rest(-1) == [session_id]
    assert other.leases.standings([session_id])[session_id].is_free
    Tab(session_id)
    assert waits(session_id) == ["find_order"]


def test_a_session_at_work_does_not_rest(other: JournalStore) -> None:
    """What runs is not dropped, and neither is what is not stored."""
    live = begun()
    session_id = live.session_id
    sessions = Registry()
    sessions.get_or_take_in(session_id, lambda: live)
    live.simulation.journal.keep()
    # Patched, as no real tool takes as long as a test needs it to.
    with mock.patch.object(type(live.simulation), "wait", return_value=False):
        assert sessions.rest(-1) == []
    assert sessions.rest(-1) == [session_id]
