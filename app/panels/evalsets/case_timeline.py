"""A case as a timeline: its turns with what is asked, called, answered and said, and its state."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.jsontext import show_json
from app.kept import slug
from app.labels import literal, safe_label
from app.panels.evalsets.scene import STEP_ICONS, SetCommand, SetScene, step_value
from app.panels.parts import pane
from evalset.editing.parts import Step, is_plain_text, steps_of, text_of, turns_of
from evalset.editing.places import field

PAGE_TURNS = 10
_SHORT = 76


def case_timeline(scene: SetScene, key: str) -> SetCommand | None:
    """Draw it; give what was asked for."""
    case = scene.work.case(key)
    turns = turns_of(case)
    with pane("case"):
        _value("State at the start", field(field(case, "session_input"), "state"), "start")
        page = 1
        if len(turns) > PAGE_TURNS:
            page = int(
                st.pagination(-(-len(turns) // PAGE_TURNS), key="case_turn_page", width="content") or 1
            )
        first = (page - 1) * PAGE_TURNS
        for number in range(first, min(first + PAGE_TURNS, len(turns))):
            st.markdown(f"**Turn {number + 1}**")
            for place, step in enumerate(steps_of(case, number)):
                _step(step, f"{slug(key)}_{number}_{place}")
        _value("Scenario", field(case, "conversation_scenario"), "scenario")
        _value("State at the end", field(case, "final_session_state"), "end")
    return None


def _value(name: str, value: Any, key: str) -> None:
    if value:
        with st.expander(name, icon=":material/database:", key=f"case_{key}"):
            st.code(show_json(value), language="json", wrap_lines=True)


def _step(step: Step, key: str) -> None:
    body = st.expander(
        _label(step), type="step", icon=STEP_ICONS[step.kind], key=f"case_step_{key}", on_change="rerun"
    )
    with body:
        if not body.open:
            st.empty()
            return
        value = step_value(step)
        if step.kind in {"query", "text", "final"} and is_plain_text(value):
            st.text(literal(text_of(value)))
        else:
            st.code(show_json(value), language="json", wrap_lines=True)


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
