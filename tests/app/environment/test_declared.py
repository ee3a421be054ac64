"""What is typed about a tool that does not exist becomes its declaration, and can be edited again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.environment.declared_tool_form import (
    DeclaredForm,
    DeclaredFormError,
    TypedSchema,
    form_of_schema,
    form_of_tool,
    parameters_line,
    read_declared,
    read_schema,
)
from app.environment.schema_rows import TYPES, SchemaRow, rows_of_schema, rows_read, schema_of_rows
from simulator.base.json_values import JsonObject
from simulator.environment.declared_tools import DeclaredTool
from simulator.environment.world.tool_settings import schema_of


def _form(**more: Any) -> DeclaredForm:
    return DeclaredForm.model_validate({"name": "track_parcel", "description": "Say where it is.", **more})


def _rows(*rows: SchemaRow) -> TypedSchema:
    return TypedSchema(rows=rows)


def _json(text: str) -> TypedSchema:
    return TypedSchema(style="JSON schema", text=text)


def test_rows_become_a_schema() -> None:
    """Each row is a field with its type, words, choices, and whether it is needed."""
    rows = rows_read(
        [
            {"name": "parcel_id", "type": "text", "description": "Which one.", "required": True},
            {"name": "days", "type": "whole number", "required": False, "choices": "1, 2"},
            {"name": None, "type": "text", "required": True},
        ]
    )
    tool = read_declared(_form(parameters=TypedSchema(rows=rows)))
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "parcel_id": {"type": "string", "description": "Which one."},
            "days": {"type": "integer", "enum": [1, 2]},
        },
        "required": ["parcel_id"],
    }
    assert parameters_line(tool) == "parcel_id, days?"
    assert tool.output_schema is None


_WRONG: tuple[tuple[DeclaredForm, str], ...] = (
    (_form(name=" "), "Name: "),
    (_form(name="find_order"), "Name: .*'find_order'"),
    (_form(name="no name"), "Name: 'no name'"),
    (_form(parameters=_rows(SchemaRow(description="x"))), "Parameters: row 1: "),
    (_form(parameters=_rows(SchemaRow(name="a"), SchemaRow(name="a"))), "Parameters: row 2: .*'a'"),
    (
        _form(parameters=_rows(SchemaRow(name="a", type="number", choices="x"))),
        "Parameters: field 'a': .*'x'",
    ),
    (_form(parameters=_json("{")), "Parameters: Line 1, column 2"),
    (_form(parameters=_json('{"type": "array"}')), "Parameters: .*'array'"),
    (_form(parameters=_json('{"required": ["x"]}')), "Parameters: .*: x"),
    (_form(output=_json('{"type": "texts"}')), "Response: "),
)


@pytest.mark.parametrize(("form", "place"), _WRONG)
def test_what_cannot_be_read_is_named(form: DeclaredForm, place: str) -> None:
    """A mistake is said with the field in which it stands, its row or line, and the value."""
    with pytest.raises(DeclaredFormError, match=f"^{place}"):
        read_declared(form, ["find_order"])


def test_a_schema_that_rows_cannot_say_is_json() -> None:
    """Bounds, nested objects and the like are kept as JSON text, without loss."""
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}
    form = form_of_schema(schema)
    assert form.style == "JSON schema"
    assert read_schema(form, "Response") == schema
    assert rows_of_schema({"type": "object", "additionalProperties": False}) is None


_DRAWN = st.lists(
    st.builds(
        SchemaRow,
        name=st.text("abc_", min_size=1, max_size=6),
        type=st.sampled_from(TYPES),
        description=st.text("xyz .", max_size=8).map(str.strip),
        required=st.booleans(),
    ),
    max_size=5,
    unique_by=lambda row: row.name,
)


@given(rows=_DRAWN)
@settings(max_examples=30, deadline=None)
def test_a_tool_is_edited_as_it_was_declared(rows: list[SchemaRow]) -> None:
    """A declaration opened in the form and saved again is the same one, and its schema is a sound one."""
    schema = schema_of_rows(rows)
    assert schema_of(schema) == schema
    assert rows_of_schema(schema) == tuple(rows)
    tool = DeclaredTool(name="any", description="Words.", parameters=schema, output_schema=schema)
    assert read_declared(form_of_tool(tool)) == tool
