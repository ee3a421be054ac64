"""Guards what the guide to Strands' tool simulation says: its examples, with our `ToolSimulator` under ADK's runner."""

# The functions stand as in the guide: without a body, and `dict` alone.
# mypy: disable-error-code="empty-body, type-arg"

from __future__ import annotations

import asyncio
import inspect
from enum import Enum
from typing import Any

import pytest
from google.adk.runners import InMemoryRunner
from pydantic import BaseModel, Field, ValidationError

from simulator import DefaultToolResponse, RegisteredTool, StateRegistry, ToolSimulator, create_plugin
from tests.simulator.runtime.plugin.standing import Oracle, Stage, responses
from tests.simulator.runtime.stage import agent_of, call

NO_CONNECTIONS: dict[str, Any] = {"uses": [], "produces": [], "roles": []}


class WeatherResponse(BaseModel):
    """The weather."""

    temperature: float = Field(..., description="Temperature in Fahrenheit")
    conditions: str = Field(..., description="Weather conditions")


class OrderStatus(BaseModel):
    """An order."""

    order_id: str = Field(..., description="Order identifier")
    status: str = Field(..., description="Current order status")
    estimated_delivery: str = Field(..., description="Estimated delivery date")


class HVACMode(str, Enum):  # noqa: UP042 - as the guide writes it
    """What the heating does."""

    HEAT = "heat"
    COOL = "cool"
    AUTO = "auto"
    OFF = "off"


class HVACResponse(BaseModel):
    """What the heating was set to."""

    temperature: float = Field(..., description="Target temperature in Fahrenheit")
    mode: HVACMode = Field(..., description="HVAC mode")
    status: str = Field(default="success", description="Operation status")


class SensorResponse(BaseModel):
    """What the sensor reads."""

    temperature: float = Field(..., description="Current temperature in Fahrenheit")
    humidity: float = Field(..., description="Current humidity percentage")


def run(*calls: Any, tools: list[Any]) -> list[Any]:
    """Let an ADK agent with these tools make the calls, one a turn; return what it saw."""
    agent = agent_of(*([part] for part in calls), tools=tools)
    stage = Stage(InMemoryRunner(agent=agent, app_name="stage"), create_plugin({}))
    return responses(asyncio.run(stage.turn()))


def answers(*given: Any) -> Oracle:
    """Make a model that gives these answers in turn."""
    left = list(given)
    return Oracle(say=lambda prompt: NO_CONNECTIONS if '"produces"' in prompt else left.pop(0))


def room(tool_simulator: ToolSimulator) -> list[Any]:
    """Register the two tools of the guide's room; return them."""

    @tool_simulator.tool(
        share_state_id="room_environment",
        initial_state_description="Room environment: temperature 68F, humidity 45%, HVAC off",
        output_schema=HVACResponse,
    )
    def hvac_controller(temperature: float, mode: str) -> dict:
        """Control heating/cooling system that affects room temperature and humidity."""

    @tool_simulator.tool(
        share_state_id="room_environment",
        output_schema=SensorResponse,
    )
    def room_sensor() -> dict:
        """Read current room temperature and humidity."""

    return [tool_simulator.get_tool("hvac_controller"), tool_simulator.get_tool("room_sensor")]


def test_the_parameters_have_the_order_of_the_reference() -> None:
    """Each can be given by its place, as the tables of methods list them."""
    signatures: dict[Any, str] = {
        ToolSimulator.tool: "output_schema name share_state_id initial_state_description",
        ToolSimulator.get_tool: "tool_name",
        ToolSimulator.get_state: "state_key",
        ToolSimulator.list_tools: "",
        ToolSimulator.clear_tools: "",
        StateRegistry.get_state: "state_key",
        StateRegistry.clear_state: "state_key",
        StateRegistry.cache_tool_call: "tool_name state_key response_data parameters",
    }
    for method, names in signatures.items():
        given = [name for name in inspect.signature(method).parameters if name != "self"]
        assert given[: len(names.split())] == names.split(), method
    registry = StateRegistry()
    registry.initialize_state_via_description("Starting state", "env")
    assert registry.list_states() == ["env"]


def test_an_order_tool_by_definition() -> None:
    """The function is only a signature and a docstring: those are what an agent is told of the tool."""
    tool_simulator = ToolSimulator()

    @tool_simulator.tool(output_schema=OrderStatus)
    def check_order(order_id: str) -> dict[str, Any]:
        """Check the current status of a customer order."""
        pytest.fail("the body is never run")

    order_tool = tool_simulator.get_tool("check_order")
    assert order_tool is not None
    assert (order_tool.name, order_tool.description) == (
        "check_order",
        "Check the current status of a customer order.",
    )
    declared = order_tool._get_declaration()
    assert declared is not None
    parameters: Any = declared.parameters_json_schema
    assert parameters["properties"]["order_id"]["type"] == "string"
    (seen,) = run(call("check_order", order_id="12345"), tools=[order_tool])
    assert OrderStatus.model_validate(seen).order_id == "12345"


