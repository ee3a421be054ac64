"""What it takes to import a hundred thousand cases: the time of the processor, and the memory."""

from __future__ import annotations

import resource
from pathlib import Path

from evalset.recorded.recording_files import sidecar_of
from tests.evalset.importing.test_memory import a_set, peak_of

CASES = 100_000
MOST_BYTES = 250 << 20
"""Most of it is ADK itself."""


def test_an_import_of_many_cases_takes_little_memory(tmp_path: Path) -> None:
    """Into a new set; what is recorded goes beside it."""
    source, out = tmp_path / "many.evalset.json", tmp_path / "out.evalset.json"
    source.write_text(a_set(CASES))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = peak_of(source, "--out", out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    size = source.stat().st_size + out.stat().st_size + sidecar_of(out).stat().st_size
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\n{CASES:,} cases, {size / 1e6:.0f} MB read and written: {seconds:.0f} s, at most {peak >> 20} MiB ({MOST_BYTES >> 20} are allowed)"
    )
    assert peak <= MOST_BYTES
