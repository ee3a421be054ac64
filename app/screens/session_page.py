"""The page of a session: puts the panels together and carries out what they give back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from app.branches.branches_panel import branches_page
from app.decision.decision_context import surroundings
from app.decision.decision_panel import decision_panel
from app.decision.query_panel import query
from app.decision.ready_answers import put_answer, sent_answer
from app.decision.tool_answer import tool_inputs
from app.forms.common_panel import pane, problem
from app.forms.safe_labels import literal, safe_label
from app.live.agent_catalogue import catalogue, has_new_code, know_new_code, misfit_calls, take_new_code
from app.live.click_waits import KEEP_SECONDS, keep_facts, settle, what_waits_to_be_stored
from app.live.lease_keeper import FOLLOWED, Followed
from app.live.live_sessions import LiveSession, registry, title
from app.live.reopened_sessions import NotReopenedError, reopened
from app.live.shared_sessions import refuse
from app.live.wake_ups import followed_stamp, stamp_of
from app.rules.rules_tab import close_rule_here
from app.screens.context_panel import context
from app.screens.environment_page import environment
from app.screens.export_page import export_page, golden_set
from app.screens.sidebar_panel import side
from app.screens.start_page import start_page
from app.screens.unreadable_drafts_panel import show_set_aside
from app.scripts import script_play
from app.scripts.script_panel import script_strip
from app.server.login import visitor
from app.session import page_state
from app.session.context_fold_panel import fold_of
from app.session.fault_menu_panel import rule_of
from app.session.header_panel import clicked_step, header
from app.session.page_commands import (
    Asked,
    FailPastCall,
    OvertakenError,
    PartlyAnsweredError,
    Show,
    check,
    hand,
)
from app.session.refresh_panel import look_again
from app.session.running_panel import running
from app.session.session_context import SessionContext
from app.session.timeline_panel import timeline
from app.session.timeline_view import before
from app.session.unopened_panel import elsewhere, unopened
from simulator.agents.agent_directory import UnfitMessageError
from simulator.base.secret_masking import error_words
from simulator.branches import failed_step
from simulator.environment.recordings import NO_EFFECTS
from simulator.facts import ToolAnswered
from simulator.kernel.kernel_agent import needs_of, unreachable
from simulator.seats.requests import ToolRequest
from simulator.session.commands import FailCall, MoveHead, Redo, Undo

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

COLUMNS = (1.05, 1.6, 0.95)
_UNCHANGED = "The action failed. Nothing was changed."
_UNSURE = "The action failed. The timeline shows what happened."
_OVERTAKEN = "This was answered in another tab. Your answer was not used. Copy what you need of it."
_UNFIT = "The message was not sent. It does not match the agent's input schema."
_IN_PART = "Some calls were not answered."
_ELSEWHERE = "This session was continued on another server. You see its current state. Your own changes are kept as a branch."
_LOG = logging.getLogger(__name__)


def bring_back(session_id: str) -> None:
    """Draw a session that is kept and not live, or the start page where none is."""
    side()
    owner = visitor().owner
    followed = FOLLOWED.of(owner, session_id)
    take_over = followed is not None and not followed.is_free and _elsewhere(session_id, followed)
    if followed is not None and not followed.is_free and not take_over:
        return
    agent = str(page_state.get("continue_with") or "")
    page_state.put("continue_with", None)
    try:
        with st.spinner("Restoring the session"):
            live = reopened(session_id, owner, by_force=take_over, agent=agent)
    except NotReopenedError as error:
        clicked = unopened(session_id, str(error), error.journal, error.renamed_to)
        if clicked is not None:
            page_state.put("continue_with", error.renamed_to if clicked == "renamed" else None)
            catalogue().refresh()
            st.rerun()
        return
    if live is not None or FOLLOWED.of(owner, session_id) is not None:
        st.rerun()
    start_page()


def _elsewhere(session_id: str, followed: Followed) -> bool:
    """Draw a session that another server plays; True when it shall be taken over."""
    drawn = followed_stamp(followed)
    taken = elsewhere(followed)
    look_again(session_id, drawn)
    return taken


def draw_session(live: LiveSession) -> None:
    """Draw a live session, or the page of it that is chosen."""
    know_new_code(live)
    was_done = page_state.view() is None and _at_once(live)
    view = live.simulation.view()
    keep_facts(live.simulation)
    scene = SessionContext(live, view, stamp_of(live, view.version))
    live.title = title(view.session) if view.session.history else ""
    if page_state.view() is not None:
        side()
    match page_state.view():
        case "export":
            export_page(live, view)
            look_again(live.session_id, scene.stamp)
        case "environment":
            _environment(scene)
        case "branches":
            _branches(scene)
        case None:
            _session(scene, was_done=was_done)


def _at_once(live: LiveSession) -> bool:
    """Carry out what most clicks ask for before anything is drawn, so that the page is drawn once; return whether it was that."""
    view = live.simulation.view()
    asked: Asked | None = clicked_step() or sent_answer(
        view,
        live.drafts,
        lambda: surroundings(
            live.simulation, view, golden=script_play.golden_of(live), eval_set=golden_set(live)
        ),
    )
    if asked is None:
        return False
    if not _carried_out(lambda: _commanded(live, asked), live):
        st.rerun()
    return True


def _session(scene: SessionContext, *, was_done: bool) -> None:
    """Draw one session: the decision first, because most clicks end there and the rest need not be drawn twice.

    Args:
        scene: The session.
        was_done: What was clicked has been carried out. The button is still pressed while this run draws it.
    """
    live, view = scene.live, scene.view
    if not was_done:
        _go_back(live)
    _begin_with_corrected(live, view)
    close_rule_here(scene)
    top = st.container()
    notes = st.container(gap="xsmall")
    left, middle, right = st.columns(COLUMNS, gap="small")
    with middle:
        decided = _decide(live, view)
        _act(live, None if was_done else decided)
    side()
    with top:
        asked = header(view, live, has_branches=len(live.simulation.journal.tips()) > 1)
        _act(live, None if was_done else asked)
    with notes:
        _notes(view)
        _new_code(live)
        _of_its_keeping(live, view)
        show_set_aside(live)
        _script(live)
    if fold_of(live) != "folded":
        with right:
            _act(live, context(scene))
    with left:
        timeline(view, live.simulation, scene.stamp, whom="the script" if live.plays_script else "you")


def _new_code(live: LiveSession) -> None:
    """Offer to go on with the agent's files as they are now, where they have changed."""
    if has_new_code(live) and _offered_restart():
        with st.spinner("Starting the agent's process"):
            _carry_out(lambda: take_new_code(live), live)
    if misfits := misfit_calls(live, live.simulation.view().session.history):
        from evalset.verify.results import VERDICTS  # noqa: PLC0415 - not before somebody has changed tools

        migrates = ", migrate the saved case on the **Doctor** tab of its eval set" * (
            script_play.golden_of(live) is not None
        )
        problem(
            f"{VERDICTS['environment_changed']}. Go back to before these calls{migrates}, or change the tools back.",
            "\n".join(f"turn {call.turn + 1}: {words}" for call, words in misfits),
        )
        first = misfits[0][0]
        if not live.read_only and st.button(
            f"Go back to before {safe_label(first.tool_name, 48)}",
            key="before_misfit",
            icon=":material/undo:",
            help="The steps from this call on are kept as a branch.",
        ):
            _act(live, MoveHead(fact=before(first, live.simulation.journal)))


