"""The tab that runs an eval set: with `verify`, or with `adk eval`. The last results of both are named beside the choice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import streamlit as st

from app.evalsets.cases.case_forms import save_of
from app.evalsets.choices_panel import keep_option, option_key
from app.evalsets.run.adk_eval_tab import adk_eval_tab, run_badge, run_progress
from app.evalsets.run.case_marks import edit_of, played_until
from app.evalsets.run.last_results import last_results
from app.evalsets.run.verify_jobs import VERIFIED
from app.evalsets.run.verify_tab import OpenAt, count_badges, failed_note, run_again, verify_tab, with_newest
from app.evalsets.set_context import (
    ApplyEdits,
    AskToSave,
    OpenCase,
    SetCommand,
    SetContext,
    SetFacts,
    facts_of,
)
from app.evalsets.stale_result_panel import is_out_of_date
from app.evalsets.workspace import Workspace, workspaces
from app.forms.common_panel import place
from app.server.viewer_time import short_time
from app.session.named_view_widgets import follow_address, tell_address
from app.session.running_panel import waiting

if TYPE_CHECKING:
    from evalset.editing.case_edits import Edit

ENGINES = ("Verify", "adk eval")
_WORDS = {
    "Verify": "Replays the cases with recorded responses. It shows the first step that differs.",
    "adk eval": "Runs ADK's own program. It scores the cases by its criteria.",
}


def run_tab(scene: SetContext) -> SetCommand | None:
    """Draw the tab; return what was asked for."""
    workspace, facts = workspaces().of(scene.owner, scene.path), facts_of(scene.path)
    unsaved = scene.work.is_edited
    engine = _engine(workspace, facts, unsaved=unsaved)
    if engine == "adk eval":
        adk_eval_tab(workspace, facts, unsaved=unsaved)
        return None
    asked = verify_tab(workspace, facts, lambda golden: edit_of(scene, golden), unsaved=unsaved)
    return command_of(scene, workspace, asked)


def command_of(
    scene: SetContext, workspace: Workspace, asked: OpenAt | OpenCase | Edit | AskToSave | None
) -> SetCommand | None:
    """Return the command for what was asked about a case, in this tab or on the page of the case."""
    if isinstance(asked, AskToSave):
        return save_of(scene)
    if isinstance(asked, OpenCase):
        rows = scene.work.rows()
        return OpenCase(key=next((row.key for row in rows if row.eval_id == asked.key), asked.key))
    if asked is None or not isinstance(asked, OpenAt):
        return None if asked is None else ApplyEdits(edits=(asked,))
    try:
        return played_until(scene, asked)
    except ValueError as error:  # an EditError: the case is another one in the edits
        workspace.notes[failed_note(asked.eval_id)] = str(error)
        return st.rerun()


def _engine(workspace: Workspace, facts: SetFacts, *, unsaved: bool) -> str:
    """Draw the choice, with how the last run of each went; return the chosen engine."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_engine"):
        key = option_key(workspace, "engine", ENGINES[0])
        follow_address(ENGINES, key, "part")
        engine = st.segmented_control("Engine", ENGINES, key=key, required=True) or ENGINES[0]
        keep_option(workspace, "engine", engine)
        tell_address(ENGINES, engine, "part")
        st.caption(_WORDS[engine], width="content")
        st.space("stretch")
        with st.container(horizontal=True, gap="xsmall", width="content", key="run_last"):
            _last(workspace, facts, unsaved=unsaved)
    with place():
        _other_at_work(workspace, engine)
    return engine


def _other_at_work(workspace: Workspace, engine: str) -> None:
    """Show how far the engine is that is not shown."""
    job, run = workspace.jobs.get(VERIFIED), workspace.run
    if engine != "Verify" and job is not None and job.state == "running":
        st.caption("Verify is running.")
        waiting(job, "verify_beside")
    if engine == "Verify" and run is not None and not run.view().is_over:
        st.caption("`adk eval` is running.")
        run_progress(run)


def _last(workspace: Workspace, facts: SetFacts, *, unsaved: bool) -> None:
    job = workspace.jobs.get(VERIFIED)
    if job is not None and job.result is not None:
        st.caption(f"Verify, {short_time(job.ended_at)}", width="content")
        old = is_out_of_date(job.result.measured, job.result.eval_ids, unsaved=unsaved)
        newest = with_newest(job.result, run_again(workspace, job.result, job.ended_at))
        count_badges(newest.count, is_of_now=not old)
    elif job is None and (found := last_results(workspace, facts.eval_ids)):
        st.caption(f"Verify, {short_time(max(one.at for one in found))}", width="content")
        counts = Counter(one.status for one in found)
        runs = {id(one.measured): one.measured for one in found}
        old = any(
            is_out_of_date(
                measured, [one.eval_id for one in found if id(one.measured) == key], unsaved=unsaved
            )
            for key, measured in runs.items()
        )
        count_badges(counts.__getitem__, is_of_now=not old)
    if workspace.run is not None:
        st.caption("adk eval", width="content")
        run_badge(workspace.run.view(), unsaved=unsaved)
