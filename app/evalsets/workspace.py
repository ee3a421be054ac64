"""What somebody runs and edits on one eval set, kept on the server: it is there again after a refresh of the browser."""

from __future__ import annotations

import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from app.evalsets.criteria.criteria_draft import CriteriaDraft

if TYPE_CHECKING:
    from app.evalsets.run.last_results import LastResult
    from app.live.background_jobs import Job
    from evalset.adk_runs.eval_process import AdkEvalRun
    from evalset.adk_runs.process_groups import Start
    from evalset.adk_runs.run_spec import EvalRunSpec

EXPORTED = "exported"
"""The name of the replay of a case that was exported into the set; its id stands behind it."""

MOST_BENCHES = 100
"""So many are kept; those that nobody has used for longest go first, and one at which something runs stays."""

MOST_RUNS = 3
"""How many `adk eval` processes run at once on this server: each takes a core and 400 MB."""

_HOLDER = "golden_trace_studio_benches"


class BusyError(ValueError):
    """As many evaluations run as this server starts at once; the text says what to do."""


class Workspace:
    """One eval set on somebody's workspace.

    Attributes:
        owner: Whose it is.
        eval_set: The eval-set file.
        options: What was chosen in the tabs, by name.
        criteria: The criteria as they are edited.
        run: The last run of `adk eval`.
        jobs: The last work of each kind, by name.
        results: The last result that work found of each case, by its id: it stays when the next work takes the place of that.
        notes: What is to be said of something that was done, by the name of its place.
        agreed: Does what was shown, once somebody agrees.
        again: Looks again what would change, where a file has changed since it was shown.
        writes: How often something was written from here.
    """

    def __init__(self, owner: str, eval_set: Path) -> None:
        self.owner, self.eval_set = owner, eval_set
        self.options: dict[str, JsonValue] = {}
        self.criteria = CriteriaDraft(eval_set)
        self.run: AdkEvalRun | None = None
        self.jobs: dict[str, Job[Any]] = {}
        self.results: dict[str, LastResult] = {}
        self.notes: dict[str, str] = {}
        self.agreed: Callable[[], None] | None = None
        self.again: Callable[[], None] | None = None
        self.writes = 0

    @property
    def is_at_work(self) -> bool:
        """Whether something runs."""
        running = self.run is not None and not self.run.view().is_over
        return running or any(job.state == "running" for job in self.jobs.values())

    def wrote(self) -> None:
        """Note that something was written, so that what is known of the files is looked at anew."""
        self.writes += 1

    def close(self) -> None:
        """End all that runs."""
        for job in self.jobs.values():
            job.stop()
        if self.run is not None:
            self.run.forget()


class Workspaces:
    """All benches of this server. Safe to use from several threads.

    Attributes:
        starts: Starts the processes; None for the usual way.
    """

    def __init__(self) -> None:
        self.starts: Start | None = None
        self._benches: OrderedDict[tuple[str, Path], Workspace] = OrderedDict()
        self._lock = RLock()

    def of(self, owner: str, eval_set: Path) -> Workspace:
        """Return the workspace of an owner for an eval set; another's is never given."""
        key = (owner, eval_set.absolute())
        with self._lock:
            if key not in self._benches:
                self._benches[key] = Workspace(*key)
            workspace = self._benches[key]
            self._benches.move_to_end(key)
            idle = [other for other, held in self._benches.items() if other != key and not held.is_at_work]
            gone = [self._benches.pop(other) for other in idle[: max(0, len(self._benches) - MOST_BENCHES)]]
        for other in gone:
            other.close()
        return workspace

    def start(self, workspace: Workspace, spec: EvalRunSpec) -> AdkEvalRun:
        """Begin a run of `adk eval` in the place of the workspace's last one.

        Raises:
            BusyError: Too many run, or one at this workspace.
        """
        from evalset.adk_runs.eval_process import AdkEvalRun  # noqa: PLC0415 - importing ADK's evaluation takes a second
        from evalset.adk_runs.process_groups import start_process  # noqa: PLC0415 - as below

        with self._lock:
            running = [each for each in self._benches.values() if each.run and not each.run.view().is_over]
            if workspace in running:
                raise BusyError("This eval set is already being evaluated. Stop that run first.")
            if len(running) >= MOST_RUNS:
                raise BusyError(
                    f"{len(running)} evaluations already run on this server. Wait until one ends, or stop one of yours."
                )
            folder = Path(tempfile.mkdtemp(prefix="adk-eval-"))
            before, workspace.run = (
                workspace.run,
                AdkEvalRun(spec, folder, start=self.starts or start_process),
            )
            workspace.run.start()
        if before is not None:
            before.forget()
        return workspace.run

    def close_all(self) -> None:
        """End all that runs, and forget every workspace."""
        with self._lock:
            workspaces, self._benches = list(self._benches.values()), OrderedDict()
        for workspace in workspaces:
            workspace.close()


def workspaces() -> Workspaces:
    """Return the benches of this process; as `app.live.live_sessions.registry`, they outlive a reload of the code."""
    holder = sys.modules.setdefault(_HOLDER, ModuleType(_HOLDER))
    found: Workspaces = holder.__dict__.setdefault("benches", Workspaces())
    return found
