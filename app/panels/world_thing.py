"""One thing of the world: where each of its fields comes from, and its record as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from app.jsontext import JsonTextError, parse_object, write_json
from app.kept import Kept, slug
from app.labels import literal
from app.panels.editing import look_at
from app.panels.parts import problem
from app.scene import Scene
from app.shaping import EditWorld, Shape
from app.world_edits import edited_row
from app.world_rows import found_rows
from app.world_words import field_rows
from simulator.environment.conventions.kinds import id_of, kind_named
from simulator.environment.things.entities import EntityChange
from simulator.jsonvalue import JsonObject, canonical

if TYPE_CHECKING:
    from simulator.runtime.world_view import WorldTable, WorldView


def one_thing(scene: Scene, world: WorldView, table: WorldTable, search: str) -> Shape | None:
    """Draw one thing of a kind; give what was asked for."""
    ids = [table.ids[place] for place in found_rows(table, search)]
    if ids:
        key = f"world_thing_{slug(table.kind)}"
        if st.session_state.get(key) not in ids:
            st.session_state[key] = ids[0]
        chosen = st.selectbox("Look at", ids, format_func=literal, key=key)
        if chosen in ids:
            look_at(field_rows(table, chosen), "world_origins", "Each field with where it was set last")
            asked = _record(scene, table, chosen)
            return new_thing(scene, world, table.kind) or asked
    return new_thing(scene, world, table.kind)


def _record(scene: Scene, table: WorldTable, key: str) -> Shape | None:
    before: JsonObject = table.rows[table.ids.index(key)]
    kept = Kept(scene.drafts, f"thing-{table.kind}-{key}", canonical(before))
    with st.expander("Edit as JSON", icon=":material/data_object:", key="world_record"):
        text = st.text_area(
            "Record (JSON object)",
            key=kept.widget("thing_json", write_json(before)),
            height=220,
            on_change="ignore",
        )
        with st.container(horizontal=True, gap="xsmall"):
            save = st.button("Save", key="thing_save", icon=":material/check:")
            delete = st.button("Delete", key="thing_delete", type="tertiary", icon=":material/delete:")
        if delete:
            return EditWorld(changes=(EntityChange(op="delete", kind=table.kind, id=key),))
        if not save:
            return None
        try:
            change = edited_row(table.kind, key, before, parse_object(text or ""))
        except JsonTextError as error:
            problem("The record was not saved.", str(error))
            return None
        if change is None:
            st.caption("Nothing is different.")
            return None
        return EditWorld(changes=(change,))


def new_thing(scene: Scene, world: WorldView, kind: str = "") -> Shape | None:
    """Draw the form for a thing of any kind; give it."""
    kept = Kept(scene.drafts, f"new-thing-{kind}")
    with st.expander("Add a thing", icon=":material/add:", key="world_new"):
        named = st.text_input(
            "Kind", key=kept.widget("new_kind", kind), placeholder="order", on_change="ignore"
        )
        key = st.text_input("Id", key=kept.widget("new_id", ""), placeholder="A-1", on_change="ignore")
        text = st.text_area(
            "Fields (JSON object)",
            key=kept.widget("new_json", ""),
            placeholder='{"status": "open"}',
            on_change="ignore",
        )
        if not st.button("Add", key="thing_add"):
            return None
        try:
            change = _new(world, named or "", (key or "").strip(), text or "")
        except ValueError as error:
            problem("Nothing was added.", str(error))
            return None
        return EditWorld(changes=(change,))


def _new(world: WorldView, named: str, key: str, text: str) -> EntityChange:
    kind = kind_named(named.strip())
    if not kind:
        raise ValueError("Kind: name what it is, for example order or customer")
    if id_of(key) is None:
        raise ValueError("Id: a short text in one line is needed")
    if any(table.kind == kind and key in table.ids for table in world.tables):
        raise ValueError(f"Id: there is {kind} {key!r} already")
    try:
        return EntityChange(op="put", kind=kind, id=key, fields=parse_object(text))
    except JsonTextError as error:
        raise ValueError(f"Fields: {error}") from error
