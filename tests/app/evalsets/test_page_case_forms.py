"""A case is corrected in fields and reviewed on its page, by who reads no JSON; unsaved edits outlive the server."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.context import StreamlitCookies

from app.evalsets.cases.case_fields import comment_name, edit_of, part_of
from app.evalsets.cases.review_panel import STATUS_WORDS
from app.evalsets.open_sets import EditedSets, edited_sets
from app.live.agent_catalogue import catalogue
from app.server.owners import COOKIE
from evalset.editing.case_edits import DeleteCase, DuplicateCase, RenameCase, SetText
from evalset.editing.opened_set import open_set
from evalset.editing.set_changes import changes
from evalset.editing.set_saving import save
from evalset.editing.sidecars import CaseReview, open_reviews, reviews_text
from evalset.files.eval_names import reviews_path
from evalset.recorded.recording_files import sidecar_of
from simulator.base.user_files import data_folder
from simulator.store import JournalStore
from tests.app.evalsets.set_tabs import on_set, same_address
from tests.app.page_driver import HOSTILE, Tab
from tests.evalset.editing.editing_sets import work_on, write_set


def turn_of_file(path: Path, **changed: Any) -> None:
    """Change the first turn of the first case in its file."""
    whole = json.loads(path.read_bytes())
    whole["eval_cases"][0]["conversation"][0] |= changed
    path.write_text(json.dumps(whole))


def test_a_call_and_rubrics_are_corrected_without_json(path: Path) -> None:
    """Nothing but the field that was changed differs; a new rubric gets an id, an empty one is refused."""
    before = json.loads(path.read_bytes())["eval_cases"]
    tab = on_set(path, "one").unfold("case_step_one_0_3").click("edit_one_0_3")
    assert not tab.app.text_area
    tab.fill("form0:json:0.order_id_", "A-2").click("part_accept")
    assert tab.has("edit_one_0_3")  # its label has changed, and it is still open
    tab.unfold("case_value_rubrics").click("edit_value_rubrics")
    tab.fill("rubric_0:json:0_", "It is brief.").click(tab.key("rubric_add_")).click("part_accept")
    assert len(tab.app.error) == 1
    tab.fill("rubric_1:json:0_", "It names the order.").click("part_accept")
    tab.click("set_save")
    case = before[0]
    case["conversation"][0]["intermediate_data"]["tool_uses"][1]["args"]["order_id"] = "A-2"
    case["rubrics"][0]["rubric_content"]["text_property"] = "It is brief."
    rubric = {"text_property": "It names the order."}
    case["rubrics"].append({"rubric_id": "rubric_1", "rubric_content": rubric})
    assert json.dumps(json.loads(path.read_bytes())["eval_cases"]) == json.dumps(before)


def test_a_field_that_says_nothing_usable_is_marked_and_nothing_is_lost(path: Path) -> None:
    """What is no number has no JSON either: the form stays until it is one. A list of records is a table."""
    lines = [{"sku": "pen", "qty": 2}, {"sku": "ink", "qty": 1}]
    data = {"tool_uses": [{"name": "track", "args": {"days": 3, "deep": None, "lines": lines}}]}
    turn_of_file(path, intermediate_data=data)
    tab = on_set(path, "one").unfold("case_step_one_0_1").click("edit_one_0_1")
    number = tab.app.text_input(key=tab.key("form0:json:0.days_"))
    number.set_value("3,5")
    tab.fill("json_as_json_", True)
    assert not tab.run().app.toggle(key=tab.key("json_as_json_")).value
    for name, said in (("days ", "another field has this name"), ("new", "fix the fields")):
        add(tab, "json:0", name, "Text")
        assert said in tab.literal
    assert tab.click("part_accept").app.error
    (table,) = tab.app.data_editor
    done = {"edited_rows": {0: {"qty": "3,000"}}, "added_rows": [], "deleted_rows": []}
    tab.app.session_state[str(table.key)] = done
    tab.fill("form0:json:0.days_", "4").click("part_accept")
    assert tab.app.error
    assert "1 \u203a qty: " in tab.literal
    tab.fill("json_as_json_", True)
    assert tab.app.data_editor
    done["edited_rows"] = {0: {"qty": "3"}}
    tab.app.session_state[str(table.key)] = done
    tab.run().click("part_accept")
    work = edited_sets().of("local", path).work
    (call,) = work.case("one")["conversation"][0]["intermediate_data"]["tool_uses"]
    assert json.dumps(call["args"]["lines"]) == json.dumps([{"sku": "pen", "qty": 3}, lines[1]])
    assert (call["args"]["days"], call["args"]["deep"]) == (4, None)


def test_what_is_typed_over_a_column_of_nulls_keeps_its_type(path: Path) -> None:
    """A number stays one, and null stays null, as in the form of a decision."""
    lines = [{"sku": "pen", "fee": None}, {"sku": "ink", "fee": None}]
    turn_of_file(path, intermediate_data={"tool_uses": [{"name": "track", "args": {"lines": lines}}]})
    tab = on_set(path, "one").unfold("case_step_one_0_1").click("edit_one_0_1")
    tab.fill("json:form0:json:0.lines:0.fee_", "5").run().click("part_accept")
    work = edited_sets().of("local", path).work
    (call,) = work.case("one")["conversation"][0]["intermediate_data"]["tool_uses"]
    assert json.dumps(call["args"]["lines"]) == json.dumps([{"sku": "pen", "fee": 5}, lines[1]])


def test_a_response_says_what_became_of_its_call(path: Path) -> None:
    """It failed, or the user rejected the call: as the response and the recording have it."""
    case = json.loads(path.read_bytes())["eval_cases"][0]
    data = case["conversation"][0]["intermediate_data"]
    data["tool_responses"][0]["response"] = {"error": "The order is locked."}
    turn_of_file(path, intermediate_data=data)
    tab = on_set(path, "one")
    assert tab.steps_marked(" failed") == 1
    assert [each.icon for each in tab.app.expander].count(":material/error:") == 1
    sidecar = sidecar_of(path)
    whole = json.loads(sidecar.read_bytes())
    turn = whole["cases"]["one"]["turns"][0]
    called = turn["calls"].pop(0)
    names = ("id", "tool", "agent", "arguments")
    turn["rejected"] = [
        {name: called[name] for name in names if name in called} | {"confirmed": {"confirmed": False}}
    ]
    sidecar.write_text(json.dumps(whole))
    assert on_set(path, "one").steps_marked(" rejected by the user") == 1


@pytest.mark.long
def test_blanks_and_what_is_unknown_are_marked_where_the_case_is_shown(path: Path) -> None:
    """The response that holds a blank names its place until somebody fills it in; what is compared with nothing is named."""
    leave_blank(path)
    sidecar = sidecar_of(path)
    whole = json.loads(sidecar.read_bytes())
    whole["cases"]["one"]["final_state"] = None
    sidecar.write_text(json.dumps(whole))
    cases = json.loads(path.read_bytes())
    cases["eval_cases"][0] |= {"final_session_state": {}}
    path.write_text(json.dumps(cases))
    turn_of_file(path, final_response=None)
    tab = on_set(path, "one")
    assert tab.steps_marked("1 blank]") == 1
    assert "the final response of turn 1, the final state" in tab.words
    assert "status" in tab.unfold("case_step_one_0_2").literal.splitlines()
    tab.click("edit_one_0_2").fill("are_right_part-one", True).click("part_accept")
    assert "status" not in tab.literal.splitlines()
    work = edited_sets().of("local", path).work
    assert work.held("one").recorded.turns[0].calls[0].author.source == "edited"  # type: ignore[union-attr] # it is recorded
    (change,) = changes(work).cases
    assert (change.words, change.before.removeprefix(change.after).strip().endswith("at $.status")) == (("blanks",), True)  # fmt: skip
    tab.click("set_undo")
    assert "status" in tab.literal.splitlines()
    tab.click("edit_one_0_2").fill("form0:json:0.status_", "lost").click("part_accept")
    assert "status" not in tab.literal.splitlines()
    assert not tab.steps_marked("blank]")


@pytest.mark.long
def test_fields_are_added_and_removed_and_no_other_byte_changes(path: Path) -> None:
    """In a value that no schema describes; an empty object and one with a table have them, too."""
    given = {"at": "Rome", "big": 1e22, "legs": [{"to": "Oslo"}], "dims": {"w": 1, "h": 2}, "tags": []}
    data = {"tool_uses": [{"name": "track", "args": {}, "id": "t"}]}
    data["tool_responses"] = [{"id": "t", "name": "track", "response": given}]
    turn_of_file(path, intermediate_data=data)
    before = path.read_text()
    tab = on_set(path, "one").unfold("case_step_one_0_2").click("edit_one_0_2")
    tab.click(tab.key("form0:json:0.at:drop")).click(tab.key("form0:json:1.dims.w:drop"))
    tab.click(tab.key("form0:json:2.legs:drop"))
    add(tab, "json:3", "at", "Whole number")
    tab.fill("form0:json:4.at_", None)
    assert tab.click(tab.key("form0:json:4.dims.h:drop")).keys("form0:json:4.dims.h:drop")
    tab.fill("form0:json:4.at_", "7").click(tab.key("form0:json:4.tags:add")).fill(
        "form0:json:4.tags:0_", "x"
    )
    tab.click("part_accept").unfold("case_step_one_0_1").click("edit_one_0_1")
    add(tab, "json:0", "stay", "Group of fields")
    add(tab, "json:1", "nights", "List of texts", where=1)
    tab.fill("form0:json:2.stay.nights:0_", "Friday")
    tab.click("part_accept").click("set_save")
    data["tool_uses"][0]["args"] = {"stay": {"nights": ["Friday"]}}
    data["tool_responses"][0]["response"] = {"big": 1e22, "dims": {"h": 2}, "tags": ["x"], "at": 7}
    case = json.loads(before)["eval_cases"][0]
    case["conversation"][0]["intermediate_data"] = data
    assert json.dumps(json.loads(path.read_text())["eval_cases"][0]) == json.dumps(case)
    assert '"big": 1e+22' in path.read_text()


def add(tab: Tab, form: str, name: str, kind: str, where: int = 0) -> None:
    """Add a field in the form whose inputs begin like this, to the object with this number."""
    tab.fill(f"{form}:add_name", name)
    tab.fill(f"{form}:add_kind", kind)
    if where:
        tab.fill(f"{form}:add_where", where)
    tab.click(tab.key(f"{form}:add_now"))


def test_a_message_of_several_parts_is_edited_part_by_part(path: Path) -> None:
    """What is no text stays as it is; an editor that is left without a change makes no edit."""
    parts: list[Any] = [
        {"text": HOSTILE},
        {"inline_data": {"data": "AA==", "mime_type": "a/b"}},
        {"text": "b"},
    ]
    turn_of_file(path, user_content={"role": "user", "parts": parts})
    tab = on_set(path, "one").unfold("case_step_one_0_0").click("edit_one_0_0").click("part_accept")
    work = edited_sets().of("local", path).work
    assert not work.edits
    tab.click("edit_one_0_0").app.text_area(key=tab.key("text_2_")).input("c")
    assert [each for each in tab.app.get("bidi_component") if "line_of_tab" in str(each.proto)]  # keeps it
    assert tab.live_marks() == []
    tab.click("part_accept")
    parts[2] = {"text": "c"}
    assert work.case("one")["conversation"][0]["user_content"] == {"role": "user", "parts": parts}


@pytest.mark.long
def test_a_message_and_a_response_that_are_missing_are_written_as_texts(path: Path) -> None:
    """A golden without an expected response gets one without JSON; so does a turn in which a message has no text yet."""
    turn_of_file(path, user_content={"role": "user", "parts": None}, final_response=None)
    tab = on_set(path, "one").unfold("case_step_one_0_0").click("edit_one_0_0").click("part_accept")
    work = edited_sets().of("local", path).work
    assert not work.edits
    for _ in range(2):  # what was typed is gone once it is taken: an undo shows the case as it was
        assert tab.click("edit_one_0_0").typed("text_part-one") == ""
        tab.fill("text_part-one", "Where is A-1?").click("part_accept")
        tab.click("set_undo").unfold("case_step_one_0_0")
    tab.click("set_redo").unfold("turn_menu_0").click("turn_final_0")
    assert "turn 1" in tab.words
    tab.fill("text_part-one", "In Rome.").click("part_accept").click("set_save")
    turn = json.loads(path.read_bytes())["eval_cases"][0]["conversation"][0]
    assert turn["user_content"] == {"role": "user", "parts": [{"text": "Where is A-1?"}]}
    assert turn["final_response"] == {"role": "model", "parts": [{"text": "In Rome."}]}
    assert not tab.unfold("turn_menu_0").has("turn_final_0")


def test_two_tabs_edit_one_case_and_nothing_is_lost_without_a_word(path: Path) -> None:
    """A form is its tab's own. A click on an older state is carried out; where it does not fit, the page says so, and keeps what was typed."""
    first, second = (on_set(path, "one").unfold("case_step_one_0_0") for _ in range(2))
    work = edited_sets().of("local", path).work
    first.click("edit_one_0_0").fill("text_part-one", "First's?")
    second.click("note_edit").fill("text_part-one", "A note").click("part_accept")
    assert work.note("one").text == "A note"
    second.unfold("case_step_one_0_0").click("edit_one_0_0").fill("text_part-one", "Second's?")
    first.click("part_accept")
    assert work.row("one").query == "First's?"
    second.click("part_accept")
    assert "not applied" in second.words
    assert "First's?" in second.literal
    again = same_address(second)
    again.click("case_after").click("case_before").unfold("case_step_one_0_2").click("comment_one_0_2")
    again.unfold("case_step_one_0_0").click("edit_one_0_0")
    assert [tab.typed("text_part-one") for tab in (second, again)] == ["Second's?"] * 2
    assert work.row("one").query == "First's?"
    second.click("part_accept")
    assert work.row("one").query == "Second's?"
    for tab in (first, second):
        tab.fill("name_reviewer", "Ann").run()
    first.fill("review_as_none_one", "approved").run()
    second.fill("review_as_none_one", "changes_requested").run()
    assert work.review("one").status == "changes_requested"
    assert "changed elsewhere" in second.words
    first.unfold("case_step_one_0_3")
    second.unfold("case_step_one_0_3").click("edit_one_0_3").fill("form0:json:0.order_id_", "A-9")
    first.click("remove_one_0_3")
    calls = len(work.case("one")["conversation"][0]["intermediate_data"]["tool_uses"])
    second.click("part_accept")
    assert second.app.warning
    assert not second.click("part_cancel").has("part_cancel")
    second.unfold("case_step_one_0_1")
    first.click("set_undo")
    refused = second.click("remove_one_0_1")
    assert refused.app.error
    assert len(work.case("one")["conversation"][0]["intermediate_data"]["tool_uses"]) == calls + 1
    assert not second.click("remove_one_0_1").app.error
    assert len(work.case("one")["conversation"][0]["intermediate_data"]["tool_uses"]) == calls


