"""The command `python -m evalset doctor`: examines eval data, fixes it, and migrates tools and arguments."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from evalset.cli.output_files import write_output
from evalset.cli.progress_line import plain
from evalset.cli.terminal_output import output
from evalset.doctor.migration_options import MIGRATION_OPTIONS, migration_of
from evalset.doctor.model import (
    CODES,
    Changes,
    Examination,
    Finding,
    Migration,
)

CLEAN, FINDINGS, BAD_INPUT = 0, 1, 2
EXIT_CODES = (
    "Exit codes: 0 no errors (with --strict: no errors or warnings); 1 errors remain, or a change could not be written; 2 "
    "bad input, or a file that cannot be read."
)


RENAMED = "There is no agent {old}, and only {new} declares the same tools. Use --rename-agent {old}={new} to rename it in the files"
"""How the new name of an agent is proposed."""


class _UsageError(ValueError):
    """The command line says something that cannot be done."""


def main(
    argv: Sequence[str] | None = None,
    *,
    out: TextIO | None = None,
    prog: str = "python -m evalset doctor",
) -> int:
    """Run the command and return its exit code.

    Args:
        argv: The arguments behind `doctor`; those of the process by default.
        out: Where to write; the standard output by default.
        prog: What started it, for the help.
    """
    parser = _parser(prog)
    given = parser.parse_args(argv)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    stream = out or output()
    if given.codes:
        _write(stream, [f"{code:28} {kind.severity:8} {kind.about}" for code, kind in CODES.items()])
        return CLEAN
    # ADK takes a second to import: not for a word of help.
    from simulator.agents import AgentLoadError  # noqa: PLC0415 - as above

    try:
        return _run(given, stream, prog)
    except (_UsageError, AgentLoadError) as error:
        sys.stderr.write(f"{plain(str(error))}\n")
        return BAD_INPUT


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Find problems in eval sets (current and legacy format), test files and recorded environments, and fix them where possible.",
        epilog=EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", type=Path, help="a file, or a folder of files")
    parser.add_argument(
        "--agents-dir", type=Path, metavar="DIR", help="check tool calls against the agents in this folder"
    )
    parser.add_argument(
        "--agent",
        default="",
        metavar="NAME",
        help="check all files against this agent: one of --agents-dir, a demo agent, or an agent's folder (default: the agent that "
        "each case names, or the only one)",
    )
    parser.add_argument(
        "--fix", action="store_true", help="fix what can be fixed; the original is kept as <name>.<n>.bak"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what --fix or a migration would change; write nothing"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CODE",
        help="fix only findings with this code; repeatable",
    )
    parser.add_argument(
        "--portable", action="store_true", help="check that every ADK since 1.24 can read the files"
    )
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")
    parser.add_argument("--json", action="store_true", help="write one JSON object")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the findings to a CSV file")
    parser.add_argument("--codes", action="store_true", help="list all finding codes")
    _add_migration(parser)
    return parser


def _add_migration(parser: argparse.ArgumentParser) -> None:
    migration = parser.add_argument_group("migration of eval sets together with their recorded environments")
    for flag, (words, meaning) in MIGRATION_OPTIONS.items():
        migration.add_argument(
            flag, action="append", default=[], metavar=words, help=f"{meaning}; repeatable"
        )


def _run(given: argparse.Namespace, out: TextIO, prog: str) -> int:
    if not given.paths:
        raise _UsageError(f"no file or folder given: {prog} PATH...")
    if unknown := [code for code in given.only if code not in CODES]:
        raise _UsageError(f"--only: unknown finding code {unknown[0]!r}; --codes lists all codes")
    migration = _migration(given)
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
        _write_csv(given.csv, examination)
    if given.json:
        out.write(json.dumps(_as_json(examination, changes), ensure_ascii=False, indent=2) + "\n")
    else:
        for change in changes:
            _write(out, _told_changes(change, dry=given.dry_run))
        _write(out, _told(examination, fixed=given.fix and not given.dry_run))
    return _code(examination, changes, strict=given.strict)


def _write_csv(path: Path, examination: Examination) -> None:
    from evalset.result_tables import table_csv  # noqa: PLC0415 - only here is it needed

    try:
        write_output(path, table_csv(examination).encode(), "CSV")
    except OSError as error:
        raise _UsageError(f"--csv {path}: cannot be written: {error.strerror or error}") from error


def _code(examination: Examination, changes: list[Changes], *, strict: bool) -> int:
    if examination.unreadable:
        return BAD_INPUT
    bad = examination.count("error") + (examination.count("warning") if strict else 0)
    return FINDINGS if bad or any(change.problems for change in changes) else CLEAN


# ---------------------------------------------------------------- migrations


def _migration(given: argparse.Namespace) -> Migration:
    try:
        return migration_of({flag: getattr(given, flag[2:].replace("-", "_")) for flag in MIGRATION_OPTIONS})
    except ValueError as error:
        raise _UsageError(str(error)) from error


# ---------------------------------------------------------------- words


def _write(out: TextIO, lines: Sequence[str]) -> None:
    out.writelines(f"{plain(line)}\n" for line in lines)


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
