"""Finds the last result of a case: of its page, the run of its set, its export, or a kept run. Every page that shows one asks here; no drawing.

A kept run is there after a restart, too, and a command may have kept it. One that does not say which set it had is passed over: nobody can tell whether it still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.evalsets.run.verify_jobs import MARKS, VERIFIED, models_words, why_of
from app.evalsets.set_context import environment_of
from app.evalsets.stale_result_panel import is_out_of_date
from app.evalsets.workspace import EXPORTED, Workspace
from app.forms.safe_labels import literal
from app.live.agent_catalogue import catalogue
from app.server.viewer_time import short_time
from evalset.kept_runs import KeptRun, KeptRunError, read_run, runs_folder
from evalset.measured import Measured, MeasuredAgent, MeasuredFile
from evalset.recorded.recording_files import sidecar_of
from evalset.replay.model_choice import ANSWERED_BY
from evalset.verify.results import CaseResult, CaseStatus, Verification
from simulator.agents.agent_folder import listed_as

CASE_VERIFIED = "case verified"
"""The name of the work at a workspace that verifies a case alone."""

_MOST_KEPT = 20
"""So many of the newest kept runs are looked through."""


class LastResult(NamedTuple):
    """What became of a case when it was last run.

    Attributes:
        eval_id: The case.
        status: Its status.
        at: When that was known, in seconds since the epoch.
        why: Why it did not pass, in a line, where a kept run says so.
        measured: What it was measured on; None where nobody knows.
        case: All of it; None of a kept run, which holds less.
        models: Who answered for the agents' models, in words; empty where nobody knows.
    """

    eval_id: str
    status: CaseStatus
    at: float
    why: str = ""
    measured: Measured | None = None
    case: CaseResult | None = None
    models: str = ""

    def is_old(self, *, unsaved: bool) -> bool:
        """Return whether what the case depends on has changed since."""
        return is_out_of_date(self.measured, (self.eval_id,), unsaved=unsaved)


def last_result(workspace: Workspace, eval_id: str) -> LastResult | None:
    """Return the last result of a case; None where it was never run."""
    return next(iter(last_results(workspace, (eval_id,))), None)


def last_results(workspace: Workspace, eval_ids: Collection[str]) -> list[LastResult]:
    """Return the last result of each of some cases that was ever run, in their order."""
    keep_results(workspace)
    newest = dict(workspace.results)
    _take(newest, _of_kept_runs(workspace.eval_set))
    return [newest[eval_id] for eval_id in eval_ids if eval_id in newest]


def keep_results(workspace: Workspace) -> None:
    """Keep what work found of each case, before other work takes its place."""
    _take(workspace.results, _of_jobs(workspace))


def _take(newest: dict[str, LastResult], results: Iterable[LastResult]) -> None:
    for result in results:
        if result.eval_id not in newest or result.at > newest[result.eval_id].at:
            newest[result.eval_id] = result


def result_words(result: LastResult, *, unsaved: bool) -> str:
    """Return what to say of a result in a word or two."""
    return f"{MARKS[result.status]}{', out of date' if result.is_old(unsaved=unsaved) else ''}"


def last_rows(results: Iterable[LastResult], *, unsaved: bool) -> list[dict[str, str]]:
    """Return a row for each result, as plain text."""
    return [
        {
            "case": literal(one.eval_id),
            "verdict": result_words(one, unsaved=unsaved),
            "when": short_time(one.at),
            "models": one.models,
            "what happened": literal(why_of(one.case) if one.case is not None else one.why),
        }
        for one in results
    ]


def _of_jobs(workspace: Workspace) -> Iterator[LastResult]:
    for name, job in list(workspace.jobs.items()):
        if name in (VERIFIED, CASE_VERIFIED) or name.startswith(f"{EXPORTED} "):
            found: Verification | None = getattr(job.result, "verification", job.result)
            if found is not None:
                for case in found.cases:
                    yield LastResult(
                        case.eval_id, case.status, job.ended_at, "", found.measured, case, models_words(case)
                    )


def _of_kept_runs(eval_set: Path) -> Iterator[LastResult]:
    try:
        paths = sorted(runs_folder(eval_set).glob("*.json"), reverse=True)
    except OSError:
        return
    read = (run for run in map(_read, paths) if run is not None)
    runs = (run for run in read if run.engine == "verify" and run.set_sha256)
    place = cache(_place)  # the folders of agents are looked through once, for all runs
    for run in islice(runs, _MOST_KEPT):
        measured = _measured(run, eval_set, place)
        for case in run.cases:
            models = ANSWERED_BY.get(case.models, "")
            yield LastResult(case.eval_id, case.status, _seconds(run.at), case.why, measured, models=models)


@lru_cache(maxsize=256)
def _read(path: Path) -> KeptRun | None:
    """Read a run; its file is never changed."""
    try:
        return read_run(path)
    except KeptRunError:
        return None


def _measured(run: KeptRun, eval_set: Path, place: Callable[[str], Path | None]) -> Measured:
    """Return what a kept run was measured on; of an agent that is not listed here nobody can tell."""
    cases = {case.eval_id: case.set_sha256 for case in run.cases if case.set_sha256}
    files = [MeasuredFile(kind="set", file=eval_set, sha256=run.set_sha256, cases=cases)]
    if run.recording_sha256:
        environment = environment_of(eval_set) or sidecar_of(eval_set)
        cases = {case.eval_id: case.recording_sha256 for case in run.cases if case.recording_sha256}
        files.append(
            MeasuredFile(kind="recording", file=environment, sha256=run.recording_sha256, cases=cases)
        )
    agents = (
        MeasuredAgent(app_name=each.app_name, source=place(each.app_name), source_sha256=each.source_sha256)
        for each in run.agents
        if each.source_sha256
    )
    return Measured(files=tuple(files), agents=tuple(agents), adk=run.adk)


def _place(app_name: str) -> Path | None:
    agents = catalogue()
    name = listed_as(app_name, names := agents.names())
    return agents.place(name) if name in names else None


def _seconds(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
