"""The data that the environment begins with: typed or uploaded, checked, and shown as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.jsontext import show_json
from app.kept import Kept
from app.labels import literal, safe_label
from app.panels.editing import look_at
from app.panels.parts import problem
from app.panels.uploads import upload
from app.scene import Scene
from app.shaping import GiveData, Shape
from app.world_words import template
from simulator.environment.things.tables import Tables, TablesError, read_tables
from simulator.jsonvalue import digest

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldView

_HELP = (
    "What there is before the first call: JSON of tables, each a list of objects with an id, or simply words. "
    "Tables make their kinds known for certain: another id is then answered with a not-found error."
)
_SHOWN_ROWS = 100


def given_data(scene: Scene, world: WorldView) -> Shape | None:
    """Draw the data; give what was asked for."""
    now = scene.live.simulation.environment.now.data
    kept = _input(scene, now)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(_HELP)
        _ways_in(kept, world)
        text = (
            st.text_area(
                "Environment data (JSON of tables, or words)",
                key=kept.widget("data_json", now),
                height=380,
                placeholder='{"orders": [{"order_id": "A-1", "status": "shipped"}]}',
            )
            or ""
        )
        with st.container(horizontal=True, gap="xsmall"):
            give = st.button(
                "Give this data",
                key="data_give",
                type="primary",
                icon=":material/check:",
                disabled=not text.strip() or text == now,
            )
            away = st.button(
                "Take it away",
                key="data_drop",
                type="tertiary",
                icon=":material/delete:",
                disabled=not now,
                help="The text stays here, from where it can be given again",
                on_click=lambda: _input(scene, "").put("data_json", now),
            )
            _way_out(world)
    with right:
        is_sound = _preview(text, is_given=bool(now) and text == now)
    if away:
        return GiveData(text="")
    return GiveData(text=text) if give and is_sound else None


def _input(scene: Scene, given: str) -> Kept:
    """Give the input for the data; another one for each that is given, so that it begins with what is in force."""
    return Kept(scene.drafts, f"world-data-{digest(given)[:8]}")


def _ways_in(kept: Kept, world: WorldView) -> None:
    upload(kept, "data_json", "Upload data", ["json", "txt"])
    st.button(
        "Start from what is known" if world.tables else "Start from an example",
        key="data_template",
        icon=":material/edit_note:",
        on_click=lambda: kept.put("data_json", template(world.tables)),
    )


def _way_out(world: WorldView) -> None:
    if world.tables:
        st.download_button(
            "Download the world",
            data=lambda: template(world.tables),
            file_name="world.json",
            mime="application/json",
            key="data_download",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
        )


def _preview(text: str, *, is_given: bool) -> bool:
    """Show what the text gives; tell whether it can be used."""
    try:
        tables = read_tables(text)
    except TablesError as error:
        problem("This data cannot be used yet.", str(error))
        return False
    if not text.strip():
        st.caption("Nothing is given. What you type or upload is shown here as tables before it counts.")
        return True
    count = len(tables.tables)
    st.caption(
        f"{'In force' if is_given else 'Preview'}: {count} table{'' if count == 1 else 's'}"
        + (f", {len(tables.notes)} other values" if tables.notes else "")
    )
    _draw(tables)
    return True


def _draw(tables: Tables) -> None:
    for place, table in enumerate(tables.tables):
        st.markdown(f"**{safe_label(table.name)}** \u00b7 {len(table.rows)}")
        rows = [
            {name: value if isinstance(value, str) else show_json(value) for name, value in row.items()}
            for row in table.rows[:_SHOWN_ROWS]
        ]
        look_at(rows, f"data_table_{place}", f"The rows of {table.name}")
    if tables.notes:
        st.json(tables.notes)
    if tables.description:
        st.caption("Words, for the drafts of a model:")
        st.text(literal(tables.description))
