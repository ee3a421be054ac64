"""The left pane: what has happened so far, what waits for a person, and what is at work right now.

Only the newest steps are drawn one by one, each with its body only while it is open, because a page of a thousand
open steps takes seconds; all of them are in a table.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.forms.common_panel import block, pane, unfolding
from app.forms.safe_labels import safe_label
from app.session import page_state
from app.session.conversation_panel import ConversationLine, conversation_entries, conversation_line
from app.session.fault_menu_panel import fault_menu
from app.session.named_view_widgets import named_toggle, named_views
from app.session.page_fragments import fragment
from app.session.refresh_panel import look_again
from app.session.timeline_view import (
    FILTERS,
    Filter,
    VisibleSteps,
    another_way_from,
    blocks,
    is_underway,
    newest_steps,
    rows,
    steps_of,
    taken_back,
    tool_names,
    waiting_steps,
)
from simulator.seats.requests import RunningCall
from simulator.session.history import ToolCall, ToolError, ToolOutput

if TYPE_CHECKING:
    from simulator.runtime import SimulationView
    from simulator.runtime.commanding import Commanding
    from simulator.session.history import HistoryEntry

VIEWS = ("Timeline", "Conversation")

PAGE_STEPS = 20
"""How many steps are drawn at first, and how many more with each click."""

MOST_STEPS = 100
"""How many steps are drawn one by one at most; all of them are in the table."""

LOOK_AGAIN_SECONDS = 0.5
_UNSTORED = " :orange-badge[:material/cloud_off: not stored yet]"
_NARROW_COLUMNS = {"index": None, "turn": None, "time": None}


def timeline(
    view: SimulationView, simulation: Commanding, drawn: str = "", *, may_go: bool = True, whom: str = "you"
) -> None:
    """Draw the pane, and keep the page up to date.

    Args:
        view: The session.
        simulation: What it is seen in.
        drawn: The session's stamp; empty where the page itself looks whether it has changed.
        may_go: It is one's own.
        whom: Who answers what waits.
    """
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_timeline_view"
    ):
        chosen = named_views("Steps: view", VIEWS, "timeline_view", "steps")
    with pane("timeline", autoscroll=True):
        line, kind = ConversationLine(), FILTERS[0]
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="timeline_line"
        ):
            if chosen == "Conversation":
                line = conversation_line()
            else:
                kind = named_views("Timeline: filter", FILTERS, "timeline_filter", "filter")
            with st.container(key="timeline_count", width="content"):
                st.caption(steps_of(view.session))
        if not view.session.history and not view.pending:
            _empty()
        elif chosen == "Conversation":
            conversation_entries(view.session.history, line)
        else:
            _timeline(view, simulation, kind, may_go=may_go)
        for step in waiting_steps(view.pending, view.session.open_calls, whom):
            st.expander(step.label, type="step", icon=step.icon, key=f"waiting_{step.index}")
        every = LOOK_AGAIN_SECONDS if is_underway(view) else None
        look_again(view.session.session_id, drawn, every, lambda: _running(view))


def _timeline(view: SimulationView, simulation: Commanding, chosen: Filter, *, may_go: bool) -> None:
    count = min(PAGE_STEPS * (1 + int(page_state.get("earlier") or 0)), MOST_STEPS)
    shown = newest_steps(view.session, chosen, count)
    if shown.hidden == 1:  # a button for one step is as high as the step
        shown = newest_steps(view.session, chosen, count + 1)
    if not shown.total:
        st.caption("No steps of this kind yet.")
    if shown.total > PAGE_STEPS and named_toggle(
        f"All {shown.total} steps as a table", "timeline_table", "table"
    ):
        _table(view, chosen, simulation if may_go else None)
    else:
        _earlier(shown)
        fragment(_steps)(
            view.session.history, shown, simulation if may_go else None, _unstored_from(simulation)
        )


def _empty() -> None:
    st.caption(
        "No steps yet. User messages, agent turns and tool calls appear here, each tool call with its "
        "response and who gave it."
    )


def _earlier(shown: VisibleSteps) -> None:
    hidden = shown.hidden
    if hidden > 0 and len(shown.steps) < MOST_STEPS:
        if st.button(
            f"Show earlier \u00b7 {hidden} more",
            key="show_earlier",
            type="tertiary",
            icon=":material/expand_less:",
        ):
            page_state.put("earlier", int(page_state.get("earlier") or 0) + 1)
            st.rerun()
    elif hidden > 0:
        st.caption(f"{hidden} earlier steps are in the table.")


def _steps(
    history: tuple[HistoryEntry, ...],
    shown: VisibleSteps,
    simulation: Commanding | None,
    unstored_from: float,
) -> None:
    """Draw the newest steps; opening one reruns only this part of the page."""
    for step in shown.steps:
        label = f"{step.label}{_UNSTORED}" if history[step.index].fact >= unstored_from else step.label
        body = unfolding(label, f"step_{step.index}", step.icon)
        with body:
            if body.open:
                for place in (*step.others, step.index):
                    _body(history[place])
                _ways(history, step.index, simulation)
            else:
                st.empty()
    if page_state.get("go_to") is not None or page_state.get("fail_call") is not None:
        st.rerun()


def _unstored_from(simulation: Commanding) -> float:
    """Return the fact from which on the steps are not stored; beyond all facts where they are, or will be in a moment."""
    journal = simulation.journal
    first = journal.first_unstored if journal.trouble is not None else None
    return math.inf if first is None else first


def _body(entry: HistoryEntry) -> None:
    for number, shown in enumerate(blocks(entry)):
        block(shown, f"file_{entry.fact}_{number}")


def _ways(history: tuple[HistoryEntry, ...], place: int, simulation: Commanding | None) -> None:
    """Draw what can be done with a step."""
    with st.container(horizontal=True, gap="xsmall", key=f"ways_{place}"):
        _another_way(history[place], place, history, simulation)
        _fail(history[place], place, history, simulation)


def _another_way(
    entry: HistoryEntry, place: int, history: tuple[HistoryEntry, ...], simulation: Commanding | None
) -> None:
    """Draw the way back to this step; what comes after it stays as a branch of its own. None is there to go."""
    if simulation is None:
        return
    fact = another_way_from(entry, simulation.journal)
    gone = taken_back(fact, simulation.journal)
    answers = {each.call_id: each.fact for each in history if isinstance(each, (ToolOutput, ToolError))}
    answer = answers.get(entry.call_id) if isinstance(entry, (ToolCall, ToolOutput, ToolError)) else None
    is_answer = answer is not None
    where = "where this call waits for its response" if is_answer else "to this step"
    # A callback is run before anything else: the click holds even where another part of the page, which looks again
    # in the same run, draws the whole page anew before this button's turn.
    st.button(
        "Correct this answer" if is_answer else "Branch from here",
        key=f"another_way_{place}",
        type="tertiary",
        icon=":material/alt_route:",
        help=f"Goes back {where}.{_way_back(gone)} The agent's own callbacks, plugins and nodes run again. Tools and models do not.",
        on_click=_go_to,
        args=(fact, gone, answer),
    )


def _fail(
    entry: HistoryEntry,
    place: int,
    history: tuple[HistoryEntry, ...],
    simulation: Commanding | None,
) -> None:
    """Draw the faults with which an answered call can be answered instead."""
    if simulation is None or not isinstance(entry, (ToolOutput, ToolError)) or entry.provenance is None:
        return
    tool = tool_names(history).get(entry.call_id, "")
    before = another_way_from(entry, simulation.journal)
    fault_menu(
        f"step_{place}",
        changes=isinstance(entry, ToolOutput),
        help_="Go back to this call and answer it with a fault, once. The steps after it are kept as a branch.",
        on_pick=_fail_with,
        args=(before, entry.fact, entry.call_id, tool),
    )


def _fail_with(before: int, fact: int, call_id: str, tool: str, fault: str) -> None:
    page_state.put("fail_call", [before, fact, call_id, tool, fault])


def _way_back(gone: str) -> str:
    return f" Takes back {gone}. They are kept as a branch. Redo restores them, step by step." if gone else ""


def _go_to(fact: int, gone: str, answer: int | None) -> None:
    page_state.put("go_to", [fact, gone, answer])


def _table(view: SimulationView, chosen: Filter, simulation: Commanding | None) -> None:
    history = view.session.history
    shown = newest_steps(view.session, chosen, len(history)).steps
    wanted = {place for step in shown for place in (*step.others, step.index)}
    lines = [row for row in rows(view.session) if row.index in wanted]
    picked: Any = st.dataframe(
        [row.model_dump() for row in lines],
        key="timeline_rows",
        hide_index=True,
        height=340,
        on_select="rerun",
        selection_mode="single-row",
        column_config=_NARROW_COLUMNS,
        alt="All steps of the session",
    )
    places = picked.selection.rows
    if not places:
        st.caption("Select a row to see its details.")
    elif places[0] < len(lines):
        place = lines[places[0]].index
        _body(history[place])
        _ways(history, place, simulation)


def _running(view: SimulationView) -> None:
    """Show what is at work, and for how long."""
    for call in view.running:
        st.expander(_running_label(call), type="step", icon="spinner", key=f"running_{call.key}")


def _running_label(call: RunningCall) -> str:
    seconds = max(0, int(time.time() - call.since))
    if call.waits_for:
        others = safe_label(call.waits_for, 32)
        return f"**{safe_label(call.name, 32)}** is waiting for **{others}** \u00b7 {seconds} s :gray-badge[waiting]"
    what = {"model": "is responding", "tool": "is running", "code": "is running"}[call.kind]
    what = what if call.delay == 0 else "is delayed"
    return f"**{safe_label(call.name, 32)}** {what} \u00b7 {seconds} s :blue-badge[running]"
