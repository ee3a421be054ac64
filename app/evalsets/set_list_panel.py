"""The list of eval sets: those in the agents' folders, and the ways in for any other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.evalsets.exchange_jobs import MADE, UPLOADED, ImportedSet, Upload, importable, made_of, taken
from app.evalsets.open_sets import edited_sets
from app.evalsets.set_context import CloseSet, OpenSet, RemoveUpload, SetCommand, facts_of
from app.evalsets.set_discovery import IMPORTED, SetLine
from app.evalsets.workspace import Workspace, workspaces
from app.forms.common_panel import problem
from app.forms.safe_labels import literal, safe_label
from app.forms.widget_store import slug
from app.server.viewer_time import viewer_time
from app.session.running_panel import AT_ONCE_SECONDS, waiting

if TYPE_CHECKING:
    from app.live.background_jobs import Job

PAGE_SETS = 25
_KB = 1024
COLUMNS = (1.8, 1)


def set_list(lines: Sequence[SetLine], workspace: Workspace, failed: str | None) -> SetCommand | None:
    """Draw the page; return what was asked for. The last upload is at the workspace; `failed` says why the last set was not opened."""
    with st.container(key="sets_head", gap="xxsmall"):
        st.subheader("Eval sets", anchor=False)
        st.caption(
            "Golden traces in the format of `adk eval` and `adk web`. Open a set to view and edit its cases, or to play one up to "
            "any step."
        )
    if failed:
        problem("The eval set was not opened.", failed)
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        asked = _found(lines, edited_sets().unsaved(workspace.owner))
    with right, st.container(border=True, key="set_other", gap="small"):
        return _other(workspace) or asked


def _found(lines: Sequence[SetLine], unsaved: Collection[str]) -> SetCommand | None:
    if not lines:
        st.markdown("**No eval sets yet**")
        st.caption(
            "The agents' folders contain no eval set. Play a session and export it: the first export creates the set. Or open a "
            "file on the right."
        )
        return None
    words = st.text_input(
        "Search eval sets",
        key="set_search",
        live=True,
        placeholder="Search by name, agent or folder",
        icon=":material/search:",
        label_visibility="collapsed",
    )
    wanted = (words or "").casefold().split()
    shown = [line for line in lines if _holds(line, wanted)]
    if not shown:
        st.caption("No matching eval sets.")
    asked: SetCommand | None = None
    for line in shown[:PAGE_SETS]:
        asked = _line(line, is_unsaved=line.path in unsaved) or asked
    if len(shown) > PAGE_SETS:
        st.caption(f"and {len(shown) - PAGE_SETS} more. Search to find them")
    return asked


def _holds(line: SetLine, wanted: Sequence[str]) -> bool:
    text = f"{line.name}\n{line.agent}\n{line.path}".casefold()
    return all(word in text for word in wanted)


def _line(line: SetLine, *, is_unsaved: bool) -> SetCommand | None:
    key = slug(line.path)
    with st.container(border=True, key=f"set_line_{key}", gap=None):
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            opened = st.button(
                safe_label(line.name, 60),
                key=f"open_set_{key}",
                type="tertiary",
                icon=":material/checklist:",
            )
            if is_unsaved:
                st.badge("Not saved", icon=":material/edit:", color="orange")
            st.space("stretch")
            if line.agent:
                st.badge(safe_label(line.agent, 32), icon=":material/smart_toy:", color="gray")
            st.caption(f"{_size(line.size)} \u00b7 {_day(line.modified)}", width="content")
            removed = line.is_upload and _removed(key)
            opened = st.button("Open", key=f"row_open_{key}", icon=":material/folder_open:") or opened
        st.text(literal(line.path), wrap=False)
    if removed:
        return RemoveUpload(path=line.path)
    return OpenSet(path=line.path) if opened else None


def _removed(key: str) -> bool:
    with st.popover("Remove", icon=":material/delete:", type="tertiary", key=f"remove_{key}"):
        st.caption("Deletes the upload and its unsaved edits from the server. Download it first to keep it.")
        return st.button("Remove upload", key=f"remove_set_{key}", icon=":material/delete:")


def _size(size: int) -> str:
    kb = size / _KB
    return f"{kb:,.0f} KB" if kb < _KB else f"{kb / _KB:,.1f} MB"


def _day(seconds: float) -> str:
    return f"{viewer_time(seconds):%Y-%m-%d %H:%M}"


def _other(workspace: Workspace) -> SetCommand | None:
    st.markdown("**Open another set**")
    with st.form("set_open_form", border=False):  # Enter in the field opens the set
        path = st.text_input(
            "Path of an eval set on the server", key="set_path_typed", placeholder="path/to/set.evalset.json"
        )
        typed = st.form_submit_button("Open", key="set_open_typed", icon=":material/folder_open:")
        if typed and not path.strip():
            st.caption("Enter the path of an eval set file")
    types = ["json", *(ending.removeprefix(".") for ending in IMPORTED)]
    uploaded: Any = st.file_uploader("Or upload a file", type=types, key="set_upload")
    if uploaded is not None and st.button("Open upload", key="set_open_upload", icon=":material/upload:"):
        _begin(
            workspace,
            UPLOADED,
            taken(workspace.owner, Upload(name=str(uploaded.name), content=uploaded.getvalue())),
        )
    if uploaded is None:
        st.caption(
            "Only you see an upload. It is removed when the server stops, and on a shared server one day after your last visit. "
            "Download it to keep your changes. From a session, a database or a ZIP archive, the cases are imported."
        )
    if uploaded is None and UPLOADED in workspace.jobs and workspace.jobs[UPLOADED].problem:
        del workspace.jobs[UPLOADED]  # it was of a file that has been taken away
    done = _done(workspace, UPLOADED, "The upload was not opened.")
    return OpenSet(path=path) if typed and path.strip() else done


def _begin(workspace: Workspace, name: str, job: Job[Path] | Job[ImportedSet]) -> None:
    workspace.jobs[name] = job
    job.wait(AT_ONCE_SECONDS)
    st.rerun()


def _done(workspace: Workspace, name: str, failed: str) -> OpenSet | None:
    """Show how far a work is, or why it failed; ask for the set that came of it."""
    job: Job[Path] | Job[ImportedSet] | None = workspace.jobs.get(name)
    if job is None:
        return None
    if job.state == "running":
        waiting(job, name)
        return None
    if job.problem:
        problem(failed, job.problem)
    if job.result is None:
        return None
    del workspace.jobs[name]
    made = job.result if isinstance(job.result, ImportedSet) else ImportedSet(job.result)
    return OpenSet(path=str(made.path), told=made.told)


# The page of an eval set that cannot be opened: why, and what helps: an import, or the doctor.


def broken_set(path: Path, owner: str, why: str) -> CloseSet | OpenSet | None:
    """Draw the page; return what was asked for."""
    workspace = workspaces().of(owner, path)
    asked: CloseSet | OpenSet | None = None
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="set_head"):
        with st.container(key="session_title", width="content"):
            st.text(literal(path.name), wrap=False)
        st.space("stretch")
        if st.button("All eval sets", key="set_back", icon=":material/arrow_back:", type="tertiary"):
            asked = CloseSet()
    if what := importable(path):
        return _import(workspace, what) or asked
    problem("The eval set was not opened.", why)
    if path.is_file():
        from app.evalsets.checks.doctor_tab import doctor_tab  # noqa: PLC0415 - not before a set is broken

        st.caption(
            "The doctor shows what is wrong and fixes what it can. The set opens as soon as the file can be read."
        )
        doctor_tab(workspace, facts_of(path))
        st.session_state["set_tab"] = "Doctor"  # there the set that opens says what was fixed
    return asked


def _import(workspace: Workspace, what: str) -> OpenSet | None:
    """Offer to import a file that is no eval set, but holds cases."""
    st.info(
        f"This file is {what}, not an eval set. You can import its cases into one.", icon=":material/input:"
    )
    if st.button(
        "Import as new eval set",
        key="import_as_set",
        type="primary",
        icon=":material/library_add:",
        help="Creates the set next to the file, with the known tool responses. The file stays unchanged",
    ):
        _begin(workspace, MADE, made_of(workspace.eval_set, workspace.owner))
    return _done(workspace, MADE, "The import failed.")
