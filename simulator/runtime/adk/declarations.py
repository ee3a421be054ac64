"""Reads what tools and agents declare about their data, in any form that ADK takes and of what an OpenAPI operation says of its responses, as standard JSON schema."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import operator
import types as python_types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Union, get_args, get_origin, runtime_checkable

import typing_extensions
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.request_input import RequestInput
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types
from pydantic import BaseModel, TypeAdapter

from simulator.base.json_values import Json, JsonObject, canonical
from simulator.environment.schema.schema_checks import UNKNOWN_PLACE, BrokenSchemaError, normalise
from simulator.runtime.adk.adk_private import openapi_operation
from simulator.runtime.adk.codec import jsonable
from simulator.seats.requests import ToolDeclaration

MOST_EXAMPLES = 5
"""How many examples of a tool's response are kept."""

_LONGEST_EXAMPLE = 50_000
_SUCCESS = "2"


class Described(NamedTuple):
    """What a tool's operation says of a response: its JSON schema, None where it has none, and examples of it."""

    schema: JsonObject | None = None
    examples: tuple[Json, ...] = ()


def described_response(tool: BaseTool) -> Described:
    """Return what the OpenAPI operation behind a tool says of its first successful response, as ADK hands that to the agent.

    ADK gives JSON as it is, and anything else as `{"text": ...}`. Nothing for other tools. Never raises.
    """
    try:
        operation = jsonable(openapi_operation(tool))
        return _described(operation) if isinstance(operation, dict) else Described()
    except Exception:  # noqa: BLE001 - a description is somebody's: one that is odd says nothing
        return Described()


def _described(operation: dict[str, Any]) -> Described:
    responses = operation.get("responses") or {}
    first = min((code for code in responses if str(code).startswith(_SUCCESS)), default=None)
    if first is None:
        return Described()
    content: dict[str, Any] = responses[first].get("content") or {}
    if not content:
        return Described(examples=({"text": ""},)) if first == "204" else Described()
    kind = next((kind for kind in content if _is_json(kind)), next(iter(content)))
    media = content[kind]
    schema = media.get("schema") or None
    examples = list(_examples(media))
    if not _is_json(kind):
        text: JsonObject = {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        }
        return Described(text, tuple({"text": one} for one in examples if isinstance(one, str)))
    return Described(schema, tuple(examples))


def _is_json(kind: str) -> bool:
    return "json" in kind or kind == "*/*"


def _examples(media: dict[str, Any]) -> Iterator[Json]:
    """Yield the examples that stand beside a response's schema."""
    if "example" in media:
        yield media["example"]
    named = media.get("examples") or {}
    yield from (one["value"] for one in named.values() if isinstance(one, dict) and "value" in one)


def examples_of(described: Described, schema: JsonObject | None) -> tuple[Json, ...]:
    """Return the examples of a response, each once, those of the description before those of the schema."""
    named = (schema or {}).get("examples")
    found = [*described.examples, *(named if isinstance(named, list) else [])]
    written = {canonical(one): one for one in found}
    return tuple(one for text, one in written.items() if len(text) <= _LONGEST_EXAMPLE)[:MOST_EXAMPLES]


_WITHOUT_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}

_GENERATORS = frozenset(
    {
        collections.abc.Generator,
        collections.abc.AsyncGenerator,
        collections.abc.Iterator,
        collections.abc.AsyncIterator,
        collections.abc.Iterable,
        collections.abc.AsyncIterable,
    }
)
_WAITED_FOR = frozenset({collections.abc.Awaitable, collections.abc.Coroutine})


def declaration_json(declaration: types.FunctionDeclaration) -> ToolDeclaration:
    """Describe a tool as the model sees it. A schema that is no schema counts as one that says nothing."""
    parameters = _declared(declaration.parameters_json_schema, declaration.parameters)
    response = _declared(declaration.response_json_schema, declaration.response)
    return ToolDeclaration(
        name=declaration.name or "",
        description=declaration.description or "",
        parameters=parameters or _WITHOUT_ARGUMENTS,
        response=response if response and not _says_nothing(response) else None,
    )


@runtime_checkable
class ToldPlaces(Protocol):
    """A tool that stands for one in another process, and has been told what ADK drops there."""

    dropped_places: tuple[str, ...]


