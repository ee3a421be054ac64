"""Writes the golden trace of a played session with its recorded environment: as a new case, or in the place of the one with its id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.editing.case_edits import ReplaceCase
from evalset.editing.case_parts import Case, EditError, field, put
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
    from simulator.environment.injection.rules import InjectionRule
    from simulator.runtime import Simulation


def write_golden_trace(
    simulation: Simulation,
    eval_set: Path | str | None = None,
    *,
    eval_id: str | None = None,
    replace: bool = False,
) -> WrittenCase:
    """Write the golden trace of a played session, and beside it what the world answered, so that it can be verified.

    Args:
        simulation: Its last turn has ended.
        eval_set: The eval-set file, created where it is not there; that of the agent's configuration by default.
        eval_id: The id of the case; the agent's name and the time by default, and where that is taken a number more.
        replace: Put it in the place of the case with this id, which keeps its notes, review, rubrics and tolerances.

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
        replace_case(writer.path, case, recorded_for(session, facts, config.root_agent))
        return WrittenCase(path=writer.path, eval_id=case.eval_id)
    if eval_id is None:
        case = case.model_copy(update={"eval_id": unique_eval_id(case.eval_id, writer.eval_ids())})
    written = writer.write_eval_case(case)
    record(written.path, written.eval_id, session, facts, config.root_agent)
    return written


def dropped_by_replacing(
    eval_set: Path | str, case: EvalCase, rules: Iterable[InjectionRule] = ()
) -> tuple[str, ...]:
    """Say what the case of this id loses if this one takes its place: turns, values of the final state, and rules of its recording.

    Nothing where it loses none, or cannot be read. `rules` are those of the session.
    """
    try:
        opened = open_set(eval_set)
        if all(row.eval_id != case.eval_id for row in opened.rows):
            return ()
        held = SetWork(opened, open_beside(opened.path)).held(case.eval_id)
    except (EvalSetError, EditError, ValidationError, OSError):
        return ()
    return (*_turns_dropped(held.case, case), *_state_dropped(held, case), *_rules_dropped(held, rules))


def _turns_dropped(before: Case, case: EvalCase) -> Iterator[str]:
    held, now = len(field(before, "conversation") or []), len(case.conversation or ())
    if held > now:
        last = f"turn {now + 1}" if held == now + 1 else f"turns {now + 1} to {held}"
        yield f"{last} will be removed: the case in the file has {held} turns, and the new one has {now}"


def _state_dropped(before: EditedCase, case: EvalCase) -> Iterator[str]:
    held = lasting(end_state(field(before.case, "final_session_state"), before.recorded) or {})
    if names := [repr(name) for name in held if name not in (case.final_session_state or {})]:
        yield f"{', '.join(names)} will be removed from the final state: the session did not set {'it' if len(names) == 1 else 'them'}"


def _rules_dropped(before: EditedCase, rules: Iterable[InjectionRule]) -> Iterator[str]:
    now = {rule.rule_id for rule in rules}
    held = before.recorded.rules if before.recorded is not None else ()
    if names := [repr(rule.rule_id) for rule in held if rule.rule_id not in now]:
        words = "rule" if len(names) == 1 else "rules"
        yield f"the {words} {', '.join(names)} will be removed from the recording: the session does not have {'it' if len(names) == 1 else 'them'}"


def is_there(eval_set: Path | str, case: EvalCase) -> Literal["", "same", "differs"]:
    """Say whether a set has a case of this id, and whether it would differ with this one in its place; empty where it has none, or cannot be read."""
    try:
        opened = open_set(eval_set)
        if case.eval_id not in opened.places:
            return ""
        held = opened.case(case.eval_id)
    except (EvalSetError, OSError):
        return ""
    return "same" if _replaced(held, json.loads(case_json(case))) == held else "differs"


def replace_case(eval_set: Path | str, case: EvalCase, recorded: RecordedCase) -> Saved:
    """Write a case in the place of the one with its id.

    What nobody plays stays: its place among the cases, its notes and review, its rubrics, those of a turn with the turn, the tolerances of its
    recording, and what only other programs know of it.

    Args:
        eval_set: The eval-set file.
        case: The new case.
        recorded: What the world answered in it.

    Raises:
        EvalSetError: The file or its recorded environment cannot be read or written, or has no such case.
    """
    opened = open_set(eval_set)
    beside = open_beside(opened.path)
    if beside.trouble:
        raise EvalSetError(opened.path, beside.trouble)
    work = SetWork(opened, beside)
    try:
        held = work.held(case.eval_id)
        kept = held.recorded.tolerances if held.recorded is not None else ()
        work.apply(
            ReplaceCase(
                case=case.eval_id,
                value=_replaced(held.case, json.loads(case_json(case))),
                recorded=recorded.model_copy(update={"tolerances": kept or recorded.tolerances}),
                words="Replace the case",
            )
        )
    except (EditError, ValidationError) as error:
        raise EvalSetError(opened.path, str(error)) from error
    saved = save(work)
    if saved.trouble:
        raise EvalSetError(opened.path, f"written, but its recorded environment was not: {saved.trouble}")
    return saved


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
