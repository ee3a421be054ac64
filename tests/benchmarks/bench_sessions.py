"""What sessions cost that last: many paused ones in a process, reopening a long one, and taking back a step.

Bars are held to the processor's time, and to the best of some rounds where the work is the same each time: what else
runs on the machine disturbs the clock, which is printed beside it.
"""

from __future__ import annotations

import functools
import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time

import psutil
import pytest

from app.live.live_sessions import MAX_SESSIONS, registry
from app.live.reopened_sessions import reopened
from app.live.session_store import STORE_VARIABLE, close_store, server_store
from simulator import Seats, SimulatedAgentConfig, Simulation
from simulator.agents.agent_fingerprint import agent_fingerprint
from simulator.facts import Fact, SessionOpened, TurnEnded
from simulator.journal import Journal
from tests.harness.stepping_agent import ANSWER, NAME, write_stepping_agent

PAUSED = 1_000
"""So many sessions wait for a person in one process."""

MOST_KIB_PAUSED = 400
"""So much of the process's memory each of them may take."""

MOST_TIMES_ANSWER = 2.5
"""While they all wait, an answer may take so many times what it takes while a few do, to the next pause and its view, in 95 of 100 cases."""

LENGTHS, CALLS = (30, 60, 120), 5
"""Sessions of so many turns are reopened, each turn with so many calls."""

MOST_OF_PLAYED = 0.05
"""One is live again, and its view there, in so much of the time in which it was played, its model and its tools being none."""

MOST_RATIO = 2.6
"""Twice as many turns may take so many times as long: twice, and what else runs on the machine."""

STEPS, MOST_OF_ANSWERS = 30, 0.5
"""In a turn of so many calls that a person answered, the last is taken back, and the view there, in so much of the time of all those answers."""
WARM, ROUNDS = 20, 3
"""So many sessions come before what is measured, and so many rounds are."""
SMALLEST = {"PAUSED": 4, "WARM": 2, "ROUNDS": 1, "LENGTHS": (1, 2), "STEPS": 4}


@pytest.fixture
def app_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let the app find its agents and keep its sessions in a folder of the test's own; return that of the agents."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "sessions.db"))
    # The catalogue reads the server's command line.
    monkeypatch.setattr(sys, "argv", ["app", "--agents-dir", str(tmp_path / "agents"), "--no-demos"])
    close_store()
    yield tmp_path / "agents"
    registry().close_all()
    close_store()


def _shown(figures: str) -> None:
    print(f"\n{figures}")  # noqa: T201 - figures are what a benchmark is run for


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of the clock and of the processor that something took."""
    clock, processor = perf_counter(), process_time()
    work()
    return (perf_counter() - clock) * 1e3, (process_time() - processor) * 1e3


def _answered(simulation: Simulation, count: int) -> None:
    for _ in range(count):
        simulation.answer(simulation.view().pending[0], ANSWER)
        simulation.view()


def test_1000_paused_sessions_are_small_and_quick(tmp_path: Path, measured: bool) -> None:
    """Each waits for its second answer; then each is answered, while all others wait."""
    config = write_stepping_agent(tmp_path)
    rss, paused = psutil.Process().memory_info, list[Simulation]()

    def pause() -> None:
        simulation = Simulation.open(config)
        simulation.query("go 4")
        _answered(simulation, 1)
        simulation.view()
        paused.append(simulation)

    for _ in range(WARM):
        pause()
    few = [_timed(functools.partial(_answered, held, 1)) for held in paused]
    gc.collect()
    before = rss().rss
    while len(paused) < PAUSED:
        pause()
    gc.collect()
    each = (rss().rss - before) / 1024 / (PAUSED - WARM)
    taken = [_timed(functools.partial(_answered, held, 1)) for held in paused]
    traced = _traced(pause)
    for simulation in paused:
        simulation.close()
    (p50, p95), (p50_processor, p95_processor) = map(_percentiles, zip(*taken, strict=True))
    times = p95_processor / _percentiles([processor for _, processor in few])[1]
    _shown(
        f"{PAUSED} paused sessions: {each:.0f} KiB each (at most {MOST_KIB_PAUSED}), {traced:.0f} KiB of it Python's; answer to next "
        f"pause and its view: p50 {p50:.1f} ms (processor {p50_processor:.1f}), p95 {p95:.1f} ms (processor {p95_processor:.1f}, "
        f"{times:.2f} times that beside {WARM}, at most {MOST_TIMES_ANSWER}); a server keeps {MAX_SESSIONS} live"
    )
    assert each <= MOST_KIB_PAUSED or not measured
    assert times <= MOST_TIMES_ANSWER or not measured


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    return median(values), quantiles(values, n=20)[-1]


def _traced(pause: Callable[[], None]) -> float:
    """Return the KiB that Python holds for each further session."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(WARM):
        pause()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return held / 1024 / WARM


