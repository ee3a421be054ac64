"""The world of a session: its things, what must hold for them, and the data it begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.environment.parted_tab import Part, parted_tab
from app.environment.table_widgets import YES_OR_NO, editor_state, frame, height, is_new, look_at, problems
from app.environment.world_rows import (
    Column,
    InvariantVerdict,
    Sheet,
    cell,
    edited_row,
    edits_of,
    examples,
    field_rows,
    flag_lines,
    found_rows,
    sheet_of,
    template,
    verdict_of,
)
from app.forms.common_panel import problem
from app.forms.safe_labels import literal, safe_label
from app.forms.typed_json import TypedJsonError, parse_object, show_json, write_json
from app.forms.upload_panel import upload
from app.forms.widget_store import KeptInputs, slug
from app.session import page_state
from app.session.named_view_widgets import follow_address, tell_address
from app.session.page_commands import Asked
from app.session.session_context import SessionContext
from simulator.base.json_values import JsonObject, canonical, digest
from simulator.environment.conventions import id_of, kind_named
from simulator.environment.world.entities import EntityChange, Tables, TablesError, read_tables
from simulator.environment.world.tool_settings import Authority
from simulator.session.commands import ChangeSettings, EditWorld, GiveData

if TYPE_CHECKING:
    from simulator.runtime.knowledge.world_view import WorldTable, WorldView


# The things of the world as tables that can be edited, and what contradicts them.


WIDTHS = (2.3, 1)
_NONE = ":material/inventory_2: **No entities yet.**"
_HOW = (
    "Tool responses add entities and their fields. Answer a call in the session, or load initial data: choose "
    "**Data** above, which has a template."
)
_AUTHORITIES: dict[Authority, str] = {
    "auto": "Automatic",
    "closed": "Does not exist",
    "open": "May exist",
}
_SHOWN_GONE = 30


def things(scene: SessionContext, world: WorldView) -> Asked | None:
    """Draw the things; return what was asked for."""
    _flags(scene, world)
    for text in world.problems:
        st.warning("A setting cannot be applied.", icon=":material/warning:")
        st.code(literal(text), language=None, wrap_lines=True)
    if not world.tables:
        with st.container(border=True, gap="xsmall", key="world_empty"):
            st.markdown(_NONE)
            st.markdown(_HOW)
        return new_thing(scene, world)
    search = _head(world)
    table = _chosen(world, search)
    if table is None:
        st.caption("No entities match.")
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
            live=True,
            placeholder="id, name or any value",
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
    follow_address([*names], "world_kind", "kind")
    if st.session_state.get("world_kind") not in kinds:
        st.session_state["world_kind"] = kinds[0]
    chosen = st.pills(
        "Kind",
        kinds,
        required=True,
        format_func=lambda kind: f"{safe_label(names[kind], 32)} \u00b7 {counts[kind]}",
        key="world_kind",
    )
    tell_address([*names], chosen or kinds[0], "kind")
    return next((table for table in world.tables if table.kind == chosen), None)


def _below(scene: SessionContext, table: WorldTable) -> Asked | None:
    """Say what is gone, and what an unknown id means."""
    if table.gone:
        more = f" and {len(table.gone) - _SHOWN_GONE} more" if len(table.gone) > _SHOWN_GONE else ""
        st.text(literal(f"Deleted: {', '.join(table.gone[:_SHOWN_GONE])}{more}"))
    settings = scene.live.simulation.environment.settings
    now: Authority = settings.authority.get(table.kind, "auto")
    key = f"world_authority_{slug(table.kind)}"
    page_state.follow(key, now)
    meaning = (
        "This kind is closed: a call with another id gets a not-found error."
        if table.is_closed
        else "This kind is open: another id may be an entity that was not mentioned yet."
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.selectbox(
            "An id not in this table",
            list(_AUTHORITIES),
            format_func=_AUTHORITIES.__getitem__,
            key=key,
            width=220,
        )
        st.caption(meaning, width="stretch")
    if wanted is None or wanted == now:
        return None
    others = {kind: said for kind, said in settings.authority.items() if kind != table.kind}
    return ChangeSettings(
        fields={"authority": others if wanted == "auto" else {**others, table.kind: wanted}}
    )


def _flags(scene: SessionContext, world: WorldView) -> None:
    lines = flag_lines(world.flags, scene.session.history)
    if not lines:
        return
    count = f"{len(lines)} responses contradict" if len(lines) > 1 else "1 response contradicts"
    with st.container(border=True, gap="xxsmall", key="world_flags"):
        st.markdown(f":material/flag: **{count} the world**")
        for line in lines:
            st.text(literal(line))


# One thing of the world: where each of its fields comes from, and its record as JSON.


def one_thing(scene: SessionContext, world: WorldView, table: WorldTable, search: str) -> Asked | None:
    """Draw one thing of a kind; return what was asked for."""
    ids = [table.ids[place] for place in found_rows(table, search)]
    if ids:
        key = f"world_thing_{slug(table.kind)}"
        if st.session_state.get(key) not in ids:
            st.session_state[key] = ids[0]
        chosen = st.selectbox("Entity", ids, format_func=literal, key=key)
        if chosen in ids:
            look_at(
                field_rows(table, chosen), "world_origins", "Fields of the entity and where each was last set"
            )
            asked = _record(scene, table, chosen)
            return new_thing(scene, world, table.kind) or asked
    return new_thing(scene, world, table.kind)


def _record(scene: SessionContext, table: WorldTable, key: str) -> Asked | None:
    before: JsonObject = table.rows[table.ids.index(key)]
    kept = KeptInputs(scene.drafts, f"thing-{table.kind}-{key}", canonical(before))
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
        except TypedJsonError as error:
            problem("The record was not saved.", str(error))
            return None
        if change is None:
            st.caption("No changes.")
            return None
        return EditWorld(changes=(change,))


def new_thing(scene: SessionContext, world: WorldView, kind: str = "") -> Asked | None:
    """Draw the form for a thing of any kind; return it."""
    kept = KeptInputs(scene.drafts, f"new-thing-{kind}")
    with st.expander("Add entity", icon=":material/add:", key="world_new"):
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
            change = _new_thing(world, named or "", (key or "").strip(), text or "")
        except ValueError as error:
            problem("The entity was not added.", str(error))
            return None
        return EditWorld(changes=(change,))


def _new_thing(world: WorldView, named: str, key: str, text: str) -> EntityChange:
    kind = kind_named(named.strip())
    if not kind:
        raise ValueError("Kind: enter an entity kind, for example order or customer")
    if id_of(key) is None:
        raise ValueError("Id: enter a short text in one line")
    if any(table.kind == kind and key in table.ids for table in world.tables):
        raise ValueError(f"Id: {kind} {key!r} already exists")
    try:
        return EntityChange(op="put", kind=kind, id=key, fields=parse_object(text))
    except TypedJsonError as error:
        raise ValueError(f"Fields: {error}") from error


# A table of the things of one kind: each cell can be edited, rows can be added and deleted.


_INDEX = "_index"
"""The name by which a table editor knows its row labels; a field of this name is called otherwise in it."""


def sheet_editor(scene: SessionContext, table: WorldTable, search: str) -> Asked | None:
    """Draw the things in which a text is found; return the edits that were made since the last run."""
    sheet = sheet_of(table, search)
    heads = {column.name: _sheet_head(column.name) for column in sheet.columns}
    shape = [[column.name, column.kind] for column in sheet.columns]
    key = f"world_{slug(table.kind)}_{digest(canonical(shape), canonical([list(sheet.rows)]))[:10]}"
    st.data_editor(
        _frame(sheet, heads),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_config={heads[column.name]: _config(column) for column in sheet.columns},
        height=height(len(sheet.ids)),
        placeholder="",
        alt=f"Entities: {table.name}",
    )
    done = _named(editor_state(key), {head: name for name, head in heads.items()})
    edits = edits_of(sheet, done, st.context.locale)
    problems(edits.problems)
    if edits.waits:
        st.caption("The new row is saved when its first column has an id.")
    if edits.problems or not (edits.changes or edits.renames):
        return None
    if not is_new(key, done, scene.view.version):
        return None
    edited = (EditWorld(changes=edits.changes),) if edits.changes else ()
    return (*edited, *edits.renames)


def _sheet_head(name: str) -> str:
    return name if name.strip() and name != _INDEX else f"{name}\u2060 "


def _frame(sheet: Sheet, heads: dict[str, str]) -> Any:
    first, *others = sheet.columns
    cells: dict[str, Sequence[Any]] = {heads[first.name]: sheet.ids}
    for column in others:
        cells[heads[column.name]] = [cell(row.get(column.name), column.kind) for row in sheet.rows]
    return frame(
        cells,
        {heads[column.name]: YES_OR_NO for column in sheet.columns if column.kind == "boolean"},
    )


def _config(column: Column) -> Any:
    match column.kind:
        case "id":
            return st.column_config.TextColumn(required=True, pinned=True)
        case "integer" | "number":
            return st.column_config.TextColumn(alignment="right")
        case "boolean":
            return st.column_config.CheckboxColumn()
        case "json":
            return st.column_config.TextColumn(help="JSON values: put text in double quotes")
        case _:
            return st.column_config.TextColumn()


def _named(done: Any, names: dict[str, str]) -> dict[str, Any]:
    """Return what was done with the fields' own names."""

    def own(cells: Any) -> dict[str, Any]:
        return {names.get(head, head): written for head, written in cells.items()}

    return {
        "edited_rows": {place: own(cells) for place, cells in done.get("edited_rows", {}).items()},
        "added_rows": [own(cells) for cells in done.get("added_rows", ())],
        "deleted_rows": list(done.get("deleted_rows", ())),
    }


