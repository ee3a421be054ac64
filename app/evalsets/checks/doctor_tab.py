"""The tab of the doctor: what is wrong with an eval set, what a fix would change, and migrations of renamed tools."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from app.evalsets.cases.cases_tab import find_bar
from app.evalsets.checks.doctor_jobs import (
    CHANGES,
    EXAMINED,
    EXAMPLE,
    MARKS,
    SEVERITIES,
    MigrationLineError,
    Ward,
    alike,
    examined,
    fitting,
    is_quick,
    migration_from,
    places,
    previewed,
    remedy,
    sentences,
    ward_of,
    written,
)
from app.evalsets.choices_panel import agent_choice, csv_button, followed_key, keep_option, key_of, option_key
from app.evalsets.open_sets import edited_sets
from app.evalsets.seen_sets import writes_here
from app.evalsets.set_context import SetFacts
from app.evalsets.stale_result_panel import out_of_date
from app.evalsets.workspace import Workspace
from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.forms.widget_store import held, slug
from app.server.viewer_time import short_time
from app.session.running_panel import AT_ONCE_SECONDS, waiting
from evalset.doctor.environment_checks import MIGRATE

if TYPE_CHECKING:
    from app.live.background_jobs import Job
    from evalset.doctor import Changes, Examination, FileChange, Finding

COLUMNS = (1, 2.2)
_FEW_PLACES, _PLACES_HEIGHT = 5, 150
_LONG_DIFF, _DIFF_HEIGHT = 14, 300
_MOST_GROUPS, _MOST_SENTENCES = 200, 50
_MIGRATION = "doctor_migration"
_CHANGED_SINCE = "A file changed after the preview. These are the changes now."


def doctor_tab(workspace: Workspace, facts: SetFacts, *, unsaved: bool = False) -> None:
    """Draw the tab; where the set has edits that are not saved, nothing is written below them."""
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        ward = _ward(workspace, facts)
        job = _examination(workspace, ward)
        _fix(workspace, ward, job)
        _migrate(workspace, ward)
    with right:
        _changed(workspace, unsaved=unsaved)
        _found(workspace, ward, job, unsaved=unsaved)


def begin_migration(workspace: Workspace, agent: str, lines: str) -> None:
    """Look what a migration would change; its lines are those of the tab from then on."""
    workspace.options["doctor_lines"] = lines
    ward = ward_of(workspace.eval_set, agent, portable=False, whole_folder=False)
    _begin(workspace, ward, lines, "migrate")


def migration_shown(workspace: Workspace, lines: str, *, unsaved: bool) -> None:
    """Draw what these lines would change, or have changed, where that was asked for."""
    if workspace.options.get("doctor_lines") == lines:
        _migrated(workspace, unsaved=unsaved)


def migration_form(workspace: Workspace, agent: str, findings: Sequence[Finding], *, unsaved: bool) -> None:
    """Draw the lines that migrate the calls of findings, to be completed, and what they would change; nothing where none are known."""
    if not (proposed := _proposed(findings)):
        return
    if not workspace.options.get("doctor_lines"):
        workspace.options["doctor_lines"] = "\n".join(proposed)
    st.caption('These lines migrate the calls. `VALUE` is a JSON value, such as `2` or `"EUR"`.')
    _lines(workspace, ward_of(workspace.eval_set, agent, portable=False, whole_folder=False))
    _migrated(workspace, unsaved=unsaved)


def _proposed(findings: Sequence[Finding]) -> list[str]:
    """Return the lines that migrate the calls of findings."""
    begin = f"{MIGRATE}--"
    known = (each.remedy.removeprefix(MIGRATE) for each in findings if each.remedy.startswith(begin))
    return [*dict.fromkeys(known)]


def _usable(workspace: Workspace, findings: Sequence[Finding]) -> None:
    """Draw the lines that migrate the calls of findings, each with a button that puts it among the changes."""
    said = str(workspace.options.get("doctor_lines") or "").splitlines()
    for number, line in enumerate(_proposed(findings)):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"doctor_line_{number}"):  # fmt: skip
            st.code(literal(line), language=None, wrap_lines=True)
            st.button(
                "Use",
                key=key_of(workspace, f"doctor_use_{number}"),
                disabled=line in said,
                help='Adds this line to "Changed agents, tools or arguments".',
                on_click=_use,
                args=(workspace, line),
            )


def _use(workspace: Workspace, line: str) -> None:
    typed = held(key_of(workspace, "doctor_lines"))  # with what this click brought
    lines = str(typed if isinstance(typed, str) else workspace.options.get("doctor_lines") or "").splitlines()
    workspace.options["doctor_lines"] = "\n".join([*filter(str.strip, lines), line])
    st.session_state[_MIGRATION] = True


def _migrated(workspace: Workspace, *, unsaved: bool) -> None:
    if workspace.options.get("doctor_changes") in {"migrate", "written"}:
        _changed(workspace, unsaved=unsaved)


def is_migrating(workspace: Workspace) -> bool:
    """Return whether a migration is shown that is not applied yet, or is being written."""
    job: Job[Changes] | None = workspace.jobs.get(CHANGES)
    return job is not None and (
        job.state == "running" or workspace.options.get("doctor_changes") == "migrate"
    )


def _ward(workspace: Workspace, facts: SetFacts) -> Ward:
    agent = agent_choice(workspace, facts)
    folder = st.checkbox(
        "All eval data in this folder",
        key=option_key(workspace, "doctor_folder", initial=False),
        help="Eval sets in the current and the old format, test files and recorded environments, also in subfolders",
    )
    portable = st.checkbox(
        "Check for ADK 1.24 and later",
        key=option_key(workspace, "doctor_portable", initial=False),
    )
    keep_option(workspace, "doctor_folder", folder)
    keep_option(workspace, "doctor_portable", portable)
    return ward_of(workspace.eval_set, agent, portable=portable, whole_folder=folder)


def _examination(workspace: Workspace, ward: Ward) -> Job[Examination] | None:
    """Examine at once where that was not done yet, or something else is to be examined, or a file has changed; large ones when asked."""
    asked = st.button("Examine", key=key_of(workspace, "doctor_examine"), icon=":material/stethoscope:")
    job: Job[Examination] | None = workspace.jobs.get(EXAMINED)
    is_new = job is None or workspace.options.get("doctor_about") != _about(workspace, ward)
    if asked:  # what was asked for last is shown
        workspace.jobs.pop(CHANGES, None)
    if asked or (is_new and is_quick(ward)):
        job = begin_examination(workspace, ward)
    elif is_new and (job is None or workspace.options.get("doctor_ward") != ward.model_dump_json()):
        st.caption("Large files, or many of them. Select **Examine** to check them.")
        return None
    if job is not None and job.state == "running":
        waiting(job, "doctor_examination")
    return job


def begin_examination(workspace: Workspace, ward: Ward) -> Job[Examination]:
    """Examine, in the place of what was found before: this tab and the page of each case show it."""
    before: Job[Examination] | None = workspace.jobs.get(EXAMINED)
    if before is not None:
        before.stop()
    job = workspace.jobs[EXAMINED] = examined(ward)
    workspace.options["doctor_about"] = _about(workspace, ward)
    workspace.options["doctor_ward"] = ward.model_dump_json()
    job.wait(AT_ONCE_SECONDS)
    return job


def _about(workspace: Workspace, ward: Ward) -> str:
    return f"{ward.model_dump_json()} {_stamp(ward)} {workspace.writes}"


def _stamp(ward: Ward) -> str:
    """Return whether a file has changed; of a whole folder nobody looks at every file in each run."""
    stamps = (path.stat() for path in ward.paths if path.exists())
    return " ".join(f"{stamp.st_mtime_ns}:{stamp.st_size}" for stamp in stamps)


def _fix(workspace: Workspace, ward: Ward, job: Job[Examination] | None) -> None:
    found = job.result if job is not None else None
    if found is None or not found.mendable:
        return
    codes = list(dict.fromkeys(finding.code for finding in found.mendable))
    kept = workspace.options.get("doctor_codes")
    shown: Any = [code for code in kept if code in codes] if isinstance(kept, list) else []
    chosen = st.multiselect(
        "Fix",
        codes,
        key=followed_key(workspace, "doctor_codes", shown),
        placeholder="All fixable findings",
    )
    keep_option(workspace, "doctor_codes", list(chosen))
    if st.button("Preview changes", key=key_of(workspace, "doctor_preview"), icon=":material/difference:"):
        _begin(workspace, ward, list(chosen) or codes, "fix")


def _migrate(workspace: Workspace, ward: Ward) -> None:
    is_used = bool(workspace.options.get("doctor_lines"))
    with st.expander(
        "Changed agents, tools or arguments", is_used, key=_MIGRATION, type="compact", on_change="rerun"
    ):
        _lines(workspace, ward)


def _lines(workspace: Workspace, ward: Ward) -> None:
    """Draw the lines of a migration, with the way to see what they would change."""
    said = st.text_area(
        "Changes, one per line",
        key=option_key(workspace, "doctor_lines", ""),
        placeholder=EXAMPLE,
        height=130,
        help="The options of `golden-trace doctor`. Applied together, to sets and recorded environments, so two tools can swap names",
    )
    keep_option(workspace, "doctor_lines", said or "")
    if st.button("Preview changes", key=key_of(workspace, "doctor_migrate"), icon=":material/difference:"):
        _begin(workspace, ward, said or "", "migrate")
    if wrong := workspace.notes.pop("doctor_lines", ""):
        problem("These changes cannot be read.", wrong)


def _begin(workspace: Workspace, ward: Ward, what: list[str] | str, kind: str, said: str = "") -> None:
    """Look what would change; `said` tells why that is looked at again."""
    workspace.notes["doctor_again"], before = said, _stamp(ward)
    try:
        asked = migration_from(what) if isinstance(what, str) else what
    except MigrationLineError as error:
        workspace.notes["doctor_lines"] = str(error)
        st.rerun()
    if not isinstance(asked, list) and asked.is_empty:
        workspace.notes["doctor_lines"] = "Enter at least one change."
        st.rerun()
    job = previewed(ward, asked)

    def write() -> None:
        if job.result is not None:
            words = f"Migrate {' '.join(what.split())}" if isinstance(what, str) else f"Fix {', '.join(what)}"
            put = partial(edited_sets().write, workspace.owner, workspace.eval_set, words=words)
            _start(workspace, written(ward, asked, job.result, workspace.wrote, put), "written")

    def again() -> None:
        if _stamp(ward) != before:
            _begin(workspace, ward, what, kind, _CHANGED_SINCE)

    workspace.agreed, workspace.again = write, again
    _start(workspace, job, kind)
    st.rerun()


def _start(workspace: Workspace, job: Job[Changes], kind: str) -> None:
    workspace.jobs[CHANGES] = job
    workspace.options["doctor_changes"] = kind
    job.wait(AT_ONCE_SECONDS)


def _changed(workspace: Workspace, *, unsaved: bool) -> None:
    """Show what would be changed, and the way to do it; or what was."""
    job: Job[Changes] | None = workspace.jobs.get(CHANGES)
    if job is None:
        return
    is_written = workspace.options.get("doctor_changes") == "written"
    if job.state == "running":
        if is_written:
            writes_here()
        waiting(job, "doctor_changes", can_stop=not is_written)
        return
    if not is_written and workspace.again is not None:
        workspace.again()
    if job.problem:
        problem("The operation failed.", job.problem)
        return
    if is_written and job.result is not None and _is_old(job.result, job.ended_at):
        del workspace.jobs[CHANGES]
    elif job.result is not None:
        with st.container(border=True, gap="xsmall", key="doctor_changed"):
            _changes(workspace, job.result, job.ended_at if is_written else None, unsaved=unsaved)


def _is_old(done: Changes, ended_at: float) -> bool:
    """Return whether a file has changed since it was written."""
    return any(each.file.exists() and each.file.stat().st_mtime > ended_at for each in done.files)


def _changes(workspace: Workspace, done: Changes, written_at: float | None, *, unsaved: bool) -> None:
    if written_at is None and (said := workspace.notes.get("doctor_again")):
        st.info(said, icon=":material/sync:")
    for sentence in done.problems:
        problem("File left unchanged.", sentence)
    if written_at is not None:
        _was_written(done, written_at)
    else:
        _would_be(workspace, done, unsaved=unsaved)
    for number, change in enumerate(done.files):
        _diff(change, number)
    if st.button("Close", key=key_of(workspace, "doctor_close"), type="tertiary", icon=":material/close:"):
        del workspace.jobs[CHANGES]
        st.rerun()


def _was_written(done: Changes, at: float) -> None:
    written = [change for change in done.files if change.written]
    if written:
        st.success(f"{_files(len(written))} changed, {short_time(at)}. Backups:", icon=":material/check:")
        st.code(literal("\n".join(str(copy) for copy in done.copies)), language=None, wrap_lines=True)
        fixed = [finding for change in written for finding in change.mended]
        if fixed:
            st.caption("Fixed:")
            st.code(literal(sentences(fixed[:_MOST_SENTENCES])), language=None, wrap_lines=True)
    elif not done.problems:
        st.caption("Nothing was left to change.")


def _would_be(workspace: Workspace, done: Changes, *, unsaved: bool) -> None:
    ready = [change for change in done.files if not change.problem]
    if not ready:
        if not done.problems:
            st.caption("No changes needed.")
        return
    losses = list(dict.fromkeys(each.loses for change in ready for each in change.mended if each.loses))
    st.markdown(f"**{_files(len(ready))} would change.** A backup of each is kept.")
    if losses:
        st.warning("This fix discards (kept in the backup):", icon=":material/warning:")
        st.code(literal("\n".join(losses)), language=None, wrap_lines=True)
    if unsaved:
        st.caption("This set has unsaved edits. Save or undo them first.")
    agreed = st.button(
        "Apply changes",
        key=key_of(workspace, "doctor_write"),
        type="primary",
        icon=":material/healing:",
        disabled=unsaved,
    )
    if agreed and workspace.agreed is not None:
        workspace.agreed()
        writes_here()
        st.rerun()


def _files(count: int) -> str:
    return "One file" if count == 1 else f"{count} files"


def _diff(change: FileChange, number: int) -> None:
    body = st.expander(
        f"Difference {number + 1}", expanded=number == 0, key=f"doctor_diff_{number}", on_change="rerun"
    )
    if body.open:
        with body:
            st.text(literal(str(change.file)))
            is_long = change.diff.count("\n") > _LONG_DIFF
            st.code(literal(change.diff), language="diff", height=_DIFF_HEIGHT if is_long else "content")


def _found(workspace: Workspace, ward: Ward, job: Job[Examination] | None, *, unsaved: bool) -> None:
    if job is None:
        return
    if job.problem:
        problem("The examination did not finish.", job.problem)
        return
    found = job.result
    if found is None:
        return
    if out_of_date(workspace, "doctor", found.measured, unsaved=unsaved):
        begin_examination(workspace, ward)
        st.rerun()
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="doctor_counts"):
        st.markdown("**Findings**", width="content")
        _counts(found)
        if found.findings:
            st.space("stretch")
            csv_button(lambda: found, "doctor.csv", key_of(workspace, "doctor_csv"))
    _renamed(workspace, ward, found)
    for sentence in found.unreadable:
        problem("A file could not be read.", sentence)
    if not found.count("error") and not found.count("warning"):
        st.success("No problems found.", icon=":material/check:")
    _usable(workspace, found.findings)
    if found.findings:
        _groups(workspace, found)
    for sentence in found.skipped:
        st.text(literal(sentence))


def _renamed(workspace: Workspace, ward: Ward, found: Examination) -> None:
    """Draw the agents that may have been renamed, each with the way to rename it in the files."""
    for old, new in found.renamed.items():
        with st.container(border=True, gap="xsmall", key=f"doctor_renamed_{slug(old)}"):
            st.text(
                literal(f"There is no agent {old}, and only {new} declares the same tools. Was it renamed?")
            )
            if st.button(
                "Preview changes",
                key=key_of(workspace, f"doctor_rename_{slug(old)}"),
                icon=":material/difference:",
            ):
                _begin(workspace, ward, f"--rename-agent {shlex.quote(f'{old}={new}')}", "migrate")


def _counts(found: Examination) -> None:
    for severity in SEVERITIES:
        if count := found.count(cast("Any", severity)):
            _badge(severity, count)


def _badge(severity: str, count: int) -> None:
    colors = {"error": "red", "warning": "orange", "note": "gray"}
    st.badge(f"{count} {severity}{'s' if count > 1 else ''}", color=cast("Any", colors[severity]))


def _groups(workspace: Workspace, found: Examination) -> None:
    """Draw the findings that were searched for, each with all that it says; those that say the same once, with their places."""
    shown = {severity: MARKS.get(severity, severity) for severity in SEVERITIES}
    words, severity = find_bar(workspace, "doctor", ("Find", "Case, place or text"), "Severity", shown)
    chosen = fitting(found.findings, severity, words)
    groups = alike(chosen)
    if not groups:
        st.caption("No matching findings.")
    for number, group in enumerate(groups[:_MOST_GROUPS]):
        with st.container(border=True, gap="xsmall", key=f"doctor_finding_{number}"):
            _badge(group[0].severity, sum(each.count for each in group))
            st.text(literal(f"{group[0].meaning} {remedy(group[0])}".strip()))
            is_long = len(group) > _FEW_PLACES
            st.code(
                literal(places(group)),
                language=None,
                wrap_lines=True,
                height=_PLACES_HEIGHT if is_long else "content",
            )
    if len(groups) > _MOST_GROUPS:
        st.caption(f"and {len(groups) - _MOST_GROUPS} more. Search to find them")
