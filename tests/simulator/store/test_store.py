"""What was appended and kept is there again, in the same session, with its head, after whatever ended the process."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.facts import Fact
from simulator.journal import ROOT, Journal
from simulator.store import HeadMovedError, Place, StoreError, UnknownSessionError
from tests.simulator.base.rows import for_each
from tests.simulator.session.making import answered_turn, asked, ended, model
from tests.simulator.store.databases import (
    KEY,
    ME,
    Kept,
    append,
    begun,
    facts_of,
    keep,
    new_journal,
    raising,
    seat,
)
from tests.simulator.test_journal import any_fact, append_legal


@pytest.mark.parametrize("ended_by", ["kill", "close"])
def test_what_was_appended_is_there_however_the_store_ended(kept: Kept, ended_by: str) -> None:
    """A kill right after `keep`, or an orderly end that nobody waited before: facts, branches, head and session are the same."""
    store, journal = kept.begun()
    append(journal, _turns(3))
    journal.move_head(6)
    journal.append(seat())
    if ended_by == "kill":
        journal.keep()
        kept.kill(store)
    else:
        store.close()
    again = kept.store().load("session")
    assert again.to_json() == journal.to_json()
    assert again.session() == journal.session()
    assert again.head == journal.head == 17
    if ended_by == "close":  # what comes now stays in memory, and `keep` says so
        journal.append(seat("late"))
        with pytest.raises(StoreError, match=r"'session' .*closed"):
            journal.keep()


def _turns(count: int) -> list[Fact]:
    return [fact for turn in range(count) for fact in answered_turn(turn)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(facts=st.lists(any_fact, max_size=12))
def test_any_fact_is_read_as_it_was_written(kept: Kept, facts: list[Fact]) -> None:
    """Whatever a fact holds, a loaded journal equals the one that was stored."""
    store = kept.store()
    store.purge("session")
    journal = begun(store)
    append_legal(journal, facts)
    journal.keep()
    loaded = store.load("session")
    kept.kill(store)
    assert loaded.path() == journal.path()
    assert loaded.to_json() == journal.to_json()


def nested(levels: int) -> dict[str, object]:
    """Return an object in an object, so many times."""
    return {"a": nested(levels - 1)} if levels else {}


@for_each(
    "fact",
    [
        *(model({"text": text}) for text in ("a\0b", "ß 日本 🦊", "'; DROP TABLE facts; --", "x" * 200_000)),
        model({"text": "half \ud83d of a pair"}),
        ended(state=nested(190)),
    ],
)
def test_any_value_is_stored(kept: Kept, fact: Fact) -> None:
    """Texts that a database does not take as they are, what is no text, and the deepest value come back, in a file too."""
    store = kept.store()
    store.purge("session")
    journal = begun(store, "session", asked("go"), fact)
    assert store.load("session").path() == journal.path()
    exported = store.export("session")
    assert store.load(store.import_(exported, ME).session_id).path()[1:] == journal.path()[1:]


@for_each(
    ("journal", "words"),
    [
        (new_journal(), r"'session' .*exists"),
        *(
            (each, "session id: .*1 to 200 ")
            for each in (Journal(), new_journal("a\nb"), new_journal("x" * 201))
        ),
    ],
)
def test_a_journal_without_an_id_of_its_own_is_refused(kept: Kept, journal: Journal, words: str) -> None:
    """An id stands in addresses, so it is printable and not long; the session that has it is as it was."""
    store = kept.store()
    store.purge("session")
    first = begun(store, "session", asked())
    with pytest.raises(StoreError, match=words):
        store.begin(journal, owner=ME, agent_key=KEY)
    assert store.load("session").to_json() == first.to_json()


@for_each("session_id", ["nobody", "", "a\0", "\ud800", "x" * 10_000, "' OR 1=1 --"])
def test_an_unknown_session_is_named(kept: Kept, session_id: str) -> None:
    """Whatever id is asked for, the answer is that there is none."""
    store = kept.store()
    store.purge("session")
    begun(store)
    for ask in (store.load, store.place, store.record, store.export, store.duplicate, store.archive):
        with pytest.raises(UnknownSessionError, match=re.escape(repr(session_id)[:1_000])):
            ask(session_id)
    assert store.drafts(session_id) == {}
    with pytest.raises(UnknownSessionError):
        store.shared(session_id)


def test_the_place_tells_of_another_process(kept: Kept) -> None:
    """The head and the length change as soon as another store has written; `refresh` takes that in."""
    mine = begun(kept.store())
    other_store = kept.store()
    theirs = other_store.load("session")
    assert other_store.place("session") == mine.place == Place(1, 2)
    assert not mine.refresh()
    keep(theirs, *_turns(2))
    assert other_store.place("session") == theirs.place == Place(11, 12) != mine.place
    assert mine.refresh()
    assert (mine.to_json(), mine.session(), mine.place) == (theirs.to_json(), theirs.session(), Place(11, 12))
    theirs.move_head(4)
    theirs.keep()
    assert mine.refresh()
    assert (mine.head, mine.session()) == (4, theirs.session())
    keep(mine, seat())
    assert theirs.refresh()
    assert theirs.to_json() == mine.to_json()


def test_who_comes_second_loses_nothing(kept: Kept) -> None:
    """Their facts become a branch, on which they go on, and they are told; after `refresh` it is what everybody sees."""
    first = begun(kept.store(), "session", asked())
    second = kept.store().load("session")
    keep(first, seat("ours"))
    for target in ("a", "b"):
        second.append(seat(target))
        with pytest.raises(HeadMovedError, match=r"'session' .*branch"):
            second.keep()
    assert (first.superseded, second.superseded) == (False, True)
    keep(first, seat("more"))
    second.append(seat("c"))
    raising(second.keep)
    stored = kept.store().load("session")
    assert [stored.parent(number) for number in range(len(stored))] == [-1, 0, 1, 2, 2, 4, 3, 5]
    assert stored.head == 6
    assert facts_of(stored)[3:] == [seat("ours"), seat("more")]
    assert facts_of(stored, 7)[3:] == [seat("a"), seat("b"), seat("c")]
    assert second.refresh()
    assert not second.superseded
    assert second.to_json() == stored.to_json()
    keep(second, ended())
    assert kept.store().load("session").to_json() == second.to_json()
    assert first.refresh()
    assert first.to_json() == second.to_json()


def test_a_branch_beside_does_not_take_the_head(kept: Kept) -> None:
    """Who has the head goes on, though the numbers of others' facts lie in between."""
    first = begun(kept.store(), "session", asked())
    second = kept.store().load("session")
    keep(first, seat("1"))
    second.append(seat("x"))
    raising(second.keep)
    first.append(seat("2"))
    first.move_head(3)
    keep(first, seat("3"))
    assert not first.superseded
    stored = kept.store().load("session")
    assert facts_of(stored)[3:] == [seat("1"), seat("3")]
    history = stored.session().history  # which has other numbers
    assert stored.session() == first.session().model_copy(update={"history": history})
    assert first.refresh()
    assert first.to_json() == stored.to_json()


def test_a_head_that_two_moved_is_the_first_ones(kept: Kept) -> None:
    """Where nothing was appended, the second one is told too; it may be the start of the journal."""
    first = begun(kept.store(), "session", *_turns(1))
    second = kept.store().load("session")
    first.move_head(ROOT)
    first.keep()
    second.move_head(3)
    with pytest.raises(HeadMovedError):
        second.keep()
    assert kept.store().place("session") == Place(ROOT, 7)
    assert kept.store().load("session").head == ROOT


@pytest.mark.long
def test_many_threads_append_to_many_sessions(kept: Kept) -> None:
    """Each session has its own facts, in their order."""
    store = kept.store()
    journals = [begun(store, f"s{number}") for number in range(8)]

    def play(place: int) -> None:
        """Append to one session and keep it now and then."""
        for turn in range(5):
            keep(journals[place], *answered_turn(turn))

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(play, range(8))] == [None] * 8
    for number in range(8):
        assert store.load(f"s{number}").to_json() == new_journal(f"s{number}", *_turns(5)).to_json()
