"""What tools remember: which of them share a state, how it begins, and the calls that are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app import state
from app.kept import slug
from app.labels import literal
from app.panels.editing import editor_state, height, is_new, look_at
from app.panels.frames import frame
from app.scene import Scene
from app.shaping import ChangeSettings, ClearState, Shape
from app.sources import remembered_rows, with_states
from simulator.jsonvalue import canonical, digest

if TYPE_CHECKING:
    from simulator.runtime.world_view import RememberedState, WorldView

MOST_CALLS = 1_000
_HELP = (
    "A tool remembers its own latest calls. Tools with the same **shared state** see each other's: write one word for "
    "all of them, such as room_1. **Begins with** says in words what there is before the first call."
)


def shared_state(scene: Scene, world: WorldView) -> Shape | None:
    """Draw what is remembered; give what was asked for."""
    settings = scene.live.simulation.environment.settings
    st.caption(_HELP)
    names = list(dict.fromkeys((*scene.tools(), *(tool.name for tool in world.tools), *settings.tools)))
    asked = _table(scene, names) if names else None
    for text in world.problems:
        st.text(literal(f"\u26a0 {text}"))
    state.follow("state_size", settings.max_tool_call_cache_size)
    size = st.number_input(
        "Calls that are remembered for each state",
        min_value=1,
        max_value=MOST_CALLS,
        step=1,
        key="state_size",
        width=260,
    )
    if size is not None and size != settings.max_tool_call_cache_size:
        asked = ChangeSettings(fields={"max_tool_call_cache_size": int(size)})
    if not world.states:
        st.caption("No call is remembered yet.")
    for remembered in world.states:
        asked = _remembered(remembered, settings.max_tool_call_cache_size) or asked
    return asked


def _table(scene: Scene, names: list[str]) -> Shape | None:
    settings = scene.live.simulation.environment.settings
    rows = [settings.tool(name) for name in names]
    cells = {
        "tool": names,
        "shared": [row.share_state_id for row in rows],
        "begins": [row.initial_state_description for row in rows],
    }
    key = f"states_{digest(canonical(cells))[:10]}"
    column = st.column_config
    st.data_editor(
        frame(cells),
        key=key,
        num_rows="fixed",
        hide_index=True,
        disabled=["tool"],
        column_config={
            "tool": column.TextColumn("Tool", width="medium"),
            "shared": column.TextColumn("Shared state", width="medium"),
            "begins": column.TextColumn("Begins with", width="large"),
        },
        height=height(len(names)),
        alt="Which tools share a state, and how it begins",
    )
    done = editor_state(key)
    tools = with_states(settings, names, done.get("edited_rows", {}))
    if tools == settings.tools or not is_new(key, done, scene.view.version):
        return None
    return ChangeSettings(fields={"tools": tools})


def _remembered(remembered: RememberedState, size: int) -> Shape | None:
    with st.container(border=True, gap="xsmall", key=f"state_of_{slug(remembered.key)}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.text(literal(remembered.key))
            st.caption(f"{len(remembered.calls)} of at most {size} calls")
            st.space("stretch")
            clear = st.button(
                "Clear",
                key=f"state_clear_{slug(remembered.key)}",
                type="tertiary",
                icon=":material/delete_sweep:",
                help="Forget how it began and these calls",
            )
        shared = [name for name in remembered.tools if name != remembered.key]
        if shared:
            st.text(literal(f"Shared by {', '.join(remembered.tools)}"))
        if remembered.initial_state:
            st.text(literal(f"Begins with: {remembered.initial_state}"))
        if remembered.calls:
            rows = remembered_rows(remembered.calls)
            look_at(rows, f"state_calls_{slug(remembered.key)}", f"Calls that {remembered.key} remembers")
    return ClearState(state_key=remembered.key) if clear else None
