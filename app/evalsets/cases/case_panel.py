"""One case of a set: its timeline, and beside it the editor of a part, or what is done with the case as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app.evalsets.cases.case_fields import ADD, NOTE, RENAME, comment_name, name_of, part_of
from app.evalsets.cases.case_forms import OpenPart
from app.evalsets.cases.case_search import found_keys
from app.evalsets.cases.part_panel import part_editor
from app.evalsets.cases.review_panel import (
    call_number,
    comment_lines,
    comments_at,
    review_panel,
    status_badge,
)
from app.evalsets.cases.rubrics_panel import sentences_of
from app.evalsets.run.verify_jobs import tolerance_words
from app.evalsets.set_context import (
    STEP_ICONS,
    ApplyEdits,
    EditPart,
    OpenCase,
    PlayCase,
    SetCommand,
    SetContext,
    StepMark,
    step_value,
)
from app.forms.common_panel import pane, shown_file, unfolding
from app.forms.form_reading import place_in_words
from app.forms.safe_labels import literal, safe_label
from app.forms.shown_values import values_line
from app.forms.value_editor_widgets import value_or_json
from app.forms.widget_store import slug
from app.session import page_state
from app.session.named_view_widgets import named_page, page_choice
from app.session.provenance_labels import BLANKS, UNCERTAIN, blank_word
from evalset.editing.case_edits import (
    DeleteCase,
    DuplicateCase,
    MergeCases,
    MoveCall,
    MoveCase,
    MoveTurn,
    RemoveCall,
    RemoveTurn,
    SplitCase,
)
from evalset.editing.case_parts import (
    Case,
    CaseStep,
    Where,
    agent_of,
    field,
    is_plain_text,
    listed,
    steps_of,
    text_of,
    turns_of,
)
from evalset.editing.followed_edits import unsure_answers
from evalset.editing.set_changes import StepNote, step_notes, steps_as_said
from evalset.editing.sidecars import CaseComment
from evalset.files.eval_names import unique_eval_id, usable_eval_id
from evalset.recorded.recorded_turns import untold_words
from evalset.recorded.recording import RecordedCase, end_state, unknown_parts, unknown_words
from simulator.environment.conventions import is_error
from simulator.environment.drafts.draft import SURE, Unsure
from simulator.session.adk_event_fields import message_text
from simulator.session.history import files_in

COLUMNS = (1.25, 1)


def case_page(
    scene: SetContext,
    key: str,
    part: OpenPart | None,
    runs: Callable[[], SetCommand | None] = lambda: None,
    found: Callable[[], Mapping[Where, StepMark]] = dict,
) -> SetCommand | None:
    """Draw the case with this key, and the editor of a part of it; return what was asked for.

    `runs` does so for what is run on the case, and `found` gives what that found about steps.
    """
    asked = _head(scene, key)
    asked = runs() or asked
    left, right = st.columns(COLUMNS, gap="small")
    agent = _agent(scene, key)
    with right, pane("case_side"):
        if part is not None:
            failed = page_state.get("part_failed")
            asked = part_editor(scene, key, part, str(failed) if failed else None, agent) or asked
        else:
            asked = _of_case(scene, key, agent) or asked
    with left:
        return case_timeline(scene, key, agent, found()) or asked


def _agent(scene: SetContext, key: str) -> str:
    """Return the agent that plays the case: the one that was chosen, else the one that the case names, else the set's."""
    chosen = st.session_state.get("play_agent")
    if chosen in scene.agents:
        return str(chosen)
    named = agent_of(scene.work.case(key))
    return named if named in scene.agents else next(iter(scene.agents), "")


def _order(scene: SetContext, key: str) -> Sequence[str]:
    """Return the cases to go through: those that were found in the table, in its order, if the case is one of them."""
    keys = scene.work.state.order
    there = set(keys)
    left = [each for each in found_keys(scene) if each in there]
    return left if key in left else keys


