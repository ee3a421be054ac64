"""Reads an example of a tool's response that somebody pasted, and makes it the shape of that tool's responses."""

from __future__ import annotations

from pydantic import JsonValue

from app.forms.typed_json import TypedJsonError, parse_json
from app.session.page_commands import with_tool
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.environment.schema.inferred_schema import inferred_schema
from simulator.environment.schema.schema_checks import Problem, check
from simulator.environment.world.tool_settings import EnvironmentSettings
from simulator.session.commands import ChangeSettings

_EXAMPLES = "examples"
_COMMENT = "$comment"
_MADE = "the shape of a pasted example"


class Example(Value):
    """A pasted example: its value, and where it breaks the output schema of the tool."""

    value: JsonValue
    misfits: tuple[Problem, ...] = ()


def read_example(text: str, schema: JsonObject | None) -> Example:
    """Read an example: JSON, or else plain text.

    Args:
        text: What was pasted.
        schema: What the tool's responses are held to now.

    Raises:
        JsonTextError: It is empty, or begins as JSON does and is none; the error says where.
    """
    try:
        value = parse_json(text)
    except TypedJsonError:
        if not text.strip() or text.lstrip()[0] in '{["':
            raise
        value = text.strip()
    held_to = _without_example(schema)
    return Example(value=value, misfits=() if held_to is None else check(value, held_to))


def take_example(
    settings: EnvironmentSettings, tool_name: str, schema: JsonObject | None, value: JsonValue
) -> ChangeSettings:
    """Return the change of settings by which a tool's responses have the shape of an example from now on, and are drafted like it.

    A schema that the tool has stays, with the example; else the example's own shape becomes the schema.
    """
    shape = _without_example(schema)
    if shape is None:
        shape = {_COMMENT: _MADE, **inferred_schema([value], tool_name, closed=False)}
    told: JsonObject = {**shape, _EXAMPLES: [value]}
    return ChangeSettings(fields={"tools": with_tool(settings, tool_name, output_schema=told)})


def _without_example(schema: JsonObject | None) -> JsonObject | None:
    """Return a tool's schema as it was before an example was pasted; None where an example made it."""
    if not schema or schema.get(_COMMENT) == _MADE:
        return None
    return {name: part for name, part in schema.items() if name != _EXAMPLES}
