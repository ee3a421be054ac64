"""The form of a scenario that a session starts from."""

from __future__ import annotations

import streamlit as st

from app.agents.scenario_start import ScenarioStart
from app.agents.user_seat_panel import loaded_scenarios, scenario_form
from app.forms.common_panel import place
from app.forms.model_names import model_problem
from app.forms.safe_labels import literal
from app.forms.widget_store import DraftStore, KeptInputs
from app.session.user_form import ScenarioForm


def scenario_start(texts: DraftStore) -> ScenarioStart:
    """Draw it; return what stands in it. `texts` keeps what is typed while the form is not drawn."""
    kept = KeptInputs(texts, "start scenario")
    st.caption(
        "A scenario plays the user: it sends the starting prompt, and a model writes the messages after it. "
        "Without a model, you write them."
    )
    loaded_scenarios(kept)
    form = scenario_form(kept, ScenarioForm())
    hold = st.toggle(
        "Hold each message",
        key=kept.widget("hold", initial=True),
        help="You accept, edit or replace each message before it is sent.",
    )
    with place():
        reason = model_problem(form.model) if form.model.strip() else None
        if reason:
            st.text(literal(reason))
    return ScenarioStart(scenario=form, hold=hold)
