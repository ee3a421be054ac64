"""What the doctor's tab asks of the doctor: examinations, previews, fixes, and migrations read from lines as on the command line; no drawing here."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from app.live.agent_catalogue import catalogue
from app.live.background_jobs import Job, JobProgress, Report
from evalset.doctor import examine, known_agent, mend, migrate, preview, preview_migration
from evalset.doctor.model import MIGRATION_OPTIONS, Migration, migration_of
from evalset.recorded.recording_files import sidecar_of
from simulator.base.frozen_value import Value

if TYPE_CHECKING:
    from evalset.doctor import Changes, Examination, ExamineProgress, Finding, KnownAgent


EXAMPLE = """--rename-agent clerk=order_desk
--rename-tool get_order=find_order
--rename-argument find_refund.id=refund_id
--drop-argument find_refund.verbose
--set-argument 'find_refund.currency="EUR"'"""
"""One line of each kind, as `golden-trace doctor` takes it; a tool is called as the files call it, before it is renamed."""


class MigrationLineError(ValueError):
    """A line says nothing that can be done; the text names it."""


def migration_from(text: str) -> Migration:
    """Read a migration: options of `golden-trace doctor`, quoted as in a shell. Empty lines and lines that begin with # say nothing.

    Raises:
        MigrationLineError: A line cannot be read, or contradicts another one.
    """
    found: dict[str, list[str]] = {flag: [] for flag in MIGRATION_OPTIONS}
    migration = Migration()
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        try:
            for flag, words in _options(line):
                found[flag].append(words)
            migration = migration_of(found)
        except ValueError as error:
            raise MigrationLineError(f"line {number}: {error}") from error
    return migration


def _options(line: str) -> list[tuple[str, str]]:
    """Return the options of a line, each with what follows it."""
    words = [
        each
        for word in shlex.split(line)
        for each in (word.split("=", 1) if word.partition("=")[0] in MIGRATION_OPTIONS else [word])
    ]
    flags, values = words[::2], words[1::2]
    if len(flags) != len(values) or not set(flags) <= set(MIGRATION_OPTIONS):
        raise ValueError(f"unknown change; write one of: {'; '.join(EXAMPLE.splitlines())}")
    return list(zip(flags, values, strict=True))


EXAMINED = "examined"
CHANGES = "changes"
"""The names of the works at a workspace: what was found, and what would be changed or was."""

SEVERITIES = ("error", "warning", "note")
MARKS = {"error": "✗ error", "warning": "! warning", "note": "note"}


class Ward(Value):
    """What is examined, and how: the files, the agent that calls are checked against (empty for none), and for which ADKs."""

    paths: tuple[Path, ...]
    agent: str = ""
    portable: bool = False


class ChangedSinceError(ValueError):
    """A file is not any more what was shown; nothing was written."""


MOST_AT_ONCE = 8_000_000
"""Files of more bytes together take seconds: they are examined when somebody wants it, not as soon as they are looked at."""


def is_quick(ward: Ward) -> bool:
    """Return whether files are examined in a moment; of a folder nobody knows."""
    return all(path.is_file() for path in ward.paths) and (
        sum(path.stat().st_size for path in ward.paths) <= MOST_AT_ONCE
    )


def ward_of(eval_set: Path, agent: str, *, portable: bool, whole_folder: bool) -> Ward:
    """Say what is examined for an eval set: it and what is recorded beside it, or all that lies in its folder."""
    sidecar = sidecar_of(eval_set)
    beside = (sidecar,) if sidecar.is_file() else ()
    paths = (eval_set.parent,) if whole_folder else (eval_set, *beside)
    return Ward(paths=paths, agent=agent, portable=portable)


def examined(ward: Ward) -> Job[Examination]:
    """Begin an examination."""

    def work(report: Report, stop: Event) -> Examination:
        report(JobProgress(words="Loading the agent" if ward.agent else "Examining"))
        agents = _agents(ward)
        return examine(
            ward.paths,
            agents=agents,
            portable=ward.portable,
            on_progress=lambda now: report(_progress(now)),
            stop=stop,
        )

    return Job(work, "examine", may_be_left=True)


def _progress(now: ExamineProgress) -> JobProgress:
    if not now.total:
        return JobProgress(words=f"Reading {now.file.name}")
    words = f"{now.file.name}: {now.done:,} of {now.total:,} cases"
    return JobProgress(done=now.done, total=now.total, words=words)


def previewed(ward: Ward, what: Sequence[str] | Migration) -> Job[Changes]:
    """Begin to look what a fix of these codes, or a migration, would change."""

    def work(report: Report, _: Event) -> Changes:
        report(JobProgress(words="Checking what would change"))
        agents = _agents(ward)
        if isinstance(what, Sequence):
            return preview(ward.paths, agents=agents, portable=ward.portable, codes=what)
        return preview_migration(ward.paths, what, agents=agents)

    return Job(work, "preview-fix", may_be_left=True)


def written(
    ward: Ward,
    what: Sequence[str] | Migration,
    shown: Changes,
    done: Callable[[], None],
    put: Callable[[Callable[[], Changes]], Changes],
) -> Job[Changes]:
    """Begin to fix or to migrate, as it was shown; a file that is another one by now is left alone, and so are all others.

    Args:
        ward: As for `previewed`.
        what: As for `previewed`.
        shown: What was shown.
        done: Called when it is over.
        put: Calls what writes the files.
    """

    def work(report: Report, _: Event) -> Changes:
        report(JobProgress(words="Writing"))
        try:
            for change in shown.files:
                if not change.problem and change.file.read_bytes() != change.before:
                    raise ChangedSinceError(
                        f"{change.file} changed after the preview. Preview the changes again."
                    )
            agents = _agents(ward)
            if isinstance(what, Sequence):
                return put(lambda: mend(ward.paths, agents=agents, portable=ward.portable, codes=what))
            return put(lambda: migrate(ward.paths, what, agents=agents))
        finally:
            done()

    return Job(work, "fix")


def _agents(ward: Ward) -> Mapping[str, KnownAgent] | None:
    """Load the agent that calls are checked against.

    Raises:
        ValueError: It cannot be loaded.
    """
    if not ward.agent:
        return None
    config = catalogue().config_of_now(ward.agent)
    return {config.app_name: known_agent(config)}


def alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return the findings in groups that say the same, in the order of the first of each."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.severity, finding.meaning, remedy(finding)), []).append(finding)
    return [*found.values()]


def places(findings: Sequence[Finding]) -> str:
    """Write where findings are, a line for each; the last line says for how many more places it stands."""
    return "\n".join(
        ": ".join(filter(None, (each.eval_id, f"{each.file.name} {_place(each)}".strip(), _more(each))))
        for each in findings
    )


def _more(finding: Finding) -> str:
    return f"and {finding.count - 1} more places" if finding.count > 1 else ""


def sentences(findings: Sequence[Finding]) -> str:
    """Write findings as lines that say all of each."""
    return "\n".join(sentence(each, f"{each.file.name} {_place(each)}") for each in findings)


def sentence(finding: Finding, place: str) -> str:
    """Write all of a finding as a line; `place` is how its place is named."""
    return f"{MARKS[finding.severity]} {place}: {_meaning(finding)} {remedy(finding)}".strip()


def _meaning(finding: Finding) -> str:
    """Return what is wrong, after the number of places: a cell of a table cuts off its end."""
    return f"{finding.count} places: {finding.meaning}" if finding.count > 1 else finding.meaning


def remedy(finding: Finding) -> str:
    """Return what can be done about a finding."""
    return f"Can be fixed: {finding.remedy}" if finding.mendable else finding.remedy


def _place(finding: Finding) -> str:
    line = f"line {finding.line}" if finding.line else ""
    return ", ".join(part for part in (finding.place, line) if part)


def fitting(findings: Sequence[Finding], severity: str, text: str) -> list[Finding]:
    """Return the findings of a severity, "all" for any, that hold a text, the worst first."""
    wanted = text.strip().lower()
    found = [
        finding
        for finding in findings
        if severity in {"all", finding.severity}
        and wanted
        in f"{finding.meaning} {finding.place} {finding.eval_id} {finding.code} {finding.file.name}".lower()
    ]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
