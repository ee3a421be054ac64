"""The command `golden-trace import`: takes cases from sessions, tests and other eval sets into an eval set."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evalset.cli.command_frame import QUIET, RESULT, ShellCommand, file_option, flag, repeated
from evalset.cli.terminal_output import BAD_INPUT, DONE, WORDS, ProgressLine, output, plain
from evalset.errors import EvalSetError
from evalset.files.eval_names import renames_from
from evalset.files.json_streams import SpoolError
from simulator.base.validation_words import near

if TYPE_CHECKING:
    from evalset.editing.sidecars import CaseReview
    from evalset.importing.gathered import Added, Gathered, Harvest

LEFT_OUT = 1
_SHOWN_EACH = 500
CODES = (
    "Exit codes: 0 done; 1 no case was found, or with --strict something could not be imported; 2 bad input, or a file "
    "that cannot be written; 130 interrupted. With any code but 0 nothing was written, unless the error says that the "
    "cases were."
)


def _carried_out(given: argparse.Namespace, progress: ProgressLine) -> int:
    given.rename_agent = renames_from(given.rename_agent)
    from evalset.editing.sidecars import brought_reviews  # noqa: PLC0415 - wrong words need no ADK
    from evalset.importing.gathered import Gathered, Harvest  # noqa: PLC0415 - as above
    from evalset.importing.import_files import session_input_in, take_path  # noqa: PLC0415 - it imports ADK

    def goes_on(found: int) -> bool:
        if found and found % _SHOWN_EACH == 0:
            progress.line(f"{found:,} cases found")
        return True

    with Gathered(given.case, given.rename_agent) as gathered:
        harvest = Harvest(gathered, goes_on)
        there = cache(lambda: _eval_ids(given.out))
        harvest.is_there = lambda eval_id: eval_id in there()
        if given.session_input is not None:
            harvest.session_input = session_input_in(given.session_input)
        reviews: dict[str, CaseReview] = {}
        for path in given.paths:
            before = len(harvest.eval_ids)
            take_path(path, harvest)
            brought = brought_reviews(path)
            harvest.problems += brought.problems
            reviews |= brought.of(harvest.eval_ids[before:], harvest.origins[before:], harvest.rewritten)
        return _added(given, progress, gathered, harvest, reviews)


def _eval_ids(eval_set: Path) -> frozenset[str]:
    """Return the ids of a set; none where it cannot be read, which is said when it is written."""
    from evalset.files.set_writer import EvalSetWriter  # noqa: PLC0415 - as above

    try:
        return frozenset(EvalSetWriter(eval_set, "").eval_ids())
    except EvalSetError:
        return frozenset()


def _added(
    given: argparse.Namespace,
    progress: ProgressLine,
    gathered: Gathered,
    harvest: Harvest,
    reviews: Mapping[str, CaseReview],
) -> int:
    from evalset.importing.gathered import Added, add_to_set, grouped  # noqa: PLC0415 - it imports ADK

    found = [*harvest.eval_ids, *harvest.skipped]
    unknown = sorted(set(given.case).difference(found))
    progress.clear()
    if unknown:
        progress.say(f"error: --case: no case {unknown[0]!r} was found; {near(unknown[0], found)}")
        return BAD_INPUT
    for problem in grouped(harvest.problems):
        progress.say(f"warning: {problem}")
    is_empty = not gathered and not harvest.skipped
    if is_empty or (given.strict and harvest.problems):
        progress.say(
            "no case was found"
            if is_empty
            else "nothing was written, because of the problems above (--strict)"
        )
        return LEFT_OUT
    added = Added(path=given.out, eval_ids=())
    if gathered:
        added = add_to_set(given.out, gathered, dry_run=given.dry_run)
    places = zip(gathered.cases(), added.eval_ids, strict=True)
    kept = {eval_id: reviews[case.eval_id] for case, eval_id in places if case.eval_id in reviews}
    _tell(given, gathered, harvest, added, kept)
    if kept and not given.dry_run and (trouble := _review_trouble(added.path, kept)):
        progress.say(f"error: the cases were written, but their reviews were not: {trouble}")
        return BAD_INPUT
    if added.trouble:
        progress.say(f"error: the cases were written, but their recorded responses were not: {added.trouble}")
        return BAD_INPUT
    return DONE


def _review_trouble(eval_set: Path, reviews: Mapping[str, CaseReview]) -> str:
    """Add the reviews of new cases; return why that failed, empty where it did not."""
    from evalset.editing.sidecars import ReviewFileError, add_reviews  # noqa: PLC0415 - as above

    try:
        add_reviews(eval_set, reviews)
    except (ReviewFileError, OSError) as error:
        return str(error)
    return ""


def _tell(
    given: argparse.Namespace,
    gathered: Gathered,
    harvest: Harvest,
    added: Added,
    reviews: Mapping[str, CaseReview],
) -> None:
    from evalset.files.eval_names import reviews_path  # noqa: PLC0415 - as above

    if given.json:
        result = {
            "path": str(added.path),
            "environment": str(added.environment) if added.environment else None,
            "reviews": str(reviews_path(added.path)) if reviews else None,
            "eval_ids": list(added.eval_ids),
            "skipped": list(harvest.skipped),
            "problems": list(harvest.problems),
            "written": bool(added.eval_ids) and not given.dry_run,
        }
        output().write(json.dumps(result, ensure_ascii=False) + "\n")
        return
    verb = "would be added" if given.dry_run else "added"
    count = len(added.eval_ids)
    before = {eval_id: origin for eval_id, (_, origin) in zip(harvest.eval_ids, harvest.origins, strict=True)}
    places = list(zip(gathered.cases(), added.eval_ids, strict=True))
    changed = sum(before[case.eval_id] != eval_id for case, eval_id in places)
    told = f", {changed:,} renamed" if changed else ""
    told += f", {len(harvest.skipped):,} skipped because the set already has them" if harvest.skipped else ""
    output().write(plain(f"{added.path}: {count:,} case{'' if count == 1 else 's'} {verb}{told}") + "\n")
    for case, eval_id in places:
        known = ", recorded" if case.recorded else ""
        known += f", {case.untold} of its responses unknown" if case.untold else ""
        known += ", reviewed" if eval_id in reviews else ""
        was = before[case.eval_id]
        renamed = f" (was {was or repr(was)})" if was != eval_id else ""
        turns = f"{case.turns} turn{'' if case.turns == 1 else 's'}"
        output().write(plain(f"  {eval_id}{renamed}: {turns}{known}") + "\n")


main = ShellCommand(
    prog="golden-trace import",
    about="Import cases into an eval set, with all tool responses that are known. Sources: eval sets (current and legacy "
    "format), evaluation datasets and traces of `agents-cli eval`, *.test.json, ADK's scenario files, ADK sessions (JSON, or the database of `adk web`), tests of `adk test`, and sessions of the "
    "studio.",
    codes=CODES,
    options={
        "paths": file_option("a file, or a folder of files", "PATH", nargs="+"),
        "--out": file_option(
            "the eval set to add the cases to; created if it does not exist", "SET", required=True
        ),
        "--case": repeated("import only this case", "ID"),
        "--rename-agent": repeated("the new name of an agent, or of its app, that was renamed", "OLD=NEW"),
        "--session-input": file_option(
            "for scenarios: the app, the user and the initial state, as JSON in the form of ADK's `SessionInput`"
        ),
        "--dry-run": flag("show what would be imported, and write nothing"),
        "--strict": flag("if something cannot be imported, write nothing and exit with 1"),
        **QUIET,
        **RESULT,
    },
    work=_carried_out,
    told=(ValueError, OSError, SpoolError),
    interrupted=WORDS,
)
