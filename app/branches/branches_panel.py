"""The page of a session's branches: the tree of the ways that it went, a list of them, and two of them side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import streamlit as st

from app.branches import branch_labels
from app.branches.branch_labels import held, newest_of, option, tree_dot
from app.forms.common_panel import badge, block, page_head
from app.forms.dot_graph import DARK, LIGHT
from app.forms.safe_labels import Badge, DetailBlock, literal
from app.forms.widget_store import set_input
from app.live.live_sessions import title
from app.session import page_state
from app.session.named_view_widgets import named_views
from app.session.page_commands import Show
from app.session.page_fragments import fragment
from app.session.refresh_panel import look_again
from app.session.session_context import SessionContext
from app.session.timeline_view import blocks, counted_steps, is_underway, status, step, tool_names
from simulator.base.json_paths import ABSENT
from simulator.branches import (
    Branch,
    ComparedRow,
    branches,
    compared,
    first_step,
    history_at,
    shared_entries,
    tree,
)
from simulator.session.commands import MoveHead

if TYPE_CHECKING:
    from simulator.journal import Journal
    from simulator.session import HistoryEntry


PAGE_BRANCHES = 20
"""How many branches are listed at first, and how many more with each click."""

LOOK_AGAIN_SECONDS = 1.0
_VIEWS = ("Tree", "Compare")
_VIEW_KEY = "branches_view"
_HERE = Badge(text="you are here", color="blue", icon=":material/location_on:")
_ONE_WAY = (
    "No branches yet. Undo a step, or open one in the timeline and click **Correct this answer** or **Branch from here**. Then "
    "answer it differently. Both ways are kept as branches, and you can view and compare them here."
)


def branches_page(scene: SessionContext) -> MoveHead | Show | None:
    """Draw the page; return what was asked for."""
    shown = status(scene.view, by_script=scene.live.plays_script)
    back = page_head("Branches", title(scene.session), shown, "branches")
    asked: MoveHead | Show | None = Show(view=None) if back else None
    journal = scene.live.simulation.journal
    found = branches(journal)
    if len(found) < 2:  # noqa: PLR2004 - one way is no choice
        st.info(_ONE_WAY, icon=":material/alt_route:")
    else:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="branches_line"):
            chosen = named_views("Part of the branches", _VIEWS, _VIEW_KEY)
        if chosen == "Tree":
            _picture(journal)
            asked = _listed(found, scene) or asked
        else:
            comparison(journal, found, scene.session.session_id)
    look_again(scene.live.session_id, scene.stamp, LOOK_AGAIN_SECONDS if is_underway(scene.view) else None)
    return asked


def _picture(journal: Journal) -> None:
    drawn, hidden = newest_of(tree(journal))
    palette = DARK if st.context.theme.type == "dark" else LIGHT
    with st.container(border=True, key="branches_tree"):
        st.graphviz_chart(
            tree_dot(drawn, journal, palette),
            width="content",
            alt="The branches of the session, which are also in the list below",
        )
    if hidden:
        st.caption(f"{hidden} older branches are not in the picture. The list has all of them.")


def _listed(found: tuple[Branch, ...], scene: SessionContext) -> MoveHead | None:
    """Draw the list, the newest branch first."""
    asked: MoveHead | None = None
    current = next(branch.number for branch in found if branch.is_current)
    count = PAGE_BRANCHES * (1 + int(page_state.get("branches_listed") or 0))
    for branch in found[:count]:
        asked = _card(branch, current, scene) or asked
    hidden = len(found) - count
    if hidden > 0 and st.button(
        f"Show older \u00b7 {hidden} more",
        key="branches_older",
        type="tertiary",
        icon=":material/expand_more:",
    ):
        page_state.put("branches_listed", int(page_state.get("branches_listed") or 0) + 1)
        st.rerun()
    return asked


def _card(branch: Branch, here: int, scene: SessionContext) -> MoveHead | None:
    journal, head = scene.live.simulation.journal, scene.view.head
    with st.container(border=True, gap="xsmall", key=f"branch_{branch.number}"):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", key=f"branch_line_{branch.number}"
        ):
            st.markdown(f"**{branch_labels.name(branch)}**", width="content")
            badge(branch_labels.ending(journal, branch.tip))
            if branch.is_current:
                badge(_HERE)
            st.space("stretch")
            asked = _ways(branch, here, scene)
        st.caption(_where(branch, journal))
        _differs_first(branch, journal, head)
    return asked


def _ways(branch: Branch, here: int, scene: SessionContext) -> MoveHead | None:
    """Draw what can be done with a branch: set it beside the one where the session is, and go to its end."""
    if not branch.is_current:
        st.button(
            "Compare",
            key=f"branch_compare_{branch.number}",
            type="tertiary",
            icon=":material/compare_arrows:",
            help="Compare with the current branch",
            on_click=_compare,
            args=(scene.session.session_id, here, branch.number),
        )
    is_end = branch.tip == scene.view.head
    if not scene.live.read_only and st.button(
        "Go to end" if branch.is_current else "Go to branch",
        key=f"branch_go_{branch.number}",
        icon=":material/arrow_forward:",
        disabled=is_end,
        help="You are at the end"
        if is_end
        else "Continue from its end. Nothing is deleted, and no model runs.",
    ):
        return MoveHead(fact=branch.tip)
    return None


def _compare(session_id: str, here: int, number: int) -> None:
    set_input(_VIEW_KEY, "Compare")
    set_input(side_key("left", session_id), here)
    set_input(side_key("right", session_id), number)


def _where(branch: Branch, journal: Journal) -> str:
    if branch.is_current:
        ahead = f"{counted_steps(branch.steps)} after your position" if branch.steps else ""
        return " \u00b7 ".join(filter(None, (ahead, branch_labels.at(branch))))
    own = f"{counted_steps(branch.steps)} long"
    return f"{branch_labels.forks(journal, branch.fork)} \u00b7 {own} \u00b7 {branch_labels.at(branch)}"


def _differs_first(branch: Branch, journal: Journal, head: int) -> None:
    """Say what was done first on the branch, and what on the way to where the session is; it may come from outside."""
    if branch.begins is None:
        return
    there = journal.fact(branch.begins)
    here = first_step(journal, branch, head)
    if here is None:
        st.text(literal(f"There: {branch_labels.done(there)}"))
        return
    sides = branch_labels.done_otherwise(there, journal.fact(here))
    for where, said in zip(("There", "Here"), sides, strict=True):
        st.text(literal(f"{where}: {said}"))


# Draws two branches of a session side by side, row by row: what differs is marked, what is the same is folded away.


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
    """Return the key of the list in which the branch for a side is chosen."""
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
    st.caption(f"Both begin with the same {counted_steps(shared)}. After that, {count_words(changed)}.")
    rows_side_by_side(rows, Sides(tool_names(ours), tool_names(theirs)))


def count_words(changed: int) -> str:
    """Say how many steps differ."""
    return f"{changed} step{' differs' if changed == 1 else 's differ'}" if changed else "no step differs"


def _chosen(
    side: Literal["left", "right"], found: Mapping[int, Branch], default: int, session_id: str
) -> int:
    key = side_key(side, session_id)
    if st.session_state.get(key) not in found:
        st.session_state[key] = default
    chosen: int = st.selectbox(
        f"Branch on the {side}",
        list(found),
        format_func=lambda number: option(found[number]),
        key=key,
        label_visibility="collapsed",
        persist_state="session",
    )
    return chosen


class Sides(NamedTuple):
    """How both sides are shown: the names of their tools by the ids of calls, and the body of an entry."""

    left: Mapping[str, str]
    right: Mapping[str, str]
    body: Callable[[HistoryEntry], Sequence[DetailBlock]] = blocks


def rows_side_by_side(rows: Sequence[ComparedRow], sides: Sides) -> None:
    """Draw rows, of which those that are the same are folded."""
    drawn, place = 0, 0
    for is_same, group in itertools.groupby(rows, key=lambda row: row.kind == "same"):
        members = list(group)
        if is_same:
            _folded(members, place, sides)
        else:
            for number, row in enumerate(members[: MOST_ROWS - drawn], place):
                _row(row, number, sides)
            drawn += len(members)
        place += len(members)
        if drawn > MOST_ROWS:
            st.caption(f"Only the first {MOST_ROWS} rows that differ are shown.")
            return


def _folded(rows: Sequence[ComparedRow], place: int, sides: Sides) -> None:
    """Draw a line that stands for rows that are the same; they are drawn while it is open."""
    words = "identical step" if len(rows) == 1 else "identical steps"
    folded = st.expander(
        f"{len(rows)} {words}", icon=":material/drag_handle:", key=f"same_rows_{place}", on_change="rerun"
    )
    with folded:
        if not folded.open:
            st.empty()
            return
        for number, row in enumerate(rows[:MOST_ROWS], place):
            _row(row, number, sides)
        if len(rows) > MOST_ROWS:
            st.caption(f"Only the first {MOST_ROWS} are shown.")


def _row(row: ComparedRow, place: int, sides: Sides) -> None:
    columns = st.columns(2, gap="small")
    with columns[0]:
        _cell(row.left, row, place, sides, "left")
    with columns[1]:
        _cell(row.right, row, place, sides, "right")


def _cell(
    entry: HistoryEntry | None,
    row: ComparedRow,
    place: int,
    sides: Sides,
    side: Literal["left", "right"],
) -> None:
    with st.container(border=True, gap="xsmall", key=f"compared_{side}_{row.kind}_{place}"):
        if entry is None:
            st.caption("\u2013")
            return
        line = step(place, entry, getattr(sides, side))
        body = st.expander(
            f"{line.label}{_MARKS[row.kind]}",
            type="step",
            icon=line.icon,
            key=f"compared_step_{side}_{place}",
            on_change="rerun",
        )
        with body:
            if body.open:
                for number, shown in enumerate(sides.body(entry)):
                    block(shown, f"compared_file_{side}_{place}_{number}")
            else:
                st.empty()
        if row.differences:
            st.code(literal(places_of(row, side)), language=None, wrap_lines=True)


def places_of(row: ComparedRow, side: Literal["left", "right"]) -> str:
    """Write the places that differ; beside an answer of the other sort, only what this side has."""
    differing = [
        (one.place, value)
        for one in row.differences
        if (value := getattr(one, side)) is not ABSENT or not _of_two_sorts(row)
    ]
    lines = [f"{place}: {_value(value)}" for place, value in differing[:MOST_PLACES]]
    more = len(differing) - MOST_PLACES
    return "\n".join((*lines, *((f"and {more} more",) if more > 0 else ())))


def _of_two_sorts(row: ComparedRow) -> bool:
    """Return whether one side is an error and the other an answer: they have no place in common."""
    return row.left is not None and row.right is not None and row.left.type != row.right.type


def _value(value: Any) -> str:
    text = held(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}\u2026"