def _head(scene: SetContext, key: str) -> SetCommand | None:
    row, order = scene.work.row(key), _order(scene, key)
    place = order.index(key)
    asked: SetCommand | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="case_head"):
        if st.button("All cases", key="case_back", icon=":material/arrow_back:", type="tertiary"):
            asked = OpenCase()
        with st.container(key="case_title", width="content"):
            st.text(literal(row.eval_id), wrap=False)
        if scene.work.is_recorded(key):
            st.badge("Recorded", icon=":material/radio_button_checked:", color="green")
        if scene.work.blanks(key):
            st.badge("Has blanks", icon=":material/help_center:", color="orange")
        status_badge(scene.work.review(key), scene.work.case(key))
        for tag in scene.work.note(key).tags:
            st.badge(safe_label(tag, 24), color="gray")
        st.space("stretch")
        found = " found" if len(order) < len(scene.work.state.order) else ""
        st.caption(f"{place + 1:,} of {len(order):,}{found}", width="content")
        if st.button(
            "Previous case",
            icon=":material/chevron_left:",
            key="case_before",
            type="tertiary",
            disabled=not place,
            help="Previous case",
        ):
            asked = OpenCase(key=order[place - 1])
        is_last = place + 1 == len(order)
        if st.button(
            "Next case",
            icon=":material/chevron_right:",
            key="case_after",
            type="tertiary",
            disabled=is_last,
            help="Next case",
        ):
            asked = OpenCase(key=order[place + 1])
    return asked


def _of_case(scene: SetContext, key: str, agent: str) -> SetCommand | None:
    asked = None if scene.work.reviews.trouble else review_panel(scene, key)
    asked = _play(scene, key, agent) or asked
    asked = _note(scene, key) or asked
    _tolerances(scene, key)
    return _ways(scene, key) or _merge(scene, key) or asked


def _play(scene: SetContext, key: str, agent: str) -> SetCommand | None:
    """Draw the way into the simulator."""
    case = scene.work.case(key)
    turns = len(turns_of(case))
    st.markdown("**Open in the simulator**")
    if not turns:
        st.caption("A scenario has no steps to play. Start a session and set the user to Scenario there.")
        return None
    if not scene.agents:
        st.caption("No agent to play this case. Start the studio with a folder of agents.")
        return None
    recorded = " Tool calls are answered from the recording." if scene.work.is_recorded(key) else ""
    st.caption(
        f"Plays the case up to the end of a turn. You continue from there.{recorded} To stop earlier, use **Play to here** on a "
        "step."
    )
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key="play_line"):
        options = list(scene.agents)
        chosen = st.selectbox(
            "Agent",
            options,
            index=options.index(agent) if agent in options else 0,
            key="play_agent",
            format_func=literal,
        )
        until = st.selectbox(
            "Up to",
            range(turns),
            index=turns - 1,
            key="play_turn",
            format_func=lambda turn: f"the end of turn {turn + 1}",
        )
        played = st.button("Open", key="play_case", icon=":material/play_circle:")
    turn = min(until if until is not None else turns - 1, turns - 1)
    return PlayCase(agent=chosen, key=key, turn=turn, steps=len(steps_of(case, turn))) if played else None


def _note(scene: SetContext, key: str) -> SetCommand | None:
    note = scene.work.note(key)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="note_line"):
        st.markdown("**Note**", width="content")
        edited = st.button("Edit", key="note_edit", icon=":material/edit:", type="tertiary")
    if note.text:
        st.text(literal(note.text))
    elif not edited:
        st.caption("No note yet. A note and tags are stored next to the set. You can filter cases by tag.")
    return EditPart(name=NOTE) if edited else None


def _tolerances(scene: SetContext, key: str) -> None:
    """Show what a replay of the case may do otherwise than recorded."""
    if not scene.work.is_recorded(key):
        return
    from evalset.verify import VerifyError, tolerances_of  # noqa: PLC0415 - not before somebody looks there

    try:
        found = tolerances_of(scene.path, scene.work.row(key).eval_id)
    except VerifyError:  # said above the page
        return
    if found:
        st.markdown("**Tolerances**")
        st.text(literal("\n".join(map(tolerance_words, found))))
        st.caption("To change them, verify the set in its tab **Run** and open **Tolerances of this case**.")


