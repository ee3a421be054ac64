"""Keeps what a person has set for the environment of a session and for each of its tools, also for tools that do not exist yet, and the state that tools share."""

from __future__ import annotations

import keyword
import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias, TypedDict

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    TypeAdapter,
    field_validator,
    model_validator,
)
from pydantic.errors import PydanticUserError

from simulator.base.frozen_value import FiniteValue, Whole
from simulator.base.json_values import JsonObject
from simulator.environment.schema.schema_checks import BrokenSchemaError, normalise
from simulator.environment.world.connections import NO_EDITS, ConnectionEdits, ToolShape

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


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
STEERING = frozenset(
    {
        "adk_request_confirmation", "adk_request_credential", "adk_request_input", "exit_loop", "finish_task",
        "set_model_response", "transfer_to_agent",
    }
)  # fmt: skip
"""The names by which ADK steers its own flow: a declared tool of that name would never be asked, or break the flow."""

TRANSFER = "transfer_to_agent"
_RESULTS_OF_ADK: Mapping[str, tuple[str | None, ...]] = {
    "exit_loop": (None,),
    TRANSFER: (None,),
    "finish_task": (None, "Task completed.", "Task failed."),
}
"""What ADK's own tools of these names return; the others return what they were given."""


def steers(name: str | None, response: Mapping[str, Any] | None = None) -> bool:
    """Return whether ADK answers a call itself, where only its name and its response are known: a call without a name is none of a tool.

    A person's own tool may have the name of one of ADK's. It is a tool like any other, and tells itself by another response.
    """
    if not name or name not in STEERING:
        return not name
    results = _RESULTS_OF_ADK.get(name)
    if not response or results is None or str(response.get("error", "")).startswith("Invoking `"):
        return True
    return list(response) == ["result"] and any(response["result"] == each for each in results)


def adk_refused(name: str, response: object) -> bool:
    """Return whether a response is the error that ADK gives in the place of a tool: no such tool is there, or the arguments do not fit it."""
    told = response.get("error") if isinstance(response, Mapping) else None
    return isinstance(told, str) and told.startswith(f"Invoking `{name}()` failed")


_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}


class DeclaredTool(FiniteValue):
    """A tool that is only declared: its name, what it does, and the JSON schemas of its parameters and its answers.

    The name is what a model can call: up to 64 ASCII letters, digits and underscores, no digit first. The parameters are
    an object's schema. No output schema means that an answer may have any shape.
    """

    name: str
    description: str = ""
    parameters: WrittenSchema = Field(default_factory=lambda: dict(_NO_PARAMETERS))
    output_schema: OutputSchema | None = None

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            raise ValueError(
                f"{name!r} is not a valid tool name: use up to 64 ASCII letters, digits and underscores, and do not start with a digit"
            )
        if name in STEERING:
            raise ValueError(f"{name!r} is the name of an ADK tool; choose another name")
        return name

    @field_validator("parameters")
    @classmethod
    def _are_of_an_object(cls, parameters: JsonObject) -> JsonObject:
        if not parameters:
            return dict(_NO_PARAMETERS)
        kind = parameters.get("type", "object")
        if not isinstance(kind, str) or kind.lower() != "object":
            raise ValueError(f"the parameters are of type {kind!r}; they must be the schema of an object")
        _check_properties(parameters.get("properties", {}))
        return schema_of(parameters)

    @model_validator(mode="after")
    def _requires_what_it_has(self) -> Self:
        required = self.parameters.get("required", [])
        named = self.parameters.get("properties", {})
        unknown = (
            [name for name in required if not isinstance(named, dict) or name not in named]
            if isinstance(required, list)
            else [required]
        )
        if unknown:
            raise ValueError(f"required parameters that are not declared: {', '.join(map(str, unknown))}")
        return self

    def shape(self) -> ToolShape:
        """Return the tool as the search for connections takes it."""
        return ToolShape(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            response_schema=self.output_schema,
        )


def _check_properties(named: JsonValue) -> None:
    if not isinstance(named, dict):
        problem = "the properties of the parameters are not an object"
        raise ValueError(problem)  # noqa: TRY004 - pydantic turns a ValueError into a problem of its field
    for name, schema in named.items():
        if not name or not isinstance(schema, (dict, bool)):
            raise ValueError(f"parameter {name!r}: it has {'no schema' if name else 'no name'}")


class RememberedCall(TypedDict):
    """A call as a state key keeps it; `timestamp` is in seconds since the epoch."""

    tool_name: str
    parameters: JsonObject
    response: JsonValue
    timestamp: float


