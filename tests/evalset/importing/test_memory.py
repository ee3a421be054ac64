"""`golden-trace import` needs no more memory for many cases than for few: only ids and offsets are kept for each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalset.recorded.embedded_recording import joined
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.files.examples import held_ids
from tests.evalset.importing.test_files import LISTED, OLD_TURN, set_of, written
from tests.harness.processes import REPOSITORY, quiet_environment

FEW, MANY = 400, 4_000
MOST_BYTES_A_CASE = 2_000
"""What a case may add to the peak: its ids, offsets and places in dictionaries. A case and its recording as objects are ten times as much."""

_PEAK = """
import sys
from pathlib import Path
from evalset.files import set_opening
from evalset.cli.main import main
set_opening.LARGE = 1 << 20  # a larger set is read in parts
code = main(sys.argv[1:])
status = Path("/proc/self/status")
if status.exists():
    peak = int(status.read_text().split("VmHWM:")[1].split()[0])
else:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(code, peak, file=sys.stderr)
"""


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


def peak_of(*arguments: Path | str) -> int:
    """Run an import in a process of its own; return the bytes that it held at most."""
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, "import", "--quiet", *map(str, arguments)],
        cwd=REPOSITORY,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    code, peak = done.stderr.split()[-2:]
    assert code == "0", done.stderr
    return int(peak) * 1024


def grown(peaks: list[int]) -> float:
    """Return what one more case adds to the peak."""
    return (peaks[1] - peaks[0]) / (MANY - FEW)


@pytest.mark.process
@pytest.mark.parametrize("make", [old_sets, sessions])
def test_the_peak_does_not_grow_with_the_cases(make: Callable[[int], str], tmp_path: Path) -> None:
    """Of files in other forms."""
    peaks = []
    for cases in (FEW, MANY):
        source, out = tmp_path / f"{cases}.json", tmp_path / f"{cases}" / "out.evalset.json"
        source.write_text(make(cases))
        peaks.append(peak_of(source, "--out", out))
        assert len(held_ids(out)) == len(read_environment(sidecar_of(out)).cases) == cases
    assert grown(peaks) < MOST_BYTES_A_CASE


@pytest.mark.process
def test_the_peak_does_not_grow_with_what_is_recorded(tmp_path: Path) -> None:
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
