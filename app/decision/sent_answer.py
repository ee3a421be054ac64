"""Reads the answer to a tool call that was just sent, before anything is drawn, so that the page is drawn once and not twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.decision.decision_context import Surroundings
from app.decision.queue_panel import Queue, waiting
from app.decision.ready_answers import set_aside
from app.decision.request_panel import was_clicked
from app.decision.tool_answer import NotReadyError, tool_inputs
from app.forms.widget_store import DraftStore
from simulator.seats.requests import ToolRequest
from simulator.session.commands import AnswerRequest

if TYPE_CHECKING:
    from simulator.runtime import SimulationView


def sent_answer(
    view: SimulationView, drafts: DraftStore, around: Callable[[], Surroundings]
) -> AnswerRequest | None:
    """Return the answer that a click has sent; None where there is none, or where the page has to say something about it first.

    Args:
        view: What is shown of the session.
        drafts: What was typed, with what this click brought.
        around: Gives what is known of the session; asked only after a click.
    """
    line = waiting(view)
    request = Queue(drafts, line).chosen.thing if line else None
    if not isinstance(request, ToolRequest):
        return None
    inputs = tool_inputs(drafts, request)
    if not was_clicked(inputs.kept, "accept"):
        return None
    known = around()
    inputs = tool_inputs(drafts, request, known)
    lost = inputs.begin()
    if lost is not None:
        set_aside(inputs, lost)
        return None
    try:
        answer = inputs.answer()
    except NotReadyError:
        return None
    if known.against(request.key, answer.outcome):
        return None
    return AnswerRequest(key=request.key, answer=answer)
