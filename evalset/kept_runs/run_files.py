"""Keeps runs in files next to their eval set, in `.golden-trace/runs/<set>`, and reads them back; a file is never changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from evalset.adk_runs.eval_results import AdkCaseResult, RunResults
from evalset.errors import FileError, first_flaw
from evalset.files.eval_names import base_name
from evalset.files.file_kinds import own_document
from evalset.kept_runs.kept_run import (
    FORMAT,
    VERSION,
    KeptAgent,
    KeptCase,
    KeptDivergence,
    KeptRun,
    KeptStatus,
)
from evalset.measured import Measured
from evalset.recorded.recording import lean
from evalset.verify.report import steps_beside
from evalset.verify.results import CaseResult, Divergence, Verification
from simulator.base.documents import read_file
from simulator.base.user_files import made_folder, write_whole
from simulator.base.validation_words import validated

if TYPE_CHECKING:
    from evalset.adk_runs.eval_process import RunView
    from evalset.adk_runs.run_spec import EvalRunSpec

_TWO = 2
RUNS = Path(".golden-trace", "runs")
"""Where runs are kept, in the folder of the eval set; in it, a folder for each set."""


class KeptRunError(FileError):
    """A file holds no run that can be used, or one cannot be kept; the text names the file and what is wrong."""


class RunFile(NamedTuple):
    """A file of a kept run: the run, or why it cannot be used."""

    path: Path
    run: KeptRun | None
    problem: str = ""


def runs_folder(eval_set: Path) -> Path:
    """Return the folder of the runs of an eval set."""
    return eval_set.parent / RUNS / base_name(eval_set)


def kept_run_of(verification: Verification, at: float, *, is_partial: bool = False) -> KeptRun:
    """Return what is kept of a verification.

    Args:
        verification: The verification.
        at: When it ended, in seconds since the epoch.
        is_partial: Whether only some cases of the set were chosen.
    """
    measured = verification.measured or Measured()
    cases = (_case(each, each.status) for each in verification.cases if each.status != "skipped")
    return KeptRun(
        eval_set=verification.eval_set.name,
        at=_iso(at),
        seconds=round(verification.seconds, 3),
        **_circumstances(measured),
        criteria=lean(verification.criteria),
        is_partial=is_partial,
        cases=tuple(each.model_copy(update=_digests(measured, each.eval_id)) for each in cases),
        network=verification.network,
    )


def kept_run_of_adk(results: RunResults, eval_set: str) -> KeptRun:
    """Return a run of `adk eval` as if it had been kept here: ADK keeps neither digests nor versions, and of criteria the thresholds.

    Args:
        results: ADK's results.
        eval_set: The name of the eval set's file.
    """
    thresholds = {each.name: each.threshold for case in results.cases for each in case.metrics}
    return KeptRun(
        engine="adk eval",
        eval_set=eval_set,
        at=_iso(results.created),
        criteria={"criteria": dict(thresholds)},
        is_partial=True,
        cases=tuple(map(_adk_case, results.cases)),
    )


def kept_run_of_eval(spec: EvalRunSpec, view: RunView) -> KeptRun:
    """Return what is kept of a run of `adk eval` from here that has ended with results.

    Args:
        spec: What was evaluated.
        view: How it ended.
    """
    run = kept_run_of_adk(view.results or RunResults(), spec.eval_set.name)
    more = {
        **_circumstances(view.measured or Measured()),
        "at": _iso(view.ended_at or 0.0),
        "seconds": round(view.seconds, 3),
        "criteria": spec.config,
        "is_partial": bool(spec.cases),
        "cases": tuple(each.model_copy(update={"models": spec.models}) for each in run.cases),
        "network": view.network,
    }
    return run.model_copy(update=more)


def _digests(measured: Measured, eval_id: str) -> dict[str, str]:
    return {f"{each.kind}_sha256": each.cases.get(eval_id, "") for each in measured.files}


def _circumstances(measured: Measured) -> dict[str, Any]:
    digests = {each.kind: each.sha256 for each in measured.files}
    return {
        "set_sha256": digests.get("set", ""),
        "recording_sha256": digests.get("recording", ""),
        "agents": tuple(
            KeptAgent(
                app_name=each.app_name,
                fingerprint=each.fingerprint,
                source_sha256=each.source_sha256,
                models=each.models,
            )
            for each in measured.agents
        ),
        "adk": measured.adk,
        "studio": _studio(),
    }


def keep_run(eval_set: Path, run: KeptRun) -> Path:
    """Keep a run next to its eval set, and return its file.

    Raises:
        KeptRunError: The disk or the folder refused.
    """
    folder = runs_folder(eval_set)
    try:
        made_folder(folder, private=True)
        path = next(path for path in _names(folder, run.at) if not path.exists())
        text = f"{json.dumps(_HEAD | lean(run), indent=2, ensure_ascii=False)}\n"
        write_whole(path, [text.encode(errors="backslashreplace")])  # names of files may be no text
    except OSError as error:
        raise KeptRunError(folder, f"the run cannot be kept: {error.strerror or error}") from error
    return path


def read_run(path: Path) -> KeptRun:
    """Read a kept run.

    Raises:
        KeptRunError: It cannot be read, is none, is newer than this, or is damaged; the text says where.
    """
    try:
        found = own_document(read_file(path), FORMAT, VERSION, "a kept run")
    except OSError as error:
        raise KeptRunError(path, f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise KeptRunError(path, str(error)) from error
    try:
        return validated(KeptRun, found)
    except ValidationError as error:
        raise KeptRunError(path, first_flaw(error)) from error


def run_files(eval_set: Path, most: int = 200) -> tuple[RunFile, ...]:
    """Return the kept runs of an eval set, the oldest first, and at most so many of the newest; files that cannot be used too."""
    try:
        paths = sorted(runs_folder(eval_set).glob("*.json"))[-most:]
    except OSError:
        return ()
    return tuple(map(_file, paths))


def last_two(eval_set: Path) -> tuple[Path, Path]:
    """Return the files of the last two kept runs of an eval set with the engine of the last one, the earlier one first.

    Raises:
        KeptRunError: There are not so many that can be used.
    """
    runs = [(file.path, file.run.engine) for file in run_files(eval_set) if file.run is not None]
    usable = [path for path, engine in runs if engine == runs[-1][1]]
    if len(usable) < _TWO:
        words = f"{len(usable)} kept runs, but two are needed. `golden-trace verify --save` keeps a run"
        raise KeptRunError(runs_folder(eval_set), words)
    return usable[-2], usable[-1]


def _file(path: Path) -> RunFile:
    try:
        return RunFile(path, read_run(path))
    except KeptRunError as error:
        return RunFile(path, None, str(error))


_HEAD = {"format": FORMAT, "version": VERSION}


def _names(folder: Path, at: str) -> Iterator[Path]:
    """Propose names that sort by time, and hold no character that a system refuses."""
    stem = at.replace(":", "-")
    yield folder / f"{stem}.json"
    yield from (folder / f"{stem}_{number}.json" for number in range(2, 10_000))


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _studio() -> str:
    try:
        return version("golden-trace-studio")
    except PackageNotFoundError:  # a checkout that is not installed
        return ""


def _case(case: CaseResult, status: KeptStatus) -> KeptCase:
    ended = next((run.error for run in case.runs if run.error), "")
    failed = next((run for run in case.runs if not run.passed), None)
    checks = (
        () if failed is None else (check for check in failed.checks if check.status in {"failed", "error"})
    )
    words = "; ".join(f"{check.name}: {check.detail}" if check.detail else check.name for check in checks)
    return KeptCase(
        eval_id=case.eval_id,
        status=status,
        passed=sum(run.passed for run in case.runs),
        runs=len(case.runs),
        models=next((run.models for run in case.runs), ""),
        seconds=round(sum(run.seconds for run in case.runs), 3),
        error=case.error or ended or (words if case.divergence is None else ""),
        divergence=None if case.divergence is None else _divergence(case.divergence),
    )


def _divergence(found: Divergence) -> KeptDivergence:
    golden, actual = steps_beside(found)
    return KeptDivergence(
        turn=found.turn + 1,
        step=found.step + 1,
        what=found.what,
        verdict=found.verdict,
        sentence=found.sentence,
        golden=golden,
        actual=actual,
    )


def _adk_case(case: AdkCaseResult) -> KeptCase:
    statuses: dict[str, KeptStatus] = {"passed": "passed", "failed": "failed"}
    status = statuses.get(case.status, "error")
    failed = ", ".join(metric.name for metric in case.metrics if metric.status == "failed")
    return KeptCase(
        eval_id=case.eval_id,
        status=status,
        passed=int(status == "passed"),
        runs=1,
        error=case.problem or failed or ("" if status == "passed" else case.status),
    )
