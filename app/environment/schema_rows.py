"""Turns rows of a table, one for each field, into the JSON schema of an object, and back where rows can say it all. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from pydantic import JsonValue

from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject

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
