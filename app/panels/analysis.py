"""The way to ask a model how the tools hang together: its name, what it is at, and why it said nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.labels import literal, safe_label
from app.model_names import model_problem
from app.panels.parts import problem
from app.shaping import AnalyseConnections, Shape, StopAnalysing

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView
    from simulator.session.environment import SessionEnvironment

_FAILED = "The model has said nothing that can be used; what was found in names still counts."


def analysis(world: WorldView, now: SessionEnvironment) -> Shape | None:
    """Draw the line about the model; give what was asked for."""
    model = now.settings.simulation_model
    asked: Shape | None = None
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", gap="small", key="connections_model"
    ):
        st.markdown(f":material/neurology: {_words(world, now, model)}", width="content")
        st.space("stretch")
        if world.analysing:
            if st.button("Stop", key="analysis_stop", icon=":material/stop_circle:"):
                asked = StopAnalysing()
        elif st.button(
            "Ask again" if now.analysed_by else "Ask a model",
            key="analysis_ask",
            icon=":material/hub:",
            disabled=not model,
            help="One request with the names, descriptions and schemas of all tools",
        ):
            asked = AnalyseConnections()
    reason = model_problem(model) if model else None
    if reason:
        st.text(literal(f"{model} cannot be asked from here: {reason}"))
    if now.not_analysed and not world.analysing:
        problem(_FAILED, now.not_analysed)
    return asked


def _words(world: WorldView, now: SessionEnvironment, model: str) -> str:
    if world.analysing:
        return f"**{safe_label(model, 48)}** looks at the tools: {safe_label(world.analysing, 80)}"
    if now.by_model is not None and not now.not_analysed:
        return f"Found in names and schemas, and by **{safe_label(now.analysed_by, 48)}**"
    if model:
        return f"Found in names, schemas and descriptions. **{safe_label(model, 48)}** can be asked, too"
    return "Found in names, schemas and descriptions. Set a model in **Sources** to ask it, too"
