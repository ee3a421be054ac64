"""The tab of imports and exports: cases of other files are looked at and taken in, and the set's own leave in other forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app.evalsets.choices_panel import keep_option, key_of, option_key
from app.evalsets.exchange_jobs import (
    EXPORTED,
    FORM_NAMES,
    IMPORTED,
    Upload,
    case_names,
    import_rows,
    insertions,
    looked_into,
    prepared,
)
from app.evalsets.set_context import ApplyEdits, SetContext
from app.evalsets.workspace import Workspace
from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.server.owners import LOCAL
from app.session.running_panel import AT_ONCE_SECONDS, waiting

if TYPE_CHECKING:
    from app.evalsets.exchange_jobs import Looked
    from app.live.background_jobs import Job
    from evalset.exporting.export_forms import Exported

_TYPES = ["json", "zip", "db", "sqlite", "sqlite3"]
_MOST_ROWS, _FEW_ROWS, _TABLE_HEIGHT = 1_000, 9, 360
_MOST_LISTED = 400
_MOST_SENTENCES = 200


def exchange_tab(workspace: Workspace, scene: SetContext) -> ApplyEdits | None:
    """Draw the tab; return the edits that take cases into the set."""
    left, right = st.columns(2, gap="medium")
    with left, st.container(key="set_import", gap="small"):
        asked = _import(workspace, scene)
    with right, st.container(key="set_export", gap="small"):
        _export(workspace, scene)
    return asked


# ---------------------------------------------------------------- import


def _import(workspace: Workspace, scene: SetContext) -> ApplyEdits | None:
    st.markdown("**Import cases**")
    st.caption(
        "Eval sets in ADK's current and old format, datasets and traces of `agents-cli eval`, test files, ADK sessions (JSON or the database of `adk web`), tests of "
        "`adk test`, sessions of the studio, and ZIP archives of these."
    )
    uploaded: Any = st.file_uploader(
        "Files", type=_TYPES, accept_multiple_files=True, key=key_of(workspace, "import_files")
    )
    path = ""
    if workspace.owner == LOCAL:
        path = (
            st.text_input(
                "Or a file or folder on the server",
                key=option_key(workspace, "import_path", ""),
                placeholder="path/to/sessions",
            )
            or ""
        )
        keep_option(workspace, "import_path", path)
    look = st.button(
        "Find cases",
        key=key_of(workspace, "import_look"),
        icon=":material/search:",
    )
    if look and not (uploaded or path.strip()):
        st.caption(
            f"Nothing to search. Upload files{' or enter a path' if workspace.owner == LOCAL else ''}."
        )
    elif look:
        uploads = [Upload(name=str(each.name), content=each.getvalue()) for each in uploaded or ()]
        given = None if uploads else path
        job = workspace.jobs[IMPORTED] = looked_into(uploads, given)
        job.wait(AT_ONCE_SECONDS)
        st.rerun()
    return _imported(workspace, scene)


def _imported(workspace: Workspace, scene: SetContext) -> ApplyEdits | None:
    """Show what was found, and take it in where that is wanted."""
    job: Job[Looked] | None = workspace.jobs.get(IMPORTED)
    if told := workspace.notes.pop("import", ""):
        st.caption(told)
    if job is None:
        return None
    if job.state == "running":
        waiting(job, "import")
        return None
    if job.problem:
        problem("The import failed.", job.problem)
    if job.result is None:
        return None
    found = job.result.imported
    asked = _found(workspace, scene, job.result) if found.cases else None
    if not found.cases:
        st.caption("No cases found.")
    if found.problems:
        st.caption("Left out, changed or unknown")
        more = len(found.problems) - _MOST_SENTENCES
        lines = [*found.problems[:_MOST_SENTENCES], *([f"and {more} more"] if more > 0 else [])]
        st.code(literal("\n".join(lines)), language=None, wrap_lines=True)
    return asked


def _found(workspace: Workspace, scene: SetContext, looked: Looked) -> ApplyEdits | None:
    found = looked.imported
    rows = import_rows(found)
    st.dataframe(
        rows[:_MOST_ROWS],
        key=key_of(workspace, "import_table"),
        hide_index=True,
        height=_TABLE_HEIGHT if len(rows) > _FEW_ROWS else "auto",
        alt="Cases found",
    )
    names = [case.eval_id for case in found.cases][:_MOST_LISTED]
    chosen = st.multiselect(
        "Cases to import",
        names,
        key=key_of(workspace, "import_cases"),
        format_func=literal,
        placeholder=f"All {len(found.cases):,}",
    )
    count = len(chosen) or len(found.cases)
    if not st.button(
        f"Add {count:,} case{'' if count == 1 else 's'} to this set",
        key=key_of(workspace, "import_add"),
        type="primary",
        icon=":material/library_add:",
    ):
        return None
    del workspace.jobs[IMPORTED]
    edits = insertions(looked, chosen, scene.work)
    told = [f"Added to this set, not saved yet: {len(edits):,}"] if edits else []
    if len(edits) < count:
        told.append(f"Skipped, because this set already has them: {count - len(edits):,}")
    workspace.notes["import"] = ". ".join(told)
    return ApplyEdits(edits=edits) if edits else st.rerun()


# ---------------------------------------------------------------- export


def _export(workspace: Workspace, scene: SetContext) -> None:
    st.markdown("**Export cases**")
    form = st.selectbox(
        "Format",
        list(FORM_NAMES),
        format_func=FORM_NAMES.__getitem__,
        key=option_key(workspace, "export_form", "evalset"),
    )
    keep_option(workspace, "export_form", form)
    names = case_names(scene.work)
    listed = list(names)[:_MOST_LISTED]
    chosen = st.multiselect(
        "Cases",
        listed,
        key=key_of(workspace, "export_cases"),
        format_func=lambda key: literal(names.get(key, key)),
        placeholder=f"All {len(names):,}",
    )
    agents_dir = _agents_dir(workspace) if form == "pytest" else ""
    metrics = form == "dataset" and _metrics(workspace)
    turns = [row.turns for row in scene.work.rows() if row.key in (chosen or names)]
    if form == "dataset" and all(turns):
        st.caption(
            f"Each turn is a case of the dataset: cases {len(turns):,}, in the dataset {sum(turns):,}."
        )
    about = (
        f"{form} {sorted(chosen)} {agents_dir} {metrics} {len(scene.work.edits)} {scene.work.opened.identity}"
    )
    if st.button(
        "Prepare", key=key_of(workspace, "export_prepare"), icon=":material/outbox:", disabled=not names
    ):
        name = scene.path.name.partition(".")[0]
        job = workspace.jobs[EXPORTED] = prepared(
            scene.work, chosen, form, name, agents_dir=agents_dir.strip(), metrics=metrics
        )
        workspace.options["export_about"] = about
        job.wait(AT_ONCE_SECONDS)
        st.rerun()
    if workspace.options.get("export_about") == about:
        _exported(workspace)


def _agents_dir(workspace: Workspace) -> str:
    said = st.text_input(
        "Agents folder, relative to the test file",
        key=option_key(workspace, "export_agents", ""),
        placeholder="the same folder",
        help="The test file, the eval set and the recording are in one folder",
    )
    keep_option(workspace, "export_agents", said or "")
    return said or ""


def _metrics(workspace: Workspace) -> bool:
    chosen = st.toggle(
        "Add metrics for `agents-cli eval grade`",
        key=option_key(workspace, "export_metrics", initial=False),
        help="An `eval_config.yaml` with three metrics: tool calls, tool responses and final state against the golden trace",
    )
    keep_option(workspace, "export_metrics", chosen)
    return chosen


def _exported(workspace: Workspace) -> None:
    """Offer what was written, and say what the form has no words for."""
    job: Job[Exported] | None = workspace.jobs.get(EXPORTED)
    if job is None:
        return
    if job.state == "running":
        waiting(job, "export")
        return
    if job.problem:
        problem("These cases cannot be exported in this format.", job.problem)
    made = job.result
    if made is None:
        return
    st.download_button(
        "Download",
        data=made.content,
        file_name=made.name,
        key=key_of(workspace, "export_download"),
        type="primary",
        icon=":material/download:",
        on_click="ignore",
    )
    st.code(literal("\n".join(file.path for file in made.files[:_MOST_SENTENCES])), language=None)
    if made.losses:
        st.caption("Left out by this format")
        st.code(literal("\n".join(made.losses[:_MOST_SENTENCES])), language=None, wrap_lines=True)
