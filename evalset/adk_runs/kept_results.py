"""Lists the results that `adk eval`, `adk web` and runs of the studio have kept for an agent, the newest first."""

from __future__ import annotations

from pathlib import Path

from simulator.base.frozen_value import Value

HISTORY = Path(".adk", "eval_history")
"""Where ADK keeps them, in the agent's folder."""

_ENDING = ".evalset_result.json"


class KeptResults(Value):
    """A results file: its name without the ending, which ADK makes of app, set and time, and when it was written."""

    path: Path
    name: str
    written: float


def kept_results(folder: Path, most: int = 50) -> tuple[KeptResults, ...]:
    """List the results files in a folder, the newest first; none where it cannot be read."""
    try:
        found = [
            KeptResults(path=path, name=path.name.removesuffix(_ENDING), written=path.stat().st_mtime)
            for path in folder.glob(f"*{_ENDING}")
        ]
    except OSError:
        return ()
    return tuple(sorted(found, key=lambda kept: kept.written, reverse=True)[:most])
