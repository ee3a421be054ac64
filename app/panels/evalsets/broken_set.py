"""The page of an eval set that cannot be opened: why, and the doctor, who may mend it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.bench import benches
from app.labels import literal
from app.panels.evalsets.scene import CloseSet
from app.panels.parts import problem
from app.set_facts import facts_of


def broken_set(path: Path, owner: str, why: str) -> CloseSet | None:
    """Draw the page; give what was asked for."""
    asked: CloseSet | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_head"):
        with st.container(key="session_title", width="content"):
            st.text(literal(path.name), wrap=False)
        st.space("stretch")
        if st.button("All eval sets", key="set_back", icon=":material/arrow_back:", type="tertiary"):
            asked = CloseSet()
    problem("The eval set was not opened.", why)
    if path.is_file():
        from app.panels.evalsets.doctor_tab import doctor_tab  # noqa: PLC0415 - not before a set is broken

        st.caption(
            "The doctor says what is wrong with it, and mends what can be mended. It opens as soon as it can be read."
        )
        doctor_tab(benches().of(owner, path), facts_of(path))
    return asked
