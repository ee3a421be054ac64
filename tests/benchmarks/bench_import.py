"""What it takes to import fifteen thousand cases: the time of the processor, and the memory beside an import of a few."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.files.examples import held_ids
from tests.evalset.importing.test_memory import a_set
from tests.harness.processes import REPOSITORY, quiet_environment

CASES = 15_000
"""What is recorded of them has 58 MB: a recorded environment of over 64 MB could not be read, and is not written."""
FEW = 20
MOST_MORE_BYTES = 100 << 20
"""What all of them may take beside a few: ADK itself, which grows with its versions, is in both. What is read ahead of a large file is held
for any number of cases; `tests/evalset/importing/test_memory.py` holds that it does not grow with them.
"""
SMALLEST = {"CASES": 20}

_IMPORT = """
import json, resource, sys
from pathlib import Path
from evalset.cli.main import main
code, status = main(sys.argv[1:]), Path("/proc/self/status")
# What the parent of a new process held counts as its own peak for getrusage.
peak = int(status.read_text().split("VmHWM:")[1].split()[0]) if status.exists() else 0
print(json.dumps([code, (peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024]), file=sys.stderr)
"""


def test_an_import_of_many_cases_takes_little_memory(tmp_path: Path) -> None:
    """Into a new set, in a process of its own; what is recorded goes beside it."""
    peak, seconds = imported(tmp_path / "many", CASES)
    few, _ = imported(tmp_path / "few", FEW) if CASES > FEW else (peak, seconds)
    size = sum(path.stat().st_size for path in (tmp_path / "many").iterdir() if path.suffix == ".json")
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\n{CASES:,} cases, {size / 1e6:.0f} MB read and written: {seconds:.0f} s, at most {peak >> 20} MiB, "
        f"{(peak - few) >> 20} more than for {FEW} ({MOST_MORE_BYTES >> 20} are allowed)"
    )
    out = tmp_path / "many" / "out.evalset.json"
    assert len(held_ids(out)) == len(read_environment(sidecar_of(out)).cases) == CASES
    assert peak - few <= MOST_MORE_BYTES


def imported(folder: Path, cases: int) -> tuple[int, float]:
    """Import so many cases into a new set; return the memory that the process held at most, and its seconds of processor."""
    folder.mkdir()
    source, out = folder / "many.evalset.json", folder / "out.evalset.json"
    source.write_text(a_set(cases))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT, "import", "--quiet", source, "--out", out],
        cwd=REPOSITORY,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    code, peak = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    return peak, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
