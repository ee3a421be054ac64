"""The page: puts the panels together and carries out what they give back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import streamlit as st

from app import decisions, recorded_play, script_play, state
from app.acknowledged import acknowledge
from app.agents import catalogue
from app.commands import (
    AddAnswers,
    AddScenario,
    CloseBranches,
    CloseEnvironment,
    Command,
    ForgetScript,
    GoTo,
    OpenBranches,
    OpenEnvironment,
    OpenExport,
    PlayScriptOn,
    RedoStep,
    SetRules,
    StopScript,
    UndoStep,
)
from app.decisions import Decision, PartlyAnsweredError, SubmitQuery
from app.destinations import check_destination
from app.drafts import Drafts
from app.engine import command
from app.export_page import export_page
from app.failed_turn import failed_step
from app.followed import FOLLOWED, Followed
from app.fragments import begin_page, note_offers
from app.keeping import KEEP_SECONDS, keep_drafts, keep_facts, what_waits_to_be_stored
from app.kept import gather
from app.labels import literal
from app.new_code import has_new_code, know_new_code, take_new_code
from app.opening import unreachable
from app.overview import title
from app.panels.branches import branches_page
from app.panels.context import context
from app.panels.decision import decision_panel
from app.panels.elsewhere import elsewhere
from app.panels.environment import environment
from app.panels.gate import gate
from app.panels.header import header
from app.panels.look_again import look_again
from app.panels.new_code import new_code
from app.panels.parts import problem
from app.panels.query import query
from app.panels.script_strip import script_strip
from app.panels.timeline import timeline
from app.panels.unopened import unopened
from app.people import NobodyError
from app.playing import check_message
from app.read_only import NotSharedError, refuse
from app.registry import LiveSession, registry
from app.reopening import NotReopenedError, reopened
from app.scene import Scene
from app.seen import check_seen, saw
from app.set_aside import show_set_aside, try_without_drafts, was_drawn
from app.set_desk import desks
from app.sets_page import sets_page
from app.settling import AT_ONCE, settle
from app.shelf import shelf_if_open
from app.side import side
from app.stamps import TABS, followed_stamp, stamp_of
from app.start_page import start_page
from app.surroundings import surroundings
from app.visiting import is_logged_in, providers, visitor
from app.watching import not_shared, watching
from simulator.agents.expected_input import UnfitMessageError

if TYPE_CHECKING:
    from simulator.runtime import SimulationView

COLUMNS = (1.05, 1.6, 0.95)
_STYLES = Path(__file__).with_name("styles.css")
_UNCHANGED = "That did not work; nothing was changed."
_UNSURE = "That did not work. The timeline says what has happened."
_UNFIT = "The message was not sent, because it does not fit the input that the agent expects."
_IN_PART = "Not every call was answered."
_ELSEWHERE = "This session was played on elsewhere meanwhile. You see it as it is there; what you did is kept as a branch."
_LOG = logging.getLogger(__name__)


def page() -> None:
    """Draw the page that the address names."""
    st.set_page_config(
        page_title="Golden Trace Studio",
        page_icon="\U0001f3ac",
        layout="wide",
        initial_sidebar_state=232,
    )
    st.html(_STYLES)
    try:
        visitor()
    except NobodyError as error:
        gate(error, providers(), is_logged_in=is_logged_in())
        return
    TABS.begin(state.tab())
    live = state.current()
    begin_page(state.shared_token() if live is not None and live.read_only else None)
    _gather(live)
    keep_drafts()
    try:
        _shown(live)
    except NotSharedError:  # the sharing has ended meanwhile: the next run finds nothing there
        st.rerun()
    except Exception as error:  # noqa: BLE001 - raised again, but where it was what somebody typed
        try_without_drafts(live, error)
    keep_drafts()  # also what the page itself has put there
    was_drawn()
    saw(None if live is None or live.read_only else live)
    acknowledge()
    note_offers()


def _shown(live: LiveSession | None) -> None:
    """Draw what the address names."""
    if state.is_on_sets():
        side()
        sets_page()
    elif live is not None and live.read_only:
        watching(live)
    elif live is None and state.shared_token():
        not_shared(state.shared_token() or "")
    elif live is None and state.session_id():
        _bring_back(state.session_id() or "")
    else:
        _draw(live)


def _bring_back(session_id: str) -> None:
    """Draw a session that is kept and not live, or the start page where none is."""
    side()
    owner = visitor().owner
    followed = FOLLOWED.of(owner, session_id)
    take_over = followed is not None and not followed.is_free and _elsewhere(session_id, followed)
    if followed is not None and not followed.is_free and not take_over:
        return
    agent = str(state.get("continue_with") or "")
    state.put("continue_with", None)
    try:
        with st.spinner("Bringing the session back"):
            live = reopened(session_id, owner, by_force=take_over, agent=agent)
    except NotReopenedError as error:
        clicked = unopened(session_id, str(error), error.journal, error.renamed_to)
        if clicked is not None:
            state.put("continue_with", error.renamed_to if clicked == "renamed" else None)
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


def _draw(live: LiveSession | None) -> None:
    if live is None:
        side()
        start_page()
        return
    know_new_code(live)
    view = live.simulation.view()
    keep_facts(live.simulation)
    scene = Scene(live, view, stamp_of(live, view.version))
    live.title = title(view.session) if view.session.history else ""
    side()
    match state.view():
        case "export":
            export_page(live, view)
            look_again(live.session_id, scene.stamp)
        case "environment":
            _environment(scene)
        case "branches":
            _branches(scene)
        case None:
            _session(scene)


def _gather(live: LiveSession | None) -> None:
    """Keep what was typed since the last run, for the session that was on the screen then."""
    shown = state.get("shown")
    looked_at = f"shared {live.session_id}" if live and live.read_only else ""
    own = live.session_id if live and not live.read_only else None
    on_set = state.get("shown_set")
    drafts = state.drafts_of(str(shown)) if shown else Drafts()
    if on_set:
        drafts = desks().drafts(visitor().owner, str(on_set))
    here = state.set_path() if state.is_on_sets() else None
    gather(drafts, f"set {here}" if here else own or looked_at)
    state.put("shown", own)
    state.put("shown_set", None)


def _session(scene: Scene) -> None:
    """Draw one session: the decision first, because most clicks end there and the rest need not be drawn twice."""
    live, view = scene.live, scene.view
    _go_back(live)
    top = st.container()
    notes = st.container(gap="xsmall")
    left, middle, right = st.columns(COLUMNS, gap="small")
    with middle:
        _decide(live, view)
    with top:
        _act(live, header(view, has_branches=len(live.simulation.journal.tips()) > 1))
    with notes:
        _notes(view)
        _new_code(live)
        _of_its_keeping(live, view)
        show_set_aside(live)
        _script(live)
    with right:
        _act(live, context(scene))
    with left:
        timeline(view, live.simulation, scene.stamp)


def _new_code(live: LiveSession) -> None:
    """Offer to go on with the agent's files as they are now, where they have changed."""
    if has_new_code(live) and new_code():
        with st.spinner("Starting the agent's process"):
            _carry_out(lambda: take_new_code(live), live)


