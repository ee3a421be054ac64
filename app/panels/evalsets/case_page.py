"""One case of a set as a timeline."""

from __future__ import annotations

import streamlit as st

from app.labels import literal
from app.panels.evalsets.case_timeline import case_timeline
from app.panels.evalsets.scene import OpenCase, SetCommand, SetScene


def case_page(scene: SetScene, key: str) -> SetCommand | None:
    """Draw the case with this key; give what was asked for."""
    row = scene.work.row(key)
    asked: SetCommand | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="case_head"):
        if st.button("All cases", key="case_back", icon=":material/arrow_back:", type="tertiary"):
            asked = OpenCase()
        with st.container(key="case_title", width="content"):
            st.text(literal(row.eval_id), wrap=False)
        if scene.work.is_recorded(key):
            st.badge("Recorded", icon=":material/fiber_manual_record:", color="green")
    return case_timeline(scene, key) or asked
