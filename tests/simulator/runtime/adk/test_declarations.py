"""Tests of reading what tools and agents declare."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Literal

import pytest
import typing_extensions
from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.google_search_tool import GoogleSearchTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel

from simulator.base.json_values import JsonObject
from simulator.environment.schema.schema_checks import check
from simulator.runtime.adk.declarations import declaration_json, response_schema_of, schema_json

if typing.TYPE_CHECKING:
    from decimal import Decimal


class Address(BaseModel):
    """Where somebody lives."""

    city: str
    zip_code: str | None = None


class Part(typing.TypedDict, total=False):
    """A part of a thing."""

    sku: typing.Required[str]
    weight: float


class Thing(typing.TypedDict):
    """Holds another typed dict, and itself."""

    parts: list[Part]
    made_of: list[Thing]


class Modern(typing_extensions.TypedDict):
    """What pydantic reads by itself."""

    name: str


class Level(enum.Enum):
    """A choice."""

    LOW = "low"
    HIGH = "high"


@dataclasses.dataclass
class Money:
    """An amount."""

    amount: float
    currency: str = "EUR"


class Opaque:
    """Something that JSON schema has no word for."""


class Raising(BaseTool):
    """A tool that cannot be looked at."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        raise RuntimeError("not connected")


def returning(annotation: object) -> FunctionTool:
    """Make a tool whose function says that it returns this."""

    def look_up(order_id: str) -> None:
        """Look an order up."""

    look_up.__annotations__["return"] = annotation
    return FunctionTool(look_up)


def declared(tool: BaseTool) -> types.FunctionDeclaration:
    """Return the declaration that the model sees."""
    declaration = tool._get_declaration()
    assert declaration is not None
    return declaration


def test_a_functions_parameters_are_standard_json_schema() -> None:
    """Models are written in place, defaults and optional ones are told, ADK's own parameters are not there."""

    def ship(
        order_id: str, to: Address, level: Level, tool_context: ToolContext, tags: list[str] | None = None
    ) -> dict[str, Any]:
        """Ship an order."""
        return {}

    tool = declaration_json(declared(FunctionTool(ship)))
    assert (tool.name, tool.description) == ("ship", "Ship an order.")
    properties: Any = tool.parameters["properties"]
    assert list(properties) == ["order_id", "to", "level", "tags"]
    assert tool.parameters["required"] == ["order_id", "to", "level"]
    assert properties["to"]["properties"]["city"]["type"] == "string"
    assert properties["level"]["enum"] == ["low", "high"]
    assert properties["tags"]["default"] is None
    assert tool.response is None
    assert (
        check({"order_id": "A", "to": {"city": "Oslo"}, "level": "low", "tags": None}, tool.parameters) == ()
    )


def test_googles_own_schema_class_is_read() -> None:
    """`parameters` and `response` as google-genai `Schema` become the same standard form."""
    declaration = types.FunctionDeclaration(
        name="pay",
        parameters=types.Schema(
            type=types.Type.OBJECT,
            properties={"amount": types.Schema(type=types.Type.NUMBER, nullable=True)},
            required=["amount"],
        ),
        response=types.Schema(
            type=types.Type.OBJECT, properties={"ok": types.Schema(type=types.Type.BOOLEAN)}
        ),
    )
    tool = declaration_json(declaration)
    assert tool.parameters == {
        "type": "object",
        "properties": {"amount": {"type": ["number", "null"]}},
        "required": ["amount"],
    }
    assert tool.response == {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    empty = declaration_json(types.FunctionDeclaration(name="now", description=None))
    assert empty.parameters == {"type": "object", "properties": {}}
    assert (empty.description, empty.response) == ("", None)


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Address, {"city": "Oslo", "zip_code": None}, {"zip_code": "1"}),
        (Part, {"sku": "A"}, {"weight": 2}),
        (Thing, {"parts": [{"sku": "A"}], "made_of": [{}]}, {"parts": [{}], "made_of": []}),
        (Modern, {"name": "x"}, {}),
        (Money, {"amount": 1}, {"currency": "EUR"}),
        (list[Address], [{"city": "Oslo"}], [{}]),
        (list[Part], [{"sku": "A"}], [{}]),
        (dict[str, Money], {"a": {"amount": 1}}, {"a": {}}),
        (Address | None, None, {}),
        (Address | Money, {"amount": 1}, {}),
        (Literal["a", "b"], "a", "c"),
        (Level, "low", "middle"),
        (str, "x", 1),
        (list, [1, "x"], {}),
        ("Address", {"city": "Oslo"}, {}),
        ("list[Money]", [{"amount": 1}], [{}]),
        (typing.Annotated[Address, "note"], {"city": "Oslo"}, {}),
        (Generator[Address, None, None], {"city": "Oslo"}, {}),
        (AsyncGenerator[Event | Address, None], {"city": "Oslo"}, {}),
        (Coroutine[Any, Any, Address], {"city": "Oslo"}, {}),
    ],
)
def test_a_real_return_type_gives_a_schema(annotation: object, good: object, bad: object) -> None:
    """Whatever form the annotation has: what it allows passes, what it forbids does not."""
    schema = response_schema_of(returning(annotation))
    assert schema is not None
    assert check(good, schema) == ()
    assert check(bad, schema) != ()


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        Any,
        object,
        dict,
        dict[str, Any],
        dict | None,
        dict[str, Any] | str,
        "dict",
        "Nowhere",
        Opaque,
        list[Opaque],
        AsyncGenerator[Event, None],
        Raising(name="broken", description=""),
        GoogleSearchTool(),
        FunctionTool(lambda order_id: order_id),
        AgentTool(LlmAgent(name="helper", model="none")),
    ],
)
def test_what_says_nothing_gives_none(annotation: object) -> None:
    """Neither a bare dict nor a type that cannot be described is a schema; nor has a tool one that raises, is built in, is not annotated, or runs an agent."""
    tool = annotation if isinstance(annotation, BaseTool) else returning(annotation)
    assert response_schema_of(tool) is None


