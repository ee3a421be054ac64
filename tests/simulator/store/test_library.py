"""The library finds sessions, keeps what people say about them, and hands them out as files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.journal import Journal, JournalError
from simulator.store import JournalStore, SessionRecord, StoredJournal, StoreError, UnknownSessionError
from tests.simulator.base.rows import for_each
from tests.simulator.session.making import answered_turn, asked, call, model
from tests.simulator.store.databases import KEY, ME, Kept, begun, keep, new_journal


def _ids(records: list[SessionRecord]) -> list[str]:
    return [record.session_id for record in records]


def test_a_record_says_what_a_session_is(kept: Kept) -> None:
    """The record follows the journal: its agent, first query, status, turns and times."""
    store = kept.store()
    journal = store.begin(new_journal(), owner=ME, agent_key=KEY, agent_digest="abc")
    assert store.record("session") == SessionRecord(
        session_id="session",
        owner=ME,
        app_name="clerk",
        agent_name="Clerk",
        agent_key=KEY,
        agent_digest="abc",
        status="awaiting_query",
        turns=0,
        created_at=1000.0,
        changed_at=1000.0,
        head=1,
        length=2,
    )
    kept.clock.now = 1007.0
    keep(journal, asked("Where is my order?"))
    said = {"query": "Where is my order?", "status": "active", "turns": 1, "changed_at": 1007.0}
    record = store.record("session")
    assert record.model_dump(include=set(said)) == said
    assert (record.head, record.length, record.created_at) == (2, 3, 1000.0)
    keep(journal, *answered_turn()[1:])
    assert store.record("session").status == "completed"


def test_the_first_query_is_known(kept: Kept) -> None:
    """Also of a journal that has turns already: cut where it is long, without what no database takes; later ones do not change it."""
    store, journal = kept.begun(asked("first " * 200), *answered_turn()[1:])
    keep(journal, asked("second", turn=1))
    assert store.record("session").query == ("first " * 200)[:500]
    other = begun(store, "other")
    keep(other, asked("fir\0st " * 200))
    assert store.record("other").query == ("fir\0st " * 200)[:500].replace("\0", "")


def test_each_owner_has_their_own_sessions_the_newest_first(kept: Kept) -> None:
    """Sessions are listed by their last change, and nobody's list holds what is another's."""
    store = kept.store()
    journals = {}
    for name in ("a", "b", "c"):
        kept.clock.now += 1
        journals[name] = begun(store, name)
    store.begin(new_journal("theirs"), owner="you", agent_key=KEY)
    kept.clock.now += 1
    keep(journals["a"], asked())
    assert _ids(store.records(ME)) == ["a", "c", "b"]
    assert _ids(store.records("you")) == ["theirs"]
    for nobody in ("", "%", "yo_", "you\0", "YOU", "' OR 1=1 --"):
        assert store.records(nobody) == []


SEARCHES = {
    "order": ["b", "a"],
    "ORDER late": ["a"],
    "straße": ["b"],
    "STRASSE": ["b"],
    "refund": ["b"],
    "urgent": ["a"],
    "clerk": ["b", "a"],
    "100%": ["a"],
    "%": ["a"],
    "_": [],
    "\\": [],
    "absent": [],
    "  ": ["b", "a"],
}


def test_a_search_looks_in_what_people_read(kept: Kept) -> None:
    """All words have to be in the name, the first query, the tags, the notes or the agent's name, in whatever case."""
    store = kept.store()
    begun(store, "a", asked("Why is my order late?"))
    store.tag("a", ["urgent"])
    store.note("a", "100% reproducible")
    kept.clock.now += 1
    journal = begun(store, "b")
    store.rename("b", "Refund in the Straße")
    keep(journal, asked("Cancel the order"))
    assert {search: _ids(store.records(ME, search=search)) for search in SEARCHES} == SEARCHES


def test_what_is_archived_or_deleted_is_out_of_the_way(kept: Kept) -> None:
    """The archive and what was deleted are lists of their own, and both can be undone; a shared token is worth nothing meanwhile."""
    store = kept.store()
    for name in ("a", "b", "c"):
        begun(store, name)
    token = store.share("c")
    assert store.share("c") == token
    assert store.shared(token).session_id == "c"
    store.archive("b")
    kept.clock.now = 2000.0
    assert store.delete("c").deleted_at == 2000.0
    with pytest.raises(UnknownSessionError, match="shared"):
        store.shared(token)
    assert _ids(store.records(ME)) == ["a"]
    assert _ids(store.records(ME, archived=True)) == ["b"]
    assert _ids(store.records(ME, deleted=True)) == ["c"]
    store.archive("b", archived=False)
    store.restore("c")
    assert sorted(_ids(store.records(ME))) == ["a", "b", "c"]
    assert store.load("c").session().session_id == "c"
    store.unshare("c")
    with pytest.raises(UnknownSessionError):
        store.shared(token)
    assert store.share("c") != token


def test_a_purged_session_is_gone(kept: Kept) -> None:
    """Its facts and drafts go with it; whoever still has it open is told."""
    store, journal = kept.begun()
    store.put_drafts("session", {"a": "text"})
    store.keep_drafts()
    store.purge("session")
    store.purge("session")
    journal.append(asked())
    with pytest.raises(UnknownSessionError, match="'session'") as gone:
        journal.keep()
    assert journal.trouble == str(gone.value)
    store.put_drafts("session", {"a": "more"})
    store.keep_drafts()
    for table in ("sessions", "facts", "drafts"):
        assert kept.run(f"SELECT * FROM studio_{table}") == []  # noqa: S608 - the names are the test's own
    store.close()


