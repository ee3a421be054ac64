"""Describes the edits of an eval set as values, each names its case by its key; and carries out those inside of one case. Pure.

An edit changes a case's raw JSON. Everything that it does not name stays as it is. The values are kept with unsaved work, so that it can be restored.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, assert_never

from pydantic import Field

from evalset.editing.case_parts import (
    CallSeen,
    Case,
    EditError,
    Where,
    at,
    calls_of,
    field,
    is_plain_text,
    key_of,
    listed,
    named,
    put,
    turns_of,
    with_text,
    without_steps,
)
from evalset.editing.sidecars import NO_REVIEW, CaseReview
from evalset.recorded.recording import CaseNote, RecordedCase
from simulator.base.frozen_value import Value
from simulator.base.json_paths import ABSENT
from simulator.base.json_values import Json, JsonObject, copied


class _OfCase(Value):
    """An edit of a case, which is named by its key."""

    kind: str
    case: str


class _AtPlace(_OfCase):
    """An edit of what stands at a place in a case."""

    where: Where


class SetText(_AtPlace):
    """Say something else: the query, an answer of the agent, or what it says on the way, where that is one text."""

    kind: Literal["set_text"] = "set_text"
    text: str


class SetValue(_OfCase):
    """Put any JSON value at a place: a content, a state, rubrics. Without `where` it is the whole case."""

    kind: Literal["set_value"] = "set_value"
    where: Where = ()
    value: Json


class RemoveValue(_OfCase):
    """Take away what stands at a place."""

    kind: Literal["remove_value"] = "remove_value"
    where: Where = Field(min_length=1)


class SetCall(_AtPlace):
    """Call another tool, or with other arguments; the answers to the call are those of the tool with its new name."""

    kind: Literal["set_call"] = "set_call"
    name: str = Field(min_length=1)
    arguments: JsonObject


class SetResponse(_AtPlace):
    """Answer a call with something else; `are_right` says that a person knows each value of it, and nothing is left blank."""

    kind: Literal["set_response"] = "set_response"
    response: JsonObject
    are_right: bool = Field(default=False, exclude_if=lambda right: not right)


class AddCall(_OfCase):
    """Let the agent make one more call at the end of a turn, with an answer; None for none."""

    kind: Literal["add_call"] = "add_call"
    turn: int
    name: str = Field(min_length=1)
    arguments: JsonObject
    response: JsonObject | None


class RemoveCall(_AtPlace):
    """Take away a call and the answers to it."""

    kind: Literal["remove_call"] = "remove_call"


class MoveCall(_AtPlace):
    """Let a call change places with the one before it (`by` is -1) or after it (1), and their answers too."""

    kind: Literal["move_call"] = "move_call"
    by: Literal[-1, 1]


class MoveTurn(_OfCase):
    """Let a turn change places with the one before it (`by` is -1) or after it (1)."""

    kind: Literal["move_turn"] = "move_turn"
    turn: int
    by: Literal[-1, 1]


class RemoveTurn(_OfCase):
    """Take away a turn."""

    kind: Literal["remove_turn"] = "remove_turn"
    turn: int


class NoteCase(_OfCase):
    """Say something about a case, and by which words it is found; that is kept beside the eval set."""

    kind: Literal["note_case"] = "note_case"
    text: str
    tags: tuple[str, ...] = ()


class ReviewCase(_OfCase):
    """Decide about a case, or remark something at its steps; that is kept beside the eval set."""

    kind: Literal["review_case"] = "review_case"
    review: CaseReview


class RenameCase(_OfCase):
    """Give a case another eval id."""

    kind: Literal["rename_case"] = "rename_case"
    eval_id: str


class ReplaceCase(_OfCase):
    """Let a case be another one of the same eval id, with what is recorded of that; `words` say why."""

    kind: Literal["replace_case"] = "replace_case"
    value: JsonObject
    recorded: RecordedCase | None
    words: str


class ReplaceCases(Value):
    """Replace several cases in one step, each with its note."""

    kind: Literal["replace_cases"] = "replace_cases"
    cases: tuple[tuple[ReplaceCase, CaseNote], ...]
    words: str


class DuplicateCase(_OfCase):
    """Make another case with the same content, behind it."""

    kind: Literal["duplicate_case"] = "duplicate_case"
    eval_id: str


class SplitCase(_OfCase):
    """Make two cases of one: the turns from `turn` on (counted from 0) are those of a new case behind it."""

    kind: Literal["split_case"] = "split_case"
    turn: int
    eval_id: str


class MergeCases(_OfCase):
    """Make one case of two: the turns of `other` follow those of `case`, and `other` is gone."""

    kind: Literal["merge_cases"] = "merge_cases"
    other: str


class DeleteCase(_OfCase):
    """Take away a case."""

    kind: Literal["delete_case"] = "delete_case"


class MoveCase(_OfCase):
    """Put a case at another place among the cases, counted from 0."""

    kind: Literal["move_case"] = "move_case"
    to: int


class InsertCase(Value):
    """Take in a case as raw JSON, with what is recorded and noted of it and its review; by default at the end."""

    kind: Literal["insert_case"] = "insert_case"
    value: JsonObject
    recorded: RecordedCase | None = None
    note: CaseNote = CaseNote()
    review: CaseReview = NO_REVIEW
    to: int | None = None


InCase: TypeAlias = (
    SetText
    | SetValue
    | RemoveValue
    | SetCall
    | SetResponse
    | AddCall
    | RemoveCall
    | MoveCall
    | MoveTurn
    | RemoveTurn
    | NoteCase
    | ReviewCase
    | RenameCase
    | ReplaceCase
)
"""Edits of one case that stays one."""

OfSet: TypeAlias = DuplicateCase | SplitCase | MergeCases | DeleteCase | MoveCase | InsertCase
"""Edits of which cases there are, and in which order."""

Edit: TypeAlias = InCase | OfSet | ReplaceCases


_WORDS = {
    "set_call": "Edit a call",
    "set_response": "Edit a response",
    "add_call": "Add a call",
    "remove_call": "Remove a call",
    "move_call": "Move a call",
    "move_turn": "Move a turn",
    "remove_turn": "Remove a turn",
    "note_case": "Change the note",
    "review_case": "Change the review",
}


def words_of(edit: Edit) -> str:
    """Return what an edit does, in a few words of our own."""
    match edit:
        case SetText() | SetValue() | RemoveValue():
            named = next((words for step, words in _PLACES.items() if step in edit.where), None)
            verb = "Remove" if isinstance(edit, RemoveValue) else "Edit"
            return f"{verb} {named or ('an agent text' if edit.where else 'the case JSON')}"
        case ReplaceCase() | ReplaceCases():
            return edit.words
        case _:
            return _WORDS.get(edit.kind, edit.kind.replace("_", " ").capitalize())


_PLACES = {
    "user_content": "the user message",
    "final_response": "the final response",
    "rubrics": "the rubrics",
    "session_input": "the initial state",
    "final_session_state": "the final state",
    "conversation_scenario": "the scenario",
}


_MADE = "call"


def edited(case: Case, edit: InCase) -> Case:  # noqa: C901, PLR0911, PLR0912 - one arm for each kind
    """Return the case as an edit makes it.

    Raises:
        EditError: The edit does not fit the case; the text names the place.
    """
    match edit:
        case SetText():
            return _set_text(case, edit)
        case SetValue():
            if not edit.where and not isinstance(edit.value, dict):
                raise EditError("a case must be a JSON object")
            return put(case, edit.where, copied(edit.value))
        case RemoveValue():
            _there(case, edit.where)
            return put(case, edit.where, ABSENT)
        case SetCall():
            return _set_call(case, edit)
        case SetResponse():
            held = _there(case, edit.where)
            where = (*edit.where, "response")
            return put(case, where, copied(edit.response)) if isinstance(held, dict) else case
        case AddCall():
            return _add_call(case, edit)
        case RemoveCall():
            calls, place = _seen(case, edit.where)
            return without_steps(case, [calls[place].call, *calls[place].answers])
        case MoveCall():
            return _move_call(case, edit)
        case MoveTurn() | RemoveTurn():
            return _with_turns(case, edit)
        case RenameCase():
            return put(case, ("eval_id",), edit.eval_id)
        case NoteCase() | ReviewCase():
            return case
        case ReplaceCase():
            return put(copied(edit.value), ("eval_id",), at(case, ("eval_id",)))
        case never:
            assert_never(never)


def _set_text(case: Case, edit: SetText) -> Case:
    value = _there(case, edit.where)
    if not is_plain_text(value):
        raise EditError(f"{named(edit.where)} is not a single text; edit it as JSON")
    return put(case, edit.where, with_text(value, edit.text))


def _there(case: Case, where: Where) -> Any:
    value = at(case, where)
    if value is ABSENT:
        raise EditError(f"{named(where)} does not exist")
    return value


def _seen(case: Case, where: Where) -> tuple[list[CallSeen], int]:
    """Return the calls of the turn to which a place belongs, and which of them stands there."""
    if len(where) < 2 or where[0] != "conversation" or not isinstance(where[1], int):  # noqa: PLR2004 - a turn's place
        raise EditError(f"{named(where)} is not a call")
    if not 0 <= where[1] < len(turns_of(case)):
        raise EditError(f"{named(where[:2])} does not exist")
    calls = calls_of(case, where[1])
    place = next((number for number, seen in enumerate(calls) if seen.call.where == where), None)
    if place is None:
        raise EditError(f"{named(where)} is not a call")
    return calls, place


def _set_call(case: Case, edit: SetCall) -> Case:
    calls, place = _seen(case, edit.where)
    made = put(case, (*edit.where, "args"), copied(edit.arguments))
    made = put(made, (*edit.where, "name"), edit.name)
    for answer in calls[place].answers:
        made = put(made, (*answer.where, "name"), edit.name)
    return made


def _move_call(case: Case, edit: MoveCall) -> Case:
    calls, place = _seen(case, edit.where)
    other = place + edit.by
    if not 0 <= other < len(calls):
        raise EditError(
            f"{named(edit.where)} is already the {'first' if edit.by < 0 else 'last'} call of its turn"
        )
    one, two = calls[place], calls[other]
    made = put(put(case, one.call.where, two.call.value), two.call.where, one.call.value)
    if len(one.answers) == len(two.answers):
        for mine, theirs in zip(one.answers, two.answers, strict=True):
            made = put(put(made, mine.where, theirs.value), theirs.where, mine.value)
    return made


def _add_call(case: Case, edit: AddCall) -> Case:
    if not 0 <= edit.turn < len(turns_of(case)):
        raise EditError(f"turn {edit.turn + 1} does not exist")
    made: Case = copied(case)
    turn = turns_of(made)[edit.turn]
    taken = {seen.call.call_id for seen in calls_of(case, edit.turn)}
    number = next(each for each in range(1, len(taken) + 2) if f"{_MADE}-{each}" not in taken)
    call_id = f"{_MADE}-{number}"
    call = {"id": call_id, "args": copied(edit.arguments), "name": edit.name}
    answer = None
    if edit.response is not None:
        answer = {"id": call_id, "name": edit.name, "response": copied(edit.response)}
    data = field(turn, "intermediate_data")
    if not isinstance(data, dict):
        data = turn[key_of(turn, "intermediate_data")] = {}
    events = field(data, "invocation_events")
    if events is None:
        _append(data, "tool_uses", call)
        if answer is not None:
            _append(data, "tool_responses", answer)
        return made
    authors = [str(field(event, "author", "")) for event in events]
    author = next((each for each in reversed(authors) if each and each != "user"), "agent")
    events.append({"author": author, "content": {"parts": [{"function_call": call}], "role": "model"}})
    if answer is not None:
        events.append(
            {"author": author, "content": {"parts": [{"function_response": answer}], "role": "user"}}
        )
    return made


def _append(held: dict[str, Any], name: str, value: Any) -> None:
    held[key_of(held, name)] = [*listed(held, name), value]


def _with_turns(case: Case, edit: MoveTurn | RemoveTurn) -> Case:
    turns = list(turns_of(case))
    if not 0 <= edit.turn < len(turns):
        raise EditError(f"turn {edit.turn + 1} does not exist")
    if isinstance(edit, RemoveTurn):
        if len(turns) == 1:
            raise EditError("a case needs at least one turn; delete the case instead")
        del turns[edit.turn]
    else:
        other = edit.turn + edit.by
        if not 0 <= other < len(turns):
            raise EditError(f"turn {edit.turn + 1} is already the {'first' if edit.by < 0 else 'last'} one")
        turns[edit.turn], turns[other] = turns[other], turns[edit.turn]
    return put(case, ("conversation",), copied(turns))
