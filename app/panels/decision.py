"""The middle pane: everything that waits for a person, one thing at a time."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

import streamlit as st

from app.decisions import AnswerTool, Decision, RunReal
from app.jsontext import JsonTextError, parse_json, show_json, write_json
from app.kept import Kept
from app.panels.parts import pane, pane_head
from simulator.facts import Returned
from simulator.seats.answers import ToolAnswer
from simulator.seats.requests import ToolRequest

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


def decision_panel(view: SimulationView, drafts: MutableMapping[str, str]) -> Decision | None:
    """Draw what waits for a person; give what was decided."""
    pane_head("Decision", ("Response",), "decision_view")
    with pane("decision"):
        if not view.pending:
            st.caption("Nothing waits for you.")
            return None
        request = view.pending[0]
        if not isinstance(request, ToolRequest):
            return RunReal(key=request.key) if st.button("Run", key=f"run_{request.key}") else None
        kept = Kept(drafts, request.key, view.session.session_id)
        st.text(request.tool_name)
        st.code(show_json(request.arguments), language="json")
        name = kept.widget("response", write_json(request.draft))
        text = st.text_area("Response", key=name, on_change="ignore", height=300)
        if not st.button("Accept", type="primary", shortcut="Mod+Enter", key=kept.key("accept")):
            return None
        try:
            value = parse_json(text or "")
        except JsonTextError as error:
            st.error(str(error))
            return None
        return AnswerTool(key=request.key, answer=ToolAnswer(outcome=Returned(value=value)))
