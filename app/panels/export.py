"""The export of a session: the golden trace as it will be, the checks on it, and the ways out for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import streamlit as st

from app.commands import CloseExport, ExportCommand, ReplayCase, WriteTrace
from app.destinations import is_among_data
from app.exporting import Exportable, ExportForm, TraceForm, Written, outline
from app.jsontext import show_json
from app.kept import Kept
from app.labels import literal
from app.panels.exported import exported
from app.panels.parts import pane, pane_head, problem
from app.panels.script_export import Agent, script_export, script_so_far

if TYPE_CHECKING:
    from app.export_replay import Replayed
    from app.jobs import Job

COLUMNS = (1.35, 1)
VIEWS = ("Outline", "Case JSON")
_FORMS: dict[TraceForm, str] = {
    "intermediate_data": "Intermediate data",
    "invocation_events": "Invocation events",
}
assert set(_FORMS) == set(get_args(TraceForm))  # noqa: S101 - a new form must get a name here


@dataclass(frozen=True)
class ExportView:
    """What the page knows: the case, or why there is none; the last write, or why it failed; how the session is as a script.

    `of_scenario` says that a scenario spoke for the user, `is_over` that the agent has given its final response; a
    session that is not has no case, and its script is all there is of it. `replay` is that of the last write.
    """

    result: Exportable | None
    refused: str | None
    failed: str | None
    written: Written | None
    script: Callable[[Agent], str]
    of_scenario: bool = False
    is_over: bool = True
    replay: Job[Replayed] | None = None


def fields(kept: Kept, default_path: str) -> ExportForm:
    """Give what the fields hold before they are drawn; the eval id is empty where nobody named one yet."""
    return ExportForm(
        form=kept.value("export_form", "intermediate_data"),
        eval_id=str(kept.value("export_eval_id", "") or ""),
        path=str(kept.value("export_path", default_path) or ""),
    )


def export(
    kept: Kept, chosen: ExportForm, shown: ExportView, *, may_write: bool = True
) -> ExportCommand | None:
    """Draw the panel; give what was asked for. `may_write` offers to write to a file of the server."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="export_head"):
        title = "Export the golden trace" if shown.is_over else "Export the session so far"
        st.subheader(title, anchor=False, width="content")
        st.space("stretch")
        back = st.button(
            "Back to the session", key="export_back", type="tertiary", icon=":material/arrow_back:"
        )
    asked: ExportCommand | None = None
    if shown.is_over:
        asked = _of_trace(kept, chosen, shown, may_write=may_write)
    else:
        script_so_far(kept, chosen.eval_id, shown.script)
    return CloseExport() if back else asked


def _of_trace(kept: Kept, chosen: ExportForm, shown: ExportView, *, may_write: bool) -> ExportCommand | None:
    left, right = st.columns(COLUMNS, gap="small")
    with left:
        view = pane_head("Case", VIEWS, "export_view")
        with pane("export_case"):
            _case(view, shown)
    with right:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="head_export_ways"
        ):
            st.markdown("**Destination**", width="content")
        with pane("export_ways"):
            return _ways(kept, chosen, shown, may_write=may_write)


def _case(view: str, shown: ExportView) -> None:
    if shown.result is None:
        problem("There is no case to show.", shown.refused or "")
    elif view == "Case JSON":
        st.code(literal(shown.result.text), language="json", wrap_lines=True)
    else:
        _outline(shown.result)


def _outline(result: Exportable) -> None:
    """Show a case turn by turn; every text in it comes from outside."""
    for number, turn in enumerate(outline(result.case), start=1):
        with st.container(gap="xsmall", key=f"outline_{number}"):
            st.markdown(f"**Turn {number}**")
            st.caption("The user asks")
            st.text(literal(turn.asked))
            st.caption(f"{len(turn.calls)} tool call{'' if len(turn.calls) == 1 else 's'}")
            if turn.calls:
                st.dataframe(
                    [call.model_dump() for call in turn.calls],
                    hide_index=True,
                    column_config={"tool": st.column_config.TextColumn(width="small")},
                    alt="Tool calls of the turn with their responses",
                )
            st.caption("The agent answers")
            st.text(literal(turn.answered))
    started = result.case.session_input.state if result.case.session_input else {}
    for title, value in (
        ("State at the start", started),
        ("State at the end", result.case.final_session_state),
    ):
        if value:
            st.caption(title)
            st.code(show_json(value), language="json", wrap_lines=True)


