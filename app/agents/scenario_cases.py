"""Adds a scenario to an eval set as an eval case, with the session's beginning as its session input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import evalset
from simulator.base.json_values import JsonObject

if TYPE_CHECKING:
    from simulator.session import SimulationSession


def add_case(session: SimulationSession, scenario: JsonObject, path: str) -> str:
    """Add it; say what was done.

    Raises:
        ValueError: There is no path, it is no scenario, or the file cannot take it.
    """
    if not path:
        raise ValueError("There is no file to write to; give the path of an eval-set file.")
    case = evalset.scenario_case(
        scenario,
        app_name=session.app_name,
        user_id=session.user_id,
        state=session.initial_state,
        at=time.time(),
    )
    writer = evalset.EvalSetWriter(path, session.agent_name)
    added = evalset.add_scenario(writer, case)
    what = "held it already" if added.written is None else "holds it now"
    return f"{writer.path} {what}, as {added.eval_id}"
