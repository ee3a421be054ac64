"""Adds imported cases to an eval set in one step, with what is recorded of them beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from google.adk.evaluation.eval_case import EvalCase

from evalset.importing.found import FoundCase, Harvest, Imported
from evalset.names import unique_eval_id
from evalset.recorded.files import RecordedEnvironmentError, put_cases, sidecar_of
from evalset.recorded.goldens import with_golden
from evalset.recorded.model import RecordedCase
from evalset.renaming import renamed_case, renamed_recording
from evalset.writer import EvalSetWriter
from simulator.facts import Value


class Added(Value):
    """What was added to an eval set.

    Attributes:
        path: The eval set.
        eval_ids: The ids of the cases in it, in the order of the import.
        environment: The recorded environment, where something is recorded of the cases.
        trouble: Why that was not written; the eval set was.
    """

    path: Path
    eval_ids: tuple[str, ...]
    environment: Path | None = None
    trouble: str = ""


def taken_together(imports: Sequence[Imported]) -> Imported:
    """Return several imports as one, in which each case has an id of its own."""
    if len(imports) == 1:
        return imports[0]
    harvest = Harvest()
    for number, each in enumerate(imports, start=1):
        found = [FoundCase(case, each.environments.get(case.eval_id)) for case in each.cases]
        harvest.take(f"import {number}", found)
    joined = harvest.imported()
    before = (problem for each in imports for problem in each.problems)
    return joined._replace(problems=(*before, *joined.problems))


def with_renamed_agents(imported: Imported, names: Mapping[str, str]) -> Imported:
    """Return the import with the new names of renamed agents, by their old ones."""
    if not names:
        return imported
    cases = tuple(renamed_case(case, names) for case in imported.cases)
    by_id = {case.eval_id: case for case in cases}
    recorded = {
        eval_id: with_golden(renamed_recording(each, names), by_id[eval_id])
        for eval_id, each in imported.environments.items()
        if eval_id in by_id
    }
    return imported._replace(cases=cases, environments=recorded)


def chosen_of(imported: Imported, wanted: Collection[str]) -> tuple[Imported, list[str]]:
    """Return the import with the wanted cases alone (all where none is named), and the wanted ids that are not there."""
    known = {case.eval_id for case in imported.cases}
    cases = tuple(case for case in imported.cases if not wanted or case.eval_id in wanted)
    return imported._replace(cases=cases), sorted(set(wanted) - known)


def add_to_set(path: Path, imported: Imported, *, dry_run: bool = False) -> Added:
    """Add cases to an eval set, which is created if need be. An id that is taken there becomes another.

    Args:
        path: The eval set.
        imported: The cases, with what is recorded of them.
        dry_run: Say what would be added, and write nothing.

    Raises:
        EvalSetError: The file is broken or no eval set, or the disk refused; it is as it was.
    """
    writer = EvalSetWriter(path, _name_of(imported.cases, path))
    ids = _free_ids(imported.cases, writer.eval_ids())
    recorded = _recorded(imported, ids)
    environment = sidecar_of(writer.path) if recorded else None
    added = Added(path=writer.path, eval_ids=ids, environment=environment)
    if dry_run:
        return added
    pairs = zip(imported.cases, ids, strict=True)
    writer.write_eval_cases([case.model_copy(update={"eval_id": eval_id}) for case, eval_id in pairs])
    try:
        if environment:
            put_cases(environment, recorded)
    except (RecordedEnvironmentError, OSError) as error:
        return added.model_copy(update={"trouble": str(error)})
    return added


def _free_ids(cases: Iterable[EvalCase], taken: Collection[str]) -> tuple[str, ...]:
    used, found = set(taken), list[str]()
    for case in cases:
        free = unique_eval_id(case.eval_id, used)
        used.add(free)
        found.append(free)
    return tuple(found)


def _recorded(imported: Imported, ids: Sequence[str]) -> dict[str, RecordedCase]:
    known = imported.environments
    pairs = zip(imported.cases, ids, strict=True)
    return {eval_id: known[case.eval_id] for case, eval_id in pairs if case.eval_id in known}


def _name_of(cases: Sequence[EvalCase], path: Path) -> str:
    """Return the name that a new set gets its id from: the app's that its cases name, or the file's."""
    apps = (case.session_input.app_name for case in cases if case.session_input)
    return next(filter(None, apps), "") or path.name.partition(".")[0] or "imported"