def _script(live: LiveSession) -> None:
    """Draw how far the session's script is, and do what is asked of it."""
    form = None if live.read_only or live.at_rest else script_play.form_of(live)
    if form is None:
        return
    where, recorded = lambda place: script_play.read(form).where(place), recorded_play.view_of(live)
    asked = script_strip(live.script, where, form.text, recorded)
    match asked:
        case None:
            return
        case StopScript():
            _carry_out(lambda: script_play.stop(live), live)
        case PlayScriptOn():
            _carry_out(lambda: script_play.play_on(live), live)
        case ForgetScript():
            _carry_out(lambda: script_play.forget(live), live)
        case AddAnswers():
            _carry_out(lambda: recorded_play.add_answers(live), live)
        case never:
            assert_never(never)


def _go_back(live: LiveSession) -> None:
    """Go where a step of the timeline was left for another way."""
    wanted = state.get("go_to")
    if wanted is not None:
        state.put("go_to", None)
        _act(live, GoTo(fact=int(wanted)))


def _environment(scene: Scene) -> None:
    """Draw the page on which the environment of a session is shaped, while the session goes on."""
    notes = st.container(gap="xsmall")
    asked = environment(scene)
    with notes:
        _notes(scene.view)
    _act(scene.live, asked)


def _branches(scene: Scene) -> None:
    """Draw the page of the session's branches; who goes to one of them is shown the session there."""
    notes = st.container(gap="xsmall")
    asked = branches_page(scene)
    with notes:
        _notes(scene.view)
    if isinstance(asked, GoTo):
        state.show(None)
    _act(scene.live, asked)


