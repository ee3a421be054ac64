"""Editing an eval set: what no edit names stays byte for byte, each step and any sequence of them can be undone, and what lies beside follows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
    InsertCase,
    MergeCases,
    MoveCall,
    MoveCase,
    MoveTurn,
    NoteCase,
    RemoveCall,
    RemoveTurn,
    RemoveValue,
    RenameCase,
    SetCall,
    SetResponse,
    SetText,
    SetValue,
    SplitCase,
    words_of,
)
from evalset.editing.case_parts import (
    EditError,
    agent_of,
    calls_of,
    is_plain_text,
    spliced,
    steps_of,
    turns_of,
)
from evalset.editing.opened_set import identity_at, open_set, row_of
from evalset.editing.set_changes import case_history, changes, steps_as_said
from evalset.editing.set_saving import ChangedOnDiskError, InvalidCaseError, save, text_of_set
from evalset.editing.set_work import SetWork, kept_work, restored_work
from evalset.errors import EvalSetError
from evalset.files.set_outline import Style, outline_of
from evalset.recorded.recording_files import read_environment, sidecar_of
from evalset.recorded.tolerances import Ignore
from evalset.verify import keep_tolerances, tolerances_of
from simulator.facts import Returned
from tests.evalset.editing.editing_sets import record_case, work_on, write_set

DATA = ("conversation", 0, "intermediate_data")
EVENT = (
    "conversation",
    1,
    "intermediate_data",
    "invocation_events",
    1,
    "content",
    "parts",
    0,
    "function_call",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A set of three cases."""
    return write_set(tmp_path / "desk.evalset.json")


def raw(path: Path, eval_id: str) -> dict[str, Any]:
    """Read a case of a file with nothing but `json`."""
    cases = json.loads(path.read_bytes())["eval_cases"]
    return next(case for case in cases if case["eval_id"] == eval_id)


def test_a_set_is_opened_as_it_is(path: Path) -> None:
    """The rows say what is in each case, in either spelling and either form; the bytes are those of the file."""
    work = work_on(path)
    (row, *_) = work.rows()
    assert (row.eval_id, row.turns, row.tools) == ("one", 2, ("find_order", "track"))
    assert (row.query, row.agents, row.rubrics) == ("Where is A-1?", ("order_desk",), 2)
    assert row.holds(["track", "a-1"])
    call = {"name": "transfer_to_agent", "args": {"agent_name": "support"}}
    for data in (
        {"tool_uses": [call]},
        {"invocation_events": [{"author": "support", "content": {"parts": [{"function_call": call}]}}]},
    ):
        case = {"eval_id": "one", "conversation": [{"intermediate_data": data}]}
        assert row_of("one", case).agents == ("support",)
    assert text_of_set(work) == path.read_bytes()
    assert [step.kind for step in steps_of(work.case("one"), 0)] == [
        "query", "call", "response", "call", "response", "text", "final",
    ]  # fmt: skip
    assert [step.kind for step in steps_of(work.case("one"), 1)] == [
        "query",
        "text",
        "call",
        "response",
        "final",
    ]


EDITS: list[Edit] = [
    SetText(case="two", where=("conversation", 0, "user_content"), text="Else?"),
    SetText(case="two", where=(*DATA, "intermediate_responses", 0, 1), text="Hm."),
    SetValue(case="two", where=("conversation", 0, "final_response"), value={"parts": [{"text": "No."}]}),
    SetCall(case="two", where=(*DATA, "tool_uses", 0), name="look_up", arguments={"id": 1}),
    SetCall(case="two", where=EVENT, name="follow", arguments={"id": 2}),
    SetResponse(case="two", where=(*DATA, "tool_responses", 1), response={"at": "Bern"}),
    AddCall(case="two", turn=0, name="close", arguments={}, response={"ok": True}),
    AddCall(case="two", turn=1, name="close", arguments={}, response={"ok": True}),
    RemoveCall(case="two", where=(*DATA, "tool_uses", 0)),
    RemoveCall(case="two", where=EVENT),
    MoveCall(case="two", where=(*DATA, "tool_uses", 0), by=1),
    MoveTurn(case="two", turn=0, by=1),
    RemoveTurn(case="two", turn=1),
    RemoveValue(case="two", where=("rubrics",)),
    SetValue(case="two", where=("session_input", "state"), value={"tier": "new"}),
    SetValue(case="two", where=("final_session_state",), value={}),
    SetValue(case="two", where=("conversation", 1, "rubrics"), value=[]),
    NoteCase(case="two", text="look again", tags=("later",)),
    RenameCase(case="two", eval_id="deux"),
    DuplicateCase(case="two", eval_id="again"),
    SplitCase(case="two", turn=1, eval_id="rest"),
    MergeCases(case="two", other="one"),
    DeleteCase(case="two"),
    MoveCase(case="two", to=0),
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.kind)
def test_each_edit_is_written_undone_and_leaves_the_other_cases_alone(path: Path, edit: Edit) -> None:
    """Saved, ADK reads the set and what the edit does not name stands there as it did; undone and saved, the bytes are back."""
    before = path.read_bytes()
    record_case(path, "two")
    beside = sidecar_of(path).read_bytes()
    work = work_on(path)
    work.apply(edit)
    assert changes(work).any
    assert text_of_set(work) != before or isinstance(edit, NoteCase)
    save(work)
    assert not changes(work).any
    assert not work.is_edited
    assert load_eval_set_from_file(str(path), "desk").eval_set_id == "desk"
    assert json.loads(path.read_bytes())["zzz"] == {"after": True}
    assert raw(path, "three") == json.loads(before)["eval_cases"][2]
    for case in json.loads(path.read_bytes())["eval_cases"]:
        assert case["x_team"] == {"owner": "me", "nested": [1, None, "ß"]}
    assert work.undo()
    assert work.is_edited != isinstance(edit, NoteCase)
    assert work.is_case_edited("two") != isinstance(edit, NoteCase | DuplicateCase | MoveCase)
    save(work)
    assert path.read_bytes() == before
    assert sidecar_of(path).read_bytes() == beside


