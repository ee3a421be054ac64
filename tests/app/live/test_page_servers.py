"""Two servers on one store: one plays a session, the other shows it to read, and takes it over when asked to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.live.agent_catalogue import catalogue
from app.live.live_sessions import LiveSession, Registry, registry
from app.live.remote_sessions import FOLLOWED
from app.live.session_opening import StartForm, open_session
from app.live.session_store import STORE_VARIABLE, close_store, server_store
from simulator.facts import SeatChanged
from simulator.runtime import Simulation
from simulator.store import HeadMovedError, JournalStore
from simulator.store.process_locks import Holder
from tests.app.page_driver import Tab
from tests.harness.processes import wait_until

CANCEL = "Please cancel order A-1001 and refund me."
TYPED = '{"order_id": "A-1001", "status": "mine"}'
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
    registry().close_all()
    close_store()
    store.close()


def _begun() -> LiveSession:
    return open_session(StartForm(agent="order_desk", query=CANCEL), catalogue().config("order_desk"))


def _there(other: JournalStore, session_id: str) -> Simulation:
    """Let the other server play the session."""
    journal = other.load(session_id)
    journal.claim(by_force=True)
    journal.refresh()
    return Simulation.resume(journal, catalogue().config("order_desk"))


def _waits(session_id: str) -> list[str]:
    live = registry().get(session_id)
    assert live is not None
    return [str(getattr(request, "tool_name", "")) for request in live.simulation.view().pending]


def test_a_session_that_was_taken_over_is_shown_to_read(other: JournalStore) -> None:
    """The page says where it is played, follows what happens there, and takes it back by a click; nothing is lost."""
    live = _begun()
    tab = Tab(live.session_id)
    (editor,) = [each for each in tab.app.text_area if str(each.key).startswith("response_")]
    editor.set_value(TYPED)
    live.simulation.journal.keep()
    with _there(other, live.session_id) as simulation:
        wait_until(lambda: registry().peek(live.session_id) is None, what="this server to notice")
        tab.run()
        assert THERE in tab.literal
        assert TAKEN in tab.literal
        assert tab.live_marks() == []
        simulation.run_real(simulation.pending[0])
        simulation.journal.keep()
        length = len(simulation.journal)

        def is_followed() -> bool:
            followed = FOLLOWED.peek(live.session_id)
            return followed is not None and len(followed.journal) == length

        wait_until(is_followed, what="this server to follow")
        assert "find_order" in tab.run().literal
        tab.click("take_over")
        assert _waits(live.session_id) == ["cancel_order"]
        simulation.answer(simulation.pending[0], {"status": "too late"})
        with pytest.raises(HeadMovedError):
            simulation.journal.keep()
    tab.click("undo_step")
    (editor,) = [each for each in tab.app.text_area if str(each.key).startswith("response_")]
    assert editor.value == TYPED


def test_a_server_that_dies_leaves_its_session_to_who_looks_at_it(other: JournalStore) -> None:
    """The page that showed it to read plays it as soon as nobody else does."""
    live = _begun()
    live.simulation.journal.keep()
    registry().close(live.session_id)
    simulation = _there(other, live.session_id)
    tab = Tab(live.session_id)
    assert registry().peek(live.session_id) is None
    assert tab.has("take_over")
    assert TAKEN not in tab.literal
    simulation.close()
    other._holder.drop()

    def is_free() -> bool:
        followed = FOLLOWED.peek(live.session_id)
        return followed is not None and followed.is_free

    wait_until(is_free, what="this server to notice")
    tab.run()
    assert _waits(live.session_id) == ["find_order"]


def test_a_session_that_takes_long_to_restore_stays_claimed(other: JournalStore, tmp_path: Path) -> None:
    """Its lease is renewed before it is live: the start of its agent may take longer than a lease lasts."""
    live = _begun()
    live.simulation.journal.keep()
    registry().close(live.session_id)
    here = server_store().store
    assert here is not None
    locks = tmp_path / "another machine"
    locks.mkdir()
    far = JournalStore.open(tmp_path / "sessions.db", holder=Holder(folder=locks))
    try:
        here.leases.claim(live.session_id)
        with far._database.writing() as connection:
            connection.exec_driver_sql("UPDATE studio_leases SET until = 1")
        assert far.leases.standings([live.session_id])[live.session_id].is_free
        wait_until(
            lambda: not far.leases.standings([live.session_id])[live.session_id].is_free,
            what="the lease to be renewed",
        )
    finally:
        far.close()


def test_what_a_program_without_a_lease_appends_is_taken_in(other: JournalStore) -> None:
    """It goes on from the new head, and the page shows it."""
    live = _begun()
    live.simulation.journal.keep()
    tab = Tab(live.session_id)
    journal = other.load(live.session_id)
    journal.append(SeatChanged(at=5.0, seat="tool", target="cancel_order", player="refuse"))
    journal.keep()
    wait_until(lambda: registry().peek(live.session_id) is not live, what="this server to notice")
    tab.run()
    again = registry().get(live.session_id)
    assert again is not None
    assert again.simulation.session.seats.tools == {"cancel_order": "refuse"}
    assert _waits(live.session_id) == ["find_order"]


def test_a_session_that_is_closed_here_is_free_for_others(other: JournalStore) -> None:
    """Also one that went to rest because nobody looked at it, in the middle of a turn; it comes back where it was."""
    live = _begun()
    live.simulation.journal.keep()
    assert not other.leases.standings([live.session_id])[live.session_id].is_free
    assert registry().rest(3_600) == []
    assert registry().rest(-1) == [live.session_id]
    assert other.leases.standings([live.session_id])[live.session_id].is_free
    Tab(live.session_id)
    assert _waits(live.session_id) == ["find_order"]


def test_a_session_at_work_does_not_rest(other: JournalStore) -> None:
    """What runs is not dropped, and neither is what is not stored."""
    live = _begun()
    sessions = Registry()
    sessions.get_or_take_in(live.session_id, lambda: live)
    live.simulation.journal.keep()
    busy = type(live.simulation).wait
    monkey = pytest.MonkeyPatch()
    # Patched, as no real tool takes as long as a test needs it to.
    monkey.setattr(type(live.simulation), "wait", lambda *_: False)
    assert sessions.rest(-1) == []
    monkey.setattr(type(live.simulation), "wait", busy)
    assert sessions.rest(-1) == [live.session_id]
