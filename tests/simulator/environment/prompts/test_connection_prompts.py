"""Proves how a model is asked for the connections of tools, what of its answer is believed, and what breaks an output schema."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator.environment.prompts.model_prompts import (
    CONNECTIONS_SCHEMA,
    MOST_CHARACTERS,
    connection_lines,
    connections_prompt,
    read_connections,
    shapes_digest,
)
from simulator.environment.schema.schema_checks import check
from simulator.environment.schema.schema_plans import breach, is_error_beside
from simulator.environment.world.connections import Connections, ParameterUse, Produced, ToolRole, ToolShape
from tests.simulator.base.rows import for_each

CREATE = ToolShape(
    name="create_order",
    description="Creates an order.",
    parameters={
        "type": "object",
        "properties": {
            "customer_id": {"type": "string"},
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
            },
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
    },
    response_schema={"type": "object", "properties": {"order_id": {"type": "string"}}},
)
PING = ToolShape(name="ping")


def answer(**said: Any) -> dict[str, Any]:
    """Return a model's answer that says this, and nothing else."""
    value = {"uses": [], "produces": [], "roles": [], **said}
    assert CONNECTIONS_SCHEMA.value is not None
    assert not check(value, CONNECTIONS_SCHEMA.value)
    return value


def use(parameter: str, **more: Any) -> dict[str, Any]:
    """Say that a tool reads what a parameter names."""
    return {"tool_name": "create_order", "parameter": parameter, "kind": "customer", "use": "reads", **more}


def test_every_tool_is_told_once_in_one_order() -> None:
    """Tools that several agents share stand there once; the order of agents does not matter."""
    prompt = connections_prompt([PING, CREATE, PING])
    assert prompt == connections_prompt([CREATE, PING])
    assert prompt.count('"name": "ping"') == 1
    assert '"order_id"' in prompt
    assert shapes_digest([PING, CREATE, PING]) == shapes_digest([CREATE, PING])
    assert shapes_digest([CREATE]) != shapes_digest([CREATE.model_copy(update={"description": "Another."})])


def test_the_prompt_is_bounded() -> None:
    """A thousand tools with long descriptions do not make a prompt without end."""
    tools = [ToolShape(name=f"tool_{number}", description="x" * 9_000) for number in range(1_000)]
    assert len(connections_prompt(tools)) < MOST_CHARACTERS + 4_000


def test_what_is_about_the_tools_is_read() -> None:
    """Uses, produced ids and roles come out, said by the model."""
    value = answer(
        uses=[use("customer_id", why="its\n name")],
        produces=[{"tool_name": "create_order", "field": "order_id", "kind": "Orders", "creates": True}],
        roles=[{"tool_name": "ping", "use": "reads", "kind": ""}],
    )
    read = read_connections(value, [CREATE, PING])
    assert read.dropped == ()
    assert read.connections.uses == (
        ParameterUse(
            tool_name="create_order",
            parameter="customer_id",
            kind="customer",
            use="reads",
            source="model",
            why="its name",
        ),
    )
    assert read.connections.produces == (
        Produced(tool_name="create_order", field="order_id", kind="order", creates=True, source="model"),
    )
    assert read.connections.roles == (ToolRole(tool_name="ping", use="reads", source="model"),)


@for_each(
    ("said", "path"),
    [
        ("items[*].sku", "items[*].sku"),
        ("items.sku", "items[*].sku"),
        ("items[0].sku", "items[*].sku"),
        ("tags", "tags[*]"),
        ("tags[]", "tags[*]"),
    ],
)
def test_paths_are_written_in_one_way(said: str, path: str) -> None:
    """However a model writes a list, the path says so as ours do."""
    read = read_connections(answer(uses=[use(said)]), [CREATE])
    assert [one.parameter for one in read.connections.uses] == [path]