def dropped_places(tool: BaseTool) -> tuple[str, ...]:
    """Return where ADK drops what a tool's declaration does not name: `$` for its arguments, `$.lines` for the objects in one of them.

    ADK hands a function the arguments of its signature and no others, and makes pydantic models of those that are annotated so, and of what an
    agent with an input schema is asked. A tool of any other class does with its arguments what it likes, which `UNKNOWN_PLACE` says.
    """
    if isinstance(tool, ToldPlaces):
        return tool.dropped_places
    if type(tool) is AgentTool and (kind := _taken_by(tool.agent)) is not None:
        fields = kind.model_fields.items() if (drops := _drops_fields(kind)) else ()
        inner = (f"$.{name}" for name, field in fields if _drops_fields(field.annotation))
        return ("$", *inner) if drops else ()
    if not isinstance(tool, FunctionTool) or type(tool) not in (FunctionTool, LongRunningFunctionTool):
        return (UNKNOWN_PLACE,)
    try:
        parameters = inspect.signature(tool.func).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return ()
    try:
        hints = typing.get_type_hints(_plain_function(tool.func))
    except Exception:  # noqa: BLE001 - annotations are someone's code, and may name what only a type checker imports
        hints = {}
    return ("$", *(f"$.{each.name}" for each in parameters if _drops_fields(hints.get(each.name))))


def _taken_by(agent: Any) -> Any:
    """Return the schema of what ADK asks an agent that is used as a tool: its own, or that of its first agent."""
    while not isinstance(agent, LlmAgent) and getattr(agent, "sub_agents", None):
        agent = agent.sub_agents[0]
    return agent.input_schema if isinstance(agent, LlmAgent) else None


def _drops_fields(hint: Any) -> bool:
    """Return whether ADK makes models of an argument, or of the items of a list, which leave out what they do not name."""
    is_choice = get_origin(hint) in (Union, python_types.UnionType)
    kinds = [kind for kind in (get_args(hint) if is_choice else (hint,)) if kind is not type(None)]
    if len(kinds) == 1 and get_origin(kinds[0]) is list:
        kinds = list(get_args(kinds[0]))
    return bool(kinds) and all(_is_model(kind) and _names_all(kind, set()) for kind in kinds)


def _is_model(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel)


def _names_all(kind: Any, seen: set[Any]) -> bool:
    """Return whether models take their fields by the declared names alone: no others, no other alias, and no validator that sees the rest."""
    if not _is_model(kind):
        return all(_names_all(each, seen) for each in get_args(kind))
    if kind in seen:
        return True
    seen.add(kind)
    checks = kind.__pydantic_decorators__.model_validators.values()
    fields = kind.model_fields.values()
    return (
        kind.model_config.get("extra") != "allow"
        and all(check.info.mode == "after" for check in checks)
        and all(field.alias is None and field.validation_alias is None for field in fields)
        and all(_names_all(field.annotation, seen) for field in fields)
    )


def response_schema_of(tool: BaseTool) -> JsonObject | None:
    """Return the JSON schema of what a tool returns; None where neither its declaration nor its function says it.

    Never raises: a tool whose declaration or annotations cannot be read says nothing.
    """
    try:
        declaration = tool._get_declaration()  # noqa: SLF001 - ADK has no public way to a tool's declaration
        declared = declaration_json(declaration).response if declaration else None
        if declared is not None:
            return declared
        returned = _returned_type(getattr(tool, "func", None))
        schema = None if returned is None else schema_json(returned)
    except Exception:  # noqa: BLE001 - a tool of someone's own may raise anything when it is looked at
        return None
    return None if not schema or _says_nothing(schema) else schema


def schema_json(schema: Any) -> JsonObject:
    """Write a schema in any of ADK's forms as JSON schema; `{}` where it cannot be described.

    Args:
        schema: A pydantic class, another type (`list[Model]`, a dataclass, a TypedDict ...), google-genai's
            `Schema`, or a dict.
    """
    try:
        if isinstance(schema, dict):
            return normalise(schema)
        if isinstance(schema, BaseModel):
            return normalise(schema.model_dump(mode="json", by_alias=True, exclude_none=True))
        return normalise(TypeAdapter(_readable(schema, {})).json_schema())
    except BrokenSchemaError:
        return {}
    except Exception:  # noqa: BLE001 - pydantic runs code of the described classes, which may raise anything
        return {}


