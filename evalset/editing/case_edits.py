"""Describes the edits of an eval set as values; each names its case by its key."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from evalset.editing.case_parts import Where
from evalset.editing.case_reviews import NO_REVIEW, CaseReview
from evalset.recorded.recording import CaseNote, RecordedCase
from simulator.base.frozen_value import Value
from simulator.base.json_values import Json, JsonObject


class SetText(Value):
    """Say something else: the query, an answer of the agent, or what it says on the way, where that is one text."""

    kind: Literal["set_text"] = "set_text"
    case: str
    where: Where
    text: str


class SetValue(Value):
    """Put any JSON value at a place: a content, a state, rubrics. Without `where` it is the whole case."""

    kind: Literal["set_value"] = "set_value"
    case: str
    where: Where = ()
    value: Json


class RemoveValue(Value):
    """Take away what stands at a place."""

    kind: Literal["remove_value"] = "remove_value"
    case: str
    where: Where = Field(min_length=1)


class SetCall(Value):
    """Call another tool, or with other arguments; the answers to the call are those of the tool with its new name."""

    kind: Literal["set_call"] = "set_call"
    case: str
    where: Where
    name: str = Field(min_length=1)
    arguments: JsonObject


class SetResponse(Value):
    """Answer a call with something else; `are_right` says that a person knows each value of it, and nothing is left blank."""

    kind: Literal["set_response"] = "set_response"
    case: str
    where: Where
    response: JsonObject
    are_right: bool = Field(default=False, exclude_if=lambda right: not right)


class AddCall(Value):
    """Let the agent make one more call at the end of a turn, with an answer; None for none."""

    kind: Literal["add_call"] = "add_call"
    case: str
    turn: int
    name: str = Field(min_length=1)
    arguments: JsonObject
    response: JsonObject | None


class RemoveCall(Value):
    """Take away a call and the answers to it."""

    kind: Literal["remove_call"] = "remove_call"
    case: str
    where: Where


class MoveCall(Value):
    """Let a call change places with the one before it (`by` is -1) or after it (1), and their answers too."""

    kind: Literal["move_call"] = "move_call"
    case: str
    where: Where
    by: Literal[-1, 1]


class MoveTurn(Value):
    """Let a turn change places with the one before it (`by` is -1) or after it (1)."""

    kind: Literal["move_turn"] = "move_turn"
    case: str
    turn: int
    by: Literal[-1, 1]


class RemoveTurn(Value):
    """Take away a turn."""

    kind: Literal["remove_turn"] = "remove_turn"
    case: str
    turn: int


class NoteCase(Value):
    """Say something about a case, and by which words it is found; that is kept beside the eval set."""

    kind: Literal["note_case"] = "note_case"
    case: str
    text: str
    tags: tuple[str, ...] = ()


class ReviewCase(Value):
    """Decide about a case, or remark something at its steps; that is kept beside the eval set."""

    kind: Literal["review_case"] = "review_case"
    case: str
    review: CaseReview


class RenameCase(Value):
    """Give a case another eval id."""

    kind: Literal["rename_case"] = "rename_case"
    case: str
    eval_id: str


class ReplaceCase(Value):
    """Let a case be another one of the same eval id, with what is recorded of that; `words` say why."""

    kind: Literal["replace_case"] = "replace_case"
    case: str
    value: JsonObject
    recorded: RecordedCase | None
    words: str


class DuplicateCase(Value):
    """Make another case with the same content, behind it."""

    kind: Literal["duplicate_case"] = "duplicate_case"
    case: str
    eval_id: str


class SplitCase(Value):
    """Make two cases of one: the turns from `turn` on (counted from 0) are those of a new case behind it."""

    kind: Literal["split_case"] = "split_case"
    case: str
    turn: int
    eval_id: str


class MergeCases(Value):
    """Make one case of two: the turns of `other` follow those of `case`, and `other` is gone."""

    kind: Literal["merge_cases"] = "merge_cases"
    case: str
    other: str


class DeleteCase(Value):
    """Take away a case."""

    kind: Literal["delete_case"] = "delete_case"
    case: str


class MoveCase(Value):
    """Put a case at another place among the cases, counted from 0."""

    kind: Literal["move_case"] = "move_case"
    case: str
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

Edit: TypeAlias = InCase | OfSet


def words_of(edit: Edit) -> str:  # noqa: PLR0911 - one line for each kind
    """Return what an edit does, in a few words of our own."""
    match edit:
        case SetText() | SetValue() | RemoveValue() | SetResponse() | SetCall():
            return _of_place(edit)
        case AddCall():
            return "Add a call"
        case RemoveCall():
            return "Remove a call"
        case MoveCall():
            return "Move a call"
        case MoveTurn():
            return "Move a turn"
        case RemoveTurn():
            return "Remove a turn"
        case NoteCase():
            return "Change the note"
        case ReviewCase():
            return "Change the review"
        case ReplaceCase():
            return edit.words
        case _:
            return edit.kind.replace("_", " ").capitalize()


_PLACES = {
    "user_content": "the user message",
    "final_response": "the final response",
    "rubrics": "the rubrics",
    "session_input": "the initial state",
    "final_session_state": "the final state",
    "conversation_scenario": "the scenario",
}


def _of_place(edit: Any) -> str:
    if isinstance(edit, SetCall):
        return "Edit a call"
    if isinstance(edit, SetResponse):
        return "Edit a response"
    named = next((words for step, words in _PLACES.items() if step in edit.where), None)
    verb = "Remove" if isinstance(edit, RemoveValue) else "Edit"
    return f"{verb} {named or ('an agent text' if edit.where else 'the case JSON')}"
