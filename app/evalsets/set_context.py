"""What the tabs of an eval set's page are given, and what they give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from app.evalsets.open_sets import Restored
from app.live.live_sessions import UnsentTexts
from evalset.editing.case_edits import Edit
from evalset.editing.case_parts import CaseStep, field
from evalset.editing.set_work import SetWork
from simulator.base.frozen_value import Value


@dataclass(frozen=True)
class SetContext:
    """An eval set that is open.

    Attributes:
        path: Its file.
        work: Somebody's work on it: the set as it was opened, the edits, what lies beside it.
        drafts: What they typed and have not taken over.
        owner: Who they are.
        agents: The agents that can play it, the one in whose folder it lies first.
        restored: What an earlier server has left of the work.
        person: What who edits it is called; empty where that is not known.
        forgot: Edits that were saved can no longer be undone, as the files have changed since.
    """

    path: Path
    work: SetWork
    drafts: UnsentTexts
    owner: str
    agents: tuple[str, ...] = ()
    restored: Restored | None = None
    person: str = ""
    forgot: bool = False


class StepMark(NamedTuple):
    """What was found about a step of a case: a word for its line, and a sentence, which may come from outside."""

    word: str
    sentence: str


class CloseSet(Value):
    """Go back to the list of sets."""

    kind: Literal["close_set"] = "close_set"


class OpenSet(Value):
    """Open an eval set by its path; `told` says in sentences what an import wrote there."""

    kind: Literal["open_set"] = "open_set"
    path: str
    told: tuple[str, ...] = ()


class RemoveUpload(Value):
    """Delete an upload from the server."""

    kind: Literal["remove_upload"] = "remove_upload"
    path: str


class OpenCase(Value):
    """Show a case, compared with `other` where that is given, or with the open form of this token; None shows the cases of the set."""

    kind: Literal["open_case"] = "open_case"
    key: str | None = None
    other: str | None = None
    form: str | None = None


class ApplyEdits(Value):
    """Carry out edits, one after the other.

    `then` says what is shown after them: the case that is shown now, the new one behind it, or all cases. `part` is the
    name of the part in whose editor they were made.
    """

    kind: Literal["apply_edits"] = "apply_edits"
    edits: tuple[Edit, ...]
    then: Literal["same", "new", "all"] = "same"
    part: str = ""


class EditPart(Value):
    """Open the editor of a part of the case; None closes it. `failed` says why what was typed there was not taken over."""

    kind: Literal["edit_part"] = "edit_part"
    name: str | None = None
    failed: str = ""


class AskToSave(Value):
    """Show what a save would change, or no longer."""

    kind: Literal["ask_to_save"] = "ask_to_save"
    shown: bool = True


class UndoEdit(Value):
    """Take back the last edit."""

    kind: Literal["undo_edit"] = "undo_edit"


class RedoEdit(Value):
    """Bring back the edit that was taken back last."""

    kind: Literal["redo_edit"] = "redo_edit"


class SaveSet(Value):
    """Write the set."""

    kind: Literal["save_set"] = "save_set"


class ReloadSet(Value):
    """Drop the edits, and open the file as it is now."""

    kind: Literal["reload_set"] = "reload_set"


class MergeSet(Value):
    """Bring the edits onto the file as it is now; of cases that both changed those stay mine that are named, of those decided twice their status."""

    kind: Literal["merge_set"] = "merge_set"
    keep_mine: tuple[str, ...] = ()
    keep_their_status: tuple[str, ...] = ()


class PlayCase(Value):
    """Play a case in a session of an agent up to a step, and go on from there by hand."""

    kind: Literal["play_case"] = "play_case"
    agent: str
    key: str
    turn: int
    steps: int


SetCommand: TypeAlias = (
    CloseSet
    | OpenSet
    | RemoveUpload
    | OpenCase
    | ApplyEdits
    | EditPart
    | AskToSave
    | UndoEdit
    | RedoEdit
    | SaveSet
    | ReloadSet
    | MergeSet
    | PlayCase
)
"""What is asked for on the page of an eval set."""

Tab: TypeAlias = Callable[[SetContext], SetCommand | None]
"""Draws one tab below the head of a set; gives what was asked for in it."""

STEP_ICONS: dict[str, str] = {
    "query": ":material/person:",
    "text": ":material/smart_toy:",
    "call": ":material/build:",
    "response": ":material/check_circle:",
    "final": ":material/smart_toy:",
}


def step_value(step: CaseStep) -> Any:
    """Return what of a step is shown and edited: the arguments of a call, the response of an answer, else all of it."""
    if not isinstance(step.value, dict):
        return step.value
    match step.kind:
        case "call":
            return field(step.value, "args", {})
        case "response":
            return field(step.value, "response", {})
        case _:
            return step.value