def test_other_annotations_that_cannot_be_read_are_no_obstacle() -> None:
    """An argument's type that is imported for type checkers only does not hide the return type."""

    def pay(amount: Decimal) -> Money:
        """Pay."""
        raise NotImplementedError

    assert check({"amount": 1}, response_schema_of(FunctionTool(pay))) == ()


class Desk:
    """Callables of other kinds."""

    def find(self, order_id: str) -> Address:
        """Find."""
        raise NotImplementedError

    def __call__(self, order_id: str) -> Address:
        """Find."""
        raise NotImplementedError


async def find_later(order_id: str) -> Address:
    """Find."""
    raise NotImplementedError


@functools.wraps(find_later)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    """Stand before another function."""
    raise NotImplementedError


@pytest.mark.parametrize(
    "func",
    [Desk().find, Desk(), find_later, wrapped, functools.partial(find_later, order_id="A")],
    ids=["method", "callable object", "async", "wrapped", "partial"],
)
def test_every_kind_of_callable_is_read(func: Callable[..., Any]) -> None:
    """Methods, callable objects, coroutines, wrapped functions and partials say what they return."""
    for tool in (FunctionTool(func), LongRunningFunctionTool(func)):
        schema = response_schema_of(tool)
        assert check({"city": "Oslo"}, schema) == ()
        assert check({}, schema) != ()


class Declaring(BaseTool):
    """A tool with a declaration of its own."""

    def __init__(self, response: Any) -> None:
        super().__init__(name="own", description="")
        self.response = response

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name="own", response_json_schema=self.response)


def test_a_declared_response_schema_comes_first() -> None:
    """What the declaration says is taken, unless it says nothing or is broken."""
    wanted: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}}
    upper = {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}
    assert response_schema_of(Declaring(upper)) == wanted
    assert response_schema_of(Declaring({"type": "object", "additionalProperties": True})) is None
    assert response_schema_of(Declaring(None)) is None


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Modern, {"name": {"title": "Name", "type": "string"}}),
        (
            types.Schema(type=types.Type.OBJECT, properties={"a": types.Schema(any_of=[])}),
            {"a": {"anyOf": []}},
        ),
        ({"type": types.Type.OBJECT, "properties": {"a": {"type": "STRING"}}}, {"a": {"type": "string"}}),
    ],
)
def test_every_form_of_an_output_schema_is_written(schema: object, expected: object) -> None:
    """Classes, google-genai's schema and dicts (with its enum in them) give an object with these properties."""
    written = schema_json(schema)
    assert written["type"] == "object"
    assert written["properties"] == expected
    listed: Any = schema_json(list[Address])
    assert (listed["type"], list(listed["items"]["properties"])) == ("array", ["city", "zip_code"])


@pytest.mark.parametrize("schema", [Opaque, 3, {"type": float("nan")}, None])
def test_what_cannot_be_described_is_a_schema_that_allows_all(schema: object) -> None:
    """Nothing is raised while a request is being shown."""
    assert schema_json(schema) in ({}, {"type": "null"})
