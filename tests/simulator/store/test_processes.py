"""Several processes and threads use one database: each fact is stored once, and no process takes its facts with it."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import pytest

from simulator.facts import SeatChanged
from simulator.store import JournalStore, Place, StoreError
from tests.harness.processes import REPOSITORY, quiet_environment, wait_until
from tests.simulator.session.making import asked, ended
from tests.simulator.store.databases import Kept, begun, keep
from tests.simulator.store.playing import PlayingProcess

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
    errors: list[BaseException] = []
    gate = threading.Barrier(4)

    def open_it() -> None:
        """Open the database when all others do."""
        gate.wait()
        try:
            kept.store()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert isinstance(kept.store(), JournalStore)
