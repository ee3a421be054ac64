"""Says that a result is of before a change, and offers to measure anew."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import streamlit as st

from app.evalsets.choices_panel import key_of
from app.evalsets.workspace import Workspace
from app.forms.safe_labels import literal
from app.session.page_fragments import fragment
from evalset.measured import changed_words

if TYPE_CHECKING:
    from evalset.measured import Measured

LOOK_AGAIN_SECONDS = 3.0
"""How often the page looks by itself whether another process has changed a file."""

_UNSAVED = "the set has unsaved edits"


def is_out_of_date(measured: Measured | None, eval_ids: Collection[str] = (), *, unsaved: bool) -> bool:
    """Return whether something has changed since a result was measured; of cases, what changed for others does not count."""
    return unsaved or (measured is not None and bool(measured.changes(eval_ids)))


def out_of_date(
    workspace: Workspace,
    name: str,
    measured: Measured | None,
    eval_ids: Collection[str] = (),
    *,
    unsaved: bool = False,
) -> bool:
    """Draw what has changed since a result was measured, where something has; True when it shall be measured anew.

    Args:
        workspace: The set's workspace.
        name: The name of the result, for its inputs.
        measured: What it was measured on; None where nobody knows.
        eval_ids: The cases that it is of; without any, it is of the whole files.
        unsaved: The set on the page has edits that its file does not have.
    """
    changes = () if measured is None else measured.changes(eval_ids)
    _look_by_itself(measured, eval_ids, changes)
    words = [_UNSAVED] if unsaved else []
    if changes:
        words.append(changed_words(changes))
    if not words:
        return False
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key=f"out_of_date_{name}", border=True
    ):
        st.badge("Out of date", icon=":material/update:", color="orange")
        st.text(literal(f"Out of date: {'; '.join(words)}."))
        if unsaved:
            st.caption("Save the set, then run again.", width="content")
            return False
        return st.button("Run again", key=key_of(workspace, f"{name}_again"), icon=":material/replay:")


def _look_by_itself(measured: Measured | None, eval_ids: Collection[str], drawn: tuple[str, ...]) -> None:
    def look() -> None:
        if measured is not None and measured.changes(eval_ids) != drawn:
            st.rerun()

    fragment(look, LOOK_AGAIN_SECONDS)()
