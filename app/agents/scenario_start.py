"""Opens a session in which a scenario plays the user from the first message on."""

from __future__ import annotations

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
