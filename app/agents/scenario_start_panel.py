"""The form of a scenario that a session starts from."""

from __future__ import annotations

import streamlit as st

from app.agents.scenario_start import ScenarioStart
from app.agents.user_seat_panel import loaded_scenarios, say_unreachable, scenario_form
from app.forms.common_panel import place
from app.forms.widget_store import DraftStore, KeptInputs
from app.session.user_form import ScenarioForm
from simulator.agent_config import SimulatedAgentConfig


def scenario_start(texts: DraftStore, config: SimulatedAgentConfig | None) -> ScenarioStart:
    """Draw it; return what stands in it.

    Args:
        texts: Keeps what is typed while the form is not drawn.
        config: The agent; None where it is not loaded yet.
    """
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
        if config is not None:
            say_unreachable(form.model, config)
    return ScenarioStart(scenario=form, hold=hold)
