"""Random appends, moves of the head, kills and reopenings: what is stored is what a plain model says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from simulator.facts import Fact
from simulator.journal import Journal
from simulator.store import HeadMovedError, StoredJournal
from tests.simulator.store.databases import Kept, NewUrl, begun, new_journal
from tests.simulator.test_journal import any_fact, append_legal

facts = st.lists(any_fact, min_size=1, max_size=4)


class KeptJournal(RuleBasedStateMachine):
    """One session in a store, and beside it a journal in memory that has seen the same; a second process now and then.

    `model` is what the session holds, in memory alone. What was kept last is durable for certain; of what came after,
    a kill may leave any part, but only that, and in its order.
    """

    new_url: NewUrl

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept(self.new_url())
        self.store = self.kept.store()
        self.journal: StoredJournal = begun(self.store)
        self.model = new_journal()
        self.durable = self.model.to_json()
        self.since: list[str] = [self.durable]

    def _seen(self) -> None:
        self.since.append(self.model.to_json())

    @rule(news=facts)
    def append(self, news: list[Fact]) -> None:
        """Append some facts without a wait."""
        for fact in news:
            append_legal(self.journal, [fact])
            append_legal(self.model, [fact])
            self._seen()

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """Go back, or to another branch."""
        number = data.draw(st.integers(-1, len(self.model) - 1))
        self.journal.move_head(number)
        self.model.move_head(number)
        self._seen()

    @rule()
    def keep(self) -> None:
        """Wait until all is durable."""
        self.journal.keep()
        self.since = [self.model.to_json()]
        assert self.kept.store().load("session").to_json() == self.since[0]

    @rule()
    def kill(self) -> None:
        """Drop the store without a close, and open it again: it is at some moment since the last `keep`."""
        self.kept.kill(self.store)
        self._reopen()
        found = self.journal.to_json()
        assert found in self.since
        self.model, self.since = Journal.from_json(found), [found]

    @rule()
    def close(self) -> None:
        """Close the store, which stores all, and open it again."""
        self.store.close()
        self._reopen()
        assert self.journal.to_json() == self.model.to_json()
        self._settled()

    @rule(theirs=facts, mine=facts)
    def meet_another(self, theirs: list[Fact], mine: list[Fact]) -> None:
        """Another process goes on from the same head first: its head holds, and what is appended here is beside it."""
        self.journal.keep()
        other = self.kept.store()
        journal = other.load("session")
        place = self.model.head
        append_legal(journal, theirs)
        journal.keep()
        append_legal(self.model, theirs)
        moved = journal.head != place
        before = len(self.journal)
        append_legal(self.journal, mine)
        acted = len(self.journal) > before
        if moved and acted:
            head = self.model.head
            self.model.move_head(place)
            append_legal(self.model, mine)
            self.model.move_head(head)
            with pytest.raises(HeadMovedError):
                self.journal.keep()
        else:
            append_legal(self.model, mine if not moved else [])
            self.journal.keep()
        self.kept.kill(other)
        assert self.journal.refresh() is moved
        assert self.journal.to_json() == self.model.to_json()
        self._settled()

    def _settled(self) -> None:
        self.since = [self.model.to_json()]

    def _reopen(self) -> None:
        self.store = self.kept.store()
        self.journal = self.store.load("session")

    @invariant()
    def is_as_the_model(self) -> None:
        """In memory, journal and model are always the same."""
        assert self.journal.to_json() == self.model.to_json()
        assert self.journal.session() == self.model.session()
        assert self.journal.trouble is None

    def teardown(self) -> None:
        """End all stores."""
        self.kept.drop_all()


def run_machine(machine: type[RuleBasedStateMachine], new_url: NewUrl, *, examples: int, steps: int) -> int:
    """Run a machine, each example with a database of its own; return how many databases that took."""
    urls: list[str | Path] = []

    def counted() -> str | Path:
        urls.append(new_url())
        return urls[-1]

    run_state_machine_as_test(
        type(machine.__name__, (machine,), {"new_url": staticmethod(counted)}),
        settings=settings(max_examples=examples, stateful_step_count=steps),
    )
    return len(urls)


@pytest.mark.parametrize(
    ("place", "examples", "steps"),
    [
        ("new_file", 4, 8),
        pytest.param("new_file", 60, 12, marks=pytest.mark.long),
        pytest.param("new_database", 20, 12, marks=pytest.mark.long),
    ],
)
def test_a_store_holds_what_a_model_says(
    request: pytest.FixtureRequest, place: str, examples: int, steps: int
) -> None:
    """In SQLite and PostgreSQL, whatever happens in whatever order; each step asserts."""
    assert run_machine(KeptJournal, request.getfixturevalue(place), examples=examples, steps=steps)
