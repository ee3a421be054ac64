"""`golden-trace import` needs no more memory for many cases than for few: only ids and offsets are kept for each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalset.recorded.recording_files import joined, read_environment, sidecar_of
from tests.evalset.files.examples import held_ids
from tests.evalset.importing.test_files import LISTED, OLD_TURN, set_of, written
from tests.harness.processes import REPOSITORY, quiet_environment

pytestmark = [pytest.mark.long, pytest.mark.process]

FEW, MANY = 400, 4_000
"""As many as are too large to be read at once; where fewer are added, a few kept pages count as much as what is looked for."""
MOST_BYTES_A_CASE = 2_000
"""What a case may add to the peak: its ids, offsets and places in dictionaries. A case and its recording as objects are ten times as much."""

_PEAK = """
import json
import os
import sys
import threading
from pathlib import Path
from evalset.files import set_outline, set_writer
from evalset.cli.main import main
set_writer.LARGE, set_outline._BATCH = 1 << 16, 1 << 17  # a larger set is read in parts
for number, line in enumerate(sys.stdin):
    if number and os.fork():
        os.wait()
        continue
    code = main(json.loads(line))
    status = Path("/proc/self/status")
    if status.exists():
        peak = int(status.read_text().split("VmHWM:")[1].split()[0])
    else:
        import resource
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("peak", code, peak, threading.active_count(), file=sys.stderr, flush=True)
    if number:
        os._exit(0)
"""
"""Imports what each line says, in a fork of a process that has imported once: every one begins with the same memory."""

Peak = Callable[..., int]
"""Runs an import in a process of its own; returns the bytes that it held at most."""


@pytest.fixture(scope="module")
def peak_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peak]:
    """Start the process."""
    with subprocess.Popen(
        [sys.executable, "-c", _PEAK],
        cwd=REPOSITORY,
        env=quiet_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        asks, says = process.stdin, process.stderr
        assert asks
        assert says

        def peak(*arguments: Path | str) -> int:
            asks.write(json.dumps(["import", "--quiet", *map(str, arguments)]) + "\n")
            asks.flush()
            said: list[str] = []
            while not said or not said[-1].startswith("peak "):
                said.append(says.readline())
                assert said[-1], said
            code, found, threads = said[-1].split()[1:]
            assert (code, threads) == ("0", "1"), said
            return int(found) * 1024

        folder = tmp_path_factory.mktemp("first")
        (folder / "first.json").write_text(a_set(1))
        peak(folder / "first.json", "--out", folder / "out.evalset.json")
        yield peak
        asks.close()


def a_set(cases: int) -> str:
    """Write an eval set whose cases hold answers."""
    (case,) = set_of(LISTED)["eval_cases"]
    text = json.dumps({**case, "eval_id": "$"})
    listed = ",\n".join(text.replace('"$"', f'"case {number}"') for number in range(cases))
    return f'{{"eval_set_id": "many", "eval_cases": [{listed}]}}'


def old_sets(cases: int) -> str:
    """Write a list in ADK's older form."""
    return json.dumps([{"name": f"case {number}", "data": [OLD_TURN]} for number in range(cases)])


def sessions(cases: int) -> str:
    """Write a list of sessions as ADK's API gives them."""
    said = [
        {"author": who, "content": {"parts": [{"text": words}]}}
        for who, words in (("user", "Hi"), ("desk", "Yes"))
    ]
    return json.dumps(
        [{"id": f"case {number}", "appName": "desk", "events": said} for number in range(cases)]
    )


def grown(peaks: list[int]) -> float:
    """Return what one of so many more cases adds to the peak."""
    return (peaks[1] - peaks[0]) / (MANY - FEW)


@pytest.mark.parametrize("make", [old_sets, sessions])
def test_the_peak_does_not_grow_with_the_cases(
    make: Callable[[int], str], peak_of: Peak, tmp_path: Path
) -> None:
    """Of files in other forms."""
    peaks = []
    for cases in (FEW, MANY):
        source, out = tmp_path / f"{cases}.json", tmp_path / f"{cases}" / "out.evalset.json"
        source.write_text(make(cases))
        peaks.append(peak_of(source, "--out", out))
        assert len(held_ids(out)) == len(read_environment(sidecar_of(out)).cases) == cases
    assert grown(peaks) < MOST_BYTES_A_CASE


def test_the_peak_does_not_grow_with_what_is_recorded(peak_of: Peak, tmp_path: Path) -> None:
    """Of a plain set, of one with a recording beside it, of one with the recording inside; into a new set, and into one with cases."""
    peaks: dict[str, list[int]] = {"plain": [], "beside": [], "inside": [], "again": []}
    for cases in (FEW, MANY):
        folder, whole = tmp_path / f"{cases}", tmp_path / f"whole {cases}.evalset.json"
        plain = written(tmp_path, f"{cases}.evalset.json", json.loads(a_set(cases)))
        sets = {name: folder / f"{name}.evalset.json" for name in peaks}
        peaks["plain"].append(peak_of(plain, "--out", sets["plain"]))
        peaks["beside"].append(peak_of(sets["plain"], "--out", sets["beside"]))
        whole.write_text(joined(sets["plain"].read_text(), read_environment(sidecar_of(sets["plain"]))))
        peaks["inside"].append(peak_of(whole, "--out", sets["inside"]))
        assert len({sidecar_of(sets[name]).read_bytes() for name in ("plain", "beside", "inside")}) == 1
        peaks["again"].append(peak_of(plain, "--out", sets["plain"]))
        assert (
            len(held_ids(sets["plain"]))
            == len(read_environment(sidecar_of(sets["plain"])).cases)
            == 2 * cases
        )
    for name in ("plain", "beside", "inside"):
        assert grown(peaks[name]) < MOST_BYTES_A_CASE
    assert grown(peaks["again"]) < 2 * MOST_BYTES_A_CASE