class SharedState(TypedDict):
    """What is known under a state key: the beginning in words, and the calls, oldest first."""

    initial_state: str | None
    previous_calls: list[RememberedCall]


class StateRegistry:
    """The states of tools and of groups of tools. The oldest call of a key makes room for the newest.

    Args:
        max_tool_call_cache_size: How many calls a key remembers.
        clock: Gives the time of a call that is cached without one, in seconds since the epoch.

    Raises:
        ValueError: `max_tool_call_cache_size` is less than 1.
    """

    def __init__(
        self,
        max_tool_call_cache_size: int = MOST_REMEMBERED_CALLS,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if max_tool_call_cache_size < 1:
            raise ValueError(f"max_tool_call_cache_size is {max_tool_call_cache_size}; at least 1 is needed")
        self.max_tool_call_cache_size = max_tool_call_cache_size
        self._clock = clock
        self._beginnings: dict[str, str] = {}
        self._calls: dict[str, deque[RememberedCall]] = {}
        self._tools: dict[str, ToolSettings] = {}

    def register_tool(self, settings: ToolSettings) -> str:
        """Take a tool in, in place of one of its name, with its initial state; return the warning, if that comes second for its key, else an empty text."""
        before, self._tools[settings.name] = self._tools.get(settings.name), settings
        described, is_again = settings.initial_state_description, before == settings
        return self._begin(described, settings.state_key) if described and not is_again else ""

    def list_tools(self) -> list[str]:
        """Return the names of the registered tools, in order."""
        return list(self._tools)

    def clear_tools(self) -> None:
        """Forget the registered tools; their states stay."""
        self._tools.clear()

    def state_key(self, tool_name: str) -> str:
        """Return where a tool's calls are remembered: with the tools that it shares a state with, or by its own name."""
        settings = self._tools.get(tool_name)
        return settings.state_key if settings else tool_name

    def initialize_state_via_description(self, initial_state_description: str, state_key: str) -> None:
        """Say what is there in the beginning. The first description of a key stays; a second one warns (UserWarning)."""
        warning = self._begin(initial_state_description, state_key)
        if warning:
            warnings.warn(warning, stacklevel=2)

    def cache_tool_call(
        self,
        tool_name: str,
        state_key: str,
        response_data: JsonValue,
        parameters: JsonObject | None = None,
        *,
        timestamp: float | None = None,
    ) -> None:
        """Remember an answered call, of now where no time is given; beyond the bound, the oldest call of the key is forgotten."""
        calls = self._calls.get(state_key)
        if calls is None:
            calls = self._calls[state_key] = deque(maxlen=self.max_tool_call_cache_size)
        calls.append(
            RememberedCall(
                tool_name=tool_name,
                parameters=parameters if parameters is not None else {},
                response=response_data,
                timestamp=self._clock() if timestamp is None else timestamp,
            )
        )

    def adopt(self, other: StateRegistry) -> None:
        """Take over the beginnings and calls of another registry for the keys that have none here."""
        for state_key, described in other._beginnings.items():
            self._beginnings.setdefault(state_key, described)
        for state_key, calls in other._calls.items():
            self._calls.setdefault(state_key, deque(calls, maxlen=self.max_tool_call_cache_size))

    def get_state(self, state_key: str) -> SharedState:
        """Return what is known under a key; a key that nobody used has no beginning and no calls."""
        return SharedState(
            initial_state=self._beginnings.get(state_key),
            previous_calls=list(self._calls.get(state_key, ())),
        )

    def list_states(self) -> list[str]:
        """Return the keys under which something is known, in the order in which they came up."""
        return list(dict.fromkeys((*self._beginnings, *self._calls)))

    def clear_state(self, state_key: str) -> None:
        """Forget the beginning and the calls of a key; it may be initialized anew."""
        self._beginnings.pop(state_key, None)
        self._calls.pop(state_key, None)

    def _begin(self, described: str, state_key: str) -> str:
        if state_key not in self._beginnings:
            self._beginnings[state_key] = described
            return ""
        return (
            f"the state {state_key!r} has already been initialized; the first description is kept: "
            f"{self._beginnings[state_key]!r}"
        )


def registry_of(settings: EnvironmentSettings) -> tuple[StateRegistry, tuple[str, ...]]:
    """Make the registry that some settings ask for, and return what is to be warned of."""
    registry = StateRegistry(settings.max_tool_call_cache_size)
    said = [registry.register_tool(tool) for tool in settings.tools.values()]
    return registry, tuple(warning for warning in said if warning)