def _script(live: LiveSession) -> None:
    """Draw how far the session's script is, and do what is asked of it."""
    form = None if live.read_only or live.at_rest else script_play.form_of(live)
    if form is None:
        return
    recorded = script_play.view_of(live)
    golden = script_play.golden_of(live)
    has_rest = bool(form.rest) and (golden is None or golden.message() is not None)
    case = golden.place if golden is not None else None
    asked = script_strip(live.script, form.text, recorded, has_rest=has_rest, case=case)
    if asked is not None:
        _carry_out(partial(asked, live), live)


def _go_back(live: LiveSession) -> None:
    """Go where a step of the timeline was left for another way, or for a fault in the place of its answer."""
    wanted = page_state.get("go_to")
    if wanted is not None:
        page_state.put("go_to", None)
        fact, gone, answer = wanted
        if _carried_out(lambda: _commanded(live, MoveHead(fact=int(fact))), live):
            page_state.put("taken_back", gone or None)
            page_state.put("corrected", answer)
        st.rerun()
    back = page_state.get("step_back")
    if back is not None:
        page_state.put("step_back", None)
        _act(live, Undo() if back == "undo" else Redo())
    failing = page_state.get("fail_call")
    if failing is not None:
        page_state.put("fail_call", None)
        asked, fact, call_id, tool, fault = failing
        found = live.simulation.journal.fact(int(fact))
        answered = found if isinstance(found, ToolAnswered) else None
        fail = FailCall(
            key="",
            rule=rule_of(fault, tool),
            outcome=answered.outcome if answered else None,
            effects=answered.effects if answered else NO_EFFECTS,
        )
        _act(live, FailPastCall(before=int(asked), call_id=call_id, fail=fail))


