"""Carries what a person edited in a case over to the case that takes its place: each edit where what it changed is still the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import EvalCase

from evalset.editing.case_edits import Edit as CaseEdit
from evalset.editing.case_edits import RemoveCall, SetCall, SetResponse, SetValue
from evalset.editing.case_parts import CallSeen, Case, Where, at, calls_of, field, turns_of
from evalset.editing.recording_edits import unsure_answers
from evalset.editing.set_work import EditedCase
from evalset.golden_trace.confirmations import without_confirmations
from evalset.recorded.edits_since import Edit, edits_since, golden_of
from evalset.recorded.golden_digests import value_digest
from evalset.recorded.recording import GoldenCall, GoldenTurn, RecordedCase
from simulator.base.json_differences import ABSENT

_START: Where = ("session_input", "state")
_END: Where = ("final_session_state",)


class HandEdit(NamedTuple):
    """What was edited in a case since it was written.

    Attributes:
        words: What was done, as `the response of check in turn 1 was edited`.
        again: The edit of the case that takes its place; None where that has something else there, or nothing.
    """

    words: str
    again: CaseEdit | None


def hand_edits(key: str, held: EditedCase, now: EditedCase) -> tuple[HandEdit, ...]:
    """Return what was edited in a case since it was written, in the order of the conversation; nothing where its recording does not say what was there.

    Args:
        key: The key of the case in its set.
        held: The case as it is.
        now: The case that takes its place, with its recording.
    """
    if held.recorded is None or now.recorded is None:
        return ()
    case = without_confirmations(EvalCase.model_validate(held.case))
    edits = edits_since(golden_of(case, held.recorded), held.recorded) or ()
    pair = _TakesPlace(key, held.case, held.recorded, now.case, now.recorded)
    found = [HandEdit(edit.words, pair.again(edit)) for edit in edits]
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
