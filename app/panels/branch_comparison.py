"""Draws two branches of a session side by side, row by row: what differs is marked, what is the same is folded away."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from app.branch_words import held, option, steps
from app.fragments import fragment
from app.labels import literal
from app.panels.parts import block
from app.viewmodels import blocks, step, tool_names
from simulator.branch_comparison import ComparedRow, Missing, PlaceDiffers, Side, compared, shared_entries
from simulator.branches import Branch, history_at

if TYPE_CHECKING:
    from simulator.journal import Journal
    from simulator.session import HistoryEntry

MOST_ROWS = 100
"""How many rows that differ are drawn: a page of more takes seconds."""

MOST_PLACES = 8
"""How many places of one answer are shown; of more, the number."""

_SHOWN = 400
_MARKS = {
    "changed": " :orange-badge[differs]",
    "only_left": " :violet-badge[only here]",
    "only_right": " :violet-badge[only here]",
    "same": "",
}


def side_key(side: Literal["left", "right"], session_id: str) -> str:
    """Give the key of the list in which the branch for a side is chosen."""
    return f"compare_{side}_{session_id[-6:]}"


def comparison(journal: Journal, found: Sequence[Branch], session_id: str) -> None:
    """Draw the choice of two branches, and what they have; opening a row reruns only this part of the page."""
    fragment(_compared)(journal, {branch.number: branch for branch in found}, session_id)


def _compared(journal: Journal, found: Mapping[int, Branch], session_id: str) -> None:
    here = next(number for number, branch in found.items() if branch.is_current)
    other = next(number for number in found if number != here)
    columns = st.columns(2, gap="small")
    with columns[0]:
        left = _chosen("left", found, here, session_id)
    with columns[1]:
        right = _chosen("right", found, other, session_id)
    if left == right:
        st.info("Both sides are the same branch. Choose another one.", icon=":material/alt_route:")
        return
    ours, theirs = (history_at(journal, found[number].tip) for number in (left, right))
    shared = shared_entries(ours, theirs)
    rows = compared(ours, theirs)
    changed = sum(row.kind != "same" for row in rows)
    st.caption(f"Both begin with the same {steps(shared)}. {_counted(changed)} after that.")
    names = tool_names(ours), tool_names(theirs)
    _rows(rows, names)


def _counted(changed: int) -> str:
    return f"{changed} row{' differs' if changed == 1 else 's differ'}" if changed else "Nothing differs"


def _chosen(
    side: Literal["left", "right"], found: Mapping[int, Branch], default: int, session_id: str
) -> int:
    key = side_key(side, session_id)
    if st.session_state.get(key) not in found:
        st.session_state[key] = default
    chosen: int = st.selectbox(
        f"The branch on the {side}",
        list(found),
        format_func=lambda number: option(found[number]),
        key=key,
        label_visibility="collapsed",
        persist_state="session",
    )
    return chosen


def _rows(rows: Sequence[ComparedRow], names: tuple[Mapping[str, str], Mapping[str, str]]) -> None:
    drawn, place = 0, 0
    for is_same, group in itertools.groupby(rows, key=lambda row: row.kind == "same"):
        members = list(group)
        if is_same:
            _folded(members, place, names)
        else:
            for number, row in enumerate(members[: MOST_ROWS - drawn], place):
                _row(row, number, names)
            drawn += len(members)
        place += len(members)
        if drawn > MOST_ROWS:
            st.caption(f"Only the first {MOST_ROWS} rows that differ are drawn.")
            return


def _folded(
    rows: Sequence[ComparedRow], place: int, names: tuple[Mapping[str, str], Mapping[str, str]]
) -> None:
    """Draw a line that stands for rows that are the same; they are drawn while it is open."""
    words = "step is the same" if len(rows) == 1 else "steps are the same"
    folded = st.expander(
        f"{len(rows)} {words}", icon=":material/drag_handle:", key=f"same_rows_{place}", on_change="rerun"
    )
    with folded:
        if not folded.open:
            st.empty()
            return
        for number, row in enumerate(rows[:MOST_ROWS], place):
            _row(row, number, names)
        if len(rows) > MOST_ROWS:
            st.caption(f"Only the first {MOST_ROWS} of them are drawn.")


def _row(row: ComparedRow, place: int, names: tuple[Mapping[str, str], Mapping[str, str]]) -> None:
    columns = st.columns(2, gap="small")
    with columns[0]:
        _cell(row.left, row, place, names[0], "left")
    with columns[1]:
        _cell(row.right, row, place, names[1], "right")


def _cell(
    entry: HistoryEntry | None,
    row: ComparedRow,
    place: int,
    names: Mapping[str, str],
    side: Literal["left", "right"],
) -> None:
    with st.container(border=True, gap="xsmall", key=f"compared_{side}_{row.kind}_{place}"):
        if entry is None:
            st.caption("\u2013")
            return
        line = step(place, entry, names)
        body = st.expander(
            f"{line.label}{_MARKS[row.kind]}",
            type="step",
            icon=line.icon,
            key=f"compared_step_{side}_{place}",
            on_change="rerun",
        )
        with body:
            if body.open:
                for shown in blocks(entry):
                    block(shown)
            else:
                st.empty()
        if row.differences:
            st.code(literal(_places(row, side)), language=None, wrap_lines=True)


def _places(row: ComparedRow, side: Literal["left", "right"]) -> str:
    """Write the places that differ; beside an answer of the other sort, only what this side has."""
    differing = [one for one in row.differences if not (_of_two_sorts(row) and _is_missing(one, side))]
    lines = [f"{place.path}: {_value(getattr(place, side))}" for place in differing[:MOST_PLACES]]
    more = len(differing) - MOST_PLACES
    return "\n".join((*lines, *((f"and {more} more places",) if more > 0 else ())))


def _of_two_sorts(row: ComparedRow) -> bool:
    """Tell whether one side is an error and the other an answer: they have no place in common."""
    return row.left is not None and row.right is not None and row.left.type != row.right.type


def _is_missing(place: PlaceDiffers, side: Literal["left", "right"]) -> bool:
    return isinstance(getattr(place, side), Missing)


def _value(side: Side) -> str:
    text = held(side)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}\u2026"
