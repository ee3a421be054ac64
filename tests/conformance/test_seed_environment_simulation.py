"""Guards what the guide "Environment simulation for evaluations" says: its examples, given to our callback and plugin.

The examples stand as in the guide; only the module is another one, from which all names are imported.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import random
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.environment_simulation import environment_simulation_config as adks
from google.adk.tools.function_tool import FunctionTool
from pydantic import BaseModel, ValidationError
from typing_extensions import TypedDict

import simulator
from simulator import (
    EnvironmentSimulationConfig,
    EnvironmentSimulationFactory,
    EnvironmentSimulationPlugin,
    InjectedError,
    InjectionConfig,
    MockStrategy,
    ToolSimulationConfig,
    create_callback,
    create_plugin,
)
from simulator.base.documents import write_json, write_yaml
from simulator.base.json_values import JsonObject
from simulator.environment.injection.adk_injection_config import EnvironmentConfigError, read_config
from simulator.environment.injection.rule_sets import read_rule_set
from simulator.runtime.plugin import read_environment_config
from tests.simulator.base.rows import for_each
from tests.simulator.runtime.plugin.standing import Form, Oracle, Stage, both, responses
from tests.simulator.runtime.stage import agent_of, call

REALLY_RAN: list[str] = []
NO_CONNECTIONS: dict[str, Any] = {"uses": [], "produces": [], "roles": []}


def really(name: str) -> Any:
    """Make a tool that says that it ran."""

    def tool(user_id: str = "", item_id: str = "", recipient_id: str = "", query: str = "") -> dict[str, Any]:
        """Do it for real."""
        REALLY_RAN.append(name)
        return {"real": name, "of": user_id or item_id or recipient_id or query}

    tool.__name__ = name
    return tool


def seen_by_agent(
    form: Form, config: Any, *calls: Any, tools: tuple[str, ...] = (), **more: Any
) -> list[Any]:
    """Let an agent make these calls, in one turn each; return what it saw."""
    REALLY_RAN.clear()
    names = tools or tuple(dict.fromkeys(part.function_call.name for part in calls))
    agent = agent_of(*([part] for part in calls), tools=[really(name) for name in names])
    plugins: list[BasePlugin] = []
    if form == "callback":
        agent.before_tool_callback = create_callback(config, **more)
    else:
        plugins.append(create_plugin(config, **more))
    app = App(name="stage", root_agent=agent, plugins=plugins)
    stage = Stage(
        InMemoryRunner(app=app), create_plugin({})
    )  # the plugin is not used: the stage asks for one
    return responses(asyncio.run(stage.turn()))


def only(tool: ToolSimulationConfig, **more: Any) -> EnvironmentSimulationConfig:
    """Return a configuration of one tool."""
    return EnvironmentSimulationConfig(tool_simulation_configs=[tool], **more)


def injected(tool_name: str, *injections: InjectionConfig, **more: Any) -> EnvironmentSimulationConfig:
    """Return a configuration with these injections for a tool."""
    return only(ToolSimulationConfig(tool_name=tool_name, injection_configs=list(injections), **more))


def error(code: int, message: str) -> InjectedError:
    """Return an error."""
    return InjectedError(injected_http_error_code=code, error_message=message)


def mocked(*names: str, **more: Any) -> EnvironmentSimulationConfig:
    """Return a configuration in which these tools are mocked."""
    tools = [
        ToolSimulationConfig(tool_name=name, mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC)
        for name in names
    ]
    return EnvironmentSimulationConfig(tool_simulation_configs=tools, **more)


def oracle(answer: Callable[[str], Any]) -> Oracle:
    """Make a model that sees no connections between tools, and answers calls so."""
    return Oracle(say=lambda prompt: NO_CONNECTIONS if '"produces"' in prompt else answer(prompt))


# ---------------------------------------------------------------- integration


def test_using_as_a_callback() -> None:
    """A callback for one agent: the tool's error reaches the agent, the tool is not run."""
    REALLY_RAN.clear()
    config = EnvironmentSimulationConfig(
        tool_simulation_configs=[
            ToolSimulationConfig(
                tool_name="get_user_profile",
                injection_configs=[
                    InjectionConfig(
                        injected_error=InjectedError(
                            injected_http_error_code=503,
                            error_message="Service temporarily unavailable.",
                        )
                    )
                ],
            )
        ]
    )
    script = agent_of([call("get_user_profile", user_id="u-1")])
    agent = LlmAgent(
        name="my_agent",
        model=script.model,
        tools=[really("get_user_profile")],
        before_tool_callback=create_callback(config),
    )
    stage = Stage(InMemoryRunner(app=App(name="stage", root_agent=agent)), create_plugin({}))
    seen = responses(asyncio.run(stage.turn()))
    assert seen == [{"error_code": 503, "error_message": "Service temporarily unavailable."}]
    assert REALLY_RAN == []