def _ways(scene: SetContext, key: str) -> SetCommand | None:
    order = scene.work.state.order
    place = order.index(key)
    asked: SetCommand | None = None
    st.markdown("**This case**")
    with st.container(horizontal=True, gap="xsmall", key="case_ways"):
        if st.button("Duplicate", key="case_duplicate", icon=":material/content_copy:"):
            asked = ApplyEdits(
                edits=(DuplicateCase(case=key, eval_id=free_id(scene, key, "copy")),), then="new"
            )
        other = next((each for each in (*_order(scene, key), *order) if each != key), None)
        if st.button(
            "Compare",
            key="case_compare",
            icon=":material/compare_arrows:",
            disabled=other is None,
            help="Shows this case next to another one" if other else "The set has no other case",
        ):
            asked = OpenCase(key=key, other=other)
        if st.button("Rename", key="case_rename", icon=":material/label:"):
            asked = EditPart(name=RENAME)
        if st.button("Edit as JSON", key="case_json", icon=":material/data_object:"):
            asked = EditPart(name=name_of(()))
        if st.button("Move up", key="case_up", icon=":material/arrow_upward:", disabled=not place):
            asked = ApplyEdits(edits=(MoveCase(case=key, to=place - 1),))
        is_last = place + 1 == len(order)
        if st.button("Move down", key="case_down", icon=":material/arrow_downward:", disabled=is_last):
            asked = ApplyEdits(edits=(MoveCase(case=key, to=place + 1),))
        if st.button("Delete", key="case_delete", icon=":material/delete:", help="Undo restores it"):
            asked = ApplyEdits(edits=(DeleteCase(case=key),), then="all")
    return asked


def _merge(scene: SetContext, key: str) -> SetCommand | None:
    """Draw the way to join two cases."""
    rows = scene.work.rows()
    if len(rows) == 1 or not turns_of(scene.work.case(key)):
        return None
    st.markdown("**Merge with another case**")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key="merge_line"):
        wanted = st.text_input(
            "Eval id of the other case", key="merge_with", placeholder="Its turns are appended to this case"
        )
        merged = st.button("Merge", key="case_merge", icon=":material/call_merge:")
    named = (wanted or "").strip()
    if merged and not named:
        st.caption("Enter the eval id of the other case.")
    if not merged or not named:
        return None
    other = next((row.key for row in rows if row.eval_id == named), named)
    return ApplyEdits(edits=(MergeCases(case=key, other=other),))


# A case as a timeline: its turns with what is asked, called, answered and said, and its state; each part can be edited.


PAGE_TURNS = 10
_SHORT = 76


def unfold_step(key: str, turn: int, place: int) -> None:
    """Let a step of a case be open, and its turn be drawn, when its page is drawn next."""
    st.session_state[_step_key(f"{slug(key)}_{turn}_{place}")] = True
    st.session_state["case_turn_page"] = turn // PAGE_TURNS + 1


def _step_key(name: str) -> str:
    return f"case_step_{name}"