WRITTEN: list[tuple[str, list[Edit]]] = [
    (
        "Replace 3 cases",
        [
            SetText(case="uno", where=("conversation", 0, "final_response"), text="No."),
            SetText(case="three", where=("conversation", 0, "final_response"), text="No."),
            NoteCase(case="two", text="look again", tags=("later",)),
        ],
    ),
    (
        "Insert case",
        [DuplicateCase(case="uno", eval_id="new"), NoteCase(case="new", text="look again")],
    ),
]


@pytest.mark.parametrize(("words", "edits"), WRITTEN)
def test_what_was_written_in_another_way_is_undone_in_one_step(
    path: Path, words: str, edits: list[Edit]
) -> None:
    """A change of several cases and their notes, as by a migration, is one edit with their number, and so is a case that was added.

    It is restored after a restart, too.
    """
    record_case(path, "two")
    work = work_on(path)
    work.apply(RenameCase(case="one", eval_id="uno"))
    save(work)
    earlier = len(work.edits)
    before, beside = path.read_bytes(), sidecar_of(path).read_bytes()
    theirs = work_on(path)
    for edit in edits:
        theirs.apply(edit)
    save(theirs)
    work.follow(work_on(path))
    assert [words_of(edit) for edit in work.edits[earlier:]] == [words]
    assert not work.is_changed
    assert work.undo()
    kept = kept_work(work, {})
    assert kept is not None
    restored, _ = restored_work(path, kept)
    assert restored is not None
    assert restored.redo()
    assert text_of_set(restored) == path.read_bytes()
    assert "look again" in [restored.note(key).text for key in restored.state.order]
    save(work)
    assert (path.read_bytes(), sidecar_of(path).read_bytes()) == (before, beside)


def test_a_text_before_a_late_result_is_where_it_was_said(path: Path) -> None:
    """As in the session: on the page of the case and where it is compared, also behind the last call."""
    recorded = record_case(path, "one")
    first = recorded.turns[0]
    calls, models = list(first.calls), list(first.models)
    calls[1] = calls[1].model_copy(update={"later": {"at": "Rome"}})
    content: Any = first.models[0].responses[0]["content"]
    said = content["parts"]
    models[0] = models[0].model_copy(update={"responses": ({"content": {"parts": said[1:]}},)})
    put_off = {"responses": ({"content": {"parts": said[:1]}},), "put_off": True}
    models.insert(2, models[0].model_copy(update=put_off))
    turn = first.model_copy(update={"calls": tuple(calls), "models": tuple(models)})
    known = recorded.model_copy(update={"turns": (turn, recorded.turns[1])})
    case = work_on(path).case("one")
    kinds = ["query", "call", "response", "call", "text", "response", "final"]
    assert [step.kind for _, _, step in steps_as_said(case, known, 0)] == kinds
    entries = [entry.type for entry in case_history(case, known, with_agents=True) if entry.turn == 0]
    assert entries.index("agent_message") == kinds.index("text")


