"""Adds a scenario to an eval set as an eval case, with the session's beginning as its session input."""

from __future__ import annotations

import time

import evalset
from app.live.destinations import check_destination
from app.live.live_sessions import LiveSession
from app.session import page_state
from app.session.page_commands import PageWork
from simulator.base.json_values import JsonObject
from simulator.runtime.commanding import Commanding


class AddScenario(PageWork):
    """Add a scenario to the eval set at this path."""

    scenario: JsonObject
    path: str

    def check(self, live: LiveSession) -> None:
        """Check also that the file may be written to."""
        check_destination(self.path, live)

    def carry_out(self, simulation: Commanding) -> None:
        """Add it; say on the page what was done.

        Raises:
            ValueError: There is no path, it is no scenario, or the file cannot take it.
        """
        if not self.path:
            raise ValueError("No file to write to. Enter the path of an eval set file.")
        session = simulation.session
        case = evalset.scenario_case(
            self.scenario,
            app_name=session.app_name,
            user_id=session.user_id,
            state=session.initial_state,
            at=time.time(),
        )
        writer = evalset.EvalSetWriter(self.path, session.agent_name)
        added = evalset.add_scenario(writer, case)
        what = "already there" if added.written is None else "added"
        page_state.put("scenario_added", f"{writer.path}: {what} as {added.eval_id}")
