"""Two cases of a set side by side, step by step, in the rows that two branches of a session have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.branches.branches_panel import Sides, count_words, places_of, rows_side_by_side
from app.evalsets.set_context import OpenCase, SetContext
from app.forms.safe_labels import literal
from app.forms.widget_store import slug
from app.session.page_fragments import fragment
from app.session.timeline_view import blocks, tool_names
from evalset.editing.case_parts import Case, field
from evalset.editing.set_changes import case_history, tells_agents
from evalset.editing.set_work import EditedCase
from simulator.base.json_paths import differing
from simulator.branches import ComparedRow, compared

_MOST_CHOICES = 1_000
_VALUES: dict[str, Callable[[Case], Any]] = {
    "Initial state": lambda case: field(field(case, "session_input"), "state"),
    "Scenario": lambda case: field(case, "conversation_scenario"),
    "Final state": lambda case: field(case, "final_session_state"),
    "Case rubrics": lambda case: field(case, "rubrics"),
}


def compared_cases(scene: SetContext, key: str, other: str) -> OpenCase | None:
    """Draw both, what differs marked and what is the same folded; return the case, or the two, that was asked for."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="cases_compared_head"):
        if st.button("Back to case", key="cases_back", type="tertiary", icon=":material/arrow_back:"):
            return OpenCase(key=key)
        st.markdown("**Compare cases**", width="content")
    columns = st.columns(2, gap="small")
    with columns[0]:
        left = _chosen(scene, "left", key)
    with columns[1]:
        right = _chosen(scene, "right", other)
    if (left, right) != (key, other):
        return OpenCase(key=left, other=right)
    if left == right:
        st.info("Both sides are the same case. Choose another one.", icon=":material/compare_arrows:")
        return None
    fragment(_differences)(scene.work.held(left), scene.work.held(right))
    return None


def _chosen(scene: SetContext, side: str, key: str) -> str:
    ids = {row.key: row.eval_id for row in scene.work.rows()}
    options = [*dict.fromkeys((key, *scene.work.state.order[:_MOST_CHOICES]))]
    return st.selectbox(
        f"Case on the {side}",
        options,
        format_func=lambda each: literal(ids[each]),
        key=f"cases_{side}_{slug(key)}",
        label_visibility="collapsed",
    )


def _differences(one: EditedCase, other: EditedCase) -> None:
    """Draw the steps, and then what a case has apart from its turns."""
    left, right = one.case, other.case
    with_agents = tells_agents(left) and tells_agents(right)
    # Where a text was said is known of both or of neither: else equal cases would differ.
    is_known = one.recorded is not None and other.recorded is not None
    ours, theirs = (
        case_history(held.case, held.recorded if is_known else None, with_agents=with_agents)
        for held in (one, other)
    )
    rows = compared(ours, theirs, shared=0)
    words = count_words(sum(row.kind != "same" for row in rows))
    st.caption(f"{words[0].upper()}{words[1:]}.")
    rows_side_by_side(rows, Sides(tool_names(ours), tool_names(theirs), body=lambda entry: blocks(entry)[:1]))
    for name, read in _VALUES.items():
        found = tuple(differing(read(left) or {}, read(right) or {}, name.lower()))
        if not found:
            continue
        st.markdown(f"**{name}** :orange-badge[differs]")
        row = ComparedRow(kind="changed", differences=found)
        columns = st.columns(2, gap="small")
        columns[0].code(literal(places_of(row, "left")), language=None, wrap_lines=True)
        columns[1].code(literal(places_of(row, "right")), language=None, wrap_lines=True)
