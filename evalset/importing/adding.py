"""Adds imported cases to an eval set in one step, with what is recorded of them beside it."""

from __future__ import annotations

from pathlib import Path

from evalset.importing.gathered import Gathered
from evalset.names import FreeIds
from evalset.recorded.files import RecordedEnvironmentError, sidecar_of
from evalset.recorded.stored import put_texts
from evalset.spool import SpoolError
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


def add_to_set(path: Path, gathered: Gathered, *, dry_run: bool = False) -> Added:
    """Add cases to an eval set, which is created if need be. An id that is taken there becomes another.

    Args:
        path: The eval set.
        gathered: The cases, at least one, with what is recorded of them.
        dry_run: Say what would be added, and write nothing.

    Raises:
        EvalSetError: The file is broken or no eval set, or the disk refused; it is as it was.
        SpoolError: What is gathered cannot be read any more; the eval set is as it was.
    """
    writer = EvalSetWriter(path, gathered.app_name() or path.name.partition(".")[0] or "imported")
    free = FreeIds(writer.eval_ids())
    eval_ids = tuple(free.take(case.eval_id) for case in gathered.cases())
    recorded = {
        eval_id: case.recorded
        for eval_id, case in zip(eval_ids, gathered.cases(), strict=True)
        if case.recorded
    }
    environment = sidecar_of(writer.path) if recorded else None
    added = Added(path=writer.path, eval_ids=eval_ids, environment=environment)
    if dry_run:
        return added
    writer.write_objects(eval_ids, lambda: gathered.objects(eval_ids))
    try:
        if environment:
            put_texts(environment, recorded, gathered.version, gathered.recordings)
    except (RecordedEnvironmentError, OSError, SpoolError) as error:
        return added.model_copy(update={"trouble": str(error)})
    return added