def _begin_with_corrected(live: LiveSession, view: SimulationView) -> None:
    """Put the answer that is to be corrected into the inputs of its call, once that waits; call it before they are drawn."""
    number = page_state.get("corrected")
    answered = None if number is None else live.simulation.journal.fact(int(number))
    for request in view.pending:
        if isinstance(answered, ToolAnswered) and isinstance(request, ToolRequest) and request.call_id == answered.call_id:  # fmt: skip
            page_state.put("corrected", None)
            put_answer(tool_inputs(live.drafts, request), answered)


def _environment(scene: SessionContext) -> None:
    """Draw the page on which the environment of a session is shaped, while the session goes on."""
    notes = st.container(gap="xsmall")
    asked = environment(scene)
    with notes:
        _notes(scene.view)
    _act(scene.live, asked)


def _branches(scene: SessionContext) -> None:
    """Draw the page of the session's branches; who goes to one of them is shown the session there."""
    notes = st.container(gap="xsmall")
    asked = branches_page(scene)
    with notes:
        _notes(scene.view)
    if isinstance(asked, MoveHead):
        page_state.show(None)
    _act(scene.live, asked)


def _decide(live: LiveSession, view: SimulationView) -> Asked | None:
    """Draw the middle pane: what waits for a person; where nothing does, the progress or the next query. Return what was decided."""
    golden = script_play.golden_of(live)
    if live.plays_script:
        with pane("decision"):
            st.caption(f"{'Case' if golden else 'Script'} running. You decide where it stops.")
            return running(view, alone=True)
    idle = not (view.pending or view.running or view.busy or view.session.open_calls)
    if idle:
        failed = failed_step(live.simulation.journal)
        needed = needs_of(live.config).certain
        return query(view, live.drafts, live.directory.input_schema, failed, golden, needed=needed)
    around = surroundings(live.simulation, view, lambda: unreachable(live.config), golden, golden_set(live))
    return decision_panel(view, live.drafts, around)


def _act(live: LiveSession, asked: Asked | Show | None) -> None:
    match asked:
        case Show():
            _show(asked)
        case None:
            return
        case _:
            _carry_out(lambda: _commanded(live, asked), live)


def _show(asked: Show) -> None:
    page_state.put("problem", None)
    if asked.view == "export":
        page_state.put("unwritten", None)
    if asked.tab is not None:
        st.session_state["environment_tab"] = asked.tab
    if asked.rule is not None:
        page_state.put("editing_rule", asked.rule)
    page_state.show(asked.view)
    st.rerun()