def test_a_long_docstring_is_told_as_a_whole() -> None:
    """Every line is in the description for the agent, and in the prompt of the simulator's model."""
    model = answers({"temperature": 70.0, "mode": "heat", "status": "success"})
    tool_simulator = ToolSimulator(model=model)

    @tool_simulator.tool(output_schema=HVACResponse)
    def hvac_controller(temperature: float, mode: str) -> dict:
        """Control home heating and cooling.

        The system takes ten minutes to reach the target temperature.
        """

    tool = tool_simulator.get_tool("hvac_controller")
    assert tool is not None
    run(call("hvac_controller", temperature=70.0, mode="heat"), tools=[tool])
    for text in ("Control home heating", "takes ten minutes"):
        assert text in tool.description
        assert text in model.prompts[-1]


def test_the_models_of_the_reference() -> None:
    """`RegisteredTool` and `DefaultToolResponse` are pydantic models with the fields of the reference."""
    fields = {"name", "function", "output_schema", "initial_state_description", "share_state_id"}
    assert issubclass(RegisteredTool, BaseModel)
    assert set(RegisteredTool.model_fields) == fields
    bare = RegisteredTool(name="my_tool")
    assert [getattr(bare, name) for name in sorted(fields - {"name"})] == [None] * 4
    tool_simulator = ToolSimulator()
    room(tool_simulator)
    found = tool_simulator.registered("hvac_controller")
    assert isinstance(found, RegisteredTool)
    assert found.output_schema is HVACResponse
    for wrong in ({"name": 5}, {"name": "t", "function": 5}, {"name": "t", "share_state_id": 5}):
        with pytest.raises(ValidationError):
            RegisteredTool.model_validate(wrong)
    assert issubclass(DefaultToolResponse, BaseModel)
    assert DefaultToolResponse(response="done").model_dump() == {"response": "done"}
    with pytest.raises(ValidationError):
        DefaultToolResponse.model_validate({"response": 5})


def test_a_default_of_the_schema_is_in_the_answer() -> None:
    """Without a model, a field with a default has it."""
    (seen,) = run(call("hvac_controller", temperature=70.0, mode="cool"), tools=room(ToolSimulator()))
    assert seen == {"temperature": 70.0, "mode": "cool", "status": "success"}


def test_what_a_model_is_told_of_a_call() -> None:
    """Input schema, output schema with its descriptions, the docstring, the parameters and the state."""
    model = answers({"temperature": 72.0, "mode": "heat", "status": "success"})
    tool_simulator = ToolSimulator(model=model)
    run(call("hvac_controller", temperature=71.5, mode="heat"), tools=room(tool_simulator))
    (prompt,) = (each for each in model.prompts if '"produces"' not in each)
    told = (
        "hvac_controller",
        "Control heating/cooling system",
        "71.5",
        "Target temperature in Fahrenheit",
        "Operation status",
        "humidity 45%",
    )
    assert [each for each in told if each not in prompt] == []


def test_an_answer_of_another_shape_is_not_given() -> None:
    """The model is shown what is wrong, and answers again; after that a draft by the schema stands."""
    wrong = {"temperature": "warm", "mode": "melt"}
    right = {"temperature": 70.0, "mode": "cool", "status": "success"}
    for given, expected in (((wrong, right), right), ((wrong, wrong), None)):
        tool_simulator = ToolSimulator(model=answers(*given))
        (seen,) = run(call("hvac_controller", temperature=70.0, mode="cool"), tools=room(tool_simulator))
        HVACResponse.model_validate(seen)
        assert expected is None or seen == expected


def test_states_that_are_not_shared_are_each_tools_own() -> None:
    """A tool without `share_state_id` has its name as its key, and sees no other tool's calls."""
    model = answers({"response": "stored"}, {"response": "42 left"})
    tool_simulator = ToolSimulator(model=model)

    @tool_simulator.tool()
    def tool_a(item: str) -> dict:
        """Do one thing."""

    @tool_simulator.tool()
    def tool_b() -> dict:
        """Do another."""

    tools: list[Any] = [tool_simulator.get_tool(name) for name in tool_simulator.list_tools()]
    run(call("tool_a", item="zebra"), call("tool_b"), tools=tools)
    assert [one["response"] for one in tool_simulator.get_state("tool_a")["previous_calls"]] == [
        {"response": "stored"}
    ]
    assert [one["tool_name"] for one in tool_simulator.get_state("tool_b")["previous_calls"]] == ["tool_b"]


