"""Replays a case as soon as it is written, against its own recording: no tool runs and no model is asked. No drawing here."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from app.live.background_jobs import Job, JobProgress, Report
from simulator.agent_config import SimulatedAgentConfig

if TYPE_CHECKING:
    from evalset.verify.results import CaseResult, CaseStatus, Verification


class ExportReplay(NamedTuple):
    """The replay of an exported case, and the tolerances that it got, in a line each: what the agent's own code makes anew in each run."""

    verification: Verification
    tolerances: tuple[str, ...] = ()


class LastRun(NamedTuple):
    """The last run of an exported case, on whichever page it was begun, or that was kept.

    Attributes:
        status: Its status.
        at: When that was known, in a sentence; empty where it was just written.
        case: All of its result; None of a kept run.
        why: Why it did not pass, in a line, where a kept run says so.
        changes: What has changed since, in words.
    """

    status: CaseStatus
    at: str
    case: CaseResult | None = None
    why: str = ""
    changes: tuple[str, ...] = ()


def replayed(eval_set: Path, eval_id: str, config: SimulatedAgentConfig) -> Job[ExportReplay]:
    """Begin to replay one case of a set; what varies by itself gets a tolerance first."""

    def work(report: Report, stop: Event) -> ExportReplay:
        from evalset.verify import VerifyError, replay_written, verify  # noqa: PLC0415 - importing ADK's evaluation takes a second

        report(JobProgress(words="Replaying the case with its recorded responses"))
        lines: tuple[str, ...] = ()
        with suppress(VerifyError):  # the verification says the same of the case
            lines = replay_written(eval_set, eval_id, agent=config, keep=True).lines
        found = verify(eval_set, agent=config, cases=[eval_id], models="recorded", stop=stop)
        return ExportReplay(found, lines)

    return Job(work, "replay-export")
