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


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (_form(name=" "), "Name: enter a name."),
        (_form(name="find_order"), "Name: a tool named 'find_order' already exists"),
        (_form(name="no name"), "Name: 'no name' is not a valid tool name"),
        (
            _form(parameters=TypedSchema(rows=(SchemaRow(description="x"),))),
            "Parameters: row 1: the field has no",
        ),
        (
            _form(parameters=TypedSchema(rows=(SchemaRow(name="a"), SchemaRow(name="a")))),
            "Parameters: row 2: the field 'a' already exists",
        ),
        (
            _form(parameters=TypedSchema(rows=(SchemaRow(name="a", type="number", choices="x"),))),
            "Parameters: field 'a': the allowed value 'x' is not a number",
        ),
        (_form(parameters=TypedSchema(style="JSON schema", text="{")), "Parameters: Line 1, column 2"),
        (
            _form(parameters=TypedSchema(style="JSON schema", text='{"type": "array"}')),
            "Parameters: the parameters are of type 'array'",
        ),
        (
            _form(parameters=TypedSchema(style="JSON schema", text='{"required": ["x"]}')),
            "Parameters: required parameters that are not declared: x",
        ),
        (
            _form(output=TypedSchema(style="JSON schema", text='{"type": "texts"}')),
            "Response: the schema is invalid",
        ),
    ],
)
def test_what_cannot_be_read_is_named(form: DeclaredForm, said: str) -> None:
    """A mistake is said with the field in which it stands."""
    with pytest.raises(DeclaredFormError) as raised:
        read_declared(form, ["find_order"])
    assert str(raised.value).startswith(said)


def test_a_schema_that_rows_cannot_say_is_json() -> None:
    """Bounds, nested objects and the like are kept as JSON text, without loss."""
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}
    form = form_of_schema(schema)
    assert form.style == "JSON schema"
    assert read_schema(form, "Response") == schema
    assert rows_of_schema({"type": "object", "additionalProperties": False}) is None


_ROWS = st.lists(
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


@given(rows=_ROWS)
@settings(max_examples=80, deadline=None)
def test_a_tool_is_edited_as_it_was_declared(rows: list[SchemaRow]) -> None:
    """A declaration opened in the form and saved again is the same one, and its schema is a sound one."""
    schema = schema_of_rows(rows)
    assert schema_of(schema) == schema
    assert rows_of_schema(schema) == tuple(rows)
    tool = DeclaredTool(name="any", description="Words.", parameters=schema, output_schema=schema)
    assert read_declared(form_of_tool(tool)) == tool