def test_using_as_a_plugin() -> None:
    """A plugin for an app: the mock answers in the tool's place."""
    REALLY_RAN.clear()
    config = EnvironmentSimulationConfig(
        tool_simulation_configs=[
            ToolSimulationConfig(
                tool_name="search_products",
                mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC,
            )
        ]
    )
    my_agent = agent_of([call("search_products", query="lamp")], tools=[really("search_products")])
    model = oracle(lambda _: {"products": ["lamp"]})
    app = App(name="stage", root_agent=my_agent, plugins=[create_plugin(config, model=model)])
    stage = Stage(InMemoryRunner(app=app), create_plugin({}))
    assert responses(asyncio.run(stage.turn())) == [{"products": ["lamp"]}]
    assert REALLY_RAN == []


@both
def test_a_tool_that_is_not_in_the_config_runs_for_real(form: Form, caplog: pytest.LogCaptureFixture) -> None:
    """No-op lets the real tool execute, as the guide says; one log line names it."""
    config = injected("charge_payment", InjectionConfig(injected_error=error(402, "Payment declined.")))
    calls = [call("get_user_profile", user_id=name) for name in ("u-1", "u-2")]
    with caplog.at_level(logging.WARNING):
        seen = seen_by_agent(form, config, *calls)
    assert seen == [{"real": "get_user_profile", "of": "u-1"}, {"real": "get_user_profile", "of": "u-2"}]
    assert sum("get_user_profile" in record.getMessage() for record in caplog.records) == 1


