"""Runs of an eval set that are kept next to it, in `.golden-trace/runs/<set>`, in files that are never changed; and how two runs differ.

A `KeptRun` has each case's verdict, with what it was measured on. `compare_runs` says case by case what got worse or better between two, and `changes_over_time`
does so along many.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import Field, ValidationError

from evalset.adk_runs.eval_results import AdkCaseResult, RunResults
from evalset.errors import FileError, first_flaw
from evalset.files.eval_names import base_name, own_document
from evalset.measured import Measured, version_of
from evalset.recorded.recording import lean
from evalset.verify.report import steps_beside
from evalset.verify.results import CaseResult, Divergence, Verdict, Verification, What
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.user_files import made_folder, write_whole
from simulator.base.validation_words import validated
from simulator.runtime.adk.private_network import NetworkUse

if TYPE_CHECKING:
    from evalset.adk_runs.eval_process import RunView
    from evalset.adk_runs.run_spec import EvalRunSpec


FORMAT = "golden-trace-studio/run"
VERSION = 1
"""The newest version. A file of a newer one is refused."""

Engine: TypeAlias = Literal["verify", "adk eval"]
KeptStatus: TypeAlias = Literal["passed", "failed", "error", "stopped"]
"""A case that was skipped is not kept."""

KeptVerdict: TypeAlias = Literal["passed", "flaky", "failed", "error", "stopped"]


class KeptDivergence(Value):
    """The first step at which a run went another way than its golden.

    Attributes:
        turn: The turn, from 1.
        step: The step among the golden's steps of that turn, from 1.
        what: What differs there.
        verdict: What has changed.
        sentence: What happened.
        golden: The step of the golden in a short line.
        actual: The step of the run.
    """

    turn: int
    step: int
    what: What
    verdict: Verdict
    sentence: str = ""
    golden: str = ""
    actual: str = ""


class KeptCase(Value):
    """What became of a case.

    Attributes:
        eval_id: The case.
        status: Its status.
        passed: How many of its runs passed.
        runs: How many runs it had.
        models: Who answered for the agents' models: `real` or `recorded`; empty where nobody knows.
        seconds: How long its runs took.
        error: Why it could not be run, or what ended a run early.
        divergence: The first divergence; None where there is none, and where the engine names none.
        set_sha256: The digest of what it depends on in the eval set; empty where nobody knows.
        recording_sha256: The same of the recorded environment.
    """

    eval_id: str
    status: KeptStatus
    passed: int = 0
    runs: int = 0
    models: str = ""
    seconds: float = 0.0
    error: str = ""
    divergence: KeptDivergence | None = None
    set_sha256: str = ""
    recording_sha256: str = ""

    @property
    def verdict(self) -> KeptVerdict:
        """Its status; `flaky` where only some of its runs passed."""
        return "flaky" if self.status == "failed" and self.passed else self.status

    @property
    def why(self) -> str:
        """Why it did not pass, in a line; empty where it did, or nobody knows."""
        if self.divergence is None:
            return self.error
        return f"turn {self.divergence.turn}, step {self.divergence.step}: {self.divergence.sentence}"


class KeptAgent(Value):
    """An agent of a run: ADK's name of its app, the digests of what was loaded and of its files, and the names of its models."""

    app_name: str
    fingerprint: str = ""
    source_sha256: str = ""
    models: tuple[str, ...] = ()


