"""What is said of recordings, what is set for each tool, and what is typed about a tool that does not exist, is read and worded without the page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.environment.declared_tool_form import (
    TYPES,
    DeclaredForm,
    DeclaredFormError,
    SchemaRow,
    TypedSchema,
    form_of_schema,
    form_of_tool,
    parameters_line,
    read_declared,
    read_schema,
    rows_of_schema,
    rows_read,
    schema_of_rows,
)
from app.environment.sources import (
    call_rows,
    read_output_schema,
    read_problems,
    tools_line,
    with_states,
)
from app.forms.upload_panel import decoded
from app.session.page_commands import with_tool
from simulator.base.json_values import JsonObject
from simulator.environment.recordings import ObservedCall
from simulator.environment.world.tool_settings import (
    DeclaredTool,
    EnvironmentSettings,
    ToolSettings,
    schema_of,
)


def test_recorded_calls_are_counted_by_tool() -> None:
    """The tool that is called most comes first; each call is a row of texts."""
    calls = [
        ObservedCall(tool_name=name, arguments={"n": 1}, response={"x": "y" * 900}, place="[0]")
        for name in ("a", "b", "b")
    ]
    assert tools_line(calls) == "b 2, a 1"
    row = call_rows(calls)[0]
    assert (row["tool"], row["arguments"], row["place"]) == ("a", '{"n": 1}', "[0]")
    assert len(row["response"]) < 400


def test_a_tool_with_nothing_set_is_left_out() -> None:
    """Setting a field keeps the others; taking the last one away leaves no trace."""
    settings = EnvironmentSettings(tools={"a": ToolSettings(name="a", share_state_id="s")})
    tools = with_tool(settings, "b", output_schema={"type": "object"})
    assert set(tools) == {"a", "b"}
    again = settings.model_copy(update={"tools": tools})
    assert with_tool(again, "b", output_schema=None) == settings.tools
    assert with_tool(settings, "a", output_schema={"type": "string"})["a"].share_state_id == "s"


def test_the_table_of_states_sets_what_was_written() -> None:
    """Only edited cells count, without the spaces around them; a row that is not there is passed over."""
    tools = with_states(
        EnvironmentSettings(),
        ["a", "b"],
        {"0": {"shared": " room "}, 7: {"shared": "x"}, 1: {"shared": None, "begins": "Cold."}},
    )
    assert tools == {
        "a": ToolSettings(name="a", share_state_id="room"),
        "b": ToolSettings(name="b", initial_state_description="Cold."),
    }


def test_what_is_typed_kept_or_uploaded_is_read_or_named() -> None:
    """An empty text is no schema, and nothing kept no problem; a broken schema says where, and bytes that are no UTF-8 are no text."""
    assert read_output_schema(" ") is None
    assert read_output_schema('{"type": "string"}') == {"type": "string"}
    for text, place in (("{", "Line 1, column 2"), ('{"type": 3}', r"\$\.type")):
        with pytest.raises(ValueError, match=place):
            read_output_schema(text)
    assert read_problems(None) == []
    assert read_problems('["[1]: missing"]') == ["[1]: missing"]
    assert (decoded("\ufeff{}".encode()), decoded(b"\xff\xfe{")) == ("{}", None)


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
