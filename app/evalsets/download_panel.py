"""The buttons that download a result as CSV, and keep a run next to its set."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.evalsets.choices_panel import key_of
from app.evalsets.workspace import Workspace
from evalset.kept_runs.kept_run import KeptRun
from evalset.kept_runs.run_files import KeptRunError, keep_run
from evalset.result_tables import Result, Reviews, table_csv


def csv_button(
    result: Callable[[], Result], file_name: str, key: str, reviews: Callable[[], Reviews] = dict
) -> None:
    """Draw the button; the text is made only when it is pressed. `reviews` gives those of cases."""
    st.download_button(
        "CSV",
        data=lambda: table_csv(result(), reviews=reviews()),
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        key=key,
        on_click="ignore",
    )


def keep_button(
    workspace: Workspace, name: str, ended_at: float, run: Callable[[], KeptRun], *, by_adk: bool = False
) -> None:
    """Draw the button that keeps a run, and keep it; a note says so, or why it cannot be kept.

    Args:
        workspace: The set's workspace.
        name: The name of the note.
        ended_at: When the run ended: it is kept once.
        run: Gives what is kept.
        by_adk: ADK has kept it where the tab of the kept runs looks.
    """
    if st.button(
        "Keep run",
        key=key_of(workspace, f"{name}_keep"),
        icon=":material/bookmark_add:",
        disabled=by_adk or workspace.notes.get(f"{name}_kept") == str(ended_at),
        help="ADK keeps this run with the agent. The tab Kept runs compares it"
        if by_adk
        else "Keeps the results next to the set. The tab Kept runs compares them",
    ):
        for old in (name, f"{name}_done"):
            workspace.notes.pop(old, None)
        try:
            keep_run(workspace.eval_set, run())
        except KeptRunError as error:
            workspace.notes[name] = str(error)
        else:
            workspace.notes[f"{name}_done"] = "The run is kept. The tab Kept runs compares it with others."
            workspace.notes[f"{name}_kept"] = str(ended_at)
        st.rerun()