@pytest.mark.long
def test_a_case_is_reviewed_and_found_by_its_status(path: Path) -> None:
    """Status, name and comments stand on the case and in the list, are saved beside the set, and undone."""
    tab = on_set(path, "one").unfold("case_step_one_0_2").click("comment_one_0_2")
    assert "Comment, turn 1, call 1" in tab.words
    tab.fill("text_part-one", HOSTILE)
    tab.fill("name_reviewer", "Ann").click("part_accept")
    assert HOSTILE in tab.literal
    assert tab.live_marks() == []
    tab.fill("review_as_none_one", "approved")
    assert "Ann" in tab.run().words
    work = edited_sets().of("local", path).work
    (comment,) = work.review("one").comments
    assert (comment.by, comment.turn, comment.call, comment.call_id) == ("Ann", 1, 1, "c1")
    tab.click("review_save")  # next to the status, with all other edits
    assert not work.is_changed
    assert not tab.keys("review_unsaved")
    tab.unfold("case_step_one_0_6").click("edit_one_0_6")
    tab.fill("text_part-one", "No.")
    assert ":material/history:" in tab.click("part_accept").words
    shown = STATUS_WORDS["approved"]
    assert f":material/rate_review: {shown}" not in tab.words
    assert re.search(rf"{shown} .*, 1 ", tab.click("case_back").literal)
    assert f"{shown}, 1 " in tab.click("set_undo").literal
    tab.fill("case_reviews", ["none"])
    assert "2 of 3 cases" in tab.run().words
    review = open_reviews(path).reviews["one"]
    assert (review.status, review.reviewer) == ("approved", "Ann")
    tab.click("set_undo")
    assert not work.review("one").status


