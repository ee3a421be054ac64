"""What tools without a body say of their responses reaches those who draft: schemas and examples, by ADK's own classes."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp.types
import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.mcp_tool.mcp_tool import McpTool
from google.adk.tools.openapi_tool import OpenAPIToolset
from pydantic import BaseModel, ConfigDict

from simulator.runtime.turns.waiting_request import describe_tool
from simulator.seats.requests import ToolDeclaration

ORDER = {"type": "object", "properties": {"id": {"type": "string"}}}


def described(response: dict[str, Any], *, status: str = "200", **components: Any) -> ToolDeclaration:
    """Describe the tool that ADK makes of an operation with this response."""
    spec = {
        "openapi": "3.0.0",
        "info": {"title": "Desk", "version": "1"},
        "servers": [{"url": "http://desk.test"}],
        "components": components,
        "paths": {
            "/orders": {
                "get": {
                    "operationId": "findOrder",
                    "responses": {
                        status: {"description": "d", **response},
                        "404": {
                            "description": "none",
                            "content": {"application/json": {"example": {"no": 1}}},
                        },
                    },
                }
            }
        },
    }
    (tool,) = asyncio.run(OpenAPIToolset(spec_dict=spec).get_tools())
    return describe_tool(tool)


def json_of(**media: Any) -> dict[str, Any]:
    """Write a response that is JSON."""
    return {"content": {"application/json": media}}


def test_an_operations_schema_and_examples_are_kept() -> None:
    """References are followed as ADK follows them; own examples come before those of the schema, each once."""
    found = described(
        json_of(
            schema={"$ref": "#/components/schemas/Order"},
            examples={"a": {"value": {"id": "A-1"}}, "b": {"$ref": "#/components/examples/other"}},
        ),
        schemas={"Order": {**ORDER, "example": {"id": "A-1"}}},
        examples={"other": {"value": {"id": "B-2"}}},
    )
    assert found.response == {**ORDER, "examples": [{"id": "A-1"}]}
    assert found.response_examples == ({"id": "A-1"}, {"id": "B-2"})


@pytest.mark.parametrize(
    ("response", "status", "schema", "examples"),
    [
        (json_of(schema=ORDER, example=[1]), "201", ORDER, ([1],)),
        (json_of(example={"id": "A-1"}), "200", None, ({"id": "A-1"},)),
        (json_of(schema={**ORDER, "example": {"id": "A-3"}}), "2XX", ORDER, ({"id": "A-3"},)),
        ({}, "200", None, ()),
        ({}, "204", None, ({"text": ""},)),
        (json_of(schema=ORDER), "default", None, ()),
        (json_of(schema=ORDER, example="x" * 60_000), "200", ORDER, ()),
    ],
    ids=["list", "only an example", "example of the schema", "nothing", "no content", "no success", "large"],
)
def test_what_is_said_of_the_first_success_counts(
    response: dict[str, Any], status: str, schema: Any, examples: Any
) -> None:
    """An error's example is no example of the response, and a large one is left out."""
    found = described(response, status=status)
    said = None if found.response is None else {**found.response}
    (said or {}).pop("examples", None)
    assert (said, found.response_examples) == (schema, examples)


def test_text_is_described_as_adk_gives_it() -> None:
    """What is no JSON reaches the agent in a field."""
    found = described({"content": {"text/plain": {"schema": {"type": "string"}, "example": "done"}}})
    assert found.response is not None
    assert found.response["required"] == ["text"]
    assert found.response_examples == ({"text": "done"},)


def test_an_mcp_tools_output_schema_and_its_examples_are_kept() -> None:
    """They come with the declaration that ADK makes."""
    schema = {**ORDER, "examples": [{"id": "A-1"}]}
    tool = mcp.types.Tool(name="find", description="d", inputSchema={"type": "object"}, outputSchema=schema)
    make: Any = McpTool  # without annotations
    found = describe_tool(make(mcp_tool=tool, mcp_session_manager=None))
    assert found.response == schema
    assert found.response_examples == ({"id": "A-1"},)


class Order(BaseModel):
    """An order, with an example as pydantic takes it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "A-1"}]})

    id: str


def find() -> Order:
    """Find an order."""
    return Order(id="A-2")


def test_examples_of_pydantic_classes_are_kept() -> None:
    """A function's annotation and the output schema of an agent that is used as a tool may hold some."""
    agent = LlmAgent(name="finder", model="gemini-2.5-flash", output_schema=Order)
    for tool in (FunctionTool(find), AgentTool(agent)):
        assert describe_tool(tool).response_examples == ({"id": "A-1"},)
