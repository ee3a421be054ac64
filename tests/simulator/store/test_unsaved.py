"""Unsaved work on files is kept by its owner and the file, with what it was made on."""

from __future__ import annotations

from tests.simulator.store.databases import ME, Kept

PATH = "/agents/d\udce9sk/orders.evalset.json"
"""Of a file whose name is no text."""


def test_work_is_kept_with_what_it_was_made_on(kept: Kept) -> None:
    """It is there in another store, byte for byte; each change replaces the one before, and its end takes it away."""
    store = kept.store()
    base = bytes(range(256)) * 40
    store.put_unsaved(ME, PATH, "first \ud800", base, None)
    store.put_unsaved("other", PATH, "theirs", b"", b"beside")
    assert store.unsaved(ME, PATH) is not None
    store.keep_drafts()
    assert not store.has_unwritten_drafts
    kept.clock.now = 2000.0
    store.put_unsaved(ME, PATH, "second", base, None)
    store.keep_drafts()
    again = kept.store()
    mine, theirs = again.unsaved(ME, PATH), again.unsaved("other", PATH)
    assert mine == ("second", base, None, 2000.0)
    assert theirs == ("theirs", b"", b"beside", 1000.0)
    again.put_unsaved(ME, PATH, "third", b"another base", b"")
    again.drop_unsaved("other", PATH)
    again.keep_drafts()
    assert kept.run("SELECT count(*) FROM studio_unsaved") == [(1,)]
    found = kept.store().unsaved(ME, PATH)
    assert found is not None
    assert found[:3] == ("third", b"another base", b"")
    assert store.unsaved("nobody", PATH) is None
