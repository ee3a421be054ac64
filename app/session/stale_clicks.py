"""Tells a click on what the page showed from one on a session that has gone on since: in another tab, or by itself."""

from __future__ import annotations

from pydantic import JsonValue

from app.live.live_sessions import LiveSession
from app.session import page_state

_WENT_ON = (
    "The session continued before your click arrived: in another tab, or by itself. You now see its "
    "current state. Click again if you still want this."
)


class WentOnError(ValueError):
    """What was asked for was meant for another step than the one at which the session is."""


def saw(live: LiveSession | None) -> None:
    """Note which step the page shows as the last one; call it when the page is drawn."""
    page_state.put("seen_step", None if live is None else _step(live))


def check_seen(live: LiveSession) -> None:
    """Check that the session is at the step that the page has shown.

    Raises:
        WentOnError: It is not.
    """
    seen = page_state.get("seen_step")
    if seen is not None and seen != _step(live):
        raise WentOnError(_WENT_ON)


def _step(live: LiveSession) -> JsonValue:
    from simulator.runtime.turns.undo_targets import last_step  # noqa: PLC0415 - takes a second, and is there where a session is live

    number = last_step(live.simulation.journal)
    return [live.session_id, -1 if number is None else number]