def test_what_a_save_changes_names_no_step_of_which_the_id_alone_differs(path: Path) -> None:
    """As in a case that was replaced: each session counts its own calls."""
    work = work_on(path)
    text = json.dumps(work.case("one")).replace('"c1"', '"other-1"').replace('"c2"', '"other-2"')
    work.apply(SetValue(case="one", value=json.loads(text)))
    assert changes(work).cases[0].words == ("turn 1: JSON",)
    work.apply(SetResponse(case="one", where=(*DATA, "tool_responses", 1), response={"at": "Bern"}))
    assert changes(work).cases[0].words == ("turn 1: response of track",)


def test_an_edited_call_takes_its_answer_and_what_is_recorded_along(path: Path) -> None:
    """The tool's new name stands at its answer too, and beside the set at the call and in what the model said."""
    record_case(path, "one")
    work = work_on(path)
    work.apply(SetCall(case="one", where=(*DATA, "tool_uses", 0), name="look_up", arguments={"id": 1}))
    work.apply(SetResponse(case="one", where=(*DATA, "tool_responses", 0), response={"status": "lost"}))
    work.apply(SetText(case="one", where=("conversation", 0, "final_response"), text="Lost."))
    work.apply(SetText(case="one", where=("conversation", 0, "user_content"), text="Well?"))
    work.apply(SetValue(case="one", where=("session_input", "state"), value={"tier": "none"}))
    save(work)
    (seen, other) = calls_of(raw(path, "one"), 0)
    assert (seen.call.name, seen.answers[0].name) == ("look_up", "look_up")
    recorded = read_environment(sidecar_of(path)).cases["one"]
    (call, kept) = recorded.turns[0].calls
    assert (call.tool, call.arguments, call.outcome) == (
        "look_up",
        {"id": 1},
        Returned(value={"status": "lost"}),
    )
    assert (call.effects.state_delta, call.author.source) == ({"last": "A-1"}, "edited")
    assert (kept.tool, kept.author.source, other.call.name) == ("track", "written", "track")
    said = json.dumps([model.responses for model in recorded.turns[0].models])
    assert '"name": "look_up", "args": {"id": 1}' in said
    assert "Lost." in said
    assert "On its way." not in said
    assert recorded.turns[0].query["parts"] == [{"text": "Well?"}]
    assert recorded.state == {"tier": "none"}


def test_what_is_recorded_follows_the_cases(path: Path) -> None:
    """A duplicate has its own recording; the halves of a case have theirs, and the state that the first half came to."""
    record_case(path, "one")
    work = work_on(path)
    work.apply(DuplicateCase(case="one", eval_id="copy"))
    work.apply(SplitCase(case="one", turn=1, eval_id="rest"))
    work.apply(RenameCase(case="copy", eval_id="whole"))
    save(work)
    environment = read_environment(sidecar_of(path))
    assert {name: len(case.turns) for name, case in environment.cases.items()} == {
        "one": 1,
        "rest": 1,
        "whole": 2,
    }
    assert environment.cases["rest"].state == {"tier": "gold", "last": "A-1"}
    assert raw(path, "rest")["session_input"]["state"] == {"tier": "gold", "last": "A-1"}
    assert "final_session_state" not in raw(path, "one")
    assert set(environment.notes) == {"one", "rest", "whole"}
    for one, other in (("one", "rest"), ("two", "one"), ("three", "two")):
        work.apply(MergeCases(case=one, other=other))
    assert work.case("three")["final_session_state"] == {"seen": ["A-1"]}
    work.undo()
    work.undo()
    work.apply(SplitCase(case="one", turn=1, eval_id="late"))
    work.apply(MergeCases(case="two", other="one"))
    assert "final_session_state" not in work.case("two")
    for _ in range(2):
        work.undo()
    work.apply(DeleteCase(case="copy"))
    save(work)
    environment = read_environment(sidecar_of(path))
    assert {name: len(case.turns) for name, case in environment.cases.items()} == {"one": 2}
    assert raw(path, "one")["final_session_state"] == {"seen": ["A-1"]}


@pytest.mark.parametrize("is_new", [True, False])
def test_a_case_that_left_the_files_comes_back_with_its_tolerances(path: Path, *, is_new: bool) -> None:
    """They are saved without the set: of a new case that was undone, and of one that was deleted; another case gets none."""
    recorded = record_case(path, "one")
    work = work_on(path)
    key = "new" if is_new else "one"
    new = InsertCase(value={**raw(path, "one"), "eval_id": "new"}, recorded=recorded)
    if is_new:
        work.apply(new)
        save(work)
    keep_tolerances(path, key, (Ignore(tool="track", path="at"),))
    work.beside_identity = identity_at(work.beside.path)
    if is_new:
        work.undo()
    else:
        work.apply(DeleteCase(case="one"))
    save(work)
    assert key not in read_environment(sidecar_of(path)).cases
    assert work.redo() if is_new else work.undo()
    save(work)
    assert tolerances_of(path, key) == (Ignore(tool="track", path="at"),)
    if is_new:
        work.undo()
        save(work)
        work.apply(new)
        save(work)
        assert tolerances_of(path, key) == ()


