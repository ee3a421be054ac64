"""A scenario that plays the user: the form in which a session starts from one, and how it is opened."""

from __future__ import annotations

import streamlit as st

from app.agents.user_seat_panel import loaded_scenarios, say_unreachable, scenario_form
from app.forms.common_panel import place
from app.forms.widget_store import DraftStore, KeptInputs
from app.live.click_waits import AT_ONCE, settle
from app.live.live_sessions import LiveSession, registry, title
from app.live.session_opening import StartForm, open_session
from app.server.owners import LOCAL
from app.session.user_form import ScenarioForm
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.frozen_value import Value


class ScenarioStart(Value):
    """A scenario as it was typed on the start page; `hold` lets a person see each message before it is sent."""

    scenario: ScenarioForm
    hold: bool = True


def open_scenario(
    form: StartForm, start: ScenarioStart, config: SimulatedAgentConfig, owner: str = LOCAL
) -> LiveSession:
    """Open a session of an owner, and let a scenario play its user.

    Raises:
        ValueError: As `open_session`; or the scenario is incomplete, or no scenario. No session stays open then.
    """
    scenario, simulator = start.scenario.scenario(), start.scenario.config()
    live = open_session(form, config, owner)
    try:
        live.simulation.set_user(
            "scenario", scenario=scenario, config=simulator, hold=start.hold, wait=AT_ONCE
        )
    except ValueError:
        registry().close(live.session_id)
        raise
    settle(live.simulation)
    live.title = title(live.simulation.session)
    return live


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
