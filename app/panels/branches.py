"""The page of a session's branches: the tree of the ways that it went, a list of them, and two of them side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import branch_words, state
from app.acknowledged import set_input
from app.branch_graph import newest_of, tree_dot
from app.commands import CloseBranches, Command, GoTo
from app.graph import DARK, LIGHT
from app.labels import literal
from app.overview import is_underway, status, title
from app.panels.branch_comparison import comparison, side_key
from app.panels.look_again import look_again
from app.panels.parts import badge, page_head, views
from app.scene import Scene
from app.viewmodels import Badge
from simulator.branches import Branch, branches, first_step, tree

if TYPE_CHECKING:
    from simulator.journal import Journal

PAGE_BRANCHES = 20
"""How many branches are listed at first, and how many more with each click."""

LOOK_AGAIN_SECONDS = 1.0
_VIEWS = ("Tree", "Compare")
_VIEW_KEY = "branches_view"
_HERE = Badge(text="you are here", color="blue", icon=":material/location_on:")
_ONE_WAY = (
    "This session went one way so far. Undo a step, or open one in the timeline and click **From here, another way**, "
    "then answer it differently: both ways are kept, and stand here as branches that you can walk and compare."
)


def branches_page(scene: Scene) -> Command | None:
    """Draw the page; give what was asked for."""
    back = page_head("Branches", title(scene.session), status(scene.view), "branches")
    asked: Command | None = CloseBranches() if back else None
    journal = scene.live.simulation.journal
    found = branches(journal)
    if len(found) < 2:  # noqa: PLR2004 - one way is no choice
        st.info(_ONE_WAY, icon=":material/alt_route:")
    else:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="branches_line"):
            chosen = views("Part of the branches", _VIEWS, _VIEW_KEY)
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
            alt="The branches of the session; the list below says the same in words",
        )
    if hidden:
        st.caption(f"{hidden} older branches are left out of the picture; all of them are in the list.")


def _listed(found: tuple[Branch, ...], scene: Scene) -> Command | None:
    """Draw the list, the newest branch first."""
    asked: Command | None = None
    current = next(branch.number for branch in found if branch.is_current)
    count = PAGE_BRANCHES * (1 + int(state.get("branches_listed") or 0))
    for branch in found[:count]:
        asked = _card(branch, current, scene) or asked
    hidden = len(found) - count
    if hidden > 0 and st.button(
        f"Show older \u00b7 {hidden} more",
        key="branches_older",
        type="tertiary",
        icon=":material/expand_more:",
    ):
        state.put("branches_listed", int(state.get("branches_listed") or 0) + 1)
        st.rerun()
    return asked


def _card(branch: Branch, here: int, scene: Scene) -> Command | None:
    journal, head = scene.live.simulation.journal, scene.view.head
    with st.container(border=True, gap="xsmall", key=f"branch_{branch.number}"):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", key=f"branch_line_{branch.number}"
        ):
            st.markdown(f"**{branch_words.name(branch)}**", width="content")
            badge(branch_words.ending(journal, branch.tip))
            if branch.is_current:
                badge(_HERE)
            st.space("stretch")
            asked = _ways(branch, here, scene)
        st.caption(_where(branch, journal))
        _differs_first(branch, journal, head)
    return asked


def _ways(branch: Branch, here: int, scene: Scene) -> Command | None:
    """Draw what can be done with a branch: set it beside the one where the session is, and go to its end."""
    if not branch.is_current:
        st.button(
            "Compare",
            key=f"branch_compare_{branch.number}",
            type="tertiary",
            icon=":material/compare_arrows:",
            help="Set it beside the branch that you are on",
            on_click=_compare,
            args=(scene.session.session_id, here, branch.number),
        )
    is_end = branch.tip == scene.view.head
    if not scene.live.read_only and st.button(
        "Go to its end" if branch.is_current else "Go there",
        key=f"branch_go_{branch.number}",
        icon=":material/arrow_forward:",
        disabled=is_end,
        help="You are at its end"
        if is_end
        else "Go on from its end; nothing is deleted, and no model is asked",
    ):
        return GoTo(fact=branch.tip)
    return None


def _compare(session_id: str, here: int, number: int) -> None:
    set_input(_VIEW_KEY, "Compare")
    set_input(side_key("left", session_id), here)
    set_input(side_key("right", session_id), number)


def _where(branch: Branch, journal: Journal) -> str:
    if branch.is_current:
        ahead = f"Goes on for {branch_words.steps(branch.steps)} after where you are" if branch.steps else ""
        return " \u00b7 ".join(filter(None, (ahead, branch_words.at(branch))))
    own = f"{branch_words.steps(branch.steps)} of its own"
    return f"{branch_words.forks(journal, branch.fork)} \u00b7 {own} \u00b7 {branch_words.at(branch)}"


def _differs_first(branch: Branch, journal: Journal, head: int) -> None:
    """Say what was done first on the branch, and what on the way to where the session is; it may come from outside."""
    if branch.begins is None:
        return
    there = journal.fact(branch.begins)
    here = first_step(journal, branch, head)
    if here is None:
        st.text(literal(f"There: {branch_words.done(there)}"))
        return
    sides = branch_words.done_otherwise(there, journal.fact(here))
    for where, said in zip(("There", "Here"), sides, strict=True):
        st.text(literal(f"{where}: {said}"))
