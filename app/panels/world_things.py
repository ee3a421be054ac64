"""The things of the world as tables that can be edited, and what contradicts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.kept import slug
from app.labels import literal, safe_label
from app.panels.world_sheet import sheet_editor
from app.panels.world_thing import new_thing, one_thing
from app.scene import Scene
from app.shaping import ChangeSettings, Shape
from app.world_rows import found_rows
from app.world_words import flag_lines
from simulator.environment.things.tool_settings import Authority

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldTable, WorldView

WIDTHS = (2.3, 1)
_NONE = ":material/inventory_2: **The environment knows of nothing yet.**"
_HOW = (
    "Each answered call teaches it: which things there are, and what is known of them. Answer a call in the session, "
    "or give data to begin with: choose **Data** above, where a template waits."
)
_AUTHORITIES: dict[Authority, str] = {
    "auto": "As can be told",
    "closed": "It does not exist",
    "open": "It may exist",
}
_SHOWN_GONE = 30


def things(scene: Scene, world: WorldView) -> Shape | None:
    """Draw the things; give what was asked for."""
    _flags(scene, world)
    for text in world.problems:
        st.warning("A setting cannot be used.", icon=":material/warning:")
        st.code(literal(text), language=None, wrap_lines=True)
    if not world.tables:
        with st.container(border=True, gap="xsmall", key="world_empty"):
            st.markdown(_NONE)
            st.markdown(_HOW)
        return new_thing(scene, world)
    search = _head(world)
    table = _chosen(world, search)
    if table is None:
        st.caption("Nothing of what is known holds these words.")
        return None
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        asked = sheet_editor(scene, table, search)
        asked = _below(scene, table) or asked
    with right:
        return one_thing(scene, world, table, search) or asked


def _head(world: WorldView) -> str:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        search = st.text_input(
            "Search all kinds",
            key="world_search",
            placeholder="an id, a name, any value",
            icon=":material/search:",
            width=340,
            persist_state="session",
        )
        if world.currency:
            st.space("stretch")
            st.text(literal(f"Currency: {world.currency}"), width="content")
    return search or ""


def _chosen(world: WorldView, search: str) -> WorldTable | None:
    """Let a kind be chosen of those in which something is found."""
    counts = {table.kind: len(found_rows(table, search)) for table in world.tables}
    names = {table.kind: table.name for table in world.tables}
    kinds = [kind for kind, count in counts.items() if count or not search.strip()]
    if not kinds:
        return None
    if st.session_state.get("world_kind") not in kinds:
        st.session_state["world_kind"] = kinds[0]
    chosen = st.pills(
        "Kind",
        kinds,
        required=True,
        format_func=lambda kind: f"{safe_label(names[kind], 32)} \u00b7 {counts[kind]}",
        key="world_kind",
    )
    return next((table for table in world.tables if table.kind == chosen), None)


def _below(scene: Scene, table: WorldTable) -> Shape | None:
    """Say what is gone, and what an unknown id means."""
    if table.gone:
        more = f" and {len(table.gone) - _SHOWN_GONE} more" if len(table.gone) > _SHOWN_GONE else ""
        st.text(literal(f"Gone: {', '.join(table.gone[:_SHOWN_GONE])}{more}"))
    settings = scene.live.simulation.environment.settings
    now: Authority = settings.authority.get(table.kind, "auto")
    key = f"world_authority_{slug(table.kind)}"
    state.follow(key, now)
    told = "so a call about another id is answered with a not-found error"
    left_open = "so another id may stand for a thing that was never mentioned"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.selectbox(
            "What is not in this table",
            list(_AUTHORITIES),
            format_func=_AUTHORITIES.__getitem__,
            key=key,
            width=220,
        )
        st.caption(
            f"This kind is {'closed' if table.is_closed else 'open'} now, {told if table.is_closed else left_open}.",
            width="stretch",
        )
    if wanted is None or wanted == now:
        return None
    others = {kind: said for kind, said in settings.authority.items() if kind != table.kind}
    return ChangeSettings(
        fields={"authority": others if wanted == "auto" else {**others, table.kind: wanted}}
    )


def _flags(scene: Scene, world: WorldView) -> None:
    lines = flag_lines(world.flags, scene.session.history)
    if not lines:
        return
    count = f"{len(lines)} answers contradict" if len(lines) > 1 else "An answer contradicts"
    with st.container(border=True, gap="xxsmall", key="world_flags"):
        st.markdown(f":material/flag: **{count} what was known**")
        for line in lines:
            st.text(literal(line))
