"""Settings of the environment are JSON without loss, tools that do not exist yet are declared soundly, and tools share a state by its key."""

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
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from simulator.base.json_values import JsonObject
from simulator.environment.schema.schema_checks import check
from simulator.environment.world.connections import ConnectionEdits, ParameterUse, ToolField, found_offline
from simulator.environment.world.tool_settings import (
    STEERING,
    DeclaredTool,
    DefaultToolResponse,
    EnvironmentSettings,
    SharedState,
    StateRegistry,
    ToolSettings,
    registry_of,
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


ROOM = "Room environment: temperature 68F, humidity 45%, HVAC off"


def hvac() -> EnvironmentSettings:
    """Return the settings of two tools of one room."""
    tools = (
        ToolSettings(
            name="hvac_controller", share_state_id="room_environment", initial_state_description=ROOM
        ),
        ToolSettings(name="room_sensor", share_state_id="room_environment"),
        ToolSettings(name="lookup_user"),
    )
    return EnvironmentSettings(tools={tool.name: tool for tool in tools})


def test_two_tools_of_one_room_see_each_others_calls() -> None:
    """The controller's call is there when the sensor is asked, with its parameters, response and time.

    What was read before is a snapshot; tools without a shared state, registered or not, have one of their own name.
    """
    registry, warned = registry_of(hvac())
    assert warned == ()
    before = registry.get_state("room_environment")
    key = registry.state_key("hvac_controller")
    assert key == registry.state_key("room_sensor") == "room_environment"
    registry.cache_tool_call(
        "hvac_controller", key, {"status": "success"}, {"temperature": 72.0}, timestamp=5.0
    )
    assert registry.get_state(registry.state_key("room_sensor"))["previous_calls"] == [
        {
            "tool_name": "hvac_controller",
            "parameters": {"temperature": 72.0},
            "response": {"status": "success"},
            "timestamp": 5.0,
        }
    ]
    assert before == SharedState(initial_state=ROOM, previous_calls=[])
    for name in ("lookup_user", "stranger"):
        registry.cache_tool_call(name, registry.state_key(name), "x", timestamp=6.0)
    assert registry.list_states() == ["room_environment", "lookup_user", "stranger"]
    assert len(registry.get_state("room_environment")["previous_calls"]) == 1
    assert registry.get_state("nobody") == SharedState(initial_state=None, previous_calls=[])


def test_a_second_beginning_of_a_key_warns_and_the_first_stays() -> None:
    """Who describes one state twice hears of it; after clearing, it may begin anew."""
    registry = StateRegistry()
    registry.initialize_state_via_description("first", "env")
    with pytest.warns(UserWarning, match="'env' has already"):
        registry.initialize_state_via_description("second", "env")
    assert registry.get_state("env")["initial_state"] == "first"
    registry.clear_state("env")
    registry.initialize_state_via_description("third", "env")
    assert registry.get_state("env")["initial_state"] == "third"


def test_settings_with_two_beginnings_of_one_key_give_the_warning() -> None:
    """A page can show it, where nobody sees Python's warnings."""
    tools = [
        ToolSettings(name=name, share_state_id="env", initial_state_description=name)
        for name in ("one", "two")
    ]
    registry, warned = registry_of(EnvironmentSettings(tools={tool.name: tool for tool in tools}))
    assert len(warned) == 1
    assert "'env' has already" in warned[0]
    assert registry.get_state("env")["initial_state"] == "one"


@given(st.integers(1, 5), st.lists(st.sampled_from(["a", "b"]), max_size=20))
def test_each_key_keeps_its_latest_calls(most: int, keys: list[str]) -> None:
    """First in, first out, for each key by itself."""
    registry = StateRegistry(max_tool_call_cache_size=most)
    for number, key in enumerate(keys):
        registry.cache_tool_call("tool", key, number, timestamp=float(number))
    for key in ("a", "b"):
        numbers = [number for number, one in enumerate(keys) if one == key][-most:]
        assert [call["response"] for call in registry.get_state(key)["previous_calls"]] == numbers


def test_twenty_calls_are_kept_where_nothing_is_said_and_less_than_one_is_refused() -> None:
    """The bound is Strands' own."""
    registry = StateRegistry()
    for number in range(25):
        registry.cache_tool_call("t", "t", number, timestamp=0.0)
    assert [call["response"] for call in registry.get_state("t")["previous_calls"]] == list(range(5, 25))
    with pytest.raises(ValueError, match="at least 1"):
        StateRegistry(max_tool_call_cache_size=0)


def test_tools_are_listed_and_cleared_and_their_states_stay() -> None:
    """Of two tools of one name the second counts, and warns where it begins its state otherwise; after clearing there is none."""
    registry, _ = registry_of(hvac())
    assert registry.list_tools() == ["hvac_controller", "room_sensor", "lookup_user"]
    registry.register_tool(ToolSettings(name="lookup_user", share_state_id="users"))
    assert registry.state_key("lookup_user") == "users"
    again = hvac().tools["hvac_controller"]
    assert registry.register_tool(again) == ""
    assert registry.register_tool(again.model_copy(update={"initial_state_description": "another"}))
    assert registry.list_tools() == ["hvac_controller", "room_sensor", "lookup_user"]
    registry.clear_tools()
    assert registry.list_tools() == []
    assert registry.get_state("room_environment")["initial_state"] == ROOM