def test_what_is_about_nothing_here_is_dropped_with_a_word() -> None:
    """Unknown tools, parameters, fields and kinds are named; the rest stands, once."""
    value = answer(
        uses=[
            use("customer_id"),
            use("customer_id"),
            use("nothing"),
            use("x", tool_name="no_tool"),
            use("tags", kind=" - "),
        ],
        produces=[{"tool_name": "create_order", "field": "total", "kind": "order", "creates": False}],
    )
    read = read_connections(value, [CREATE])
    assert len(read.connections.uses) == 1
    assert read.connections.produces == ()
    named = ("create_order .*'nothing'", "'no_tool'", "create_order: ' - ' ", "create_order .*'total'")
    assert len(read.dropped) == len(named)
    assert all(re.search(words, one) for words, one in zip(named, read.dropped, strict=True))


def test_fields_of_a_tool_that_declares_no_answers_are_believed() -> None:
    """Where nothing is declared, the model may know better from the description."""
    produced = {"tool_name": "ping", "field": "host_id", "kind": "host", "creates": False}
    assert read_connections(answer(produces=[produced]), [PING]).connections.produces[0].field == "host_id"


def test_connections_are_said_in_words_the_tools_own_first() -> None:
    """A prompt for a call says what this tool does, then what others do to the same things, and nothing else."""
    said = Connections(
        uses=(
            ParameterUse(tool_name="find_order", parameter="order_id", kind="order", use="reads"),
            ParameterUse(tool_name="cancel_order", parameter="order_id", kind="order", use="changes"),
            ParameterUse(tool_name="find_room", parameter="room_id", kind="room", use="reads"),
        ),
        produces=(Produced(tool_name="create_order", field="order_id", kind="order", creates=True),),
    )
    own, other, made = (line.split() for line in connection_lines(said, "cancel_order"))
    assert (own[:4:2], own[1], "order_id" in own) == (["cancel_order", "the"], "changes", True)
    assert (other[:2], made[0]) == (["find_order", "reads"], "create_order")
    assert connection_lines(said, "ping") == ()


ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "status": {"type": "string"}},
    "required": ["order_id", "status"],
    "additionalProperties": False,
}


@for_each(
    "error",
    [
        {"error_code": 404, "error_message": "No order."},
        {"status": "error", "error": "No order."},
        {"status": "not_found", "message": "No order."},
        {"error": "No order."},
    ],
)
def test_an_error_breaks_no_schema(error: dict[str, Any]) -> None:
    """A schema describes what a tool gives where nothing goes wrong."""
    assert is_error_beside(error, ORDER)
    assert breach(error, ORDER) == ""


@pytest.mark.parametrize("value", [{"order_id": 7, "status": "failed"}, {"status": "failed"}])
def test_a_status_alone_excuses_no_botched_answer(value: dict[str, Any]) -> None:
    """An order may have failed; what stands beside it has to fit."""
    assert ": $" in breach(value, ORDER)
    assert breach(value, {"anyOf": [ORDER, {"type": "null"}]})


@for_each(
    "schema",
    [
        None,
        {},
        {"type": "nonsense"},
        {"$ref": "#/$defs/nowhere"},
        {"properties": {"a": "string"}},
        {"required": True},
        {"minimum": float("nan"), "required": ["b"]},
        {"pattern": "(", "required": ["b"]},
    ],
)
def test_what_says_nothing_or_is_broken_cannot_be_broken(schema: dict[str, Any] | None) -> None:
    """No answer could be held to it."""
    assert breach({"a": 1}, schema) == ""


def test_a_value_may_stand_in_its_field_as_adk_wraps_it() -> None:
    """A tool that returns a list is recorded as an object with a result; a wrong list is wrong there, too."""
    schema: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    assert breach({"result": ["a"]}, schema) == breach(["a"], schema) == ""
    assert breach({"result": [1]}, schema)


def test_many_faults_are_counted() -> None:
    """The sentence stays short."""
    told = breach({str(number): number for number in range(9)}, {"additionalProperties": {"type": "string"}})
    assert told.endswith("; and 6 more")
