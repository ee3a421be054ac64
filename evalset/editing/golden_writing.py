"""Writes the golden trace of a played session with its recorded environment: as a new case, or in the place of the one with its id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.editing.case_edits import NoteCase, ReplaceCase
from evalset.editing.case_parts import Case, EditError, field, put, turns_of
from evalset.editing.hand_edits import HandEdit, carried_over, hand_edits
from evalset.editing.opened_set import open_set
from evalset.editing.recording_beside import open_beside
from evalset.editing.set_saving import Saved, save
from evalset.editing.set_work import EditedCase, SetWork
from evalset.errors import EvalSetError
from evalset.files.case_text import case_json
from evalset.files.eval_names import unique_eval_id
from evalset.files.set_writer import EvalSetWriter, WrittenCase
from evalset.golden_trace.builder import GoldenTraceBuilder
from evalset.recorded.recording import RecordedCase, end_state
from evalset.recorded.recording_export import record, recorded_for
from simulator.base.json_differences import ABSENT
from simulator.base.state_scopes import lasting

if TYPE_CHECKING:
    from simulator.runtime import Simulation


def write_golden_trace(
    simulation: Simulation,
    eval_set: Path | str | None = None,
    *,
    eval_id: str | None = None,
    replace: bool = False,
    keep_edits: bool = True,
) -> WrittenCase:
    """Write the golden trace of a played session, and beside it what the world answered, so that it can be verified.

    Args:
        simulation: Its last turn has ended.
        eval_set: The eval-set file, created where it is not there; that of the agent's configuration by default.
        eval_id: The id of the case; the agent's name and the time by default, and where that is taken a number more.
        replace: Put it in the place of the case with this id, which keeps its notes, review, rubrics and tolerances.
        keep_edits: What was edited in that case since it was written is edited in this one, too, where it has the same there.

    Raises:
        TypeError: A case is to be replaced, and no id is given.
        GoldenTraceError: The session is no case, for example because its last turn has no final response.
        CaseTakenError: The eval set has a case with this id, and it was not to be replaced.
        EvalSetError: What stands there is no eval set, or there is no case to replace.
        RecordedEnvironmentError: What stands beside it is no recorded environment. The case is written.
    """
    if replace and eval_id is None:
        raise TypeError("write_golden_trace(replace=True) needs eval_id, the id of the case to replace")
    session, config = simulation.session, simulation.config
    writer = EvalSetWriter(eval_set or config.resolve_eval_set_path(), config.name)
    case = GoldenTraceBuilder(session, eval_id=eval_id, confirmations="beside").build()
    facts = [fact for _, fact in simulation.journal.path()]
    if replace:
        recorded = recorded_for(session, facts, config.root_agent)
        replace_case(writer.path, case, recorded, keep_edits=keep_edits)
        return WrittenCase(path=writer.path, eval_id=case.eval_id)
    if eval_id is None:
        case = case.model_copy(update={"eval_id": unique_eval_id(case.eval_id, writer.eval_ids())})
    written = writer.write_eval_case(case)
    record(written.path, written.eval_id, session, facts, config.root_agent)
    return written


class Replacing(NamedTuple):
    """What becomes of a case of a set if another one takes its place.

    Attributes:
        held: The case of the set.
        made: The case that stands there then.
        edits: What was edited in the case of the set since it was written; those that have no edit to carry over go.
    """

    held: EditedCase
    made: EditedCase
    edits: tuple[HandEdit, ...]

    @property
    def is_same(self) -> bool:
        """Whether the case stays as it is."""
        return self.held.case == self.made.case

    def dropped(self, *, keep_edits: bool = True) -> tuple[str, ...]:
        """Say what goes: turns, values of the final state, rules of the recording, edits."""
        edits = (edit for edit in self.edits if edit.again is None or not keep_edits)
        gone = (f"{edit.words} after the case was written, and the edit will be removed" for edit in edits)
        return (
            *_turns_dropped(self.held.case, self.made.case),
            *_state_dropped(self.held, self.made.case),
            *_rules_dropped(self.held, self.made),
            *gone,
        )


def replacing(
    eval_set: Path | str, case: EvalCase, recorded: RecordedCase | None, *, keep_edits: bool = True
) -> Replacing | None:
    """Return what becomes of the case of this id if this one takes its place; None where there is none, or it cannot be read."""
    try:
        opened = open_set(eval_set)
        if case.eval_id not in opened.places:
            return None
        work = SetWork(opened, open_beside(opened.path))
        return _replace(work, case, recorded, keep_edits=keep_edits)
    except (EvalSetError, EditError, ValidationError, OSError):
        return None


def _replace(work: SetWork, case: EvalCase, recorded: RecordedCase | None, *, keep_edits: bool) -> Replacing:
    """Put a case in the place of the one with its id, with what was edited in that one."""
    key = case.eval_id
    held = work.held(key)
    kept = held.recorded.tolerances if held.recorded is not None else ()
    if recorded is not None:
        recorded = recorded.model_copy(update={"tolerances": kept or recorded.tolerances})
    value = _replaced(held.case, json.loads(case_json(case)))
    work.apply(ReplaceCase(case=key, value=value, recorded=recorded, words="Replace the case"))
    edits = hand_edits(key, held, work.held(key))
    for edit in carried_over(edits) if keep_edits else ():
        work.apply(edit)
    return Replacing(held, work.held(key), edits)


def _turns_dropped(before: Case, now: Case) -> Iterator[str]:
    held, left = (len(turns_of(case)) for case in (before, now))
    if held > left:
        last = f"turn {left + 1}" if held == left + 1 else f"turns {left + 1} to {held}"
        yield f"{last} will be removed: the case in the file has {held} turns, and the new one has {left}"


def _state_dropped(before: EditedCase, now: Case) -> Iterator[str]:
    held = lasting(end_state(field(before.case, "final_session_state"), before.recorded) or {})
    state = field(now, "final_session_state") or {}
    if names := [repr(name) for name in held if name not in state]:
        yield f"{', '.join(names)} will be removed from the final state: the session did not set {'it' if len(names) == 1 else 'them'}"


def _rules_dropped(before: EditedCase, now: EditedCase) -> Iterator[str]:
    held, made = (
        {rule.rule_id: rule for rule in each.recorded.rules} if each.recorded else {}
        for each in (before, now)
    )
    if names := [repr(name) for name in held if name not in made]:
        words = "rule" if len(names) == 1 else "rules"
        yield f"the {words} {', '.join(names)} will be removed from the recording: the session does not have {'it' if len(names) == 1 else 'them'}"


def replace_case(
    eval_set: Path | str, case: EvalCase, recorded: RecordedCase, *, keep_edits: bool = True
) -> Saved:
    """Write a case in the place of the one with its id.

    What nobody plays stays: its place among the cases, its notes and review, its rubrics, those of a turn with the turn, the tolerances of its
    recording, and what only other programs know of it.

    Args:
        eval_set: The eval-set file.
        case: The new case.
        recorded: What the world answered in it.
        keep_edits: What was edited in the case of before since it was written is edited in the new one, too, where it has the same there.

    Raises:
        EvalSetError: The file or its recorded environment cannot be read or written, or has no such case.
    """
    opened = open_set(eval_set)
    beside = open_beside(opened.path)
    if beside.trouble:
        raise EvalSetError(opened.path, beside.trouble)
    work = SetWork(opened, beside)
    try:
        _replace(work, case, recorded, keep_edits=keep_edits)
    except (EditError, ValidationError) as error:
        raise EvalSetError(opened.path, str(error)) from error
    saved = save(work)
    if saved.trouble:
        raise EvalSetError(opened.path, f"written, but its recorded environment was not: {saved.trouble}")
    return saved


def note_case(eval_set: Path, eval_id: str, text: str) -> None:
    """Note something of a case of a set, next to the set; its tags stay.

    Raises:
        EvalSetError: The file or its recorded environment cannot be read or written.
    """
    opened = open_set(eval_set)
    work = SetWork(opened, open_beside(opened.path))
    work.apply(NoteCase(case=eval_id, text=text, tags=work.note(eval_id).tags))
    if trouble := save(work).trouble:
        raise EvalSetError(opened.path, f"written, but its note was not: {trouble}")


def _replaced(before: Case, now: Case) -> Case:
    made = put(before, ("conversation_scenario",), ABSENT)  # a case has either of the two
    for name, value in now.items():
        made = put(made, (name,), value)
    for number, turn in enumerate(
        (field(before, "conversation") or [])[: len(now.get("conversation") or [])]
    ):
        if rubrics := field(turn, "rubrics"):
            made = put(made, ("conversation", number, "rubrics"), rubrics)
    return made
