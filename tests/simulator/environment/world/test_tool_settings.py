"""Settings of the environment are JSON without loss, and tools that do not exist yet are declared soundly."""

from __future__ import annotations

from enum import StrEnum

import pytest
from google.adk.agents.llm.task._finish_task_tool import FINISH_TASK_TOOL_NAME
from google.adk.flows.llm_flows.functions import (
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    REQUEST_EUC_FUNCTION_CALL_NAME,
)
from google.adk.tools._request_input_tool import request_input
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.adk.tools.transfer_to_agent_tool import transfer_to_agent
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from simulator.base.json_values import JsonObject
from simulator.environment.declared_tools import STEERING, DeclaredTool
from simulator.environment.schema.schema_checks import check
from simulator.environment.world.connections import ConnectionEdits, ParameterUse, ToolField, found_offline
from simulator.environment.world.tool_settings import (
    DefaultToolResponse,
    EnvironmentSettings,
    ToolSettings,
    schema_of,
)
from tests.simulator.base.rows import for_each


class Mode(StrEnum):
    """How the room is kept."""

    HEAT = "heat"
    OFF = "off"


class HvacResponse(BaseModel):
    """What the controller answers."""

    temperature: float = Field(..., description="Target temperature in Fahrenheit")
    mode: Mode
    status: str = Field(default="success")


class Reading(TypedDict):
    """What the sensor answers."""

    humidity: float


def test_an_output_schema_may_be_a_class() -> None:
    """A class, a type that pydantic knows, and a JSON schema itself serve alike; answers are held to it."""
    schema = schema_of(HvacResponse)
    assert check({"temperature": 70.5, "mode": "heat", "status": "success"}, schema) == ()
    assert check({"temperature": "warm", "mode": "heat", "status": "success"}, schema) != ()
    assert check({"temperature": 70.5, "mode": "cold", "status": "success"}, schema) != ()
    assert check([{"humidity": 3}], schema_of(list[Reading])) == ()
    assert schema_of(schema) == schema
    assert check({"response": "fine"}, schema_of(DefaultToolResponse)) == ()


def test_settings_and_declarations_take_a_class_for_its_schema() -> None:
    """Also in a mapping of them."""
    schema = schema_of(HvacResponse)
    by_class = {"name": "f", "output_schema": HvacResponse}
    settings = EnvironmentSettings.model_validate({"tools": {"f": by_class}})
    assert settings.tool("f").output_schema == schema
    assert ToolSettings.model_validate({"name": "f", "output_schema": dict[str, int]}).output_schema
    declared = DeclaredTool.model_validate({**by_class, "parameters": HvacResponse})
    assert (declared.parameters, declared.output_schema) == (schema, schema)


@for_each("wrong", [3, "HvacResponse", object(), {"type": "sting"}, {"properties": 3}])
def test_what_is_no_schema_is_refused(wrong: object) -> None:
    """The error says what was given, or where the schema is broken."""
    with pytest.raises(ValueError, match=r"an output schema|is invalid at \$"):
        schema_of(wrong)
    with pytest.raises(ValidationError):
        ToolSettings.model_validate({"name": "t", "output_schema": wrong})


def test_settings_are_json_in_and_out() -> None:
    """All that can be set comes back as it was, so it can be a fact; a tool without settings has the defaults."""
    use = ParameterUse(
        tool_name="f", parameter="orders[*].id", kind="order", use="deletes", source="person", why="x"
    )
    settings = EnvironmentSettings(
        tools={
            "f": ToolSettings(
                name="f",
                output_schema=schema_of(HvacResponse),
                share_state_id="s",
                initial_state_description="ü",
            )
        },
        environment='{"orders": []}',
        invariants=("stock >= 0",),
        implicit_contradictions=False,
        connections=ConnectionEdits(uses=(use,), no_uses=(ToolField(tool_name="g", path="id"),)),
        authority={"order": "closed"},
        max_tool_call_cache_size=50,
        simulation_model="gemini-flash-latest",
        simulation_model_configuration={"temperature": 0.2, "nested": {"a": [1, None]}},
    )
    assert EnvironmentSettings.model_validate_json(settings.model_dump_json()) == settings
    assert EnvironmentSettings.model_validate_json("{}") == EnvironmentSettings()
    assert (settings.tool("f").state_key, settings.tool("g").state_key) == ("s", "g")


@for_each(
    "wrong",
    [
        {"tools": {"f": {"name": "g"}}},
        {"max_tool_call_cache_size": 0},
        {"authority": {"order": "perhaps"}},
        {"tolls": {}},
        {"simulation_model_configuration": {"temperature": float("nan")}},
    ],
)
def test_settings_that_say_nothing_sound_are_refused(wrong: JsonObject) -> None:
    """A misspelt or impossible setting is an error, not a silent default."""
    with pytest.raises(ValidationError):
        EnvironmentSettings.model_validate(wrong)


def test_a_declared_tool_hangs_together_with_the_others() -> None:
    """It has a shape like that of any other tool, and is json in and out."""
    declared = DeclaredTool(
        name="find_order",
        description="Looks one order up.",
        parameters={
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
        output_schema=schema_of(HvacResponse),
    )
    assert [use.kind for use in found_offline([declared.shape()]).uses] == ["order"]
    assert DeclaredTool.model_validate_json(declared.model_dump_json()) == declared
    assert DeclaredTool(name="ping").parameters == {"type": "object", "properties": {}}


@for_each(
    ("fields", "told"),
    [
        ({"name": "find order"}, "valid tool name"),
        ({"name": "1st"}, "valid tool name"),
        ({"name": "for"}, "valid tool name"),
        ({"name": "x" * 65}, "valid tool name"),
        ({"name": "größe"}, "valid tool name"),
        ({"name": "f", "parameters": {"type": "array"}}, "of type 'array'"),
        ({"name": "f", "parameters": {"properties": []}}, "properties of the"),
        ({"name": "f", "parameters": {"properties": {"x": 3}}}, "parameter 'x': "),
        (
            {"name": "f", "parameters": {"properties": {"x": {"type": "sting"}}}},
            r"invalid at \$\.properties\.x\.type",
        ),
        ({"name": "f", "parameters": {"required": ["x"]}}, "not declared: x"),
        ({"name": "f", "output_schema": {"type": "sting"}}, r"invalid at \$\.type"),
        *(({"name": name}, "an ADK tool") for name in sorted(STEERING)),
    ],
)
def test_an_unsound_declaration_is_refused(fields: JsonObject, told: str) -> None:
    """The error names the parameter or the place in the schema."""
    with pytest.raises(ValidationError, match=told):
        DeclaredTool.model_validate(fields)


def test_the_names_of_adks_own_tools_are_known() -> None:
    """Each tool by which ADK steers its flow has a name that no declared tool may have."""
    names = {
        transfer_to_agent.__name__,
        exit_loop.__name__,
        request_input.name,
        FINISH_TASK_TOOL_NAME,
        REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
        REQUEST_EUC_FUNCTION_CALL_NAME,
        SetModelResponseTool(HvacResponse).name,
    }
    assert names == STEERING
