"""What it takes to import sixty thousand cases: the time of the processor, and the memory."""

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

CASES = 60_000
"""What is recorded of them has 221 MB: a recorded environment of over 256 MB could not be read, and is not written."""
MOST_BYTES = 250 << 20
"""Most of it is ADK itself."""
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
    source, out = tmp_path / "many.evalset.json", tmp_path / "out.evalset.json"
    source.write_text(a_set(CASES))
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
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = source.stat().st_size + out.stat().st_size + sidecar_of(out).stat().st_size
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\n{CASES:,} cases, {size / 1e6:.0f} MB read and written: {seconds:.0f} s, at most {peak >> 20} MiB ({MOST_BYTES >> 20} are allowed)"
    )
    assert code == 0
    assert len(held_ids(out)) == len(read_environment(sidecar_of(out)).cases) == CASES
    assert peak <= MOST_BYTES