# The invariants of the world: a line each, with how it stands now, checked as it is typed.


_INVARIANTS_HELP = (
    "Each line is a condition that must hold: for a field of all entities that have it (`stock >= 0`), for entities "
    "of one kind (`order.total > 0`), or for a reference (`order.customer_id in customers`). A response that breaks "
    "a condition is flagged and never accepted silently."
)
_ICONS = {
    "holds": ":material/check_circle:",
    "broken": ":material/flag:",
    "unknown": ":material/help:",
    "wrong": ":material/error:",
}
_SHOWN = 8


def invariants(scene: SessionContext, world: WorldView) -> Asked | None:
    """Draw the invariants; return what was asked for."""
    settings = scene.live.simulation.environment.settings
    lines = settings.invariants
    st.caption(_INVARIANTS_HELP)
    asked: Asked | None = None
    for place, line in enumerate(lines):
        asked = _line(scene, lines, place, line) or asked
    asked = _new_invariant(scene, world, lines) or asked
    key = "world_implicit"
    page_state.follow(key, settings.implicit_contradictions)
    implicit = st.toggle(
        "Also flag contradictions with earlier responses: a fixed field that changed, a deleted entity that still exists",
        key=key,
    )
    if implicit != settings.implicit_contradictions:
        return ChangeSettings(fields={"implicit_contradictions": implicit})
    return asked


