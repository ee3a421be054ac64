"""One case of a set: its timeline, and beside it the editor of a part, or what is done with the case as a whole."""

import streamlit as st

from app import state
from app.labels import literal, safe_label
from app.panels.evalsets.case_timeline import case_timeline
from app.panels.evalsets.part_editor import part_editor
from app.panels.evalsets.scene import ApplyEdits, EditPart, OpenCase, PlayCase, SetCommand, SetScene
from app.panels.evalsets.turn_menu import free_id
from app.panels.parts import pane
from app.set_parts import NOTE, RENAME, Part, name_of
from evalset.editing.edits import DeleteCase, DuplicateCase, MergeCases, MoveCase
from evalset.editing.parts import agent_of, steps_of, turns_of

COLUMNS = (1.25, 1)


def case_page(scene: SetScene, key: str, part: Part | None) -> SetCommand | None:
    """Draw the case with this key, and the editor of a part of it; give what was asked for."""
    asked = _head(scene, key)
    left, right = st.columns(COLUMNS, gap="small")
    agent = _agent(scene, key)
    with right, pane("case_side"):
        if part is not None:
            failed = state.get("part_failed")
            asked = part_editor(scene, key, part, str(failed) if failed else None) or asked
        else:
            asked = _of_case(scene, key, agent) or asked
    with left:
        return case_timeline(scene, key, agent) or asked


def _agent(scene: SetScene, key: str) -> str:
    """Give the agent that plays the case: the one that was chosen, else the one that the case names, else the set's."""
    chosen = st.session_state.get("play_agent")
    if chosen in scene.agents:
        return str(chosen)
    named = agent_of(scene.work.case(key))
    return named if named in scene.agents else next(iter(scene.agents), "")


def _head(scene: SetScene, key: str) -> SetCommand | None:
    row, order = scene.work.row(key), scene.work.state.order
    place = order.index(key)
    asked: SetCommand | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="case_head"):
        if st.button("All cases", key="case_back", icon=":material/arrow_back:", type="tertiary"):
            asked = OpenCase()
        with st.container(key="case_title", width="content"):
            st.text(literal(row.eval_id), wrap=False)
        if scene.work.is_recorded(key):
            st.badge("Recorded", icon=":material/radio_button_checked:", color="green")
        for tag in scene.work.note(key).tags:
            st.badge(safe_label(tag, 24), color="gray")
        st.space("stretch")
        st.caption(f"{place + 1:,} of {len(order):,}", width="content")
        if st.button(
            ":material/chevron_left:",
            key="case_before",
            type="tertiary",
            disabled=not place,
            help="The case before",
        ):
            asked = OpenCase(key=order[place - 1])
        is_last = place + 1 == len(order)
        if st.button(
            ":material/chevron_right:",
            key="case_after",
            type="tertiary",
            disabled=is_last,
            help="The next case",
        ):
            asked = OpenCase(key=order[place + 1])
    return asked


def _of_case(scene: SetScene, key: str, agent: str) -> SetCommand | None:
    asked = _play(scene, key, agent)
    asked = _note(scene, key) or asked
    return _ways(scene, key) or _merge(scene, key) or asked


def _play(scene: SetScene, key: str, agent: str) -> SetCommand | None:
    """Draw the way into the simulator."""
    case = scene.work.case(key)
    turns = len(turns_of(case))
    st.markdown("**Open in the simulator**")
    if not turns:
        st.caption(
            "A scenario has no steps to play again: begin a session and seat the scenario for the user there."
        )
        return None
    if not scene.agents:
        st.caption("There is no agent that could play it. Start the studio with a folder of agents.")
        return None
    recorded = " Its tools answer as they were recorded." if scene.work.is_recorded(key) else ""
    st.caption(
        f"Plays the case up to a turn's end; you go on from there by hand.{recorded} Each step has a way there, too."
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


def _note(scene: SetScene, key: str) -> SetCommand | None:
    note = scene.work.note(key)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="note_line"):
        st.markdown("**Note**", width="content")
        edited = st.button("Edit", key="note_edit", icon=":material/edit:", type="tertiary")
    if note.text:
        st.text(literal(note.text))
    elif not edited:
        st.caption("None. A note and tags are kept beside the set; cases are found by their tags.")
    return EditPart(name=NOTE) if edited else None


def _ways(scene: SetScene, key: str) -> SetCommand | None:
    order = scene.work.state.order
    place = order.index(key)
    asked: SetCommand | None = None
    st.markdown("**This case**")
    with st.container(horizontal=True, gap="xsmall", key="case_ways"):
        if st.button("Duplicate", key="case_duplicate", icon=":material/content_copy:"):
            asked = ApplyEdits(
                edits=(DuplicateCase(case=key, eval_id=free_id(scene, key, "copy")),), then="new"
            )
        if st.button("Rename", key="case_rename", icon=":material/label:"):
            asked = EditPart(name=RENAME)
        if st.button("Edit as JSON", key="case_json", icon=":material/data_object:"):
            asked = EditPart(name=name_of(()))
        if st.button("Move up", key="case_up", icon=":material/arrow_upward:", disabled=not place):
            asked = ApplyEdits(edits=(MoveCase(case=key, to=place - 1),))
        is_last = place + 1 == len(order)
        if st.button("Move down", key="case_down", icon=":material/arrow_downward:", disabled=is_last):
            asked = ApplyEdits(edits=(MoveCase(case=key, to=place + 1),))
        if st.button("Delete", key="case_delete", icon=":material/delete:", help="Undo brings it back"):
            asked = ApplyEdits(edits=(DeleteCase(case=key),), then="all")
    return asked


def _merge(scene: SetScene, key: str) -> SetCommand | None:
    """Draw the way to join two cases."""
    rows = scene.work.rows()
    if len(rows) == 1 or not turns_of(scene.work.case(key)):
        return None
    st.markdown("**Merge with another case**")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key="merge_line"):
        wanted = st.text_input(
            "Eval id of the other case", key="merge_with", placeholder="Its turns follow those of this case"
        )
        merged = st.button(
            "Merge", key="case_merge", icon=":material/call_merge:", disabled=not (wanted or "").strip()
        )
    if not merged:
        return None
    other = next((row.key for row in rows if row.eval_id == (wanted or "").strip()), (wanted or "").strip())
    return ApplyEdits(edits=(MergeCases(case=key, other=other),))
