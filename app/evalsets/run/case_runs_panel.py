"""What is run on one case where it is shown: verify, `adk eval` and the doctor, each with how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import streamlit as st

from app.evalsets.checks.doctor_jobs import EXAMINED, sentence, ward_of
from app.evalsets.checks.doctor_tab import begin_examination, is_migrating, migration_form, migration_shown
from app.evalsets.choices_panel import agent_of_set, key_of
from app.evalsets.run.adk_eval_jobs import AdkEvalOptions, metric_rows, spec_of
from app.evalsets.run.adk_eval_tab import run_progress
from app.evalsets.run.case_marks import CaseFinding, case_findings, diverging_steps
from app.evalsets.run.last_results import CASE_VERIFIED, LastResult, last_result
from app.evalsets.run.verify_jobs import MARKS, check_words, options_of, verifying, where_of, why_of
from app.evalsets.run.verify_tab import (
    EDITED,
    About,
    GoldenEdit,
    OpenAt,
    commands_shown,
    divergence_actions,
    divergence_shown,
    done_about,
    edited_golden,
)
from app.evalsets.set_context import AskToSave, SetFacts, StepMark, environment_of, environment_trouble
from app.evalsets.stale_result_panel import is_out_of_date
from app.evalsets.workspace import Workspace, workspaces
from app.forms.common_panel import place, problem
from app.forms.safe_labels import literal
from app.forms.widget_store import slug
from app.live.agent_catalogue import catalogue
from app.server.viewer_time import short_time
from app.session.running_panel import AT_ONCE_SECONDS, waiting
from evalset.adk_runs.installed import missing
from evalset.recorded.recording_files import sidecar_of
from evalset.replay.model_choice import BY_HAND

if TYPE_CHECKING:
    from app.live.background_jobs import Job
    from evalset.adk_runs.eval_results import AdkCaseResult
    from evalset.doctor import Examination
    from evalset.editing.case_edits import Edit
    from evalset.editing.case_parts import Case, Where
    from evalset.verify.results import CaseResult, RunResult

EditOf: TypeAlias = "Callable[[GoldenEdit], Callable[[], Edit]]"
"""Gives the work that makes an edit of a golden."""

_DIVERGES = StepMark("first divergence", "Here the last run first differs from the golden.")
_MOST_FINDINGS = 20
_AGAIN = "case_again"
"""The note of the case that is verified by itself once its golden is saved."""

_UNSAVED = "This uses the saved file, which does not have your edits. Save the set first"
_UNRECORDED = "No recorded responses found next to this set. The Run tab of the set can generate responses or use real tools"
_SIGNS = {"passed": "\u2713", "failed": "\u2717"}
_COLORS = {"passed": "green", "failed": "red", "error": "red", "stopped": "gray", "skipped": "gray"}


@dataclass(frozen=True)
class ShownCase:
    """The case that is shown.

    Attributes:
        eval_id: Its id.
        agent: The agent that plays it; empty for the set's own.
        unsaved: The page has edits of the set that its file does not have.
        case: The case as the file has it; None where that is not known.
    """

    eval_id: str
    agent: str = ""
    unsaved: bool = False
    case: Case | None = None


def case_runs(
    workspace: Workspace, facts: SetFacts, shown: ShownCase, edit: EditOf | None = None
) -> OpenAt | Edit | AskToSave | None:
    """Draw the three buttons and the last results of the case; what is run is begun here. Edits that are not saved come first.

    Args:
        workspace: The set's workspace.
        facts: What is known of the set.
        shown: The case.
        edit: As for `verify_tab`; None where the golden cannot be changed from here.

    Returns:
        What was asked for about the first divergence: a session at that step, or the edit of the golden, once it is made; or the save.
    """
    if edit is not None and (edited := edited_golden(workspace)) is not None:
        return edited
    agent = shown.agent or agent_of_set(workspace, facts)
    recorded = environment_of(workspace.eval_set) is not None and not environment_trouble(workspace.eval_set)
    lacks = "" if recorded else _UNRECORDED
    lacks_case = ""
    if shown.eval_id not in facts.eval_ids:
        lacks = lacks_case = _UNSAVED
    elif shown.unsaved:
        lacks = _UNSAVED
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="case_runs"):
        verified = _verify(workspace, shown, agent, lacks)
        scored = _adk_eval(workspace, shown, agent, lacks)
        _check(workspace, shown, agent, lacks_case)
        saves = lacks == _UNSAVED and edit is not None and _save(workspace)
    if saves:
        return AskToSave()
    with place():
        _underway(workspace)
        failed = (
            verified if verified is not None and verified.status in {"failed", "error", "skipped"} else None
        )
        asked = _why(workspace, replace(shown, agent=agent), failed, edit) if failed is not None else None
        _findings_shown(workspace, replace(shown, agent=agent), failed)
        _details(workspace, replace(shown, agent=agent), failed, scored)
        return asked


def marked_steps(workspace: Workspace, shown: ShownCase) -> dict[Where, StepMark]:
    """Return what was found about steps of the case, by their places; nothing that is out of date."""
    findings, is_of_now = _findings(workspace, shown)
    found = {
        each.where: StepMark("finding", each.finding.meaning)
        for each in findings or ()
        if is_of_now and each.where
    }
    last = last_result(workspace, shown.eval_id)
    if last is None or last.case is None or shown.case is None:
        return found
    if not last.is_old(unsaved=shown.unsaved):
        found |= dict.fromkeys(diverging_steps(last.case, shown.case), _DIVERGES)
    return found


def _save(workspace: Workspace) -> bool:
    st.caption("Verify and `adk eval` use the saved file.", width="content")
    return _button(workspace, "Save first", ":material/save:", "Shows the changes before saving", off=False)


def _button(workspace: Workspace, label: str, icon: str, help_: str, *, off: bool) -> bool:
    key = key_of(workspace, f"case_{slug(label.lower())}")
    return st.button(label, key=key, icon=icon, type="tertiary", disabled=off, help=help_)


def _verify(workspace: Workspace, shown: ShownCase, agent: str, lacks: str) -> LastResult | None:
    """Draw the button and the last verdict; return what was found. A golden that was changed here and saved is verified by itself."""
    off = bool(lacks) or _runs(workspace, CASE_VERIFIED)
    found = last_result(workspace, shown.eval_id)
    if _button(
        workspace,
        "Verify case",
        ":material/verified:",
        lacks or "Replays the case with recorded responses. No real tool runs",
        off=off,
    ) or (not off and _is_changed_here(workspace, shown, found)):
        job = workspace.jobs[CASE_VERIFIED] = verifying(options_of(workspace, agent, (shown.eval_id,)))
        job.wait(AT_ONCE_SECONDS)
        st.rerun()
    if found is not None:
        is_of_now = not found.is_old(unsaved=shown.unsaved)
        words = f"{MARKS[found.status]}, {short_time(found.at)}"
        _badge(words, _COLORS[found.status], is_of_now=is_of_now)
        st.caption(found.models, width="content")
    return found


def _adk_eval(workspace: Workspace, shown: ShownCase, agent: str, lacks: str) -> AdkCaseResult | None:
    """Draw the button and the last verdict; return what was found."""
    if missing():
        lacks = "`adk eval` is not fully installed. The tab Run of the set shows what is missing"
    if _button(
        workspace,
        "Run adk eval",
        ":material/play_arrow:",
        lacks or "Runs ADK's own program on the case, with recorded responses. No real tool runs",
        off=bool(lacks) or not agent or _adk_runs(workspace),
    ):
        _begin_adk_eval(workspace, shown.eval_id, agent)
    case, is_of_now = _scored(workspace, shown)
    if case is not None:
        _badge(
            f"{_SIGNS.get(case.status, '')} {case.status}".strip(),
            _COLORS.get(case.status, "gray"),
            is_of_now=is_of_now,
        )
    return case


def _check(workspace: Workspace, shown: ShownCase, agent: str, lacks: str) -> None:
    """Draw the button and how many findings there are."""
    if _button(
        workspace,
        "Check case",
        ":material/stethoscope:",
        lacks or "Examines the case with the doctor",
        off=bool(lacks) or _runs(workspace, EXAMINED),
    ):
        portable = bool(workspace.options.get("doctor_portable"))
        begin_examination(
            workspace, ward_of(workspace.eval_set, agent, portable=portable, whole_folder=False)
        )
        st.rerun()
    findings, is_of_now = _findings(workspace, shown)
    if findings is not None:
        words = _counted(findings) if findings else "no problems"
        _badge(words, "orange" if findings else "green", is_of_now=is_of_now)


def _counted(findings: Sequence[CaseFinding]) -> str:
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"


def _findings_shown(workspace: Workspace, shown: ShownCase, failed: LastResult | None) -> None:
    """Draw what the doctor found, open as long as it is of now; with the migration, where no result of the case has it."""
    findings, is_of_now = _findings(workspace, shown)
    if not findings:
        return
    key = key_of(workspace, f"case_findings_{is_of_now}")
    place = st.container(key="case_findings")
    with place.expander(_counted(findings), key=key, type="compact", expanded=is_of_now):
        for finding, words, _ in findings[:_MOST_FINDINGS]:
            st.text(literal(sentence(finding, words)))
        if len(findings) > _MOST_FINDINGS:
            st.caption(f"and {len(findings) - _MOST_FINDINGS} more in the tab Doctor of the set")
        run = _failed_run(failed.case) if failed is not None else None
        if run is None or run.divergence is None or not run.divergence.migration:
            migration_form(workspace, shown.agent, [each.finding for each in findings], unsaved=shown.unsaved)


def _badge(words: str, color: str, *, is_of_now: bool) -> None:
    shown: Any = color if is_of_now else "gray"
    st.badge(words if is_of_now else f"{words}, out of date", color=shown)


def _runs(workspace: Workspace, name: str) -> bool:
    job = workspace.jobs.get(name)
    return job is not None and job.state == "running"


def _adk_runs(workspace: Workspace) -> bool:
    return workspace.run is not None and not workspace.run.view().is_over


def _begin_adk_eval(workspace: Workspace, eval_id: str, agent: str) -> None:
    workspace.notes.pop("case_adk", None)
    try:
        with st.spinner("Starting `adk eval`"):
            agents = catalogue()
            models: Any = workspace.options.get("adk_models", BY_HAND)
            unrecorded: Any = workspace.options.get("adk_unrecorded", "fail")
            asked = AdkEvalOptions(agent=agent, cases=(eval_id,), models=models, unrecorded=unrecorded)
            workspaces().start(workspace, spec_of(workspace, asked, agents))
    except ValueError as error:  # the agent could not be loaded, the criteria are invalid, or too many run
        workspace.notes["case_adk"] = str(error)
    st.rerun()


# What is known of the case, and whether it is of the file as it is.


def _scored(workspace: Workspace, shown: ShownCase) -> tuple[AdkCaseResult | None, bool]:
    view = workspace.run.view() if workspace.run is not None else None
    if view is None or view.results is None:
        return None, True
    case = next((each for each in view.results.cases if each.eval_id == shown.eval_id), None)
    return case, not is_out_of_date(view.measured, (shown.eval_id,), unsaved=shown.unsaved)


def _findings(workspace: Workspace, shown: ShownCase) -> tuple[list[CaseFinding] | None, bool]:
    """Return what the doctor found last; nothing of another file, nor that there was nothing before a change: the case may be newer."""
    job: Job[Examination] | None = workspace.jobs.get(EXAMINED)
    if job is None or job.result is None:
        return None, True
    files = {workspace.eval_set, sidecar_of(workspace.eval_set)}
    own = [
        each
        for each in job.result.findings
        if each.eval_id == shown.eval_id and each.file in files and each.severity != "note"
    ]
    is_of_now = not is_out_of_date(job.result.measured, unsaved=shown.unsaved)
    return case_findings(own, workspace.eval_set, shown.case) if own or is_of_now else None, is_of_now


def _underway(workspace: Workspace) -> None:
    for name in (CASE_VERIFIED, EXAMINED):
        job = workspace.jobs.get(name)
        if job is not None and job.state == "running":
            waiting(job, name.replace(" ", "_"))
        elif job is not None and job.problem:
            problem(
                "The case was not checked." if name == EXAMINED else "The case was not verified.",
                job.problem,
            )
    run = workspace.run
    if run is not None and not run.view().is_over:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="case_adk"):
            with st.container(width="stretch"):
                run_progress(run)
            if st.button("Stop", key=key_of(workspace, "case_adk_stop"), icon=":material/stop_circle:"):
                run.stop()
    elif run is not None and run.view().problem:
        problem("`adk eval` has no results.", run.view().problem)
    if said := workspace.notes.get("case_adk"):
        problem("The run did not start.", said)


def _is_changed_here(workspace: Workspace, shown: ShownCase, found: LastResult | None) -> bool:
    """Return, once, whether the golden or its tolerances were changed on this page, and are saved."""
    if workspace.notes.get(_AGAIN) != shown.eval_id or shown.unsaved or EDITED in workspace.jobs:
        return False
    if is_migrating(workspace):
        return False
    del workspace.notes[_AGAIN]
    return found is not None and found.is_old(unsaved=False)


def _why(workspace: Workspace, shown: ShownCase, failed: LastResult, edit: EditOf | None) -> OpenAt | None:
    """Draw why the case did not pass in a line, and what to do about it; return the session that shall be opened."""
    case = failed.case
    with st.container(key="case_why", gap="xsmall"):
        if why := why_of(case) if case is not None else failed.why:
            st.text(literal(f"{where_of(case)}{why}"))
        if edit is None:
            return None
        run = _failed_run(case)
        if case is None or run is None or run.divergence is None:
            return None
        about = About(shown.agent or case.agent, case, run, failed.measured)
        action = divergence_actions(workspace, about, unsaved=shown.unsaved)
        if action is not None and action != "open":
            workspace.notes[_AGAIN] = case.eval_id
        opened = done_about(workspace, about, action, edit)
        if run.divergence.migration:
            migration_shown(workspace, run.divergence.migration, unsaved=shown.unsaved)
        return opened


def _failed_run(case: CaseResult | None) -> RunResult | None:
    return next((each for each in case.runs if not each.passed), None) if case is not None else None


def _details(
    workspace: Workspace,
    shown: ShownCase,
    failed: LastResult | None,
    scored: AdkCaseResult | None,
) -> None:
    """Draw the results folded: the page of the case keeps its room."""
    if failed is None and (scored is None or not (scored.metrics or scored.problem)):
        return
    body = st.container(key="case_results").expander(
        "Results of this case", key=key_of(workspace, "case_results"), type="compact", on_change="rerun"
    )
    if not body.open:
        return
    with body:
        if failed is not None and failed.case is not None:
            _differs(failed.case)
            commands_shown(options_of(workspace, shown.agent, (shown.eval_id,)), (failed.case,))
        if scored is not None and scored.problem:
            st.code(literal(scored.problem), language=None, wrap_lines=True)
        if scored is not None and scored.metrics:
            st.dataframe(metric_rows(scored.metrics), hide_index=True, alt="Metrics of the case")


def _differs(case: CaseResult) -> None:
    """Draw what the line above, the reason in a sentence, does not say."""
    run = _failed_run(case)
    if run is None:
        return
    if run.divergence is not None:
        divergence_shown(run.divergence.model_copy(update={"sentence": ""}))
    if run.divergence is not None or run.error:
        for check in run.checks:
            if check.status in {"failed", "error"}:
                st.text(literal(check_words(check)))