def _line(scene: SessionContext, lines: tuple[str, ...], place: int, line: str) -> Asked | None:
    kept = KeptInputs(scene.drafts, f"invariant-{place}", line)
    with st.container(border=True, gap="xxsmall", key=f"invariant_row_{place}"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
            written = st.text_input(f"Invariant {place + 1}", key=kept.widget("invariant_json", line))
            delete = st.button(
                "Delete",
                key=f"invariant_delete_{place}",
                type="tertiary",
                icon=":material/delete:",
                help="Moves the line to the input below, so that you can add it again",
                on_click=lambda: _new_input(scene, len(lines) - 1).put("invariant_json", line),
            )
        now = " ".join((written or "").split())
        verdict = _judge(scene, now or line)
        _draw_invariants(verdict)
        others = lines[:place] + lines[place + 1 :]
        if delete:
            return ChangeSettings(fields={"invariants": others})
        if not now or now == line:
            return None
        if verdict.state == "wrong" or now in others:
            st.caption("Not saved. The previous line still applies.")
            return None
        return ChangeSettings(fields={"invariants": (*lines[:place], now, *lines[place + 1 :])})


def _new_input(scene: SessionContext, count: int) -> KeptInputs:
    """Return the input for one more line; another one for each number of lines, so that what was added leaves it."""
    return KeptInputs(scene.drafts, f"invariant-new-{count}")


def _new_invariant(scene: SessionContext, world: WorldView, lines: tuple[str, ...]) -> Asked | None:
    kept = _new_input(scene, len(lines))
    with st.container(border=True, gap="xsmall", key="invariant_new_row"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
            written = st.text_input(
                "New invariant",
                key=kept.widget("invariant_json", ""),
                placeholder="order.total >= 0",
            )
            add = st.button("Add", key="invariant_add", icon=":material/add:")
        line = " ".join((written or "").split())
        verdict = _judge(scene, line) if line else None
        if verdict is not None:
            _draw_invariants(verdict)
        ready = [each for each in examples(world.tables, lines) if each != line]
        if ready:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
                st.caption("Examples", width="content")
                for number, example in enumerate(ready):
                    st.button(
                        safe_label(example),
                        key=f"invariant_example_{number}",
                        on_click=lambda example=example: kept.put("invariant_json", example),
                    )
    if not add or not line or verdict is None or verdict.state == "wrong" or line in lines:
        return None
    return ChangeSettings(fields={"invariants": (*lines, line)})


def _judge(scene: SessionContext, line: str) -> InvariantVerdict:
    try:
        return verdict_of(scene.live.simulation.environment.judge(line))
    except ValueError as error:
        return InvariantVerdict("wrong", str(error))


def _draw_invariants(verdict: InvariantVerdict) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(_ICONS[verdict.state], width="content")
        st.text(literal(verdict.said))
    for sentence in verdict.broken[:_SHOWN]:
        st.text(literal(f"\u2022 {sentence}"))
    if len(verdict.broken) > _SHOWN:
        st.caption(f"And {len(verdict.broken) - _SHOWN} more.")


# The data that the environment begins with: typed or uploaded, checked, and shown as tables.


_DATA_HELP = (
    "The state before the first call: JSON tables, each a list of objects with an id, or plain text. A table lists "
    "all entities of its kind: a call with another id gets a not-found error."
)
_BROUGHT = "This data comes with the agent. Edits here apply to this session only."
_CAN_BRING = (
    "New sessions of an agent load `environment_data.json` if the file is next to the agent's `agent.py`."
)
_SHOWN_ROWS = 100


def given_data(scene: SessionContext, world: WorldView) -> Asked | None:
    """Draw the data; return what was asked for."""
    environment = scene.live.simulation.environment.now
    now = environment.data
    kept = _input(scene, now)
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(f"{_DATA_HELP} {_BROUGHT if environment.is_data_brought else _CAN_BRING}")
        _ways_in(kept, world)
        text = _text(kept.widget("data_json", now))
        with st.container(horizontal=True, gap="xsmall"):
            give = st.button(
                "Load data",
                key="data_give",
                type="primary",
                icon=":material/check:",
                disabled=not text.strip() or text == now,
            )
            away = st.button(
                "Clear data",
                key="data_drop",
                type="tertiary",
                icon=":material/delete:",
                disabled=not now,
                help="The text stays here, so that you can load it again",
                on_click=lambda: _input(scene, "").put("data_json", now),
            )
            _way_out(world)
    with right:
        is_sound = _preview(text, is_given=bool(now) and text == now)
    if away:
        return GiveData(text="")
    return GiveData(text=text) if give and is_sound else None


def _text(key: str) -> str:
    typed = st.text_area(
        "Environment data (JSON tables or text)",
        key=key,
        height=380,
        placeholder='{"orders": [{"order_id": "A-1", "status": "shipped"}]}',
    )
    return typed or ""


def _input(scene: SessionContext, given: str) -> KeptInputs:
    """Return the input for the data; another one for each that is given, so that it begins with what is in force."""
    return KeptInputs(scene.drafts, f"world-data-{digest(given)[:8]}")


def _ways_in(kept: KeptInputs, world: WorldView) -> None:
    upload(kept, "data_json", "Upload data", ["json", "txt"])
    st.button(
        "Start from the world" if world.tables else "Start from an example",
        key="data_template",
        icon=":material/edit_note:",
        on_click=lambda: kept.put("data_json", template(world.tables)),
    )


def _way_out(world: WorldView) -> None:
    if world.tables:
        st.download_button(
            "Download world",
            data=lambda: template(world.tables),
            file_name="world.json",
            mime="application/json",
            key="data_download",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
        )


def _preview(text: str, *, is_given: bool) -> bool:
    """Show what the text gives; return whether it can be used."""
    try:
        tables = read_tables(text)
    except TablesError as error:
        problem("Invalid data.", str(error))
        return False
    if not text.strip():
        st.caption("No data. Type or upload data to see a preview of its tables here.")
        return True
    count = len(tables.tables)
    st.caption(
        f"{'Loaded' if is_given else 'Preview'}: {count} table{'' if count == 1 else 's'}"
        + (
            f", {len(tables.notes)} other value{'' if len(tables.notes) == 1 else 's'}"
            if tables.notes
            else ""
        )
    )
    _draw_data(tables)
    return True


def _draw_data(tables: Tables) -> None:
    for place, table in enumerate(tables.tables):
        st.markdown(f"**{safe_label(table.name)}** \u00b7 {len(table.rows)}")
        rows = [
            {name: value if isinstance(value, str) else show_json(value) for name, value in row.items()}
            for row in table.rows[:_SHOWN_ROWS]
        ]
        look_at(rows, f"data_table_{place}", f"Rows of {table.name}")
    if tables.notes:
        st.json(tables.notes)
    if tables.description:
        st.caption("Text for the drafts of a model:")
        st.text(literal(tables.description))


# The world of a session: its things, what must hold for them, and the data it begins with.


PARTS: Mapping[str, Part] = {"Entities": things, "Invariants": invariants, "Data": given_data}


def world_tab(scene: SessionContext) -> Asked | None:
    """Draw the world; return what was asked for."""
    return parted_tab(scene, "Part of the world", PARTS, "world_part")
