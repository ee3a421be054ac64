"""A case as a timeline: its turns with what is asked, called, answered and said, and its state; each part can be edited."""

from typing import Any

import streamlit as st

from app.jsontext import show_json
from app.kept import slug
from app.labels import literal, safe_label
from app.panels.evalsets.scene import (
    STEP_ICONS,
    ApplyEdits,
    EditPart,
    PlayCase,
    SetCommand,
    SetScene,
    step_value,
)
from app.panels.evalsets.turn_menu import turn_menu
from app.panels.parts import pane
from app.set_parts import name_of
from evalset.editing.edits import MoveCall, RemoveCall
from evalset.editing.parts import Step, is_plain_text, steps_of, text_of, turns_of
from evalset.editing.places import Where, field

PAGE_TURNS = 10
_SHORT = 76


def case_timeline(scene: SetScene, key: str, agent: str) -> SetCommand | None:
    """Draw it; give what was asked for. `agent` plays the case where that is asked."""
    case = scene.work.case(key)
    turns = turns_of(case)
    asked: SetCommand | None = None
    with pane("case"):
        start = field(field(case, "session_input"), "state")
        has_start = field(case, "session_input") is not None
        asked = _value("State at the start", start or {}, ("session_input", "state")) if has_start else None
        page = 1
        if len(turns) > PAGE_TURNS:
            page = int(
                st.pagination(-(-len(turns) // PAGE_TURNS), key="case_turn_page", width="content") or 1
            )
        first = (page - 1) * PAGE_TURNS
        for number in range(first, min(first + PAGE_TURNS, len(turns))):
            asked = _turn(scene, key, number, agent) or asked
        if field(case, "conversation_scenario") is not None:
            where: Where = ("conversation_scenario",)
            asked = _value("Scenario", field(case, "conversation_scenario"), where) or asked
        end: Where = ("final_session_state",)
        asked = _value("State at the end", field(case, "final_session_state", {}), end) or asked
        return _value("Rubrics of the case", field(case, "rubrics", []), ("rubrics",)) or asked


def _turn(scene: SetScene, key: str, number: int, agent: str) -> SetCommand | None:
    case = scene.work.case(key)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"case_turn_{number}"):
        st.markdown(f"**Turn {number + 1}**", width="content")
        rubrics = field(turns_of(case)[number], "rubrics", [])
        if rubrics:
            st.badge(f"{len(rubrics)} rubric{'s' if len(rubrics) > 1 else ''}", color="gray")
        st.space("stretch")
        asked = turn_menu(scene, key, number)
    steps = steps_of(case, number)
    for place, step in enumerate(steps):
        name = f"{slug(key)}_{number}_{place}"
        body = st.expander(
            _label(step), type="step", icon=STEP_ICONS[step.kind], key=f"case_step_{name}", on_change="rerun"
        )
        with body:
            if body.open:
                _body(step)
                asked = _buttons(key, step, name, place + 1, agent) or asked
            else:
                st.empty()
    return asked


def _value(name: str, value: Any, where: Where) -> SetCommand | None:
    """Draw what stands beside the turns, with a way to edit it."""
    words = f"{name} \u00b7 {safe_label(show_json(value), _SHORT)}" if value else f"{name} \u00b7 none"
    key = slug("_".join(map(str, where)))
    body = st.expander(
        words, type="step", icon=":material/database:", key=f"case_value_{key}", on_change="rerun"
    )
    with body:
        if not body.open:
            st.empty()
            return None
        st.code(show_json(value), language="json", wrap_lines=True)
        edited = st.button("Edit", key=f"edit_value_{key}", type="tertiary", icon=":material/edit:")
    return EditPart(name=name_of(where)) if edited else None


def _body(step: Step) -> None:
    value = step_value(step)
    if step.kind in {"query", "text", "final"} and is_plain_text(value):
        st.text(literal(text_of(value)))
    else:
        st.code(show_json(value), language="json", wrap_lines=True)


def _buttons(key: str, step: Step, name: str, steps: int, agent: str) -> SetCommand | None:
    asked: SetCommand | None = None
    with st.container(horizontal=True, gap="xsmall", key=f"step_buttons_{name}"):
        if st.button("Edit", key=f"edit_{name}", type="tertiary", icon=":material/edit:"):
            asked = EditPart(name=name_of(step.where))
        if step.kind == "call":
            asked = _call_buttons(key, step, name) or asked
        if st.button(
            "Play to here",
            key=f"play_{name}",
            type="tertiary",
            icon=":material/play_circle:",
            disabled=not agent,
            help="Opens a session in which the case is played up to this step; you go on from there by hand",
        ):
            asked = PlayCase(agent=agent, key=key, turn=step.turn, steps=steps)
    return asked


def _call_buttons(key: str, step: Step, name: str) -> SetCommand | None:
    if st.button(":material/arrow_upward:", key=f"up_{name}", type="tertiary", help="Before the call above"):
        return ApplyEdits(edits=(MoveCall(case=key, where=step.where, by=-1),))
    if st.button(
        ":material/arrow_downward:", key=f"down_{name}", type="tertiary", help="Behind the call below"
    ):
        return ApplyEdits(edits=(MoveCall(case=key, where=step.where, by=1),))
    if st.button("Remove", key=f"remove_{name}", type="tertiary", icon=":material/delete:"):
        return ApplyEdits(edits=(RemoveCall(case=key, where=step.where),))
    return None


def _label(step: Step) -> str:
    text = safe_label(text_of(step.value), _SHORT) if step.kind in {"query", "text", "final"} else ""
    match step.kind:
        case "query":
            return f"**User** \u00b7 {text}"
        case "call":
            return f"**{safe_label(step.name, 40)}** \u00b7 {safe_label(show_json(step_value(step)), _SHORT)}"
        case "response":
            return f"**{safe_label(step.name, 40)}** returned \u00b7 {safe_label(show_json(step_value(step)), _SHORT)}"
        case "text":
            return f"**{safe_label(step.author or 'Agent', 32)}** \u00b7 {text}"
        case "final":
            return f"**Final response** \u00b7 {text}"
