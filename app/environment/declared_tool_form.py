"""Reads the form of a tool that does not exist yet: what was typed becomes a declaration, its fields a JSON schema, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from pydantic import JsonValue, ValidationError

from app.forms.typed_json import TypedJsonError, parse_object, write_json
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.world.tool_settings import DeclaredTool

FieldType: TypeAlias = Literal[
    "text",
    "whole number",
    "number",
    "yes or no",
    "list of texts",
    "list of numbers",
    "list of objects",
    "object",
]
TYPES: tuple[FieldType, ...] = get_args(FieldType)

_SCHEMAS: Mapping[FieldType, JsonObject] = {
    "text": {"type": "string"},
    "whole number": {"type": "integer"},
    "number": {"type": "number"},
    "yes or no": {"type": "boolean"},
    "list of texts": {"type": "array", "items": {"type": "string"}},
    "list of numbers": {"type": "array", "items": {"type": "number"}},
    "list of objects": {"type": "array", "items": {"type": "object"}},
    "object": {"type": "object"},
}
_WITH_CHOICES: tuple[FieldType, ...] = ("text", "whole number", "number")


class SchemaRowsError(ValueError):
    """Some rows are no schema; the text names the row and the field."""


class SchemaRow(Value):
    """A field of an object. `choices` are the only values that it may have, with commas between them; empty: any."""

    name: str = ""
    type: FieldType = "text"
    description: str = ""
    required: bool = True
    choices: str = ""


def rows_read(cells: Sequence[Mapping[str, Any]]) -> tuple[SchemaRow, ...]:
    """Read the rows of a table editor; a row in which nothing is written is none.

    Raises:
        SchemaRowsError: A cell holds what it cannot hold.
    """
    return tuple(
        _row(number, row) for number, row in enumerate(cells, start=1) if _text(row, "name") or _is_begun(row)
    )


def _is_begun(row: Mapping[str, Any]) -> bool:
    return bool(_text(row, "description") or _text(row, "choices"))


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def _row(number: int, row: Mapping[str, Any]) -> SchemaRow:
    kind = next((one for one in TYPES if one == (row.get("type") or "text")), None)
    if kind is None:
        raise SchemaRowsError(
            f"row {number}: {row.get('type')!r} is not a type; choose one of {', '.join(TYPES)}"
        )
    return SchemaRow(
        name=_text(row, "name"),
        type=kind,
        description=_text(row, "description"),
        required=row.get("required") is not False,
        choices=_text(row, "choices"),
    )


def schema_of_rows(rows: Sequence[SchemaRow]) -> JsonObject:
    """Write the schema of an object that has these fields.

    Raises:
        SchemaRowsError: A field has no name, or that of another one, or its choices are no values of its type.
    """
    fields: JsonObject = {}
    for number, row in enumerate(rows, start=1):
        if not row.name:
            raise SchemaRowsError(f"row {number}: the field has no name")
        if row.name in fields:
            raise SchemaRowsError(f"row {number}: the field {row.name!r} already exists")
        fields[row.name] = _field(row)
    required: list[JsonValue] = [row.name for row in rows if row.required]
    schema: JsonObject = {"type": "object", "properties": fields}
    return {**schema, "required": required} if required else schema


def _field(row: SchemaRow) -> JsonObject:
    field: JsonObject = dict(_SCHEMAS[row.type])
    if row.description:
        field["description"] = row.description
    if row.choices:
        if row.type not in _WITH_CHOICES:
            raise SchemaRowsError(f"field {row.name!r}: a {row.type} has no allowed values; leave them empty")
        field["enum"] = [_choice(row, word.strip()) for word in row.choices.split(",") if word.strip()]
    return field


def _choice(row: SchemaRow, word: str) -> JsonValue:
    if row.type == "text":
        return word
    try:
        return int(word) if row.type == "whole number" else float(word)
    except ValueError as error:
        raise SchemaRowsError(
            f"field {row.name!r}: the allowed value {word!r} is not a {row.type}"
        ) from error


def rows_of_schema(schema: JsonObject) -> tuple[SchemaRow, ...] | None:
    """Return the rows that say the same as a schema; None where rows cannot say it all."""
    fields = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(fields, dict) or not isinstance(required, list):
        return None
    rows = []
    for name, field in fields.items():
        row = _row_of(name, field, name in required) if isinstance(field, dict) else None
        if row is None:
            return None
        rows.append(row)
    try:
        same = schema_of_rows(rows)
    except SchemaRowsError:
        return None
    return tuple(rows) if same == {"type": "object", "properties": {}, **schema} else None


def _row_of(name: str, field: JsonObject, is_required: bool) -> SchemaRow | None:
    bare = {key: value for key, value in field.items() if key not in {"description", "enum"}}
    kind = next((kind for kind, schema in _SCHEMAS.items() if schema == bare), None)
    words, choices = field.get("description", ""), field.get("enum", [])
    if kind is None or not isinstance(words, str) or not isinstance(choices, list):
        return None
    return SchemaRow(
        name=name,
        type=kind,
        description=words,
        required=is_required,
        choices=", ".join(map(str, choices)),
    )


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
