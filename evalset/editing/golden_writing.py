"""Writes the golden trace of a played session with its recorded environment: as a new case, or in the place of the one with its id.

A case that takes another one's place keeps its notes, review, rubrics and tolerances. What a person edited in the case of before is carried over: each
edit where what it changed is still the same. The digests in the recording tell what was edited, and what was there before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from google.adk.evaluation.eval_case import EvalCase
from pydantic import ValidationError

from evalset.editing.case_edits import Edit as CaseEdit
from evalset.editing.case_edits import NoteCase, RemoveCall, ReplaceCase, SetCall, SetResponse, SetValue
from evalset.editing.case_parts import CallSeen, Case, EditError, Where, at, calls_of, field, put, turns_of
from evalset.editing.followed_edits import unsure_answers
from evalset.editing.opened_set import open_set
from evalset.editing.set_saving import Saved, save
from evalset.editing.set_work import EditedCase, SetWork
from evalset.editing.sidecars import decision_words, has_changed_since, open_beside
from evalset.errors import EvalSetError
from evalset.files.case_text import case_json
from evalset.files.eval_names import unique_eval_id
from evalset.files.set_writer import EvalSetWriter, WrittenCase
from evalset.golden_trace.builder import GoldenTraceBuilder
from evalset.golden_trace.golden_steps import without_confirmations
from evalset.recorded.golden_digests import Edit, edits_since, golden_of, value_digest
from evalset.recorded.recorder import record, recorded_for
from evalset.recorded.recording import GoldenCall, GoldenTurn, RecordedCase, end_state
from simulator.base.adk_names import lasting
from simulator.base.json_paths import ABSENT
from simulator.base.validation_words import check_kind, near

if TYPE_CHECKING:
    from simulator.runtime import Simulation


_START: Where = ("session_input", "state")
_END: Where = ("final_session_state",)
_OF_CALLS = {"call", "order", "arguments", "response"}


class HandEdit(NamedTuple):
    """What was edited in a case since it was written.

    Attributes:
        words: What was done, as `the response of check in turn 1 was edited`.
        again: The edit of the case that takes its place; None where that has something else there, or nothing.
    """

    words: str
    again: CaseEdit | None


def hand_edits(key: str, held: EditedCase, now: EditedCase) -> tuple[HandEdit, ...]:
    """Return what was edited in a case since it was written and is not in the one that takes its place, in the order of the conversation.

    Nothing where its recording does not say what was there.

    Args:
        key: The key of the case in its set.
        held: The case as it is.
        now: The case that takes its place, with its recording.
    """
    if held.recorded is None or now.recorded is None:
        return ()
    case = without_confirmations(EvalCase.model_validate(held.case))
    golden = golden_of(case, held.recorded)
    edits, differs = edits_since(golden, held.recorded) or (), edits_since(golden, now.recorded)
    pair = _TakesPlace(key, held.case, held.recorded, now.case, now.recorded)
    found = [
        HandEdit(edit.words, pair.again(edit))
        for edit in edits
        if differs is None or not pair.has(edit, differs)
    ]
    turns = {edit.turn for edit in edits}
    return (*found, *pair.marked_right(), *pair.said_otherwise(turns))


def carried_over(edits: tuple[HandEdit, ...]) -> list[CaseEdit]:
    """Return what is carried over, so that no edit moves the place of one behind it."""
    again = [edit.again for edit in edits if edit.again is not None]
    removed = [edit for edit in again if isinstance(edit, RemoveCall)]
    return [*(edit for edit in again if not isinstance(edit, RemoveCall)), *reversed(removed)]


class _TakesPlace(NamedTuple):
    """A case that was edited, and the one that takes its place, each with its recording."""

    key: str
    case: Case
    recorded: RecordedCase
    new_case: Case
    new: RecordedCase

    def has(self, edit: Edit, differs: Sequence[Edit]) -> bool:
        """Return whether the new case has what was edited: `differs` says where the edited case is not like the new one."""
        if edit.part in {"start", "state"}:
            noted = self.new.golden_start if edit.part == "start" else self.new.golden_state
            return bool(noted) and all(each.part != edit.part for each in differs)
        if edit.part == "turns" or any(each.part == "turns" and each.turn <= edit.turn for each in differs):
            return False
        others = [each for each in differs if each.turn == edit.turn]
        if edit.part in {"arguments", "response"}:
            others = [each for each in others if each.tool in {"", edit.tool}]
        return not any(edit.part == each.part or {edit.part, each.part} <= _OF_CALLS for each in others)

    def again(self, edit: Edit) -> CaseEdit | None:
        """Return the edit for the new case; None where that does not have what was edited."""
        match edit.part:
            case "start":
                same = self.new.golden_start == self.recorded.golden_start
                return self._set(_START, _START) if same else None
            case "state":
                return self._set(_END, _END) if self.new.golden_state == self.recorded.golden_state else None
            case "turns" | "order":
                return None
            case "query" | "text":
                return self._reworded(edit)
            case "call" | "arguments" | "response":
                return self._called(edit)

    def _set(self, where: Where, new_where: Where) -> CaseEdit | None:
        value = at(self.case, where)
        return (
            None
            if value is ABSENT or value is None
            else SetValue(case=self.key, where=new_where, value=value)
        )

    def _reworded(self, edit: Edit) -> CaseEdit | None:
        number, _, now = self._turn(edit.turn)
        if now is None or (now.query if edit.part == "query" else now.text) != edit.then:
            return None
        name = "user_content" if edit.part == "query" else "final_response"
        return self._set(("conversation", edit.turn, name), ("conversation", number, name))

    def _called(self, edit: Edit) -> CaseEdit | None:
        number, then, now = self._turn(edit.turn)
        place = _place(then, edit.call, now)
        if place is None or then is None:
            return None
        seen = calls_of(self.new_case, number)[place]
        match edit.part:
            case "arguments":
                arguments = self._value(edit, "call")
                return SetCall(case=self.key, where=seen.call.where, name=edit.tool, arguments=arguments)
            case "response" if edit.now and edit.then:
                where = seen.answers[-1].where
                response, are_right = self._value(edit, "response"), self._is_sure(edit)
                return SetResponse(case=self.key, where=where, response=response, are_right=are_right)
            case "call" if then.calls[edit.call].tool == edit.tool:
                return RemoveCall(case=self.key, where=seen.call.where)
            case _:
                return None

    def _turn(self, place: int) -> tuple[int, GoldenTurn | None, GoldenTurn | None]:
        """Return which turn it was, its digests, and those of the same turn of the new case."""
        then = self.recorded.turns[place].golden
        number = place if then is None else then.number
        return number, then, self.new.turns[number].golden if number < len(self.new.turns) else None

    def _found(self, edit: Edit) -> CallSeen:
        """Return the call of the edited case that has what was put there."""
        calls = calls_of(self.case, edit.turn)
        return next(each for each in calls if edit.now in {_arguments(each), _response(each)})

    def _value(self, edit: Edit, kind: str) -> Any:
        seen = self._found(edit)
        if kind == "call":
            return field(seen.call.value, "args", {})
        return field(seen.answers[-1].value, "response", {})

    def _is_sure(self, edit: Edit) -> bool:
        unsure = unsure_answers(self.case, self.recorded, edit.turn)
        return not any(unsure.get(self._found(edit).answers[-1].where, ()))

    def marked_right(self) -> Iterator[HandEdit]:
        """Yield the responses that a person called right as they are, and of which the new case has places that nobody knows."""
        for turn in range(len(self.recorded.turns)):
            number, then, now = self._turn(turn)
            if then is None or now is None or len(turns_of(self.case)) != len(self.recorded.turns):
                continue
            known, unknown = (
                unsure_answers(self.case, self.recorded, turn),
                unsure_answers(self.new_case, self.new, number),
            )
            seen = [each for each in calls_of(self.case, turn) if each.answers]
            for place, call in enumerate(then.calls):
                new_place = _place(then, place, now)
                mine = next((each for each in seen if _response(each) == call.response), None)
                if new_place is None or mine is None or not call.response:
                    continue
                where = calls_of(self.new_case, number)[new_place].answers[-1].where
                if any(unknown.get(where, ())) and not any(known.get(mine.answers[-1].where, ((),))):
                    words = f"the response of {call.tool} in turn {turn + 1} was marked right"
                    response = field(mine.answers[-1].value, "response", {})
                    yield HandEdit(
                        words, SetResponse(case=self.key, where=where, response=response, are_right=True)
                    )

    def said_otherwise(self, known: set[int]) -> Iterator[HandEdit]:
        """Yield the turns in which only the words on the way were edited."""
        for number, turn in enumerate(self.recorded.turns):
            if number not in known and turn.original is not None and turn.original.models != turn.models:
                yield HandEdit(f"what the agent says in turn {number + 1} was edited", None)


def _place(then: GoldenTurn | None, call: int, now: GoldenTurn | None) -> int | None:
    """Return the place of a recorded call in the new turn, where it has the same response still."""
    if then is None or now is None or not 0 <= call < len(then.calls):
        return None
    wanted = then.calls[call]
    before = sum(_is_alike(each, wanted) for each in then.calls[:call])
    places = [place for place, each in enumerate(now.calls) if _is_alike(each, wanted)]
    place = places[before] if before < len(places) else None
    return place if place is not None and now.calls[place].response == wanted.response else None


def _is_alike(one: GoldenCall, other: GoldenCall) -> bool:
    return (one.tool, one.arguments) == (other.tool, other.arguments)


def _arguments(seen: CallSeen) -> str:
    return value_digest(field(seen.call.value, "args", {}))


def _response(seen: CallSeen) -> str:
    return value_digest(field(seen.answers[-1].value, "response", {})) if seen.answers else ""


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
    check_kind(simulation, "config", "a Simulation")
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
        """Say what goes: turns, values of the final state, rules of the recording, edits; and what becomes of the review."""
        edits = (edit for edit in self.edits if edit.again is None or not keep_edits)
        gone = (f"this edit will be removed: {edit.words} after the case was written" for edit in edits)
        return (
            *_turns_dropped(self.held.case, self.made.case),
            *_state_dropped(self.held, self.made.case),
            *_rules_dropped(self.held, self.made),
            *gone,
            *_review_dated(self.held, self.made.case),
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
    if key not in (ids := [row.eval_id for row in work.rows()]):
        raise EditError(f"has no case {key!r}; {near(key, ids)}")
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


def _review_dated(before: EditedCase, now: Case) -> Iterator[str]:
    if has_changed_since(before.review, now) and not has_changed_since(before.review, before.case):
        words = f'the review becomes "{decision_words(before.review)} before the last change"'
        yield f"{words}, and the note, rubrics and tolerances stay"


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
