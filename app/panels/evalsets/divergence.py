"""The first step at which a run goes another way than its golden: both side by side, what speaks for the verdict, and what to do about it."""

from typing import Literal, TypeAlias

import streamlit as st

from app.bench import Bench
from app.labels import literal
from app.panels.evalsets.remembered import key_of
from app.verifying import VERDICTS, difference_rows, marked_text, side_by_side
from evalset.verify.results import Divergence

Action: TypeAlias = Literal["accept", "repair", "open", "tolerate"]

_COLORS = {
    "agent_changed": "orange",
    "golden_stale": "violet",
    "environment_changed": "red",
    "user_changed": "blue",
    "varies": "gray",
}
_COLUMNS = (0.05, 1, 1)
_MOST_PAIRS = 12
_LABELS: dict[Action, tuple[str, str, str]] = {
    "accept": (
        "Accept the new behaviour",
        ":material/check:",
        "What the agent does now becomes the golden; you see what changes, and save it",
    ),
    "repair": (
        "Repair the golden",
        ":material/healing:",
        "The golden is put right from what was recorded; you see what changes, and save it",
    ),
    "open": (
        "Open the session at this step",
        ":material/play_arrow:",
        "The case is played up to here, and you go on",
    ),
    "tolerate": (
        "Keep the tolerances",
        ":material/rule:",
        "What differs by itself is not compared any more. You see and change it under Tolerances of this case",
    ),
}


def divergence_panel(bench: Bench, divergence: Divergence, *, can_accept: bool) -> Action | None:
    """Draw a divergence; give what shall be done about it. A run that did not come to its end can not be accepted."""
    with st.container(border=True, gap="xsmall", key="divergence"):
        _verdict(divergence)
        asked = _actions(bench, divergence.action, can_accept=can_accept)
        _differences(divergence)
        _pairs(divergence)
    return asked


def divergence_shown(divergence: Divergence) -> None:
    """Draw a divergence, with nothing to do about it."""
    with st.container(gap="xsmall", key="divergence_shown"):
        _verdict(divergence)
        _differences(divergence)
        _pairs(divergence)


def _verdict(divergence: Divergence) -> None:
    """Say where it is, what it means, and what speaks for that."""
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(
            f"**First divergence: turn {divergence.turn + 1}, step {divergence.step + 1}**", width="content"
        )
        for verdict in (divergence.verdict, *divergence.also):
            st.badge(VERDICTS[verdict], color=_COLORS[verdict])  # type: ignore[arg-type] # colours that badges have
    st.text(literal(divergence.sentence))
    for sentence in divergence.evidence:
        st.text(literal(f"· {sentence}"))


def _actions(bench: Bench, first: Action, *, can_accept: bool) -> Action | None:
    """Draw the one thing to do, and beside it the way to look at it oneself."""
    asked: Action | None = None
    others: tuple[Action, ...] = () if first == "open" else ("open",)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        for action in (first, *others):
            label, icon, words = _LABELS[action]
            if st.button(
                label,
                key=key_of(bench, f"divergence_{action}"),
                icon=icon,
                type="primary" if action == first else "tertiary",
                help=words,
                disabled=action == "accept" and not can_accept,
            ):
                asked = action
    if first == "accept" and not can_accept:
        st.caption("The run did not come to its end, so it is no golden.")
    return asked


def _differences(divergence: Divergence) -> None:
    rows = difference_rows(divergence)
    if rows:
        st.dataframe(rows, hide_index=True, alt="Where golden and actual values differ")
    if divergence.text:
        st.caption("`[-only in the golden-]` and `{+only in the actual text+}`")
        st.code(literal(marked_text(divergence.text)), language=None, wrap_lines=True)


def _pairs(divergence: Divergence) -> None:
    _, left, right = st.columns(_COLUMNS, gap="xsmall")
    with left:
        st.caption("Golden, from this step on")
    with right:
        st.caption("Actual")
    for golden, actual, differs in side_by_side(divergence.pairs[:_MOST_PAIRS]):
        mark, left, right = st.columns(_COLUMNS, gap="xsmall")
        with mark:
            st.markdown(":red[:material/difference:]" if differs else ":gray[:material/check:]")
        with left:
            st.code(literal(golden), language=None, wrap_lines=True)
        with right:
            st.code(literal(actual), language=None, wrap_lines=True)
    if len(divergence.pairs) > _MOST_PAIRS:
        st.caption(f"and {len(divergence.pairs) - _MOST_PAIRS} more steps of this turn")