def test_a_status_of_another_person_is_replaced_only_by_who_was_told_of_it(path: Path) -> None:
    """In another tab, also where it was drawn before, and on the disk: who set what is named, and the status stays until one is chosen."""
    first, second = (on_set(path, "one") for _ in range(2))
    first.fill("name_reviewer", "Ann").fill("review_as_none_one", "approved").run()
    second.fill("name_reviewer", "Bob").fill("review_as_none_one", "changes_requested").run()
    work = edited_sets().of("local", path).work
    assert work.review("one").reviewer == "Ann"
    assert "Ann, approved" in second.literal
    second.fill("review_as_approved_one", "changes_requested").run()
    assert (work.review("one").status, work.review("one").reviewer) == ("changes_requested", "Bob")
    assert not second.app.error
    reviews_path(path).write_bytes(reviews_text({"one": CaseReview(status="approved", reviewer="Carl")}))
    assert "Theirs: Carl, approved" in second.run().literal
    assert second.app.button(key="conflict_merge").disabled
    second.fill("whose_status_one", "Theirs").run().click("conflict_merge")
    found = edited_sets().of("local", path).work.review("one")
    assert (found.status, found.reviewer, found.comments[-1].by) == ("approved", "Carl", "Bob")


def test_who_reviews_is_known_in_a_browser_after_a_restart(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In that browser alone, on the page of any set; its id is written nowhere."""
    second = write_set(tmp_path / "second.evalset.json")
    names: dict[str, object] = {}
    for browser, at, typed in (("a", path, "Ann"), ("b", path, "Bob"), ("a", second, ""), ("b", second, "")):
        cookies = StreamlitCookies({COOKIE: browser * 43})
        monkeypatch.setattr(type(st.context), "cookies", cookies)
        edited_sets().clear()
        tab = on_set(at, "one")
        if typed:
            tab.fill("name_reviewer", typed).run()
        names[browser] = tab.app.text_input(key=tab.key("name_reviewer")).value
    assert names == {"a": "Ann", "b": "Bob"}
    assert "a" * 43 not in (data_folder(os.environ) / "reviewers.json").read_text()


def test_a_status_has_a_name_and_names_the_blanks(path: Path) -> None:
    """Without a name nothing is set, and the page says so; with another name, the chosen status gets that name, and is not removed."""
    leave_blank(path)
    tab = on_set(path, "one")
    tab.fill("review_as_none_one", "approved")
    assert tab.run().app.error
    work = edited_sets().of("local", path).work
    assert not work.edits
    tab.fill("name_reviewer", "Ann").fill("review_as_none_one", "approved").run()
    assert (work.review("one").status, work.review("one").reviewer) == ("approved", "Ann")
    assert not tab.app.error
    assert "1 blank" in tab.words
    assert "Has blanks" in tab.words
    (listed,) = on_set(path).app.dataframe
    assert ["has blanks" in each for each in listed.value["info"]] == [True, False, False]
    work.apply(SetText(case="one", where=QUERY, text="Later?"))
    (status,) = [one for one in tab.run().app.button_group if str(one.key).startswith("review_as_")]
    assert ("before the last change" in tab.words, status.value) == (True, None)
    tab.fill("review_as_", "approved").run()  # one click approves the case as it is
    assert ("before the last change" in tab.words, work.review("one").status) == (False, "approved")
    for name, left in (("Bob", ("approved", "Bob")), ("Bob", ("", ""))):
        tab.fill("name_reviewer", name).fill("review_as_approved_one", None).run()
        assert (work.review("one").status, work.review("one").reviewer) == left
    assert "1 blank" not in tab.words


def leave_blank(path: Path, blank: str = "$.status") -> None:
    """Let the first recorded response of the case hold a blank."""
    sidecar = sidecar_of(path)
    whole = json.loads(sidecar.read_bytes())
    whole["cases"]["one"]["turns"][0]["calls"][0]["author"] = {"source": "generated", "blanks": [blank]}
    sidecar.write_text(json.dumps(whole | {"version": 6}))


def test_a_comment_needs_a_text(path: Path) -> None:
    """It is taken without the blanks around it, with its step and who wrote it; others stay.

    A damaged file of reviews is named with the reason, and there is no way to write over it.
    """
    reviews_path(path).write_text("{")
    tab = on_set(path, "one").unfold("case_step_one_0_2")
    assert f"{reviews_path(path)}: " in tab.literal
    assert not [*tab.keys("review_as_"), *tab.keys("comment_one")]
    reviews_path(path).unlink()
    work = work_on(path)
    part = part_of(work, "one", comment_name(0, 0))
    assert part is not None
    typed = {"text": " Why? ", "by": " Ann ", "at": ""}
    with pytest.raises(ValueError, match="enter a text"):
        edit_of("one", part, {**typed, "text": " "}, work)
    for count in (1, 2):
        work.apply(edit_of("one", part, typed, work))
        found = [(each.text, each.by, each.turn) for each in work.review("one").comments]
        assert found == [("Why?", "Ann", 1)] * count


def test_a_new_call_has_the_fields_of_the_tools_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools of an agent that is loaded are a choice; what its schema requires has to be filled in."""
    monkeypatch.setattr(sys, "argv", ["main.py"])
    catalogue().config("order_desk")
    tab = on_set(path, "one")
    tab.app.session_state["play_agent"] = "order_desk"
    tab.run().unfold("turn_menu_0").click("turn_add_0")
    tab.type("name_part-one", "other")  # what is typed stays, once the field is left
    assert tab.app.text_input(key=tab.key("name_part-one")).value == "other"
    tab.fill("name:suggested_part-one", "cancel_order").run()
    (order,) = [key for key in tab.run().keys("form0:json:0:") if ".order_id_" in key]
    tab.app.text_input(key=order).input("A-7")
    tab.fill("responds_part-one", False).run().click("part_accept")
    assert not tab.app.error
    work = edited_sets().of("local", path).work
    call = work.case("one")["conversation"][0]["intermediate_data"]["tool_uses"][-1]
    assert (call["name"], call["args"]["order_id"]) == ("cancel_order", "A-7")


_NOTES: list[Any] = ["TODO", None, {"name": 3, "parts": "x", "args": "y", "response": 1}]
_CASE = ("session_input", "final_session_state", "rubrics", "conversation_scenario")
_TURN = ("user_content", "final_response", "rubrics")
_INNER = ("tool_uses", "tool_responses", "intermediate_responses")


@pytest.mark.parametrize(
    ("odd", "names"),
    [
        (_NOTES, ("data", "events")),
        pytest.param(_NOTES, ("parts", "conversation"), marks=pytest.mark.long),
        pytest.param(3, ("parts", "conversation", "data", "events"), marks=pytest.mark.long),
    ],
)
def test_a_case_that_is_still_being_written_is_shown_and_can_be_edited(
    path: Path, odd: Any, names: tuple[str, ...]
) -> None:
    """A person leaves a note in the place of a call, or a number in the place of a text: each part opens, and stays as it is."""
    whole = json.loads(path.read_bytes())
    good = whole["eval_cases"][0]
    turn = good["conversation"][0]
    odd_cases: dict[str, dict[str, Any]] = {
        "parts": good
        | dict.fromkeys(_CASE, odd)
        | {
            "conversation": [
                turn | dict.fromkeys(_TURN, odd) | {"intermediate_data": dict.fromkeys(_INNER, odd)}
            ]
        },
        "conversation": good | {"conversation": odd},
        "data": good | {"conversation": [turn | {"intermediate_data": odd}]},
        "events": good | {"conversation": [turn | {"intermediate_data": {"invocation_events": odd}}]},
    }
    whole["eval_cases"] = [case | {"eval_id": name} for name, case in odd_cases.items()]
    path.write_text(json.dumps(whole))
    for name in names:
        tab = on_set(path, name)
        for step in [*tab.keys("case_step_"), *tab.keys("case_value_")]:
            tab.app.session_state[step] = True
        for key in tab.run().keys("edit_"):
            if key.startswith("edit_value_") and name != "parts":
                continue
            tab.click(key)
            assert tab.has("part_cancel"), (name, key)
            assert not tab.click("part_accept").has("part_cancel"), (name, key)
    assert not edited_sets().of("local", path).work.edits


def test_a_file_in_a_message_is_shown_and_not_its_bytes(path: Path) -> None:
    """A picture as a picture, in either spelling of ADK's files."""
    picture = base64.b64encode(bytes(600)).decode()
    parts = [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": picture}}]
    turn_of_file(path, user_content={"parts": parts})
    tab = on_set(path, "one").unfold("case_step_one_0_0")
    assert "Look\n[file, image/png, 600 bytes]" in tab.literal
    assert picture not in tab.literal
    (image,) = tab.app.get("image")
    assert image.proto.imgs[0].url == f"data:image/png;base64,{picture}"
    assert len(tab.keys("case_file_")) == 1


QUERY = ("conversation", 0, "user_content")


@pytest.fixture
def kept_path(store: JournalStore, path: Path) -> Path:
    """A set of three cases, and a store."""
    assert store.trouble is None
    edited_sets().clear()
    return path


def edited(kept_path: Path, text: str = "Edited?") -> Tab:
    """Edit a case, and let the page be drawn."""
    tab = on_set(kept_path)
    edited_sets().of("local", kept_path).work.apply(SetText(case="one", where=QUERY, text=text))
    return tab.run()


def test_unsaved_edits_are_there_again(kept_path: Path) -> None:
    """All that was drawn with them is in the store, undone edits too; the page says since when, and a save ends it."""
    tab = edited(kept_path)
    edited_sets().of("local", kept_path).work.apply(DeleteCase(case="two"))
    tab.run().click("set_undo")
    before = edited_sets().of("local", kept_path).work
    edited_sets().clear()
    tab = on_set(kept_path)
    work = edited_sets().of("local", kept_path).work
    assert work is not before
    assert (work.edits, work.undone, work.state.order) == (before.edits, before.undone, before.state.order)
    assert work.case("one") == before.case("one")
    assert tab.has("set_discard")
    assert not tab.has("conflict_merge")
    tab.click("set_redo").click("set_save").click("save_set")  # a case is deleted
    assert [row.eval_id for row in open_set(kept_path).rows] == ["one", "three"]
    edited_sets().clear()
    tab = on_set(kept_path)
    assert not tab.has("set_discard")
    assert not edited_sets().of("local", kept_path).work.is_changed


@pytest.mark.long
def test_edits_are_their_authors_alone_and_dropped_with_a_click(kept_path: Path, tmp_path: Path) -> None:
    """Another process finds them as soon as the page is there, and somebody else does not; dropped, they are gone for good."""
    before = kept_path.read_bytes()
    edited(kept_path)
    other = JournalStore.open(tmp_path / "sessions.db")
    left = other.unsaved("local", str(kept_path))
    other.close()
    assert left is not None
    assert "Edited?" in left.body
    assert left.base == before
    edited_sets().clear()
    assert not EditedSets().of("somebody else", kept_path).work.is_changed
    tab = on_set(kept_path)
    assert edited_sets().of("local", kept_path).work.is_changed
    assert not tab.click("set_discard").has("set_discard")
    assert not edited_sets().of("local", kept_path).work.is_changed
    edited_sets().clear()
    assert not on_set(kept_path).has("set_discard")
    assert kept_path.read_bytes() == before


@pytest.mark.parametrize("undoes", [False, True])
def test_what_was_edited_after_a_save_is_there_again(kept_path: Path, *, undoes: bool) -> None:
    """The edits are those since the save, on the cases as they are called now; a save that was undone is gone another way from."""
    tab = on_set(kept_path)
    work = edited_sets().of("local", kept_path).work
    work.apply(RenameCase(case="one", eval_id="first"))
    work.apply(DuplicateCase(case="two", eval_id="copy"))
    save(work)
    if undoes:
        work.undo()
    else:
        work.apply(SetText(case="copy", where=QUERY, text="Copied?"))
    work.apply(SetText(case="one", where=QUERY, text="Later?"))
    tab.run()
    edited_sets().clear()
    tab = on_set(kept_path)
    found = edited_sets().of("local", kept_path).work
    assert tab.has("set_discard")
    assert not tab.has("conflict_merge")
    assert found.is_changed
    assert [row.eval_id for row in found.rows()] == ["first", "two", *["copy"][undoes:], "three"]
    save(found)
    text = kept_path.read_text(encoding="utf-8")
    assert ("Later?" in text, "Copied?" in text) == (True, not undoes)


def test_a_file_that_changed_meanwhile_is_merged(kept_path: Path) -> None:
    """The page offers what it offers of any file that somebody else has changed."""
    edited(kept_path, "Mine?")
    edited_sets().clear()
    kept_path.write_text(
        kept_path.read_text(encoding="utf-8").replace("Where is A-1?", "Theirs?"), encoding="utf-8"
    )
    tab = on_set(kept_path)
    assert tab.has("set_discard")
    (shown,) = [one.value for one in tab.app.markdown if "Theirs" in one.value]
    assert ":red-background[~~Theirs~~]:green-background[**Mine**]?" in shown
    assert tab.app.button(key=tab.key("conflict_merge")).disabled
    tab.fill("whose_one", "Mine").run().click("conflict_merge")
    work = edited_sets().of("local", kept_path).work
    assert work.row("one").query == "Mine?"
    edited_sets().clear()
    tab = on_set(kept_path)
    assert edited_sets().of("local", kept_path).work.row("one").query == "Mine?"
    assert not tab.has("conflict_merge")


def test_both_versions_of_a_case_are_compared_before_one_is_chosen(kept_path: Path) -> None:
    """By field, with the words that differ; a case that one side deleted has no fields to compare, and the same edit on both sides asks nothing."""
    edited(kept_path, "Where is order A-1 now?")
    work = edited_sets().of("local", kept_path).work
    work.apply(DeleteCase(case="two"))
    work.apply(SetText(case="three", where=QUERY, text="Both?"))
    theirs = json.loads(kept_path.read_text(encoding="utf-8"))
    for case, text in zip(theirs["eval_cases"], ("Where is A-1 today?", "Theirs?", "Both?"), strict=True):
        case["conversation"][0]["user_content"]["parts"][0]["text"] = text
    kept_path.write_text(json.dumps(theirs), encoding="utf-8")
    tab = on_set(kept_path)
    (shown,) = [one.value for one in tab.app.markdown if "today" in one.value]
    words = (" :green-background[**order**]", "A-1 :red-background[~~today~~]:green-background[**now**]?")
    assert all(each in shown for each in words)
    tab.fill("whose_one", "Theirs").run()
    assert tab.app.button(key=tab.key("conflict_merge")).disabled
    tab.fill("whose_two", "Mine").run().click("conflict_merge")
    work = edited_sets().of("local", kept_path).work
    assert [(row.eval_id, row.query) for row in work.rows()] == [
        ("one", "Where is A-1 today?"),
        ("three", "Both?"),
    ]


def test_edits_that_cannot_be_read_are_shown_and_stay(kept_path: Path, store: JournalStore) -> None:
    """The page says why, gives them as a file, and drops them only when it is asked to."""
    store.put_unsaved("local", str(kept_path), '{"version": 9}', kept_path.read_bytes())
    for _ in range(2):
        tab = on_set(kept_path)
        assert tab.app.warning
        assert tab.has("set_edits")
        edited_sets().clear()
    tab = on_set(kept_path).click("set_discard")
    assert not tab.app.warning
    assert store.unsaved("local", str(kept_path)) is None