def _ways(kept: Kept, chosen: ExportForm, shown: ExportView, *, may_write: bool) -> ExportCommand | None:
    _checks(shown)
    if shown.of_scenario and shown.result is not None:
        st.info(
            "The scenario is frozen: the case holds what was said, word by word, and `adk eval` says it again without a model "
            "for the user.",
            icon=":material/ac_unit:",
        )
    st.segmented_control(
        "Steps are kept as",
        list(_FORMS),
        format_func=_FORMS.__getitem__,
        required=True,
        key=kept.widget("export_form", "intermediate_data"),
        help="Intermediate data lists calls, responses and texts; invocation events keep them in their order. "
        "`adk eval` reads both.",
    )
    st.text_input("Eval id", key=kept.widget("export_eval_id", chosen.eval_id))
    if may_write:
        st.text_input(
            "Eval-set file",
            key=kept.widget("export_path", chosen.path),
            help="Created where it is not there yet; other cases in it stay as they are",
        )
        if is_among_data(chosen.path):
            st.caption(
                "The eval sets of the demo agents are kept among your data. Any other path works as well."
            )
    asked = _buttons(chosen, shown, may_write=may_write)
    script_export(kept, chosen.eval_id, shown.script)
    return asked


def _buttons(chosen: ExportForm, shown: ExportView, *, may_write: bool) -> ExportCommand | None:
    result = shown.result
    done = shown.written is not None and (shown.written.eval_id, shown.written.path) == (
        chosen.eval_id,
        os.path.abspath(os.path.expanduser(chosen.path)),  # noqa: PTH100,PTH111 - a `Path` raises where there is no such user
    )
    with st.container(horizontal=True, gap="xsmall", key="export_buttons"):
        write = may_write and st.button(
            "Written" if done else "Write to file",
            key="export_write",
            type="primary",
            icon=":material/check:" if done else ":material/save:",
            shortcut="Mod+Enter",
            disabled=result is None or result.misread is not None or done,
        )
        _download(chosen, result)
        with st.popover("More", icon=":material/more_horiz:", key="export_copy", disabled=result is None):
            _archive(chosen, result)
            st.caption("An eval set with this case; copy it with the button in its corner")
            st.code(literal(result.document if result else ""), language="json", height=320)
    if shown.failed:
        problem("The case was not written.", shown.failed)
    differs = result.warnings if result is not None else ()
    if shown.written is not None and exported(shown.written, shown.replay, differs):
        return ReplayCase(path=shown.written.path, eval_id=shown.written.eval_id)
    return WriteTrace(form=chosen) if write else None


def _download(chosen: ExportForm, result: Exportable | None) -> None:
    st.download_button(
        "Download",
        data=result.document if result else "",
        file_name=f"{chosen.eval_id or 'golden_trace'}.evalset.json",
        mime="application/json",
        key="export_download",
        icon=":material/download:",
        on_click="ignore",
        disabled=result is None,
        help="An eval set with this case and what was recorded in it, confirmations too. ADK reads it and passes over the recording",
    )


def _archive(chosen: ExportForm, result: Exportable | None) -> None:
    """Offer the case with what the world answered in it."""
    st.download_button(
        "Download with its world",
        data=result.archive if result else b"",
        file_name=f"{chosen.eval_id or 'golden_trace'}.zip",
        mime="application/zip",
        key="export_archive",
        icon=":material/folder_zip:",
        on_click="ignore",
        disabled=result is None or not result.archive,
        help="The eval set and what the world answered, confirmations too, side by side: replayed with it, no real tool runs",
    )


def _checks(shown: ExportView) -> None:
    if shown.result is None:
        return
    if shown.result.misread is None:
        st.success("Checked: ADK loads this case unchanged.", icon=":material/verified:")
    else:
        problem("ADK's own loader does not read this case back equal.", shown.result.misread)
    if shown.result.warnings and shown.written is None:
        with st.container(gap="xsmall", key="export_warnings", border=True):
            st.badge("With the real tools, adk eval will differ", icon=":material/info:", color="orange")
            for sentence in shown.result.warnings:
                st.text(literal(sentence))
