"""Draws what an answer contradicts, each with the earlier turn, and the second step that gives it all the same."""

from collections.abc import Sequence

import streamlit as st

from app.kept import Kept
from app.labels import literal, safe_label
from app.panels.parts import block
from app.viewmodels import blocks
from simulator.environment.things.entities import Contradiction
from simulator.session.history import HistoryEntry

_MOST = 5


def contradictions(
    kept: Kept, found: Sequence[Contradiction], history: Sequence[HistoryEntry], *, is_held: bool
) -> bool:
    """Draw the contradictions; True where the answer shall be given all the same.

    Args:
        kept: Names the widgets.
        found: What the answer contradicts.
        history: What has happened.
        is_held: The answer was to be given, and is held because of them.
    """
    if not found:
        return False
    insists = False
    with st.container(border=True, gap="xsmall", key="contradictions"):
        count = "a contradiction" if len(found) == 1 else f"{len(found)} contradictions"
        words = f"Not given: it holds {count}" if is_held else f"This answer holds {count}"
        st.badge(words, icon=":material/error:", color="red" if is_held else "orange")
        for place, each in enumerate(found[:_MOST]):
            st.text(literal(each.what))
            if each.earlier is not None:
                _earlier(kept, place, each, history)
        if len(found) > _MOST:
            st.caption(f"and {len(found) - _MOST} more")
        if is_held:
            st.caption("Change the answer, or give it as it is: it will be marked in the world.")
            insists = st.button(
                "Give it all the same", key=kept.key("insist"), icon=":material/priority_high:"
            )
    return insists


def _earlier(kept: Kept, place: int, found: Contradiction, history: Sequence[HistoryEntry]) -> None:
    """Show the earlier step itself; one that is no answer of a tool is only named in the sentence."""
    earlier = found.earlier
    steps = [entry for entry in history if earlier is not None and entry.fact == earlier.fact]
    if not steps or earlier is None:
        return
    with st.expander(
        f"See {safe_label(earlier.words())}",
        type="compact",
        key=kept.key(f"earlier_{place}"),
        icon=":material/history:",
    ):
        for shown in blocks(steps[0])[:2]:
            block(shown)