def test_a_case_that_adk_refuses_is_named_and_nothing_is_written(path: Path) -> None:
    """The error names the case and the place."""
    before = path.read_bytes()
    work = work_on(path)
    work.apply(SetValue(case="two", where=("conversation", 1, "user_content"), value={"parts": "none"}))
    with pytest.raises(InvalidCaseError, match=r"case 'two': conversation\[1\].*parts"):
        save(work)
    assert path.read_bytes() == before
    work.undo()
    for wanted, why in (("one", "already has .* delete it"), ("a:b", "':'"), ("", "empty")):
        with pytest.raises(EditError, match=why):
            work.apply(RenameCase(case="two", eval_id=wanted))


def test_a_case_whose_id_adk_made_of_a_path_is_edited(path: Path) -> None:
    """ADK's own conversion names cases so, and loads them: such an id may stay, and no other may become one."""
    named = "tests/fixture/one.test.json"
    write_set(path, named, "two")
    before = path.read_bytes()
    work = work_on(path)
    work.apply(SetText(case=named, where=("conversation", 0, "user_content"), text="Else?"))
    save(work)
    assert raw(path, named)["conversation"][0]["user_content"]["parts"] == [{"text": "Else?"}]
    work.apply(SetValue(case=named, value={**work.case(named), "eval_id": "tests/other"}))
    with pytest.raises(InvalidCaseError, match="'tests/other' contains '/'"):
        save(work)
    work.undo()
    work.undo()
    save(work)
    assert path.read_bytes() == before


def test_a_case_with_a_key_twice_is_not_written_anew(path: Path) -> None:
    """One of the two values would be lost, so the save names the key; other cases are saved."""
    path.write_text(path.read_text().replace('"owner": "me"', '"owner": "me", "owner": "you"', 1))
    work = work_on(path)
    work.apply(SetText(case="two", where=("conversation", 0, "user_content"), text="Else?"))
    save(work)
    work.apply(SetText(case="one", where=("conversation", 0, "user_content"), text="Else?"))
    with pytest.raises(InvalidCaseError, match="'owner' occurs twice"):
        save(work)
    assert path.read_text().count('"owner"') == 4


def test_what_does_not_fit_is_refused_and_changes_nothing(path: Path) -> None:
    """Each error names the place."""
    work = work_on(path)
    wrong: list[tuple[Edit, str]] = [
        (SetText(case="nobody", where=("x",), text=""), "'nobody'"),
        (SetText(case="two", where=DATA, text=""), "not a single text"),
        (SetText(case="two", where=("conversation", 9, "user_content"), text=""), r"conversation\[9\]"),
        (RemoveCall(case="two", where=("conversation", 0, "user_content")), "is not a call"),
        (MoveCall(case="two", where=(*DATA, "tool_uses", 0), by=-1), "already the first call"),
        (MoveTurn(case="two", turn=1, by=1), "already the last one"),
        (SplitCase(case="two", turn=0, eval_id="x"), "cannot be split"),
        (MergeCases(case="two", other="two"), "itself"),
        (AddCall(case="two", turn=7, name="x", arguments={}, response=None), "turn 8 "),
    ]
    for edit, why in wrong:
        with pytest.raises(EditError, match=why):
            work.apply(edit)
    assert work.edits == ()
    assert not work.is_changed


def test_a_file_that_changed_meanwhile_is_not_written_over(path: Path) -> None:
    """Who saves on a file that somebody else has written is told, and theirs stays."""
    work = work_on(path)
    work.apply(DeleteCase(case="one"))
    theirs = path.read_bytes() + b" "
    path.write_bytes(theirs)
    with pytest.raises(ChangedOnDiskError):
        save(work)
    assert path.read_bytes() == theirs
    path.unlink()
    with pytest.raises(ChangedOnDiskError):
        save(work)


def test_two_savers_at_once_are_not_both_let_in(path: Path) -> None:
    """Of two who opened the same set one saves and the other is told."""
    works = [work_on(path), work_on(path)]
    for place, work in enumerate(works):
        work.apply(SetText(case="one", where=("conversation", 0, "user_content"), text=f"I am {place}"))

    def write(work: SetWork) -> str:
        try:
            save(work)
        except ChangedOnDiskError:
            return "told"
        return "saved"

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(write, works)) == ["saved", "told"]