def _decide(live: LiveSession, view: SimulationView) -> None:
    """Draw the middle pane: what waits for a person; where nothing does, the progress or the next query."""
    idle = not (view.pending or view.running or view.busy or view.session.open_calls)
    decided: Decision | None = (
        query(view, live.drafts, live.cast.input_schema, failed_step(live.simulation.journal))
        if idle
        else decision_panel(
            view, live.drafts, surroundings(live.simulation, view, lambda: unreachable(live.config))
        )
    )
    if decided is not None:
        made = decided
        _carry_out(lambda: _decided(made, live), live)


def _decided(made: Decision, live: LiveSession) -> None:
    if isinstance(made, SubmitQuery):
        check_seen(live)
        check_message(live.config, made.message)
    decisions.apply(made, live.simulation, wait=AT_ONCE)


def _act(live: LiveSession, asked: Command | None) -> None:
    match asked:
        case None:
            return
        case OpenExport():
            state.put("problem", None)
            state.put("unwritten", None)
            state.show("export")
            st.rerun()
        case OpenEnvironment(rule=rule):
            state.put("problem", None)
            if rule is not None:
                state.put("editing_rule", rule)
            state.show("environment")
            st.rerun()
        case OpenBranches():
            state.put("problem", None)
            state.show("branches")
            st.rerun()
        case CloseEnvironment() | CloseBranches():
            state.put("problem", None)
            state.show(None)
            st.rerun()
        case _:
            _carry_out(lambda: _commanded(live, asked), live)


def _commanded(live: LiveSession, asked: Command) -> None:
    if isinstance(asked, (UndoStep, RedoStep, GoTo, SetRules)):
        check_seen(live)
    if isinstance(asked, AddScenario):
        check_destination(asked.path, live)
    command(live.simulation, asked)


def _carry_out(work: Callable[[], object], live: LiveSession) -> None:
    """Do what was asked for, keep what went wrong for the next run, and draw the page anew."""
    state.put("problem", None)
    state.put("changed", None)
    live.had_trouble = False
    try:
        if live.read_only:
            refuse()
        work()
        settle(live.simulation)
        _keep(live)
    except PartlyAnsweredError as error:
        state.put("problem", str(error))
        state.put("changed", _IN_PART)
    except UnfitMessageError as error:
        state.put("problem", str(error))
        state.put("changed", _UNFIT)
    except ValueError as error:  # a SimulationError: the command did not fit, and nothing was changed
        state.put("problem", str(error))
    except Exception as error:  # noqa: BLE001 - the page's edge: shown and kept, so that nothing that was typed is lost
        _LOG.exception("A command failed")
        state.put("problem", f"{type(error).__name__}: {error}")
        state.put("changed", _UNSURE)
    state.forget_followed()
    st.rerun()


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
            state.put("problem", str(error))
            state.put("changed", _ELSEWHERE)


def _of_its_keeping(live: LiveSession, view: SimulationView) -> None:
    """Say what a person should know of how the session is kept; some of it comes from the database."""
    if live.word:
        with st.container(key="brought_back", border=True, gap=None):
            st.badge("Brought back", icon=":material/history:", color="blue")
            st.text(literal(live.word))
    store = shelf_if_open().store
    trouble = live.simulation.journal.trouble or (store.trouble if store is not None else None)
    if live.had_trouble and not trouble:
        st.success("Everything is stored again.", icon=":material/cloud_done:")
    if trouble:
        live.had_trouble = True
        waits = what_waits_to_be_stored(live.simulation, view)
        problem(
            f"Not everything is stored yet{f': {waits}' if waits else ''}. You can go on. It is stored in order as soon as "
            "the database answers; until then it is lost if the studio ends.",
            trouble,
        )


def _notes(view: SimulationView) -> None:
    """Show what went wrong, and what the agent's parts reported; all of it comes from outside."""
    failed = state.get("problem")
    if failed:
        problem(str(state.get("changed") or _UNCHANGED), str(failed))
    if view.divergence is not None:
        problem(
            "The agent no longer does what was recorded. Undo steps until it fits, or begin a new session.",
            view.divergence.sentence(),
        )