def _played(config: SimulatedAgentConfig, turns: int) -> list[Fact]:
    with Simulation.open(config, seats=Seats(tools={"*": "offline"}), seed="seed") as simulation:
        for _ in range(turns):
            assert simulation.query(f"Where are my orders? {CALLS}")
        return [fact for _, fact in simulation.journal.path()]


def _keep(facts: list[Fact], turns: int, config: SimulatedAgentConfig) -> str:
    """Store the beginning of a session as one of its own; return its id."""
    ends = [number for number, fact in enumerate(facts) if isinstance(fact, TurnEnded)]
    first = facts[0]
    assert isinstance(first, SessionOpened)
    session_id = f"of-{turns}"
    journal = Journal([first.model_copy(update={"session_id": session_id}), *facts[1 : ends[turns - 1] + 1]])
    store = server_store().store
    assert store is not None
    digest = agent_fingerprint(config.root_agent)
    store.begin(journal, owner="local", agent_key=NAME, agent_digest=digest)
    return session_id


def test_a_long_session_is_reopened_in_proportion_to_its_length(app_store: Path, measured: bool) -> None:
    """Through the app's own way: from the store to a live session and its view, the lengths by turns."""
    config = write_stepping_agent(app_store, remembers=False)
    facts = list[Fact]()
    _, played = _timed(lambda: facts.extend(_played(config, max(LENGTHS))))
    ids = {turns: _keep(facts, turns, config) for turns in LENGTHS}

    def reopen(session_id: str, turns: int) -> None:
        live = reopened(session_id)
        assert live is not None
        assert len(live.simulation.view().session.turns) == turns

    taken: dict[int, list[tuple[float, float]]] = {turns: [] for turns in LENGTHS}
    for _ in range(ROUNDS):
        for turns, session_id in ids.items():
            gc.collect()
            taken[turns].append(_timed(lambda: reopen(session_id, turns)))  # noqa: B023 - called at once
            registry().close(session_id)
    clock = {turns: median(each for each, _ in taken[turns]) for turns in LENGTHS}
    processor = {turns: min(each for _, each in taken[turns]) for turns in LENGTHS}
    half, whole = LENGTHS[-2:]
    ratio = processor[whole] / processor[half]
    figures = ", ".join(f"{n} turns {clock[n]:.0f} ms (processor {processor[n]:.0f})" for n in LENGTHS)
    _shown(
        f"reopened: {figures}; {processor[whole] / played:.2f} of what playing them took (at most {MOST_OF_PLAYED}); "
        f"{whole} beside {half}: {ratio:.2f} (at most {MOST_RATIO})"
    )
    assert processor[whole] <= MOST_OF_PLAYED * played or not measured
    assert ratio <= MOST_RATIO or not measured


@pytest.mark.parametrize("before", [0, 100])
def test_a_step_is_taken_back_at_once(before: int, tmp_path: Path, measured: bool) -> None:
    """The last of 30 calls, and the 15th, with all that came before; then the same at the end of 100 turns."""
    journal = Journal(_played(write_stepping_agent(tmp_path / "forgetful", remembers=False), before))
    taken: dict[int, list[tuple[float, float]]] = {STEPS: [], STEPS // 2: []}
    with Simulation.resume(journal, write_stepping_agent(tmp_path / "agents")) as simulation:
        simulation.set_player("tool", "person")
        simulation.query(f"go {STEPS}")
        _, answers_took = _timed(lambda: _answered(simulation, STEPS))
        path = simulation.journal.path()
        answers = [number for number, fact in path if fact.kind == "tool_answered"][-STEPS:]
        gc.collect()
        for _ in range(ROUNDS):
            for call, each in taken.items():
                number = answers[call - 1]
                simulation.move_head(number)
                each.append(_timed(lambda: (simulation.undo(), simulation.view())))
                assert simulation.journal.head == simulation.journal.parent(number)
                assert len(simulation.view().pending) == 1
    figures = ", ".join(
        f"call {call} of {STEPS} {median(each for each, _ in times):.0f} ms (processor {min(each for _, each in times):.0f})"
        for call, times in taken.items()
    )
    part = min(processor for _, processor in taken[STEPS]) / answers_took
    _shown(
        f"undo after {before} turns: {figures}; {part:.2f} of what all {STEPS} answers took, at most {MOST_OF_ANSWERS}"
    )
    assert part <= MOST_OF_ANSWERS or not measured
