"""The middle pane: everything that waits for a person, one thing at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.decisions import AnswerTool, AnswerTools, Decision
from app.kept import DraftStore, Kept
from app.model_turn import turn_inputs
from app.panels.asked import choice, decision_head, not_ready
from app.panels.came_back import came_back
from app.panels.code_decision import code_decision
from app.panels.model_decision import VIEWS, model_decision
from app.panels.open_call import another_query, open_call
from app.panels.parts import pane, reports
from app.panels.queue import Queue, Thing, answered_beside, waiting
from app.panels.running import running
from app.panels.tool_decision import tool_decision
from app.surroundings import NOTHING_AROUND, Surroundings
from app.tool_answer import NotReadyError, tool_inputs
from simulator.seats.requests import CodeRequest, ModelRequest, ToolRequest
from simulator.session.model import OpenCall

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

_FEWEST_FOR_ALL = 2
_ONE = "1 waits for you; you may also go on asking"


def decision_panel(
    view: SimulationView, drafts: DraftStore, around: Surroundings = NOTHING_AROUND
) -> Decision | None:
    """Draw what waits for a person, and what is at work; give what was decided."""
    head = decision_head()
    line = waiting(view)
    with pane("decision"):
        if view.session.is_running or view.running or view.busy:
            reports(view.problems)
        decided: Decision | None = running(view, alone=not line)
        if not line:
            if not (view.running or view.busy):
                st.caption("Nothing waits for you.")
            return decided
        decided = came_back(view) or decided
        queue = Queue(drafts, line)
        chosen = queue.chosen.thing
        if queue.is_line:
            decided = _line_head(view, drafts, sum(each.thing is not None for each in line)) or decided
            queue.draw()
        return _draw(view, drafts, head, chosen, around) or decided


def _draw(
    view: SimulationView, drafts: DraftStore, head: DeltaGenerator, thing: Thing, around: Surroundings
) -> Decision | None:
    """Draw the one thing that was chosen."""
    match thing:
        case ToolRequest():
            tool = tool_inputs(drafts, thing)
            with head:
                choice(tool.kept, "mode", "How to answer", tool.modes)
            answered_beside(view, thing)
            return tool_decision(tool, around, view.session.history)
        case ModelRequest():
            turn = turn_inputs(drafts, thing)
            with head:
                choice(turn.kept, "view", "What to show", VIEWS)
            return model_decision(turn, around)
        case CodeRequest():
            return code_decision(Kept(drafts, thing.key, thing.code), thing)
        case OpenCall():
            return open_call(Kept(drafts, f"open {thing.call_id}"), thing)
        case None:
            again = Kept(drafts, "again", str(len(view.session.turns)))
            return another_query(again, view.session)
        case _:
            assert_never(thing)


def _line_head(view: SimulationView, drafts: DraftStore, count: int) -> AnswerTools | None:
    """Draw the head of the line, with the way to answer all its tool calls at once."""
    requests = [request for request in view.pending if isinstance(request, ToolRequest)]
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="line_head"):
        st.caption(f"{count} wait for you, in any order" if count > 1 else _ONE, width="content")
        st.space("stretch")
        clicked = len(requests) >= _FEWEST_FOR_ALL and st.button(
            f"Accept all {len(requests)} drafts",
            key="accept_all",
            type="tertiary",
            icon=":material/done_all:",
            help="Each call is answered with what stands in its editor: its draft, or what you made of it",
        )
    return _all_drafts(requests, drafts) if clicked else None


def _all_drafts(requests: list[ToolRequest], drafts: DraftStore) -> AnswerTools | None:
    """Answer each call with what its own inputs hold; say which of them holds no answer."""
    answers: list[AnswerTool] = []
    for place, request in enumerate(requests, start=1):
        try:
            answer = tool_inputs(drafts, request).answer()
        except NotReadyError as error:
            not_ready(f"Call {place} in the line can't be sent, so none was. {error}")
            return None
        answers.append(AnswerTool(key=request.key, answer=answer))
    return AnswerTools(answers=tuple(answers))
