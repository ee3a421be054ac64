"""A session in PostgreSQL from its beginning to its end, once: `make test-long` runs all tests of the store with it."""

from __future__ import annotations

import pytest

from simulator.facts import SeatChanged
from simulator.store import HeadMovedError, SessionHeldError, UnknownSessionError
from simulator.store.process_locks import Holder
from tests.harness.postgres import Postgres
from tests.simulator.session.making import answered_turn, asked
from tests.simulator.store.databases import ME, Kept, begun


@pytest.mark.long
def test_postgresql_keeps_a_session(server: Postgres) -> None:
    """Facts, branches, drafts, unsaved work, leases, the list and a file: each is written, and read by another store."""
    kept = Kept(server.new_database())
    mine, theirs = kept.store(), kept.store(holder=Holder(where="there"))
    journal = begun(mine, "session", *answered_turn())
    journal.claim()
    mine.put_drafts("session", {"a": "typed \0"})
    mine.put_unsaved(ME, "orders.evalset.json", "work", b"base")
    mine.keep_drafts()
    with pytest.raises(SessionHeldError):
        theirs.load("session").claim()
    other = theirs.load("session")
    other.claim(by_force=True)
    other.move_head(3)
    other.append(SeatChanged(at=5.0, seat="tool", player="refuse"))
    other.keep()
    journal.append(asked("Where is it?", turn=1))
    with pytest.raises(HeadMovedError):
        journal.keep()
    kept.kill(mine)
    again = kept.store()
    stored = again.load("session")
    assert stored.path() == other.path()
    assert sorted(stored.tips()) == [7, 8]
    assert again.drafts("session") == {"a": "typed \0"}
    assert again.unsaved(ME, "orders.evalset.json") == ("work", b"base", None, 1000.0)
    again.tag("session", ["late"])
    assert [each.length for each in again.records(ME, tag="late", search="CLERK")] == [9]
    text = again.export("session")
    again.purge("session")
    with pytest.raises(UnknownSessionError):
        theirs.load("session")
    assert again.load(again.import_(text, ME).session_id).to_json() == stored.to_json()
    kept.drop_all()
