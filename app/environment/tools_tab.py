"""Tools that do not exist yet: declared here, called by the agent, answered by the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app.environment.declared_tool_form import (
    STYLES,
    TYPES,
    DeclaredForm,
    DeclaredFormError,
    SchemaRow,
    SchemaRowsError,
    Style,
    TypedSchema,
    form_of_tool,
    parameters_line,
    read_declared,
    rows_read,
)
from app.environment.table_widgets import YES_OR_NO, frame, height, rows_of
from app.forms.common_panel import problem
from app.forms.safe_labels import literal
from app.forms.typed_json import write_json
from app.forms.widget_store import KeptInputs, slug
from app.session import page_state
from app.session.page_commands import Asked
from app.session.session_context import SessionContext
from simulator.base.json_values import canonical
from simulator.environment.world.tool_settings import DeclaredTool
from simulator.session.commands import DeclareTools

_HELP = (
    "A declared tool has no code. From the next turn, the agent's model sees its name, description and parameters, "
    "and can call it. The environment answers its calls, as for every other tool. Nothing is executed."
)


def tools_tab(scene: SessionContext) -> Asked | None:
    """Draw the declared tools and the form; return what was asked for."""
    declared = scene.live.simulation.environment.now.declared
    left, right = st.columns([1, 1.3], gap="medium")
    with left:
        st.caption(_HELP)
        asked = _list(scene, declared)
    with right:
        return _form(scene, declared) or asked


def _list(scene: SessionContext, declared: tuple[DeclaredTool, ...]) -> Asked | None:
    if not declared:
        st.caption("No declared tools yet.")
    asked: Asked | None = None
    for tool in declared:
        with st.container(border=True, gap="xsmall", key=f"declared_{slug(tool.name)}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                st.text(literal(tool.name))
                st.space("stretch")
                if st.button(
                    "Edit", key=f"declared_edit_{slug(tool.name)}", type="tertiary", icon=":material/edit:"
                ):
                    page_state.put("editing_tool", tool.name)
                    st.rerun()
                if st.button(
                    "Remove",
                    key=f"declared_drop_{slug(tool.name)}",
                    type="tertiary",
                    icon=":material/delete:",
                    help="Moves the tool back to the form, so that you can declare it again",
                    on_click=lambda tool=tool: _put_back(scene, len(declared) - 1, tool),
                ):
                    asked = DeclareTools(tools=tuple(other for other in declared if other is not tool))
            st.text(literal(parameters_line(tool)))
            if tool.description:
                st.text(literal(tool.description))
    return asked


def _form(scene: SessionContext, declared: tuple[DeclaredTool, ...]) -> Asked | None:
    wanted = page_state.get("editing_tool")
    tool = next((each for each in declared if each.name == wanted), None)
    if tool is None:
        kept = _new_inputs(scene, len(declared))
    else:
        kept = KeptInputs(scene.drafts, f"declared-{tool.name}", canonical(tool.model_dump(mode="json")))
    initial = DeclaredForm() if tool is None else form_of_tool(tool)
    with st.container(border=True, gap="small", key="declared_form"):
        st.markdown("**New tool**" if tool is None else "**Edit tool**")
        try:
            form = _fields(kept, initial)
        except SchemaRowsError as error:
            problem("A row is not valid.", str(error))
            return None
        with st.container(horizontal=True, gap="xsmall"):
            save = st.button(
                "Declare" if tool is None else "Save",
                key="declared_save",
                type="primary",
                icon=":material/check:",
            )
            if tool is not None and st.button("Cancel", key="declared_cancel", type="tertiary"):
                scene.drafts.pop(kept.owner, None)
                page_state.put("editing_tool", None)
                st.rerun()
        if not save:
            return None
        others = tuple(each for each in declared if each is not tool)
        taken = {*(each.name for each in others), *(set(scene.tools()) - {each.name for each in declared})}
        try:
            made = read_declared(form, taken)
        except DeclaredFormError as error:
            problem("The tool was not saved.", str(error))
            return None
    page_state.put("editing_tool", None)
    return DeclareTools(
        tools=tuple(made if each is tool else each for each in declared) if tool else (*declared, made)
    )


def _new_inputs(scene: SessionContext, count: int) -> KeptInputs:
    """Return the inputs for one more tool; others for each number of them, so that what was declared leaves them."""
    return KeptInputs(scene.drafts, f"declare-{count}")


def _put_back(scene: SessionContext, count: int, tool: DeclaredTool) -> None:
    kept = _new_inputs(scene, count)
    kept.put("tool_name", tool.name)
    kept.put("tool_words", tool.description)
    for name, schema in (("parameters", tool.parameters), ("output", tool.output_schema)):
        kept.put(f"{name}_style", "JSON schema")
        kept.put(f"{name}_json", "" if schema is None else write_json(schema))


def _fields(kept: KeptInputs, initial: DeclaredForm) -> DeclaredForm:
    name = st.text_input(
        "Name", key=kept.widget("tool_name", initial.name), placeholder="track_parcel", on_change="ignore"
    )
    description = st.text_area(
        "Description",
        key=kept.widget("tool_words", initial.description),
        placeholder="Track a parcel. Returns its location and delivery date.",
        height=90,
        on_change="ignore",
    )
    return DeclaredForm(
        name=name or "",
        description=description or "",
        parameters=_schema(kept, "parameters", "Parameters", initial.parameters),
        output=_schema(kept, "output", "Response (optional)", initial.output),
    )


def _schema(kept: KeptInputs, name: str, label: str, initial: TypedSchema) -> TypedSchema:
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.markdown(f"**{label}**", width="content")
        st.space("stretch")
        style: Style | None = st.segmented_control(
            f"{label}: format",
            STYLES,
            required=True,
            key=kept.widget(f"{name}_style", initial.style),
            label_visibility="collapsed",
        )
    if style == "JSON schema":
        text = st.text_area(
            f"{label}: JSON schema",
            key=kept.widget(f"{name}_json", initial.text),
            height=200,
            placeholder='{"type": "object", "properties": {"parcel_id": {"type": "string"}}}',
            on_change="ignore",
        )
        return TypedSchema(style="JSON schema", text=text or "")
    st.caption("One row per field. Click the empty row to add a field.")
    rows: tuple[SchemaRow, ...] = rows_read(schema_rows(kept, f"{name}_rows", label, initial.rows))
    return TypedSchema(style="Fields", rows=rows)


# A table in which the fields of an object are written, a row each; what was written is kept like any other input.


_COLUMNS = ("name", "type", "description", "required", "choices")


def schema_rows(
    kept: KeptInputs, name: str, label: str, initial: Sequence[SchemaRow]
) -> list[Mapping[str, Any]]:
    """Draw the table; return its rows as they stand, cell by cell.

    A table editor adds what is done to what it was given first, so that it must be given the same as long as it is on
    the screen; after a refresh it begins with what was written last.
    """
    key = kept.key(name)
    base_key = f"base_{key}"
    if key not in st.session_state or base_key not in st.session_state:
        st.session_state[base_key] = kept.value(f"kept_{name}", [row.model_dump() for row in initial])
    base = st.session_state[base_key]
    column = st.column_config
    written = st.data_editor(
        frame({name: [row.get(name) for row in base] for name in _COLUMNS}, {"required": YES_OR_NO}),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        column_config={
            "name": column.TextColumn("Name", required=True),
            "type": column.SelectboxColumn("Type", options=list(TYPES), default="text", required=True),
            "description": column.TextColumn("Description", width="medium"),
            "required": column.CheckboxColumn("Required", default=True),
            "choices": column.TextColumn(
                "Allowed values", help="The only values it may have, separated by commas"
            ),
        },
        height=height(len(base)),
        alt=f"{label}: one row per field",
    )
    rows: list[Mapping[str, Any]] = [*rows_of(written)]
    kept.put(f"kept_{name}", [dict(row) for row in rows])
    return rows