def described(store: JournalStore) -> StoredJournal:
    """Keep a session with all that people say about it, whose head is not its last fact."""
    journal = begun(store, "session", *answered_turn())
    journal.move_head(4)
    journal.keep()
    store.rename("session", "Late")
    store.tag("session", ["x", "y"])
    store.note("session", "a note")
    store.put_drafts("session", {"a": "text"})
    store.keep_drafts()
    return journal


def test_a_duplicate_goes_its_own_way(kept: Kept) -> None:
    """It has the same facts under an id of its own; what happens to one does not touch the other.

    For somebody else it holds nothing private: what the owner typed and did not send, their tags and their notes stay theirs.
    """
    store = kept.store()
    journal = described(store)
    store.share("session")
    store.delete("session")
    kept.clock.now = 3000.0
    record, theirs = store.duplicate("session"), store.duplicate("session", owner="you")
    assert record == store.record(record.session_id)
    assert (record.owner, record.name, record.created_at) == (ME, "Late (copy)", 3000.0)
    assert (record.tags, record.notes) == (("x", "y"), "a note")
    assert (theirs.owner, theirs.name, theirs.tags, theirs.notes) == ("you", "Late (copy)", (), "")
    assert (record.shared_token, record.deleted_at, record.head, record.length) == (None, None, 4, 7)
    twin, other = store.load(record.session_id), store.load(theirs.session_id)
    assert twin.session().session_id == record.session_id != "session"
    assert twin.path()[1:] == other.path()[1:] == journal.path()[1:]
    assert twin.head == 4
    assert store.drafts(record.session_id) == {"a": "text"}
    assert store.drafts(theirs.session_id) == {}
    keep(twin, model(call("other"), key="other"))
    assert store.load("session").to_json() == journal.to_json()


def test_what_people_write_is_kept_as_it_is(kept: Kept) -> None:
    """Names and notes hold any text, but for what no database takes; a tag is itself, each is kept once, in its order."""
    store = kept.store()
    for name, tags in (("a", ["x", "x y", "x", "  ", " z "]), ("b", ["X", "xx", '"x"'])):
        begun(store, name)
        store.tag(name, tags)
    for text in ("<b>bold</b>", "'; --", "日本 🦊", "two\nlines"):
        assert store.rename("a", text).name == text
        assert store.note("a", text).notes == store.record("a").notes == text
    assert store.note("a", "a\0b\ud83d").notes == "ab?"
    assert store.record("a").tags == ("x", "x y", "z")
    assert _ids(store.records(ME, tag="x")) == ["a"]
    assert _ids(store.records(ME, tag='"x"')) == ["b"]
    store.tag("a", ())
    assert store.records(ME, tag="x") == []


def test_drafts_are_there_again(kept: Kept) -> None:
    """What was typed is seen at once by whoever asks, and after a kill; None takes a draft away."""
    store = kept.store()
    begun(store)
    begun(store, "other")
    typed = {"call/1": "a\0b \ud83d 日本", "call/\0": "x", "c": ""}
    store.put_drafts("session", typed)
    assert store.drafts("session") == typed
    store.keep_drafts()
    store.put_drafts("session", {"c": None, "absent": None})
    store.put_drafts("session", {"call/1": "later"})
    store.put_drafts("other", {"c": "its own"})
    store.keep_drafts()
    kept.kill(store)
    again = kept.store()
    assert again.drafts("session") == {"call/1": "later", "call/\0": "x"}
    assert again.drafts("other") == {"c": "its own"}


def test_a_file_holds_a_whole_session(kept: Kept) -> None:
    """What is exported is imported: facts, branches, head, words about it and drafts; owner and token are not in it."""
    store = kept.store()
    journal = described(store)
    token = store.share("session")
    before, text = store.record("session"), store.export("session")
    assert token not in text
    assert ME not in text
    store.purge("session")
    record = store.import_(text, "you")
    assert record == before.model_copy(update={"owner": "you", "shared_token": None})
    assert store.load("session").to_json() == journal.to_json()
    assert store.drafts("session") == {"a": "text"}
    twin = store.import_(text, "you")
    assert twin.session_id not in {"session", ""}
    assert store.load(twin.session_id).session().session_id == twin.session_id
    assert store.load(twin.session_id).path()[1:] == journal.path()[1:]
    store.purge("session")
    assert store.import_(text, "you", keeps_id=False).session_id != "session"


@pytest.mark.long
@for_each(
    ("change", "reason"),
    [
        (lambda _: "{", "JSON"),
        (lambda _: [], "format"),
        (lambda data: {**data, "format": "other"}, "format"),
        (lambda data: {**data, "version": 2}, "version 2 .*version 1"),
        (lambda data: {**data, "more": 1}, ": more: "),
        (lambda data: {**data, "record": {}}, r": record\.agent_key: "),
        (lambda data: {**data, "journal": {}}, "journal .*format"),
        (lambda data: {**data, "journal": json.loads(Journal().to_json())}, "session id"),
        (lambda data: {**data, "drafts": {"a": 1}}, r": drafts\.a: "),
    ],
)
def test_a_file_that_is_no_session_is_refused(kept: Kept, change: Any, reason: str) -> None:
    """The error says what is wrong and where, and nothing is taken in."""
    store = kept.store()
    store.purge("session")
    begun(store)
    changed = change(json.loads(store.export("session")))
    with pytest.raises(StoreError, match=reason):
        store.import_(changed if isinstance(changed, str) else json.dumps(changed), ME)
    assert _ids(store.records(ME)) == ["session"]


def test_a_plain_journal_needs_no_store() -> None:
    """`keep` of a journal in memory has nothing to wait for, and unknown numbers have no parent."""
    journal = new_journal()
    journal.keep()
    assert [journal.parent(number) for number in range(2)] == [-1, 0]
    with pytest.raises(JournalError, match="has no fact 2"):
        journal.parent(2)


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