def case_timeline(
    scene: SetContext, key: str, agent: str, found: Mapping[Where, StepMark] | None = None
) -> SetCommand | None:
    """Draw it; return what was asked for. `agent` plays the case where that is asked, and the steps in `found` are marked."""
    case = scene.work.case(key)
    turns = turns_of(case)
    asked: SetCommand | None = None
    recorded = scene.work.held(key).recorded
    with pane("case"):
        unknown = _unknown(case, recorded)
        unknown_caption(unknown)
        start = field(field(case, "session_input"), "state")
        has_start = field(case, "session_input") is not None
        asked = _value("Initial state", start or {}, ("session_input", "state")) if has_start else None
        named_page("case_turn_page", "turns")
        first = (page_choice(-(-len(turns) // PAGE_TURNS), "case_turn_page") - 1) * PAGE_TURNS
        for number in range(first, min(first + PAGE_TURNS, len(turns))):
            told = _Told(
                unsure_answers(case, recorded, number), step_notes(case, recorded, number), found or {}
            )
            asked = _turn(scene, key, number, agent, told) or asked
        if field(case, "conversation_scenario") is not None:
            where: Where = ("conversation_scenario",)
            asked = _value("Scenario", field(case, "conversation_scenario"), where) or asked
        end: Where = ("final_session_state",)
        lacks = "unknown" if unknown[-1:] == ("the final state",) else "none"
        asked = _value("Final state", field(case, "final_session_state", {}), end, lacks) or asked
        return _value("Case rubrics", field(case, "rubrics", []), ("rubrics",)) or asked


def _unknown(case: Case, recorded: RecordedCase | None) -> tuple[str, ...]:
    """Name what a case with turns does not contain."""
    turns = [(field(turn, "intermediate_data"), field(turn, "final_response")) for turn in turns_of(case)]
    untold = untold_words(recorded) if recorded else ()
    end = end_state(field(case, "final_session_state"), recorded)
    return (*untold, *unknown_parts(turns, end)) if turns else ()


def unknown_caption(unknown: Sequence[str], blanks: Sequence[str] = ()) -> None:
    """Say what no run of a case is compared with, and which values no one entered, where there is something."""
    for words in (*unknown_words(unknown), *blanks):
        st.caption(literal(words[:1].upper() + words[1:]))


class _Told(NamedTuple):
    """What is told of the steps of a turn, by their places: what nobody said, what the case has no field for, and what was found."""

    unsure: Mapping[Where, Unsure]
    notes: Mapping[Where, StepNote]
    found: Mapping[Where, StepMark]


def _turn(scene: SetContext, key: str, number: int, agent: str, told: _Told) -> SetCommand | None:
    case = scene.work.case(key)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"case_turn_{number}"):
        st.markdown(f"**Turn {number + 1}**", width="content")
        rubrics = listed(turns_of(case)[number], "rubrics")
        if rubrics:
            st.badge(f"{len(rubrics)} rubric{'s' if len(rubrics) > 1 else ''}", color="gray")
        st.space("stretch")
        asked = turn_menu(scene, key, number)
    review = scene.work.review(key)
    comment_lines(comments_at(review, case, number, None))
    for place, plays, step in steps_as_said(case, scene.work.held(key).recorded, number):
        call = call_number(case, step)
        comments = comments_at(review, case, number, call) if step.kind == "call" else ()
        shown = _ShownStep(
            step,
            plays,
            f"{slug(key)}_{number}_{place}",
            call,
            comments,
            told.unsure.get(step.where, SURE),
            told.notes.get(step.where),
            told.found.get(step.where),
        )
        asked = _step(scene, key, shown, agent) or asked
    return asked


class _ShownStep(NamedTuple):
    """A step of a turn on the page: how many steps are played up to it, the end of its keys, the call it is or answers, what was remarked, what nobody said of it, what was found."""

    step: CaseStep
    plays: int
    name: str
    call: int | None
    comments: Sequence[CaseComment]
    unsure: Unsure
    note: StepNote | None
    found: StepMark | None


def _step(scene: SetContext, key: str, shown: _ShownStep, agent: str) -> SetCommand | None:
    words, comments = _label(shown.step, shown.note), shown.comments
    if shown.note is not None:
        st.caption(literal(shown.note.words))
    words += f" :orange-badge[{blank_word(shown.unsure.blanks)}]" if shown.unsure.blanks else ""
    words += f" :red-badge[{shown.found.word}]" if shown.found else ""
    label = f"{words} :gray-badge[:material/comment: {len(comments)}]" if comments else words
    body = unfolding(label, _step_key(shown.name), _icon(shown.step))
    with body:
        if not body.open:
            st.empty()
            return None
        _body(shown.step, shown.name)
        if shown.found:
            st.text(literal(shown.found.sentence))
        for title, places in zip((BLANKS, UNCERTAIN), shown.unsure, strict=True):
            if places:
                st.caption(title)
                st.text(literal("\n".join(map(place_in_words, places))))
        comment_lines(comments)
        return _buttons(scene, key, shown, agent)


def _value(name: str, value: Any, where: Where, lacks: str = "none") -> SetCommand | None:
    """Draw what stands beside the turns, with a way to edit it; `lacks` is the word where it is empty."""
    sentences = sentences_of(value) if where[-1:] == ("rubrics",) else ()
    told = " ".join(sentences) or values_line(value)
    words = f"{name} \u00b7 {safe_label(told, _SHORT)}" if value else f"{name} \u00b7 {lacks}"
    key = slug("_".join(map(str, where)))
    body = unfolding(words, f"case_value_{key}", ":material/database:")
    with body:
        if not body.open:
            st.empty()
            return None
        if sentences:
            for sentence in sentences:
                st.text(literal(sentence))
        else:
            value_or_json(value, key)
        edited = st.button("Edit", key=f"edit_value_{key}", type="tertiary", icon=":material/edit:")
    return EditPart(name=name_of(where)) if edited else None


def _body(step: CaseStep, name: str) -> None:
    value = step_value(step)
    is_said = step.kind in {"query", "text", "final"}
    files = [*files_in(value)] if is_said and isinstance(value, dict) else []
    if files:
        st.text(literal(message_text(value)))
        for number, file in enumerate(files):
            shown_file(file, f"case_file_{name}_{number}")
    elif is_said and is_plain_text(value):
        st.text(literal(text_of(value)))
    else:
        value_or_json(value, name)


def _buttons(scene: SetContext, key: str, shown: _ShownStep, agent: str) -> SetCommand | None:
    step, name = shown.step, shown.name
    asked: SetCommand | None = None
    with st.container(horizontal=True, gap="xsmall", key=f"step_buttons_{name}"):
        # Where the case has no such place, only the JSON of the case has room for it.
        is_there = part_of(scene.work, key, name_of(step.where)) is not None
        if is_there and st.button("Edit", key=f"edit_{name}", type="tertiary", icon=":material/edit:"):
            asked = EditPart(name=name_of(step.where))
        if step.kind == "call":
            asked = _call_buttons(key, step, name) or asked
        if not scene.work.reviews.trouble and st.button(
            "Comment",
            key=f"comment_{name}",
            type="tertiary",
            icon=":material/add_comment:",
            help=f"Adds a comment to this {'turn' if shown.call is None else 'call'}",
        ):
            asked = EditPart(name=comment_name(step.turn, shown.call))
        if st.button(
            "Play to here",
            key=f"play_{name}",
            type="tertiary",
            icon=":material/play_circle:",
            disabled=not agent,
            help="Opens a session and plays the case up to this step. You continue from there",
        ):
            asked = PlayCase(agent=agent, key=key, turn=step.turn, steps=shown.plays)
    return asked


def _call_buttons(key: str, step: CaseStep, name: str) -> SetCommand | None:
    if st.button(
        ":material/arrow_upward:", key=f"up_{name}", type="tertiary", help="Move before the previous call"
    ):
        return ApplyEdits(edits=(MoveCall(case=key, where=step.where, by=-1),))
    if st.button(
        ":material/arrow_downward:", key=f"down_{name}", type="tertiary", help="Move after the next call"
    ):
        return ApplyEdits(edits=(MoveCall(case=key, where=step.where, by=1),))
    if st.button("Remove", key=f"remove_{name}", type="tertiary", icon=":material/delete:"):
        return ApplyEdits(edits=(RemoveCall(case=key, where=step.where),))
    return None


def _label(step: CaseStep, note: StepNote | None) -> str:
    text = safe_label(text_of(step.value), _SHORT) if step.kind in {"query", "text", "final"} else ""
    match step.kind:
        case "query":
            return f"**User** \u00b7 {text}"
        case "call" | "response":
            does = _does(step, note)
            line = values_line(step_value(step))
            rest = f" \u00b7 {safe_label(line, _SHORT)}" if line else ""
            return f"**{safe_label(step.name, 40)}**{does}{rest}"
        case "text":
            return f"**{safe_label(step.author or 'Agent', 32)}** \u00b7 {text}"
        case "final":
            return f"**Final response** \u00b7 {text}"


def _icon(step: CaseStep) -> str:
    """Return the sign of a step; a failed response has that of a session's timeline."""
    return ":material/error:" if _failed(step) else STEP_ICONS[step.kind]


def _failed(step: CaseStep) -> bool:
    return step.kind == "response" and is_error(field(step.value, "response", {}))


def _does(step: CaseStep, note: StepNote | None) -> str:
    if step.kind == "call":
        return ""
    if note is not None and note.kind == "rejected":
        return " rejected by the user"
    return " failed" if _failed(step) else " returned"


# The menu of a turn of a case: what is done with the turn as a whole.


def turn_menu(scene: SetContext, key: str, number: int) -> SetCommand | None:
    """Draw it; return what was asked for."""
    name = f"turn_menu_{number}"
    if page_state.get("turn_menu_done") == number:  # it is closed before it is drawn again
        page_state.put("turn_menu_done", None)
        st.session_state[name] = False
    menu = st.popover("Turn", icon=":material/more_horiz:", type="tertiary", key=name, on_change="rerun")
    if not menu.open:
        return None
    with menu:
        asked = _entries(scene, key, number)
    if asked is not None:
        page_state.put("turn_menu_done", number)
    return asked


def _entries(scene: SetContext, key: str, number: int) -> SetCommand | None:  # noqa: PLR0911 - one for each entry
    held = turns_of(scene.work.case(key))
    turns = len(held)
    is_last = number == turns - 1
    response = ("conversation", number, "final_response")
    is_open = (
        part_of(scene.work, key, name_of(response)) is not None and field(held[number], response[-1]) is None
    )
    if is_open and _entry("Add final response", f"turn_final_{number}", ":material/chat_add_on:"):
        return EditPart(name=name_of(response))
    if _entry("Edit rubrics", f"turn_rubrics_{number}", ":material/rule:"):
        return EditPart(name=name_of(("conversation", number, "rubrics")))
    if _entry("Add call", f"turn_add_{number}", ":material/add:"):
        return EditPart(name=f"{ADD}{number}")
    if _entry("Move turn up", f"turn_up_{number}", ":material/arrow_upward:", disabled=not number):
        return ApplyEdits(edits=(MoveTurn(case=key, turn=number, by=-1),))
    if _entry("Move turn down", f"turn_down_{number}", ":material/arrow_downward:", disabled=is_last):
        return ApplyEdits(edits=(MoveTurn(case=key, turn=number, by=1),))
    if _entry("Split case here", f"turn_split_{number}", ":material/call_split:", disabled=not number):
        return ApplyEdits(edits=(SplitCase(case=key, turn=number, eval_id=free_id(scene, key, "rest")),))
    if _entry("Remove turn", f"turn_remove_{number}", ":material/delete:", disabled=turns == 1):
        return ApplyEdits(edits=(RemoveTurn(case=key, turn=number),))
    return None


def _entry(words: str, key: str, icon: str, *, disabled: bool = False) -> bool:
    return st.button(words, key=key, icon=icon, type="tertiary", disabled=disabled)


def free_id(scene: SetContext, key: str, ending: str) -> str:
    """Return an eval id that no case has: that of a case with another ending, without what no new id can hold."""
    taken = {row.eval_id for row in scene.work.rows()}
    wanted = usable_eval_id(f"{field(scene.work.case(key), 'eval_id', 'case')}_{ending}")
    return unique_eval_id(wanted, taken)