def test_a_tool_is_given_to_an_agent_of_each_case() -> None:
    """As the task of an experiment does: an agent for each input, with the same tools; what was called is there after each."""
    tool_simulator = ToolSimulator()
    for number, mode in enumerate(("heat", "cool"), start=1):
        tools = [tool_simulator.get_tool("hvac_controller") or room(tool_simulator)[0]]
        (seen,) = run(call("hvac_controller", temperature=60.0 + number, mode=mode), tools=tools)
        assert seen["mode"] == mode
        last = tool_simulator.get_state("room_environment")["previous_calls"][-1]
        assert (last["parameters"], last["response"]) == ({"temperature": 60.0 + number, "mode": mode}, seen)


@pytest.mark.parametrize("by_model", [False, True])
def test_the_first_example(by_model: bool) -> None:
    """A decorated function becomes a tool; its answer fits the output schema, with and without a model."""
    model = answers({"temperature": 55.5, "conditions": "rain"}) if by_model else None
    tool_simulator = ToolSimulator(model=model)

    @tool_simulator.tool(output_schema=WeatherResponse)
    def get_weather(city: str) -> dict[str, Any]:
        """Get current weather for a city."""

    weather_tool = tool_simulator.get_tool("get_weather")
    (seen,) = run(call("get_weather", city="Seattle"), tools=[weather_tool])
    WeatherResponse.model_validate(seen)
    if model is not None:
        assert seen == {"temperature": 55.5, "conditions": "rain"}
        assert "Seattle" in model.prompts[-1]


def test_a_tool_under_another_name() -> None:
    """`name` overrides the function's; the tool is retrieved and called by it."""
    tool_simulator = ToolSimulator()

    @tool_simulator.tool(name="lookup_order", output_schema=OrderStatus)
    def check_order(order_id: str) -> dict[str, Any]:
        """Check the current status of a customer order."""

    tool = tool_simulator.get_tool("lookup_order")
    (seen,) = run(call("lookup_order", order_id="12345"), tools=[tool])
    assert OrderStatus.model_validate(seen).order_id == "12345"
    assert tool_simulator.get_tool("check_order") is None


def test_shared_state() -> None:
    """The model sees the calls of both tools and the beginning; the registry keeps all of it."""
    model = answers(
        {"temperature": 72.0, "mode": "heat", "status": "success"}, {"temperature": 72.0, "humidity": 45.0}
    )
    tool_simulator = ToolSimulator(model=model)
    tools = room(tool_simulator)
    initial_state = tool_simulator.get_state("room_environment")
    assert initial_state.get("initial_state") == "Room environment: temperature 68F, humidity 45%, HVAC off"
    assert initial_state.get("previous_calls", []) == []
    run(call("hvac_controller", temperature=72.0, mode="heat"), call("room_sensor"), tools=tools)
    assert "68F" in model.prompts[-1]
    assert "hvac_controller" in model.prompts[-1]
    final_state = tool_simulator.get_state("room_environment")
    records = final_state["previous_calls"]
    assert [set(record) for record in records] == [{"tool_name", "parameters", "response", "timestamp"}] * 2
    assert [(record["tool_name"], record["parameters"], record["response"]) for record in records] == [
        (
            "hvac_controller",
            {"temperature": 72.0, "mode": "heat"},
            {"temperature": 72.0, "mode": "heat", "status": "success"},
        ),
        ("room_sensor", {}, {"temperature": 72.0, "humidity": 45.0}),
    ]


def test_the_initial_state_is_in_every_prompt() -> None:
    """The description is given to the model at each call."""

    class UserLookupResponse(BaseModel):
        username: str
        role: str

    model = answers({"username": "alice", "role": "admin"}, {"username": "bob", "role": "viewer"})
    tool_simulator = ToolSimulator(model=model)
    beginning = "Database contains users: alice (admin), bob (viewer). No pending invitations."

    @tool_simulator.tool(initial_state_description=beginning, output_schema=UserLookupResponse)
    def lookup_user(username: str) -> dict:
        """Look up a user in the system."""

    tool = tool_simulator.get_tool("lookup_user")
    run(call("lookup_user", username="alice"), call("lookup_user", username="bob"), tools=[tool])
    assert all(beginning in prompt for prompt in model.prompts)
    assert len(model.prompts) == 2


def test_a_model_by_name_or_as_an_object() -> None:
    """Both are taken; a name that nobody knows leaves the offline draft, and says why."""
    for model in (
        "anthropic.claude-3-5-sonnet-20241022-v2:0",
        answers({"temperature": 1.0, "conditions": "x"}),
    ):
        tool_simulator = ToolSimulator(model=model)

        @tool_simulator.tool(output_schema=WeatherResponse)
        def get_weather(city: str) -> dict[str, Any]:
            """Get current weather for a city."""

        (seen,) = run(call("get_weather", city="Rome"), tools=[tool_simulator.get_tool("get_weather")])
        assert WeatherResponse.model_validate(seen).conditions