@both
def test_a_listed_tool_whose_injections_do_not_fire_runs_for_real(
    form: Form, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no injection applies and no mock strategy is set, the real tool answers; one log line names it."""
    config = injected(
        "get_item",
        InjectionConfig(match_args={"item_id": "ITEM-404"}, injected_error=error(404, "Item not found.")),
    )
    calls = [call("get_item", item_id=name) for name in ("ITEM-1", "ITEM-404", "ITEM-2")]
    with caplog.at_level(logging.WARNING):
        first, missing, last = seen_by_agent(form, config, *calls)
    assert (first, last) == ({"real": "get_item", "of": "ITEM-1"}, {"real": "get_item", "of": "ITEM-2"})
    assert missing == {"error_code": 404, "error_message": "Item not found."}
    assert REALLY_RAN == ["get_item", "get_item"]
    assert sum("get_item" in record.getMessage() for record in caplog.records) == 1


def test_a_callback_is_an_async_callable_for_any_agent() -> None:
    """Two agents have one each; each is awaited with the tool, its arguments and ADK's context."""
    config = injected("get_item", InjectionConfig(injected_response={"found": True}))
    for name in ("one", "two"):
        callback: Any = EnvironmentSimulationFactory.create_callback(config)
        agent = LlmAgent(name=name, model="gemini-flash-latest", before_tool_callback=callback)
        assert agent.canonical_before_tool_callbacks == [callback]
        assert inspect.iscoroutinefunction(type(callback).__call__)
        assert asyncio.run(callback(FunctionTool(really("get_item")), {}, None)) == {"found": True}


@both
def test_a_tools_name_has_to_match_exactly(form: Form) -> None:
    """A tool whose name only looks alike is none of the configuration's, and runs for real."""
    config = injected("get_item", InjectionConfig(injected_response={"found": True}))
    seen = seen_by_agent(form, config, call("get_items", item_id="1"), call("get_item", item_id="1"))
    assert seen == [{"real": "get_items", "of": "1"}, {"found": True}]


# ---------------------------------------------------------------- configuration reference


DEFAULTS: list[tuple[type[BaseModel], str, Any]] = [
    (EnvironmentSimulationConfig, "environment_data", None),
    (EnvironmentSimulationConfig, "tracing", None),
    (ToolSimulationConfig, "injection_configs", []),
    (ToolSimulationConfig, "mock_strategy_type", MockStrategy.MOCK_STRATEGY_UNSPECIFIED),
    (InjectionConfig, "injected_error", None),
    (InjectionConfig, "injected_response", None),
    (InjectionConfig, "injection_probability", 1.0),
    (InjectionConfig, "match_args", None),
    (InjectionConfig, "injected_latency_seconds", 0.0),
    (InjectionConfig, "random_seed", None),
]


def test_the_defaults_of_the_reference() -> None:
    """Each optional field has the default of the reference; the others have to be given."""
    for model, name, default in DEFAULTS:
        field = model.model_fields[name]
        assert not field.is_required()
        assert field.get_default(call_default_factory=True) == default, name
    for model in (ToolSimulationConfig, InjectedError):
        assert all(
            model.model_fields[name].is_required()
            for name in ("tool_name", "injected_http_error_code", "error_message")
            if name in model.model_fields
        )


WRONG: dict[str, JsonObject] = {
    "tool_simulation_configs": {"tool_simulation_configs": "a"},
    "simulation_model": {"simulation_model": 1},
    "simulation_model_configuration": {"simulation_model_configuration": "hot"},
    "environment_data": {"environment_data": {"a": 1}},
    "tracing": {"tracing": []},
    "tool_name": {"tool_simulation_configs": [{"tool_name": 5, "mock_strategy_type": 1}]},
    "injection_configs": {"tool_simulation_configs": [{"tool_name": "a", "injection_configs": 5}]},
    "mock_strategy_type": {"tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 7}]},
}
WRONG_INJECTIONS: dict[str, JsonObject] = {
    "injected_response": {"injected_response": [1]},
    "injected_http_error_code": {"injected_error": {"injected_http_error_code": "x", "error_message": "m"}},
    "error_message": {"injected_error": {"injected_http_error_code": 500, "error_message": 5}},
    "injection_probability": {"injected_response": {"a": 1}, "injection_probability": 1.5},
    "match_args": {"injected_response": {"a": 1}, "match_args": "a"},
    "injected_latency_seconds": {"injected_response": {"a": 1}, "injected_latency_seconds": 120.5},
    "random_seed": {"injected_response": {"a": 1}, "random_seed": "x"},
}


@for_each("field", [*WRONG, *WRONG_INJECTIONS])
def test_each_field_has_the_type_of_the_reference(field: str) -> None:
    """Another type, or a number beyond its bounds, is refused with the name of the field."""
    good: JsonObject = {"tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 1}]}
    if field in WRONG:
        document = {**good, **WRONG[field]}
    else:
        tool: JsonObject = {"tool_name": "a", "injection_configs": [WRONG_INJECTIONS[field]]}
        document = {"tool_simulation_configs": [tool]}
    with pytest.raises(EnvironmentConfigError, match=field):
        create_callback(document)


def test_a_configuration_of_no_tool_is_refused() -> None:
    """ADK's class lets the list be left out; the reference requires it."""
    with pytest.raises(EnvironmentConfigError, match="tool_simulation_configs"):
        create_plugin(EnvironmentSimulationConfig())


def test_the_configurations_model_is_asked_for_both(caplog: pytest.LogCaptureFixture) -> None:
    """`simulation_model` analyses the tools and makes the responses: one that nobody knows is named for both."""
    config = mocked("create_order", "get_order", simulation_model="no-such-model")
    with caplog.at_level(logging.WARNING):
        seen_by_agent("plugin", config, call("create_order"), tools=("create_order", "get_order"))
    said = [record.getMessage() for record in caplog.records if "no-such-model" in record.getMessage()]
    assert any("connections" in text for text in said)
    assert any(text.startswith("create_order is answered by") for text in said)


def test_match_args_have_to_be_all_there() -> None:
    """The injection fires where the arguments contain every pair; others may be there too."""
    both_args = InjectionConfig(match_args={"a": 1, "b": "x"}, injected_response={"hit": True})
    config = injected("find", both_args, InjectionConfig(injected_response={"hit": False}))
    callback: Any = create_callback(config)
    calls = [{"a": 1}, {"a": 1, "b": "y"}, {"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 3}]
    seen = [asyncio.run(callback(FunctionTool(really("find")), args, None))["hit"] for args in calls]
    assert seen == [False, False, True, True]


def test_the_deprecated_strategy_is_the_other_one_with_tracing() -> None:
    """`MOCK_STRATEGY_TRACING` answers as `MOCK_STRATEGY_TOOL_SPEC` does, with the tracing as input; a warning says so."""
    old = ToolSimulationConfig(
        tool_name="search_products", mock_strategy_type=MockStrategy.MOCK_STRATEGY_TRACING
    )
    model = oracle(lambda _: {"products": []})
    with pytest.warns(FutureWarning, match="search_products: MOCK_STRATEGY_TRACING is deprecated"):
        callback: Any = create_callback(only(old, tracing="P-123 was found"), model=model)
    assert asyncio.run(callback(FunctionTool(really("search_products")), {}, None)) == {"products": []}
    assert "P-123 was found" in model.prompts[-1]


BAD: dict[str, dict[str, Any]] = {
    "no tools": {"tool_simulation_configs": []},
    "two entries for a tool": {
        "tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 1}] * 2,
    },
    "neither an injection nor a mock": {"tool_simulation_configs": [{"tool_name": "a"}]},
    "neither an error nor a response": {
        "tool_simulation_configs": [{"tool_name": "a", "injection_configs": [{"injection_probability": 1.0}]}]
    },
    "an error and a response": {
        "tool_simulation_configs": [
            {
                "tool_name": "a",
                "injection_configs": [
                    {
                        "injected_error": {"injected_http_error_code": 500, "error_message": "x"},
                        "injected_response": {"a": 1},
                    }
                ],
            }
        ]
    },
    "more than 120 seconds": {
        "tool_simulation_configs": [
            {
                "tool_name": "a",
                "injection_configs": [{"injected_response": {"a": 1}, "injected_latency_seconds": 121}],
            }
        ]
    },
}


@for_each("what", BAD)
def test_what_adk_refuses_is_refused_in_every_form(what: str) -> None:
    """As a mapping, as JSON and as YAML: the reference's constraints hold."""
    document = BAD[what]
    with pytest.raises(ValidationError):
        EnvironmentSimulationConfig.model_validate(document)
    for form in (document, write_json(document), write_yaml(document)):
        with pytest.raises(EnvironmentConfigError):
            create_callback(form)


@for_each("form", ["object", "mapping", "json", "yaml"])
def test_thinking_is_enabled_by_default(form: str) -> None:
    """`simulation_model_configuration` is ADK's default, with thinking enabled."""
    plain: JsonObject = {"tool_simulation_configs": [{"tool_name": "a", "mock_strategy_type": 1}]}
    adks = EnvironmentSimulationConfig.model_validate(plain)
    forms: dict[str, Any] = {
        "object": adks,
        "mapping": plain,
        "json": write_json(plain),
        "yaml": write_yaml(plain),
    }
    read = read_environment_config(forms[form])
    default = adks.simulation_model_configuration.model_dump(mode="json", exclude_none=True)
    assert default
    assert read.settings.simulation_model_configuration == default


# ---------------------------------------------------------------- injection mode


@both
def test_injecting_errors(form: Form) -> None:
    """The agent receives the code and the message instead of a real result."""
    config = only(
        ToolSimulationConfig(
            tool_name="charge_payment",
            injection_configs=[
                InjectionConfig(
                    injected_error=InjectedError(
                        injected_http_error_code=402,
                        error_message="Payment declined.",
                    )
                )
            ],
        )
    )
    seen = seen_by_agent(form, config, call("charge_payment"))
    assert seen == [{"error_code": 402, "error_message": "Payment declined."}]
    assert REALLY_RAN == []


def by_hand(config: Any, calls: int, name: str = "flaky", **more: Any) -> list[Any]:
    """Call a callback by hand, as many times; return its answers."""
    callback: Any = create_callback(config, **more)

    async def all_calls() -> list[Any]:
        return [await callback(FunctionTool(really(name)), {}, None) for _ in range(calls)]

    return asyncio.run(all_calls())


def test_without_a_seed_our_own_seed_makes_chance_repeat() -> None:
    """`seed` of `create_callback` is the way to a reproducible run where the configuration has none."""
    flaky = InjectionConfig(injection_probability=0.5, injected_error=error(500, "Internal server error."))
    config = injected("flaky", flaky, InjectionConfig(injected_response={"ok": True}))
    assert (
        by_hand(config, 64, seed="one") == by_hand(config, 64, seed="one") != by_hand(config, 64, seed="two")
    )


def test_injecting_latency() -> None:
    """The delay passes before the answer."""
    slow = InjectionConfig(
        injected_latency_seconds=5.0,
        injected_response={"result": "slow but successful"},
    )
    (rule,) = read_environment_config(injected("slow", slow)).rules
    assert rule.latency_seconds == 5.0
    short = slow.model_copy(update={"injected_latency_seconds": 0.05})
    callback: Any = create_callback(injected("slow", short))
    assert asyncio.run(callback(FunctionTool(really("slow")), {}, None)) == {"result": "slow but successful"}
    assert callback.calls()[0].seconds >= 0.04


def test_combining_multiple_injection_configs() -> None:
    """They are checked in order: the out-of-stock item always, the others one time in five, by seed."""
    config = only(
        ToolSimulationConfig(
            tool_name="get_inventory",
            injection_configs=[
                # Always fail for a specific out-of-stock item
                InjectionConfig(
                    match_args={"sku": "OOS-001"},
                    injected_response={"quantity": 0, "available": False},
                ),
                # Randomly fail 20% of the time for all other items
                InjectionConfig(
                    injection_probability=0.2,
                    random_seed=7,
                    injected_error=InjectedError(
                        injected_http_error_code=503,
                        error_message="Inventory service unavailable.",
                    ),
                ),
            ],
        )
    )
    callback: Any = create_callback(config)
    tool: Any = FunctionTool(really("get_inventory"))

    async def all_calls() -> list[Any]:
        return [
            await callback(tool, {"sku": "OOS-001" if number % 2 else f"SKU-{number}"}, None)
            for number in range(60)
        ]

    seen = asyncio.run(all_calls())
    assert seen[1::2] == [{"quantity": 0, "available": False}] * 30
    draws = random.Random(7)  # noqa: S311 - chance of a test
    unavailable = {"error_code": 503, "error_message": "Inventory service unavailable."}
    fails = [draws.random() < 0.2 for _ in range(30)]
    assert [answer == unavailable for answer in seen[::2]] == fails
    assert any(fails)


@for_each(
    "block",
    [
        'InjectionConfig(\n    injected_response={"status": "ok", "order_id": "ORD-9999"}\n)',
        (
            'InjectionConfig(\n    match_args={"item_id": "ITEM-404"},\n    injected_error=InjectedError(\n'
            '        injected_http_error_code=404,\n        error_message="Item not found.",\n    ),\n)'
        ),
        (
            "InjectionConfig(\n    injection_probability=0.3,\n    random_seed=42,\n    injected_error=InjectedError(\n"
            '        injected_http_error_code=500,\n        error_message="Internal server error.",\n    ),\n)'
        ),
        'ToolSimulationConfig(\n    tool_name="send_notification",\n    mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC,\n)',
    ],
)
def test_a_block_that_is_a_part_is_python_and_can_be_pasted(block: str) -> None:
    """It runs with the names of `simulator`; its text alone is read as the rules that it makes."""
    part = eval(block, {name: getattr(simulator, name) for name in simulator.__all__ if name[0] in "IMT"})  # noqa: S307 - it stands above
    read = read_rule_set(block, "place_order").adk
    assert read is not None
    if isinstance(part, InjectionConfig):
        part = ToolSimulationConfig(tool_name="place_order", injection_configs=[part])
    assert read == read_config(only(part))


# ---------------------------------------------------------------- mock strategy mode

ORDERS = mocked("create_order", "get_order", "cancel_order")


class Cancelled(TypedDict):
    """What a cancellation says."""

    order_id: str
    status: str


class Order(Cancelled):
    """An order."""

    item: str


def create_order(item: str) -> Order:
    """Create an order.

    Returns:
        A dict with order_id, item and status.
    """
    raise AssertionError(item)


def get_order(order_id: str) -> Order:
    """Get an order.

    Returns:
        A dict with order_id, item and status.
    """
    raise AssertionError(order_id)


def cancel_order(order_id: str) -> Cancelled:
    """Cancel an order.

    Returns:
        A dict with order_id and status.
    """
    raise AssertionError(order_id)


def test_mocked_tools_hang_together() -> None:
    """An order that was created is found and cancelled; one that was never created is a not-found error. No model is needed."""

    def next_calls(request: Any) -> list[Any]:
        (made,) = [part.function_response for part in request.contents[-1].parts]
        order_id = made.response["order_id"]
        return [call("get_order", order_id=order_id), call("cancel_order", order_id=order_id)]

    agent = agent_of(
        [call("create_order", item="lamp")],
        next_calls,
        [call("get_order", order_id="NEVER-1")],
        tools=[create_order, get_order, cancel_order],
    )
    config = ORDERS.model_copy(update={"simulation_model": "no-such-model"})
    app = App(name="stage", root_agent=agent, plugins=[create_plugin(config)])
    stage = Stage(InMemoryRunner(app=app), create_plugin({}))
    made, found, cancelled, missing = responses(asyncio.run(stage.turn()))
    assert made["order_id"]
    assert found["order_id"] == cancelled["order_id"] == made["order_id"]
    assert missing["error_code"] == 404
    assert "NEVER-1" in json.dumps(missing)


def test_mocked_tools_without_a_schema_hang_together() -> None:
    """Tools that say no more than `dict`, without a model: each order has an id of its own, and one that was never created is not found."""

    def create_order(item: str) -> dict[str, Any]:
        """Create an order."""
        raise AssertionError(item)

    def get_order(order_id: str) -> dict[str, Any]:
        """Get an order."""
        raise AssertionError(order_id)

    def cancel_order(order_id: str) -> dict[str, Any]:
        """Cancel an order."""
        raise AssertionError(order_id)

    def next_calls(request: Any) -> list[Any]:
        made = [part.function_response.response["order_id"] for part in request.contents[-1].parts]
        return [call(name, order_id=one) for one in made for name in ("get_order", "cancel_order")]

    agent = agent_of(
        [call("create_order", item="lamp"), call("create_order", item="desk")],
        next_calls,
        [call("get_order", order_id="NEVER-1"), call("cancel_order", order_id="NEVER-1")],
        tools=[create_order, get_order, cancel_order],
    )
    config = ORDERS.model_copy(update={"simulation_model": "no-such-model"})
    app = App(name="stage", root_agent=agent, plugins=[create_plugin(config)])
    stage = Stage(InMemoryRunner(app=app), create_plugin({}))
    lamp, desk, *found, missing, no_cancel = responses(asyncio.run(stage.turn()))
    assert lamp["order_id"] != desk["order_id"]
    ids = [one["order_id"] for one in (lamp, lamp, desk, desk)]
    assert [one["order_id"] for one in found] == ids
    assert [one["item"] for one in found] == ["lamp", "lamp", "desk", "desk"]
    assert all("NEVER-1" in one["error_message"] for one in (missing, no_cancel))


@both
def test_providing_environment_data(form: Form) -> None:
    """The data is in what the model is asked, and without a model the answer is made of it."""
    db_snapshot = {
        "products": [
            {"id": "P-001", "name": "Wireless Headphones", "price": 79.99, "stock": 12},
            {"id": "P-002", "name": "USB-C Hub", "price": 34.99, "stock": 0},
        ],
        "warehouse_location": "US-WEST-2",
    }
    config = mocked("search_products", environment_data=json.dumps(db_snapshot))
    model = oracle(lambda _: {"products": ["P-001"]})
    search = call("search_products", query="headphones")
    assert seen_by_agent(form, config, search, model=model) == [{"products": ["P-001"]}]
    assert "Wireless Headphones" in model.prompts[-1]
    assert "US-WEST-2" in model.prompts[-1]


@both
def test_providing_tracing_data(form: Form) -> None:
    """A call of the trace is known: the model is told of it, or it is answered as it was."""
    agent_traces = [
        {
            "invocation_id": "inv-001",
            "user_content": {"role": "user", "parts": [{"text": "Search for high-end headphones"}]},
            "intermediate_data": {
                "tool_uses": [
                    {
                        "name": "search_products",
                        "args": {"query": "high-end headphones"},
                        "response": {
                            "products": [{"id": "P-123", "name": "Premium Wireless ANC Headphones"}]
                        },
                    }
                ]
            },
        }
    ]
    config = mocked("search_products", tracing=json.dumps(agent_traces))
    model = oracle(lambda _: {"products": []})
    assert seen_by_agent(form, config, call("search_products", query="cheap ones"), model=model) == [
        {"products": []}
    ]
    assert "P-123" in model.prompts[-1]


def test_environment_data_and_tracing_answer_without_a_model() -> None:
    """Names, prices and stock are the data's; a call that the tracing has is answered as it was."""
    rows = [
        {"id": "P-001", "name": "Wireless Headphones", "price": 79.99, "stock": 12},
        {"id": "P-002", "name": "USB-C Hub", "price": 34.99, "stock": 0},
    ]
    known = {"products": [{"id": "P-123", "name": "Premium Wireless ANC Headphones"}]}
    use = {"name": "search_products", "args": {"query": "high-end headphones"}, "response": known}
    trace = {"invocation_id": "inv-001", "user_content": {"role": "user", "parts": [{"text": "Search"}]}}
    traces = [{**trace, "intermediate_data": {"tool_uses": [use]}}]

    def search_products(query: str) -> dict[str, Any]:
        """Search for products."""
        raise AssertionError(query)

    def answered(query: str, **more: Any) -> Any:
        callback: Any = create_callback(mocked("search_products", simulation_model="no-such-model", **more))
        return asyncio.run(callback(FunctionTool(search_products), {"query": query}, None))

    data = json.dumps({"products": rows, "warehouse_location": "US-WEST-2"})
    assert answered("headphones", environment_data=data) == {"products": rows[:1]}
    assert answered("high-end headphones", tracing=json.dumps(traces)) == known


def test_what_the_model_is_told_of_a_call() -> None:
    """The schema of the tool, the arguments, and what the session has made so far; each session has its own."""
    order = {"order_id": "ORD-77", "status": "new", "item": "lamp"}
    connected = {
        "uses": [{"tool_name": "get_order", "parameter": "order_id", "kind": "order", "use": "reads"}],
        "produces": [{"tool_name": "create_order", "field": "order_id", "kind": "order", "creates": True}],
        "roles": [],
    }
    made: list[str] = []

    def say(prompt: str) -> Any:
        if '"produces"' in prompt:
            return connected
        made.append(prompt)
        return order

    agent = agent_of(
        [call("create_order", item="lamp")],
        [call("get_order", order_id="ORD-77")],
        tools=[create_order, get_order],
    )
    model = Oracle(say=say)
    plugin = create_plugin(mocked("create_order", "get_order"), model=model)
    app = App(name="stage", root_agent=agent, plugins=[plugin])
    stage = Stage(InMemoryRunner(app=app), plugin)
    assert responses(asyncio.run(stage.turn())) == [order, order]
    analysed = [prompt for prompt in model.prompts if '"produces"' in prompt]
    assert len(analysed) == 1
    assert all(name in analysed[0] for name in ("create_order", "get_order", "order_id"))
    assert "lamp" in made[0]
    assert "item" in made[0]
    assert "ORD-77" in made[1]
    world = plugin.world("s")
    assert world is not None
    made_by = [(one.tool_name, one.field) for one in world.connections.produces if one.creates]
    assert made_by == [("create_order", "order_id")]
    assert [(one.tool_name, one.parameter) for one in world.connections.uses] == [("get_order", "order_id")]


@both
def test_mixing_injections_and_mock_strategy(form: Form) -> None:
    """Injections are checked first; the mock answers where none applies."""
    config = only(
        ToolSimulationConfig(
            tool_name="send_notification",
            injection_configs=[
                # Always fail for a known-bad recipient
                InjectionConfig(
                    match_args={"recipient_id": "INVALID"},
                    injected_error=InjectedError(
                        injected_http_error_code=400,
                        error_message="Invalid recipient.",
                    ),
                ),
            ],
            # For all other recipients, generate a plausible success response
            mock_strategy_type=MockStrategy.MOCK_STRATEGY_TOOL_SPEC,
        )
    )
    model = oracle(lambda _: {"sent": True})
    calls = [call("send_notification", recipient_id=name) for name in ("INVALID", "u-1")]
    seen = seen_by_agent(form, config, *calls, model=model)
    assert seen == [{"error_code": 400, "error_message": "Invalid recipient."}, {"sent": True}]
    assert REALLY_RAN == []


def test_the_guides_names_are_here() -> None:
    """The classes of the configuration are ADK's own; the factory makes our plugin."""
    names = (
        "EnvironmentSimulationConfig",
        "InjectedError",
        "InjectionConfig",
        "MockStrategy",
        "ToolSimulationConfig",
    )
    assert all(getattr(simulator, name) is getattr(adks, name) for name in names)
    injection = InjectionConfig(injected_response={"name": "Ada"})
    profile = ToolSimulationConfig(tool_name="get_user_profile", injection_configs=[injection])
    config = EnvironmentSimulationConfig(tool_simulation_configs=[profile])
    assert isinstance(EnvironmentSimulationFactory.create_plugin(config), EnvironmentSimulationPlugin)
