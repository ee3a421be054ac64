"""The command `python -m evalset doctor`: examines eval data, fixes it, and migrates tools and arguments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from evalset.cli.command_frame import (
    ShellCommand,
    UsageError,
    file_option,
    flag,
    option,
    repeated,
    write_output,
)
from evalset.cli.terminal_output import BAD_INPUT, ProgressLine, output, plain
from evalset.doctor.model import (
    CODES,
    MIGRATION_OPTIONS,
    Changes,
    Examination,
    Finding,
    Migration,
    migration_of,
)
from simulator.base.validation_words import near

CLEAN, FINDINGS = 0, 1
EXIT_CODES = (
    "Exit codes: 0 no errors (with --strict: no errors or warnings); 1 errors remain, or a change could not be written; 2 "
    "bad input, or a file that cannot be read."
)


RENAMED = "There is no agent {old}, and only {new} declares the same tools. Use --rename-agent {old}={new} to rename it in the files"
"""How the new name of an agent is proposed."""


def _run(given: argparse.Namespace, _: ProgressLine) -> int:
    if given.codes:
        _write([f"{code:28} {kind.severity:8} {kind.about}" for code, kind in CODES.items()])
        return CLEAN
    if not given.paths:
        raise UsageError(f"no file or folder given: {given.prog} PATH...")
    if unknown := [code for code in given.only if code not in CODES]:
        raise UsageError(
            f"--only: unknown finding code {unknown[0]!r} (--codes lists all); {near(unknown[0], CODES)}"
        )
    migration = migration_in(given)
    from evalset.doctor import examine, mend, migrate, preview, preview_migration  # noqa: PLC0415 - ADK takes a second to import, and wrong words need none

    against: dict[str, Any] = {"agents_dir": given.agents_dir, "agent": given.agent}
    changes: list[Changes] = []
    if not migration.is_empty:
        move = preview_migration if given.dry_run else migrate
        changes.append(move(given.paths, migration, **against))
    if given.fix:
        way = preview if given.dry_run else mend
        codes = given.only or None
        changes.append(way(given.paths, **against, portable=given.portable, codes=codes))
    examination = examine(given.paths, **against, portable=given.portable)
    if given.csv is not None:
        from evalset.result_tables import table_csv  # noqa: PLC0415 - only here is it needed

        write_output("--csv", given.csv, table_csv(examination).encode(), "CSV")
    if given.json:
        output().write(json.dumps(_as_json(examination, changes), ensure_ascii=False, indent=2) + "\n")
    else:
        for change in changes:
            _write(_told_changes(change, dry=given.dry_run))
        _write(_told(examination, fixed=given.fix and not given.dry_run))
    return _code(examination, changes, strict=given.strict)


def _code(examination: Examination, changes: list[Changes], *, strict: bool) -> int:
    if examination.unreadable:
        return BAD_INPUT
    bad = examination.count("error") + (examination.count("warning") if strict else 0)
    return FINDINGS if bad or any(change.problems for change in changes) else CLEAN


_MIGRATION = "migration of eval sets together with their recorded environments"


def migration_in(given: argparse.Namespace) -> Migration:
    """Return the migration that arguments name.

    Raises:
        ValueError: Something in it is written in another way, or contradicts something else.
    """
    return migration_of({name: getattr(given, name[2:].replace("-", "_")) for name in MIGRATION_OPTIONS})


main = ShellCommand(
    prog="python -m evalset doctor",
    about="Find problems in eval sets (current and legacy format), test files and recorded environments, and fix them where possible.",
    codes=EXIT_CODES,
    options={
        "paths": file_option("a file, or a folder of files", "PATH", nargs="*"),
        "--agents-dir": file_option("check tool calls against the agents in this folder", "DIR"),
        "--agent": option(
            "check all files against this agent: one of --agents-dir, a demo agent, or an agent's folder (default: the agent that "
            "each case names, or the only one)",
            "NAME",
            default="",
        ),
        "--fix": flag("fix what can be fixed; the original is kept as <name>.<n>.bak"),
        "--dry-run": flag("show what --fix or a migration would change; write nothing"),
        "--only": repeated("fix only findings with this code", "CODE"),
        "--portable": flag("check that every ADK since 1.24 can read the files"),
        "--strict": flag("treat warnings as errors"),
        "--json": flag("write one JSON object"),
        "--csv": file_option("also write the findings to a CSV file"),
        "--codes": flag("list all finding codes"),
        **{
            name: repeated(meaning, words, group=_MIGRATION)
            for name, (words, meaning) in MIGRATION_OPTIONS.items()
        },
    },
    work=_run,
)


# ---------------------------------------------------------------- words


def _write(lines: Sequence[str]) -> None:
    output().writelines(f"{plain(line)}\n" for line in lines)


def _told_changes(changes: Changes, *, dry: bool) -> list[str]:
    lines: list[str] = []
    for change in changes.files:
        if change.problem:
            lines.append(f"{change.file}: not changed: {change.problem}")
            continue
        kept = f"; the original is kept in {change.copy_kept.name}" if change.copy_kept else ""
        lines.append(f"{change.file}: {'would be changed' if dry else 'changed'}{kept}")
        for finding in change.mended:
            done = (
                finding.meaning
                if finding.code == "migrated"
                else f"{finding.place}: {finding.remedy}".strip()
            )
            more = f" ({finding.count} places)" if finding.count > 1 else ""
            lost = f"; discarded (kept in the backup): {finding.loses}" if finding.loses else ""
            lines.append(f"  {finding.code}: {done}{more}{lost}")
        if dry:
            lines += [f"  {line}" for line in change.diff.splitlines()]
    if dry and not all(change.problem for change in changes.files):
        lines.append("Nothing was written. Leave out --dry-run to write these changes")
    return lines


def _told(examination: Examination, *, fixed: bool) -> list[str]:
    lines = [line for finding in examination.findings for line in _told_finding(finding)]
    lines += [f"not read: {words}" for words in examination.unreadable]
    lines += [f"skipped: {words}" for words in examination.skipped]
    lines += [f"renamed? {RENAMED.format(old=old, new=new)}" for old, new in examination.renamed.items()]
    counts = ", ".join(
        f"{count} {severity}{'s' if count != 1 else ''}"
        for severity in ("error", "warning", "note")
        if (count := examination.count(severity))
    )
    files = len(examination.files)
    found = f": {counts or 'no problems found'}" if counts or files else ""
    lines.append(f"{files} file{'s' if files != 1 else ''} checked{found}")
    if examination.mendable and not fixed:
        lines.append(f"{sum(each.count for each in examination.mendable)} can be fixed with --fix")
    return lines


def _told_finding(finding: Finding) -> list[str]:
    where = f"{finding.file}" + (f":{finding.line}:{finding.column}" if finding.line else "")
    more = f" (and {finding.count - 1} more)" if finding.count > 1 else ""
    lines = [f"{where}: {finding.severity} {finding.code}: {finding.meaning}{more}"]
    if finding.place:
        lines.append(f"    at {finding.place}")
    if finding.mendable:
        lost = f" (discards {finding.loses})" if finding.loses else ""
        lines.append(f"    --fix {finding.remedy}{lost}")
    elif finding.remedy:
        lines.append(f"    {finding.remedy}")
    return lines


def _as_json(examination: Examination, changes: list[Changes]) -> dict[str, Any]:
    return {
        **examination.model_dump(mode="json"),
        "changes": [
            change.model_dump(mode="json", exclude={"before", "after"}) | {"diff": change.diff}
            for each in changes
            for change in each.files
        ],
    }