def _declared(json_schema: Any, schema: types.Schema | None) -> JsonObject:
    if json_schema is not None:
        return schema_json(json_schema)
    return {} if schema is None else schema_json(schema)


def _says_nothing(schema: JsonObject) -> bool:
    """Return whether a schema leaves open what an object holds, as that of a bare `dict` does."""
    limits = {key: value for key, value in schema.items() if key not in {"title", "description", "default"}}
    either = limits.get("anyOf")
    if limits.keys() == {"anyOf"} and isinstance(either, list):
        choices = [choice for choice in either if isinstance(choice, dict) and choice.get("type") != "null"]
        return any(map(_says_nothing, choices))
    if limits.get("additionalProperties") in (True, {}):
        del limits["additionalProperties"]
    return not limits or (
        limits.keys() == {"type"} and limits["type"] in ("object", "null", ["object", "null"])
    )


def _returned_type(func: Any) -> Any:
    """Return the type that a function says it returns, out of what it is awaited or iterated from; None if none."""
    if func is None:
        return None
    returned = _hint(_plain_function(func))
    origin, arguments = get_origin(returned), get_args(returned)
    if origin in _WAITED_FOR and arguments:
        return arguments[-1]
    if origin in _GENERATORS and arguments:
        return _yielded(arguments[0])
    return None if returned in (Any, object, type(None)) else returned


def _yielded(kind: Any) -> Any:
    """ADK streams the events that a generator yields; its output is the other thing."""
    choices = get_args(kind) if get_origin(kind) in (Union, python_types.UnionType) else (kind,)
    streamed = (Event, RequestInput)
    outputs = [one for one in choices if not (inspect.isclass(one) and issubclass(one, streamed))]
    return functools.reduce(operator.or_, outputs) if outputs else None


def _plain_function(func: Any) -> Callable[..., Any]:
    while isinstance(func, functools.partial):
        func = func.func
    func = inspect.unwrap(func)
    plain: Callable[..., Any] = func if inspect.isroutine(func) else type(func).__call__
    return plain


def _hint(func: Callable[..., Any]) -> Any:
    """Read the return annotation by itself: other annotations may name what only a type checker imports."""
    annotations = getattr(func, "__annotations__", {})
    if annotations.get("return") is None:
        return None

    def holder() -> None:
        """Hold one annotation."""

    holder.__annotations__ = {"return": annotations["return"]}
    names = getattr(func, "__globals__", {})
    return typing.get_type_hints(holder, globalns=names, include_extras=True)["return"]


def _readable(kind: Any, known: dict[Any, Any]) -> Any:
    """Replace each `typing.TypedDict`, which pydantic does not read before Python 3.12, by its twin."""
    if typing_extensions.is_typeddict(kind):
        return _twin(kind, known)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (typing.Literal, typing.Annotated) or not arguments:
        return kind
    replaced = tuple(_readable(argument, known) for argument in arguments)
    if replaced == arguments:
        return kind
    if origin in (Union, python_types.UnionType):
        return functools.reduce(operator.or_, replaced)
    return origin[replaced] if origin is not None else kind


def _twin(kind: Any, known: dict[Any, Any]) -> Any:
    if kind in known:
        return known[kind]
    known[kind] = dict[str, Any]  # what stands for it inside itself
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {name: _mark(kind, name, hint)[_readable(_bare(hint), known)] for name, hint in hints.items()}
    make: Any = typing_extensions.TypedDict
    twin = make(kind.__name__, fields)
    twin.__doc__ = kind.__doc__
    known[kind] = twin
    return twin


def _mark(kind: Any, name: str, hint: Any) -> Any:
    """Return whether a field must be there: its own word first, which `__required_keys__` misses in postponed hints."""
    marks: Any = {
        typing.Required: typing_extensions.Required,
        typing.NotRequired: typing_extensions.NotRequired,
    }
    by_class = typing_extensions.Required if name in kind.__required_keys__ else typing_extensions.NotRequired
    return marks.get(get_origin(hint), by_class)


def _bare(hint: Any) -> Any:
    marks = (typing.Required, typing.NotRequired, typing_extensions.ReadOnly)
    while get_origin(hint) in marks:
        hint = get_args(hint)[0]
    return hint