def test_the_call_cache_is_bounded() -> None:
    """Twenty calls for each key by default, or as many as are asked for; the oldest are evicted first."""
    default: Any = ToolSimulator()
    for number in range(25):
        default.state_registry.cache_tool_call("room_sensor", "room", {"n": number}, {})
    assert [one["response"]["n"] for one in default.get_state("room")["previous_calls"]] == list(range(5, 25))
    small = ToolSimulator(max_tool_call_cache_size=2)
    run(*(call("hvac_controller", temperature=float(n), mode="heat") for n in range(4)), tools=room(small))
    records = small.get_state("room_environment")["previous_calls"]
    assert [record["parameters"]["temperature"] for record in records] == [2.0, 3.0]


def test_a_registry_of_ones_own() -> None:
    """`StateRegistry(max_tool_call_cache_size=...)` is given as `state_registry`, and remembers the calls."""
    registry = StateRegistry(max_tool_call_cache_size=100)
    tool_simulator = ToolSimulator(state_registry=registry)
    run(call("room_sensor"), tools=room(tool_simulator))
    assert [record["tool_name"] for record in registry.get_state("room_environment")["previous_calls"]] == [
        "room_sensor"
    ]


def test_the_registry_can_be_reached() -> None:
    """`state_registry` is the one that was given, or the simulator's own."""
    registry = StateRegistry()
    given: Any = ToolSimulator(state_registry=registry)
    assert given.state_registry is registry
    own: Any = ToolSimulator()
    own.state_registry.initialize_state_via_description("Starting state", "env")
    assert own.get_state("env")["initial_state"] == "Starting state"


def test_a_call_is_recorded_as_the_guide_writes_it() -> None:
    """`cache_tool_call(tool_name, state_key, response_data, parameters)` gives the call its time."""
    registry: Any = StateRegistry()
    registry.cache_tool_call("room_sensor", "room", {"temperature": 68}, {"unit": "F"})
    (record,) = registry.get_state("room")["previous_calls"]
    assert (record["tool_name"], record["parameters"], record["response"]) == (
        "room_sensor",
        {"unit": "F"},
        {"temperature": 68},
    )
    assert record["timestamp"] > 1_700_000_000


def test_a_tool_is_called_directly() -> None:
    """As a function, with and without a loop that runs; it answers, and the call is remembered."""
    tool_simulator = ToolSimulator()
    hvac_tool: Any
    sensor_tool: Any
    hvac_tool, sensor_tool = room(tool_simulator)
    assert hvac_tool(72.0, mode="heat")["mode"] == "heat"

    async def within_a_loop() -> Any:
        return sensor_tool()

    assert asyncio.run(within_a_loop()) == {"temperature": 72, "humidity": 45}
    assert len(tool_simulator.get_state("room_environment")["previous_calls"]) == 2


def test_the_registered_tools() -> None:
    """They are listed by name, found by name, and cleared together; a registered tool has the guide's fields."""
    tool_simulator = ToolSimulator()
    room(tool_simulator)
    assert tool_simulator.list_tools() == ["hvac_controller", "room_sensor"]
    assert tool_simulator.get_tool("my_tool") is None
    registered = tool_simulator.registered("hvac_controller")
    assert registered is not None
    assert registered.name == "hvac_controller"
    assert callable(registered.function)
    assert issubclass(registered.output_schema, BaseModel)
    assert set(registered.output_schema.model_fields) >= {"temperature", "mode"}
    assert str(registered.initial_state_description).startswith("Room environment")
    assert registered.share_state_id == "room_environment"
    tool_simulator.clear_tools()
    assert tool_simulator.list_tools() == []


def test_a_tool_that_is_registered_again_is_the_new_one() -> None:
    """As when a cell of a notebook runs again: no error, no warning, and its calls are remembered."""
    tool_simulator = ToolSimulator()
    for _ in range(2):
        room(tool_simulator)
    assert tool_simulator.list_tools() == ["hvac_controller", "room_sensor"]

    @tool_simulator.tool(name="room_sensor", share_state_id="room_environment")
    def sensor() -> dict:
        """Another one."""

    registered = tool_simulator.registered("room_sensor")
    assert registered is not None
    assert registered.function is sensor


def test_without_a_schema_there_is_one_text() -> None:
    """`DefaultToolResponse`: a single "response" string."""
    tool_simulator = ToolSimulator()

    @tool_simulator.tool()
    def my_tool(param: str) -> dict:
        """Tool description."""

    (seen,) = run(call("my_tool", param="x"), tools=[tool_simulator.get_tool("my_tool")])
    assert set(seen) == {"response"} == set(DefaultToolResponse.model_fields)
    DefaultToolResponse.model_validate(seen)
