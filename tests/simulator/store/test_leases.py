"""Several processes use one database: one plays a session and renews its lease, others wait or take it over, and each fact is stored once."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator.facts import SeatChanged
from simulator.store import (
    LEASE_SECONDS,
    HeadMovedError,
    JournalStore,
    Place,
    SessionHeldError,
    StoredJournal,
    UnknownSessionError,
)
from simulator.store.leases import Holder
from tests.harness.processes import REPOSITORY, quiet_environment, wait_until
from tests.simulator.session.making import asked, ended
from tests.simulator.store.databases import Kept, begun, facts_of, keep, seat
from tests.simulator.store.playing import PlayingProcess


def _claimed(store: JournalStore) -> StoredJournal:
    journal = store.load("session")
    journal.claim()
    return journal


def _far(kept: Kept, tmp_path: Path) -> JournalStore:
    """Open a store as a process on another machine does: nobody here knows whether it is alive."""
    folder = tmp_path / "another machine"
    folder.mkdir(exist_ok=True)
    return kept.store(holder=Holder(folder=folder, where="far away"))


def _run_out(kept: Kept) -> None:
    kept.run("UPDATE studio_leases SET until = 1")


def test_a_session_is_played_by_one(kept: Kept) -> None:
    """Others are told where it is played, until it is let go of; who has it may claim it again."""
    begun(kept.store())
    mine, other = kept.store(), kept.store(holder=Holder(where="there, process 7"))
    journal = _claimed(other)
    with pytest.raises(SessionHeldError, match="there, process 7"):
        _claimed(mine)
    standing = mine.leases.standings(["session", "unknown"])
    assert list(standing) == ["session"]
    assert (standing["session"].where, standing["session"].is_free) == ("there, process 7", False)
    assert standing["session"].place == mine.place("session")
    journal.claim()
    journal.release()
    assert mine.leases.standings(["session"])["session"].is_free
    _claimed(mine)
    with pytest.raises(UnknownSessionError):
        mine.leases.claim("unknown")


@pytest.mark.parametrize("end", ["close", "purge"])
def test_a_store_that_closes_and_a_purged_session_leave_no_lease(kept: Kept, end: str) -> None:
    """Nobody has to wait for a server that ended in order; renewing what is gone is no error."""
    begun(kept.store())
    other = kept.store()
    journal = _claimed(other)
    if end == "close":
        kept.forget(other)
        other.close()
    else:
        other.purge("session")
        other.leases.renew()
        journal.release()
    assert kept.run("SELECT * FROM studio_leases") == []
    begun(kept.store(), "session" if end == "purge" else "another")
    _claimed(kept.store())


def test_a_lease_that_nobody_renews_runs_out(kept: Kept, tmp_path: Path) -> None:
    """On another machine the time alone tells; whoever renews keeps the session."""
    begun(kept.store())
    mine, far = kept.store(), _far(kept, tmp_path)
    _claimed(far)
    _run_out(kept)
    far.leases.renew()
    with pytest.raises(SessionHeldError, match="far away"):
        _claimed(mine)
    _run_out(kept)
    assert mine.leases.standings(["session"])["session"].is_free
    _claimed(mine)
    far.leases.renew()
    assert mine.leases.standings(["session"])["session"].is_free
    assert not far.leases.standings(["session"])["session"].is_free


def test_a_clock_that_was_set_back_locks_nobody_out(kept: Kept, tmp_path: Path) -> None:
    """A lease that would last much longer than any does was written before the clock was set back."""
    begun(kept.store())
    far, near = _far(kept, tmp_path), kept.store()
    _claimed(far)
    kept.run("UPDATE studio_leases SET until = until + 3600")
    _claimed(near)
    kept.run("UPDATE studio_leases SET until = until + 3600")
    with pytest.raises(SessionHeldError):  # it is known to be alive, and will renew it
        _claimed(kept.store())


def test_who_takes_over_fences_the_one_before(kept: Kept, tmp_path: Path) -> None:
    """What the other appends then is kept as a branch, also where nobody has appended anything since."""
    begun(kept.store())
    far, mine = _far(kept, tmp_path), kept.store()
    theirs = _claimed(far)
    keep(theirs, seat("before"))
    journal = mine.load("session")
    journal.claim(by_force=True)
    assert not journal.refresh()
    theirs.append(seat("after"))
    with pytest.raises(HeadMovedError):
        theirs.keep()
    assert theirs.superseded
    keep(journal, seat("mine"))
    stored = mine.load("session")
    assert facts_of(stored) == facts_of(journal)
    tips = [stored.fact(number) for number in stored.tips()]
    assert sorted(fact.target for fact in tips if isinstance(fact, SeatChanged)) == ["after", "mine"]
    # Who has read it anew is still not the one who plays.
    theirs.refresh()
    theirs.append(seat("again"))
    with pytest.raises(HeadMovedError):
        theirs.keep()
    theirs.claim(by_force=True)
    theirs.refresh()
    keep(theirs, seat("mine now"))


def test_what_waits_when_a_session_is_let_go_of_is_stored(kept: Kept) -> None:
    """The lease may end before the last facts are durable; the head tells whether somebody was faster."""
    begun(kept.store())
    journal = _claimed(kept.store(patience=0.1))
    with kept.locked():
        journal.append(seat("late"))
        kept.clock.now += LEASE_SECONDS
    journal.release()
    journal.keep()
    assert kept.store().load("session").path() == journal.path()


@pytest.mark.long
def test_a_process_that_was_killed_is_noticed_at_once(kept: Kept) -> None:
    """Its session is free although its lease has not run out; all that it was told is kept is there."""
    begun(kept.store())
    store = kept.store()
    playing = PlayingProcess(kept, "theirs", claims=True)
    assert playing.step() == "kept"
    with pytest.raises(SessionHeldError, match=f"process {playing.process.pid}"):
        _claimed(store)
    os.kill(playing.process.pid, signal.SIGKILL)
    playing.process.communicate()
    wait_until(lambda: store.leases.standings(["session"])["session"].is_free, what="the lease")
    journal = _claimed(store)
    assert len(journal) == 3
    keep(journal, seat("mine"))
    assert len(kept.store().load("session").path()) == 4


def test_a_holder_shows_nothing_where_no_file_can_be_made(tmp_path: Path) -> None:
    """Then the time alone tells, and no path can be made of what a database holds."""
    holder = Holder(folder=tmp_path / "absent")
    (tmp_path / "here").mkdir()
    other = Holder("../here", folder=tmp_path / "here")
    assert other.life("../here") == other.life("nobody") == "unknown"
    alive = Holder(folder=tmp_path / "here")
    alive.hold()
    alive.hold()
    assert other.life(alive.holder_id) == "alive"
    alive.drop()
    assert other.life(alive.holder_id) == "dead"
    assert holder.life(alive.holder_id) == "unknown"


def test_what_the_dead_left_is_tidied_up(tmp_path: Path) -> None:
    """A day later; those of the living stay."""
    left, alive = Holder(folder=tmp_path), Holder(folder=tmp_path)
    for each in (left, alive):
        each.hold()
        os.utime(tmp_path / each.holder_id, (1, 1))
    left.drop()
    Holder(folder=tmp_path).hold()
    assert not (tmp_path / left.holder_id).exists()
    assert (tmp_path / alive.holder_id).exists()


LEAVE = """
import sys
sys.path.insert(0, {root!r})
from simulator.store import JournalStore
from tests.simulator.session.making import asked
journal = JournalStore.open({url!r}).load("session")
journal.append(asked("the last word"))
"""


@pytest.mark.long
def test_a_process_that_ends_stores_what_waits(kept: Kept) -> None:
    """Nothing is lost where nobody closed the store."""
    store = kept.store()
    begun(store)
    code = LEAVE.format(root=str(REPOSITORY), url=str(kept.url))
    subprocess.run([sys.executable, "-c", code], check=True, env=quiet_environment())
    assert store.load("session").fact(2) == asked("the last word")


def test_a_store_that_nobody_has_any_more_ends(kept: Kept) -> None:
    """What was appended is stored, and the thread is gone; a journal alone keeps its store going."""
    gc.freeze()  # a look at all that the tests before have made takes seconds
    store, journal = kept.begun()
    thread, dropped = store._writer._thread, weakref.ref(store)
    kept.forget(store)
    del store
    gc.collect()
    assert thread.is_alive()
    keep(journal, asked())
    journal.append(ended())
    del journal
    # The thread may have the last name for it for a moment.
    wait_until(lambda: gc.collect() >= 0 and dropped() is None, what="the store to go")
    thread.join(60)
    assert not thread.is_alive()
    assert kept.store().place("session") == Place(3, 4)


def test_two_processes_act_on_one_session(kept: Kept) -> None:
    """Both write at once, over and over, and are killed: each fact is there once, and each was told what became of it."""
    store = kept.store()
    begun(store)
    names, rounds = ("a", "b"), 15
    playing = [PlayingProcess(kept, name) for name in names]
    told: list[str] = []
    for each in range(rounds):
        for one in playing:
            one.begin(str(each))
        told += [one.said() for one in playing]
    for one in playing:
        one.process.communicate()
    stored = store.load("session")
    facts = [stored.fact(number) for number in range(2, len(stored))]
    targets = [fact.target for fact in facts if isinstance(fact, SeatChanged)]
    assert sorted(targets) == sorted(f"{name}{each}" for name in names for each in range(rounds))
    assert set(told) <= {"kept", "moved"}
    assert len(stored.path()) - 2 >= rounds > 0
    # Whoever was told that it is the head's is on the way to the head or was gone back from by nobody.
    assert told.count("kept") == len(stored.path()) - 2


def test_two_open_a_new_database_at_once(kept: Kept) -> None:
    """Both find the tables; neither makes them twice."""
    gate = threading.Barrier(4)

    def open_it(_: int) -> JournalStore:
        """Open the database when all others do."""
        gate.wait()
        return kept.store()

    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(open_it, range(4))}) == 4
    assert isinstance(kept.store(), JournalStore)