def test_data_in_the_old_form_is_opened_and_saved_in_todays(tmp_path: Path) -> None:
    """The file stays as it is until it is saved; then a copy of the old text lies beside it."""
    old = tmp_path / "old.test.json"
    text = json.dumps([{"query": "Where?", "expected_tool_use": [], "reference": "There."}])
    old.write_text(text)
    work = work_on(old)
    (row,) = work.rows()
    assert row.query == "Where?"
    assert old.read_text() == text
    work.apply(RenameCase(case=row.key, eval_id="first"))
    saved = save(work)
    assert saved.converted_copy is not None
    assert saved.converted_copy.read_text() == text
    assert open_set(old).rows[0].eval_id == "first"


CASE = '{"eval_set_id": "x", "eval_cases": [{"eval_id": "a", "conversation": [], "x": %s}]}'


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]x", "7", '{"eval_set_id": "x", "eval_cases": [1]}'),
        *(CASE % "1" + "x", CASE % "1,", CASE % "[1 2]", CASE % ("[" * 5000), CASE % ("1" * 5000)),
        CASE % '"\\ud800"',
    ],
)
def test_what_is_no_eval_set_is_refused_with_the_reason(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    path = tmp_path / "broken.evalset.json"
    path.write_text(text)
    with pytest.raises(EvalSetError, match=r"broken\.evalset\.json: "):
        open_set(path)


def test_cases_with_one_id_are_told_apart(path: Path) -> None:
    """A set that holds an id twice can be opened, and mended by a new name."""
    path.write_text(path.read_text().replace('"two"', '"one"'))
    work = work_on(path)
    (_, second, _) = work.rows()
    assert second.key != second.eval_id == "one"
    work.apply(RenameCase(case=second.key, eval_id="two"))
    save(work)
    assert [row.eval_id for row in open_set(path).rows] == ["one", "two", "three"]


def test_the_app_of_a_case_is_named_in_either_spelling() -> None:
    """Empty where the case names none."""
    cases: list[dict[str, Any]] = [
        {"session_input": {"app_name": "desk"}},
        {"evalId": "a", "sessionInput": {"appName": "desk"}},
        {"session_input": None},
        {},
    ]
    assert [agent_of(case) for case in cases] == ["desk", "desk", "", ""]


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


RAW = b"""{ "eval_id":"a",  "n": 1.50e2,
  "text": "\\u00e4 \\/",
  "list": [ {"x": 1},{"x":2} ], "o": {}, "deep": {"a": [1,2], "b" : null} }"""


def test_only_the_value_that_differs_is_written() -> None:
    """Escapes, gaps and digits beside it stay."""
    before = json.loads(RAW)
    after = json.loads(RAW) | {"deep": {"a": [1, 2], "b": "new"}}
    assert spliced(RAW, before, after, Style()) == RAW.replace(b"null", b'"new"')
    after["list"][1]["x"] = {"y": "\u00e4"}
    wanted = RAW.replace(b"null", b'"new"').replace(b'"x":2', '"x":{"y": "\u00e4"}'.encode())
    assert spliced(RAW, before, after, Style()) == wanted


def test_what_comes_new_follows_the_last_member_with_its_gap() -> None:
    """A key of an object and an item of a list."""
    before, after = json.loads(RAW), json.loads(RAW)
    after["list"].append({"x": 3})
    after["deep"]["c"] = True
    wanted = RAW.replace(b'{"x":2}', b'{"x":2},{"x": 3}').replace(b'"b" : null', b'"b" : null, "c": true')
    assert spliced(RAW, before, after, Style()) == wanted


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([1.0, "", "\u00e4", "a\n,]}"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "\u00e4", "c,"]), inner, max_size=3),
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(["eval_id", "b", "\u00e4"]), _JSON, min_size=1)


@given(_OBJECTS, _OBJECTS, st.sampled_from([None, 1, 2, "\t"]), st.booleans())
def test_the_bytes_say_what_the_case_says(
    before: dict[str, Any], after: dict[str, Any], indent: Any, is_ascii: bool
) -> None:
    """In any layout, from any case to any other."""
    raw = json.dumps(before, indent=indent, ensure_ascii=is_ascii).encode()
    unit = indent if isinstance(indent, str) else " " * indent if indent else None
    made = spliced(raw, before, after, Style(unit=unit))
    assert json.dumps(json.loads(made)) == json.dumps(after)
    assert spliced(raw, before, before, Style(unit=unit)) == raw
