"""Says in a few words how a session stands: its status. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.forms.safe_labels import Badge
from simulator.seats.requests import ToolRequest
from simulator.session.model import SessionState, SimulationSession

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

SHORT_ID = 6


def short_id(session_id: str) -> str:
    """Return the end of an id, enough to tell sessions apart on one screen."""
    return session_id[-SHORT_ID:]


def counted_steps(count: int) -> str:
    """Write how many steps there are."""
    return f"{count} step{'' if count == 1 else 's'}"


def is_underway(view: SimulationView) -> bool:
    """Return whether something happens by itself, so that the page should look again soon."""
    is_drafting = any(isinstance(each, ToolRequest) and each.drafting for each in view.pending)
    return bool(view.running) or is_drafting or (view.busy and not view.pending)


def waits_for_reply(session: SimulationSession) -> bool:
    """Return whether a turn that has ended left a question to the user: a confirmation, a requested input."""
    return any(not call.answered for call in session.open_calls)


def status(view: SimulationView) -> Badge:
    """Say what the session does now, in one word."""
    session = view.session
    last = session.turns[-1] if session.turns else None
    first_that_holds = (
        (view.divergence is not None, Badge(text="Diverged", color="red", icon=":material/call_split:")),
        (
            bool(view.pending) or waits_for_reply(session),
            Badge(text="Paused", color="orange", icon=":material/pause_circle:"),
        ),
        (
            view.busy or bool(view.running),
            Badge(text="Running", color="blue", icon=":material/play_circle:"),
        ),
        (
            session.is_running and bool(view.problems),
            Badge(text="Interrupted", color="red", icon=":material/error:"),
        ),
        (
            last is not None and last.stopped,
            Badge(text="Stopped", color="gray", icon=":material/stop_circle:"),
        ),
        (
            last is not None and last.error is not None,
            Badge(text="Failed", color="red", icon=":material/error:"),
        ),
        (
            view.user.seat.ended,
            Badge(text="Ended", color="green", icon=":material/task_alt:"),
        ),
        (
            session.state is SessionState.COMPLETED,
            Badge(text="Completed", color="green", icon=":material/check_circle:"),
        ),
    )
    ready = Badge(text="Ready", color="gray", icon=":material/edit:")
    return next((badge for holds, badge in first_that_holds if holds), ready)
