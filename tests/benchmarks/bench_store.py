"""What it takes to keep a session in a file: an append, its way to the disk, and reading a long session again."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest

from simulator.facts import Fact, SeatChanged
from simulator.store import JournalStore, StoredJournal
from tests.simulator.session.making import asked, call, ended, event, model, tool
from tests.simulator.store.databases import begun

CALLS = 5
ANSWER = {"status": "shipped", "lines": [{"sku": f"S-{number}", "count": number} for number in range(5)]}

MOST_SECONDS = 1.0
"""A session of 100 turns is to be read in less."""

MOST_RATIO = 2.6
"""Twice as many turns may take so many times as long: twice, and what else runs on the machine."""

MOST_APPEND_MS = 1.0
"""An append does not wait for the file: it is over in less, mostly."""
LENGTHS, APPENDS, ROUNDS = (100, 200), 300, 10
SMALLEST = {"LENGTHS": (1, 2), "APPENDS": 2, "ROUNDS": 1}


def played_turn(turn: int) -> Iterator[Fact]:
    """Yield the facts of a turn with calls one after another, as ADK runs it."""
    yield asked(f"What about the orders of customer {turn}?", turn)
    events = []
    for number in range(CALLS):
        call_id = f"call-{turn}-{number}"
        yield model(call(call_id), turn=turn, key=f"{turn}//clerk#{number}")
        yield tool(call_id, turn=turn)
        answer = {"function_response": {"id": call_id, "name": "find", "response": ANSWER}}
        events += [event(call(call_id)), event(answer)]
    yield model({"text": "They are on their way. " * 10}, turn=turn, key=f"{turn}//clerk#last")
    yield ended(*events, event({"text": "They are on their way. " * 10}), turn=turn, state={"turns": turn})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JournalStore]:
    """Return a store in a file."""
    opened = JournalStore.open(tmp_path / "sessions.db")
    yield opened
    opened.close()


def test_an_append_and_its_way_to_the_file(store: JournalStore, measured: bool) -> None:
    """Appends one fact after another, each kept before the next; the append alone does not wait."""
    journal = begun(store, "session", asked())
    appended, kept = list[float](), list[float]()
    for number in range(APPENDS):
        start = perf_counter()
        journal.append(SeatChanged(at=0.0, seat="tool", target=f"t{number}", player="refuse"))
        appended.append(perf_counter() - start)
        journal.keep()
        kept.append(perf_counter() - start)
    alone = statistics.median(appended) * 1e3
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\nappend and keep {statistics.median(kept) * 1e3:.2f} ms a fact, of which the append {alone:.3f} ms"
    )
    assert store.load("session").path() == journal.path()
    assert alone < MOST_APPEND_MS or not measured


def _long(store: JournalStore, turns: int) -> StoredJournal:
    journal = begun(store, f"of-{turns}")
    start = perf_counter()
    for turn in range(turns):
        for fact in played_turn(turn):
            journal.append(fact)
    appended = perf_counter() - start
    journal.keep()
    took = (perf_counter() - start) / len(journal)
    print(  # noqa: T201 - as above
        f"\n{turns} turns of {CALLS} calls, {len(journal)} facts: {appended / len(journal) * 1e6:.0f} us an append, "
        f"{took * 1e6:.0f} us a fact until all is in the file"
    )
    return journal


def test_a_long_session_is_read_in_proportion_to_its_length(store: JournalStore, measured: bool) -> None:
    """Reads 100 and 200 turns by turns; the best of each is compared."""
    journals = {turns: _long(store, turns) for turns in LENGTHS}
    took: dict[int, list[float]] = {turns: [] for turns in LENGTHS}
    for _ in range(ROUNDS):
        for turns, journal in journals.items():
            gc.collect()
            start = perf_counter()
            loaded = store.load(f"of-{turns}")
            took[turns].append(perf_counter() - start)
            assert loaded.head == journal.head
    half, whole = LENGTHS
    short, long = min(took[half]), min(took[whole])
    print(  # noqa: T201 - as above
        f"\nread {half} turns {short * 1e3:.0f} ms (at most {MOST_SECONDS * 1e3:.0f}), {whole} turns {long * 1e3:.0f} ms: "
        f"{long / short:.2f} times (at most {MOST_RATIO})"
    )
    assert short < MOST_SECONDS or not measured
    assert long / short < MOST_RATIO or not measured
