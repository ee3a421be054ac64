"""Verifies in several processes: kernels of the agent, and whatever else an executor has."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from evalset.cli.verify_command import main
from evalset.verify import CaseResult, VerifyProgress, replay_written, verify
from evalset.verify.verify_run import parts_of
from tests.evalset.ending import Ends
from tests.evalset.replay.desk_agent import NAME
from tests.evalset.verify.desks import agents, first, recorded_set
from tests.simulator.kernel.projects import config_of

CASES = {
    "one": ("check A",),
    "two": ("check B",),
    "three": ("check C", "note A"),
    "four": ("check A, check C",),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of some cases."""
    return recorded_set(tmp_path_factory.mktemp("kept"), dict(CASES))


def plain(case: CaseResult) -> object:
    """What a case's result holds beside times."""
    return case.eval_id, case.agent, case.status, case.golden, [(run.passed, run.checks) for run in case.runs]


@pytest.mark.parametrize(
    ("cases", "runs", "workers"), [(1, 1, 1), (300, 1, 2), (7, 3, 2), (2, 1000, 2), (5, 12, 4)]
)
def test_the_parts_hold_each_run_of_each_case_once(cases: int, runs: int, workers: int) -> None:
    """Whatever the numbers are."""
    made = [
        (place, number)
        for part in parts_of(cases, runs, workers)
        for place in part.places
        for number in range(part.first, part.first + part.runs)
    ]
    assert sorted(made) == [(place, number) for place in range(cases) for number in range(1, runs + 1)]


@pytest.mark.process
def test_a_case_that_was_just_written_is_replayed_by_its_agents_process(kept: Path, tmp_path: Path) -> None:
    """As the export page does."""
    config = config_of(agents(tmp_path), NAME)
    written = replay_written(kept, "three", agent=config)
    config.kernels.end()
    assert (written.eval_id, written.passed, written.lines) == ("three", True, ())


@pytest.mark.long
@pytest.mark.process
def test_kernels_find_what_one_process_finds(kept: Path, tmp_path: Path) -> None:
    """In the order of the cases, with progress after each; the agent's code runs in the kernels alone."""
    folder = agents(tmp_path)
    here = verify(kept, agents_dir=folder, runs=2)
    told: list[VerifyProgress] = []
    at_work = list[str]()
    there = verify(
        kept,
        agent=config_of(folder, NAME),
        runs=2,
        processes=2,
        on_progress=told.append,
        on_work=at_work.extend,
    )
    assert set(at_work) == set(CASES)
    assert [*map(plain, there.cases)] == [*map(plain, here.cases)]
    assert (there.models, there.measured is not None) == (here.models, True)
    assert [each.done for each in told] == list(range(1, 2 * len(CASES) + 1))
    assert {each.total for each in told} == {2 * len(CASES)}


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize(
    "how",
    ["os._exit(7)", pytest.param(f"os.kill(os.getpid(), {int(signal.SIGTERM)})", marks=pytest.mark.long)],
)
def test_a_case_that_ends_its_process_is_named_and_the_others_get_their_verdicts(
    kept: Path, tmp_path: Path, how: str
) -> None:
    """Each time it is tried."""
    dies = first(f"if llm_request.contents[0].parts[0].text == 'check B':\n            {how}")
    found = verify(kept, agent=config_of(agents(tmp_path, dies), NAME), processes=2)
    assert {case.eval_id: case.status for case in found.cases} == {
        "one": "passed",
        "two": "error",
        "three": "passed",
        "four": "passed",
    }
    told = "exit code 7" if "exit" in how else f"signal {int(signal.SIGTERM)}"
    assert told in next(case.error for case in found.cases if case.eval_id == "two")


@pytest.mark.long
@pytest.mark.process
def test_a_process_that_ends_once_costs_no_verdict(kept: Path, tmp_path: Path) -> None:
    """Its cases are tried again in a fresh one."""
    mark = tmp_path / "ended"
    ends = f"            open({str(mark)!r}, 'w').close()\n            os._exit(7)"
    once = first(f"if not os.path.exists({str(mark)!r}):\n{ends}")
    found = verify(kept, agent=config_of(agents(tmp_path, once), NAME), processes=1)
    assert mark.exists()
    assert found.status == "passed", [case.error for case in found.cases]


@pytest.mark.long
@pytest.mark.process
def test_stop_ends_what_does_not_let_go(kept: Path, tmp_path: Path) -> None:
    """With what was done by then."""
    mark = tmp_path / "spins"
    tells = f"            open({str(mark)!r}, 'w').close()\n            while True: pass"
    spins = first(f"if llm_request.contents[0].parts[0].text == 'check B':\n{tells}")
    config, stop = config_of(agents(tmp_path, spins), NAME), threading.Event()

    def when_it_spins() -> None:
        while not mark.exists():
            stop.wait(0.02)
        stop.set()

    watching = threading.Thread(target=when_it_spins)
    watching.start()
    found = verify(kept, agent=config, processes=2, stop=stop)  # what spins would never end
    watching.join()
    assert next(case.status for case in found.cases if case.eval_id == "two") == "stopped"
    assert [case.eval_id for case in found.cases] == list(CASES)


@pytest.mark.long
@pytest.mark.process
def test_any_executor_will_do(kept: Path, tmp_path: Path) -> None:
    """Its workers find the agents themselves; an agent that this process made cannot be sent there."""
    folder = agents(tmp_path)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        found = verify(kept, agents_dir=folder, executor=executor, processes=1)
        with pytest.raises(ValueError, match="pass its name"):
            verify(kept, agent=config_of(folder, NAME), executor=executor)
    assert [(case.eval_id, case.status) for case in found.cases] == [(each, "passed") for each in CASES]


@pytest.mark.long
@pytest.mark.process
def test_the_command_verifies_with_the_interpreter_that_is_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends
) -> None:
    """In processes of their own: none of the agents' code runs in the command's."""
    mark = tmp_path / "ran"
    tells = first(f"open({str(mark)!r}, 'a').write(f'{{os.getpid()}}\\n')")
    monkeypatch.setenv("GOLDEN_TRACE_PYTHON", sys.executable)
    words = (kept, "--agents-dir", agents(tmp_path, tells), "--processes", "1", "--quiet")
    assert "4 passed" in ends(0, *words, program=main).out
    assert str(os.getpid()) not in mark.read_text().split()


def test_an_interpreter_that_is_not_there_is_named(kept: Path, ends: Ends) -> None:
    """With exit code 2."""
    assert "--python /nowhere/python: " in ends(2, kept, "--python", "/nowhere/python", program=main).err