def _commanded(live: LiveSession, asked: Asked) -> None:
    check(live, asked)
    hand(live.simulation, asked)


def _carry_out(work: Callable[[], object], live: LiveSession) -> None:
    """Do what was asked for, keep what went wrong for the next run, and draw the page anew."""
    _carried_out(work, live)
    st.rerun()


def _carried_out(work: Callable[[], object], live: LiveSession) -> bool:
    """Do what was asked for, and keep what went wrong for the next run; return whether nothing did."""
    page_state.put("problem", None)
    page_state.put("changed", None)
    page_state.put("taken_back", None)
    page_state.put("corrected", None)
    live.had_trouble = False
    try:
        if live.read_only:
            refuse()
        work()
        settle(live.simulation)
        _keep(live)
    except PartlyAnsweredError as error:
        page_state.put("problem", str(error))
        page_state.put("changed", _IN_PART)
    except OvertakenError as error:
        page_state.put("problem", str(error))
        page_state.put("changed", _OVERTAKEN)
    except UnfitMessageError as error:
        page_state.put("problem", str(error))
        page_state.put("changed", _UNFIT)
    except ValueError as error:  # a SimulationError: the command did not fit, and nothing was changed
        page_state.put("problem", str(error))
    except Exception as error:  # noqa: BLE001 - the page's edge: shown and kept, so that nothing that was typed is lost
        _LOG.exception("A command failed")
        page_state.put("problem", error_words(error))
        page_state.put("changed", _UNSURE)
    page_state.forget_followed()
    return page_state.get("problem") is None


def _keep(live: LiveSession) -> None:
    """Wait a moment until what was done is stored; where somebody else went on meanwhile, show theirs."""
    journal = live.simulation.journal
    if not journal.outlives:
        return
    try:
        journal.keep(KEEP_SECONDS)
    except ValueError as error:  # a StoreError
        if journal.superseded:
            registry().close(live.session_id)
            page_state.put("problem", str(error))
            page_state.put("changed", _ELSEWHERE)


def _of_its_keeping(live: LiveSession, view: SimulationView) -> None:
    """Say what a person should know of how the session is kept; some of it comes from the database."""
    if live.word:
        with st.container(key="brought_back", border=True, gap=None):
            st.badge("Restored", icon=":material/history:", color="blue")
            st.text(literal(live.word))
    drafts = page_state.get("unstored_input")
    trouble = live.simulation.journal.trouble or drafts
    if live.had_trouble and not trouble:
        st.success("Everything is stored again.", icon=":material/cloud_done:")
    if trouble:
        live.had_trouble = True
        waits = what_waits_to_be_stored(live.simulation, view, drafts)
        problem(
            f"Not everything is stored yet{f': {waits}' if waits else ''}. You can continue. The rest is stored "
            "in order as soon as the database responds. If the studio ends before that, it is lost.",
            trouble,
        )


def _notes(view: SimulationView) -> None:
    """Show what went wrong, and what the agent's parts reported; all of it comes from outside."""
    failed = page_state.get("problem")
    if failed:
        problem(str(page_state.get("changed") or _UNCHANGED), str(failed))
    if gone := page_state.get("taken_back"):
        with st.container(key="taken_back"):
            st.info(f"Taken back: {gone}. Redo restores them, step by step.", icon=":material/undo:")
    if view.divergence is not None:
        problem(
            "The agent no longer does what was recorded. Undo steps until it matches, or start a new session.",
            view.divergence.sentence(),
        )


def _offered_restart() -> bool:
    """Offer to go on with files of the agent that have changed; return whether it was taken."""
    with st.container(key="new_code", border=True, horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("The agent's files have changed since it was loaded.", width="content")
        return st.button(
            "Restart with new code",
            key="restart_with_new_code",
            icon=":material/restart_alt:",
            help="Restarts the agent's process for all its sessions. No model or tool runs again. If the new code "
            "behaves differently from the recorded steps, the session shows where.",
        )
