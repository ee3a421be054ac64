"""Brings edits onto a set that somebody else has written meanwhile, case by case. Pure but for what the sets hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from evalset.editing.beside import Beside
from evalset.editing.edits import DeleteCase, InsertCase, NoteCase, RenameCase, SetValue
from evalset.editing.opened import OpenedSet
from evalset.editing.places import Case, field, is_same, put
from evalset.editing.saving import touched_keys
from evalset.editing.work import NO_NOTE, Held, SetWork
from evalset.names import unique_eval_id


class Conflict(NamedTuple):
    """A case that both sides changed: its key in the work, its eval id, and how each side has it (None where it is gone)."""

    key: str
    eval_id: str
    mine: Case | None
    theirs: Case | None


def conflicts(work: SetWork, theirs: OpenedSet) -> tuple[Conflict, ...]:
    """Give the cases that were edited here and are not in `theirs` as they were when they were opened or saved last."""
    found: list[Conflict] = []
    for key in touched_keys(work, work.state):
        if key not in work.saved.order:
            continue
        then = work.held(key, work.saved).case
        eval_id = str(field(then, "eval_id", ""))
        other = theirs.case(eval_id) if eval_id in theirs.places else None
        mine = work.held(key).case if key in work.state.order else None
        if mine is None and other is None:
            continue
        if other is None or not is_same(other, then):
            found.append(Conflict(key, eval_id, mine, other))
    return tuple(found)


def merged(work: SetWork, theirs: OpenedSet, beside: Beside, keep_mine: Collection[str]) -> SetWork:
    """Give a work on `theirs` with the edits of `work`, a step for each case.

    Args:
        work: The edits, and the set that they were made on.
        theirs: The set as it is on the disk now.
        beside: What lies beside it now.
        keep_mine: The keys of those cases in conflict that shall be as they are in `work`; of the others the edits are
            dropped.
    """
    both = {conflict.key for conflict in conflicts(work, theirs)}
    made = SetWork(theirs, beside)
    for key in touched_keys(work, work.state):
        if key in both and key not in keep_mine:
            continue
        was_there = key in work.saved.order
        eval_id = str(field(work.held(key, work.saved if was_there else work.state).case, "eval_id", ""))
        if key not in work.state.order:
            if eval_id in theirs.places:
                made.apply(DeleteCase(case=eval_id))
        elif was_there and eval_id in theirs.places:
            _put(made, eval_id, work.held(key))
        else:
            _insert(made, work.held(key))
    return made


def _put(made: SetWork, key: str, held: Held) -> None:
    """Put a case in the place of another one, with what belongs to it."""
    wanted = str(field(held.case, "eval_id", ""))
    taken = {row.eval_id for row in made.rows() if row.key != key}
    made.apply(SetValue(case=key, value=put(held.case, ("eval_id",), key)))
    if wanted != key:
        made.apply(RenameCase(case=key, eval_id=unique_eval_id(wanted, taken)))
    if held.note != made.note(key):
        made.apply(NoteCase(case=key, text=held.note.text, tags=held.note.tags))


def _insert(made: SetWork, held: Held) -> None:
    taken = {row.eval_id for row in made.rows()}
    eval_id = unique_eval_id(str(field(held.case, "eval_id", "")), taken)
    made.apply(InsertCase(value=put(held.case, ("eval_id",), eval_id), recorded=held.recorded))
    if held.note != NO_NOTE:
        made.apply(NoteCase(case=made.state.order[-1], text=held.note.text, tags=held.note.tags))
