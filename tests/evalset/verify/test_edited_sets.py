"""A set that was edited still holds: what is recorded beside it follows each edit, so that a replay passes as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalset.editing.case_edits import (
    AddCall,
    DeleteCase,
    DuplicateCase,
    Edit,
    MergeCases,
    MoveCall,
    MoveTurn,
    RemoveCall,
    RenameCase,
    SetCall,
    SetResponse,
    SetText,
    SplitCase,
)
from evalset.editing.case_parts import calls_of
from evalset.editing.opened_set import open_set
from evalset.editing.recording_beside import open_beside
from evalset.editing.set_saving import save
from evalset.editing.set_work import SetWork
from evalset.verify import verify
from tests.evalset.verify.desks import agents, copied_set


def edit_of(work: SetWork, what: str) -> Edit:
    """Return an edit of a kind, of the first call of the first turn where they are about a call."""
    first, second, *_ = calls_of(work.case("two"), 0)
    asked: dict[str, Edit] = {
        "an argument": SetCall(case="two", where=first.call.where, name="check", arguments={"order": "Z"}),
        "an answer": SetResponse(case="two", where=first.answers[0].where, response={"status": "lost"}),
        "the final response": SetText(case="two", where=("conversation", 1, "final_response"), text="Well."),
        "the query": SetText(case="two", where=("conversation", 1, "user_content"), text="Else?"),
        "the calls' order": MoveCall(case="two", where=second.call.where, by=-1),
        "a call more": AddCall(
            case="two", turn=1, name="check", arguments={"order": "D"}, response={"status": "new"}
        ),
        "a call less": RemoveCall(case="two", where=first.call.where),
        "another order of turns": MoveTurn(case="two", turn=0, by=1),
        "another name": RenameCase(case="two", eval_id="deux"),
        "a copy": DuplicateCase(case="two", eval_id="copy"),
        "two halves": SplitCase(case="two", turn=1, eval_id="rest"),
    }
    return asked[what]


def saved(kept: Path, folder: Path, what: str) -> tuple[Path, SetWork]:
    """Edit a copy of the set as its page does: what is recorded follows."""
    path = copied_set(kept, folder)
    work = SetWork(open_set(path), open_beside(path))
    work.apply(edit_of(work, what))
    save(work)
    return path, work


@pytest.mark.parametrize(
    "what",
    [
        *(
            "an argument",
            "an answer",
            "the final response",
            "the query",
            "a call more",
            "two halves",
        ),
        *(
            pytest.param(what, marks=pytest.mark.long)
            for what in ("the calls' order", "a call less", "another name", "a copy")
        ),
    ],
)
def test_an_edited_case_is_replayed_as_it_was_edited(kept: Path, tmp_path: Path, what: str) -> None:
    """With the recorded models each case does what the edited golden says, and gets the edited answers."""
    path, work = saved(kept, tmp_path / "set", what)
    verification = verify(path, agents_dir=agents(tmp_path), models="recorded")
    assert [(case.eval_id, case.status, case.error) for case in verification.cases] == [
        (row.eval_id, "passed", "") for row in work.rows()
    ], verification.model_dump_json(indent=1)


def test_halves_that_are_merged_again_are_replayed_as_one(kept: Path, tmp_path: Path) -> None:
    """The case does what it did before it was split."""
    path = copied_set(kept, tmp_path / "set")
    work = SetWork(open_set(path), open_beside(path))
    work.apply(SplitCase(case="two", turn=1, eval_id="rest"))
    work.apply(DuplicateCase(case="two", eval_id="first"))
    work.apply(MergeCases(case="first", other="rest"))
    work.apply(DeleteCase(case="two"))
    save(work)
    verification = verify(path, agents_dir=agents(tmp_path), models="recorded")
    assert [(case.eval_id, case.status) for case in verification.cases] == [("first", "passed")]
