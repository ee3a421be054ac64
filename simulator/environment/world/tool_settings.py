"""Keeps what a person has set for the environment of a session, and for each of its tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, TypeAdapter, model_validator
from pydantic.errors import PydanticUserError

from simulator.base.frozen_value import FiniteValue, Whole
from simulator.base.json_values import JsonObject
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise
from simulator.environment.world.connections import NO_EDITS, ConnectionEdits

Authority: TypeAlias = Literal["auto", "closed", "open"]
"""Whether a thing that is not known exists: never (closed), perhaps (open), or as the world can tell (auto)."""

MOST_REMEMBERED_CALLS = 20
"""How many calls a state key remembers, where nothing else is set."""


def written_schema(given: object) -> object:
    """Return the JSON schema of a class or another type; what is JSON, or None, as it is.

    Raises:
        ValueError: No schema can be told of it.
    """
    return given if isinstance(given, (dict, list, str, int, float, type(None))) else schema_of(given)


def schema_of(model_or_schema: Any) -> JsonObject:
    """Return the JSON schema of a pydantic class, of any type that pydantic knows, or a JSON schema as it is.

    Raises:
        ValueError: It is neither, or the schema is broken; the text says where.
    """
    if isinstance(model_or_schema, dict):
        schema: JsonObject = model_or_schema
    else:
        try:
            schema = TypeAdapter(model_or_schema).json_schema(mode="serialization")
        except (PydanticUserError, TypeError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{model_or_schema!r} is not an output schema: {reason}") from error
    try:
        Draft202012Validator.check_schema(normalise(schema))
    except BrokenSchemaError as error:
        raise ValueError(f"the schema is invalid: {error}") from error
    except SchemaError as error:
        raise ValueError(f"the schema is invalid at {error.json_path}: {error.message}") from error
    return schema


WrittenSchema: TypeAlias = Annotated[JsonObject, BeforeValidator(written_schema)]
"""A JSON object that may be given as a pydantic class or another type; its schema is kept."""

OutputSchema: TypeAlias = Annotated[WrittenSchema, AfterValidator(schema_of)]
"""A JSON schema that is not broken; it may be given as a pydantic class or another type."""


class ToolSettings(FiniteValue):
    """What is set for one tool.

    `name` is what the tool is called; `output_schema` is the JSON schema that its answers are held to, and may be given
    as a pydantic class or another type; tools with the
    same `share_state_id` see each other's calls; `initial_state_description` says in words what there is in the beginning.
    """

    name: str = Field(min_length=1)
    output_schema: OutputSchema | None = None
    share_state_id: str = ""
    initial_state_description: str = ""

    @property
    def state_key(self) -> str:
        """Where the tool's calls are remembered."""
        return self.share_state_id or self.name


class EnvironmentSettings(FiniteValue):
    """What is set for the environment as a whole; written as JSON and read again, nothing is lost.

    With `drafts_by_model`, the model is asked for a draft of each call that waits for a person; with
    `connections_by_model`, it is asked once how the tools hang together, as soon as it is asked for anything. With
    `source_to_model`, it is sent the source of a tool that it drafts an answer for.
    """

    tools: dict[str, ToolSettings] = Field(default_factory=dict)
    environment: str = ""
    invariants: tuple[str, ...] = ()
    implicit_contradictions: bool = True
    connections: ConnectionEdits = NO_EDITS
    authority: dict[str, Authority] = Field(default_factory=dict)
    max_tool_call_cache_size: Whole = Field(default=MOST_REMEMBERED_CALLS, ge=1)
    simulation_model: str = ""
    simulation_model_configuration: JsonObject = Field(default_factory=dict)
    drafts_by_model: bool = False
    connections_by_model: bool = True
    source_to_model: bool = False

    @model_validator(mode="after")
    def _each_tool_stands_under_its_name(self) -> Self:
        for name, settings in self.tools.items():
            if name != settings.name:
                raise ValueError(f"the settings of tool {settings.name!r} are listed under {name!r}")
        return self

    def tool(self, name: str) -> ToolSettings:
        """Return what is set for a tool; the defaults where nothing is."""
        return self.tools.get(name) or ToolSettings(name=name)


class DefaultToolResponse(BaseModel):
    """What a tool with no output schema at all answers, where a schema is wanted: one text."""

    response: str
