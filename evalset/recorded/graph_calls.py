"""Tells the recorded calls that a graph made by itself from those that a model made: an eval set holds only the latter. Pure."""

from __future__ import annotations

from evalset.recorded.model import RecordedCall, RecordedTurn
from simulator.session.entries import calls_in

_UNKNOWN = "unknown"
"""Whom ADK names as the agent of a call that a graph makes."""


def is_of_graph(call: RecordedCall, turn: RecordedTurn) -> bool:
    """Tell whether a tool that stands in a graph was called: by no model, and under an id of its own."""
    if not call.id or call.within or call.agent != _UNKNOWN:
        return False
    return all(call.id != made.get("id") for model in turn.models for made in calls_in(model.responses))
