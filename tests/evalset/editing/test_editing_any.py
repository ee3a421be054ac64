"""Any sequence of edits can be taken back to the very bytes, loses no key that nobody named, and is saved as ADK reads it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from hypothesis import given, settings
from hypothesis import strategies as st

from evalset.editing.case_edits import (
    AddCall,
    DeleteCase,
    DuplicateCase,
    Edit,
    MergeCases,
    MoveCall,
    MoveCase,
    MoveTurn,
    NoteCase,
    RemoveCall,
    RemoveTurn,
    RenameCase,
    SetCall,
    SetResponse,
    SetText,
    SetValue,
    SplitCase,
)
from evalset.editing.case_parts import EditError, calls_of, is_plain_text, steps_of, turns_of
from evalset.editing.opened_set import row_of
from evalset.editing.set_saving import save, text_of_set
from evalset.editing.set_work import SetWork
from evalset.errors import EvalSetError
from evalset.files.set_outline import outline_of
from evalset.recorded.recording_files import read_environment, sidecar_of
from tests.evalset.editing.editing_sets import record_case, work_on, write_set

Draw = Callable[[Any], Any]
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
OBJECTS = st.dictionaries(
    TEXTS, st.none() | st.booleans() | st.integers(-9, 9) | TEXTS | st.lists(TEXTS, max_size=2), max_size=3
)
NAMES = st.from_regex(r"[a-z]{1,6}", fullmatch=True)


def an_edit(work: SetWork, draw: Draw) -> Edit:
    """Draw an edit that somebody could ask for on the page as it is."""
    key = draw(st.sampled_from(work.state.order))
    case = work.case(key)
    turn = draw(st.integers(0, max(0, len(turns_of(case)) - 1)))
    calls = [seen.call.where for seen in calls_of(case, turn)]
    steps = steps_of(case, turn)
    texts = [step.where for step in steps if step.kind != "call" and is_plain_text(step.value)]
    answers = [step.where for step in steps if step.kind == "response"]
    other = draw(st.sampled_from(work.state.order))
    by = draw(st.sampled_from([-1, 1]))
    made: list[Edit] = [
        AddCall(case=key, turn=turn, name=draw(NAMES), arguments=draw(OBJECTS), response=draw(OBJECTS)),
        SetValue(case=key, where=("final_session_state",), value=draw(OBJECTS)),
        NoteCase(case=key, text=draw(TEXTS)),
        MoveTurn(case=key, turn=turn, by=by),
        RemoveTurn(case=key, turn=turn),
        RenameCase(case=key, eval_id=draw(NAMES)),
        DuplicateCase(case=key, eval_id=draw(NAMES)),
        SplitCase(case=key, turn=turn, eval_id=draw(NAMES)),
        MergeCases(case=key, other=other),
        DeleteCase(case=key),
        MoveCase(case=key, to=draw(st.integers(0, 3))),
    ]
    made += [SetText(case=key, where=where, text=draw(TEXTS)) for where in texts[:2]]
    made += [SetCall(case=key, where=where, name=draw(NAMES), arguments=draw(OBJECTS)) for where in calls[:1]]
    made += [
        edit
        for where in calls[:1]
        for edit in (MoveCall(case=key, where=where, by=by), RemoveCall(case=key, where=where))
    ]
    made += [SetResponse(case=key, where=where, response=draw(OBJECTS)) for where in answers[:1]]
    chosen: Edit = draw(st.sampled_from(made))
    return chosen


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of which one case is recorded."""
    path = write_set(tmp_path_factory.mktemp("any") / "desk.evalset.json")
    record_case(path, "one")
    return path


@settings(deadline=None, max_examples=settings().max_examples // 2)
@given(data=st.data(), indent=st.sampled_from([None, 1, 2]))
def test_any_edits_are_taken_back_to_the_very_bytes(
    first: Path, data: st.DataObject, indent: int | None
) -> None:
    """What was refused changed nothing; what was done is saved, read by ADK, and undone to the bytes of both files."""
    path = first.with_name(f"{indent}.evalset.json")
    write_set(path, indent=indent)
    shutil.copy(sidecar_of(first), sidecar_of(path))
    before, beside = path.read_bytes(), sidecar_of(path).read_bytes()
    work = work_on(path)
    for _ in range(data.draw(st.integers(1, 6))):
        if not work.state.order:
            break
        state = work.state
        try:
            work.apply(an_edit(work, data.draw))
        except EditError:
            assert work.state is state
    save(work)
    _check_saved(work, path)
    redone = text_of_set(work)
    count = 0
    while work.undo():
        count += 1
    assert text_of_set(work) == before
    save(work)
    assert path.read_bytes() == before
    assert sidecar_of(path).read_bytes() == beside
    for _ in range(count):
        assert work.redo()
    assert text_of_set(work) == redone


def _check_saved(work: SetWork, path: Path) -> None:
    cases = json.loads(path.read_bytes())["eval_cases"]
    assert [row_of(key, case) for key, case in zip(work.state.order, cases, strict=True)] == work.rows()
    assert all(case["x_team"] == {"owner": "me", "nested": [1, None, "ß"]} for case in cases)
    assert len(load_eval_set_from_file(str(path), "desk").eval_cases) == len(cases)
    recorded = read_environment(sidecar_of(path)).cases
    turns = {case["eval_id"]: len(case["conversation"]) for case in cases}
    assert {name: len(case.turns) for name, case in recorded.items()} == {
        name: turns[name] for name in recorded
    }


@settings(deadline=None)
@given(text=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_a_set_that_anybody_has_damaged_is_opened_or_refused(first: Path, text: bytes) -> None:
    """Whatever stands in the middle of a file: it is opened with its very bytes, or refused with a sentence about it."""
    path = first.with_name("damaged.evalset.json")
    whole = first.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + text + whole[len(whole) // 2 + len(text) :])
    try:
        work = work_on(path)
    except EvalSetError as error:
        said = str(error)
    else:
        said = f"{path}: opened"
        assert text_of_set(work) == path.read_bytes()
        assert {row.eval_id for row in work.rows()} == outline_of(path, path.read_bytes()).ids
    assert said.startswith(f"{path}: ")