class KeptRun(Value):
    """A run of an eval set.

    Attributes:
        format: What kind of file this is.
        version: The version of the file.
        engine: What ran the cases.
        eval_set: The name of the eval set's file.
        at: When it ended, as an ISO time in UTC.
        seconds: How long it took.
        set_sha256: The digest of the eval set; empty where nobody knows.
        recording_sha256: The digest of the recorded environment; empty where there was none.
        agents: The agents.
        adk: The version of google-adk.
        studio: The version of golden-trace-studio.
        criteria: What was asked of each run: of a verification as `Criteria` says it, of `adk eval` as an `EvalConfig` does.
        is_partial: Whether only some cases were chosen.
        cases: What became of each, in the order of the set.
        network: Which hosts the agents tried to reach, and whether all could be refused; None where nobody knows.
    """

    format: Literal["golden-trace-studio/run"] = "golden-trace-studio/run"
    version: Literal[1] = 1
    engine: Engine = "verify"
    eval_set: str
    at: str
    seconds: float = 0.0
    set_sha256: str = ""
    recording_sha256: str = ""
    agents: tuple[KeptAgent, ...] = ()
    adk: str = ""
    studio: str = ""
    criteria: JsonObject = Field(default_factory=dict)
    is_partial: bool = False
    cases: tuple[KeptCase, ...] = ()
    network: NetworkUse | None = None

    def count(self, verdict: KeptVerdict) -> int:
        """Count the cases of a verdict."""
        return sum(case.verdict == verdict for case in self.cases)

    @property
    def counts(self) -> str:
        """How many cases have which verdict, in words."""
        words = {
            "passed": "passed",
            "flaky": "flaky",
            "failed": "failed",
            "error": "could not run",
            "stopped": "stopped",
        }
        found = ((verdict, self.count(verdict)) for verdict in _VERDICTS)
        return ", ".join(f"{count} {words[verdict]}" for verdict, count in found if count) or "no cases"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models of all its agents, each once."""
        return tuple(dict.fromkeys(name for agent in self.agents for name in agent.models))


_VERDICTS: tuple[KeptVerdict, ...] = ("passed", "flaky", "failed", "error", "stopped")


RunChange: TypeAlias = Literal["worse", "flaky", "better", "new", "gone", "same"]
CHANGES: tuple[RunChange, ...] = get_args(RunChange)
_GRADES: dict[KeptVerdict, int] = {"passed": 2, "flaky": 1, "failed": 0, "error": 0, "stopped": 0}


class ComparedCase(Value):
    """A case in two runs; None where a run does not have it.

    `change` is `flaky` where only some of the later runs passed, and where the verdict changed though nothing else did.
    """

    eval_id: str
    change: RunChange
    before: KeptCase | None = None
    after: KeptCase | None = None

    @property
    def words(self) -> str:
        """What it was and what it is."""
        was, now = (None if each is None else _verdict_words(each) for each in (self.before, self.after))
        if was is None or now is None:
            return now or was or ""
        return now if was == now else f"{was}, now {now}"


class RunComparison(Value):
    """What differs between two runs.

    Attributes:
        changed: What of their circumstances differs, in words: `the set`, `the agent desk`, `google-adk 2.12.0 to 2.13.0`.
        cases: The cases, those that got worse first; in each group in the order of the later run.
    """

    changed: tuple[str, ...]
    cases: tuple[ComparedCase, ...]

    def count(self, change: RunChange) -> int:
        """Count the cases of a change."""
        return sum(case.change == change for case in self.cases)

    @property
    def counts(self) -> str:
        """How many cases changed in which way, in words."""
        return ", ".join(f"{self.count(change)} {change}" for change in CHANGES)

    @property
    def is_worse(self) -> bool:
        """Whether a case got worse, is flaky, or is new and does not pass."""
        return any(
            case.change in {"worse", "flaky"}
            or (case.change == "new" and case.after is not None and case.after.verdict != "passed")
            for case in self.cases
        )


def compare_runs(before: KeptRun, after: KeptRun) -> RunComparison:
    """Compare two runs. A case that was not chosen in one of them, or was stopped, is compared with nothing and left out."""
    changed = tuple(_changed(before, after))
    is_same = not changed and bool(after.set_sha256 and after.agents and after.adk)  # else nobody knows
    old, new = _comparable(before, after)
    found = [
        ComparedCase(
            eval_id=eval_id,
            change=_change(old.get(eval_id), new.get(eval_id), is_same=is_same),
            before=old.get(eval_id),
            after=new.get(eval_id),
        )
        for eval_id in dict.fromkeys((*new, *old))
    ]
    counted = (
        case
        for case in found
        if not (case.change == "new" and before.is_partial)
        and not (case.change == "gone" and after.is_partial)
    )
    return RunComparison(
        changed=changed, cases=tuple(sorted(counted, key=lambda case: CHANGES.index(case.change)))
    )


def _comparable(before: KeptRun, after: KeptRun) -> tuple[dict[str, KeptCase], dict[str, KeptCase]]:
    """Return the cases of both runs by their IDs, without those that were stopped in one of them."""
    stopped = {case.eval_id for run in (before, after) for case in run.cases if case.status == "stopped"}
    old, new = (
        {
            case.eval_id: case
            for case in run.cases
            if (case.runs or case.error) and case.eval_id not in stopped
        }
        for run in (before, after)
    )
    return old, new


def _change(before: KeptCase | None, after: KeptCase | None, *, is_same: bool) -> RunChange:
    if before is None or after is None:
        return "gone" if after is None else "new"
    if after.verdict == "flaky":
        return "flaky"
    was, now = _GRADES[before.verdict], _GRADES[after.verdict]
    if was == now:
        return "same"
    # A case that was flaky and passes now may have been lucky: nothing was done about it.
    return "flaky" if is_same else "better" if now > was else "worse"


def _changed(before: KeptRun, after: KeptRun) -> Iterator[str]:
    if before.engine != after.engine:
        yield f"{before.engine} to {after.engine}"
    if before.set_sha256 != after.set_sha256:
        yield "the set"
    if before.recording_sha256 != after.recording_sha256:
        yield "the recording"
    old, new = ({agent.app_name: agent for agent in run.agents} for run in (before, after))
    for name in dict.fromkeys((*new, *old)):
        if old.get(name) != new.get(name):
            yield f"the agent {name}"
    if before.adk != after.adk:
        yield f"google-adk {before.adk or 'unknown'} to {after.adk or 'unknown'}"
    if before.studio != after.studio:
        yield f"golden-trace-studio {before.studio or 'unknown'} to {after.studio or 'unknown'}"
    if before.criteria != after.criteria:
        yield "what is compared"
    was, now = _comparable(before, after)
    both = was.keys() & now.keys()
    if _players(was[eval_id] for eval_id in both) != _players(now[eval_id] for eval_id in both):
        yield "who answers for the models"


def _players(cases: Iterable[KeptCase]) -> set[str]:
    return {case.models for case in cases if case.models}


def _verdict_words(case: KeptCase) -> str:
    return f"{case.passed} of {case.runs} runs passed" if case.verdict == "flaky" else case.verdict


def changes_over_time(runs: Sequence[KeptRun]) -> list[RunComparison | None]:
    """Compare each run with the one before it of the same engine; None where there is none. The runs come oldest first."""
    last: dict[str, KeptRun] = {}
    found: list[RunComparison | None] = []
    for run in runs:
        found.append(compare_runs(last[run.engine], run) if run.engine in last else None)
        last[run.engine] = run
    return found


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
        cases=tuple(
            each.model_copy(
                update={f"{file.kind}_sha256": file.cases.get(each.eval_id, "") for file in measured.files}
            )
            for each in cases
        ),
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
        "studio": version_of("golden-trace-studio"),
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
