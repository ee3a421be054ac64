"""Reads the form of a tool that does not exist yet: what was typed becomes a declaration, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from pydantic import ValidationError

from app.environment.schema_rows import SchemaRow, SchemaRowsError, rows_of_schema, schema_of_rows
from app.forms.typed_json import TypedJsonError, parse_object, write_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.declared_tools import DeclaredTool

Style: TypeAlias = Literal["Fields", "JSON schema"]
STYLES: tuple[Style, ...] = ("Fields", "JSON schema")

_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


class DeclaredFormError(ValueError):
    """A field of the form cannot be read; the text begins with the field's name."""


class TypedSchema(Value):
    """A schema as it was typed: as rows, or as JSON text."""

    style: Style = "Fields"
    rows: tuple[SchemaRow, ...] = ()
    text: str = ""


class DeclaredForm(Value):
    """The form's fields as they were typed; answers without any field may have any shape."""

    name: str = ""
    description: str = ""
    parameters: TypedSchema = TypedSchema()
    output: TypedSchema = TypedSchema()


def read_declared(form: DeclaredForm, taken: Iterable[str] = ()) -> DeclaredTool:
    """Make a declaration of the form's fields.

    Args:
        form: The fields.
        taken: The names of the other tools.

    Raises:
        DeclaredFormError: A field cannot be read.
    """
    name = form.name.strip()
    if not name:
        raise DeclaredFormError("Name: enter a name. The model calls the tool by it.")
    if name in set(taken):
        raise DeclaredFormError(f"Name: a tool named {name!r} already exists.")
    parameters = read_schema(form.parameters, "Parameters")
    output = read_schema(form.output, "Response")
    try:
        return DeclaredTool(
            name=name,
            description=form.description.strip(),
            parameters=parameters or {},
            output_schema=output,
        )
    except ValidationError as error:
        raise DeclaredFormError(_words(error)) from error


def read_schema(form: TypedSchema, field: str) -> JsonObject | None:
    """Read a schema as it was typed; None where nothing was.

    Raises:
        DeclaredFormError: It is none; the text says where, and begins with `field`.
    """
    if form.style == "Fields":
        try:
            return schema_of_rows(form.rows) if form.rows else None
        except SchemaRowsError as error:
            raise DeclaredFormError(f"{field}: {error}") from error
    if not form.text.strip():
        return None
    try:
        return parse_object(form.text)
    except TypedJsonError as error:
        raise DeclaredFormError(f"{field}: {error}") from error


def form_of_tool(tool: DeclaredTool) -> DeclaredForm:
    """Return the fields that `read_declared` makes this declaration of."""
    return DeclaredForm(
        name=tool.name,
        description=tool.description,
        parameters=TypedSchema() if tool.parameters == _NO_PARAMETERS else form_of_schema(tool.parameters),
        output=TypedSchema() if tool.output_schema is None else form_of_schema(tool.output_schema),
    )


def form_of_schema(schema: JsonObject) -> TypedSchema:
    """Return a schema as rows where they can say it all, else as JSON text."""
    rows = rows_of_schema(schema)
    if not rows:
        return TypedSchema(style="JSON schema", text=write_json(schema))
    return TypedSchema(rows=rows, text=write_json(schema))


def parameters_line(tool: DeclaredTool) -> str:
    """Say in a line what a tool takes: `order_id, reason?`; an optional parameter has a question mark."""
    named, required = tool.parameters.get("properties"), tool.parameters.get("required")
    names = list(named) if isinstance(named, dict) else []
    needed = required if isinstance(required, list) else []
    return ", ".join(name if name in needed else f"{name}?" for name in names) or "no parameters"


_FIELDS = {
    "name": "Name",
    "parameters": "Parameters",
    "output_schema": "Response",
    "description": "Description",
}


def _words(error: ValidationError) -> str:
    found = error.errors()[0]
    where = _FIELDS.get(str(found["loc"][0]), str(found["loc"][0])) if found["loc"] else "Parameters"
    return f"{where}: {found['msg'].removeprefix('Value error, ')}"
